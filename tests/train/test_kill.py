"""Training in a process of its own, ended from outside."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from weft.errors import CheckpointError
from weft.train import fit

PROGRAM = Path(__file__).with_name("tiny.py")
STEPS = 12


def start(directory, pause):
    return subprocess.Popen(
        [sys.executable, str(PROGRAM), str(directory), str(STEPS), str(pause)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )


def wait_for(path, process):
    deadline = time.monotonic() + 60
    while not path.exists():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)


def whole_run(tiny):
    config = tiny.config(steps=STEPS, threads=1)
    return fit(tiny.model(), tiny.batches(config), tiny.loss_step, config, evaluate=tiny.evaluate, quiet=True)


def test_a_killed_run_goes_on_with_the_same_losses(tiny, tmp_path):
    process = start(tmp_path, pause=0.1)
    wait_for(tmp_path / "checkpoints" / "step-00000004", process)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    process = start(tmp_path, pause=0)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    rest = json.loads(out)
    assert 4 <= rest["first_step"] < STEPS
    assert rest["losses"] == whole_run(tiny).losses[rest["first_step"] :]


def test_ctrl_c_finishes_the_step_and_saves(tiny, tmp_path):
    process = start(tmp_path, pause=0.1)
    wait_for(tmp_path / "log.jsonl", process)
    time.sleep(0.15)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1
    last = err.strip().splitlines()[-1]
    assert "weft.errors.Interrupted: stopped after step" in last
    assert "run it again to go on" in last
    saved = sorted(path.name for path in (tmp_path / "checkpoints").iterdir())
    done = int(last.split("step ")[1].split()[0])
    assert saved[-1] == f"step-{done:08d}"
    config = tiny.config(steps=STEPS, threads=1)
    rest = fit(
        tiny.model(),
        tiny.batches(config),
        tiny.loss_step,
        config,
        evaluate=tiny.evaluate,
        directory=tmp_path,
        quiet=True,
    )
    assert rest.first_step == done
    assert rest.losses == whole_run(tiny).losses[done:]


def test_two_trainings_in_one_directory_are_one_too_many(tiny, tmp_path):
    process = start(tmp_path, pause=0.3)
    wait_for(tmp_path / "checkpoints" / "step-00000004", process)
    config = tiny.config(steps=STEPS)
    arguments = (tiny.model(), tiny.batches(config), tiny.loss_step, config)
    with pytest.raises(CheckpointError, match=f"process {process.pid} is training in it"):
        fit(*arguments, evaluate=tiny.evaluate, directory=tmp_path, quiet=True)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    # The lock went with its process.
    assert fit(*arguments, evaluate=tiny.evaluate, directory=tmp_path, quiet=True).step == STEPS

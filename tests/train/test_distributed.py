import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from weft.errors import ConfigError
from weft.train import fit
from weft.train.distributed import World, join

PROGRAM = Path(__file__).with_name("together.py")


@pytest.fixture(scope="module")
def two_processes(tmp_path_factory):
    """What each of two processes saw."""
    directory = tmp_path_factory.mktemp("together")
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2"]
    # Port 0 is any free port, on the loopback interface only.
    command += ["--rdzv-backend", "c10d", "--rdzv-endpoint", "127.0.0.1:0", "--local-addr", "127.0.0.1"]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [*command, str(PROGRAM), str(directory)],
        capture_output=True,
        text=True,
        timeout=300,
        env=environment,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return directory, [json.loads((directory / f"{rank}.json").read_text()) for rank in range(2)]


@pytest.fixture(scope="module")
def one_process(tiny):
    sys.modules.setdefault("tiny", tiny)
    import importlib.util

    spec = importlib.util.spec_from_file_location("weft_together", PROGRAM)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    with torch.random.fork_rng(devices=[]):
        return module.joint_run(World())


@pytest.fixture(scope="module")
def one_contrast(one_process):
    with torch.random.fork_rng(devices=[]):
        return sys.modules["weft_together"].contrast_run(World())


def test_two_processes_met(two_processes):
    _, seen = two_processes
    assert [(s["rank"], s["size"]) for s in seen] == [(0, 2), (1, 2)]
    for s in seen:
        assert s["mean"] == 0.5
        assert s["any"] == [True, False]
        assert s["gather"] == [0, 10]
        assert s["first"] == 0
        assert "processes is 3, and 2 took part" in s["expected three"]


def test_a_loss_over_pairs_sees_the_rows_of_all_processes(two_processes, one_contrast):
    _, seen = two_processes
    for s in seen:
        assert s["contrast"] == pytest.approx(one_contrast, rel=1e-5, abs=1e-7)


def test_averaged_gradients_are_those_of_the_joint_batch(two_processes, one_process):
    _, seen = two_processes
    history, weights = one_process
    assert len(history.losses) == 8
    for s in seen:
        assert s["joint"]["losses"] == pytest.approx(history.losses, rel=1e-5)
        for mine, theirs in zip(weights, s["joint"]["weights"], strict=True):
            assert theirs == pytest.approx(mine, rel=1e-4, abs=1e-5)
    assert seen[0]["joint"] == seen[1]["joint"]


def test_what_one_process_alone_notes_is_its_own_mean(two_processes):
    directory, _ = two_processes
    (line,) = (directory / "entries" / "log.jsonl").read_text().splitlines()
    record = json.loads(line)
    assert {name: record[name] for name in ("left", "right", "both", "more")} == {
        "left": 1.0, "right": 5.0, "both": 3.0, "more": 7.0,
    }  # fmt: skip


def test_only_the_first_process_writes(two_processes):
    directory, seen = two_processes
    records = [json.loads(line) for line in (directory / "joint" / "log.jsonl").read_text().splitlines()]
    evaluated = [record["evaluation/loss"] for record in records if "evaluation/loss" in record]
    assert evaluated == [evaluation["loss"] for evaluation in seen[0]["joint"]["evaluations"]]


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="threads are listed on Linux only")
def test_no_thread_of_the_group_is_left_when_the_interpreter_ends(two_processes):
    directory, _ = two_processes
    for rank in range(2):
        assert "gloo" not in (directory / f"{rank}.threads").read_text()


def test_a_stop_in_one_process_stops_all_and_the_run_goes_on_exactly(two_processes):
    for s in two_processes[1]:
        found = s["interrupted"]
        # Asked for in the fourth step, agreed upon at the next log step.
        assert found["stopped"].startswith("stopped after step 6 of 9")
        assert found["first_step"] == 6
        assert found["rest"] == found["whole"][6:]


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"WORLD_SIZE": "many"}, "WORLD_SIZE is 'many'"),
        ({"RANK": "2", "WORLD_SIZE": "2"}, "RANK 2 is outside"),
    ],
)
def test_a_broken_environment_is_named(monkeypatch, variables, message):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ConfigError, match=message):
        World.launched()


def test_alone_nothing_is_joined(monkeypatch):
    for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK"):
        monkeypatch.delenv(name, raising=False)
    world, device = join("cpu")
    assert world == World()
    assert device.type == "cpu"
    assert not torch.distributed.is_initialized()
    assert world.gather(3) == [3]
    assert world.from_first("x") == "x"
    with pytest.raises(ConfigError, match="cuda:7"):
        World().device("cuda:7")


def test_every_process_draws_numbers_of_its_own(tiny, monkeypatch):
    seeds = []
    monkeypatch.setattr("weft.train.loop.join", lambda *_: (World(rank=3), torch.device("cpu")))
    monkeypatch.setattr("weft.train.loop.seed_everything", seeds.append)
    config = tiny.config(steps=1, seed=10)
    fit(tiny.model(), tiny.batches(config), tiny.loss_step, config, quiet=True)
    assert seeds == [13]


def test_batches_cut_for_other_processes_are_refused(tiny, monkeypatch):
    config = tiny.config()
    batches = tiny.batches(config, World(1, 2))
    with pytest.raises(ConfigError, match="cut for 2 processes, and 1 train"):
        fit(tiny.model(), batches, tiny.loss_step, config, quiet=True)


@pytest.mark.parametrize(("examples", "shared"), [(7, 6), (8, 8), (1, 2)])
def test_examples_that_processes_share_alike(examples, shared):
    assert World(0, 2).shared(examples) == shared

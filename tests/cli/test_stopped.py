"""Commands that are ended from outside, or called from a place that is gone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

SLOW = """
import sys, time
from types import SimpleNamespace
from weft.cli import commands, main
from weft.platform.files import writer

def run(argv):
    with writer("out.csv") as file:
        print("begun", flush=True)
        time.sleep(60)

commands.import_module = lambda name: SimpleNamespace(run=run)
sys.argv[1:] = ["models"]
sys.exit(main.main())
"""


def start(place: Path, before: str = "") -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", before + SLOW],
        cwd=place,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    return process


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_command_that_is_asked_to_stop_takes_away_what_it_began(tmp_path: Path, number: signal.Signals):
    # Where pytest itself runs in the background, Ctrl-C is ignored, and a child takes that over.
    process = start(tmp_path, "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n")
    process.send_signal(number)
    _, told = process.communicate(timeout=30)
    assert (process.returncode, told) == (130, "weft models: stopped\n")
    assert os.listdir(tmp_path) == []


def test_a_signal_that_the_caller_ignores_is_ignored(tmp_path: Path):
    process = start(tmp_path, "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n")
    process.send_signal(signal.SIGTERM)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.5)
    process.kill()
    process.communicate()


def test_a_folder_that_was_deleted_is_named(tmp_path: Path):
    place = tmp_path / "gone"
    place.mkdir()
    done = subprocess.run(
        ["sh", "-c", 'rmdir "$1"; exec "$2" -P -m weft bcsd show x', "sh", place, sys.executable],
        cwd=place,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout) == (3, "")
    assert (
        done.stderr
        == "weft bcsd show: the folder that it is called from was deleted (change to one that is there)\n"
    )

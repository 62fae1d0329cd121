"""A command's processor time: that of processes which outlive it counts as well."""

import json
import subprocess
import sys

BURN = "import time; end = time.process_time() + .4\nwhile time.process_time() < end: pass"
LEAVE = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {BURN!r}])"


def counted(script: str) -> tuple[int, dict[str, float]]:
    command = [sys.executable, "-m", "weft.bench.bcsd.counted", sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, json.loads(done.stdout)


def test_what_a_command_leaves_behind_is_counted():
    code, found = counted(LEAVE)
    assert code == 0
    assert found["busy"] >= 0.4


def test_a_command_that_fails_is_told():
    code, found = counted("raise SystemExit(3)")
    assert code == 3
    assert found["wall"] > 0

"""Processor time and memory of this process: that of children which still run counts as well."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from weft.bench.spent import busy_seconds, peak_mebibytes

BURN = (
    "import sys, time\n"
    "held = bytearray(64 << 20)\n"
    "while time.process_time() < .4: pass\n"
    "print('done', flush=True)\n"
    "sys.stdin.read()"
)


@contextmanager
def child() -> Iterator[None]:
    """A process that has worked, and lives."""
    with subprocess.Popen(
        [sys.executable, "-c", BURN], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"done\n"
        yield
        assert process.stdin is not None
        process.stdin.close()


def test_the_time_of_a_child_counts_while_it_lives_and_once() -> None:
    before, own = busy_seconds(), time.process_time()
    with child():
        meanwhile = busy_seconds()
        assert meanwhile - before >= 0.35
    after = busy_seconds()
    # When it has ended the system adds it to our account: it is not lost, and not there twice.
    assert meanwhile - 0.05 <= after
    assert after - before <= (time.process_time() - own) + 0.9


def test_the_memory_of_a_child_counts_while_it_lives() -> None:
    before = peak_mebibytes()
    with child():
        assert peak_mebibytes() - before >= 64

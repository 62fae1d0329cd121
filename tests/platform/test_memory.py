"""Freed memory is kept: the second use of a large block costs no page faults."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

FAULTS = """
import resource, sys
from weft.platform.memory import keep_freed_memory
if sys.argv[1] == "keep":
    assert keep_freed_memory()
def once():
    block = bytearray(64 << 20)
once()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(4):
    once()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def faults(mode: str) -> int:
    done = subprocess.run([sys.executable, "-c", FAULTS, mode], capture_output=True, text=True, check=True)
    return int(done.stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="needs glibc")
def test_large_blocks_are_used_again():
    # 4 · 64 MiB in pages of 4 KiB, less where the kernel maps huge pages.
    kept, plain = faults("keep"), faults("plain")
    assert kept * 10 < plain or plain < 200

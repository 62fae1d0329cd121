"""Memory: kept instead of given back and faulted in again, and what it looks like when there is not enough."""

from __future__ import annotations

import ctypes
import gc
import sys

_M_TRIM_THRESHOLD, _M_TOP_PAD, _M_MMAP_THRESHOLD = -1, -2, -3
_SETTINGS = ((_M_MMAP_THRESHOLD, 1 << 30), (_M_TRIM_THRESHOLD, (1 << 31) - 1), (_M_TOP_PAD, 1 << 28))

_IN_WORDS = ("allocate memory", "size calculation overflowed")


def keep_freed_memory() -> bool:
    """Let glibc's malloc reuse large blocks, for the rest of the process; True where it does.

    By default every tensor above 32 MiB is a mapping of its own, and the top of the heap is given back when
    something there is freed: the next step of a training pays a page fault for every 4 KiB of each temporary
    again, a fifth of its time where faults are slow (docs/log.md). The price is that memory once used stays
    with the process. The ``weft`` command calls this; the library itself never does.
    """
    if not sys.platform.startswith("linux"):
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:  # another C library, such as musl
        return False
    applied = [mallopt(name, value) == 1 for name, value in _SETTINGS]
    return all(applied)


def collect_seldom() -> None:
    """Let the collector of cycles look every 200,000 new objects, for the rest of the process.

    What is imported, and the instructions of a program, are many objects that stay, and hardly any cycles: to look for
    them as often as Python does by default takes a fifth of the time. The ``weft`` command and processes of ours call
    this; the library itself never does.
    """
    gc.set_threshold(200_000, 50, 100)


def lacks_memory(error: Exception) -> bool:
    """Whether an allocation failed: torch has a class for accelerators, and says it in words for the CPU."""
    return (
        isinstance(error, MemoryError)
        or type(error).__name__ == "OutOfMemoryError"
        or (isinstance(error, RuntimeError) and any(words in str(error) for words in _IN_WORDS))
    )

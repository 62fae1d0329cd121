"""What this process and those that it started have used by now: processor time and peak memory (Linux).

The system adds a child to its parent's account when it has ended. A process that is kept, as the one that lifts is, is
read from ``/proc`` while it lives.
"""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from pathlib import Path

_PARENT, _TIMES = 1, slice(11, 15)
"""Fields of ``/proc/PID/stat`` behind the name: who started it; its time, and that of what it waited for."""


def busy_seconds() -> float:
    """Processor time of this process, of those that it waited for, and of its children that live."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    ended = sum(usage.ru_utime + usage.ru_stime for usage in usages)
    ticks = sum(sum(map(int, fields[_TIMES])) for _, fields in _children())
    return ended + ticks / os.sysconf("SC_CLK_TCK")


def peak_mebibytes() -> float:
    """Peak resident memory of this process and of its children that live, as if all had it at the same time."""
    peaks = [resource.getrusage(resource.RUSAGE_SELF).ru_maxrss]
    for process, _ in _children():
        status = _text(process / "status").splitlines()
        peaks += [int(line.split()[1]) for line in status if line.startswith("VmHWM:")]
    return sum(peaks) / 1024


def _children() -> Iterator[tuple[Path, list[str]]]:
    own = str(os.getpid())
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            # The name may hold blanks and brackets; what follows it does not.
            fields = _text(process / "stat").rpartition(")")[2].split()
            if fields and fields[_PARENT] == own:
                yield process, fields


def _text(path: Path) -> str:
    """A file of a process; empty where it has ended meanwhile."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return ""

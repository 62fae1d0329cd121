"""Every binary below some folders through the whole extraction: what became of each.

``python -m weft.bench.bcsd.extraction.sweep FOLDER… [--most MIB] [--workers N]``. Smallest files
first, so that a run that is stopped has done all files up to a size; the counts so far stand after every hundred files.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from weft.bcsd.use.extract_files import Counts, Job, work_on
from weft.platform.processes import Limits, Outcome, run_bounded

#: What each file may take.
LIMITS = Limits(seconds=600.0, mebibytes=4096)
_TELL_EVERY = 100


@dataclass
class Sweep:
    """What became of the files.

    Args:
        outcomes: Outcome, the numbers in messages taken out → files.
        failed: Outcome → one file that ended so.
        functions: Extracted, over all files.
        incomplete: Of those, with an unresolved jump.
        instructions: Extracted, over all files.
        slowest: Seconds of the slowest file, and its path.
        largest: Bytes of the largest file that gave functions.
    """

    outcomes: Counter[str] = field(default_factory=Counter)
    failed: dict[str, str] = field(default_factory=dict)
    functions: int = 0
    incomplete: int = 0
    instructions: int = 0
    slowest: tuple[float, str] = (0.0, "")
    largest: int = 0

    def add(self, outcome: Outcome[Job, Counts]) -> None:
        """Count one file."""
        path = outcome.item.path
        self.slowest = max(self.slowest, (outcome.seconds, path))
        if outcome.value is not None:
            self.outcomes["functions extracted"] += 1
            self.functions += outcome.value.functions
            self.incomplete += outcome.value.incomplete
            self.instructions += outcome.value.instructions
            self.largest = max(self.largest, os.path.getsize(path))
        elif outcome.error is not None:
            reason = "".join("#" if c.isdigit() else c for c in outcome.error.what)[:100]
            self.outcomes[reason] += 1
            self.failed.setdefault(reason, path)

    def lines(self) -> list[str]:
        """The counts for a person."""
        told = [f"{times:6}  {outcome}" for outcome, times in self.outcomes.most_common()]
        told += [f"        e.g. {path}: {outcome}" for outcome, path in self.failed.items()]
        seconds, path = self.slowest
        return [
            *told,
            f"{sum(self.outcomes.values())} files, {self.functions} functions, {self.instructions} instructions, "
            f"{self.incomplete} functions with an unresolved jump; slowest {seconds:.1f} s ({path}); largest read "
            f"{self.largest / 1e6:.1f} MB",
        ]


def elf_files(folders: list[Path], most: int) -> tuple[list[str], int]:
    """ELF files below folders, each inode once, smallest first.

    Args:
        folders: Where to look.
        most: Bytes; larger files are counted and left out.

    Returns:
        The files, and how many were larger.
    """
    seen: set[tuple[int, int]] = set()
    found: list[tuple[int, str]] = []
    larger = 0
    for folder in folders:
        for place, _, names in os.walk(folder):
            for name in names:
                path = os.path.join(place, name)
                if os.path.islink(path) or not os.path.isfile(path):
                    continue
                status = os.stat(path)
                key = (status.st_dev, status.st_ino)
                with open(path, "rb") as file:
                    if key in seen or file.read(4) != b"\x7fELF":
                        continue
                seen.add(key)
                if status.st_size > most:
                    larger += 1
                else:
                    found.append((status.st_size, path))
    return [path for _, path in sorted(found)], larger


def sweep(files: list[str], *, workers: int) -> Sweep:
    """Put every file through extraction, tokens and table included."""
    total = Sweep()
    with tempfile.TemporaryDirectory(prefix="weft-sweep-") as parts:
        jobs = [Job(path, os.path.join(parts, str(number)), "auto", 0) for number, path in enumerate(files)]
        for number, outcome in enumerate(run_bounded(work_on, jobs, workers=workers, limits=LIMITS), 1):
            total.add(outcome)
            Path(outcome.item.part).unlink(missing_ok=True)
            if number % _TELL_EVERY == 0:
                print("\n".join(total.lines()), file=sys.stderr, flush=True)  # noqa: T201 - a script's progress
    return total


def main(argv: list[str]) -> int:
    """Sweep the folders and print the table of outcomes."""
    parser = argparse.ArgumentParser(prog="python -m weft.bench.bcsd.extraction.sweep", description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument("--most", type=float, default=1024.0, metavar="MIB", help="leave larger files out")
    parser.add_argument("--workers", type=int, default=1, metavar="N")
    arguments = parser.parse_args(argv)
    files, larger = elf_files(arguments.folders, int(arguments.most * (1 << 20)))
    total = sweep(files, workers=arguments.workers)
    print("\n".join(total.lines()))  # noqa: T201 - a script's output
    print(f"{larger} files over {arguments.most:g} MiB left out")  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

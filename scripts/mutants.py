"""Put each fault of tests/mutants.yaml into a copy of the source and see that the tests beside it fail.

A fault is one line exchanged for another: ``file`` (below src/weft), ``line`` (found exactly once there, white
space at both ends aside), ``fault`` (what stands there instead), ``tests`` (what must fail), ``what`` (in words).
Before anything is broken, all named tests must pass. A fault that no test notices is named; exit code 1.
"""

from __future__ import annotations

import argparse
import os
import queue
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "weft"
TABLE = ROOT / "tests" / "mutants.yaml"
SECONDS = 300
PASSED, FAILED = 0, 1  # exit codes of pytest; every other one means that it could not run the tests


@dataclass(frozen=True)
class Fault:
    """One line of the source, what stands there instead, and the tests that must notice."""

    file: str
    line: str
    fault: str
    tests: tuple[str, ...]
    what: str

    def place(self, text: str) -> int:
        """The index of the line in the file's text."""
        found = [at for at, line in enumerate(text.splitlines()) if line.strip() == self.line.strip()]
        if len(found) != 1:
            sys.exit(f"{self.file}: {len(found)} lines are {self.line.strip()!r}; a fault needs exactly one")
        return found[0]

    def applied(self, text: str) -> str:
        """The file's text with the fault in it."""
        lines = text.splitlines(keepends=True)
        at = self.place(text)
        indent = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
        lines[at] = f"{indent}{self.fault.strip()}\n"
        return "".join(lines)


def read_table() -> list[Fault]:
    """The faults of the table, each checked against the source."""
    entries = yaml.safe_load(TABLE.read_text(encoding="utf-8"))
    faults = []
    for entry in entries:
        tests = entry.pop("tests")
        fault = Fault(**entry, tests=tuple([tests] if isinstance(tests, str) else tests))
        fault.place((SOURCE / fault.file).read_text(encoding="utf-8"))
        faults.append(fault)
    return faults


def run_tests(source: Path, tests: tuple[str, ...]) -> int:
    """Pytest's exit code with this copy of the source; FAILED where it outlives its time."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(source),
        "OMP_NUM_THREADS": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests]
    try:
        return subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, timeout=SECONDS, check=False
        ).returncode
    except subprocess.TimeoutExpired:
        return FAILED


def copy_source(folder: Path) -> Path:
    """The source in a folder of its own; the weights are only pointed to."""
    copy = folder / "weft"
    shutil.copytree(SOURCE, copy, ignore=shutil.ignore_patterns("weights", "__pycache__"))
    (copy / "weights").symlink_to(SOURCE / "weights")
    return folder


def verdict(source: Path, fault: Fault) -> str:
    """``killed``, ``survived``, or ``broken`` where the tests could not even be run."""
    place = source / "weft" / fault.file
    before = place.read_text(encoding="utf-8")
    place.write_text(fault.applied(before), encoding="utf-8")
    try:
        code = run_tests(source, fault.tests)
    finally:
        place.write_text(before, encoding="utf-8")
    return {FAILED: "killed", PASSED: "survived"}.get(code, "broken")


def judge(faults: list[Fault], workers: int) -> dict[Fault, str]:
    """Every fault's verdict; each worker has a copy of the source."""
    waiting: queue.SimpleQueue[Fault] = queue.SimpleQueue()
    for fault in faults:
        waiting.put(fault)
    verdicts: dict[Fault, str] = {}

    def work(folder: Path) -> None:
        source = copy_source(folder)
        while True:
            try:
                fault = waiting.get_nowait()
            except queue.Empty:
                return
            begun = time.monotonic()
            verdicts[fault] = verdict(source, fault)
            print(
                f"{verdicts[fault]:<9}{time.monotonic() - begun:4.0f} s  {fault.file}: {fault.what}",
                flush=True,
            )

    with tempfile.TemporaryDirectory() as place:
        folders = [Path(place) / str(number) for number in range(workers)]
        threads = [threading.Thread(target=work, args=(folder,)) for folder in folders]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return verdicts


def print_markdown(faults: list[Fault], verdicts: dict[Fault, str]) -> None:
    """The table for docs/results.md."""
    print("| file | fault | verdict |\n|---|---|---|")
    for fault in faults:
        print(f"| `{fault.file}` | {fault.what} | {verdicts[fault]} |")


def main() -> int:
    """Judge the whole table or the part that is asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", metavar="TEXT", help="faults whose file or words contain this")
    parser.add_argument(
        "--workers", type=int, default=2, metavar="N", help="copies that are tested at once (2)"
    )
    parser.add_argument("--markdown", action="store_true", help="end with a table")
    arguments = parser.parse_args()
    chosen = [
        fault
        for fault in read_table()
        if not arguments.only or arguments.only in f"{fault.file} {fault.what}"
    ]
    if not chosen:
        sys.exit(f"no fault's file or words contain {arguments.only!r}")
    named = tuple(sorted({test for fault in chosen for test in fault.tests}))
    if run_tests(SOURCE.parent, named) != PASSED:
        sys.exit("the named tests do not pass without a fault: run them with pytest first")
    verdicts = judge(chosen, arguments.workers)
    if arguments.markdown:
        print_markdown(chosen, verdicts)
    killed = sum(found == "killed" for found in verdicts.values())
    print(f"{killed} of {len(chosen)} faults are killed")
    return 0 if killed == len(chosen) else 1


if __name__ == "__main__":
    sys.exit(main())

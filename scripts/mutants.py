"""Put each fault of tests/mutants.yaml into a copy of the source and see that the tests beside it fail.

A fault is one line exchanged for another: ``file`` (below src/weft), ``line`` (found exactly once there, white
space at both ends aside), ``fault`` (what stands there instead), ``tests`` (what must fail), ``what`` (in words).
Before anything is broken, all named tests must pass. A fault that no test notices is named; exit code 1.
"""

from __future__ import annotations

import argparse
import json
import os
import queue
import shutil
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import yaml

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "weft"
TABLE = ROOT / "tests" / "mutants.yaml"
SECONDS = 300
PASSED, FAILED, NOT_THERE = 0, 1, 4  # exit codes of pytest; all but the first two: it could not run the tests
LIBRARIES = (
    "capstone",
    "libcst",
    "lief",
    "pyarrow.parquet",
    "safetensors.torch",
    "scipy.optimize",
    "scipy.sparse.csgraph",
    "tokenizers",
    "torch.distributed.tensor",
    "transformers",
)
"""What takes long to import and is no part of the source: imported once."""
SERVER = """
import contextlib, gc, importlib, io, json, os, signal, sys, tempfile
import pytest
with contextlib.redirect_stdout(io.StringIO()):
    pytest.main(["--markers"])  # imports its plugins
for name in sys.argv[2:]:
    importlib.import_module(name)
gc.freeze()
class First:
    name = ""
    def pytest_runtest_logreport(self, report):
        self.name = self.name or (report.nodeid if report.failed else "")
for line in sys.stdin:
    with tempfile.TemporaryFile() as names:  # no pipe: a process that a test leaves behind would hold it open
        child = os.fork()
        if not child:
            os.setsid()
            silent = os.open(os.devnull, os.O_RDWR)
            for stream in range(3):
                os.dup2(silent, stream)
            signal.alarm(int(sys.argv[1]))
            first = First()
            code = pytest.main(["-q", "-x", "-p", "no:cacheprovider", *json.loads(line)], plugins=[first])
            os.write(names.fileno(), first.name.encode())
            os._exit(code)
        _, status, used = os.wait4(child, 0)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
        names.seek(0)
        name = names.read().decode()
    print(json.dumps([os.waitstatus_to_exitcode(status), name, used.ru_utime + used.ru_stime]), flush=True)
os._exit(0)
"""
"""What a tester runs: Python with all that takes long to import, copied for each run of pytest."""


class Outcome(NamedTuple):
    """What became of a run of tests: pytest's exit code, the first test that failed, seconds of the processor."""

    code: int
    test: str
    seconds: float


class Verdict(NamedTuple):
    """``killed``, ``survived``, or ``broken`` where the tests could not even be run; and how."""

    word: str
    outcome: Outcome


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
            raise ValueError(
                f"{self.file}: {len(found)} lines are {self.line.strip()!r}; a fault needs exactly one"
            )
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


class Tester:
    """Runs tests on a copy of the source; the interpreter and the libraries are started once for all of them.

    Args:
        source: The folder with the package.
        cache: Keep the compiled source and tests for those that come after.
    """

    def __init__(self, source: Path, *, cache: bool = False) -> None:
        environment = {**os.environ, "PYTHONPATH": str(source), "OMP_NUM_THREADS": "1"}
        if not cache:
            environment["PYTHONDONTWRITEBYTECODE"] = "1"
        self._server = subprocess.Popen(
            [sys.executable, "-c", SERVER, str(SECONDS), *LIBRARIES],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, tests: tuple[str, ...]) -> Outcome:
        """Run tests up to the first that fails; FAILED where they outlive their time or the process dies."""
        asks, answers = self._server.stdin, self._server.stdout
        assert asks is not None
        assert answers is not None
        asks.write(json.dumps(tests) + "\n")
        asks.flush()
        code, name, seconds = json.loads(answers.readline())
        return Outcome(code if code >= 0 else FAILED, name, seconds)

    def close(self) -> None:
        """End it."""
        self._server.communicate()


def copy_source(folder: Path) -> Path:
    """The source in a folder of its own, compiled as far as it is; the weights are only pointed to."""
    copy = folder / "weft"
    shutil.copytree(SOURCE, copy, ignore=shutil.ignore_patterns("weights"))
    (copy / "weights").symlink_to(SOURCE / "weights")
    return folder


def judge_one(source: Path, tester: Tester, fault: Fault) -> Verdict:
    """Put the fault in, run its tests, and take it out again."""
    place = source / "weft" / fault.file
    before, times = place.read_text(encoding="utf-8"), place.stat()
    place.write_text(fault.applied(before), encoding="utf-8")
    os.utime(place, (times.st_atime, times.st_mtime + 60))  # what was compiled before is not it
    try:
        outcome = tester.run(fault.tests)
    finally:
        place.write_text(before, encoding="utf-8")
        os.utime(place, ns=(times.st_atime_ns, times.st_mtime_ns))
    return Verdict({FAILED: "killed", PASSED: "survived"}.get(outcome.code, "broken"), outcome)


def judge(faults: list[Fault], workers: int) -> dict[Fault, Verdict]:
    """Every fault's verdict; each worker has a copy of the source."""
    waiting: queue.SimpleQueue[Fault] = queue.SimpleQueue()
    for fault in faults:
        waiting.put(fault)
    verdicts: dict[Fault, Verdict] = {}

    def work(folder: Path) -> None:
        source = copy_source(folder)
        tester = Tester(source)
        while True:
            try:
                fault = waiting.get_nowait()
            except queue.Empty:
                tester.close()
                return
            verdicts[fault] = word, outcome = judge_one(source, tester, fault)
            print(
                f"{word:<9}{outcome.seconds:5.1f} s  {fault.file}: {fault.what}  {outcome.test}", flush=True
            )

    with tempfile.TemporaryDirectory() as place:
        folders = [Path(place) / str(number) for number in range(workers)]
        threads = [threading.Thread(target=work, args=(folder,)) for folder in folders]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return verdicts


def print_markdown(faults: list[Fault], verdicts: dict[Fault, Verdict]) -> None:
    """The table for docs/results.md."""
    print("| file | fault | | noticed by |\n|---|---|---|---|")
    for fault in faults:
        word, outcome = verdicts[fault]
        path, _, name = outcome.test.removeprefix("tests/").partition("::")
        print(f"| `{fault.file}` | {fault.what} | {word} | `{path}` `{name.partition('[')[0]}` |")


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
    try:
        faults = read_table()
    except ValueError as error:
        sys.exit(str(error))
    chosen = [
        fault for fault in faults if not arguments.only or arguments.only in f"{fault.file} {fault.what}"
    ]
    if not chosen:
        sys.exit(f"no fault's file or words contain {arguments.only!r}")
    named = tuple(sorted({test for fault in chosen for test in fault.tests}))
    tester = Tester(SOURCE.parent, cache=True)
    code, test, whole = tester.run(named)
    tester.close()
    if code != PASSED:
        reason = test or f"pytest ends with {code}" + (
            ": one of them is not there" if code == NOT_THERE else ""
        )
        sys.exit(f"the named tests do not pass without a fault: {reason}")
    verdicts = judge(chosen, arguments.workers)
    if arguments.markdown:
        print_markdown(chosen, verdicts)
    killed = sum(word == "killed" for word, _ in verdicts.values())
    seconds = sum(outcome.seconds for _, outcome in verdicts.values())
    print(
        f"{killed} of {len(chosen)} faults are killed, in {seconds:.0f} s of the processor; "
        f"the {len(named)} tests without a fault take {whole:.0f} s"
    )
    return 0 if killed == len(chosen) else 1


if __name__ == "__main__":
    sys.exit(main())

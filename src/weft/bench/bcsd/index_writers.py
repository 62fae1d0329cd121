"""`weft bench bcsd-index-writers`: work on one changed file of many; be killed at any moment."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from weft.bcsd.index import update
from weft.bcsd.index.store import FunctionStore
from weft.bcsd.use.embed_files import Embedding
from weft.bcsd.use.extract_files import find_binaries
from weft.bench.table import Row
from weft.errors import InputError

_LONGEST_PAUSE = 2.0
_PLACES = ("/usr/lib", "/lib", "/usr/bin")


def rows(quick: bool) -> list[Row]:
    """All measurements, on copies of this machine's smallest binaries."""
    options = Embedding()
    with tempfile.TemporaryDirectory(prefix="weft-bench-index-") as name:
        place = Path(name)
        files = small_binaries(20 if quick else 200, place / "files")
        return [
            *update_rows(place, files, options),
            *kill_rows(place, files, options, kills=2 if quick else 20),
        ]


def small_binaries(count: int, folder: Path) -> list[Path]:
    """Copies of the smallest binaries of this machine.

    Raises:
        InputError: There are too few.
    """
    found = {path for place in _PLACES if os.path.isdir(place) for path in find_binaries([place])}
    sized = sorted((os.path.getsize(path), path) for path in found if os.path.getsize(path) > 12_000)
    if len(sized) < count:
        raise InputError(f"only {len(sized)} binaries on this machine; {count} are needed")
    folder.mkdir()
    copies: list[Path] = []
    for number, (_, path) in enumerate(sized[:count]):
        copies.append(folder / f"{number:03}-{Path(path).name}")
        copies[-1].write_bytes(Path(path).read_bytes())
    return copies


def update_rows(place: Path, files: Sequence[Path], options: Embedding) -> list[Row]:
    """Files that an update works on after one of many changed, and the time that it takes."""
    folder, index = files[0].parent, place / "of-many"
    begun = time.perf_counter()
    added = update.add([str(folder)], index, options)
    whole = time.perf_counter() - begun
    # Other content, the same code: a byte behind the end of the last section.
    with open(files[len(files) // 2], "ab") as file:
        file.write(b"\0")
    begun = time.perf_counter()
    changes = update.update([str(folder)], index, options)
    again = time.perf_counter() - begun
    worked = sum(change.status in ("added", "updated", "failed") for change in changes)
    failed = sum(change.status == "failed" for change in added)
    variant = f"one of {len(files)} files changed"
    return [
        Row(
            "files worked on", f"{variant}; baseline: one", "fp32", "files", worked - failed, 1, "lower", 1.0
        ),
        Row("index update", f"{variant}; baseline: all added", "fp32", "s", again, whole),
    ]


def kill_rows(place: Path, files: Sequence[Path], options: Embedding, kills: int) -> list[Row]:
    """`weft bcsd index add` killed again and again, and started again after each kill.

    Every kill comes after a random number of committed files and a random pause. The index is begun anew when
    all files are in it. What is expected of a file is what the index of :func:`update_rows` holds of it.
    """
    expected = {path: file.functions for path, file in FunctionStore.open(place / "of-many").files().items()}
    index = place / "killed"
    chance = random.Random(0)
    lost = doubled = closed = 0
    committed: set[str] = set()
    for _ in range(kills):
        committed |= _killed(index, files[0].parent, options, chance)
        if not _begun(index):
            closed += bool(committed)
            continue
        held = {path: file.functions for path, file in FunctionStore.open(index).files().items()}
        lost += len(committed - held.keys())
        lost += sum(held[path] < expected[path] for path in held)
        doubled += sum(held[path] > expected[path] for path in held)
        if held.keys() == expected.keys():
            shutil.rmtree(index)
            committed = set()
    update.add([str(files[0].parent)], index, options)
    final = {path: file.functions for path, file in FunctionStore.open(index).files().items()}
    variant = f"index add killed {kills} times"
    counts = (
        ("files with rows lost", lost),
        ("files with rows doubled", doubled),
        ("index does not open", closed),
        ("files that differ when an add went through", sum(final.get(p) != n for p, n in expected.items())),
    )
    # One is added to both sides: a ratio to none is no ratio.
    return [
        Row(name, f"{variant}; 1 + count, baseline: 1 + none", "fp32", "files", 1 + count, 1, "lower", 1.0)
        for name, count in counts
    ]


def _begun(index: Path) -> bool:
    return any(index.glob("functions.lance/_versions/*.manifest"))


def _killed(index: Path, folder: Path, options: Embedding, chance: random.Random) -> set[str]:
    """Start the command, kill it, and return the files that it said were committed."""
    command = [sys.executable, "-m", "weft", "bcsd", "index", "add", str(folder)]
    command += ["--index", str(index), "--model", options.model, "--workers", "1"]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    wanted = chance.randint(0, len(list(folder.iterdir())) // 2)
    committed: set[str] = set()
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stderr is not None
        for seen, line in enumerate(process.stderr, 1):
            status, _, rest = line.partition(": ")
            if status in ("added", "updated"):
                committed.add(rest.rpartition(": ")[0])
            if seen >= wanted:
                time.sleep(chance.uniform(0, _LONGEST_PAUSE))
                process.send_signal(signal.SIGKILL)
                wanted = sys.maxsize
    return committed

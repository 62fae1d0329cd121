"""Extraction against what is known: symbols, unwind data, the compiler's own jump tables, other tools.

What needs a built data set reads it from the folder that ``WEFT_BCSD_WORK`` names
(`weft bcsd dataset build … --work`); what needs angr runs where angr is installed. Without them those rows
are left out.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from weft.bcsd.disassemble.native import NativeDisassembler
from weft.bcsd.read import open_image
from weft.bcsd.use.extract_files import build_table
from weft.bench.spent import busy_seconds, peak_mebibytes
from weft.bench.table import Row
from weft.errors import WeftError
from weft.platform.processes import Limits, run_bounded

TEST_PACKAGES = ("zlib", "lz4", "bzip2", "libpng")
#: Of what is found in stripped files; other processors have none here, see :mod:`weft.bench.bcsd.extraction.starts`.
_BOUNDS = {"x86_64": 0.99, "aarch64": 0.97}
_SYSTEM = Path("/usr/lib/x86_64-linux-gnu")
_CROSS = Path("/usr/aarch64-linux-gnu/lib")


@dataclass
class Coverage:
    """Functions found against functions named, summed over files."""

    files: int = 0
    named: int = 0
    found: int = 0
    extra: int = 0
    same_size: int = 0

    def add(self, other: Coverage) -> None:
        """Sum."""
        self.files += other.files
        self.named += other.named
        self.found += other.found
        self.extra += other.extra
        self.same_size += other.same_size


def coverage(symbols_from: Path, extract_from: Path, *, hide_symbols: bool = False) -> Coverage:
    """Compare the functions found in one file with the function symbols of another, or of the same one.

    With ``hide_symbols`` no symbol of ``extract_from`` tells where a function is, those of ``.dynsym`` included,
    which ``strip`` leaves.
    """
    reference = open_image(symbols_from)
    symbols = (symbol for symbol in reference.symbols if symbol.typed)
    named = {symbol.address: symbol.size for symbol in symbols if not reference.in_stubs(symbol.address)}
    image = open_image(extract_from)
    if hide_symbols:
        image.symbols = []
    found = {f.address: f.size for f in NativeDisassembler().functions(image)}
    shared = named.keys() & found.keys()
    return Coverage(
        files=1,
        named=len(named),
        found=len(shared),
        extra=len(found.keys() - named.keys()),
        same_size=sum(not named[a] or named[a] == found[a] for a in shared),
    )


def builds(work: Path, packages: Iterable[str]) -> list[Path]:
    """The folders of the finished builds of some packages."""
    return sorted(
        folder
        for package in packages
        for folder in (work / "builds" / package).glob("*")
        if (folder / "library.so").is_file() and (folder / "stripped.so").is_file()
    )


def dataset_work() -> Path | None:
    """The folder of the built data set, if there is one."""
    named = os.environ.get("WEFT_BCSD_WORK")
    return Path(named) if named and Path(named).is_dir() else None


def symbol_rows(work: Path) -> list[Row]:
    """Functions found in the test packages: with symbols, and after ``strip``."""
    whole = Coverage()
    bare: dict[str, Coverage] = {}
    for folder in builds(work, TEST_PACKAGES):
        library, stripped = folder / "library.so", folder / "stripped.so"
        whole.add(coverage(library, library))
        bare.setdefault(folder.name.rpartition("-")[2], Coverage()).add(coverage(library, stripped))
    if not whole.files:
        return []
    rows = [_coverage_row("functions found, with symbols", "test packages", whole, 0.995)]
    for architecture, counted in bare.items():
        bound = _BOUNDS.get(architecture)
        rows.append(_coverage_row("functions found, stripped", architecture, counted, bound))
        variant = f"{architecture}: not among the symbols, of all found"
        total = counted.found + counted.extra
        rows.append(Row("functions found, stripped: extra", variant, "-", "functions", counted.extra, total))
    return rows


def _coverage_row(name: str, what: str, counted: Coverage, target: float | None) -> Row:
    variant = f"{what}, {counted.files} files, {counted.same_size} of the same size"
    return Row(name, variant, "-", "functions", counted.found, counted.named, better="higher", target=target)


def system_rows(limit: int) -> list[Row]:
    """Functions found in system libraries, half of them of each architecture where the machine has both."""
    cross = _libraries(_CROSS, limit // 2)
    own = _libraries(_SYSTEM, limit - len(cross))
    rows: list[Row] = []
    for architecture, paths in (("aarch64", cross), ("x86_64", own)):
        seen, hidden = Coverage(), Coverage()
        for path in paths:
            seen.add(coverage(path, path))
            hidden.add(coverage(path, path, hide_symbols=True))
        if paths:
            what = f"system libraries, {architecture}"
            rows.append(_coverage_row("functions found, with symbols", what, seen, 0.995))
            # No bound: entry points written in assembly (libGL's thousands) have no unwind data at all.
            rows.append(_coverage_row("functions found, symbols hidden", what, hidden, None))
    return rows


def _libraries(folder: Path, limit: int) -> list[Path]:
    """Libraries of a middling size that name a hundred functions, by name; those with a ``.symtab`` first."""
    found: list[tuple[bool, Path]] = []
    for path in sorted(folder.glob("*.so*")):
        if path.is_symlink() or not 50_000 < path.stat().st_size < 3_000_000:
            continue
        try:
            image = open_image(path)
        except WeftError:
            continue
        if len(image.symbols) >= 100:
            found.append((not has_symbol_table(path), path))
    return [path for _, path in sorted(found)[:limit]]


def has_symbol_table(path: Path) -> bool:
    """Whether an ELF file has its ``.symtab`` still."""
    import lief

    binary = lief.ELF.parse(str(path))
    return binary is not None and any(section.name == ".symtab" for section in binary.sections)


class Used(NamedTuple):
    """What one file cost, measured in the worker that took it apart.

    Args:
        process: The worker.
        before: Processor seconds of it and of the process that lifts for it when it began.
        after: When it ended.
        mebibytes: Peak memory of the two by then.
        functions: Rows of the file.
    """

    process: int
    before: float
    after: float
    mebibytes: float
    functions: int


def scaling_rows(files: list[str]) -> list[Row]:
    """The same files with one worker and with two: by the clock, and by the busiest worker's processor time.

    On a machine that does other work the clock says little. The processor time of the busiest worker is what the clock
    would say if every worker had a core of its own: with that of the process that lifts for it, since one of the two
    waits for the other. What was lifted before is not looked up, and both passes find the files in memory.
    """
    for path in files:
        Path(path).read_bytes()
    seconds: list[float] = []
    busiest: list[float] = []
    for workers in (1, 2):
        begun, spent = time.monotonic(), time.process_time()
        by_process: dict[int, float] = {}
        for outcome in run_bounded(extracted, files, workers=workers, limits=Limits()):
            if outcome.value is not None:
                by_process[outcome.value.process] = outcome.value.after
        seconds.append(time.monotonic() - begun)
        busiest.append(max([*by_process.values(), time.process_time() - spent]))
    variant = f"{len(files)} files, two workers against one, lifting included"
    return [
        Row("extraction speed-up", f"{variant}, {kind}", "-", "s", one, two, better="higher", target=1.7)
        for kind, (one, two) in (("clock", seconds), ("busiest worker", busiest))
    ]


def extracted(path: str) -> Used:
    """One file in a worker, with all that a row holds, lifted anew."""
    before = busy_seconds()
    builder, counts = build_table(path, cache=False)
    for _ in builder.tables():
        pass
    return Used(os.getpid(), before, busy_seconds(), peak_mebibytes(), counts.functions)


def size_rows(paths: list[Path]) -> list[Row]:
    """Seconds of processor time per MB of code, small file against large one, and the memory that each takes.

    Each file has a process of its own, and that process one that lifts for it: both count.

    Raises:
        WeftError: A file cannot be taken apart within the bounds of a command.
    """
    rows: list[Row] = []
    rates: list[float] = []
    for path in paths:
        (outcome,) = run_bounded(extracted, [str(path)], workers=1, limits=Limits())
        if outcome.error is not None:
            raise outcome.error
        used = outcome.value
        assert used is not None  # one of the two is there
        spent = used.after - used.before
        rates.append(spent / (open_image(path).code_size / 1e6))
        size = f"{path.stat().st_size / 1e6:.0f} MB, {used.functions} functions"
        variant = f"{path.name}: {size}, {spent:.1f} s, lifting included"
        rows.append(Row("extraction, peak memory", variant, "-", "MiB", used.mebibytes, 2048.0, target=1.0))
    if len(rates) > 1:
        variant = f"{paths[-1].name} against {paths[0].name}, per MB of code, lifting included"
        rows.append(Row("extraction, time per size", variant, "-", "s/MB", rates[-1], rates[0], target=1.5))
    return rows


def rows(quick: bool) -> list[Row]:
    """Everything that this machine has the inputs for."""
    found = system_rows(5 if quick else 20)
    work = dataset_work()
    if work is not None:
        from weft.bench.bcsd.extraction.tables import table_rows

        found += symbol_rows(work)
        found += table_rows(work, TEST_PACKAGES if quick else (*TEST_PACKAGES, "sqlite"))
    small = [str(path) for path in sorted(_SYSTEM.glob("*.so*")) if not path.is_symlink()]
    small = [path for path in small if 200_000 < os.path.getsize(path) < 1_000_000][: 8 if quick else 40]
    found += scaling_rows(small)
    large = _SYSTEM / "libLLVM-14.so.1"
    if not quick and large.is_file():
        found += size_rows([_SYSTEM / "libcrypto.so.3", large])
    return found

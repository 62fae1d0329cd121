"""Jump tables found in binaries against the tables that the compiler wrote.

gcc's assembly names each table and each of its targets. Its local labels are renamed, so that the assembler
keeps them as symbols: after linking, the symbols say where every table entry leads. The stripped file goes
through extraction, and the two are compared per table.
"""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import cast, get_args

from weft.bcsd.dataset.compile import compile_flags, driver, gnu_tool, source_files
from weft.bcsd.dataset.config import DatasetConfig, Level, Package, Target, Variant
from weft.bcsd.dataset.source import run
from weft.bcsd.disassemble.interface import EdgeKind
from weft.bcsd.disassemble.native import NativeDisassembler
from weft.bcsd.read import open_image
from weft.bench.table import Row
from weft.platform.settings import read_settings

_CONFIG = Path("examples/bcsd/dataset.yaml")
#: MIPS has a dollar where the others have a dot.
_LOCAL_LABEL = re.compile(r"(?:\.L|\$L(?=\d))(\w+)")
_KEPT_LABEL = re.compile(r"L\d+x\w+$")
_LABEL_LINE = re.compile(r"^(\w+):")
#: Thumb's targets are marked by an odd address.
_ENTRY = re.compile(
    r"^\s+\.(?:long|4byte|word|2byte|hword|byte)\s+\(?(L\d+x\w+)(?:\+1)?(?:\s*-\s*(L\d+x\w+|\.)|@GOTOFF)"
)
#: Entries that count from the global pointer of MIPS, and halved ones: Thumb's stand among the code.
_FROM_POINTER = re.compile(r"^\s+\.gpd?word\s+(L\d+x\w+)")
_HALVED = re.compile(r"^\s+\.(?:byte|2byte)\s+\((L\d+x\w+)-L\d+x\w+\)/2")
#: All processors of the data set.
_TARGETS = get_args(Target)


@dataclass
class Tally:
    """Tables and targets, summed over files."""

    tables: int = 0
    resolved: int = 0
    targets: int = 0
    false_targets: int = 0


def table_rows(work: Path, packages: Iterable[str]) -> list[Row]:
    """Share of tables whose every target was found, and share of found targets that no table holds."""
    config = read_settings(DatasetConfig, _CONFIG)
    rows: list[Row] = []
    for target in _TARGETS:
        if shutil.which(driver(Variant("gcc", "O2", target))[0]) is None:
            continue
        total = Tally()
        for level in ("O0", "O2", "O3"):
            _count(config, work, packages, level, target, total)
        variant = f"gcc {target}, O0 O2 O3: {', '.join(packages)}"
        rows += [
            Row(
                "jump tables resolved",
                variant,
                "-",
                "tables",
                total.resolved,
                total.tables,
                better="higher",
                target=0.9,
            ),
            Row(
                "jump tables, false targets",
                variant,
                "-",
                "targets",
                total.false_targets,
                total.targets,
                target=0.005,
            ),
        ]
    return rows


def _count(
    config: DatasetConfig, work: Path, packages: Iterable[str], level: Level, target: Target, total: Tally
) -> None:
    by_name = {package.name: package for package in config.packages}
    for name in packages:
        tree = work / "source" / name / "tree"
        if tree.is_dir():
            with tempfile.TemporaryDirectory() as folder:
                tables, library = assemble(
                    by_name[name], Variant("gcc", level, target), tree, work, Path(folder)
                )
                compare(tables, library, gnu_tool("strip", Variant("gcc", level, target)), total)


def assemble(
    package: Package, variant: Variant, tree: Path, work: Path, folder: Path
) -> tuple[dict[str, list[str]], Path]:
    """Compile by way of assembly with every label kept.

    Returns:
        Table label → target labels, and the linked file, whose symbols hold the labels.
    """
    command = [*driver(variant), *compile_flags(package, variant)]
    for entry in package.include:
        other, _, inside = entry.removeprefix("@").partition("/")
        place = work / "source" / other / "tree" / inside if entry.startswith("@") else tree / entry
        command.append(f"-I{place}")
    tables: dict[str, list[str]] = {}
    objects: list[str] = []
    for number, path in enumerate(source_files(package, tree)):
        text = folder / f"{number}.s"
        run([*command, "-S", str(path), "-o", str(text)], tree, f"{package.name}/{path}")
        renamed = _LOCAL_LABEL.sub(rf"L{number}x\1", text.read_text(encoding="utf-8", errors="replace"))
        text.write_text(renamed, encoding="utf-8")
        tables.update(read_tables(renamed))
        objects.append(str(folder / f"{number}.o"))
        run([*driver(variant), "-c", str(text), "-o", objects[-1]], folder, str(path))
    library = folder / "labelled.so"
    run([*driver(variant), "-shared", "-o", str(library), *objects], folder, f"{package.name} link")
    return tables, library


def read_tables(assembly: str) -> dict[str, list[str]]:
    """Table label → labels of its targets, in order: runs of differences of labels under one label."""
    tables: dict[str, list[str]] = {}
    label = ""
    in_data = False
    for line in assembly.splitlines():
        if line.startswith("\t.section"):
            in_data = ".rodata" in line
        elif line.startswith("\t.rdata"):
            in_data = True
        elif line.startswith("\t.text"):
            in_data = False
        found = _LABEL_LINE.match(line)
        if found is not None:
            label = found.group(1)
            continue
        entry = _ENTRY.match(line)
        # PPC64's tables stand among the code as well, and count from themselves.
        if entry is not None and not in_data and entry.group(2) != label:
            entry = None
        entry = entry or _HALVED.match(line) or _FROM_POINTER.match(line)
        if entry is not None and label:
            tables.setdefault(label, []).append(entry.group(1))
    return tables


def compare(tables: dict[str, list[str]], library: Path, strip: str, total: Tally) -> None:
    """Add one file's tables and targets to the tally."""
    import lief

    binary = lief.ELF.parse(str(library))
    if binary is None:
        return
    labels = {str(symbol.name): symbol.value for symbol in binary.symtab_symbols}
    stripped = library.with_name("stripped.so")
    run([strip, "-o", str(stripped), str(library)], library.parent, "strip")
    functions = sorted(NativeDisassembler().functions(open_image(stripped)), key=lambda f: f.address)
    starts = [function.address for function in functions]
    found: list[set[int]] = []
    for function in functions:
        switched = {e.target for e in function.edges if e.kind == EdgeKind.SWITCH}
        found.append({function.instructions[function.blocks[target].start][0] for target in switched})
    wanted: list[set[int]] = [set() for _ in functions]
    for targets in tables.values():
        addresses = {labels[target] for target in targets if target in labels}
        if not addresses:
            # The assembler dropped them: the table's function was not kept.
            continue
        owners = {bisect_right(starts, address) - 1 for address in addresses}
        inside = {o for o in owners if o >= 0}
        for owner in inside:
            own = {a for a in addresses if bisect_right(starts, a) - 1 == owner}
            wanted[owner] |= own
        total.tables += 1
        main = max(inside, key=lambda o: sum(bisect_right(starts, a) - 1 == o for a in addresses), default=-1)
        if main >= 0:
            own = {a for a in addresses if bisect_right(starts, a) - 1 == main}
            total.resolved += own <= found[main]
    # Functions of the compiler's support library are linked in as they are: nothing is known of their tables.
    ours = {bisect_right(starts, at) - 1 for name, at in labels.items() if _KEPT_LABEL.match(name)}
    total.targets += sum(len(found[owner]) for owner in ours if owner >= 0)
    total.false_targets += sum(len(found[owner] - wanted[owner]) for owner in ours if owner >= 0)


if __name__ == "__main__":
    # python -m weft.bench.bcsd.extraction.tables DIR mips O2 lua
    _asked = [_word for _word in sys.argv[3:] if _word in get_args(Level)]
    _names = [_word for _word in sys.argv[3:] if _word not in _asked]
    _config, _target, _tally = read_settings(DatasetConfig, _CONFIG), cast("Target", sys.argv[2]), Tally()
    for _level in _asked or ("O0", "O2", "O3"):
        _count(_config, Path(sys.argv[1]), _names, cast("Level", _level), _target, _tally)
    print(sys.argv[2:], _tally)  # noqa: T201

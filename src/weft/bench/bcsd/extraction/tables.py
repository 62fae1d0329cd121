"""Jump tables found in binaries against the tables that the compiler wrote.

The compiler's assembly names each table and each of its targets. Its local labels are renamed, so that the assembler
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
from typing import NamedTuple, cast, get_args

from weft.bcsd.dataset.compile import compile_flags, driver, gnu_tool, source_files
from weft.bcsd.dataset.config import DatasetConfig, Level, Package, Target, Variant
from weft.bcsd.dataset.source import run
from weft.bcsd.disassemble.interface import EdgeKind
from weft.bcsd.disassemble.native import NativeDisassembler
from weft.bcsd.read import open_image
from weft.bench.checkout import CHECKOUT
from weft.bench.table import Row
from weft.platform.settings import read_settings

_CONFIG = CHECKOUT / "examples/bcsd/dataset.yaml"
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
#: A32's tables may be branches: a jump that counts from here, where it goes that counts too far, the table's label.
_COUNTED, _BRANCH = re.compile(r"^\s+add\w*\s+pc, pc,"), re.compile(r"^\s+b\s+(L\d+x\w+)$")
_TABLE = 3
#: An address of a label among data.
_POINTER = re.compile(r"^\s+\.(?:xword|quad|dword|8byte|word|long|4byte)\s+(L\d+x\w+)$")
#: All processors of the data set.
_TARGETS = get_args(Target)
#: Others that gcc compiles for: prefix of its tools, and flags.
_FURTHER = {"a32": ("arm-linux-gnueabihf-", ("-marm",)), "mips64": ("mips64el-linux-gnuabi64-", ())}


class Tools(NamedTuple):
    """What compiles for a processor.

    Args:
        compiler: Command, up to the flags of the package.
        linker: Command.
        strip: Command.
    """

    compiler: tuple[str, ...]
    linker: str
    strip: str

    @staticmethod
    def named(name: str) -> Tools:
        """Those of a target of the data set, ``clang-`` before it for clang's, or of one of the others."""
        if name in _FURTHER:
            prefix, flags = _FURTHER[name]
            return Tools((f"{prefix}gcc", *flags), f"{prefix}gcc", f"{prefix}strip")
        compiler = "clang" if name.startswith("clang-") else "gcc"
        variant = Variant(compiler, "O2", cast("Target", name.removeprefix("clang-")))
        return Tools(driver(variant), gnu_tool("gcc", variant), gnu_tool("strip", variant))


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
        tools = Tools.named(target)
        if shutil.which(tools.linker) is None:
            continue
        total = Tally()
        for level in ("O0", "O2", "O3"):
            _count(config, work, packages, level, tools, total)
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
    config: DatasetConfig, work: Path, packages: Iterable[str], level: Level, tools: Tools, total: Tally
) -> None:
    by_name = {package.name: package for package in config.packages}
    for name in packages:
        tree = work / "source" / name / "tree"
        if tree.is_dir():
            with tempfile.TemporaryDirectory() as folder:
                tables, library = assemble(by_name[name], level, tools, tree, work, Path(folder))
                compare(tables, library, tools.strip, total)


def assemble(
    package: Package, level: Level, tools: Tools, tree: Path, work: Path, folder: Path
) -> tuple[dict[str, list[str]], Path]:
    """Compile by way of assembly with every label kept.

    Returns:
        Table label → target labels, one of which without a label holds what computed gotos may lead to, and the linked
        file, whose symbols hold the labels.
    """
    command = [*tools.compiler, *compile_flags(package, Variant("gcc", level, "x86_64"))]
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
        tables.setdefault("", []).extend(read_pointers(renamed))
        objects.append(str(folder / f"{number}.o"))
        run([*tools.compiler, "-c", str(text), "-o", objects[-1]], folder, str(path))
    library = folder / "labelled.so"
    run([tools.linker, "-shared", "-o", str(library), *objects], folder, f"{package.name} link")
    return tables, library


def read_tables(assembly: str) -> dict[str, list[str]]:
    """Table label → labels of its targets, in order: runs of differences of labels, or branches, under one label."""
    tables: dict[str, list[str]] = {}
    label = ""
    in_data = False
    counted = branches = 0
    for line in assembly.splitlines():
        counted = 1 if _COUNTED.match(line) else counted and counted + 1
        if line.startswith("\t.section"):
            in_data = ".rodata" in line
        elif line.startswith("\t.rdata"):
            in_data = True
        elif line.startswith("\t.text"):
            in_data = False
        found = _LABEL_LINE.match(line)
        if found is not None:
            label = found.group(1)
            branches = counted == _TABLE
            continue
        entry = _ENTRY.match(line)
        # PPC64's tables stand among the code as well, and count from themselves.
        if entry is not None and not in_data and entry.group(2) != label:
            entry = None
        entry = entry or _HALVED.match(line) or _FROM_POINTER.match(line)
        branch = _BRANCH.match(line) if branches else None
        branches, entry = branch is not None, entry or branch
        if entry is not None and label:
            slots = tables.setdefault(label, [])
            slots.append(f"{label}+{4 * len(slots)}" if branch else entry.group(1))
    return tables


def read_pointers(assembly: str) -> list[str]:
    """Labels whose addresses stand among the data, one after another: where a computed goto may lead."""
    return [found.group(1) for found in map(_POINTER.match, assembly.splitlines()) if found is not None]


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
    for label, targets in tables.items():
        places = [target.partition("+") for target in targets]
        addresses = {labels[name] + int(offset or 0) for name, _, offset in places if name in labels}
        if not addresses:
            # The assembler dropped them: the table's function was not kept.
            continue
        owners = {bisect_right(starts, address) - 1 for address in addresses}
        inside = {o for o in owners if o >= 0}
        for owner in inside:
            own = {a for a in addresses if bisect_right(starts, a) - 1 == owner}
            wanted[owner] |= own
        if not label:
            continue
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
    # python -m weft.bench.bcsd.extraction.tables DIR mips|a32|mips64|clang-arm O2 lua
    _asked = [_word for _word in sys.argv[3:] if _word in get_args(Level)]
    _names = [_word for _word in sys.argv[3:] if _word not in _asked]
    _config, _tools, _tally = read_settings(DatasetConfig, _CONFIG), Tools.named(sys.argv[2]), Tally()
    for _level in _asked or ("O0", "O2", "O3"):
        _count(_config, Path(sys.argv[1]), _names, cast("Level", _level), _tools, _tally)
    print(sys.argv[2:], _tally)  # noqa: T201

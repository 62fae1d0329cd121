"""What `weft bcsd match` says of small files: unrelated programs of this machine, and builds of small C programs.

    python benchmarks/bcsd_small_files.py [--part PART] [--sources DIR …] [--modules DIR …] [--rule FILE]

Unrelated: stripped programs of 5 to 60 functions in the folders of ``--programs``, each two of different source
packages (by dpkg) and not both with parts of gnulib, 40 pairs; small programs with names against them. Related: every
C file of the folders of ``--sources`` (those beside this script by default) that gcc compiles by itself, in eight pairs
of levels; extension modules of one name in the folders of ``--modules``, each folder with the next. Truth is by symbols
before stripping; start-up code and `main` do not count. Packages, sources and modules belong to one of two parts by a
hash of their name: one chooses what is fitted, the other measures.
"""

from __future__ import annotations

import argparse
import hashlib
import random
import re
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from weft.bcsd.matching.in_common import COUNTED, in_common
from weft.bcsd.matching.match import Matching, see
from weft.bcsd.matching.pairs.seen import score
from weft.bcsd.matching.rule import Rule, load_rule, rule_of
from weft.bcsd.matching.side import Side, SideRequest, read_side
from weft.bcsd.matching.trial import Known, Trial
from weft.bcsd.read.runtime import is_runtime
from weft.bcsd.use.embedder import Embedder
from weft.bcsd.use.store import find
from weft.errors import WeftError

PARTS = ("chooses", "measures")
FEWEST, MOST, LARGEST = 5, 60, 90_000
UNRELATED = 40
LEVELS = {
    "O0": ("-O0",),
    "O1": ("-O1",),
    "O2": ("-O2",),
    "O3": ("-O3",),
    "Os": ("-Os",),
    "O2 apart": ("-O2", "-fno-inline"),
    "O3 apart": ("-O3", "-fno-inline"),
}
BUILDS = (
    ("O0", "O3"),
    ("O1", "O2"),
    ("Os", "O2"),
    ("O0", "O1"),
    ("O2 apart", "O2"),
    ("O0", "O3 apart"),
    ("Os", "O3"),
    ("O1", "O0"),
)
GNULIB = (b"memory exhausted", b"gnu.org/software", b"gnulib", b"quoting_style", b"bug-")
_COPY = re.compile(r"\.(part|isra|constprop|lto_priv)(\.\d+)*")


class File(NamedTuple):
    """A file, and which of its functions are its own: neither start-up code nor `main`."""

    known: Known
    own: np.ndarray


class Count(NamedTuple):
    """What was found in pairs of files of one kind."""

    half: int
    half_right: int
    sure: int
    sure_right: int
    share: float
    unrelated: bool | None


def part_of(name: str) -> str:
    """The part that a name belongs to."""
    return PARTS[int(hashlib.sha256(name.encode()).hexdigest(), 16) % 2]


def read(path: Path, package: str, embedder: Embedder, symbols: Path | None = None) -> File:
    """Read a stripped file, with names of what was not stripped."""
    side = read_side(SideRequest(str(path), listings=True))
    names = symbol_names(symbols) if symbols else {}
    told = [names.get(address, "") if symbols else f"at {address:#x}" for address in side.addresses]
    entered = points_to(side)
    own = [
        row not in side.runtime and row not in entered and name != "main" and not is_runtime(name)
        for row, name in enumerate(told)
    ]
    told = [f"{package}/{name}" if name else "" for name in told]
    side = replace(side, functions=())
    return File(Known(package, side, told, see(side, embedder)), np.array(own, dtype=bool))


def points_to(side: Side) -> set[int]:
    """Rows of the functions that the code at the entry point points to: `main`."""
    rows = {address: row for row, address in enumerate(side.addresses)}
    first = [rows[address] for address in side.begins[:1] if address in rows]
    targets = [reference.target for row in first for reference in side.functions[row].references.values()]
    return {rows[target] for target in targets if target in rows}


def symbol_names(path: Path) -> dict[int, str]:
    """Address → the function that its source has there."""
    listed = subprocess.run(["nm", str(path)], capture_output=True, text=True, check=True).stdout
    found: dict[int, str] = {}
    for line in listed.splitlines():
        fields = line.split()
        if len(fields) == 3 and fields[1] in "tTwWi" and ".cold" not in fields[2]:
            found.setdefault(int(fields[0], 16), _COPY.sub("", fields[2]))
    return found


def programs(folders: Sequence[Path], part: str) -> dict[str, list[Path]]:
    """Small stripped programs of a part, by source package."""
    paths = [
        path
        for folder in folders
        for path in sorted(folder.iterdir())
        if path.is_file() and not path.is_symlink() and path.stat().st_size <= LARGEST
    ]
    asked = [str(path) for path in paths] + [str(path).removeprefix("/usr") for path in paths]
    owned = subprocess.run(["dpkg", "-S", *asked], capture_output=True, text=True, check=False).stdout
    owners = {
        Path(line.split(": ", 1)[1]).name: line.split(",")[0].split(": ")[0] for line in owned.splitlines()
    }
    listed = subprocess.run(
        ["dpkg-query", "-W", "-f", "${binary:Package} ${source:Package}\n"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    sources = dict(line.split() for line in listed.splitlines())
    found: dict[str, list[Path]] = {}
    for path in paths:
        owner = owners.get(path.name, "")
        source = sources.get(owner, sources.get(owner.split(":")[0], ""))
        if source and part_of(source) == part and path.read_bytes()[:4] == b"\x7fELF":
            found.setdefault(source, []).append(path)
    return {source: of_one(held) for source, held in found.items()}


def of_one(paths: list[Path]) -> list[Path]:
    """Up to four programs of a package, small and large, that have no symbols and a small number of functions."""
    paths = sorted(paths, key=lambda path: path.stat().st_size)
    kept: list[Path] = []
    for path in paths[:: max(1, len(paths) // 4)][:4]:
        if b".symtab" in path.read_bytes():
            continue
        try:
            side = read_side(SideRequest(str(path), lifter="none", cache=False))
        except WeftError:
            continue
        if FEWEST <= len(side) <= MOST:
            kept.append(path)
    return kept


def unrelated(held: dict[str, list[Path]], part: str) -> list[tuple[Path, Path]]:
    """Pairs of programs of different source packages."""
    draw = random.Random(PARTS.index(part))
    packages = sorted(package for package in held if held[package])
    gnulib = {
        path: any(text in path.read_bytes() for text in GNULIB) for paths in held.values() for path in paths
    }
    found: set[tuple[Path, Path]] = set()
    for _ in range(10_000):
        a, b = (draw.choice(held[package]) for package in draw.sample(packages, 2))
        if not (gnulib[a] and gnulib[b]):
            found.add((a, b))
        if len(found) == UNRELATED:
            break
    return sorted(found)


def compiled(source: Path, into: Path) -> dict[str, tuple[Path, Path]]:
    """Level → the stripped program, and the same with symbols; nothing where gcc does not compile it by itself."""
    found: dict[str, tuple[Path, Path]] = {}
    libraries = ("m", "z", "png", "lzma", "idn2")
    wanted = [f"-l{name}" for name in libraries if linkable(name)]
    for number, (level, options) in enumerate(LEVELS.items()):
        whole = into / f"{source.stem}-{number}"
        made = subprocess.run(
            ["gcc", *options, "-w", "-include", "stdio.h", "-o", str(whole), str(source), *wanted],
            capture_output=True,
            check=False,
        )
        if made.returncode:
            return {}
        bare = whole.with_suffix(".stripped")
        subprocess.run(["strip", "-o", str(bare), str(whole)], check=True)
        found[level] = bare, whole
    return found


def linkable(library: str) -> bool:
    """Whether gcc finds a library."""
    asked = ["gcc", f"-print-file-name=lib{library}.so"]
    return "/" in subprocess.run(asked, capture_output=True, text=True, check=True).stdout


def modules(
    folders: Sequence[Path], part: str, into: Path, embedder: Embedder, symbols: range
) -> Iterator[tuple[File, File]]:
    """Extension modules of one name that have so many symbols of code, each folder's with the next one's."""
    for first, second in pairwise(folders):
        later = {path.name.split(".")[0]: path for path in second.glob("*.so")}
        for path in sorted(first.glob("*.so")):
            name = path.name.split(".")[0]
            if name not in later or part_of(name) != part or len(symbol_names(path)) not in symbols:
                continue
            pair: list[File] = []
            for number, whole in enumerate((path, later[name])):
                bare = into / f"{name}-{number}.so"
                subprocess.run(["strip", "-o", str(bare), str(whole)], check=True)
                pair.append(read(bare, name, embedder, whole))
            yield pair[0], pair[1]


def count(a: File, b: File, embedder: Embedder, rule: Rule) -> Count:
    """Match two files, and count."""
    scores = score(a.known.seen, b.known.seen, embedder.weights)
    trial = Trial("small", a.known, b.known, scores, embedder.weights)
    pairs = trial.pair(rule)
    judged, right = trial.judge(pairs)
    own = judged & a.own[pairs.rows] & b.own[pairs.columns]
    half, sure = (own & (pairs.confidence >= least) for least in (0.5, 0.8))
    kept = pairs.confidence >= COUNTED
    held = (pairs.rows[kept], pairs.columns[kept], np.zeros(0), np.zeros(0, np.int64), pairs.confidence[kept])
    said = in_common(Matching(a.known.side, b.known.side, *held, pairs))
    half_right, sure_right = int((half & right).sum()), int((sure & right).sum())
    return Count(int(half.sum()), half_right, int(sure.sum()), sure_right, said.share, said.unrelated)


def line(kind: str, counts: Sequence[Count]) -> str:
    """One row of the table."""
    if not counts:
        return f"| {kind} | 0 |"
    half, half_right, sure, sure_right = np.array([each[:4] for each in counts]).sum(axis=0).tolist()
    told = [sum(each.unrelated is answer for each in counts) for answer in (True, None, False)]
    share = float(np.median([each.share for each in counts]))
    cells = f"{half}, {half_right} | {sure}, {sure_right} | {share:.2f} | {told[0]}, {told[1]}, {told[2]}"
    return f"| {kind} | {len(counts)} | {cells} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    folders: dict[str, list[Path]] = {
        "programs": [Path("/usr/bin"), Path("/usr/sbin")],
        "sources": [Path(__file__).parent / "bcsd_small_files"],
        "modules": [],
    }
    for name, default in folders.items():
        parser.add_argument(f"--{name}", type=Path, nargs="*", default=default)
    parser.add_argument("--part", choices=PARTS, default="measures")
    parser.add_argument("--symbols", type=int, nargs=2, default=(13, 70), help="of a module, from and below")
    parser.add_argument("--rule", type=Path, help="another match.json")
    given = parser.parse_args()
    embedder = Embedder.load(find("bcsd-small"), precision="auto")
    rule = load_rule(given.rule) if given.rule else rule_of(find("bcsd-small"), embedder.version)[0]
    print("| | files | ≥ .5, right | ≥ .8, right | share (median) | unrelated, not told, related |")
    print("|---" * 6 + "|")
    held = programs(given.programs, given.part)
    strangers = {path: read(path, source, embedder) for source, paths in held.items() for path in paths}
    pairs = [(strangers[a], strangers[b]) for a, b in unrelated(held, given.part)]
    print(line("unrelated programs", [count(*pair, embedder, rule) for pair in pairs]), flush=True)
    sources = sorted(path for folder in given.sources for path in folder.glob("*.c"))
    named: list[Count] = []
    related: list[Count] = []
    draw = random.Random(0)
    with tempfile.TemporaryDirectory() as folder:
        for source in sources:
            if part_of(source.stem) != given.part:
                continue
            made = compiled(source, Path(folder))
            built = {level: read(bare, source.stem, embedder, whole) for level, (bare, whole) in made.items()}
            if not built:
                continue
            related += [count(built[a], built[b], embedder, rule) for a, b in BUILDS]
            others = draw.sample(sorted(strangers), 2)
            named += [
                count(built[level], strangers[other], embedder, rule)
                for level, other in zip(("O0", "O2"), others, strict=True)
            ]
        print(line("a program with names, and an unrelated one", named), flush=True)
        print(line("two builds of a small program", related), flush=True)
        versions = modules(given.modules, given.part, Path(folder), embedder, range(*given.symbols))
        print(line("two versions of a module", [count(*pair, embedder, rule) for pair in versions]))


if __name__ == "__main__":
    main()

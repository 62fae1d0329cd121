"""How well `weft bcsd identify` names the libraries of static programs, and their versions.

    weft bcsd index build $(cat benchmarks/bcsd_identify/held.txt) --index libs.index --downloads libs.packages
    weft bcsd index build $(cat benchmarks/bcsd_identify/absent.txt) --index absent.index --downloads libs.packages
    python benchmarks/bcsd_identify.py --index libs.index --work libs.packages --part measured --out rows.json

The first list has older and newer versions of some packages: `--sources FILE`, a sources.list of bookworm, bullseye and
trixie, finds them; what is not there any more is listed and left out. The second index is not asked: it leaves
unpacked what the first does not hold.

Programs are linked here, by ``gcc -static -s``, from the very archives that the index was built of and from archives
that it does not hold. Each takes two or three libraries in a version that is drawn, and one more that is not in the
index; a program refers to eight functions of each library, drawn among its symbols, and the linker takes what these
need. What is not resolved by these libraries stays open: the programs are looked at, not run. Which libraries a program
holds is what the linker's map says, written down before anything is asked.

A quarter of the libraries (``--part development``, by a hash of the name) may be used to choose constants; the figures
are of the other three quarters.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
import zlib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from weft.bcsd.components.identify import Identified, identify
from weft.bcsd.use.embed_files import Embedding
from weft.platform.files import write_json
from weft.platform.reading import read_object

_SYMBOLS, _LEAST, _PROGRAMS = 8, 20, 20
#: Programs in a row that may come to nothing before it is given up, and libraries that one may take.
_FAILURES, _MOST = 20, 3
#: Of a version that stays unknown: the index does not hold the library.
ABSENT = ""


class Held(NamedTuple):
    """A library of the index, or of the archives beside it."""

    library: str
    version: str
    archives: tuple[str, ...]


class Program(NamedTuple):
    """A program, and the libraries that the linker took code from, each with its version."""

    path: Path
    libraries: dict[str, str]
    absent: tuple[str, ...]


def part_of(library: str) -> str:
    """Which part of the libraries one belongs to."""
    return "development" if zlib.crc32(library.encode()) % 4 == 0 else "measured"


def held(index: Path, work: Path) -> tuple[list[Held], list[Held]]:
    """The libraries of the index that are large enough to be asked for, and those that are unpacked and not in it."""
    inside: list[Held] = []
    outside: list[Held] = []
    known = read_object(index / "packages.json")["packages"]
    for folder in sorted((work / "libraries").iterdir()):
        archives = tuple(str(path) for path in sorted(folder.rglob("*.a")) if _native(path))
        package = known.get(folder.name)
        if not archives:
            continue
        if package is None:
            outside.append(Held(folder.name, ABSENT, archives))
        elif package["functions"] >= _LEAST:
            inside.append(Held(package["library"], package["version"], archives))
    return inside, outside


def _native(path: Path) -> bool:
    return path.parent.name == "x86_64-linux-gnu" or path.parent.name == "lib"


def symbols(archives: tuple[str, ...]) -> list[str]:
    """The functions that archives offer, by their symbols."""
    listed = subprocess.run(
        ["nm", "--defined-only", "--extern-only", "--format=posix", *archives],
        capture_output=True,
        text=True,
        check=False,
    ).stdout
    rows = [line.split() for line in listed.splitlines()]
    return sorted(
        {row[0] for row in rows if len(row) > 2 and row[1] == "T" and row[0].isidentifier()} - {"main"}
    )


def programs(
    index: Path, work: Path, part: str, count: int, seed: int, folder: Path, bare: bool = False
) -> Iterator[Program]:
    """Link programs; bare ones without the compiler's own libraries.

    Raises:
        SystemExit: The part has too few libraries, or nothing can be linked.
    """
    draw = random.Random(f"{part} {seed}")
    inside, outside = held(index, work)
    versions: dict[str, list[Held]] = defaultdict(list)
    for one in inside:
        if part_of(one.library) == part:
            versions[one.library].append(one)
    in_index = {package["name"] for package in read_object(index / "packages.json")["packages"].values()}
    beside = [one for one in outside if one.library.split("_")[0] not in in_index]
    names = sorted(versions)
    if len(names) < _MOST:
        sys.exit(
            f"{index}: {len(names)} libraries of at least {_LEAST} functions in the part {part!r}; {_MOST} are "
            "needed: add libraries to the index"
        )
    made = failures = 0
    while made < count:
        chosen = [draw.choice(versions[name]) for name in draw.sample(names, draw.choice((2, _MOST)))]
        other = draw.choice(beside) if beside else None
        program = _link(folder / f"program{made}", chosen, other, draw, bare)
        if isinstance(program, Program):
            made, failures = made + 1, 0
            yield program
            continue
        failures += 1
        if failures == _FAILURES:
            sys.exit(
                f"{folder}: {failures} programs in a row could not be linked; the last one: {program}"
                + ("" if bare else " (programs without a static C library: --bare)")
            )


def _link(
    path: Path, chosen: list[Held], other: Held | None, draw: random.Random, bare: bool
) -> Program | str:
    """A program, or why there is none."""
    wanted: list[str] = []
    archives: list[str] = []
    for one in [*chosen, *([other] if other is not None else [])]:
        offered = symbols(one.archives)
        wanted += draw.sample(offered, min(_SYMBOLS, len(offered)))
        archives += one.archives
    names = sorted(set(wanted))
    lines = [f"extern int {name}();" for name in names]
    lines += ["static int (*volatile used[])() = {", *(f" {name}," for name in names), "0};"]
    lines += ["int main(int n, char **v) { return n > 99 ? used[n % 7]() : 0; }"]
    source, linked = path.with_suffix(".c"), path.with_suffix(".map")
    source.write_text("\n".join(lines) + "\n")
    command = ["gcc", "-w", "-fno-builtin", "-static", "-s", str(source), "-o", str(path)]
    command += ["-nostdlib", "-Wl,-e,main"] if bare else []
    command += [f"-Wl,-Map={linked},--unresolved-symbols=ignore-all,--allow-multiple-definition"]
    done = subprocess.run(
        [*command, "-Wl,--start-group", *archives, "-Wl,--end-group", *([] if bare else ["-lm"])],
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode:
        return done.stderr.strip() or f"{command[0]} ended with {done.returncode}"
    text = linked.read_text(errors="replace").split("Memory Configuration")[0]
    there = {
        one.library: one.version for one in chosen if any(f"{archive}(" in text for archive in one.archives)
    }
    if not there:
        return "the linker took nothing of " + ", ".join(one.library for one in chosen)
    return Program(path, there, (other.library,) if other is not None else ())


def judge(program: Program, found: Identified) -> dict[str, Any]:
    """What was said of a program, beside the truth."""
    named = {library.name: library for library in found.libraries}
    right = sorted(named.keys() & program.libraries.keys())
    orders = {name: [version for version, _ in named[name].versions] for name in right}
    return {
        "program": program.path.name,
        "functions": len(found.functions),
        "unexplained": len(found.unexplained),
        "truth": program.libraries,
        "absent": program.absent,
        "named": {
            name: [round(library.sure, 3), len(library.functions), library.versions[0][0]]
            for name, library in named.items()
        },
        "right": right,
        "wrong": sorted(named.keys() - program.libraries.keys()),
        "missed": sorted(program.libraries.keys() - named.keys()),
        "first": sum(orders[name][0] == program.libraries[name] for name in right),
        "two": sum(program.libraries[name] in orders[name][:2] for name in right),
        "several": sum(len(orders[name]) > 1 for name in right),
    }


def summary(rows: list[dict[str, Any]]) -> dict[str, float]:
    """Precision, recall and F1 of the libraries; how often the version is the first, among the first two."""
    right, wrong, missed = (sum(len(row[name]) for row in rows) for name in ("right", "wrong", "missed"))
    return {
        "programs": len(rows),
        "libraries": right + missed,
        "precision": right / max(right + wrong, 1),
        "recall": right / max(right + missed, 1),
        "f1": 2 * right / max(2 * right + wrong + missed, 1),
        "version_first": sum(row["first"] for row in rows) / max(right, 1),
        "version_two": sum(row["two"] for row in rows) / max(right, 1),
        "with_several_versions": sum(row["several"] for row in rows),
    }


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--index", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--part", choices=("development", "measured"), default="measured")
    parser.add_argument("--programs", type=int, default=_PROGRAMS)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--bare", action="store_true", help="programs without libc: a fifth of the time")
    parser.add_argument("--keep", type=Path, help="a folder for the programs")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as place:
        folder = arguments.keep or Path(place)
        folder.mkdir(parents=True, exist_ok=True)
        made = list(
            programs(
                arguments.index,
                arguments.work.resolve(),
                arguments.part,
                arguments.programs,
                arguments.seed,
                folder,
                arguments.bare,
            )
        )
        for program in made:
            begin = time.monotonic()
            found = identify(str(program.path), arguments.index, Embedding(min_blocks=5))
            rows.append(judge(program, found))
            print(json.dumps({**rows[-1], "seconds": round(time.monotonic() - begin, 1)}), flush=True)
            write_json(arguments.out, {"summary": summary(rows), "rows": rows})
    print(json.dumps(summary(rows), indent=1))


if __name__ == "__main__":
    main()

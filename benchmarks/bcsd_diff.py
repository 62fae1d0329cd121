"""``weft bcsd diff`` on the security patches of ten Debian packages: are the patched functions among the changed ones?

    python benchmarks/bcsd_diff.py [--work DIR] [--only PACKAGE …] [--json FILE]

Needs Debian's ``apt-get``, ``dpkg-deb``, ``gcc`` and ``strip``. Static libraries of both versions are fetched as
Debian compiled them, linked whole, and compared twice: with their symbols, and stripped. ``bcsd_diff.csv`` says which
functions each patch edits; it was written from the packages' patches before any of the files was compared:

- ``patched``: the patch edits the function, or one that it holds, or the layout of what it reads. It must be found.
- ``touched``: the patch may reach it by inlining or by a layout. Either answer is right.

Both versions of a package were compiled by gcc 12.2, as far as the dates of the files tell.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
import subprocess
import sys
import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
_SOURCES = "".join(
    f"deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/{archive} {suite} main\n"
    for archive, suite in (("debian", "bookworm"), ("debian-security", "bookworm-security"))
)
_CLONE = re.compile(r"\.cold(\.\d+)?$")


@dataclass(frozen=True)
class Case:
    """One package: its two versions and what the patch edits."""

    package: str
    source: str
    archive: str
    old: str
    new: str
    patched: frozenset[str]
    touched: frozenset[str]


def cases() -> list[Case]:
    """The labelled packages."""
    found: dict[tuple[str, ...], dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    with (HERE / "bcsd_diff.csv").open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            key = tuple(row[name] for name in ("package", "source", "archive", "old", "new"))
            found[key][row["label"]].add(row["function"])
    return [
        Case(*key, frozenset(labels["patched"]), frozenset(labels["touched"]))
        for key, labels in found.items()
    ]


def fetch(work: Path, wanted: list[Case]) -> None:
    """Download what is not there yet, in one call of apt-get with a state of its own."""
    missing = [
        f"{case.package}={version}"
        for case in wanted
        for version in (case.old, case.new)
        if not list((work / "debs").glob(f"{case.package}_{version.replace(':', '%3a')}_*.deb"))
    ]
    if not missing:
        return
    for folder in ("debs", "state/lists/partial", "cache/archives/partial"):
        (work / folder).mkdir(parents=True, exist_ok=True)
    (work / "sources.list").write_text(_SOURCES)
    options = [
        f"-oDir::State={work}/state",
        "-oDir::State::status=/dev/null",
        f"-oDir::Cache={work}/cache",
        f"-oDir::Etc::sourcelist={work}/sources.list",
        "-oDir::Etc::sourceparts=-",
        "-oAPT::Architecture=amd64",
        "-oAPT::Architectures=amd64",
        "-oAPT::Sandbox::User=root",
    ]
    subprocess.run(["apt-get", *options, "-qq", "update"], check=True)
    subprocess.run(["apt-get", *options, "-qq", "download", *missing], check=True, cwd=work / "debs")


def linked(work: Path, case: Case, version: str) -> tuple[Path, Path]:
    """A version's library linked whole: with its symbols, and stripped."""
    package = next((work / "debs").glob(f"{case.package}_{version.replace(':', '%3a')}_*.deb"))
    place = work / "linked" / f"{case.package}_{version.replace(':', '_')}"
    full, stripped = place / "full", place / "stripped"
    if not stripped.exists():
        place.mkdir(parents=True, exist_ok=True)
        subprocess.run(["dpkg-deb", "-x", package, place / "content"], check=True)
        archive = next((place / "content").rglob(case.archive))
        flags = [
            "-pie",
            "-nostartfiles",
            "-Wl,-e,0",
            "-Wl,--unresolved-symbols=ignore-all",
            "-Wl,-z,muldefs",
            "-w",
        ]
        whole = ["-Wl,--whole-archive", archive, "-Wl,--no-whole-archive", "-lc"]
        subprocess.run(["gcc", *flags, *whole, "-o", full], check=True, stderr=subprocess.DEVNULL)
        subprocess.run(["strip", "-o", stripped, full], check=True)
    return full, stripped


def names_of(path: Path) -> dict[int, set[str]]:
    """Address → names, from the symbols."""
    from weft.bcsd.read import open_image

    found: dict[int, set[str]] = defaultdict(set)
    for symbol in open_image(path).symbols:
        found[symbol.address].add(symbol.name)
    return found


def judge(case: Case, files: list[tuple[Path, Path]], stripped: bool) -> dict[str, object]:
    """Compare both versions, and hold the answer against the labels."""
    from weft.bcsd import diff
    from weft.bcsd.difference.compare import Status

    begun = time.perf_counter()
    found = diff(*(pair[stripped] for pair in files)).difference
    seconds = time.perf_counter() - begun
    names = [names_of(pair[0]) for pair in files]
    told: dict[Status, list[set[str]]] = defaultdict(list)
    for entry in found.entries:
        own: set[str] = set()
        for version, row, known in ((found.old, entry.old, names[0]), (found.new, entry.new, names[1])):
            if row >= 0:
                address = version.codes[row].address
                own |= {_CLONE.sub("", name) for name in known.get(address, {f"{address:#x}"})}
        told[entry.status].append(own)
    seen = [own for status in (Status.CHANGED, Status.ADDED, Status.REMOVED) for own in told[status]]
    missed = sorted(name for name in case.patched if not any(name in own for own in seen))
    labelled = case.patched | case.touched
    beside = [sorted(own)[0] for own in told[Status.CHANGED] if not own & labelled]
    return {
        "source": case.source,
        "stripped": stripped,
        "functions": len(found.new),
        "patched": len(case.patched),
        "found": len(case.patched) - len(missed),
        "missed": missed,
        "changed": len(told[Status.CHANGED]),
        "not_patched": len(beside),
        "share": len(beside) / len(found.new),
        "beside": beside,
        "added": len(told[Status.ADDED]),
        "removed": len(told[Status.REMOVED]),
        "seconds": round(seconds, 1),
    }


def main() -> int:
    """Fetch, link, compare, print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--work", type=Path, default=Path("bcsd-diff"), help="where packages are kept")
    sources = dict.fromkeys(case.source for case in cases())
    parser.add_argument(
        "--only", nargs="*", default=[], choices=sources, metavar="PACKAGE", help="source packages"
    )
    parser.add_argument("--json", type=Path, help="write every figure there")
    arguments = parser.parse_args()
    wanted = [case for case in cases() if not arguments.only or case.source in arguments.only]
    work = arguments.work.resolve()
    fetch(work, wanted)
    results: list[dict[str, object]] = []
    print("| package | symbols | functions | patched, found | changed, not patched | added, removed | s |")
    print("|---|---|---|---|---|---|---|")
    for case in wanted:
        files = [linked(work, case, version) for version in (case.old, case.new)]
        for stripped in (False, True):
            row = judge(case, files, stripped)
            results.append(row)
            print(
                f"| {row['source']} | {'no' if stripped else 'yes'} | {row['functions']} | "
                f"{row['found']} of {row['patched']} | {row['not_patched']} ({row['share']:.1%}) | "
                f"{row['added']}, {row['removed']} | {row['seconds']} |",
                flush=True,
            )
            for label in ("missed", "beside"):
                if row[label]:
                    print(f"  {label}: {', '.join(row[label])}", file=sys.stderr)  # type: ignore[arg-type]
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

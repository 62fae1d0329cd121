"""Compare what two source trees answer with the shipped models: the same questions, byte by byte.

    python benchmarks/unchanged.py OLD/src NEW/src --sentihood SENTIHOOD_DEV.json

Every command runs with each tree alone on PYTHONPATH, in the same folder, on the same input. Printed is a table: the
output, its size, and whether the two are equal. Exit code 1 where one differs.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ASPECTS = ("price", "safety", "transit-location", "general")
DEMO = Path("weft") / "demo" / "zlib"


def reviews(sentihood: Path, place: Path) -> Path:
    """A table of the sentences, a row for each of their targets."""
    records = json.loads(sentihood.read_text(encoding="utf-8"))
    with place.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(["text", "place"])
        for record in records:
            text = str(record["text"]).strip()
            writer.writerows([text, target] for target in ("LOCATION1", "LOCATION2") if target in text)
    return place


def commands(source: Path, out: Path, table: Path, aspects: Path) -> dict[str, list[str]]:
    """What is asked of each tree: a name and the arguments of ``weft``."""
    first, second = sorted((source / DEMO).glob("*.so*"))[:2]
    code = Path(json.__file__).parent
    return {
        "absa predict, SentiHood dev": [
            "absa", "predict", str(table), "--model", "absa-small", "--target-column", "place",
            "--aspects", str(aspects), "-o", str(out / "answers.jsonl"), "--threads", "1", "--quiet",
        ],
        "bcsd extract": ["bcsd", "extract", str(first), str(second), "-o", str(out / "functions.parquet"), "--quiet"],
        "bcsd match": ["bcsd", "match", str(first), str(second), "--json", "--threads", "1", "--quiet"],
        "kg extract": [
            "kg", "extract", str(code), "--model", "kg-python-small", "-o", str(out / "store"), "--workers", "1",
            "--threads", "1", "--quiet",
        ],
    }  # fmt: skip


def run(source: Path, sentihood: Path) -> dict[str, bytes]:
    """Every output of one tree, by name."""
    with tempfile.TemporaryDirectory() as place:
        out = Path(place)
        table = reviews(sentihood, out / "reviews.csv")
        aspects = out / "aspects.txt"
        aspects.write_text("\n".join(ASPECTS) + "\n", encoding="utf-8")
        inputs = {table, aspects}
        results: dict[str, bytes] = {}
        environment = {**os.environ, "PYTHONPATH": str(source), "OMP_NUM_THREADS": "1"}
        for name, arguments in commands(source, out, table, aspects).items():
            done = subprocess.run(
                [sys.executable, "-m", "weft", *arguments],
                cwd=out,
                env=environment,
                capture_output=True,
                check=False,
            )
            if done.returncode != 0:
                sys.exit(
                    f"{source}: weft {' '.join(arguments)}: exit {done.returncode}: {done.stderr.decode()}"
                )
            if done.stdout:
                results[f"{name}: standard output"] = done.stdout.replace(str(source).encode(), b"SOURCE")
        for file in sorted(out.rglob("*")):
            # A lock holds a process number, the table of runs the times at which they ran.
            passing = "lock" in file.name or file.name.startswith("runs-")
            if file.is_file() and file not in inputs and not passing:
                results[str(file.relative_to(out))] = content(file, source)
    weights = source / "weft" / "weights"
    for file in sorted(weights.glob("*/*.safetensors")):
        results[f"weights/{file.relative_to(weights)}"] = file.read_bytes()
    return results


def content(file: Path, source: Path) -> bytes:
    """The bytes that count: of a Parquet table its rows, since its header names the writer's version."""
    if file.suffix == ".parquet":
        import pyarrow.parquet as pq

        rows = pq.read_table(file).to_pylist()
        return json.dumps(rows, default=repr, sort_keys=True).replace(str(source), "SOURCE").encode()
    return file.read_bytes().replace(str(source).encode(), b"SOURCE")


def main() -> int:
    """Run both trees and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("old", type=Path, metavar="OLD/src")
    parser.add_argument("new", type=Path, metavar="NEW/src")
    parser.add_argument("--sentihood", type=Path, required=True, metavar="FILE", help="sentihood-dev.json")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep the outputs that differ there")
    arguments = parser.parse_args()
    before = run(arguments.old.resolve(), arguments.sentihood)
    after = run(arguments.new.resolve(), arguments.sentihood)
    print("| output | bytes | sha-256 before | now |\n|---|---|---|---|")
    differing = 0
    for name in sorted(before.keys() | after.keys()):
        old, new = before.get(name), after.get(name)
        verdict = (
            "equal" if old == new else "differs" if old is not None and new is not None else "only one has it"
        )
        differing += old != new
        shown = hashlib.sha256(old).hexdigest()[:12] if old is not None else "–"
        print(f"| {name} | {len(old if old is not None else new or b'')} | {shown} | {verdict} |")
        if arguments.keep and old != new:
            arguments.keep.mkdir(parents=True, exist_ok=True)
            for which, data in (("old", old), ("new", new)):
                (arguments.keep / f"{which}-{name.replace('/', '_').replace(' ', '_')}").write_bytes(
                    data or b""
                )
    print(f"{len(before.keys() | after.keys())} outputs, {differing} differ")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())

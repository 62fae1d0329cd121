"""The graphs of operations of a data set's functions: what a graph network reads (`graph: operations`).

    python recipes/bcsd_graphs.py DATA… --work DIR --out FOLDER [--builds NAME,…] [--min-blocks 3]

DATA are tables that `weft bcsd dataset build --work DIR` made: DIR holds the stripped files that their rows are of.
FOLDER gets one file for each binary, SHA256.npz; those that are there are not made again. Rows that are marked as
duplicates and functions of fewer blocks have no graph, and neither has what cannot be lifted, which is counted, as is
what was cut.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa

from weft.bcsd.dataset.build import part_path
from weft.bcsd.dataset.compile import STRIPPED
from weft.bcsd.disassemble.native import NativeDisassembler
from weft.bcsd.lift.apart.bounded import BoundedLifter
from weft.bcsd.lift.choose import lifter_named
from weft.bcsd.lift.gather import code_of, surroundings_of
from weft.bcsd.read import open_image
from weft.bcsd.represent.graphs import OperationGraphs, write_graphs
from weft.bcsd.table import read_table
from weft.bcsd.use.extract_files import hash_file
from weft.errors import InputError
from weft.platform.files import make_folder

COLUMNS = ["binary_sha256", "address", "package", "build", "duplicate", "num_blocks"]


def lift(binary: Path, digest: str, wanted: set[int], place: Path) -> str:
    """Lift the functions at some addresses of a binary, and say what came of it.

    Raises:
        InputError: The binary is another than the table's.
    """
    if hash_file(str(binary)) != digest:
        raise InputError("not the file that the table is of", where=str(binary))
    begin = time.process_time()
    image = open_image(str(binary))
    lifter = BoundedLifter(surroundings_of(image))
    functions = [one for one in NativeDisassembler().functions(image) if one.address in wanted]
    graphs = OperationGraphs.collect([lifter.graph(code_of(image, one)) for one in functions])
    address = np.array([one.address for one in functions], np.uint64)
    write_graphs(place, lifter_named("pcode"), address, graphs)
    return (
        f"{len(functions)} functions, {lifter.failed} not lifted, {graphs.cut} cut, {len(graphs.codes)} operations, "
        f"{len(graphs.edges)} edges, {time.process_time() - begin:.1f} s without the lifting process"
    )


def main(argv: list[str]) -> int:
    """Lift what is not there yet."""
    parser = argparse.ArgumentParser(description="Lift the functions of data sets to graphs of operations.")
    parser.add_argument("data", type=Path, nargs="+")
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--builds", default="")
    parser.add_argument("--min-blocks", type=int, default=3)
    arguments = parser.parse_args(argv)
    make_folder(arguments.out)
    tables = [read_table(path, COLUMNS).select(COLUMNS) for path in arguments.data]
    rows = pa.concat_tables(tables).to_pylist()
    wanted: dict[tuple[str, str, str], set[int]] = {}
    builds = set(filter(None, arguments.builds.split(",")))
    for row in rows:
        if not builds or row["build"] in builds:
            own = wanted.setdefault((row["package"], row["build"], row["binary_sha256"]), set())
            if not row["duplicate"] and row["num_blocks"] >= arguments.min_blocks:
                own.add(row["address"])
    for (package, build, digest), addresses in wanted.items():
        place = arguments.out / f"{digest}.npz"
        if addresses and not place.exists():
            binary = part_path(arguments.work, package, build).with_name(STRIPPED)
            print(package, build, lift(binary, digest, addresses, place), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

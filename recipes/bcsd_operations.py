"""Count how rare each operation is: the idf that the third term of the hybrid score weighs operations with.

    python recipes/bcsd_operations.py DATA -o FILE

DATA is what `weft bcsd dataset build` made. Only its training packages are counted. FILE is
``src/weft/bcsd/represent/operations.npy`` where the shipped one is to be replaced. That one was counted over lcms and
mbedtls, gcc -O0 and -O2 on x86-64, gcc -O2 on AArch64; made anew, it changes every score that compares operations, so
the weights, the confidence and the matching rule are fitted again after it.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
import pyarrow.compute as pc

from weft.bcsd.represent.operations import COLUMN, count_idf
from weft.bcsd.represent.rows import lists_of
from weft.bcsd.table import read_table
from weft.platform.files import binary_writer


def main(argv: list[str]) -> int:
    """Count, and write the file."""
    parser = argparse.ArgumentParser(description="Count the idf of operations over the training packages.")
    parser.add_argument("data", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    arguments = parser.parse_args(argv)
    functions = read_table(arguments.data, [COLUMN, "role"])
    for name in (COLUMN, "role"):
        if name not in functions.column_names:
            parser.error(
                f"{arguments.data}: no column {name}; it is not what `weft bcsd dataset build` makes"
            )
    training = functions.filter(pc.field("role") == "train")
    ends, _, _ = lists_of(training, COLUMN)
    counted = int((np.diff(ends) > 0).sum())
    if not counted:
        parser.error(
            f"{arguments.data}: none of its {functions.num_rows} functions is of a training package and was lifted; "
            "build it with packages of the role train, and with a lifter"
        )
    idf = count_idf(training)
    with binary_writer(arguments.output) as file:
        np.save(file, idf.astype(np.float16), allow_pickle=False)
    print(f"{counted} functions, {int((idf < idf.max()).sum())} features: {arguments.output}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

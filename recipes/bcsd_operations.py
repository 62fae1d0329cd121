"""Count how rare each operation is: the idf that the third term of the hybrid score weighs operations with.

    python recipes/bcsd_operations.py DATA [-o src/weft/bcsd/represent/operations.npy]

DATA is what `weft bcsd dataset build` made. Only its training packages are counted. The shipped file was counted over
lcms and mbedtls, gcc -O0 and -O2 on x86-64, gcc -O2 on AArch64; made anew, it changes every score that compares
operations, so the weights, the confidence and the matching rule are fitted again after it.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
import pyarrow.compute as pc

from weft.bcsd.represent.operations import COLUMN, count_idf
from weft.bcsd.table import read_table

_PLACE = Path(__file__).parents[1] / "src" / "weft" / "bcsd" / "represent" / "operations.npy"


def main(argv: list[str]) -> int:
    """Count, and write the file."""
    parser = argparse.ArgumentParser(description="Count the idf of operations over the training packages.")
    parser.add_argument("data", type=Path)
    parser.add_argument("-o", "--output", type=Path, default=_PLACE)
    arguments = parser.parse_args(argv)
    functions = read_table(arguments.data, [COLUMN, "role"])
    training = functions.filter(pc.equal(functions.column("role"), "train"))
    idf = count_idf(training)
    np.save(arguments.output, idf.astype(np.float16), allow_pickle=False)
    print(f"{training.num_rows} functions, {int((idf < idf.max()).sum())} features: {arguments.output}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

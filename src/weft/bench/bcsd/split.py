"""How near training code comes to the test packages' code: a copy under other names would show here.

``python -m weft.bench.bcsd.split functions.parquet [--build gcc-O2-x86_64]``. For every test function of one build,
the training function of the same build with the most similar tokens (cosine of the lexical vectors). The same
for the validation packages against training gives the scale: those are known to be other projects, too.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq

from weft.bcsd.represent.lexical import Lexical

#: Smaller functions resemble each other whatever they are from.
LEAST_BLOCKS = 5


class Nearest(NamedTuple):
    """A held-out function and the training function that resembles it most."""

    held_out: str
    training: str
    cosine: float
    instructions: int


def nearest(path: Path, build: str, role: str) -> list[Nearest]:
    """For each function of ``role`` in ``build``, the nearest one of training; the nearest pair first."""
    wanted = (pc.field("build") == build) & (pc.field("num_blocks") >= LEAST_BLOCKS)
    table = pq.read_table(path, filters=wanted)
    training, held_out = (table.filter(pc.field("role") == side) for side in ("train", role))
    lexical = Lexical.fit(training)
    scores = (lexical.vectors(held_out) @ lexical.vectors(training).T).toarray()
    best = scores.argmax(axis=1)
    names = training.column("group").to_pylist()
    rows = zip(
        held_out.column("group").to_pylist(),
        best.tolist(),
        scores[np.arange(len(best)), best].tolist(),
        held_out.column("num_instructions").to_pylist(),
        strict=True,
    )
    found = [Nearest(group, names[place], cosine, count) for group, place, cosine, count in rows]
    return sorted(found, key=lambda pair: -pair.cosine)


def main(argv: list[str]) -> int:
    """Print how near training comes to the test and to the validation packages."""
    parser = argparse.ArgumentParser(prog="python -m weft.bench.bcsd.split", description=__doc__)
    parser.add_argument("table", type=Path, metavar="FILE")
    parser.add_argument("--build", default="gcc-O2-x86_64")
    arguments = parser.parse_args(argv)
    for role in ("test", "valid"):
        pairs = nearest(arguments.table, arguments.build, role)
        cosines = np.array([pair.cosine for pair in pairs])
        points = ", ".join(f"p{point} {np.percentile(cosines, point):.3f}" for point in (50, 90, 99, 100))
        print(f"{role}: {len(pairs)} functions, cosine of the nearest in training: {points}")  # noqa: T201 - a script
        for pair in pairs[:8]:
            print(  # noqa: T201
                f"  {pair.cosine:.3f}  {pair.held_out} ({pair.instructions} instructions)  {pair.training}"
            )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

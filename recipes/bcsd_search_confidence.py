"""Fit the confidence of `weft bcsd search` on the validation packages of a data set.

    OMP_NUM_THREADS=1 python recipes/bcsd_search_confidence.py --data bcsd-data/functions.parquet --model bcsd-small

An index of the validation packages' gcc -O2 x86-64 builds is asked for the functions of their other builds. Half of the
functions fit, the other half says how far the confidences are from the truth. Prints the constants for
`weft/bcsd/use/confidence.py`.
"""

from __future__ import annotations

import argparse
import tempfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from weft.bcsd.index.store import FunctionStore
from weft.bcsd.use.confidence import Confidence, features_of
from weft.bcsd.use.embedded import embed_table
from weft.bcsd.use.embedder import Embedder
from weft.bcsd.use.search import Searcher
from weft.platform.confidence import fit_logistic

INDEXED = "gcc-O2-x86_64"
ASKED = ("gcc-O0-x86_64", "gcc-O3-x86_64", "clang-O2-x86_64", "clang-O3-aarch64", "gcc-O2-aarch64")
SMALLEST = 5


class Watched(Confidence):
    """Keeps the features of the best candidate of each query, and whether it is the function that was asked for."""

    seen: list[tuple[str, np.ndarray, bool]]

    def of(self, query: dict[str, Any], rows: list[dict[str, Any]], scores: np.ndarray) -> np.ndarray:
        """As the real one."""
        features = features_of(query, rows, scores)
        for place in np.argsort(-scores, kind="stable")[:2]:
            self.seen.append((query["name"], features[place], rows[place]["name"] == query["name"]))
        return super().of(query, rows, scores)


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--model", default="bcsd-small")
    parser.add_argument("--most", type=int, default=400, help="functions of each build that are asked for")
    arguments = parser.parse_args()
    filters = [("role", "=", "valid"), ("build", "in", [INDEXED, *ASKED]), ("num_blocks", ">=", SMALLEST)]
    data = pq.read_table(arguments.data, filters=[*filters, ("duplicate", "=", False)])
    data = data.set_column(data.schema.get_field_index("name"), "name", data["group"])
    embedder = Embedder.load(arguments.model, precision="auto")
    watched = Watched()
    object.__setattr__(watched, "seen", [])
    with tempfile.TemporaryDirectory() as place:
        store = FunctionStore.open_or_create(Path(place), embedder.dimension, embedder.version)
        store.replace(embed_table(of_build(data, INDEXED), embedder))
        searcher = Searcher(store, embedder.weights, confidence=watched)
        for build in ASKED:
            rows = of_build(data, build)
            chosen = np.random.default_rng(0).permutation(rows.num_rows)[: arguments.most]
            list(searcher.search(embed_table(rows.take(np.sort(chosen)), embedder), 1))
    features = np.stack([row for _, row, _ in watched.seen])
    right = np.array([truth for _, _, truth in watched.seen])
    fits = np.array([zlib.crc32(name.encode()) % 2 == 0 for name, _, _ in watched.seen])
    fitted = fit_logistic(features[fits], right[fits])
    print(fitted)
    report(fitted(features[~fits]), right[~fits])


def of_build(data: pa.Table, build: str) -> pa.Table:
    """The rows of one build."""
    return data.filter(np.asarray(data["build"]) == build)


def report(confidences: np.ndarray, right: np.ndarray) -> None:
    """How often hits of about one confidence are right."""
    error = 0.0
    for low in np.arange(0, 1, 0.1):
        inside = (confidences >= low) & (confidences < low + 0.1)
        if inside.any():
            print(
                f"{low:.1f}–{low + 0.1:.1f}: {inside.sum():5} hits, said {confidences[inside].mean():.3f}, "
                f"right {right[inside].mean():.3f}"
            )
            error += inside.mean() * abs(confidences[inside].mean() - right[inside].mean())
    print(f"expected calibration error {error:.3f}, {len(right)} hits")


if __name__ == "__main__":
    main()

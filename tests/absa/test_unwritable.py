"""The commands of opinions on a full disk, and where nothing can be."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.absa.conftest import EXAMPLES
from tests.unwritable import Writes, cases, refused

PREDICT = "'LOCATION1 is cheap' --aspect price --model {trained} --device cpu --quiet"
WRITES = {
    "predict": [
        Writes(f"{PREDICT} -o {{out}}.csv", old=None),
        Writes(f"{PREDICT} -o {{out}}.jsonl", old=None),
        Writes(f"{PREDICT} -o {{out}}.parquet", old=None),
    ],
    "find": [
        Writes("{reviews} -o {out}.csv --device cpu --quiet", old=None),
        Writes("{reviews} --html {out} --device cpu --quiet"),
    ],
    "explain": [Writes(f"{PREDICT} --html {{out}}")],
    "calibrate": [
        Writes("{labelled_csv} -o {out} --model {trained} --force --device cpu --quiet", old="trained")
    ],
    "train": [
        Writes(
            f"{EXAMPLES / 'train.yaml'} -o {{out}} --start {{bert_directory}} --data.train {{labelled_csv}} "
            "--data.dev_share 0.3 --train.epochs 1 --train.batch_size 4 --model.target_layers 1 --model.max_length 32 "
            "--device cpu --quiet",
            old=None,
            stays=r"out(/run(/(lock|log.jsonl))?)?$",
        )
    ],
}


@pytest.fixture(scope="session")
def reviews(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("reviews") / "reviews.csv"
    place.write_text("text\nThe soup was cold.\n")
    return place


@pytest.mark.parametrize(("name", "writes", "full"), cases(WRITES))
def test_an_output_that_cannot_be_written(
    name: str, writes: Writes, full: bool, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    refused("absa", name, writes, full, request, tmp_path)

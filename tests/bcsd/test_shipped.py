"""The shipped model: it is listed, it loads, and it finds functions across compilers and architectures."""

from __future__ import annotations

import numpy as np
import pytest

from weft.bcsd.evaluate.tasks import Labels
from weft.bcsd.represent.arrays import FunctionArrays
from weft.bcsd.use.embedder import Embedder
from weft.bcsd.use.score import hybrid
from weft.bcsd.use.store import find
from weft.cli.main import main
from weft.objective.metrics import ranks
from weft.platform.models import shipped_models


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    return Embedder.load()


def test_it_is_listed_with_its_card(capsys) -> None:
    assert "bcsd-small" in shipped_models("bcsd")
    assert main(["models", "bcsd-small"]) == 0
    card = capsys.readouterr().out
    assert all(word in card for word in ("Data", "Recipe", "Licence", "Limits"))


def test_it_is_small() -> None:
    assert sum(path.stat().st_size for path in find("bcsd-small").iterdir()) < 30e6


@pytest.mark.parametrize(("setting", "floor"), [("XO O1-O3", 0.8), ("XC", 0.8), ("XA", 0.8), ("XM", 0.6)])
def test_it_finds_the_functions_of_the_committed_files(setting, floor, labelled, embedder) -> None:
    """These files are of no package of the data set."""
    task = Labels(labelled).task(setting, "test", min_blocks=3)
    vectors, lexical = [], []
    for rows in (task.queries, task.base):
        taken = labelled.take(rows)
        vectors.append(embedder.embed(FunctionArrays.from_table(taken)))
        lexical.append(embedder.lexical.rows(taken))
    scores = hybrid(*vectors, *lexical, embedder.weights)
    assert np.mean(ranks(scores, task.right).realistic == 1) >= floor

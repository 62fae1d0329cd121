"""Triples as positions: spans, sorting, and every way they can be wrong."""

import pytest
import torch

from weft.errors import DtypeError, GraphError, ShapeError
from weft.graph import Triples


def ints(*values) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.int64)


def two(**changes: torch.Tensor) -> Triples:
    parts = {
        "example": ints(0, 1),
        "relation": ints(3, 1),
        "head": ints([0, 1], [2, -1]),
        "tail": ints([5, 6], [4, -1]),
    }
    return Triples(**(parts | changes))


def test_spans_become_padded_positions() -> None:
    triples = Triples.from_spans(ints(0, 1), ints(3, 1), ints(0, 2), ints(2, 1), ints(5, 4), ints(2, 1))
    assert triples.head.tolist() == [[0, 1], [2, -1]]
    assert triples.tail.tolist() == [[5, 6], [4, -1]]
    assert len(triples) == 2


def test_no_triples_are_fine() -> None:
    for none in (Triples.none(), Triples.from_spans(*[ints()] * 6)):
        assert len(none) == 0
        none.check(batch=1, length=1, num_relations=2)
        assert len(none.sorted_by_relation()) == 0
        assert len(none.to("cpu")) == 0


def test_sorting_keeps_triples_whole() -> None:
    ordered = two().sorted_by_relation()
    assert ordered.relation.tolist() == [1, 3]
    assert ordered.example.tolist() == [1, 0]
    assert ordered.head.tolist() == [[2, -1], [0, 1]]
    assert ordered.tail.tolist() == [[4, -1], [5, 6]]


@pytest.mark.parametrize(
    ("changes", "error", "words"),
    [
        ({"relation": ints(3, 0)}, GraphError, "triple 1 has relation 0"),
        ({"relation": ints(3, -1)}, GraphError, "triple 1 has relation 0 or less"),
        ({"example": ints(0, -1)}, GraphError, "triple 1 has a negative example"),
        ({"head": ints([0, 1], [-1, -1])}, GraphError, "triple 1 has a head without tokens"),
        ({"tail": ints([-1], [0])}, GraphError, "triple 0 has a tail without tokens"),
        ({"tail": ints([0], [-2])}, GraphError, "triple 1 has a tail position below -1"),
        ({"tail": ints(0, 1)}, ShapeError, r"tail has shape \(2,\)"),
        ({"relation": ints(1)}, ShapeError, r"relation has shape \(1,\) beside example \(2,\)"),
        ({"example": ints([0], [1])}, ShapeError, "example"),
        ({"head": torch.zeros(2, 1)}, DtypeError, "head is torch.float32"),
    ],
)
def test_triples_that_contradict_themselves_are_refused(changes, error, words) -> None:
    with pytest.raises(error, match=words):
        two(**changes)


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ((1, 7, 4), "triple 1 is of an example outside the batch of 1"),
        ((2, 6, 4), "triple 0 has a tail position outside the sequence of 6"),
        ((2, 7, 3), "triple 0 has an unknown relation; ids are 1 to 2"),
    ],
)
def test_triples_that_do_not_fit_the_batch_are_refused(limits, words) -> None:
    two().check(2, 7, 4)
    with pytest.raises(GraphError, match=words):
        two().check(*limits)

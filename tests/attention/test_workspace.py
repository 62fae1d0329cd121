"""Memory that is written over again must never be seen from outside."""

from __future__ import annotations

import threading

import pytest
import torch

from tests.attention.cases import Case, arguments, operands, tensors
from weft.attention.chunked import chunked
from weft.attention.problem import check
from weft.attention.workspace import Workspace

EVERYTHING = Case(2, "scores", "pair", "padding")


def attention(seed: int, chunk_elements: int, dropout: float = 0.0):
    x = operands(EVERYTHING, seed)
    t = tensors(x, torch.float64)
    a = arguments(x, t)
    problem = check(a["query"], a["key"], a["value"], None, a["mask"], a["terms"], dropout, None)
    return chunked(problem, chunk_elements), t


def gradients(output, t, *, retain=False):
    return torch.autograd.grad(output.square().sum(), list(t.values()), retain_graph=retain)


@pytest.mark.parametrize("chunk_elements", [30, 1000], ids=["recomputed", "kept"])
@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_a_second_backward_gives_the_same(chunk_elements, dropout):
    output, t = attention(0, chunk_elements, dropout)
    first = gradients(output, t, retain=True)
    other, others = attention(1, chunk_elements)
    gradients(other, others)
    for a, b in zip(first, gradients(output, t), strict=True):
        assert torch.equal(a, b)


@pytest.mark.parametrize("chunk_elements", [30, 1000], ids=["recomputed", "kept"])
def test_calls_between_forward_and_backward_change_nothing(chunk_elements):
    output, t = attention(0, chunk_elements)
    expected = gradients(output, t)
    first, t = attention(0, chunk_elements)
    second, others = attention(1, chunk_elements)
    gradients(second, others)
    for a, b in zip(gradients(first, t), expected, strict=True):
        assert torch.equal(a, b)


def test_memory_made_in_inference_mode_can_be_trained_with():
    with torch.inference_mode():
        Workspace().take("map", (4,), torch.float64, torch.device("cpu"))
        attention(0, 30)
    output, t = attention(0, 30)
    assert all(torch.isfinite(g).all() for g in gradients(output, t))


def test_threads_have_memory_of_their_own():
    space = Workspace()
    mine = space.take("map", (8,), torch.float32, torch.device("cpu"))
    theirs = []
    thread = threading.Thread(
        target=lambda: theirs.append(space.take("map", (8,), torch.float32, torch.device("cpu")))
    )
    thread.start()
    thread.join()
    assert mine.data_ptr() != theirs[0].data_ptr()
    assert mine.data_ptr() == space.take("map", (2, 4), torch.float32, torch.device("cpu")).data_ptr()

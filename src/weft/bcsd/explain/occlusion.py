"""What carries a match: hide a part of one function, embed again, see how far the similarity falls.

Occlusion asks the model itself; nothing is said about gradients, which a saturated similarity makes small.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from weft.bcsd.disassemble.interface import Function
from weft.bcsd.matching.side import Side
from weft.bcsd.model.batch import collate
from weft.bcsd.represent.arrays import FunctionArrays
from weft.bcsd.represent.vocabulary import load_vocabulary
from weft.bcsd.use.embedder import Embedder
from weft.train.batching import to_device

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Instructions of a function that are hidden one by one: those of its weightiest blocks.
PROBED = 64
#: Tokens of the lexical part that are named.
NAMED = 12


@dataclass(frozen=True)
class Half:
    """One of the two functions.

    Args:
        path: Its file.
        function: With its instructions.
        blocks: How far the learned similarity falls when a block is hidden, ``(blocks,)``; below 0 where it rises.
        instructions: The same for single instructions, ``(instructions,)``; NaN where none was hidden.
        prefix: Mean attention weight on the graph's prefix, ``(layers, heads)``; None where the model has none.
        remarks: What to know about the file.
    """

    path: str
    function: Function
    blocks: NDArray[np.float64]
    instructions: NDArray[np.float64]
    prefix: NDArray[np.float64] | None
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Explanation:
    """Why two functions score as they do.

    Args:
        a: The function of A.
        b: The function of B.
        learned: Cosine of the embeddings.
        lexical: Cosine of the TF-IDF rows.
        tokens: Tokens of both and their share of the lexical cosine, largest first; the shares of all add up to
            it.
    """

    a: Half
    b: Half
    learned: float
    lexical: float
    tokens: tuple[tuple[str, float], ...]


def explain(a: Side, row_a: int, b: Side, row_b: int, embedder: Embedder) -> Explanation:
    """Explain one pair.

    Hiding puts ``[MASK]`` into every slot of an instruction, as training does, so that the model has seen it:

        drop(part) = e_a · e_b − e_{a without part} · e_b

    Args:
        a: File A, with listings.
        row_a: Which function of it.
        b: File B, with listings.
        row_b: Which function of it.
        embedder: The model.

    Source:
        Zeiler & Fergus 2014, §4.2 (occlusion); Li et al. 2016, "Understanding Neural Networks through
        Representation Erasure".
    """
    arrays = [FunctionArrays.from_table(side.table.slice(row, 1)) for side, row in ((a, row_a), (b, row_b))]
    vectors = [embedder.embed(one)[0].astype(np.float64) for one in arrays]
    words = [embedder.lexical.vectors(one) for one in arrays]
    halves = [
        _half(side, side.functions[row], arrays[this], vectors[this], vectors[1 - this], embedder)
        for this, (side, row) in enumerate(((a, row_a), (b, row_b)))
    ]
    shared: Any = words[0].multiply(words[1]).tocoo()
    return Explanation(
        halves[0],
        halves[1],
        float(vectors[0] @ vectors[1]),
        float(shared.data.sum()),
        _strongest_tokens(shared.col, shared.data),
    )


def _strongest_tokens(
    features: NDArray[np.int64], shares: NDArray[np.float32]
) -> tuple[tuple[str, float], ...]:
    """The tokens with the largest shares: a token's features, one per level of its count, added up."""
    texts = load_vocabulary().tokens
    total = np.bincount(features % len(texts), weights=shares, minlength=len(texts))
    order = np.argsort(-total, kind="stable")[:NAMED]
    return tuple((texts[token], float(total[token])) for token in order.tolist() if total[token] > 0)


def _half(
    side: Side,
    function: Function,
    arrays: FunctionArrays,
    own: NDArray[np.float64],
    other: NDArray[np.float64],
    embedder: Embedder,
) -> Half:
    base = float(own @ other)
    spans = [(block.start, block.end) for block in function.blocks]
    blocks = base - embedder.embed(hidden(arrays, spans)).astype(np.float64) @ other
    order = np.argsort(-blocks, kind="stable")
    probed = [index for block in order for index in range(*spans[block])][:PROBED]
    instructions = np.full(len(function.instructions), np.nan)
    singles = hidden(arrays, [(index, index + 1) for index in probed])
    instructions[probed] = base - embedder.embed(singles).astype(np.float64) @ other
    prefix = prefix_attention(arrays, embedder)
    return Half(side.path, function, blocks, instructions, prefix, tuple(side.remarks))


def hidden(arrays: FunctionArrays, spans: Sequence[tuple[int, int]]) -> FunctionArrays:
    """Copies of one function, each with one span of instructions hidden.

    Args:
        arrays: Of one function.
        spans: First instruction, and the one behind the last.
    """
    count, length = len(spans), len(arrays.tokens)
    tokens = np.tile(arrays.tokens, (count, 1, 1))
    mask = load_vocabulary().ids["[MASK]"]
    for copy, (start, end) in zip(tokens, spans, strict=True):
        copy[start:end] = mask
    steps = np.arange(count + 1)
    return FunctionArrays(
        tokens=tokens.reshape(count * length, -1),
        first_instruction=steps * length,
        block_start=np.tile(arrays.block_start, count),
        first_block=steps * len(arrays.block_start),
        edges=np.tile(arrays.edges, (count, 1)),
        first_edge=steps * len(arrays.edges),
    )


def prefix_attention(arrays: FunctionArrays, embedder: Embedder) -> NDArray[np.float64] | None:
    """Mean weight on the prefix over the instructions of one function, ``(layers, heads)``."""
    batch = to_device(collate(arrays, np.array([0]), embedder.network.config), embedder.device)
    with torch.inference_mode():
        weights = embedder.network(batch, need_maps="prefix").prefix_weights
    if not weights or weights[0] is None:
        return None
    return weights[0][:, 0].double().mean(dim=-1).cpu().numpy()

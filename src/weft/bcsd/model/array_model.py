"""The function model in NumPy, for one function: torch takes a second to load, and this a few milliseconds in all."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np

from weft.attention.oracle import Inputs, forward
from weft.bcsd.model.config import ModelConfig
from weft.bcsd.model.layout import NUM_BLOCK_FACTS, NUM_EDGE_TYPES, Layout, lay_out
from weft.bcsd.represent.arrays import FunctionArrays
from weft.bcsd.represent.lexical import LEVELS
from weft.bcsd.represent.normalise import SLOTS
from weft.errors import CheckpointError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

#: Options of a configuration that are sizes: any will do.
_SIZES = {
    *("hidden_size", "dimension", "layers", "heads", "intermediate_size", "max_instructions", "max_blocks"),
    *("max_block_instructions", "graph_layers", "prefix_tokens", "dropout", "block_distance"),
    *("operation_levels", "operation_codes"),
}
#: Of torch: added to the variance of a LayerNorm that names none, slopes of LeakyReLU, the least norm of a vector.
_EPSILON, _SLOPE, _ATTENTION_SLOPE, _LEAST = 1e-5, 0.01, 0.2, 1e-12
_erf = np.frompyfunc(math.erf, 1, 1)


def known(config: ModelConfig) -> bool:
    """Whether :class:`ArrayModel` computes this model: every option but the sizes is as in the one that ships."""
    return all(
        getattr(config, field.name) == field.default for field in fields(config) if field.name not in _SIZES
    )


class ArrayModel:
    """:class:`weft.bcsd.model.function_model.FunctionModel`, forward alone, in float64.

        x_n = LayerNorm(mean of the instructions of block n + W_f · facts_n)
        g   = GAT(x, typed and reversed edges)
        h   = Encoder(instructions; prefix keys and values from g)
        t   = LayerNorm(Σ over the token set of T[entry])
        e   = normalise(W_h · mean(h) + W_g · g + t)

    It has no attention of its own: that is the oracle's (:mod:`weft.attention.oracle`).

    Args:
        config: One that is :func:`known`.
        tensors: Of the network, by their names.
        where: Where they come from, for messages.

    Raises:
        CheckpointError: A tensor is missing, of another shape, or holds NaN or infinity.
    """

    def __init__(self, config: ModelConfig, tensors: Mapping[str, NDArray[Any]], where: str) -> None:
        self.config = config
        self._tensors, self._where = tensors, where
        sizes, width, wide = config.encoder, config.hidden_size, config.dimension
        self._words = self._take("encoder.embeddings.word_embeddings.weight", sizes.vocab_size, width)
        self._gains = self._take("encoder.embeddings.slot_gain", len(SLOTS), width)
        self._positions = self._take(
            "encoder.embeddings.position_embeddings.weight", sizes.max_position_embeddings, width
        )
        self._norm = self._scaled("encoder.embeddings.norm", width)
        self._layers = [self._layer(f"encoder.layers.{i}", width) for i in range(config.layers)]
        prefix = [f"encoder.conditioner.graph_to_{part}" for part in "kv"]
        self._prefixes = [
            [self._linear(f"{part}.{i}", width, config.prefix_tokens * width) for part in prefix]
            for i in range(config.layers)
        ]
        self._facts = self._linear("block_facts", NUM_BLOCK_FACTS, width)
        self._block_norm = self._scaled("block_norm", width)
        each = (config.heads, width // config.heads)
        self._graph = [
            (
                self._take(f"graph.layers.{i}.linear.weight", width, width),
                self._take(f"graph.layers.{i}.attention_source", *each),
                self._take(f"graph.layers.{i}.attention_target", *each),
                self._take(f"graph.layers.{i}.type_score", config.heads, NUM_EDGE_TYPES + 1),
                self._linear(f"graph.projections.{i}", width, width),
            )
            for i in range(config.graph_layers)
        ]
        self._pooling = self._take("graph.pooling.score.weight", 1, width)[0]
        self._pooled = self._linear("graph.pooling.value", width, width)
        self._set = self._take("token_set.weight", len(LEVELS) * sizes.vocab_size, wide)
        self._set_norm = self._scaled("token_set_norm", wide)
        self._from_sequence = self._linear("from_sequence", width, wide)
        self._from_graph = self._take("from_graph.weight", wide, width)

    def embed(self, function: FunctionArrays) -> NDArray[np.float32]:
        """Embed one function, or each of several by itself.

        Args:
            function: It, or they.

        Returns:
            ``(functions, dimension)``, L2-normalised.
        """
        rows = [self._one(lay_out(function, np.array([i]), self.config)) for i in range(len(function))]
        return np.array(rows, np.float32).reshape(-1, self.config.dimension)

    def _one(self, laid: Layout) -> Array:
        words = (self._words[laid.tokens] * self._gains).sum(axis=1)
        summary = self._summary(words, laid)
        found = self._set[laid.held].sum(axis=0, dtype=np.float64)
        total = self._from_graph @ summary + _affine(self._read(words, laid, summary), self._from_sequence)
        total = total + _normed(found, self._set_norm, _EPSILON)
        return total / max(np.linalg.norm(total), _LEAST)

    def _summary(self, words: Array, laid: Layout) -> Array:
        """g, ``(hidden,)``: graph attention over the blocks, then attention pooling."""
        count = len(laid.block_first)
        block = np.searchsorted(laid.block_first, np.arange(len(words)), side="right") - 1
        bags = np.zeros((count, words.shape[1]))
        np.add.at(bags, block, words)
        bags /= np.maximum(np.bincount(block, minlength=count), 1)[:, None]
        x = _normed(bags + _affine(laid.block_facts, self._facts), self._block_norm, _EPSILON)
        loops = np.arange(count)
        source, target = (np.concatenate([ends, loops]) for ends in laid.edge_index)
        kind = np.concatenate([laid.edge_type, np.full(count, NUM_EDGE_TYPES)])
        for number, (linear, of_source, of_target, of_type, project) in enumerate(self._graph):
            values = (x @ linear.T).reshape(count, self.config.heads, -1)
            scores = (values * of_source).sum(-1)[source] + (values * of_target).sum(-1)[target]
            scores = _leaky(scores + of_type[:, kind].T, _ATTENTION_SLOPE)
            weights = _softmax(scores, target, count)
            out = np.zeros_like(values)
            np.add.at(out, target, weights[:, :, None] * values[source])
            x = _affine(out.reshape(count, -1), project)
            x = x if number == len(self._graph) - 1 else _leaky(x, _SLOPE)
        weights = _softmax((x @ self._pooling)[:, None], np.zeros(count, np.int64), 1)
        return (weights * _affine(x, self._pooled)).sum(axis=0)

    def _read(self, words: Array, laid: Layout, summary: Array) -> Array:
        """The mean of the encoder's last states, ``(hidden,)``: no padding, for there is one function."""
        rows = laid.sequences[0][0][0]
        epsilon = self.config.encoder.layer_norm_eps
        hidden = _normed(words[rows] + self._positions[: len(rows)], self._norm, epsilon)
        for layer, prefix in zip(self._layers, self._prefixes, strict=True):
            before = [self._split(_affine(summary, part).reshape(-1, hidden.shape[1])) for part in prefix]
            query, key, value = (self._split(_affine(hidden, layer[name])) for name in _HEADS)
            inputs = Inputs(query, key, value, prefix_key=before[0], prefix_value=before[1])
            seen = forward(inputs).output[0]
            attended = _affine(seen.transpose(1, 0, 2).reshape(hidden.shape), layer["attended"])
            hidden = _normed(hidden + attended, layer["attention_norm"], epsilon)
            inner = _affine(_gelu(_affine(hidden, layer["intermediate"])), layer["output"])
            hidden = _normed(hidden + inner, layer["output_norm"], epsilon)
        return hidden.mean(axis=0)

    def _split(self, x: Array) -> Array:
        """``(seq, hidden)`` to ``(1, heads, seq, D)``."""
        return x.reshape(len(x), self.config.heads, -1).transpose(1, 0, 2)[None]

    def _layer(self, name: str, width: int) -> dict[str, tuple[Array, Array]]:
        inner = self.config.intermediate_size
        parts = {part: self._linear(f"{name}.attention.{part}", width, width) for part in _HEADS}
        parts["attended"] = self._linear(f"{name}.attention.output", width, width)
        parts["intermediate"] = self._linear(f"{name}.intermediate", width, inner)
        parts["output"] = self._linear(f"{name}.output", inner, width)
        return parts | {norm: self._scaled(f"{name}.{norm}", width) for norm in _NORMS}

    def _linear(self, name: str, inputs: int, outputs: int) -> tuple[Array, Array]:
        return self._take(f"{name}.weight", outputs, inputs), self._take(f"{name}.bias", outputs)

    def _scaled(self, name: str, width: int) -> tuple[Array, Array]:
        return self._take(f"{name}.weight", width), self._take(f"{name}.bias", width)

    def _take(self, name: str, *shape: int) -> Array:
        tensor = self._tensors.get(name)
        if tensor is None or tensor.shape != shape:
            held = "missing" if tensor is None else f"of shape {tensor.shape}"
            raise CheckpointError(f"the tensor {name} is {held}; it must be {shape}", where=self._where)
        if not np.isfinite(tensor).all():
            raise CheckpointError(f"the tensor {name} holds NaN or infinity", where=self._where)
        # The tables are large, and a function needs few of their rows.
        return tensor if tensor.size > _LARGE else tensor.astype(np.float64)


_HEADS, _NORMS = ("query", "key", "value"), ("attention_norm", "output_norm")
_LARGE = 1 << 18


def _affine(x: NDArray[Any], linear: tuple[Array, Array]) -> Array:
    weight, bias = linear
    return x @ weight.T + bias


def _normed(x: Array, scaled: tuple[Array, Array], epsilon: float) -> Array:
    gain, bias = scaled
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + epsilon) * gain + bias


def _gelu(x: Array) -> Array:
    return x * 0.5 * (1 + np.asarray(_erf(x * 0.5**0.5), np.float64))


def _leaky(x: Array, slope: float) -> Array:
    return np.where(x > 0, x, slope * x)


def _softmax(scores: Array, segment: NDArray[np.int64], segments: int) -> Array:
    """Softmax over the rows of each segment, column by column: ``(entries, columns)``."""
    highest = np.full((segments, scores.shape[1]), -np.inf)
    np.maximum.at(highest, segment, scores)
    mass = np.exp(scores - highest[segment])
    total = np.zeros_like(highest)
    np.add.at(total, segment, mass)
    return mass / total[segment]

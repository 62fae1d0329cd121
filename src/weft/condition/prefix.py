"""Keys and values from a summary vector, put before the tokens' own in every layer."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from weft.attention import Prefix, Terms
from weft.condition.conditioner import Conditioner
from weft.errors import ConfigError, NonFiniteError, ShapeError
from weft.platform.ranges import at_least


class KVPrefix(Conditioner):
    """A summary of a graph as P extra keys and values in every layer.

    prefix_key = split(graph_to_k[layer](summary)),    prefix_value = g ⊙ split(graph_to_v[layer](summary))

    ``graph_to_v`` starts at zero, so that training starts near the plain encoder: the prefix takes a
    share of the attention and adds nothing. (``graph_to_k`` gets a gradient from that share at once.)

    Args:
        graph_dim: Width of the summary.
        hidden_size: Width of the encoder.
        num_heads: Attention heads of the encoder.
        num_layers: Layers of the encoder.
        num_prefix_tokens: P.
        gated: Whether a learned factor g per layer and head, 1 at the start, multiplies the values. It
            tells which heads use the graph; it gets no gradient before ``graph_to_v`` has left zero.

    Structure:
        ``summary (batch, graph_dim)``.

    Raises:
        ConfigError: A size below 1, heads that do not divide ``hidden_size``.

    Source:
        The model module contract, "BERT Integration Module API": deep prefix injection; the mechanism is
        prefix-tuning (Li & Liang 2021), with the prefix computed from the input.

    Differs from the spec:
        P may be more than 1, and ``graph_to_v`` starts at zero: the contract is silent about the start.
    """

    def __init__(
        self,
        graph_dim: int,
        hidden_size: int,
        num_heads: int,
        num_layers: int,
        num_prefix_tokens: int = 1,
        *,
        gated: bool = False,
    ) -> None:
        super().__init__()
        check_sizes(
            hidden_size,
            num_heads,
            graph_dim=graph_dim,
            num_layers=num_layers,
            num_prefix_tokens=num_prefix_tokens,
        )
        self.graph_dim = graph_dim
        self.num_heads = num_heads
        self.num_prefix_tokens = num_prefix_tokens
        width = num_prefix_tokens * hidden_size
        self.graph_to_k = nn.ModuleList(nn.Linear(graph_dim, width) for _ in range(num_layers))
        self.graph_to_v = nn.ModuleList(zero_linear(graph_dim, width) for _ in range(num_layers))
        self.gate = nn.Parameter(torch.ones(num_layers, num_heads)) if gated else None

    def prepare(self, structure: Tensor) -> Tensor:
        """Check the summary.

        Raises:
            ShapeError: It is not ``(batch, graph_dim)``.
            NonFiniteError: It holds NaN or infinity (looked for on the CPU only).
        """
        check_summary(structure, self.graph_dim)
        return structure

    def terms(self, layer: int, hidden: Tensor, query: Tensor, key: Tensor, state: Tensor) -> Terms:
        """The prefix of one layer.

        Raises:
            ConfigError: A layer beyond ``num_layers``.
        """
        _check_layer(layer, len(self.graph_to_k))
        prefix_key = split_tokens(self.graph_to_k[layer](state), self.num_heads, self.num_prefix_tokens)
        prefix_value = split_tokens(self.graph_to_v[layer](state), self.num_heads, self.num_prefix_tokens)
        if self.gate is not None:
            prefix_value = prefix_value * self.gate[layer][:, None, None]
        return Terms(prefix=Prefix(prefix_key, prefix_value))


class Register(Conditioner):
    """A prefix that is learned and says nothing about the input: the control for :class:`KVPrefix`.

    Whatever a model gains from a prefix and also gains from this is no gain from the structure.

    Args:
        hidden_size: Width of the encoder.
        num_heads: Attention heads of the encoder.
        num_layers: Layers of the encoder.
        num_prefix_tokens: P.
        initializer_range: Standard deviation of the keys at the start; the values start at zero.

    Structure:
        Anything; it is not looked at, so a run with :class:`KVPrefix` is repeated with its own data.

    Source:
        Darcet et al. 2024, "Vision Transformers Need Registers"; Li & Liang 2021 for keys and values.
    """

    def __init__(
        self,
        hidden_size: int,
        num_heads: int,
        num_layers: int,
        num_prefix_tokens: int = 1,
        *,
        initializer_range: float = 0.02,
    ) -> None:
        super().__init__()
        check_sizes(hidden_size, num_heads, num_layers=num_layers, num_prefix_tokens=num_prefix_tokens)
        shape = (num_layers, num_heads, num_prefix_tokens, hidden_size // num_heads)
        self.key = nn.Parameter(torch.empty(shape).normal_(std=initializer_range))
        self.value = nn.Parameter(torch.zeros(shape))

    def prepare(self, structure: object = None) -> None:
        """Nothing to prepare."""

    def terms(self, layer: int, hidden: Tensor, query: Tensor, key: Tensor, state: None) -> Terms:
        """The same prefix for every example.

        Raises:
            ConfigError: A layer beyond ``num_layers``.
        """
        _check_layer(layer, len(self.key))
        batch = query.shape[0]
        prefix = Prefix(
            self.key[layer].expand(batch, -1, -1, -1), self.value[layer].expand(batch, -1, -1, -1)
        )
        return Terms(prefix=prefix)


def split_tokens(x: Tensor, heads: int, tokens: int) -> Tensor:
    """``(batch, tokens · hidden)`` to ``(batch, heads, tokens, D)``."""
    return x.view(x.shape[0], tokens, heads, -1).transpose(1, 2)


def zero_linear(input_dim: int, output_dim: int) -> nn.Linear:
    """A linear map that starts as 0."""
    linear = nn.Linear(input_dim, output_dim)
    nn.init.zeros_(linear.weight)
    nn.init.zeros_(linear.bias)
    return linear


def check_summary(summary: Tensor, graph_dim: int) -> None:
    """Raise where the summary is not ``(batch, graph_dim)``, or on the CPU not finite."""
    if summary.dim() != 2 or summary.shape[1] != graph_dim:
        raise ShapeError(
            f"the graph summary has shape {tuple(summary.shape)}; it must be (batch, {graph_dim})"
        )
    # On a GPU the look would wait for the device, and in a compiled graph it would break that.
    if torch.compiler.is_compiling() or summary.device.type != "cpu":
        return
    if not torch.isfinite(summary.detach()).all():
        raise NonFiniteError("NaN or infinity", where="graph summary")


def _check_layer(layer: int, num_layers: int) -> None:
    if layer >= num_layers:
        raise ConfigError(f"layer {layer} asks for a prefix built for {num_layers} layers")


def check_sizes(hidden_size: int, num_heads: int, **sizes: int) -> None:
    """Raise where a size is below 1, or heads do not divide the width."""
    at_least(1, hidden_size=hidden_size, num_heads=num_heads, **sizes)
    if hidden_size % num_heads:
        raise ConfigError(
            f"hidden_size is {hidden_size} and num_heads is {num_heads}; num_heads must divide hidden_size"
        )

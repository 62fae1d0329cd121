"""Quasi-attention guided by a context: what the published model conditions its attention with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol, cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from weft.attention import Quasi, Terms
from weft.attention.terms import Gate
from weft.condition.conditioner import Conditioner
from weft.errors import ConfigError, InputError, ShapeError
from weft.platform.ranges import at_least

QuasiName = Literal["qacg-official", "qacg"]

_OPEN = -1.0


class Projections(Protocol):
    """What is taken from a layer's self-attention: W_Q and W_K."""

    query: nn.Linear
    key: nn.Linear


@dataclass(frozen=True)
class QuasiConfig:
    """What varies between the published quasi-attention and the sound one.

    Args:
        hidden_size: Width of the encoder.
        num_heads: Attention heads of the encoder.
        num_layers: Layers of the encoder.
        first_layer: The lowest layer with quasi-attention; the layers below can be shared by contexts.
        normalised: Whether the quasi part is divided by the number of real tokens. It is a sum over
            tokens, so that without this it grows with the length of the text.
        gate: ``"row"`` as the published code computes it, ``"pair"`` as the paper writes it.
        lambda_bias: Whether the four linear maps inside λ_Q and λ_K have biases.
        dropout: Dropout probability of C_Q and C_K.
        alpha: α.
        beta: β.
        gamma: γ.
        initializer_range: Standard deviation of the weights at the start.
        lambda_range: Standard deviation of the λ vectors at the start: small, so that λ_Q + λ_K is
            about 1 and the quasi part about 0. Not zero: then no gradient would reach the context.

    Raises:
        ConfigError: A value that breaks a rule; field, value and rule are named.
    """

    hidden_size: int
    num_heads: int
    num_layers: int
    first_layer: int = 0
    normalised: bool = False
    gate: Gate = "row"
    lambda_bias: bool = True
    dropout: float = 0.1
    alpha: float = 1.0
    beta: float = 1.0
    gamma: float = 1.0
    initializer_range: float = 0.02
    lambda_range: float = 0.01

    def __post_init__(self) -> None:
        at_least(1, hidden_size=self.hidden_size, num_heads=self.num_heads, num_layers=self.num_layers)
        if self.hidden_size % self.num_heads:
            raise ConfigError(
                f"hidden_size is {self.hidden_size} and num_heads is {self.num_heads}; num_heads must divide it"
            )
        if not 0 <= self.first_layer < self.num_layers:
            raise ConfigError(
                f"first_layer is {self.first_layer}; it must be from 0 to {self.num_layers - 1}"
            )
        if self.gate not in ("row", "pair"):
            raise ConfigError(f"gate is {self.gate!r}; it must be 'row' or 'pair'")
        if not 0.0 <= self.dropout < 1.0:
            raise ConfigError(f"dropout is {self.dropout}; it must be in [0, 1)")
        for name in ("initializer_range", "lambda_range"):
            if getattr(self, name) <= 0.0:
                raise ConfigError(f"{name} is {getattr(self, name)}; it must be above 0")

    @classmethod
    def named(
        cls, name: QuasiName, hidden_size: int, num_heads: int, num_layers: int, **changes: Any
    ) -> QuasiConfig:
        """One of the two named configurations, with changes.

        ``"qacg-official"``: every layer, row gate, not normalised. ``"qacg"``: the upper third of the
        layers, pair gate, normalised.

        Raises:
            ConfigError: Another name, or a change of an unknown field.
        """
        if name == "qacg-official":
            config = cls(hidden_size, num_heads, num_layers)
        elif name == "qacg":
            first = 2 * num_layers // 3
            config = cls(hidden_size, num_heads, num_layers, first_layer=first, normalised=True, gate="pair")
        else:
            raise ConfigError(f"no quasi-attention is called {name!r}", hint="'qacg-official' or 'qacg'")
        unknown = sorted(set(changes) - set(cls.__dataclass_fields__))
        if unknown:
            raise ConfigError(f"unknown fields {unknown}", hint=f"known: {sorted(cls.__dataclass_fields__)}")
        return replace(config, **changes)


@dataclass(frozen=True, eq=False)
class QuasiStructure:
    """What a text is read for.

    Args:
        context: E_c, ``(batch, hidden)``.
        num_tokens: Real tokens of each text ``(batch,)``; needed where the quasi part is normalised.
    """

    context: Tensor
    num_tokens: Tensor | None = None


class QuasiContext(Conditioner):
    """Quasi-attention from a context embedding.

    C        = [E_c ; h]·W_cᵀ + b + E_c            in every layer, h its input
    C_Q, C_K = split heads of C·Z_Qᵀ, C·Z_Kᵀ
    λ_Q      = sigmoid(Q·v_Q + C_Q·v_Q^C)          λ_K likewise from K and C_K
    Â        = softmax(QKᵀ/√D) + (1 − βλ_Q − γλ_K) ⊙ α·sigmoid(C_Q·C_Kᵀ/√D)

    =========================  ============================
    here                       in the paper
    =========================  ============================
    ``context_layer``          W_C (here with a bias)
    ``context_query``          Z_Q
    ``context_key``            Z_K
    ``lambda_query``           V_Q
    ``lambda_key``             V_K
    ``lambda_context_query``   V_Q^C
    ``lambda_context_key``     V_K^C
    =========================  ============================

    Args:
        config: The sizes and the variant.

    Structure:
        :class:`QuasiStructure`.

    Source:
        Wu & Ong 2021, "Context-Guided BERT for Targeted Aspect-Based Sentiment Analysis", the section on
        quasi-attention; the review of its code, section [A-1-a].

    Differs from the paper:
        "+ E_c" and the bias of W_c are in the code only. The gate of the code indexes λ_K by the query
        (``gate="row"``); the paper's is ``gate="pair"``.

    Differs from the spec:
        The review's ``Wcq`` of (D, D) cannot be applied to (batch, seq, hidden): Z is hidden × hidden,
        then split. λ_A lies in (−1, 1), not [0, 1]; the final attention is the sum of both parts.
        A masked key gets exactly 0, not sigmoid(−10000 + …).
    """

    def __init__(self, config: QuasiConfig) -> None:
        super().__init__()
        self.config = config
        self.layers = nn.ModuleList(
            ContextLayer(config) for _ in range(config.num_layers - config.first_layer)
        )

    def fold(self) -> None:
        """Join W_c with Z_Q and Z_K for inference, exactly; training, and ``train()``, undo it.

        C_Q = h·(Z_Q·W_h)ᵀ + (W_e·E_c + b + E_c)·Z_Qᵀ, with W_c = [W_e ; W_h]: one product of the hidden
        states and a constant per context instead of two products in turn; C_K likewise.
        """
        for layer in self.layers:
            cast(ContextLayer, layer).fold()

    @torch.no_grad()
    def open(self, attentions: Sequence[Projections], context: float = 1.0, hidden: float = 1.0) -> None:
        """Begin where the first step's gradient reaches the context.

        Z_Q, Z_K = W_Q, W_K of the layer itself, W_c = [context·1  hidden·1], b = 0, and the four biases of λ_Q and
        λ_K at −1, so that λ_A = 1 − 2·sigmoid(−2) ≈ .76 and not about 0.

        As it is drawn, the quasi part begins near 0 and random maps stand between it and E_c: of the gradient
        that meets the text a 350th arrives there (``recipes/absa_quasi.py``). With W_c = [1 1], so that
        C = h + 2·E_c, most sigmoids of C_Q·C_Kᵀ begin at their ends, and what arrives goes through λ; with [−½ ½] C is
        the mean of E_c and h, and one in 27 does.

        Args:
            attentions: The self-attention of every layer of the encoder, of the sizes of the configuration.
            context: The first half of W_c, by which E_c is taken.
            hidden: The second half, by which h is taken.

        Raises:
            ShapeError: Another number of layers.
        """
        if len(attentions) != self.config.num_layers:
            raise ShapeError(f"{len(attentions)} layers for a quasi-attention of {self.config.num_layers}")
        one = torch.eye(self.config.hidden_size)
        for own, attention in zip(self.layers, attentions[self.config.first_layer :], strict=True):
            layer = cast(ContextLayer, own)
            layer.context_query.load_state_dict(attention.query.state_dict())
            layer.context_key.load_state_dict(attention.key.state_dict())
            layer.context_layer.weight.copy_(torch.cat([context * one, hidden * one], dim=1))
            layer.context_layer.bias.zero_()
            for gate in (
                layer.lambda_query,
                layer.lambda_key,
                layer.lambda_context_query,
                layer.lambda_context_key,
            ):
                if gate.bias is not None:
                    gate.bias.fill_(_OPEN)

    def prepare(self, structure: QuasiStructure) -> QuasiStructure:
        """Check the structure.

        Raises:
            ShapeError: The context is not ``(batch, hidden)`` or the counts are not ``(batch,)``.
            InputError: Counts are missing or below 1 where the quasi part is normalised.
        """
        context, counts = structure.context, structure.num_tokens
        check_context(context, self.config.hidden_size)
        if not self.config.normalised:
            return structure
        if counts is None:
            raise InputError(
                "no token counts for a normalised quasi-attention", hint="give num_tokens (batch,)"
            )
        if tuple(counts.shape) != (context.shape[0],):
            raise ShapeError(
                f"num_tokens has shape {tuple(counts.shape)}; context {tuple(context.shape)} "
                f"needs ({context.shape[0]},)"
            )
        if not torch.compiler.is_compiling() and bool((counts < 1).any()):
            raise InputError(f"text {int((counts < 1).nonzero()[0])} has no tokens", where="num_tokens")
        return structure

    def terms(self, layer: int, hidden: Tensor, query: Tensor, key: Tensor, state: QuasiStructure) -> Terms:
        """The quasi term of a layer, none below ``first_layer``.

        Raises:
            ConfigError: A layer beyond ``num_layers``.
        """
        config = self.config
        if layer >= config.num_layers:
            raise ConfigError(
                f"layer {layer} asks for a quasi-attention built for {config.num_layers} layers"
            )
        if layer < config.first_layer:
            return Terms()
        alpha: float | Tensor = config.alpha
        if config.normalised and state.num_tokens is not None:
            alpha = (config.alpha / state.num_tokens.to(query.dtype)).view(-1, 1, 1, 1)
        context_query, context_key, lambda_query, lambda_key = self.layers[layer - config.first_layer](
            hidden, state.context, query, key
        )
        return Terms(
            quasi=Quasi(
                context_query,
                context_key,
                lambda_query,
                lambda_key,
                alpha,
                config.beta,
                config.gamma,
                config.gate,
            )
        )


def check_context(context: Tensor, hidden_size: int) -> None:
    """Check a context embedding.

    Raises:
        ShapeError: It is not ``(batch, hidden_size)``.
    """
    if context.dim() != 2 or context.shape[1] != hidden_size:
        raise ShapeError(f"the context has shape {tuple(context.shape)}; it must be (batch, {hidden_size})")


class ContextLayer(nn.Module):
    """The parameters of one layer: C_Q, C_K, λ_Q and λ_K, as :class:`QuasiContext` writes them."""

    def __init__(self, config: QuasiConfig) -> None:
        super().__init__()
        hidden, width = config.hidden_size, config.hidden_size // config.num_heads
        self.num_heads = config.num_heads
        self.context_layer = nn.Linear(2 * hidden, hidden)
        self.context_query = nn.Linear(hidden, hidden)
        self.context_key = nn.Linear(hidden, hidden)
        self.lambda_query = nn.Linear(width, 1, bias=config.lambda_bias)
        self.lambda_key = nn.Linear(width, 1, bias=config.lambda_bias)
        # One bias in each λ would do, for the two parts are added; the published code has both.
        self.lambda_context_query = nn.Linear(width, 1, bias=config.lambda_bias)
        self.lambda_context_key = nn.Linear(width, 1, bias=config.lambda_bias)
        self.dropout = nn.Dropout(config.dropout)
        self.folded: Tensor | None = None
        for name, module in self.named_children():
            if isinstance(module, nn.Linear):
                std = config.lambda_range if name.startswith("lambda") else config.initializer_range
                nn.init.normal_(module.weight, std=std)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)

    def forward(
        self, hidden: Tensor, context: Tensor, query: Tensor, key: Tensor
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """C_Q and C_K ``(batch, heads, seq, D)``, λ_Q and λ_K ``(batch, heads, seq)``."""
        wide_query, wide_key = self._queries_and_keys(hidden, context)
        context_query = self.dropout(self._split(wide_query))
        context_key = self.dropout(self._split(wide_key))
        lambda_query = torch.sigmoid(self.lambda_query(query) + self.lambda_context_query(context_query))
        lambda_key = torch.sigmoid(self.lambda_key(key) + self.lambda_context_key(context_key))
        return context_query, context_key, lambda_query.squeeze(-1), lambda_key.squeeze(-1)

    @torch.no_grad()
    def fold(self) -> None:
        """[Z_Q·W_h ; Z_K·W_h], kept beside the parameters, not among them."""
        of_hidden = self.context_layer.weight.chunk(2, dim=1)[1]
        self.folded = torch.cat([self.context_query.weight @ of_hidden, self.context_key.weight @ of_hidden])

    def train(self, mode: bool = True) -> ContextLayer:
        """Set the mode; training changes the weights that were folded."""
        if mode:
            self.folded = None
        return super().train(mode)

    def _load_from_state_dict(self, *arguments: Any, **options: Any) -> None:
        self.folded = None  # of the weights before
        super()._load_from_state_dict(*arguments, **options)

    def _queries_and_keys(self, hidden: Tensor, context: Tensor) -> tuple[Tensor, Tensor]:
        """C·Z_Qᵀ and C·Z_Kᵀ; the half of W_c that meets E_c is applied once per text, not once per token."""
        of_context, of_hidden = self.context_layer.weight.chunk(2, dim=1)
        constant = F.linear(context, of_context, self.context_layer.bias) + context
        if self.training:
            self.folded = None  # the mode may have been set by the attribute
        if self.folded is None:
            mixed = F.linear(hidden, of_hidden) + constant.unsqueeze(1)
            return self.context_query(mixed), self.context_key(mixed)
        # A plain attribute does not move with the module.
        self.folded = self.folded.to(hidden)
        query, key = F.linear(hidden, self.folded).chunk(2, dim=-1)
        return query + self.context_query(constant).unsqueeze(1), key + self.context_key(constant).unsqueeze(
            1
        )

    def _split(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)

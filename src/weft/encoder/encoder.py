"""The encoder: embeddings, a stack of layers, and the one place where structure enters them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import torch
from torch import Tensor, nn

from weft.attention.operation import Maps, Path
from weft.attention.terms import Decay, Terms
from weft.condition.conditioner import Conditioner
from weft.encoder.checks import check_attention_mask, check_hidden, check_ids, check_pattern
from weft.encoder.config import EncoderConfig
from weft.encoder.embeddings import Embeddings, TokenEmbeddings
from weft.encoder.initialisation import initialise
from weft.encoder.layer import Condition, EncoderLayer, NeedMaps
from weft.encoder.relative import RelativeBias
from weft.encoder.rotary import Rotation, rotation
from weft.errors import ConfigError, InputError


class _Plain:
    """The type of :data:`PLAIN`."""

    def __repr__(self) -> str:
        return "PLAIN"


PLAIN: Final = _Plain()
"""Given as ``structure``, it runs a conditioned encoder without its conditioner, on purpose."""


@dataclass(frozen=True)
class EncoderOutput:
    """What an encoder returns.

    Args:
        last_hidden_state: ``(batch, seq, hidden)``.
        maps: The attention maps of each layer that ran, where they were asked for.
    """

    last_hidden_state: Tensor
    maps: tuple[Maps, ...] | None = None

    @property
    def prefix_weights(self) -> Tensor | None:
        """The weight on the prefix, ``(layers, batch, heads, query)``; None without maps or without a prefix."""
        columns = [] if self.maps is None else [maps.prefix for maps in self.maps if maps.prefix is not None]
        return torch.stack(columns) if columns else None


class Encoder(nn.Module):
    """A BERT-family encoder that knows no task and no graph library.

    h_0 = embeddings(inputs)        h_{l+1} = layer_l(h_l; conditioner.terms(l, h_l, …))

    Without a conditioner it is BERT (or RoBERTa or MPNet, by the configuration) exactly.

    Args:
        config: Sizes and options.
        embeddings: The embedding brick; word, position and type embeddings by default.
        conditioner: What turns structure into attention terms; it may also be set later.
    """

    def __init__(
        self,
        config: EncoderConfig,
        embeddings: Embeddings | None = None,
        conditioner: Conditioner | None = None,
    ) -> None:
        super().__init__()
        self.config = config
        self.embeddings = TokenEmbeddings(config) if embeddings is None else embeddings
        self.layers = nn.ModuleList(EncoderLayer(config) for _ in range(config.num_hidden_layers))
        self.relative = (
            RelativeBias(config.relative_buckets, config.num_attention_heads, config.relative_distance)
            if config.relative_buckets
            else None
        )
        if self.relative is not None:
            initialise(self.relative, config.initializer_range)
        self.conditioner = conditioner

    def forward(
        self,
        inputs: Any,
        attention_mask: Tensor | None = None,
        structure: Any = None,
        position_ids: Tensor | None = None,
        mask: Tensor | None = None,
        layers: slice = slice(None),
        need_maps: NeedMaps = False,
        path: Path = "auto",
    ) -> EncoderOutput:
        """Encode a batch.

        Args:
            inputs: Token ids ``(batch, seq)``, a ``TokenInputs``, or whatever another embedding brick reads.
                A floating tensor ``(batch, seq, hidden)`` is hidden states: it enters the layers as it is.
            attention_mask: ``(batch, seq)`` bool, True = a real token; None where nothing is padded.
            structure: What the conditioner's ``prepare`` takes; needed where there is a conditioner.
                :data:`PLAIN` runs without the conditioner.
            position_ids: ``(batch | 1, seq)``; counted from the inputs where None.
            mask: ``(batch | 1, heads | 1, query, key)`` bool, True = attend: one-way or causal patterns.
            layers: The part of the stack to run, step 1. A part that starts above 0 reads hidden states;
                ``slice(0, 0)`` gives the embeddings. Runs of successive parts equal one run of the whole.
            need_maps: True keeps every map of every layer, ``"prefix"`` only the weight on the prefix.
            path: How attention is computed, see :func:`weft.attention.attend`.

        Returns:
            The last hidden state, and the maps where asked for.

        Raises:
            InputError: Ids out of range, an empty batch, a sequence longer than the position table, a
                conditioner without structure.
            ShapeError: A mask or positions of another shape than the input.
            DtypeError: A mask that is not boolean.
            NonFiniteError: NaN or infinity in hidden states.
            ConfigError: Structure without a conditioner, or a part of the stack that does not exist.
        """
        span = self._span(layers)
        conditioner, state = self._prepare(structure)
        if isinstance(inputs, Tensor) and inputs.is_floating_point():
            check_hidden(inputs, self.config.hidden_size)
            hidden = inputs
        elif span.start > 0:
            raise InputError(
                f"layers start at {span.start}, so inputs must be hidden states (batch, seq, hidden)"
            )
        else:
            embed = None if conditioner is None else partial(conditioner.embed, state=state)
            hidden = self.embeddings(inputs, position_ids, embed)
        key_mask = self._check_masks(hidden, attention_mask, mask)
        turn = self._turn(hidden, position_ids)
        relative = None if self.relative is None else self.relative(hidden.shape[1])
        kept: list[Maps] = []
        for index in span:
            condition = _condition(conditioner, index, state, relative)
            hidden, maps = self.layers[index](
                hidden, key_mask, mask, condition=condition, turn=turn, need_maps=need_maps, path=path
            )
            if maps is not None:
                kept.append(maps)
        return EncoderOutput(hidden, tuple(kept) if need_maps else None)

    def positions(self, length: int) -> Condition | None:
        """What the relative bias gives each layer of ``length`` tokens, for layers that run outside the stack."""
        return None if self.relative is None else _condition(None, 0, None, self.relative(length))

    def _span(self, layers: slice) -> range:
        count = len(self.layers)
        if not isinstance(layers, slice):
            raise ConfigError(
                f"layers is {layers!r}; it must be a slice", hint="slice(0, 2) is the first two"
            )
        for bound in (layers.start, layers.stop):
            if bound is not None and not -count <= bound <= count:
                raise ConfigError(f"layers is {layers}; the encoder has {count} layers")
        start, stop, step = layers.indices(count)
        if step != 1 or stop < start:
            raise ConfigError(f"layers is {layers}; it must run upwards, with step 1")
        return range(start, stop)

    def _prepare(self, structure: Any) -> tuple[Conditioner | None, Any]:
        if isinstance(structure, _Plain):
            return None, None
        if self.conditioner is None:
            if structure is not None:
                raise ConfigError(
                    "structure was given to an encoder without a conditioner; it would be ignored"
                )
            return None, None
        if structure is None:
            raise InputError(
                f"no structure for {type(self.conditioner).__name__}",
                hint="give structure, or structure=PLAIN to run without the conditioner",
            )
        return self.conditioner, self.conditioner.prepare(structure)

    def _check_masks(
        self, hidden: Tensor, attention_mask: Tensor | None, mask: Tensor | None
    ) -> Tensor | None:
        batch, length = hidden.shape[:2]
        if mask is not None:
            check_pattern(mask, batch, self.config.num_attention_heads, length)
        if attention_mask is None:
            return None
        check_attention_mask(attention_mask, batch, length)
        if (
            attention_mask.device.type == "cpu"
            and not torch.compiler.is_compiling()
            and bool(attention_mask.all())
        ):
            # Nothing is padded: every layer is spared the mask. On a GPU the question would cost a wait.
            return None
        return attention_mask

    def _turn(self, hidden: Tensor, position_ids: Tensor | None) -> Rotation | None:
        if self.config.position != "rotary":
            return None
        batch, length = hidden.shape[:2]
        if position_ids is None:
            position_ids = torch.arange(length, device=hidden.device)[None]
        else:
            check_ids(position_ids, 1 << 31, "position_ids", "the number of positions", (batch, length))
        return rotation(position_ids, self.config.head_size, self.config.rotary_base, hidden.dtype)


def _condition(
    conditioner: Conditioner | None, layer: int, state: Any, relative: Decay | None
) -> Condition | None:
    """What gives a layer its terms: the conditioner, the relative bias, both or nothing."""
    if conditioner is None and relative is None:
        return None
    positions = Terms(decay=relative)

    def condition(hidden: Tensor, query: Tensor, key: Tensor) -> Terms:
        if conditioner is None:
            return positions
        terms = conditioner.terms(layer, hidden, query, key, state)
        return terms if relative is None else Terms.combine([positions, terms])

    return condition

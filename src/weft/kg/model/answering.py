"""A model of texts for answers only: its layers multiply in eight bits or bfloat16."""

from __future__ import annotations

import copy
from typing import cast

from torch import nn

from weft.encoder.answering.layer import convert_products, convert_stack
from weft.encoder.answering.product import Arithmetic
from weft.encoder.encoder import Encoder
from weft.encoder.layer import EncoderLayer
from weft.kg.model.entity_graph import EntityGraphModel


def for_answers(model: EntityGraphModel, arithmetic: Arithmetic) -> EntityGraphModel:
    """A copy that shares the model's parameters, except those of the products, which are made anew.

    Layers below the leaves and those that find mentions know no pattern: they multiply query, key and value at once.
    Those above keep their own forward, for leaves attend to roots and not the other way round.

    Args:
        model: The model, where it will answer.
        arithmetic: How its layers multiply.

    Raises:
        ConfigError: Eight bits on a processor that does not multiply them exactly.
    """
    shared = {id(tensor): tensor for tensor in (*model.parameters(), *model.buffers())}
    found = copy.deepcopy(model, shared)
    _convert(found.encoder, found.config.shared_layers, arithmetic)
    if found.mentions is not None:
        _convert(found.mentions.encoder, len(found.mentions.encoder.layers), arithmetic)
    return found.eval()


def _convert(encoder: Encoder, plain: int, arithmetic: Arithmetic) -> None:
    """Convert an encoder; of its layers the first ``plain`` run without pattern or memory."""
    # Positions that turn queries or bias weights reach the layer's own attention alone.
    fused = plain if encoder.relative is None and encoder.config.position != "rotary" else 0
    below = nn.ModuleList(list(encoder.layers)[:fused])
    convert_stack(below, arithmetic)
    above = list(encoder.layers)[fused:]
    for layer in above:
        convert_products(cast(EncoderLayer, layer), arithmetic)
    encoder.layers = nn.ModuleList([*below, *above])

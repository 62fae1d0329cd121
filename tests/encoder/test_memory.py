"""A layer that attends to keys and values from outside itself."""

from __future__ import annotations

import pytest
import torch

from weft.attention import Decay, Terms, attend
from weft.encoder.config import EncoderConfig
from weft.encoder.layer import EncoderLayer, KeyValue
from weft.encoder.rotary import rotate, rotation


@pytest.fixture
def layer():
    config = EncoderConfig(
        hidden_size=16, num_attention_heads=2, intermediate_size=24, vocab_size=9, initializer_range=0.2
    )
    return EncoderLayer(config).eval()


@pytest.fixture
def turn():
    return rotation(torch.arange(5)[None], 8, 10000.0)


@pytest.mark.parametrize("turned", [False, True])
def test_its_own_keys_and_values_as_memory_change_nothing(layer, turn, turned):
    hidden, by = torch.randn(3, 5, 16), turn if turned else None
    mask = torch.ones(5, 5, dtype=torch.bool).tril()[None, None]
    alone, _ = layer(hidden, mask=mask, turn=by)
    memory = layer.attention.key_value(hidden, by)
    assert torch.equal(layer(hidden, mask=mask, turn=by, memory=memory)[0], alone)


def test_a_part_reads_the_rest_from_memory(layer, turn):
    """The last two tokens, given keys and values of the first three, are what they are in the whole."""
    hidden = torch.randn(2, 5, 16)
    whole, _ = layer(hidden, turn=turn)
    first, last = (type(turn)(turn.cos[:, :, part], turn.sin[:, :, part]) for part in (slice(3), slice(3, 5)))
    earlier = layer.attention.key_value(hidden[:, :3], first)
    seen = layer.attention.key_value(hidden[:, 3:], last).after(earlier)
    assert seen.key.shape == (2, 2, 5, 8)
    part, _ = layer(hidden[:, 3:], turn=last, memory=seen)
    torch.testing.assert_close(part, whole[:, 3:])


def test_masks_terms_and_maps_are_those_of_the_memory(layer):
    hidden, memory = torch.randn(1, 2, 16), KeyValue(*torch.randn(2, 1, 2, 4, 8))
    seen = torch.tensor([[True, True, False, True]])
    factor = torch.rand(1, 2, 2, 4) + 0.1
    options = {"condition": lambda *_: Terms(decay=Decay(factor, "weights")), "need_maps": True}
    _, maps = layer(hidden, seen, memory=memory, **options)
    query = layer.attention.query(hidden).unflatten(2, (2, -1)).transpose(1, 2)
    _, expected = attend(
        query, *memory, key_mask=seen, terms=Terms(decay=Decay(factor, "weights")), need_maps=True
    )
    assert maps.weights.shape == (1, 2, 2, 4)
    torch.testing.assert_close(maps.weights, expected.weights)
    assert not maps.weights[..., 2].any()


def test_what_answers_queries_by_itself_gets_them_turned(layer, turn):
    hidden = torch.randn(2, 5, 16)
    own = layer.attention.key_value(hidden, turn)
    asked = []

    def answer(query):
        asked.append(query)
        return attend(query, *own)[0]

    found, maps = layer(hidden, turn=turn, memory=answer)
    torch.testing.assert_close(found, layer(hidden, turn=turn)[0])
    query = layer.attention.query(hidden).unflatten(2, (2, -1)).transpose(1, 2)
    assert torch.equal(asked[0], rotate(query, turn))
    assert maps is None

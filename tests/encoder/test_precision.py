"""The encoder in bf16, by autocast and by weights, with every kind of position and term."""

import copy
import pickle

import pytest
import torch
from torch import nn

from weft.condition.conditioner import Stack
from weft.condition.decay import DistanceDecay
from weft.condition.prefix import KVPrefix
from weft.encoder import Encoder, EncoderConfig

IDS = torch.tensor([[3, 4, 5, 6], [7, 8, 0, 0]])
MASK = IDS != 0
SUMMARY = torch.randn(2, 6, generator=torch.Generator().manual_seed(1))
DISTANCES = torch.tensor([[0, 1, 2, 3], [1, 0, 1, 2], [2, 1, 0, 1], [3, 2, 1, 0]])[None]


def build(position, mode="scores"):
    prefix = KVPrefix(6, 16, 2, 2)
    for projection in prefix.graph_to_v:
        nn.init.normal_(projection.weight)
    config = EncoderConfig(
        40, 16, 2, 2, 24, 8, hidden_dropout_prob=0.1, attention_probs_dropout_prob=0.1, position=position
    )
    return Encoder(config, conditioner=Stack([prefix, DistanceDecay(2, 3, mode=mode)]))


@pytest.mark.parametrize("mode", ["scores", "weights"])
@pytest.mark.parametrize("path", ["auto", "reference", "chunked"])
@pytest.mark.parametrize("position", ["absolute", "rotary", "none"])
def test_autocast(position, path, mode):
    encoder = build(position, mode)
    expected = encoder.eval()(IDS, MASK, (SUMMARY, DISTANCES), path="reference").last_hidden_state
    for train in (False, True):
        encoder.train(train).zero_grad()
        with torch.autocast("cpu", torch.bfloat16):
            found = encoder(IDS, MASK, (SUMMARY, DISTANCES), path=path).last_hidden_state
        found.float()[MASK].square().sum().backward()
        for name, parameter in encoder.named_parameters():
            assert parameter.grad is not None, name
            assert torch.isfinite(parameter.grad).all(), name
        if not train:
            torch.testing.assert_close(found[MASK].float(), expected[MASK], atol=0.05, rtol=0)


@pytest.mark.parametrize("position", ["absolute", "rotary"])
def test_weights_in_bf16(position):
    encoder = build(position).eval()
    expected = encoder(IDS, MASK, (SUMMARY, DISTANCES)).last_hidden_state
    found = encoder.bfloat16()(IDS, MASK, (SUMMARY.bfloat16(), DISTANCES)).last_hidden_state
    assert found.dtype == torch.bfloat16
    torch.testing.assert_close(found[MASK].float(), expected[MASK], atol=0.1, rtol=0)


def test_copies_and_pickles():
    encoder = build("rotary").eval()
    expected = encoder(IDS, MASK, (SUMMARY, DISTANCES)).last_hidden_state
    for other in (copy.deepcopy(encoder), pickle.loads(pickle.dumps(encoder))):  # noqa: S301 - our own bytes
        assert torch.equal(other(IDS, MASK, (SUMMARY, DISTANCES)).last_hidden_state, expected)

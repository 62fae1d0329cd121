"""Each thing the encoder refuses, with what its message must say."""

import pytest
import torch

from weft.condition.prefix import KVPrefix
from weft.encoder import (
    ClassificationHead,
    Encoder,
    GatePooler,
    MeanPooler,
    MLMHead,
    SBOHead,
    TokenInputs,
    build_pooler,
)
from weft.errors import ConfigError, DtypeError, InputError, NonFiniteError, ShapeError

IDS = torch.tensor([[3, 4, 5], [6, 7, 0]])
MASK = torch.tensor([[True, True, True], [True, True, False]])


@pytest.mark.parametrize(
    ("ids", "error", "message"),
    [
        (torch.tensor([[3, 40]]), InputError, r"input_ids\[0, 1\] is 40; vocab_size is 40"),
        (torch.tensor([[3, 4], [-1, 2]]), InputError, r"input_ids\[1, 0\] is -1; vocab_size is 40"),
        (torch.tensor([3, 4]), ShapeError, r"shape \(2,\); \(batch, seq\)"),
        (torch.empty(0, 4, dtype=torch.int64), InputError, r"input_ids is empty: its shape is \(0, 4\)"),
        (torch.empty(2, 0, dtype=torch.int64), InputError, "empty"),
        (IDS.bool(), DtypeError, "input_ids is torch.bool; int64 is needed"),
        (IDS.to(torch.int16), DtypeError, "torch.int16"),
        ([[1, 2]], InputError, "inputs are a list"),
        (
            torch.zeros(1, 13, dtype=torch.int64),
            InputError,
            "13 tokens; max_position_embeddings 12 allows 12",
        ),
    ],
)
def test_ids(config, ids, error, message):
    with pytest.raises(error, match=message):
        Encoder(config)(ids)


@pytest.mark.parametrize(
    ("mask", "error", "message"),
    [
        (MASK.long(), DtypeError, r"attention_mask is torch.int64; torch.bool is needed \(mask.bool\(\)"),
        (MASK.float(), DtypeError, "torch.float32"),
        (MASK[:, :2], ShapeError, r"shape \(2, 2\); the input has \(2, 3\)"),
        (MASK[:1], ShapeError, r"shape \(1, 3\)"),
    ],
)
def test_padding_masks(config, mask, error, message):
    with pytest.raises(error, match=message):
        Encoder(config)(IDS, mask)


@pytest.mark.parametrize(
    ("mask", "error", "message"),
    [
        (torch.ones(2, 1, 3, 3), DtypeError, "mask is torch.float32"),
        (
            torch.ones(3, 3, dtype=torch.bool),
            ShapeError,
            r"shape \(3, 3\); it must broadcast to \(2, 2, 3, 3\)",
        ),
        (torch.ones(2, 1, 3, 4, dtype=torch.bool), ShapeError, r"\(2, 1, 3, 4\)"),
        (torch.ones(3, 1, 3, 3, dtype=torch.bool), ShapeError, r"\(3, 1, 3, 3\)"),
    ],
)
def test_patterns(config, mask, error, message):
    with pytest.raises(error, match=message):
        Encoder(config)(IDS, MASK, mask=mask)


@pytest.mark.parametrize(
    ("positions", "error", "message"),
    [
        (
            torch.tensor([[0, 1, 12]]),
            InputError,
            r"position_ids\[0, 2\] is 12; max_position_embeddings is 12",
        ),
        (torch.tensor([[0, 1]]), ShapeError, r"shape \(1, 2\); the input has \(2, 3\)"),
        (torch.tensor([[0.0, 1.0, 2.0]]), DtypeError, "position_ids is torch.float32"),
    ],
)
def test_positions(config, positions, error, message):
    with pytest.raises(error, match=message):
        Encoder(config)(IDS, MASK, position_ids=positions)


def test_token_types(config):
    with pytest.raises(InputError, match=r"token_type_ids\[0, 0\] is 2; type_vocab_size is 2"):
        Encoder(config)(TokenInputs(IDS, torch.full_like(IDS, 2)))
    with pytest.raises(ShapeError, match=r"token_type_ids has shape \(2, 2\)"):
        Encoder(config)(TokenInputs(IDS, IDS[:, :2]))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_hidden_states_that_are_no_numbers(config, value):
    hidden = torch.zeros(2, 3, 16)
    hidden[1, 2, 5] = value
    with pytest.raises(NonFiniteError, match=r"hidden states hold -?(nan|inf) at \[1, 2, 5\]"):
        Encoder(config)(hidden, MASK, layers=slice(1, None))


def test_large_hidden_states_are_numbers(config):
    Encoder(config)(torch.full((2, 3, 16), 1e38), MASK, layers=slice(0, 0))


def test_hidden_states_of_another_shape(config):
    with pytest.raises(ShapeError, match=r"shape \(2, 3, 8\); \(batch, seq, 16\)"):
        Encoder(config)(torch.zeros(2, 3, 8))
    with pytest.raises(InputError, match="hidden states is empty"):
        Encoder(config)(torch.zeros(0, 3, 16))
    with pytest.raises(InputError, match="layers start at 1, so inputs must be hidden states"):
        Encoder(config)(IDS, MASK, layers=slice(1, None))


def test_a_summary_that_is_no_number_or_of_another_batch(config):
    encoder = Encoder(config, conditioner=KVPrefix(4, 16, 2, 3))
    with pytest.raises(NonFiniteError):
        encoder(IDS, MASK, torch.full((2, 4), float("nan")))
    with pytest.raises(ShapeError):
        encoder(IDS, MASK, torch.zeros(3, 4))


def test_heads_and_poolers(config):
    hidden, words = torch.randn(2, 3, 16), torch.randn(40, 16)
    with pytest.raises(DtypeError, match=r"where is torch\.int64"):
        MLMHead(config)(hidden, words, MASK.long())
    with pytest.raises(ShapeError, match=r"where has shape \(2, 2\)"):
        MLMHead(config)(hidden, words, MASK[:, :2])
    for pooler in (MeanPooler(), GatePooler(config)):
        with pytest.raises(DtypeError, match="attention_mask"):
            pooler(hidden, MASK.long())
    with pytest.raises(ConfigError, match="pooling is 'max'; it must be one of cls, mean, gate"):
        build_pooler("max", config)
    with pytest.raises(ConfigError, match="num_labels is 0"):
        ClassificationHead(config, 0)


def test_a_span_at_the_edge_has_no_boundary(config):
    head, one = SBOHead(config), torch.tensor([0])
    hidden, words = torch.randn(2, 3, 16), torch.randn(40, 16)
    head(hidden, words, one, one, one + 2, one)
    for arguments, message in [
        ((one, one - 1, one + 2, one), "left is -1 to -1"),
        ((one, one, one + 3, one), "right is 3 to 3"),
        ((one, one, one + 2, one + 7), "offset is 7 to 7"),
        ((one + 2, one, one + 2, one), "example is 2 to 2"),
    ]:
        with pytest.raises(InputError, match=message):
            head(hidden, words, *arguments)
    with pytest.raises(ShapeError, match="all must be"):
        head(hidden, words, one, one, one, torch.tensor([0, 1]))

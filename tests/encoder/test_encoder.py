"""Properties of the encoder: what may not change its output, and where structure enters."""

import dataclasses

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from weft.attention.terms import Decay, Prefix, Terms
from weft.condition.conditioner import Conditioner, Stack
from weft.condition.decay import DistanceDecay
from weft.condition.prefix import KVPrefix
from weft.encoder import PLAIN, Embeddings, Encoder, EncoderConfig, TokenInputs
from weft.encoder.layer import EncoderLayer
from weft.errors import ConfigError, InputError

POSITIONS = ["absolute", "rotary", "none"]
PATHS = ["auto", "reference", "sdpa", "chunked"]


def small(**changes):
    fields = {
        "vocab_size": 40,
        "hidden_size": 16,
        "num_hidden_layers": 3,
        "num_attention_heads": 2,
        "intermediate_size": 24,
        "max_position_embeddings": 16,
        "hidden_dropout_prob": 0.0,
        "attention_probs_dropout_prob": 0.0,
        "initializer_range": 0.3,
    }
    return EncoderConfig(**{**fields, **changes})


def batch(lengths=(5, 3, 1), width=5):
    mask = torch.arange(width)[None] < torch.tensor(lengths)[:, None]
    return torch.randint(1, 40, mask.shape).masked_fill(~mask, 0), mask


class _Everything(Conditioner):
    """Acts in all three places, so that a test sees whether each of them is reached."""

    def __init__(self, config):
        super().__init__()
        self.shift = nn.Linear(config.hidden_size, config.hidden_size)
        self.prefix = KVPrefix(6, config.hidden_size, config.num_attention_heads, config.num_hidden_layers, 2)
        nn.init.normal_(self.prefix.graph_to_v[0].weight)
        self.calls = []

    def prepare(self, structure):
        self.calls.append("prepare")
        return self.prefix.prepare(structure)

    def embed(self, embeddings, state):
        self.calls.append("embed")
        return embeddings + self.shift(embeddings)

    def terms(self, layer, hidden, query, key, state):
        self.calls.append(layer)
        return self.prefix.terms(layer, hidden, query, key, state)


@pytest.mark.parametrize("position", POSITIONS)
@given(seed=st.integers(0, 99), extra=st.integers(1, 4))
@settings(deadline=None, max_examples=8)
def test_padding_and_its_content_change_nothing(position, seed, extra):
    torch.manual_seed(seed)
    encoder = Encoder(small(position=position)).eval()
    ids, mask = batch()
    plain = encoder(ids, mask).last_hidden_state[mask]
    longer = torch.cat([ids, torch.randint(0, 40, (3, extra))], dim=1)
    longer_mask = torch.cat([mask, torch.zeros(3, extra, dtype=torch.bool)], dim=1)
    padded = encoder(longer, longer_mask).last_hidden_state[longer_mask]
    torch.testing.assert_close(padded, plain, atol=2e-5, rtol=0)


@pytest.mark.parametrize("position", POSITIONS)
@given(seed=st.integers(0, 99))
@settings(deadline=None, max_examples=5)
def test_the_order_of_the_batch_changes_nothing(position, seed):
    torch.manual_seed(seed)
    encoder = Encoder(small(position=position)).eval()
    ids, mask = batch()
    order = torch.randperm(3)
    plain = encoder(ids, mask).last_hidden_state
    shuffled = encoder(ids[order], mask[order]).last_hidden_state
    torch.testing.assert_close(shuffled[mask[order]], plain[order][mask[order]], atol=2e-5, rtol=0)


@pytest.mark.parametrize("position", POSITIONS)
@pytest.mark.parametrize("split", [0, 1, 2, 3])
def test_runs_of_successive_parts_equal_one_run(position, split):
    config = small(position=position)
    encoder = Encoder(config, conditioner=_Everything(config)).eval()
    ids, mask = batch()
    summary = torch.randn(3, 6)
    whole = encoder(ids, mask, summary).last_hidden_state
    lower = encoder(ids, mask, summary, layers=slice(0, split)).last_hidden_state
    upper = encoder(lower, mask, summary, layers=slice(split, None)).last_hidden_state
    torch.testing.assert_close(upper, whole, atol=1e-6, rtol=0)


def test_parts_may_be_named_from_the_end(config):
    encoder = Encoder(config).eval()
    ids, mask = batch()
    lower = encoder(ids, mask, layers=slice(None, -1)).last_hidden_state
    upper = encoder(lower, mask, layers=slice(-1, None)).last_hidden_state
    torch.testing.assert_close(upper, encoder(ids, mask).last_hidden_state, atol=1e-6, rtol=0)


@pytest.mark.parametrize(
    "layers", [slice(0, 4), slice(-4, None), slice(None, None, 2), slice(2, 1), slice(None, None, -1), 1]
)
def test_parts_that_do_not_exist(config, layers):
    with pytest.raises(ConfigError, match="layers"):
        Encoder(config)(*batch(), layers=layers)


def test_the_conditioner_is_reached_in_all_three_places(config):
    conditioner = _Everything(config)
    encoder = Encoder(config, conditioner=conditioner).eval()
    ids, mask = batch()
    summary = torch.randn(3, 6)
    output = encoder(ids, mask, summary).last_hidden_state
    assert conditioner.calls == ["prepare", "embed", 0, 1, 2]
    assert (output - encoder(ids, mask, PLAIN).last_hidden_state).abs().max() > 1e-3
    assert (output - encoder(ids, mask, summary + 1).last_hidden_state).abs().max() > 1e-3


def test_the_conditioner_sees_word_embeddings_before_positions_and_norm(config):
    seen = []

    class Look(Conditioner):
        def prepare(self, structure):
            return structure

        def embed(self, embeddings, state):
            seen.append(embeddings)
            return embeddings

        def terms(self, layer, hidden, query, key, state):
            seen.append(hidden)
            return Terms()

    encoder = Encoder(config, conditioner=Look()).eval()
    ids, _ = batch((5, 5, 5))
    encoder(ids, structure=())
    torch.testing.assert_close(seen[0], encoder.embeddings.word_embeddings(ids))
    torch.testing.assert_close(seen[1], encoder.embeddings(ids))


def test_structure_is_neither_forgotten_nor_ignored(config):
    ids, mask = batch()
    with pytest.raises(InputError, match="no structure for KVPrefix"):
        Encoder(config, conditioner=KVPrefix(4, 16, 2, 3))(ids, mask)
    with pytest.raises(ConfigError, match="without a conditioner"):
        Encoder(config)(ids, mask, torch.zeros(3, 4))


def test_plain_and_a_neutral_decay_are_the_encoder_without_a_conditioner(config):
    encoder = Encoder(config).eval()
    ids, mask = batch()
    expected = encoder(ids, mask).last_hidden_state

    class Neutral(Conditioner):
        def prepare(self, structure):
            return Decay(torch.ones(1, 1, 5, 5), "scores")

        def terms(self, layer, hidden, query, key, state):
            return Terms(decay=state)

    encoder.conditioner = Neutral()
    torch.testing.assert_close(encoder(ids, mask, ()).last_hidden_state, expected, atol=1e-5, rtol=0)
    torch.testing.assert_close(encoder(ids, mask, PLAIN).last_hidden_state, expected, atol=0, rtol=0)


def test_no_prefix_tokens_is_plain(config):
    class Empty(Conditioner):
        def prepare(self, structure):
            return None

        def terms(self, layer, hidden, query, key, state):
            nothing = query.new_empty(*query.shape[:2], 0, query.shape[3])
            return Terms(prefix=Prefix(nothing, nothing))

    encoder = Encoder(config).eval()
    ids, mask = batch()
    expected = encoder(ids, mask).last_hidden_state
    encoder.conditioner = Empty()
    torch.testing.assert_close(
        encoder(ids, mask, ()).last_hidden_state[mask], expected[mask], atol=1e-5, rtol=0
    )


@pytest.mark.parametrize("position", POSITIONS)
def test_a_causal_mask_hides_the_future(position):
    encoder = Encoder(small(position=position)).eval()
    ids, _ = batch((5, 5, 5))
    causal = torch.ones(1, 1, 5, 5, dtype=torch.bool).tril()
    changed = ids.clone()
    changed[:, 3:] = (changed[:, 3:] + 7) % 40
    first, second = (encoder(x, mask=causal).last_hidden_state for x in (ids, changed))
    torch.testing.assert_close(first[:, :3], second[:, :3], atol=1e-6, rtol=0)
    assert (first[:, 3:] - second[:, 3:]).abs().max() > 1e-3


def test_one_way_attention_hides_leaves_from_roots(config):
    encoder = Encoder(config).eval()
    ids, _ = batch((5, 5, 5))
    leaf = torch.tensor([False, False, False, True, True])
    one_way = (leaf[:, None] | ~leaf[None, :])[None, None].expand(3, 2, 5, 5)
    changed = ids.clone()
    changed[:, 3:] = (changed[:, 3:] + 7) % 40
    first, second = (encoder(x, mask=one_way).last_hidden_state for x in (ids, changed))
    torch.testing.assert_close(first[:, ~leaf], second[:, ~leaf], atol=1e-6, rtol=0)
    changed[:, 0] = (ids[:, 0] + 7) % 40
    third = encoder(changed, mask=one_way).last_hidden_state
    assert (second[:, leaf] - third[:, leaf]).abs().max() > 1e-3


def test_positions_are_counted_as_each_family_does():
    ids = torch.tensor([[7, 8, 1, 1]])
    bert = Encoder(small(pad_token_id=1)).eval()
    roberta = Encoder(small(pad_token_id=1, position_offset=2)).eval()
    for encoder, positions in ((bert, [[0, 1, 2, 3]]), (roberta, [[2, 3, 1, 1]])):
        counted = encoder(ids).last_hidden_state
        given_ = encoder(ids, position_ids=torch.tensor(positions)).last_hidden_state
        torch.testing.assert_close(counted, given_, atol=0, rtol=0)


def test_one_row_of_positions_serves_the_whole_batch():
    for position in ("absolute", "rotary"):
        encoder = Encoder(small(position=position)).eval()
        ids, mask = batch()
        one = torch.tensor([[4, 2, 0, 1, 9]])
        single = encoder(ids, mask, position_ids=one).last_hidden_state
        each = encoder(ids, mask, position_ids=one.repeat(3, 1)).last_hidden_state
        torch.testing.assert_close(single, each, atol=1e-6, rtol=0)


def test_rotary_positions_matter_only_by_their_distance():
    encoder = Encoder(small(position="rotary")).eval()
    ids, _ = batch((5, 5, 5))
    here = encoder(ids, position_ids=torch.arange(5)[None]).last_hidden_state
    there = encoder(ids, position_ids=torch.arange(5)[None] + 1000).last_hidden_state
    turned = encoder(ids, position_ids=torch.arange(5).flip(0)[None]).last_hidden_state
    torch.testing.assert_close(here, there, atol=2e-4, rtol=0)
    assert (here - turned).abs().max() > 1e-2


def test_without_positions_the_encoder_cannot_tell_reversed_text():
    encoder = Encoder(small(position="none")).eval()
    ids, _ = batch((5, 5, 5))
    assert encoder.embeddings.position_embeddings is None
    forwards = encoder(ids).last_hidden_state
    torch.testing.assert_close(encoder(ids.flip(1)).last_hidden_state.flip(1), forwards, atol=2e-5, rtol=0)


def test_no_types_are_zero_types(config):
    encoder = Encoder(config).eval()
    ids, mask = batch()
    zero = encoder(TokenInputs(ids, torch.zeros_like(ids)), mask).last_hidden_state
    one = encoder(TokenInputs(ids, torch.ones_like(ids)), mask).last_hidden_state
    torch.testing.assert_close(encoder(ids, mask).last_hidden_state, zero, atol=1e-6, rtol=0)
    assert (zero - one).abs().max() > 1e-2


def test_another_embedding_brick(config):
    class Slots(Embeddings):
        """A token is the mean of its slots."""

        def __init__(self):
            super().__init__()
            self.table = nn.Embedding(20, 16)

        def words(self, inputs):
            return self.table(inputs).mean(dim=2)

        def assemble(self, words, inputs, position_ids):
            return words

    encoder = Encoder(config, embeddings=Slots(), conditioner=_Everything(config))
    slots = torch.randint(0, 20, (2, 4, 3))
    output = encoder(slots, structure=torch.randn(2, 6)).last_hidden_state
    assert output.shape == (2, 4, 16)
    # A plain sum is that of the last norm's biases, whatever came in.
    (output * torch.randn_like(output)).sum().backward()
    assert encoder.embeddings.table.weight.grad.abs().max() > 0


@pytest.mark.parametrize("path", PATHS)
def test_every_path_computes_the_same(config, path):
    encoder = Encoder(config, conditioner=_Everything(config)).eval()
    ids, mask = batch()
    summary = torch.randn(3, 6)
    truth = encoder.double()(ids, mask, summary.double(), path="reference").last_hidden_state
    found = encoder.float()(ids, mask, summary, path=path).last_hidden_state
    torch.testing.assert_close(found[mask], truth[mask].float(), atol=3e-5, rtol=0)


def test_maps_only_where_asked_for(config):
    encoder = Encoder(config, conditioner=_Everything(config)).eval()
    ids, mask = batch()
    summary = torch.randn(3, 6)
    plain = encoder(ids, mask, summary)
    assert plain.maps is None
    assert plain.prefix_weights is None
    maps = encoder(ids, mask, summary, need_maps=True)
    column = encoder(ids, mask, summary, need_maps="prefix")
    assert [tuple(part.weights.shape) for part in maps.maps] == [(3, 2, 5, 7)] * 3
    assert all(part.weights is None for part in column.maps)
    assert column.prefix_weights.shape == (3, 3, 2, 5)
    torch.testing.assert_close(column.prefix_weights, maps.prefix_weights, atol=1e-5, rtol=0)
    by_hand = torch.stack([part.weights[..., :2].sum(-1) for part in maps.maps])
    torch.testing.assert_close(maps.prefix_weights, by_hand, atol=1e-6, rtol=0)
    for output in (maps, column):
        torch.testing.assert_close(output.last_hidden_state, plain.last_hidden_state, atol=1e-5, rtol=0)
    assert Encoder(config)(ids, mask, need_maps="prefix").prefix_weights is None


@pytest.mark.parametrize("train", [False, True])
@pytest.mark.parametrize("path", PATHS)
def test_gradients_reach_every_parameter(path, train):
    config = small(hidden_dropout_prob=0.1, attention_probs_dropout_prob=0.1)
    prefix = KVPrefix(6, 16, 2, 3)
    for projection in prefix.graph_to_v:
        nn.init.normal_(projection.weight)
    encoder = Encoder(config, conditioner=Stack([prefix, DistanceDecay(2, 4, mode="weights")])).train(train)
    ids, mask = batch()
    distances = torch.randint(0, 5, (3, 5, 5))
    summary = torch.randn(3, 6, requires_grad=True)
    types = TokenInputs(ids, torch.randint(0, 2, ids.shape))
    output = encoder(types, mask, (summary, distances), path=path).last_hidden_state
    (output * torch.randn_like(output))[mask].sum().backward()
    without = [
        name
        for name, parameter in encoder.named_parameters()
        if parameter.grad is None or not parameter.grad.any()
    ]
    # With a prefix even a key's bias has a gradient: it shifts the tokens' scores against the prefix's.
    assert without == []
    assert summary.grad.any()


def test_without_a_prefix_only_the_key_biases_have_no_gradient():
    # A key's bias adds the same number to every score of a row, which a softmax does not see.
    encoder = Encoder(small()).double()
    ids, mask = batch()
    output = encoder(TokenInputs(ids, torch.randint(0, 2, ids.shape)), mask).last_hidden_state
    (output * torch.randn_like(output))[mask].sum().backward()
    tiny = {name for name, parameter in encoder.named_parameters() if parameter.grad.abs().max() < 1e-12}
    assert tiny == {f"layers.{layer}.attention.key.bias" for layer in range(3)}


def test_dropout_acts_in_training_only():
    config = small(hidden_dropout_prob=0.5, attention_probs_dropout_prob=0.0)
    for changed in (
        config,
        dataclasses.replace(config, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.5),
    ):
        encoder = Encoder(changed)
        ids, mask = batch()
        encoder.eval()
        assert torch.equal(encoder(ids, mask).last_hidden_state, encoder(ids, mask).last_hidden_state)
        encoder.train()
        assert not torch.equal(encoder(ids, mask).last_hidden_state, encoder(ids, mask).last_hidden_state)


def test_initial_weights_have_the_asked_for_spread():
    encoder = Encoder(small(hidden_size=64, intermediate_size=256, vocab_size=500, initializer_range=0.05))
    for name, parameter in encoder.named_parameters():
        if "norm" in name:
            assert torch.all(parameter == (1.0 if name.endswith("weight") else 0.0)), name
        elif name.endswith("bias"):
            assert not parameter.any(), name
        elif parameter.numel() > 1000:
            assert parameter.std().item() == pytest.approx(0.05, rel=0.1), name


def test_both_parts_of_a_layer_drop_out():
    shape = EncoderConfig(
        vocab_size=10,
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        hidden_dropout_prob=0.5,
    )
    for attended, of_output in ((1.0, 0.0), (0.0, 1.0)):
        layer = EncoderLayer(shape)
        nn.init.normal_(layer.output.weight, std=of_output)
        x = torch.randn(4, 16)
        dropped, kept = (layer.train(mode).after_attention(x, attended * x) for mode in (True, False))
        assert not torch.allclose(dropped, kept)


def test_a_new_relative_bias_starts_as_small_as_all_else():
    config = small(hidden_size=32, num_attention_heads=16, relative_buckets=32)
    spread = Encoder(config).relative.bias.weight.std()
    assert 0.8 * config.initializer_range < spread < 1.2 * config.initializer_range


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("largest", [1.0, 14.0])
def test_a_relative_bias_in_half_precision_has_room(dtype, largest):
    encoder = Encoder(small(relative_buckets=32, type_vocab_size=0)).eval()
    with torch.no_grad():
        weight = encoder.relative.bias.weight
        weight.copy_(torch.linspace(largest, -largest, weight.numel()).view_as(weight))
    ids, mask = batch()
    exact = encoder(ids, mask).last_hidden_state
    half = encoder.to(dtype)(ids, mask).last_hidden_state
    assert half.dtype == dtype
    assert ((half - exact)[mask].norm() / exact[mask].norm()) < 2e-2

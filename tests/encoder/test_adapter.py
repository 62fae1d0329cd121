"""Prefix and decay inside transformers' own models, and every way in which they could be ignored."""

import builtins
import logging

import pytest
import torch
import transformers

from weft.condition.conditioner import Conditioner, Stack
from weft.condition.decay import DistanceDecay
from weft.condition.prefix import KVPrefix
from weft.encoder import load_pretrained
from weft.encoder.adapter import NAME, TransformersAdapter
from weft.errors import ConfigError, InputError, MissingExtraError

transformers.logging.disable_progress_bar()
transformers.logging.set_verbosity(logging.ERROR)

SIZES = {
    "vocab_size": 40,
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 24,
    "max_position_embeddings": 16,
    "initializer_range": 0.3,
    "hidden_dropout_prob": 0.0,
    "attention_probs_dropout_prob": 0.0,
}
IDS = torch.tensor([[3, 4, 5, 6], [7, 8, 0, 0]])
MASK = IDS != 0
SUMMARY = torch.randn(2, 6, generator=torch.Generator().manual_seed(1))
DISTANCES = torch.tensor([[0, 1, 2, 3], [1, 0, 1, 2], [2, 1, 0, 1], [3, 2, 1, 0]]).expand(2, 4, 4)


def bert(kind="Model", **changes):
    return getattr(transformers, f"Bert{kind}")(transformers.BertConfig(**{**SIZES, **changes}))


def prefix():
    conditioner = KVPrefix(6, 16, 2, 2)
    for projection in conditioner.graph_to_v:
        torch.nn.init.normal_(projection.weight)
    return conditioner


def both(mode="weights"):
    return Stack([prefix(), DistanceDecay(2, 3, mode=mode)])


@pytest.mark.parametrize("train", [False, True])
@pytest.mark.parametrize("mode", ["weights", "scores"])
def test_it_computes_what_the_encoder_computes(tmp_path, mode, train):
    model, conditioner = bert(), both(mode)
    model.save_pretrained(tmp_path)
    ours = load_pretrained(tmp_path).encoder.train(train)
    ours.conditioner = conditioner
    adapter = TransformersAdapter(model, conditioner).train(train)
    structure = (SUMMARY, DISTANCES)
    found = adapter(IDS, MASK.long(), structure).last_hidden_state
    expected = ours(IDS, MASK, structure).last_hidden_state
    torch.testing.assert_close(found[MASK], expected[MASK], atol=1e-5, rtol=0)
    found[MASK].square().sum().backward()
    assert all(parameter.grad.any() for parameter in conditioner.parameters())


def test_padding_is_masked():
    # Without a mask function of its own, a registered implementation is handed no mask.
    adapter = TransformersAdapter(bert(), both()).eval()
    other = IDS.masked_fill(~MASK, 9)
    first, second = (
        adapter(ids, MASK.long(), (SUMMARY, DISTANCES)).last_hidden_state for ids in (IDS, other)
    )
    torch.testing.assert_close(first[MASK], second[MASK], atol=1e-6, rtol=0)


def test_a_head_and_roberta():
    labelled = TransformersAdapter(bert("ForSequenceClassification"), prefix())
    output = labelled(IDS, MASK.long(), SUMMARY, labels=torch.tensor([0, 1]))
    output.loss.backward()
    assert all(projection.weight.grad.any() for projection in labelled.conditioner.graph_to_v)
    config = transformers.RobertaConfig(**SIZES, pad_token_id=1)
    adapter = TransformersAdapter(transformers.RobertaModel(config), prefix()).eval()
    first, second = (
        adapter(IDS, MASK.long(), summary).last_hidden_state for summary in (SUMMARY, SUMMARY + 1)
    )
    assert (first - second).abs().max() > 1e-3


def test_a_reload_with_the_default_implementation_is_forced_back(tmp_path):
    adapter = TransformersAdapter(bert(), prefix()).eval()
    expected = adapter(IDS, MASK.long(), SUMMARY).last_hidden_state
    adapter.model.save_pretrained(tmp_path)
    reloaded = transformers.BertModel.from_pretrained(tmp_path).eval()
    assert reloaded.config._attn_implementation != NAME  # the trap: it would run, without the structure
    again = TransformersAdapter(reloaded, adapter.conditioner)
    assert torch.equal(again(IDS, MASK.long(), SUMMARY).last_hidden_state, expected)


@pytest.mark.parametrize("name", ["sdpa", "eager"])
def test_a_changed_implementation_is_refused(name):
    adapter = TransformersAdapter(bert(), prefix())
    adapter.model.set_attn_implementation(name)
    with pytest.raises(ConfigError, match=f"implementation '{name}', which ignores the structure"):
        adapter(IDS, MASK.long(), SUMMARY)


def test_a_model_that_was_put_in_by_a_reload_is_refused(tmp_path):
    adapter = TransformersAdapter(bert(), prefix())
    adapter.model.save_pretrained(tmp_path)
    adapter.model = transformers.BertModel.from_pretrained(tmp_path)
    with pytest.raises(ConfigError, match="ignores the structure"):
        adapter(IDS, MASK.long(), SUMMARY)


def test_a_layer_that_runs_without_the_structure_is_noticed():
    adapter = TransformersAdapter(bert(), prefix())
    adapter.model.encoder.layer[1].attention.self.forward = lambda hidden, *rest, **named: (hidden, None)
    with pytest.raises(ConfigError, match="1 of 2 layers ran without the structure"):
        adapter(IDS, MASK.long(), SUMMARY)


def test_maps_that_nobody_keeps_are_refused():
    adapter = TransformersAdapter(bert(), prefix())
    with pytest.raises(ConfigError, match="whose attention keeps no maps"):
        adapter(IDS, MASK, SUMMARY, output_attentions=True)


def test_the_model_alone_is_refused():
    adapter = TransformersAdapter(bert(), prefix())
    with pytest.raises(ConfigError, match="outside its adapter, without structure"):
        adapter.model(IDS, MASK.long())
    with pytest.raises(InputError, match="no structure for KVPrefix"):
        adapter(IDS, MASK.long())


def test_what_the_interface_cannot_carry_is_refused():
    class ReadsHidden(Conditioner):
        def prepare(self, structure):
            return structure

    with pytest.raises(ConfigError, match="ReadsHidden in a transformers model"):
        TransformersAdapter(bert(), Stack([prefix(), ReadsHidden()]))
    with pytest.raises(ConfigError, match="the model is a decoder"):
        TransformersAdapter(bert("LMHeadModel", is_decoder=True), prefix())
    with pytest.raises(ConfigError, match="model_type is 'distilbert'; it must be one of bert, roberta"):
        TransformersAdapter(
            transformers.DistilBertModel(transformers.DistilBertConfig(dim=16, n_heads=2)), prefix()
        )


def test_without_transformers_it_says_what_to_install(monkeypatch):
    real = builtins.__import__

    def absent(name, *arguments, **named):
        if name.split(".")[0] == "transformers":
            raise ImportError(name)
        return real(name, *arguments, **named)

    model = bert()
    monkeypatch.setattr(builtins, "__import__", absent)
    with pytest.raises(MissingExtraError, match=r"pip install '\.\[transformers\]'"):
        TransformersAdapter(model, prefix())

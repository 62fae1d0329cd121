import re
import time

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from weft.absa.config import ModelOptions
from weft.absa.model.context_gate import ContextGate
from weft.absa.model.context_pooling import ContextBlock, PlainPooling, TargetDistance
from weft.absa.records import Context, Sentence
from weft.absa.use.store import load, save
from weft.absa.use.windows import cut_windows, with_words
from weft.attention import attend
from weft.condition.quasi import QuasiConfig, QuasiStructure
from weft.encoder.layer import EncoderLayer
from weft.errors import ConfigError

TEXT = "LOCATION1 is cheap but LOCATION2 is not very safe"
CONTEXTS = tuple(
    Context(aspect, target) for target in ("LOCATION1", "LOCATION2") for aspect in ("price", "safety")
)
SHAPES = [
    {},
    {"target_layers": 2},
    {"pooler_blocks": 2, "target_distance": False},
    {"target_mark": False, "similarity_layers": -1, "frozen_layers": -1},
    {"frozen_layers": 1, "similarity_layers": 2},
    {"pooler_blocks": 0},
    {
        "pooler_blocks": 0,
        "open_aspects": True,
        "similarity_layers": 2,
        "aspect_dropout": 0.0,
        "target_layers": 1,
    },
]


def test_a_block_equals_a_loop(shape):
    layer = EncoderLayer(shape).eval()
    block = ContextBlock(layer).eval()
    context, text = torch.randn(2, 3, 16), torch.randn(2, 5, 16)
    mask = torch.tensor([[True] * 5, [True, True, True, False, False]])
    factor = torch.rand(2, 4, 3, 5) + 0.5
    found, maps = block(context, text, mask, factor, need_maps=True)
    attention = layer.attention
    width = 4
    for view in range(2):
        for slot in range(3):
            x = context[view, slot]
            seen = [x, *(text[view, j] for j in range(5) if mask[view, j])]
            parts = []
            for head in range(4):
                rows = slice(head * width, (head + 1) * width)
                q = attention.query(x)[rows]
                scores = torch.stack([q @ attention.key(s)[rows] / width**0.5 for s in seen])
                F_j = torch.cat([torch.ones(1), factor[view, head, slot][mask[view]]])
                weights = torch.exp(scores) * F_j / (torch.exp(scores) * F_j).sum()
                parts.append(sum(w * attention.value(s)[rows] for w, s in zip(weights, seen, strict=True)))
                assert torch.allclose(maps.weights[view, head, slot, slot], weights[0], atol=1e-6)
                text_weights = maps.weights[view, head, slot, 3:][mask[view]]
                assert torch.allclose(text_weights, weights[1:], atol=1e-6)
            y = layer.attention_norm(x + attention.output(torch.cat(parts)))
            expected = layer.output_norm(y + layer.output(F.gelu(layer.intermediate(y))))
            assert torch.allclose(found[view, slot], expected, atol=1e-5)


def test_plain_pooling_equals_a_loop(shape):
    pooling = PlainPooling(shape, 0.5).eval()
    context, text = torch.randn(2, 3, 16), torch.randn(2, 5, 16)
    mask = torch.tensor([[True] * 5, [True, True, True, False, False]])
    factor = torch.rand(2, 1, 3, 5) + 0.5
    found, maps = pooling(context, text, mask, factor, need_maps=True)
    assert maps.weights.shape == (2, 1, 3, 3 + 5)
    assert not maps.weights[..., :3].any()
    for view in range(2):
        seen = text[view][mask[view]]
        for slot in range(3):
            c = context[view, slot]
            scores = pooling.key(seen) @ pooling.query(c) / 16**0.5
            weights = torch.exp(scores) * factor[view, 0, slot][mask[view]]
            weights = weights / weights.sum()
            assert torch.allclose(maps.weights[view, 0, slot, 3:][mask[view]], weights, atol=1e-6)
            state = pooling.dense(torch.cat([weights @ seen, c]))
            assert torch.allclose(found[view, slot], F.gelu(state), atol=1e-5)
    without, nothing = pooling(context, text, mask)
    assert nothing is None
    assert not torch.allclose(without, found, atol=1e-3)
    pooling.train()
    assert not torch.allclose(pooling(context, text, mask, factor)[0], found, atol=1e-3)


def test_target_distance_by_hand():
    distance = TargetDistance(2)
    torch.nn.init.normal_(distance.bias.weight)
    target = torch.zeros(3, 30, dtype=torch.bool)
    target[0, [4, 5]] = True
    target[1, [0, 29]] = True
    found = distance(target)
    assert found.shape == (3, 2, 1, 30)
    assert not found[2].any()
    buckets = [0, 1, 2, 3, 3, 4, 4, 4, 4, *[5] * 8]
    for view, places in ((0, [4, 5]), (1, [0, 29])):
        for j in range(30):
            before = min((j - p for p in places if p <= j), default=99)
            after = min((p - j for p in places if p >= j), default=99)
            nearest = min(before, after)
            bucket = buckets[nearest] if nearest < len(buckets) else 6
            row = distance.bias.weight[bucket + 7 * (before <= after)]
            assert torch.equal(found[view, :, 0, j], row)


@pytest.mark.parametrize("options", SHAPES)
def test_company_changes_nothing(make, options):
    """A question's answer does not depend on the batch, the other questions, or padding."""
    asker = make(**options)
    others = [
        Sentence("quiet " * 9, (Context("quiet"), Context("price")), ()),
        Sentence("a", (Context("green"),), ()),
    ]
    together = asker.answer([others[0], Sentence(TEXT, CONTEXTS), others[1]])[1]
    for number, context in enumerate(CONTEXTS):
        alone = asker.answer([Sentence(TEXT, (context,))])[0][0]
        assert np.allclose(together[number], alone, atol=1e-5)
    backwards = asker.answer([Sentence(TEXT, CONTEXTS[::-1])])[0][::-1]
    assert np.allclose(together, backwards, atol=1e-5)
    assert np.allclose(together.sum(axis=1), 1)


@pytest.mark.parametrize("kind", ["weft-absa", "pair", "qacg", "qacg-official", "cg"])
def test_every_kind_listens_to_target_and_aspect(make, kind):
    rows = make(kind).answer([Sentence(TEXT, CONTEXTS)])[0]
    assert rows.shape == (4, 3)
    for first in range(4):
        for second in range(first):
            assert np.abs(rows[first] - rows[second]).max() > 1e-5


@pytest.mark.parametrize("kind", ["weft-absa", "pair", "qacg", "qacg-official", "cg"])
@pytest.mark.parametrize("training", [True, False])
def test_every_trainable_parameter_gets_a_gradient(make, kind, training):
    asker = make(kind, dropout=0.1 if training else 0.0, aspect_dropout=0.5)
    asker.module.train(training)
    sentences = [
        Sentence(
            TEXT, (*CONTEXTS, Context("green", "LOCATION1"))[: 5 if kind in ("weft-absa", "qacg") else 4]
        ),
        Sentence("LOCATION2 is safe " + "but quiet " * 10, CONTEXTS[2:]),
        *(
            [Sentence("the rent is bad", (Context("price"),))]
            if kind in ("weft-absa", "qacg", "pair")
            else []
        ),
    ]
    torch.manual_seed(1)
    loss = sum(asker.module(asker.represent(sentences)).logits.square().mean() for _ in range(8))
    loss.backward()
    silent = [
        name
        for name, parameter in asker.module.named_parameters()
        if parameter.requires_grad and (parameter.grad is None or not parameter.grad.any())
    ]
    # A key bias shifts all scores of a query alike. qacg has no unseen aspects, and reads a text's own
    # states of type 0 only; official contexts that were not asked about have no gradient rows, but a tensor.
    excused = ("key.bias", "unseen_aspect") if kind == "qacg" else ("key.bias",)
    assert [name for name in silent if not name.endswith(excused)] == []
    assert all(torch.isfinite(p.grad).all() for p in asker.module.parameters() if p.grad is not None)


def test_frozen_parts_stay(make):
    asker = make(frozen_layers=1, similarity_layers=2, dropout=0.5)
    module = asker.module.train()
    frozen = {name for name, parameter in module.named_parameters() if not parameter.requires_grad}
    assert any(name.startswith("anchor.0.") for name in frozen)
    assert any(name.startswith("encoder.embeddings.") for name in frozen)
    assert all(
        name.startswith(("anchor.", "encoder.embeddings.", "encoder.layers.0.", "similarity_head."))
        for name in frozen
    )
    assert not module.anchor.training
    assert not module.encoder.layers[0].training
    assert module.encoder.layers[1].training


def test_an_unseen_aspect_is_asked_through_similarity(make):
    asker = make()
    seen, unseen = Context("price"), Context("green nature")
    text = "the rent is bad in green nature"
    before = asker.predict([text], [seen, unseen])[0]
    asker.module.similarity_head.weight.data += 3.0
    after = asker.predict([text], [seen, unseen])[0]
    assert np.allclose(before[0], after[0])
    assert after[1, 0] < before[1, 0]


def test_open_aspects_are_words_known_or_not(make):
    """No aspect is unseen; each is read by frozen layers, in training once, and every free parameter is trained."""
    asker = make(open_aspects=True, aspect_dropout=0.0, frozen_layers=1, similarity_layers=2)
    first, second = asker.predict(["the rent is bad"], ["green", "nature"])[0]
    assert not np.allclose(first, second)
    asker.module.similarity_head.weight.data += 3.0
    moved = asker.predict(["the rent is bad"], ["green", "price"])[0]
    assert moved[0, 0] < first[0]
    batch = asker.represent([Sentence(TEXT, (*CONTEXTS, Context("green", "LOCATION1"), Context("green")))])
    answered = asker.logits(batch)
    module = asker.module.train()
    for _ in range(2):
        assert torch.allclose(module(batch).logits, answered, atol=1e-5)
    assert len(module._told) == len(batch.aspect_ids)
    module(batch).logits.square().mean().backward()
    silent = {
        name
        for name, p in module.named_parameters()
        if p.requires_grad and (p.grad is None or not p.grad.any())
    }
    assert {name for name in silent if not name.endswith("key.bias")} == {"context.unseen_aspect"}


@pytest.mark.parametrize("wrong", [{"similarity_layers": -1}, {"aspect_dropout": 0.5}])
def test_open_aspects_need_frozen_layers_and_know_no_unseen(wrong):
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        ModelOptions(**{"open_aspects": True, "aspect_dropout": 0.0, **wrong})


def test_no_opinion_from_a_null_context_path(make):
    """With the learnt vectors alone, two unseen aspects are told apart by nothing but the frozen layers."""
    asker = make(similarity_layers=-1)
    first, second = asker.predict(["the rent is bad"], ["green", "nature"])[0]
    assert np.allclose(first, second)
    first, second = make().predict(["the rent is bad"], ["green", "nature"])[0]
    assert not np.allclose(first, second)


def test_a_long_text_speaks_through_its_most_telling_window(make):
    asker = make()
    filler, word = "the " * 60, "LOCATION1 is not safe"
    long = filler + word + " . " + filler
    context = Context("safety", "LOCATION1")
    windows = [window for _, window in asker._placed(Sentence(long, (context,)))]
    assert len(windows) > 3
    assert {window.text in long for window in windows} == {True}
    mentioning = [window for window in windows if "LOCATION1" in window.text]
    candidates = np.concatenate(asker.answer(mentioning))
    found = asker.predict([long], [context])[0, 0]
    assert np.allclose(found, candidates[candidates[:, 0].argmin()], atol=1e-6)
    (heard,) = asker.hear([Sentence(long, (context, Context("price")))])
    told = [bool(np.isfinite(row).all()) for row in heard.parts[:, 0]]
    assert told == ["LOCATION1" in window.text for window in windows]
    assert np.isfinite(heard.parts[:, 1]).all()
    assert heard.most(0, 1) == pytest.approx(candidates[:, 1].max(), abs=1e-6)
    assert asker.hear([Sentence(word, (context,))])[0].parts is None


def test_a_long_text_of_which_no_window_shows_anything_is_answered(make):
    """What can be seen of it has no piece of its own."""
    for text in ("\ufffc " * 300 + "\u0301", "\u0301" + "\ufffc " * 300):
        found = make().predict([text], ["price"])
        assert np.isfinite(found).all()
    assert with_words("a  b\u0301", [(0, 1), (3, 4)]) == [(0, 1), (3, 4)]
    assert with_words("  \u0301  ", [(0, 1), (4, 5)]) == [(0, 4)]


def test_windows_keep_sentences_whole(make):
    """A window that names the target holds the sentence that names it, and no half of another's."""
    asker = make()
    said = ["LOCATION1 is cheap and quiet .", *["the rent is bad in it ."] * 7, "LOCATION2 is not safe ."] * 3
    long = " ".join(said)
    windows = [
        window.text.strip() for _, window in asker._placed(Sentence(long, (Context("safety", "LOCATION1"),)))
    ]
    assert len(windows) > 3
    assert all(window.endswith(".") and window.startswith(("LOCATION", "the rent")) for window in windows)
    joined = windows[0]
    for window in windows[1:]:
        shared = max(size for size in range(len(window) + 1) if joined.endswith(window[:size]))
        joined = joined + ("" if shared else " ") + window[shared:]
    assert joined.count("LOCATION2 is not safe .") == 3
    assert joined.endswith(said[-1])
    assert [last - first for first, last in cut_windows("a " * 50, [(i, i + 1) for i in range(50)], 20)] == [
        20,
        20,
        20,
    ]


def test_cutting_takes_time_in_proportion_to_the_text():
    """It takes a tenth of a second; looking through all sentences for each window took ten."""
    said = "It is so so and not ok. "
    text = said * 8_000
    offsets = [match.span() for match in re.finditer(r"\w+|\.", text)]
    begun = time.process_time()
    windows = cut_windows(text, offsets, 20)
    assert time.process_time() - begun < 4
    assert all(text[offsets[first][0] :].startswith("It is") for first, _ in windows)
    assert {last - first for first, last in windows} == {16}


def test_maps_are_given_when_asked_for(make):
    for kind, layers in (("weft-absa", 1), ("pair", 3), ("qacg", 2), ("qacg-official", 3), ("cg", 3)):
        asker = make(kind)
        batch = asker.represent([Sentence(TEXT, CONTEXTS)])
        answer = asker.module(batch, need_maps=True)
        assert len(answer.maps) == layers
        assert asker.module(batch).maps == ()
        assert torch.allclose(answer.logits, asker.module(batch).logits, atol=1e-5)
        if kind.startswith("qacg"):
            assert all(maps.quasi is not None for maps in answer.maps)


@pytest.mark.parametrize(("size", "autocast"), [(1.0, False), (30.0, False), (100.0, True)])
def test_a_context_however_large_gates_and_stays_finite(size, autocast):
    """Changes of the scores beyond e^88, the end of floats: still the softmax of the gated scores, with gradients."""
    torch.manual_seed(0)
    gate = ContextGate(QuasiConfig(hidden_size=32, num_heads=2, num_layers=1, first_layer=0, dropout=0.0))
    hidden, context = torch.randn(2, 5, 32), (size * torch.randn(2, 32)).requires_grad_()
    query, key, value = (torch.randn(2, 2, 5, 16).requires_grad_() for _ in range(3))
    with torch.no_grad():
        for part in (gate.layers[0].context_query, gate.layers[0].context_key):
            part.weight.copy_(torch.randn(32, 32) / 6)
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=autocast):
        terms = gate.terms(0, hidden, query, key, QuasiStructure(context))
        output, _ = attend(query, key, value, terms=terms)
        context_query, context_key, share_query, share_key = gate.layers[0](hidden, context, query, key)
    scores = torch.lerp(query, context_query.float(), share_query.float()[..., None]) @ (
        torch.lerp(key, context_key.float(), share_key.float()[..., None]).transpose(-1, -2)
    )
    assert scores.abs().max() / 4 > {1.0: 0, 30.0: 89, 100.0: 1000}[size]
    expected = torch.softmax(scores / 4, dim=-1) @ value
    assert torch.isfinite(terms.decay.factor).all()
    assert terms.decay.factor.min() > 0
    if size < 100:
        assert torch.allclose(output, expected, atol=2e-4)
    output.square().sum().backward()
    for tensor in (query, key, value, context):
        assert torch.isfinite(tensor.grad).all()


def test_a_half_open_start_reads_the_mean_of_context_and_state(make):
    """C = W_c·[E_c ; h] + E_c; the open one has h + 2·E_c."""
    context, hidden = torch.randn(2, 5, 16, generator=torch.Generator().manual_seed(0))
    for start, expected in (("half", (context + hidden) / 2), ("open", hidden + 2 * context)):
        for own in make("qacg", quasi_start=start).module.encoder.conditioner.layers:
            read = torch.cat([context, hidden], dim=-1) @ own.context_layer.weight.T + context
            torch.testing.assert_close(read, expected)


def test_an_open_start_begins_with_the_encoder_s_own_maps_and_is_stored(make, tmp_path):
    asker = make("qacg", quasi_start="open")
    encoder = asker.module.encoder
    for layer, own in zip(encoder.layers[1:], encoder.conditioner.layers, strict=True):
        assert torch.equal(own.context_query.weight, layer.attention.query.weight)
        assert torch.equal(own.context_key.weight, layer.attention.key.weight)
        assert torch.equal(own.lambda_key.bias, torch.tensor([-1.0]))
    save(tmp_path / "model", asker)
    again = load(tmp_path / "model")
    assert again.config.options.quasi_start == "open"
    sentences = [Sentence(TEXT, CONTEXTS)]
    assert np.allclose(again.answer(sentences)[0], asker.answer(sentences)[0], atol=1e-6)
    for kind in ("weft-absa", "pair", "qacg-official", "cg"):
        with pytest.raises(ConfigError, match="quasi_start is 'open'; it must be 'published' for"):
            make(kind, quasi_start="open")

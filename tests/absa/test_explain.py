import itertools
import json
from dataclasses import replace
from itertools import combinations, permutations
from math import comb

import numpy as np
import pytest
import torch
from tests.platform.pages import EVIL, Page

from weft.absa.explain import occlusion
from weft.absa.explain.attribution import attribute, backward_gradient, explain
from weft.absa.explain.deletion import CEILING, deletion_scores
from weft.absa.explain.heatmap import heatmap
from weft.absa.explain.maps import question_maps
from weft.absa.explain.search import search
from weft.absa.explain.shapley import shapley
from weft.absa.records import Context, Corpus, Sentence
from weft.errors import ConfigError, InputError

TEXT = "LOCATION1 is cheap but not very safe"
KINDS = ("weft-absa", "pair", "qacg", "qacg-official", "cg")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "method", ["shapley", "occlusion", "search", "gradient", "integrated", "attention", "quasi"]
)
def test_every_word_is_attributed(make, kind, method):
    asker = make(kind)
    if method == "quasi" and not kind.startswith("qacg"):
        with pytest.raises(
            ConfigError,
            match=r"no quasi-attention \(use one of shapley, occlusion, search, gradient, integrated, attention\)",
        ):
            explain(asker, TEXT, ("LOCATION1", "price"), method=method)
        return
    found = explain(asker, TEXT, ("LOCATION1", "price"), method=method)
    assert [word.text for word in found.words] == TEXT.split()
    assert all(TEXT[word.start : word.end] == word.text for word in found.words)
    assert len({round(word.score, 6) for word in found.words}) > (1 if method == "search" else 3)
    assert found.probabilities[found.polarity] == max(found.probabilities.values())
    assert found.record()["words"][0]["text"] == "LOCATION1"


def test_gradient_times_input_is_a_derivative(make):
    """Stretching a token's embedding changes the log-probability as its attribution says."""
    asker = make()
    batch = asker.represent([Sentence(TEXT, (Context("price", "LOCATION1"),))])
    model = asker.module.double()
    found = attribute(model, batch, 1, "gradient", asker.mask_id)
    embedded = model.embed(batch).detach()
    for token in (1, 4, 7):
        values = []
        for step in (1e-6, -1e-6):
            stretched = embedded.clone()
            stretched[0, token] *= 1 + step
            values.append(torch.log_softmax(model(batch, stretched).logits, dim=-1)[0, 1].item())
        assert (values[0] - values[1]) / 2e-6 == pytest.approx(found[token].item(), abs=1e-6)


def test_the_default_is_what_the_deletion_test_found_for_such_models(make):
    unlike = {"open_aspects": True, "aspect_dropout": 0.0}
    for options, method in (({}, "integrated"), (unlike, "shapley")):
        asker = make(**options)
        found = explain(asker, TEXT, ("LOCATION1", "price"))
        assert found.method == method
        assert found.words == explain(asker, TEXT, ("LOCATION1", "price"), method=method).words


@pytest.mark.parametrize("kind", ["weft-absa", "pair"])
def test_occlusion_of_a_long_text_looks_near_where_runs_change_most(make, kind, monkeypatch):
    """Runs of three tokens, the last one shorter; of the run that changes most the tokens one by one."""
    for name, value in (("LONG", 4), ("RUN", 3), ("_NEAR", 1)):
        monkeypatch.setattr(occlusion, name, value)
    asker = make(kind)
    text = "the rent is dear and the location is bad ."
    batch = asker.represent([Sentence(text, (Context("price"),))])
    model = asker.module.double()
    found = attribute(model, batch, 1, "occlusion", asker.mask_id)
    places = list(range(1, len(asker.representation.pieces(text).ids) - 1))
    assert len(places) % 3

    @torch.no_grad()
    def share(kept):
        ids = batch.input_ids.clone()
        ids[0, [place for place in places if place not in kept]] = asker.mask_id
        return torch.log_softmax(model(replace(batch, input_ids=ids)).logits, dim=-1)[0, 1].item()

    def change(group):
        rest = [place for place in places if place not in group]
        return (share(places) - share(rest) + share(group) - share([])) / 2

    runs = [places[start : start + 3] for start in range(0, len(places), 3)]
    most = max(runs, key=lambda run: abs(change(run)))
    for run in runs:
        for place in run:
            expected = change([place]) if run == most else change(run) / len(run)
            assert found[place].item() == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_shapley_values_of_all_orders(make, kind, monkeypatch):
    """With every order drawn it is the sum over all sets; with few it still adds up to what the whole text brings."""
    asker = make(kind)
    text = "LOCATION1 not safe but"
    batch = asker.represent([Sentence(text, (Context("price", "LOCATION1"),))])
    model = asker.module.double()
    places = range(1, len(asker.representation.pieces(text).ids) - 1)

    @torch.no_grad()
    def share(kept):
        ids = batch.input_ids.clone()
        ids[0, [place for place in places if place not in kept]] = asker.mask_id
        return torch.log_softmax(model(replace(batch, input_ids=ids)).logits, dim=-1)[0, 1].item()

    few = attribute(model, batch, 1, "shapley", asker.mask_id)
    assert few.sum().item() == pytest.approx(share(places) - share([]), abs=1e-9)
    assert torch.equal(few, attribute(model, batch, 1, "shapley", asker.mask_id))
    assert few.count_nonzero() == len(places)

    every = list(permutations(range(len(places))))
    halves = iter([torch.tensor(order) for order in every if order[0] < order[-1]])
    monkeypatch.setattr(torch, "randperm", lambda *_, **__: next(halves))
    found = shapley(model, batch, 1, asker.mask_id, orders=len(every))
    many = len(places)
    for place in places:
        others = [other for other in places if other != place]
        expected = sum(
            (share([*kept, place]) - share(kept)) / (many * comb(many - 1, size))
            for size in range(many)
            for kept in combinations(others, size)
        )
        assert found[place].item() == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_occlusion_one_token_at_a_time(make, kind):
    asker = make(kind)
    batch = asker.represent([Sentence(TEXT, (Context("price", "LOCATION1"),))])
    model = asker.module.double()
    found = attribute(model, batch, 1, "occlusion", asker.mask_id)
    text_length = len(asker.representation.pieces(TEXT).ids)
    assert found.count_nonzero() == text_length - 2  # the marks, and the question of a pair, stay
    assert not found[[0, *range(text_length - 1, len(found))]].any()

    @torch.no_grad()
    def share(kept):
        ids = batch.input_ids.clone()
        for place in range(1, text_length - 1):
            if place not in kept:
                ids[0, place] = asker.mask_id
        return torch.log_softmax(model(replace(batch, input_ids=ids)).logits, dim=-1)[0, 1].item()

    everything = set(range(1, text_length - 1))
    for token in (1, 4):
        beside = share(everything) - share(everything - {token})
        alone = share({token}) - share(set())
        assert found[token].item() == pytest.approx((beside + alone) / 2, abs=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_a_wide_search_finds_the_best_set(make, kind):
    asker = make(kind)
    batch = asker.represent([Sentence(TEXT, (Context("price", "LOCATION1"),))])
    model = asker.module.double()
    inner = range(1, len(asker.representation.pieces(TEXT).ids) - 1)

    @torch.no_grad()
    def left(masked):
        ids = batch.input_ids.clone()
        ids[0, list(masked)] = asker.mask_id
        return torch.log_softmax(model(replace(batch, input_ids=ids)).logits, dim=-1)[0, 1].item()

    best = min(itertools.combinations(inner, 2), key=left)
    found = search(model, batch, 1, asker.mask_id, size=2, beam=100)
    assert tuple(found.nonzero()[:, 0].tolist()) == best
    assert (found[list(best)] > 0).all()
    assert found.sum().item() == pytest.approx(max(left(()) - left(best), 1e-6), rel=1e-5)
    narrow = search(model, batch, 1, asker.mask_id, size=2, beam=1)
    assert left(narrow.nonzero()[:, 0].tolist()) >= left(best) - 1e-12
    short = asker.represent([Sentence("quiet", (Context("price", "LOCATION1"),))])
    assert search(model, short, 1, asker.mask_id).count_nonzero() == 1


def test_integrated_gradients_add_up(make):
    asker = make()
    batch = asker.represent([Sentence(TEXT, (Context("price", "LOCATION1"),))])
    model = asker.module.double()
    found = attribute(model, batch, 2, "integrated", asker.mask_id)
    embedded = model.embed(batch).detach()
    ids = batch.input_ids.clone()
    ids[:, 1:-1] = asker.mask_id
    reference = model.encoder.embeddings(ids).detach()
    ends = [torch.log_softmax(model(batch, e).logits, dim=-1)[0, 2].item() for e in (embedded, reference)]
    assert found.sum().item() == pytest.approx(ends[0] - ends[1], abs=0.02)


@pytest.mark.parametrize("kind", KINDS)
def test_backward_gradient_by_differences(make, kind):
    asker = make(kind)
    contexts = (Context("price", "LOCATION1"), Context("safety", "LOCATION1"))
    batch = asker.represent([Sentence(TEXT, contexts)])
    model = asker.module.double()
    sensitivity = torch.randn(2, 3, dtype=torch.float64)
    found = backward_gradient(model, batch, sensitivity)
    embedded = model.embed(batch).detach()
    assert found.shape == embedded.shape
    direction = torch.randn_like(embedded)
    with torch.no_grad():
        up, down = (
            (model(batch, embedded + step * direction).logits * sensitivity).sum() for step in (1e-6, -1e-6)
        )
    assert ((up - down) / 2e-6).item() == pytest.approx((found * direction).sum().item(), rel=1e-5, abs=1e-7)


def test_the_deletion_test_finds_the_words_that_matter(make):
    """With attributions that are the truth, masking the top words costs more than masking random ones."""
    asker = make()
    corpus = Corpus(
        (Sentence(TEXT + " but the rent is good", (Context("price"),), ("positive",)),) * 6, asker.classes_
    )
    found = deletion_scores(asker, corpus, ("integrated", "gradient", "random"), top=2)
    assert set(found) == {"integrated", "gradient", "random", CEILING}
    assert 1 > found[CEILING] > found["integrated"] > found["random"]
    assert deletion_scores(asker, corpus, ("random",), top=2)["random"] == pytest.approx(found["random"])
    silent = Corpus((Sentence(TEXT, (Context("price"),), ("none",)),), asker.classes_)
    with pytest.raises(InputError, match="no question with an opinion"):
        deletion_scores(asker, silent, ("random",))


def test_a_heat_map_shows_text_as_text(make):
    asker = make()
    text = EVIL.replace("\udc80", "")
    hostile = replace(explain(asker, text, "price"), polarity=EVIL)
    page = heatmap([hostile, explain(asker, TEXT, ("LOCATION1", "safety"), method="attention")])
    read = Page(page)
    assert "script" not in read.tags
    assert text in "".join(read.texts[""])
    assert page.count("<article>") == 2
    assert "LOCATION1 / safety" in page


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("good 👍 … rent", ["good", "👍", "…", "rent"]),
        ("good½ and straße , bad", ["good½", "and", "straße", ",", "bad"]),
        ("not&#39;s &frac12;", ["not", "&#39;", "s", "&frac12;"]),
    ],
)
def test_what_is_read_as_several_tokens_is_shown_once(make, text, words):
    found = explain(make(), text, "price", method="gradient")
    assert [word.text for word in found.words] == words
    assert all(text[word.start : word.end] == word.text for word in found.words)
    batch = make().represent([Sentence(text, (Context("price"),))])
    assert batch.input_ids.shape[1] - 2 > len(words)


def test_explanations_of_long_and_odd_texts(make):
    asker = make()
    assert 0 < len(explain(asker, "quiet " * 100, "price").words) <= asker.config.options.max_length - 2
    assert explain(asker, "日本 😀", "price").words
    with pytest.raises(InputError, match="empty"):
        explain(asker, " ", "price")
    with pytest.raises(InputError, match="polarity 'great'"):
        explain(asker, "a", "price", polarity="great")
    with pytest.raises(ConfigError, match="method is 'magic'"):
        explain(asker, "a", "price", method="magic")
    assert explain(asker, "a", "price", polarity="negative").polarity == "negative"
    assert np.isfinite([word.score for word in explain(asker, "a", "price").words]).all()


LONG = "the transit is good . " * 8 + "LOCATION1 is cheap but not safe . " + "the rent is bad . " * 8


@pytest.mark.parametrize("kind", KINDS)
def test_of_a_long_text_the_window_that_answers_is_explained(make, kind):
    asker = make(kind)
    question = ("LOCATION1", "price")
    found = explain(asker, LONG, question, method="gradient")
    answered = asker.predict([LONG], [question])[0, 0]
    assert list(found.probabilities.values()) == pytest.approx(answered.tolist(), abs=1e-5)
    start, end = found.window
    assert found.is_part
    assert found.text == LONG
    assert 0 < start <= LONG.index("LOCATION1")
    assert LONG.index("safe") < end < len(LONG)
    assert [word.text for word in found.words] == LONG[start:end].split()
    assert all(LONG[word.start : word.end] == word.text for word in found.words)
    assert found.record()["window"] == [start, end]
    assert not explain(asker, TEXT, question, method="gradient").is_part
    assert {"location", "##1", "cheap"} <= set(question_maps(asker, LONG, question).tokens)
    page = Page(heatmap([found]))
    assert LONG in "".join(page.texts[""])


def test_each_question_about_a_long_text_has_its_own_window(make):
    asker = make()
    text = "LOCATION1 is cheap . " + "the rent is good . " * 16 + "LOCATION2 is safe ."
    first, last = (
        explain(asker, text, (name, "price"), method="gradient") for name in ("LOCATION1", "LOCATION2")
    )
    assert first.window[0] == 0
    assert last.window[1] == len(text)
    for found in (first, last):
        contexts = (Context("price", "LOCATION1"), Context("price", "LOCATION2"))
        (heard,) = asker.hear([Sentence(text, contexts)])
        share = heard.of([contexts.index(found.context)]).rows[0]
        assert list(found.probabilities.values()) == pytest.approx(share.tolist(), abs=1e-5)


def test_the_deletion_test_reads_the_window_that_answers(make):
    asker = make()
    one = Sentence(LONG, (Context("price", "LOCATION1"),), ("positive",))
    found = deletion_scores(asker, Corpus((one,), asker.classes_), ("random",))
    answered = asker.predict([LONG], [("LOCATION1", "price")])[0, 0]
    assert found[CEILING] == pytest.approx(answered[asker.classes_.index("positive")], abs=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_maps_are_what_the_model_looked_at(make, kind):
    asker = make(kind)
    found = question_maps(asker, TEXT, ("LOCATION1", "price"))
    assert found.tokens[0] == "[CLS]"
    layer = found.layers[-1]
    heads, queries, keys = layer.weights.shape
    assert heads == asker.config.encoder.num_attention_heads
    torch.testing.assert_close(layer.weights.sum(dim=-1), torch.ones(heads, queries))
    if kind == "weft-absa":
        assert (queries, keys) == (1, 1 + len(found.tokens))
    else:
        assert (queries, keys) == (len(found.tokens),) * 2
    assert (layer.quasi is None) == (kind not in ("qacg", "qacg-official"))
    if layer.quasi is not None:
        assert layer.quasi.shape == (heads, queries, keys)
        assert ((layer.gate > -1) & (layer.gate < 1)).all()
    record = json.loads(json.dumps(found.record()))
    assert record["tokens"] == list(found.tokens)
    assert record["layers"][-1]["weights"][0][0][0] == pytest.approx(layer.weights[0, 0, 0].item(), abs=1e-6)

"""Views, scores against brute force, baselines, confidence."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.errors import CheckpointError, InputError
from weft.kg.dataset.tokens import MASK
from weft.kg.evaluate.baselines import (
    Counts,
    baseline_scores,
    by_head_name,
    nearest_word,
    prior,
    prior_in_text,
)
from weft.kg.evaluate.calibrate import Outcome, judge, outcomes
from weft.kg.evaluate.confidence import FILE, Confidence
from weft.kg.evaluate.scores import Ranking, answer, evaluate, score
from weft.kg.evaluate.views import View, make_views
from weft.kg.model.leafy_chain import LeafyChainModel
from weft.kg.represent.dataset import Dataset


@pytest.fixture
def views(dataset: Dataset) -> dict[str, View]:
    return make_views(dataset, "test", limit=25)


def test_views_hold_what_their_names_say(dataset: Dataset) -> None:
    corpus = dataset.corpus
    for name, view in make_views(dataset, "test").items():
        for _, queries in view.batches(corpus, 16):
            assert (queries.roots != 0).any(dim=1).all()
        for number, triple in enumerate(view.triple.tolist()):
            chunk = int(corpus.chunk[triple])
            assert int(corpus.split[chunk]) == 2
            text = {dataset.tokenizer.text([t]) for t in corpus.ids[chunk].tolist() if t}
            words = corpus.words[chunk]
            present = [corpus.ids[chunk][words == w].tolist() for w in range(60)]
            inside = [any(run[: len(gold)] == list(gold) for run in present) for gold in view.gold[number]]
            assert text
            if name == "absent":
                assert not any(inside)
            if name == "visible":
                assert any(inside)
    assert set(make_views(dataset, "test")) == {"visible", "hidden", "absent", "natural"}


def test_hidden_tails_are_gone_and_heads_are_not(dataset: Dataset) -> None:
    view, corpus = make_views(dataset, "test")["hidden"], dataset.corpus
    for index, queries in view.batches(corpus, 8):
        for row, number in enumerate(index.tolist()):
            roots = queries.roots[row].tolist()
            assert MASK in roots
            for gold in view.gold[number]:
                runs = [roots[i : i + len(gold)] == list(gold) for i in range(len(roots))]
                # A one-token tail may be part of a longer word; a longer one may not stand there at all.
                assert len(gold) == 1 or not any(runs)
            triple = int(view.triple[number])
            start, length = int(queries.head_start[row, 0]), int(queries.head_length[row, 0])
            first = int(corpus.head_start[triple])
            expected = corpus.ids[corpus.chunk[triple], first : first + length]
            assert roots[start : start + length] == expected.tolist()


def test_limits_draw_the_same_queries_again(dataset: Dataset) -> None:
    first, again = (make_views(dataset, "test", limit=5, seed=3) for _ in range(2))
    for name, view in first.items():
        assert len(view) <= 5
        assert torch.equal(view.triple, again[name].triple)
    with pytest.raises(KeyError):
        make_views(dataset, "absent")


def rankings_for(view: View) -> list[Ranking]:
    """Right at rank 1, at rank 3, or never, in turn."""
    result: list[Ranking] = []
    for number, gold in enumerate(view.gold):
        right = sorted(gold)[0]
        wrong: Ranking = [((900 + i,), 0.3 - i / 100) for i in range(4)]
        result.append([[(right, 0.9), *wrong], [*wrong[:2], (right, 0.1)], wrong][number % 3])
    return result


def test_scores_equal_brute_force(dataset: Dataset, views: dict[str, View]) -> None:
    view = views["visible"]
    rankings = rankings_for(view)
    result = score(view, rankings, dataset.corpus, dataset.schema.names)
    n = len(view)
    firsts = [number % 3 == 0 for number in range(n)]
    assert result.precision_at_1.estimate == pytest.approx(np.mean(firsts))
    assert result.hit_at_10.estimate == pytest.approx(np.mean([number % 3 != 2 for number in range(n)]))
    precisions = [[1.0, 1 / 3, 0.0][i % 3] / min(len(view.gold[i]), 10) for i in range(n)]
    assert result.mean_average_precision == pytest.approx(np.mean(precisions))
    recalls = [(i % 3 != 2) / len(view.gold[i]) for i in range(n)]
    assert result.recall_at_10 == pytest.approx(np.mean(recalls))
    pairs = [(p, tail in gold) for r, gold in zip(rankings, view.gold, strict=True) for tail, p in r]
    total = sum(len(gold) for gold in view.gold)
    best = 0.0
    for threshold in {p for p, _ in pairs}:
        taken = [hit for p, hit in pairs if p >= threshold]
        best = max(best, 2 * sum(taken) / (len(taken) + total))
    assert result.best_f1 == pytest.approx(best)
    several = [first for first, gold in zip(firsts, view.gold, strict=True) if all(len(t) > 1 for t in gold)]
    assert result.multi_token == pytest.approx(np.mean(several))
    assert sum(count for count, _, _ in result.by_relation.values()) == n
    assert result.macro_precision_at_1 == pytest.approx(np.mean([v[1] for v in result.by_relation.values()]))
    record = result.record()
    assert (
        record["precision_at_1_interval"][0]
        <= record["precision_at_1"]
        <= record["precision_at_1_interval"][1]
    )


def test_a_model_answers_every_query_once(
    dataset: Dataset, model: LeafyChainModel, views: dict[str, View]
) -> None:
    view = views["visible"]
    together = answer(model, dataset.corpus, view, beams=3, batch_size=32)
    one_by_one = answer(model, dataset.corpus, view, beams=3, batch_size=1)
    assert len(together) == len(view)
    for first, second in zip(together, one_by_one, strict=True):
        assert first[0][0] == second[0][0]
        assert first[0][1] == pytest.approx(second[0][1], rel=1e-3)
        assert len({tail for tail, _ in first}) == len(first)
    scores = evaluate(model, dataset.corpus, views, dataset.schema.names, beams=2, shuffle_relations=True)
    assert scores.keys() == views.keys()


def test_baselines(dataset: Dataset) -> None:
    corpus, counts, view = dataset.corpus, Counts(dataset.corpus), make_views(dataset, "test")["visible"]
    returned = {
        name: function(counts, corpus, view)
        for name, function in (("p", prior), ("t", prior_in_text), ("h", by_head_name))
    }
    returned["n"] = nearest_word(corpus, view)
    relations = corpus.relation[view.triple].tolist()
    for number, relation in enumerate(relations):
        best = counts.by_relation[relation].most_common(1)
        assert [tail for tail, _ in returned["p"][number][:1]] == [tail for tail, _ in best]
        chunk = int(corpus.chunk[view.triple[number]])
        ids = corpus.ids[chunk].tolist()
        for name in ("t", "n"):
            for tail, _ in returned[name][number]:
                assert any(ids[i : i + len(tail)] == list(tail) for i in range(len(ids)))
    assert len(returned["n"][0]) > 3
    table = baseline_scores(dataset, {"visible": view})
    assert (
        table["prior in the text"]["visible"].precision_at_1.estimate
        >= table["nearest word"]["visible"].precision_at_1.estimate
    )


def test_confidence_is_the_precision_of_such_answers(tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    answers = []
    for relation, power in (("calls", 1.0), ("raises", 3.0), ("rare", 1.0)):
        drawn = generator.random(4000 if relation != "rare" else 20)
        answers += [(relation, float(p), bool(generator.random() < p**power)) for p in drawn]
    confidence = Confidence.fit(answers)
    assert confidence("calls", 0.5) == pytest.approx(0.5, abs=0.06)
    assert confidence("raises", 0.5) == pytest.approx(0.125, abs=0.06)
    assert confidence("rare", 0.5) == pytest.approx(confidence.pooled(np.array([0.5]))[0], abs=0.1)
    confidence.save(tmp_path)
    again = Confidence.load(tmp_path)
    assert again is not None
    assert again("raises", 0.7) == confidence("raises", 0.7)
    (tmp_path / FILE).write_text("[]")
    with pytest.raises(CheckpointError, match="not a calibration"):
        Confidence.load(tmp_path)
    with pytest.raises(InputError, match="no answers"):
        Confidence.fit([])
    assert Confidence.load(tmp_path / "absent") is None


def test_short_texts_have_confidences_of_their_own(tmp_path: Path) -> None:
    # Long texts are right as often as the model says, short ones always.
    random = np.random.default_rng(0)
    said = random.random(2000)
    right = random.random(2000) < said
    long = [("born", float(p), bool(yes)) for p, yes in zip(said, right, strict=True)]
    plain = Confidence.fit(long)
    confidence = plain.with_short([("born", float(p), True) for p in said[:300]])
    confidence.save(tmp_path)
    again = Confidence.load(tmp_path)
    assert again is not None
    asked = np.array([0.1, 0.5, 0.9])
    for reader in (confidence, again):
        assert reader.of_text("born", asked, 192) == pytest.approx(plain.of_text("born", asked, 9), abs=0.004)
        assert reader.of_text("born", asked, 64) == pytest.approx(np.ones(3))
        both = (reader.of_text("born", asked, 64) + reader.of_text("born", asked, 500)) / 2
        assert reader.of_text("born", asked, 128) == pytest.approx(both)
        assert reader.of_text("other", asked, 500) == pytest.approx(plain.pooled(asked), abs=0.004)
    assert len(confidence.pooled.scores) < len(plain.pooled.scores)


def test_names_that_stand_apart_have_confidences_of_their_own(tmp_path: Path) -> None:
    # Beside each other they are right as often as the model says, two paragraphs apart never.
    random = np.random.default_rng(1)
    answers = []
    for said in random.random(4000):
        paragraphs = int(random.integers(0, 3))
        right = paragraphs < 2 and bool(random.random() < said)
        divided = bool(random.random() < 0.9)
        answers.append((float(said), paragraphs, 2 * paragraphs, divided, right))
    plain = Confidence.fit([("born", 0.5, True)])
    confidence = plain.with_apart(answers)
    confidence.save(tmp_path)
    again = Confidence.load(tmp_path)
    assert again is not None
    for reader in (confidence, again):
        assert reader.of_names_apart(0.7, 0, 3, divided=True) == pytest.approx(0.7, abs=0.1)
        assert reader.of_names_apart(0.7, 2, 3, divided=True) < 0.1
        # Without paragraphs the sentences count, and nothing else.
        assert reader.of_names_apart(0.7, 2, 0, divided=False) == reader.of_names_apart(
            0.7, 0, 0, divided=False
        )
        assert reader.of_names_apart(0.7, 0, 5, divided=False) < reader.of_names_apart(
            0.7, 0, 0, divided=False
        )
        found = [reader.of_names_apart(p, 1, 1, divided=True) for p in (0.0, 0.2, 0.6, 1.0)]
        assert found == sorted(found)
        assert found[0] > 0
        assert found[-1] < 1
    assert plain.of_names_apart(0.7, 2, 3, divided=True) == 0.7
    assert confidence.with_apart([]).apart is None
    record = json.loads((tmp_path / FILE).read_text())
    record["apart"]["coefficients"].pop()
    (tmp_path / FILE).write_text(json.dumps(record))
    with pytest.raises(CheckpointError, match="3 numbers for 4 features"):
        Confidence.load(tmp_path)


def test_what_the_text_does_not_state_has_confidences_of_its_own(tmp_path: Path) -> None:
    stated = [("has_type", 0.9, True)] * 500 + [("calls", 0.9, True)] * 500
    confidence = Confidence.fit(stated, [("has_type", 0.9, number % 2 == 0) for number in range(500)])
    confidence.save(tmp_path)
    for reader in (confidence, Confidence.load(tmp_path)):
        assert reader("has_type", 0.9) == pytest.approx(1.0)
        assert reader("has_type", 0.9, guessed=True) == pytest.approx(0.5)
        # A relation that was never guessed has no map for it.
        assert reader("calls", 0.9, guessed=True) == pytest.approx(1.0)
    judged = [Outcome("has_type", 0.9, number % 2 == 0, True) for number in range(10)]
    assert judge(judged, confidence).calibration_error == pytest.approx(0.0, abs=1e-9)
    record = json.loads((tmp_path / FILE).read_text())
    del record["guessed"]
    (tmp_path / FILE).write_text(json.dumps(record))
    assert Confidence.load(tmp_path)("has_type", 0.9, guessed=True) == pytest.approx(1.0)


def test_confidence_replaces_probabilities_and_no_answer(dataset: Dataset, model: LeafyChainModel) -> None:
    views = {"visible": make_views(dataset, "test", limit=12)["visible"]}
    confidence = Confidence.fit([("calls", 0.2, False), ("calls", 0.9, True)])
    raw, calibrated = (
        evaluate(model, dataset.corpus, views, dataset.schema.names, beams=2, confidence=given)["visible"]
        for given in (None, confidence)
    )
    assert raw.precision_at_1 == calibrated.precision_at_1
    assert raw.calibration_error != calibrated.calibration_error


def test_questions_are_asked_as_often_as_they_occur(dataset: Dataset, model: LeafyChainModel) -> None:
    found = outcomes(model, dataset, dataset.corpus, "valid", beams=2)
    view = make_views(dataset, "valid")["natural"]
    assert len(found) == len(view)
    names = Counter(dataset.schema.names[number] for number in dataset.corpus.relation[view.triple].tolist())
    assert Counter(item.relation for item in found) == names
    some = outcomes(model, dataset, dataset.corpus, "valid", limit=5, beams=2)
    assert 5 <= len(some) < len(found)


def test_answers_in_one_pass_are_those_of_one_at_a_time(dataset: Dataset, model: LeafyChainModel) -> None:
    view = make_views(dataset, "valid")["natural"]
    alone = [ranking[0][1] for ranking in answer(model, dataset.corpus, view, beams=2)]
    together = [item.probability for item in outcomes(model, dataset, dataset.corpus, "valid", beams=2)]
    np.testing.assert_allclose(sorted(together), sorted(alone), rtol=1e-3)


def test_a_relation_with_few_answers_leans_on_all() -> None:
    few = [("raises", 0.5, True)] * 3
    many = [("calls", 0.5, number % 4 == 0) for number in range(400)]
    confidence = Confidence.fit(few + many)
    assert 0.25 < confidence("raises", 0.5) < 0.3
    assert confidence("calls", 0.5) == pytest.approx(0.25, abs=0.01)
    assert confidence("unheard", 0.5) == pytest.approx(103 / 403)
    one = Confidence.fit([("raises", 0.5, True), *many], prior=1)
    assert one("raises", 0.5) == pytest.approx((1 + 101 / 401) / 2)


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.floats(0, 1), st.booleans()), min_size=1, max_size=60),
    st.lists(st.floats(0, 1), min_size=2, max_size=10),
)
@settings(deadline=None, max_examples=30)
def test_confidence_never_falls(answers: list[tuple[str, float, bool]], asked: list[float]) -> None:
    confidence = Confidence.fit(answers)
    for relation in "abcd":
        values = [confidence(relation, value) for value in sorted(asked)]
        assert all(0 <= value <= 1 for value in values)
        assert values == sorted(values)


def test_confidences_are_judged_as_by_hand() -> None:
    found = [Outcome("calls", 0.95, True, False)] * 18 + [Outcome("calls", 0.95, False, False)] * 2
    found += [Outcome("calls", 0.5, True, False)] * 5 + [Outcome("calls", 0.5, False, False)] * 5
    score = judge(found, None)
    assert (score.questions, score.kept, score.precision) == (30, pytest.approx(20 / 30), 0.9)
    assert score.recall == pytest.approx(18 / 23)
    assert score.calibration_error == pytest.approx((20 * 0.05 + 10 * 0.0) / 30)

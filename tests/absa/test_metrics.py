import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.absa.evaluate.metrics import (
    Scored,
    aspect_auc,
    floors,
    macro_f1,
    micro_prf,
    semeval_metrics,
    sentihood_metrics,
    sentiment_accuracy,
    sentiment_auc,
    strict_accuracy,
)
from weft.absa.evaluate.report import (
    calibration_error,
    controls,
    cross_calibrated,
    metrics,
    scored,
)
from weft.absa.evaluate.temperature import logits_of
from weft.absa.records import SEMEVAL_POLARITIES, Context, Corpus, Sentence
from weft.errors import InputError
from weft.platform.confidence import Temperature, fit_temperature


@st.composite
def results(draw, classes=3, aspects=4):
    groups = draw(st.integers(2, 6))
    seed = draw(st.integers(0, 10_000))
    random = np.random.default_rng(seed)
    rows = groups * aspects
    # Few distinct values, so that ties happen.
    probabilities = random.integers(1, 4, (rows, classes)).astype(float)
    probabilities /= probabilities.sum(axis=1, keepdims=True)
    gold = random.integers(0, classes, rows)
    return Scored(gold, probabilities, np.arange(rows) // aspects, np.arange(rows) % aspects)


def argmax(row, among):
    best = among[0]
    for index in among:
        if row[index] > row[best]:
            best = index
    return best


def brute_auc(positive, scores):
    rows = list(zip(scores, positive, strict=True))
    pairs = [(a > b) + 0.5 * (a == b) for a, p in rows for b, q in rows if p and not q]
    return sum(pairs) / len(pairs) if pairs else None


def mean(values):
    values = [value for value in values if value is not None]
    return sum(values) / len(values) if values else None


def same(value, expected):
    assert np.isnan(value) if expected is None else value == pytest.approx(expected)


@settings(deadline=None, max_examples=60)
@given(results())
def test_sentihood_metrics_equal_brute_force(result):
    gold, probabilities = result.gold.tolist(), result.probabilities.tolist()
    predicted = [argmax(row, range(3)) for row in probabilities]
    groups = sorted(set(result.group.tolist()))
    rows_of = {g: [i for i, h in enumerate(result.group.tolist()) if h == g] for g in groups}
    same(
        strict_accuracy(result),
        mean([float(all(predicted[i] == gold[i] for i in rows_of[g])) for g in groups]),
    )

    precisions, recalls = [], []
    for g in groups:
        wanted = {i for i in rows_of[g] if gold[i]}
        taken = {i for i in rows_of[g] if predicted[i]}
        if wanted:
            precisions.append(len(wanted & taken) / len(taken) if taken else 0.0)
            recalls.append(len(wanted & taken) / len(wanted))
    p, r = mean(precisions) or 0.0, mean(recalls) or 0.0
    same(macro_f1(result), 2 * p * r / (p + r) if p + r else 0.0)

    by_aspect = [[i for i, a in enumerate(result.aspect.tolist()) if a == aspect] for aspect in range(4)]
    same(
        aspect_auc(result),
        mean(
            [
                brute_auc([gold[i] != 0 for i in rows], [1 - probabilities[i][0] for i in rows])
                for rows in by_aspect
            ]
        ),
    )
    opinions = [i for i in range(len(gold)) if gold[i]]
    same(
        sentiment_accuracy(result),
        mean([float(argmax(probabilities[i], (1, 2)) == gold[i]) for i in opinions]),
    )
    opinions_of = [[i for i in rows if gold[i]] for rows in by_aspect]
    shares = [probabilities[i][2] / (probabilities[i][1] + probabilities[i][2]) for i in range(len(gold))]
    same(
        sentiment_auc(result),
        mean([brute_auc([gold[i] == 2 for i in rows], [shares[i] for i in rows]) for rows in opinions_of]),
    )


@settings(deadline=None, max_examples=60)
@given(results(classes=5, aspects=5))
def test_semeval_metrics_equal_brute_force(result):
    gold, probabilities = result.gold.tolist(), result.probabilities.tolist()
    predicted = [argmax(row, range(5)) for row in probabilities]
    both = sum(1 for g, p in zip(gold, predicted, strict=True) if g and p)
    precision = both / max(1, sum(1 for p in predicted if p))
    recall = both / max(1, sum(1 for g in gold if g))
    f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    assert micro_prf(result) == pytest.approx((precision, recall, f1))
    values = semeval_metrics(result)
    for name, classes in (("accuracy_4", (1, 2, 3, 4)), ("accuracy_3", (1, 2, 3)), ("accuracy_2", (1, 2))):
        rows = [i for i in range(len(gold)) if gold[i] in classes]
        same(values[name], mean([float(argmax(probabilities[i], classes) == gold[i]) for i in rows]))


def test_a_perfect_and_a_blind_model():
    gold = np.array([0, 1, 0, 2, 0, 0, 0, 0])
    group, aspect = np.arange(8) // 4, np.arange(8) % 4
    perfect = sentihood_metrics(Scored(gold, np.eye(3)[gold], group, aspect))
    assert (
        perfect["strict"]
        == perfect["macro_f1"]
        == perfect["aspect_auc"]
        == perfect["sentiment_accuracy"]
        == 1.0
    )
    free = floors(Scored(gold, np.full((8, 3), 1 / 3), group, aspect))
    assert free == {"all_none": 0.75, "all_none_strict": 0.5, "all_positive_sentiment": 0.5}


def test_five_classes_are_measured_as_sentihood_where_no_answer_is_neutral_or_conflict():
    rows = np.eye(5)[[0, 1, 2, 1]] * 0.9 + 0.02
    plain = Scored(np.array([0, 1, 2, 2]), rows, np.arange(4), np.zeros(4, dtype=int))
    torn = Scored(np.array([0, 1, 2, 4]), rows, np.arange(4), np.zeros(4, dtype=int))
    assert set(metrics(plain, SEMEVAL_POLARITIES)) == set(sentihood_metrics(plain))
    assert set(metrics(torn, SEMEVAL_POLARITIES)) == set(semeval_metrics(torn))


def test_classes_are_positive_and_negative_by_their_names():
    names = ("none", "negative", "neutral", "positive")
    said = ("positive", "positive", "positive", "negative", "none")
    sentences = tuple(Sentence(f"text {n}", (Context("price"),), (name,)) for n, name in enumerate(said))
    corpus = Corpus(sentences, names)
    result = scored(corpus, np.eye(4)[[3, 3, 1, 1, 0]] * 0.9 + 0.025)
    assert result.signs == (3, 1)
    assert floors(result)["all_positive_sentiment"] == 0.75
    turned = Corpus(sentences, ("none", "positive", "negative", "neutral"))
    same = scored(turned, np.eye(4)[[1, 1, 2, 2, 0]] * 0.9 + 0.025)
    assert sentihood_metrics(result) == sentihood_metrics(same)
    assert floors(result) == floors(same)
    others = Corpus((Sentence("a", (Context("price"),), ("good",)),), ("none", "bad", "good"))
    neither = scored(others, np.eye(3)[[2]])
    assert neither.signs is None
    assert np.isnan(sentihood_metrics(neither)["sentiment_auc"])
    assert np.isnan(floors(neither)["all_positive_sentiment"])


def test_bad_scores_are_refused():
    good = np.eye(3)
    with pytest.raises(InputError, match="no rows"):
        Scored(np.array([], int), good[:0], np.array([], int), np.array([], int))
    with pytest.raises(InputError, match="differ in length"):
        Scored(np.array([0, 1]), good, np.array([0, 1]), np.array([0, 1]))
    with pytest.raises(InputError, match=r"outside 0\.\.2"):
        Scored(np.array([0, 1, 3]), good, np.zeros(3, int), np.zeros(3, int))


def corpus_of(gold):
    names = ("none", "positive", "negative")
    contexts = tuple(Context(aspect, target) for target in ("A", "B") for aspect in ("price", "safety"))
    return Corpus((Sentence("A or B", contexts, tuple(names[g] for g in gold)),), names)


def test_controls_by_hand():
    # A/price +, A/safety none, B/price −, B/safety none
    corpus = corpus_of([1, 0, 2, 0])
    right = controls(scored(corpus, np.eye(3)[[1, 0, 2, 0]]), corpus)
    assert (right.wrong_aspect, right.wrong_aspect_gold, right.wrong_target, right.both_targets) == (
        1,
        1,
        1,
        1,
    )
    deaf = controls(scored(corpus, np.eye(3)[[1, 1, 1, 1]]), corpus)
    assert (deaf.wrong_aspect, deaf.wrong_aspect_gold, deaf.wrong_target, deaf.both_targets) == (0, 1, 0, 0)
    half = controls(scored(corpus, np.eye(3)[[2, 0, 1, 0]]), corpus)
    assert (half.wrong_target, half.both_targets) == (1, 0)
    alike = corpus_of([1, 0, 1, 0])
    assert np.isnan(controls(scored(alike, np.eye(3)[[1, 0, 1, 0]]), alike).wrong_target)


def test_the_temperature_is_recovered():
    random = np.random.default_rng(0)
    logits = random.normal(size=(20_000, 3)) * 2
    true = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    gold = np.array([random.choice(3, p=row) for row in true])
    sharp = Temperature(1 / 1.7)(logits_of(true))
    assert fit_temperature(logits_of(sharp), gold).value == pytest.approx(1.7, rel=0.03)
    assert np.allclose(Temperature(1.7)(logits_of(sharp)), true)
    result = Scored(gold, sharp, np.arange(20_000), np.zeros(20_000, int))
    assert calibration_error(result) > 0.05
    assert calibration_error(cross_calibrated(result)) < 0.015
    # A group of its own, as all are in one fold, has nothing to be calibrated with.
    alone = Scored(gold, sharp, np.zeros(20_000, int), np.zeros(20_000, int))
    assert np.allclose(cross_calibrated(alone).probabilities, sharp)

"""Right answers are counted by eval and calibrate, and not given away for a threshold that is no gain."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from weft.absa.evaluate.metrics import accuracy, macro_f1, strict_accuracy
from weft.absa.evaluate.report import report
from weft.absa.evaluate.threshold import calibrate, same_answers
from weft.absa.records import SEMEVAL_POLARITIES, Context, Corpus, Sentence
from weft.absa.use.decide import decide
from weft.absa.use.windows import Heard
from weft.cli.main import main

CLASSES = ("none", "positive", "negative")
FOUND = (0.05, 0.9, 0.05)
SILENT = (0.95, 0.03, 0.02)
DOUBTFUL = (0.6, 0.3, 0.1)
"""Is answered "positive" by a threshold of .2, and not by one of .5."""


class Model:
    """Answers a corpus's questions with given rows."""

    def __init__(self, rows, threshold=0.5, classes=CLASSES):
        self.classes_ = classes
        self.config = SimpleNamespace(threshold=threshold, temperature=1.0)
        self._rows = rows

    def hear(self, sentences):
        return [Heard(np.array(rows)) for rows in self._rows]


def asked(texts):
    """Texts, each with the answers of two questions: the model's row, and what is right."""
    sentences = [
        Sentence(f"Text {n}.", (Context("price"), Context("size")), tuple(gold for _, gold in text))
        for n, text in enumerate(texts)
    ]
    return Corpus(tuple(sentences), CLASSES), [[row for row, _ in text] for text in texts]


# "negative" is right and "positive" would come out: macro-F1 asks only whether there is an opinion.
WORSE = [[(FOUND, "positive"), (DOUBTFUL, "negative")]] * 10 + [[(FOUND, "positive"), (DOUBTFUL, "none")]] * 2


def test_more_opinions_that_are_wrong_are_no_gain():
    corpus, rows = asked(WORSE)
    found = calibrate(Model(rows), corpus, temperature=1.0)
    assert found.chosen is not None
    assert found.crossed is not None
    assert found.chosen < 0.34  # the criterion wants the doubtful ones
    assert macro_f1(found.crossed) > macro_f1(found.before)
    assert accuracy(found.crossed) < accuracy(found.before)
    assert found.kept
    assert found.threshold == 0.5
    assert np.array_equal(found.after.predicted, found.before.predicted)
    forced = calibrate(Model(rows), corpus, temperature=1.0, force=True)
    assert (forced.threshold, forced.kept) == (found.chosen, False)
    figures = found.record()
    assert figures["before: accuracy"] == figures["after: accuracy"] == accuracy(found.before)
    assert figures["crossed: accuracy"] == accuracy(found.crossed)


def test_more_opinions_that_are_right_are_a_gain():
    corpus, rows = asked([[(FOUND, "positive"), (DOUBTFUL, "positive")], [(SILENT, "none")] * 2] * 6)
    found = calibrate(Model(rows), corpus, temperature=1.0)
    assert not found.kept
    assert found.threshold == found.chosen < 0.34
    assert accuracy(found.after) == strict_accuracy(found.after) == 1


def test_a_threshold_that_changes_nothing_is_no_gain_either():
    corpus, rows = asked([[(FOUND, "positive"), (SILENT, "none")]] * 6)
    found = calibrate(Model(rows, threshold=0.3), corpus, temperature=1.0)
    assert (found.chosen, found.threshold) == (0.5, pytest.approx(0.3))


@pytest.mark.parametrize("threshold", [0.0, 0.1, 0.3, 0.5, 0.8, 1.0])
@pytest.mark.parametrize("ratio", [0.4, 1.0, 2.5])
def test_answers_stay_at_another_temperature(threshold, ratio):
    random = np.random.default_rng(0)
    logits = random.normal(size=(400, 4)) * 2

    def shares(temperature):
        scaled = np.exp(logits / temperature)
        return scaled / scaled.sum(axis=1, keepdims=True)

    moved = same_answers(threshold, ratio)
    assert np.array_equal(decide(shares(1.0), threshold), decide(shares(ratio), moved))
    if ratio != 1 and threshold not in (0, 0.5, 1):
        assert not np.array_equal(decide(shares(1.0), threshold), decide(shares(ratio), threshold))


def test_the_command_says_what_is_kept_and_what_forces_it(
    trained, labelled_csv, tmp_path, capfd, monkeypatch
):
    corpus, rows = asked(WORSE)
    worse = calibrate(Model(rows), corpus, temperature=1.0)
    forced = replace(worse, threshold=worse.chosen)
    monkeypatch.setattr(
        "weft.absa.evaluate.threshold.calibrate", lambda *_, force, **__: forced if force else worse
    )
    command = ["absa", "calibrate", str(labelled_csv), "--target-column", "target", "--model", str(trained)]
    stored = []
    for flag in ([], ["--force"]):
        out = tmp_path / f"m{len(flag)}"
        assert main([*command, "--device", "cpu", "--json", "--out", str(out), *flag]) == 0
        printed, said = capfd.readouterr()
        assert json.loads(printed)["before: accuracy"] == accuracy(worse.before)
        assert ("is not taken" in said and "--force takes it" in said) is not bool(flag)
        stored.append(json.loads((out / "config.json").read_text())["config"]["model"]["threshold"])
    assert stored == [0.5, worse.chosen]
    assert main([*command, "--force", "--threshold", "0.4"]) == 2
    assert "--force beside --threshold" in capfd.readouterr().err
    assert main([*command, "--device", "cpu"]) == 0
    table = capfd.readouterr().out
    assert "before: right answers" in table
    assert "crossed: right answers" in table


def test_tables_of_five_classes_have_the_figures_of_their_floors():
    rows = [[(0.1, 0.6, 0.1, 0.1, 0.1), (0.6, 0.1, 0.1, 0.1, 0.1)]] * 3
    said = [("positive", "none"), ("neutral", "none"), ("conflict", "positive")]
    sentences = tuple(
        Sentence(f"Text {n}.", (Context("price"), Context("size")), gold) for n, gold in enumerate(said)
    )
    corpus = Corpus(sentences, SEMEVAL_POLARITIES)
    found = report(Model(rows, classes=SEMEVAL_POLARITIES), corpus)
    assert "accuracy_4" in found  # SemEval's own figures
    assert (found["accuracy"], found["all_none"]) == (pytest.approx(3 / 6), pytest.approx(2 / 6))
    assert (found["strict"], found["all_none_strict"]) == (pytest.approx(1 / 3), 0)

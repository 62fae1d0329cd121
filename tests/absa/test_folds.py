"""Teachers that have not seen what they teach: ``--folds`` of ``recipes/absa_base.py``."""

import numpy as np
import pytest
import torch

from weft.absa.records import Sentence
from weft.absa.use.store import save


@pytest.fixture(scope="module")
def told(recipe):
    return recipe("absa_base_told")


class Knows:
    """A teacher that tells its fold, and remembers what it learnt."""

    def __init__(self, fold, learnt):
        self.fold, self.learnt = fold, learnt

    def answer(self, sentences):
        assert not {s.where for s in sentences} & self.learnt
        return [np.full((len(s.contexts), 3), self.fold + len(s.text)) for s in sentences]


def test_a_text_is_answered_by_the_teacher_that_did_not_learn_it(told, corpus):
    own = list(corpus.sentences)
    others = [Sentence(s.text + "!", s.contexts[:1], s.polarities[:1], f"other {s.where}") for s in own[:5]]
    learnt = []

    def teacher(fold, parts):
        learnt.append({s.where for part in parts for s in part})
        return Knows(fold, learnt[-1])

    answers = told.by_folds((own, others), 3, teacher)
    folds = [n % 3 for n in range(8)] + [n % 3 for n in range(5)]
    sentences = [*own, *others]
    assert [len(rows) for rows in answers] == [2] * 8 + [1] * 5
    assert [rows[0, 0] for rows in answers] == [
        fold + len(s.text) for fold, s in zip(folds, sentences, strict=True)
    ]
    everything = {s.where for s in sentences}
    for fold in range(3):
        missing = {s.where for s, f in zip(sentences, folds, strict=True) if f == fold}
        assert learnt[fold] == everything - missing


def test_what_folds_said_is_learnt_and_of_other_texts_refused(told, corpus, make, tmp_path):
    asker = make(aspects=("price", "safety"))
    save(tmp_path / told.FIRST, asker)
    sentences = list(corpus.sentences)
    answers = asker.answer(sentences)
    weights = told.weights_of(told.folds(tmp_path))
    told.keep(tmp_path / told.TOLD, sentences, answers, weights)
    assert [file.name for file in tmp_path.glob("*.npz")] == [told.TOLD]
    teacher = told.taught_by(tmp_path, sentences)
    turned = sentences[::-1]
    seen = torch.softmax(teacher.represent(turned) / asker.config.temperature, -1)
    torch.testing.assert_close(
        seen, torch.from_numpy(np.concatenate(answers[::-1])).float(), atol=1e-5, rtol=0
    )
    with pytest.raises(SystemExit, match="about other texts"):
        told.taught_by(tmp_path, turned)
    # A model is asked once, and of what it was asked about.
    alone = told.taught_by(tmp_path / told.FIRST, sentences)
    torch.testing.assert_close(alone.represent(turned), teacher.represent(turned))
    assert (tmp_path / told.FIRST).with_name("model-told.npz").exists()
    with pytest.raises(SystemExit, match="about other texts"):
        told.taught_by(tmp_path / told.FIRST, turned)
    agreed = told.agreement(sentences, [np.eye(3)[[1, 0]]] * 8, corpus.polarities)
    gold = [p for s in sentences for p in s.polarities]
    right = sum(a == b for a, b in zip(gold, ["positive", "none"] * 8, strict=True)) / len(gold)
    assert agreed == {"accuracy": right, "mean probability of the label": right}


def test_answers_of_other_teachers_are_refused(told, corpus, make, tmp_path):
    """A teacher that was trained anew into the same folder is not taken for the one that was asked."""
    sentences = list(corpus.sentences)
    torch.manual_seed(0)
    save(tmp_path / "model", make(aspects=("price", "safety")))
    told.taught_by(tmp_path / "model", sentences)
    asker = make(aspects=("price", "safety"))
    with torch.no_grad():
        asker.module.head.classifier.bias.add_(1)
    save(tmp_path / "model", asker)
    with pytest.raises(SystemExit, match=r"model-told.npz is by other teachers"):
        told.taught_by(tmp_path / "model", sentences)
    (tmp_path / "model-told.npz").unlink()
    told.taught_by(tmp_path / "model", sentences)

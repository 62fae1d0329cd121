"""What teachers say is learnt, weighed against the labels, and left aside where they are not asked."""

from dataclasses import replace

import pytest
import torch

from weft.absa.config import ModelOptions
from weft.absa.evaluate.report import score, summary
from weft.absa.learn.loss import Heard, contrast_weights, taught, weighted_loss
from weft.absa.learn.training import Learning, train
from weft.absa.records import UNKNOWN, Context, Corpus, Sentence
from weft.absa.represent.batch import UNLABELLED
from weft.absa.use.store import load, save
from weft.errors import ConfigError, InputError
from weft.train import TrainConfig


def options(kind="weft-absa", **changes):
    small = {"max_length": 32, "similarity_layers": 1, "context_from": 1, "aspect_dropout": 0.0}
    return ModelOptions(kind=kind, **{**small, "classifier_dropout": 0.0, **changes})


def settings(**changes):
    plan = {"epochs": 30, "batch_size": 4, "learning_rate": 5e-3, "schedule": "constant", "device": "cpu"}
    return TrainConfig(**{**plan, "metric": "score", "mode": "max", "restore_best": False, **changes})


def test_a_teacher_is_followed(start, corpus):
    teacher = train(corpus, start, options("pair"), settings(epochs=20)).asker
    wrong = Corpus(
        tuple(Sentence(s.text, s.contexts, ("none", "none"), s.where) for s in corpus.sentences),
        corpus.polarities,
    )
    learnt = train(
        wrong, start, options(), settings(epochs=30), learning=Learning(distillation=1.0), teacher=teacher
    ).asker
    assert summary(score(learnt, corpus), corpus)["strict"] >= 0.75
    # Classes are told by their names: this student counts them in another order.
    turned = Corpus(wrong.sentences, ("none", *reversed(corpus.polarities[1:])))
    learnt = train(
        turned, start, options(), settings(epochs=30), learning=Learning(distillation=1.0), teacher=teacher
    ).asker
    assert learnt.classes_ == turned.polarities
    right = Corpus(corpus.sentences, turned.polarities)
    assert summary(score(learnt, right), right)["strict"] >= 0.75
    other = Corpus((Sentence("a", (Context("price"),), ("good",)),), ("none", "good"))
    with pytest.raises(InputError, match="teacher's classes"):
        train(other, start, options(), settings(), learning=Learning(distillation=0.5), teacher=teacher)
    with pytest.raises(ConfigError, match="teachers: 1, distillation: 0"):
        train(corpus, start, options(), settings(), teacher=teacher)
    with pytest.raises(ConfigError, match=r"teachers: 0, distillation: 0\.5"):
        train(corpus, start, options(), settings(), learning=Learning(distillation=0.5))


def test_a_teacher_reads_an_aspect_once(start, corpus, tmp_path, monkeypatch):
    # The frozen stack says of an aspect what it said in the last batch.
    opened = {"open_aspects": True, "aspect_dropout": 0.0, "frozen_layers": 1, "similarity_layers": 2}
    save(tmp_path, train(corpus, start, options(**opened), settings(epochs=1)).asker)
    teacher = load(tmp_path)
    sentences = list(corpus.sentences)
    before = teacher.logits(teacher.represent(sentences))
    read: list[int] = []
    read_words = teacher.module.read_words

    def counted(ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        read.append(len(ids))
        return read_words(ids, mask)

    monkeypatch.setattr(teacher.module, "read_words", counted)
    train(
        corpus,
        start,
        options(**opened),
        settings(epochs=3),
        learning=Learning(distillation=1.0),
        teacher=teacher,
    )
    assert sum(read) == len(corpus.aspects)
    # Afterwards it is a model as any other, whose weights may change.
    torch.testing.assert_close(teacher.logits(teacher.represent(sentences)), before)
    assert sum(read) == 2 * len(corpus.aspects)


def test_several_teachers_teach_their_mean():
    """T²·Σ p·(log p − log q), written out; a single one is its own mean, and no divergence is zero."""
    logits, *teachers = torch.randn(3, 5, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    expected = 0.0
    for row in range(5):
        q = (logits[row] / 2).exp() / (logits[row] / 2).exp().sum()
        p = sum((each[row] / 2).exp() / (each[row] / 2).exp().sum() for each in teachers) / 2
        expected += 4 * float(sum(p[c] * (p[c] / q[c]).log() for c in range(3))) / 5
    assert float(taught(logits, teachers, 2.0)) == pytest.approx(expected, rel=1e-6)
    assert float(taught(logits, [logits], 2.0)) == pytest.approx(0, abs=1e-6)


def test_which_opinion_teachers_see_may_weigh_more():
    """π·T²·Σ_rows P(an opinion)·KL(given one) on top, written out; nothing where the student says the same."""
    logits, *teachers = torch.randn(3, 5, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    more = 0.0
    for row in range(5):
        p = sum(torch.softmax(each[row] / 2, 0) for each in teachers) / 2
        q = torch.softmax(logits[row] / 2, 0)
        among, theirs = q[1:] / q[1:].sum(), p[1:] / p[1:].sum()
        more += 4 * float(p[1:].sum() * (theirs * (theirs / among).log()).sum()) / 5
    found = taught(logits, teachers, 2.0, 0.7) - taught(logits, teachers, 2.0)
    assert float(found) == pytest.approx(0.7 * more, rel=1e-5)
    assert float(taught(logits, [logits], 2.0, 0.7)) == pytest.approx(0, abs=1e-6)


def test_questions_that_nobody_answered_are_left_to_teachers():
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(4, 3, generator=generator)
    labels, classes = torch.tensor([0, UNLABELLED, 1, UNLABELLED]), torch.tensor([0.5, 1.0, 2.0])
    rows = torch.tensor([1.0, 2.0, 3.0, 4.0])
    for weights in (None, rows):
        kept = None if weights is None else rows[[0, 2]]
        found = weighted_loss(logits, labels, classes, weights, 0.1)
        torch.testing.assert_close(found, weighted_loss(logits[[0, 2]], labels[[0, 2]], classes, kept, 0.1))
    assert weighted_loss(logits, torch.full((4,), UNLABELLED), classes, rows, 0.0) == 0
    contexts = (Context("price", "A"), Context("price", "B"), Context("noise"))
    asked = Sentence("A and B", contexts, ("positive", UNKNOWN, UNKNOWN))
    assert contrast_weights([asked], 2.0).tolist() == [1, 1, 1]


def test_untaught_questions_are_learnt_by_their_labels():
    """Their rows have the whole cross-entropy; by the share of rows, each part is what it is alone."""
    random = torch.Generator().manual_seed(1)
    logits, answers = torch.randn(2, 5, 3, generator=random)
    labels, classes, rows = torch.tensor([0, 2, 1, 1, 0]), torch.ones(3), torch.tensor([1.0, 3, 1, 2, 1])
    asked = torch.tensor([True, False, True, True, False])
    own = 0.4 * weighted_loss(logits[asked], labels[asked], classes, rows[asked], 0.0)
    own = own + 0.6 * taught(logits[asked], [answers[asked]], 2.0)
    rest = weighted_loss(logits[~asked], labels[~asked], classes, rows[~asked], 0.0)
    found = Heard([answers[asked]], asked, 0.6, 2.0).loss(logits, labels, classes, rows, 0.0)
    assert float(found) == pytest.approx(float(0.6 * own + 0.4 * rest))
    own = 0.4 * weighted_loss(logits[asked], labels[asked], classes, rows[asked], 0.0, 1.5)
    own = own + 0.6 * taught(logits[asked], [answers[asked]], 2.0, 1.5)
    rest = weighted_loss(logits[~asked], labels[~asked], classes, rows[~asked], 0.0, 1.5)
    found = Heard([answers[asked]], asked, 0.6, 2.0, 1.5).loss(logits, labels, classes, rows, 0.0)
    assert float(found) == pytest.approx(float(0.6 * own + 0.4 * rest))
    rest = weighted_loss(logits, labels, classes, rows, 0.0)
    alone = Heard([], torch.zeros(5, dtype=torch.bool), 0.6, 2.0).loss(logits, labels, classes, rows, 0.0)
    assert float(alone) == pytest.approx(float(rest))


def test_teachers_are_not_asked_about_what_is_learnt_by_labels(start, corpus):
    """A teacher of wrong answers spoils what it is asked, and nothing else."""
    wrong = Corpus(
        tuple(replace(s, polarities=tuple("none" for _ in s.contexts)) for s in corpus.sentences),
        corpus.polarities,
    )
    teacher = train(wrong, start, options("pair"), settings(epochs=10)).asker
    plan, learning = settings(epochs=30), Learning(distillation=1.0)

    def right(untaught):
        learnt = train(corpus, start, options(), plan, learning=learning, teacher=teacher, untaught=untaught)
        return summary(score(learnt.asker, corpus), corpus)["strict"] >= 0.75

    assert right(lambda _: True)
    assert not right(None)
    mixed = train(
        corpus,
        start,
        options(),
        settings(epochs=3),
        learning=learning,
        teacher=teacher,
        untaught=lambda sentence: sentence.text == corpus.sentences[0].text,
    )
    assert all(weight.isfinite().all() for weight in mixed.asker.module.parameters())

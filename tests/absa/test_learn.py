"""Training: every kind learns a tiny set, listens to what it is asked, stops, resumes, and is taught."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from weft.absa.config import ModelOptions
from weft.absa.evaluate.report import score, summary
from weft.absa.learn.augment import Augmentation
from weft.absa.learn.loss import (
    class_weights,
    contrast_weights,
    disagreement,
    weighted_loss,
)
from weft.absa.learn.setup import DataFiles, Setup, fixed_targets
from weft.absa.learn.training import Learning, course, measured, split, train
from weft.absa.read.labelled import Columns
from weft.absa.read.semeval import TERM_ASPECT
from weft.absa.records import SEMEVAL_POLARITIES, Context, Corpus, Sentence
from weft.absa.represent.batch import UNLABELLED
from weft.encoder.checkpoint.pretrained import Pretrained
from weft.errors import CheckpointError, ConfigError, InputError, Interrupted
from weft.train import TrainConfig, run_setup

EXAMPLES = Path(__file__).parents[2] / "examples" / "absa"
TARGETS = ("LOCATION1", "LOCATION2")


def options(kind="weft-absa", **changes):
    small = {"max_length": 32, "similarity_layers": 1, "context_from": 1, "aspect_dropout": 0.0}
    return ModelOptions(kind=kind, **{**small, "classifier_dropout": 0.0, **changes})


def settings(**changes):
    plan = {"epochs": 30, "batch_size": 4, "learning_rate": 5e-3, "schedule": "constant", "device": "cpu"}
    return TrainConfig(**{**plan, "metric": "score", "mode": "max", "restore_best": False, **changes})


@pytest.mark.parametrize("kind", ["weft-absa", "pair", "qacg", "qacg-official", "cg"])
def test_every_kind_overfits_and_listens_to_the_question(start, corpus, kind):
    trained = train(corpus, start, options(kind), settings(), targets=TARGETS)
    assert summary(score(trained.asker, corpus), corpus)["strict"] == 1.0
    losses = trained.history.losses
    assert sum(losses[-4:]) < 0.2 * sum(losses[:4])
    # The same texts and answers under the other question: what was learnt is of no use.
    mixed = tuple(Sentence(s.text, s.contexts[::-1], s.polarities, s.where) for s in corpus.sentences)
    wrong = Corpus(mixed, corpus.polarities)
    assert summary(score(trained.asker, wrong), wrong)["strict"] < 0.3


def test_the_same_seed_gives_the_same_model(start, corpus):
    first, second = (
        train(corpus, start, options(aspect_dropout=0.3), settings(epochs=2, seed=3)).history.losses
        for _ in range(2)
    )
    assert first == second
    assert first != train(corpus, start, options(), settings(epochs=2, seed=4)).history.losses


def test_each_process_has_its_share(start, corpus, monkeypatch):
    def plan():
        _, lessons = course(corpus, start, options(), settings(batch_size=4))
        assert lessons.batches.rank == lessons.batches.plan.rank
        return lessons.batches.plan.epoch(0)

    whole = plan()
    shares = []
    monkeypatch.setenv("WORLD_SIZE", "2")
    for rank in range(2):
        monkeypatch.setenv("RANK", str(rank))
        shares.append(plan())
    assert [sorted(first + second) for first, second in zip(*shares, strict=True)] == [*map(sorted, whole)]
    assert all(len(part) == 2 for share in shares for part in share)


def test_early_stopping_and_the_best_weights(start, corpus):
    plan = settings(epochs=30, patience=2, learning_rate=1e-12, restore_best=True)
    trained = train(corpus, start, options(), plan, dev=corpus)
    assert trained.history.stopped == "early"
    assert len(trained.history.evaluations) == 3


def test_a_run_goes_on_where_it_stopped(start, corpus, tmp_path):
    plan = settings(epochs=4)
    whole = train(corpus, start, options(), plan)
    calls = []

    class StopAfterThree(type(whole.asker.module)):
        def forward(self, *arguments, **keywords):
            calls.append(1)
            if len(calls) == 4:
                raise KeyboardInterrupt
            return super().forward(*arguments, **keywords)

    original = type(whole.asker.module)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("weft.absa.model.build.WeftAbsa", StopAfterThree)
        with pytest.raises((KeyboardInterrupt, Interrupted)):
            train(corpus, start, options(), plan, directory=tmp_path)
    resumed = train(corpus, start, options(), plan, directory=tmp_path)
    assert resumed.history.first_step > 0
    assert isinstance(resumed.asker.module, original)
    for (name, ours), theirs in zip(
        whole.asker.module.state_dict().items(), resumed.asker.module.state_dict().values(), strict=True
    ):
        assert torch.allclose(ours, theirs, atol=1e-6), name


def test_a_model_goes_on_from_another(start, corpus):
    """Its weights are the beginning; what it knew stays known; another shape is refused."""
    begin = train(corpus, start, options(), settings()).asker
    begin.config = replace(
        begin.config, length_power=0.3, outside=-1.0, term_threshold=0.7, passage_weight=0.4
    )
    still = train(
        corpus.only(["price"]), start, options(), settings(epochs=1, learning_rate=1e-12), begin=begin
    ).asker
    assert still.config.aspects == begin.config.aspects == ("price", "safety")
    assert (still.config.length_power, still.config.outside, still.config.term_threshold) == (0.3, -1.0, 0.7)
    assert still.config.passage_weight == 0.4
    assert summary(score(still, corpus), corpus)["strict"] == 1.0
    with pytest.raises(InputError, match="has options"):
        train(corpus, start, options(pooler_blocks=2), settings(), begin=begin)


def test_another_model_with_other_classes(start, corpus):
    """A class that both have keeps what was learnt of it, wherever it stands; a new one starts untrained."""
    begin = train(corpus, start, options(), settings(epochs=1)).asker
    more = Corpus(corpus.sentences, ("none", "neutral", "negative", "positive"))
    asker = train(more, start, options(), settings(epochs=1, learning_rate=1e-12), begin=begin).asker
    old, new = begin.module.head.classifier, asker.module.head.classifier
    order = [asker.classes_.index(name) for name in begin.classes_]
    assert torch.allclose(new.weight[order], old.weight, atol=1e-9)
    assert torch.allclose(new.bias[order], old.bias, atol=1e-9)
    fresh = train(
        more, start, options(), settings(epochs=1, learning_rate=1e-12)
    ).asker.module.head.classifier
    neutral = asker.classes_.index("neutral")
    assert torch.allclose(new.weight[neutral], fresh.weight[neutral], atol=1e-9)
    assert not torch.allclose(new.weight[0], fresh.weight[0], atol=1e-3)
    fixed = train(corpus, start, options("cg"), settings(epochs=1), targets=TARGETS).asker
    other = Corpus((Sentence("a", (Context("noise", "LOCATION1"),), ("none",)),), corpus.polarities)
    with pytest.raises(InputError, match="has aspects"):
        train(other, start, options("cg"), settings(epochs=1), targets=TARGETS, begin=fixed)


def test_two_passes_that_disagree():
    """The mean of both divergences, by the definition; 0 where they agree, whatever the logits' level."""
    first, second = torch.randn(2, 5, 3, generator=torch.Generator().manual_seed(0)).double()
    p, q = first.softmax(dim=1), second.softmax(dim=1)
    expected = ((p * (p / q).log()).sum(dim=1) + (q * (q / p).log()).sum(dim=1)).mean() / 2
    assert disagreement(first, second) == pytest.approx(float(expected), rel=1e-12)
    assert disagreement(first, first + 3) == pytest.approx(0, abs=1e-12)


def test_consistency_makes_dropout_matter_less(start, corpus):
    """After equally many steps, two passes in training mode lie nearer to each other."""
    apart = []
    for consistency in (0.0, 5.0):
        asker = train(
            corpus,
            start,
            options(classifier_dropout=0.5),
            settings(epochs=10),
            learning=Learning(consistency=consistency),
        ).asker
        questions = asker.represent(corpus.sentences)
        asker.module.train()
        torch.manual_seed(0)
        with torch.no_grad():
            passes = [asker.module(questions).logits for _ in range(20)]
        apart.append(sum(float(disagreement(*pair)) for pair in zip(passes[::2], passes[1::2], strict=True)))
    assert apart[1] < 0.5 * apart[0]


def test_class_weights(corpus):
    gold = corpus.gold()
    assert torch.equal(class_weights(corpus, 0.0), torch.ones(3))
    weights = class_weights(corpus, 1.0)
    # Every class counts as much as every other, and the mean over the rows is 1.
    shares = [float(weights[c]) * gold.count(c) for c in range(3)]
    assert shares == pytest.approx([len(gold) / 3] * 3, rel=1e-5)


def test_class_weights_of_drawn_sentences_are_those_of_what_is_drawn(start, corpus):
    """Where sentences are drawn, those of the corpus are stand-ins that all say none."""
    none = tuple(replace(s, polarities=("none",) * len(s.polarities)) for s in corpus.sentences)
    losses = []
    for sentences in (corpus.sentences, none):
        trained = train(
            replace(corpus, sentences=sentences),
            start,
            options(),
            settings(epochs=1),
            learning=Learning(class_balance=1.0, blank_texts=0),
            draw=lambda indices, generator: [corpus.sentences[index] for index in indices],
        )
        losses.append(trained.history.losses)
    assert losses[0] == losses[1]


def test_a_disguise_is_for_the_model_alone(start, corpus):
    """With teachers alone: the loss of a model that begins as its teacher is 0 but for what it sees otherwise."""
    begin = train(corpus, start, options(classifier_dropout=0.0), settings(epochs=1)).asker
    still = settings(epochs=1, learning_rate=1e-12)
    losses = []
    for disguise in (
        None,
        lambda sentence, _: replace(sentence, text=" ".join(reversed(sentence.text.split()))),
    ):
        trained = train(
            corpus,
            start,
            options(classifier_dropout=0.0),
            still,
            learning=Learning(distillation=1.0, blank_texts=0),
            teacher=begin,
            begin=begin,
            disguise=disguise,
        )
        losses.append(trained.history.losses[0])
    assert losses[0] == pytest.approx(0, abs=1e-6)
    assert losses[1] > 1e-4


def test_smoothing_and_balance_change_the_loss(start, corpus):
    first = [
        train(corpus, start, options(), settings(epochs=1), learning=learning).history.losses[0]
        for learning in (
            Learning(),
            Learning(label_smoothing=0.3),
            Learning(class_balance=1.0),
        )
    ]
    assert len({round(loss, 6) for loss in first}) == 3


def test_contrast_changes_the_loss_of_texts_with_two_answers_alone(start, corpus):
    price = tuple(Context("price", target) for target in TARGETS)
    two = Sentence("location 1 is cheap but location 2 is dear", price, ("positive", "negative"))
    same = Sentence("location 1 is cheap and location 2 is cheap", price, ("positive", "positive"))
    for pair, differs in (
        (Corpus((two, same), corpus.polarities), True),
        (Corpus((same,), corpus.polarities), False),
    ):
        plain, weighted = (
            train(
                pair, start, options(), settings(epochs=1), learning=Learning(contrast=gamma)
            ).history.losses[0]
            for gamma in (0.0, 4.0)
        )
        assert (plain != weighted) == differs


def test_contrast_weights():
    """Only where another target of the same text has another answer to the same aspect, in the order asked."""
    sentence = Sentence(
        "Alpha is cheap, Beta is not, both are safe",
        (
            Context("price", "Alpha"),
            Context("safety", "Alpha"),
            Context("price", "Beta"),
            Context("safety", "Beta"),
        ),
        ("positive", "positive", "negative", "positive"),
    )
    alone = Sentence(
        "Alpha is cheap", (Context("price", "Alpha"), Context("safety", "Alpha")), ("positive", "none")
    )
    assert contrast_weights([alone, sentence], 2.0).tolist() == [1, 1, 3, 1, 3, 1]


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_weighted_loss_counts_a_row_as_often_as_it_weighs(smoothing):
    """A row of weight 3 is that row three times over."""
    generator = torch.Generator().manual_seed(0)
    logits, labels = torch.randn(5, 3, generator=generator), torch.tensor([0, 2, 1, 1, 0])
    classes = torch.tensor([0.5, 1.0, 2.0])
    again = torch.tensor([0, 1, 1, 1, 2, 3, 4])
    expected = weighted_loss(logits[again], labels[again], classes, None, smoothing)
    found = weighted_loss(logits, labels, classes, torch.tensor([1.0, 3.0, 1.0, 1.0, 1.0]), smoothing)
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("rows", [None, torch.tensor([1.0, 2.0, 3.0, 1.0])])
def test_which_opinion_there_is_may_weigh_more(rows):
    """−log P(y) − π·log P(y | an opinion) of the rows with one, written out."""
    logits = torch.randn(4, 4, generator=torch.Generator().manual_seed(0))
    labels, classes, polarity = torch.tensor([0, 2, UNLABELLED, 3]), torch.tensor([0.5, 1.0, 2.0, 1.0]), 1.5
    total, weights = 0.0, 0.0
    for row in (0, 1, 3):
        label, weight = int(labels[row]), 1.0 if rows is None else float(rows[row])
        shares = logits[row].exp() / logits[row].exp().sum()
        loss = -shares[label].log()
        if label:
            loss = loss - polarity * (shares[label] / (1 - shares[0])).log()
        total += weight * float(classes[label] * loss)
        weights += weight * float(classes[label])
    found = weighted_loss(logits, labels, classes, rows, 0.0, polarity)
    assert float(found) == pytest.approx(total / weights, rel=1e-5)
    silent = torch.zeros(4, dtype=torch.long)
    torch.testing.assert_close(
        weighted_loss(logits, silent, classes, rows, 0.1, polarity),
        weighted_loss(logits, silent, classes, rows, 0.1),
    )


def test_split_keeps_texts_together():
    sentences = tuple(Sentence(f"text {number // 2}", (Context("price"),), ("none",)) for number in range(40))
    corpus = Corpus(sentences, ("none", "positive"))
    rest, held = split(corpus, 0.25, seed=1)
    assert len(held.sentences) == 10
    assert not {s.text for s in rest.sentences} & {s.text for s in held.sentences}
    assert split(corpus, 0.25, seed=1)[1] == held
    assert split(corpus, 0.25, seed=2)[1] != held
    with pytest.raises(InputError, match="cannot be split"):
        split(corpus.subset([0]), 0.5)


def test_bad_starts_and_settings(start, corpus):
    nameless = Pretrained(start.encoder, None, None, None)
    with pytest.raises(CheckpointError, match="no tokenizer"):
        train(corpus, nameless, options(), settings())
    with pytest.raises(InputError, match="no sentences"):
        train(Corpus((), ("none", "positive")), start, options(), settings())
    with pytest.raises(InputError, match="classes held out"):
        train(
            corpus,
            start,
            options(),
            settings(),
            dev=Corpus(corpus.sentences, ("none", "negative", "positive")),
        )
    for values, what in (
        ({"label_smoothing": 1.5}, "label_smoothing is 1.5"),
        ({"distillation": -1}, "distillation is -1"),
        ({"consistency": -1}, "consistency is -1"),
        ({"class_balance": -1}, "class_balance is -1"),
        ({"polarity": -1}, "polarity is -1"),
        ({"contrast": -0.5}, "contrast is -0.5"),
        ({"distillation_temperature": 0}, "distillation_temperature is 0; it must be positive"),
        ({"head_rate": 0}, "head_rate is 0; it must be positive and finite"),
        ({"head_rate": float("inf")}, "head_rate is inf"),
        ({"class_balance": float("inf")}, "class_balance is inf; it must be at least 0 and finite"),
        # Infinite in 32 bits, which is what training computes in.
        ({"contrast": 1e40}, r"contrast is 1e\+40; it must be at least 0 and finite"),
        ({"polarity": float("nan")}, "polarity is nan"),
    ):
        with pytest.raises(ConfigError, match=what):
            Learning(**values)
    with pytest.raises(ConfigError, match="class_balance is 1000; with it the weight of a class of"):
        class_weights(corpus, 1000)
    with pytest.raises(ConfigError, match=r"DataFiles.format is 'word'"):
        DataFiles("a.csv", format="word")
    with pytest.raises(ConfigError, match=r"dev_share is 1"):
        DataFiles("a.csv", dev_share=1)


def test_fixed_targets(corpus):
    assert fixed_targets(corpus) == TARGETS
    many = Corpus(
        tuple(Sentence("a", (Context("price", f"place {n}"),), ("none",)) for n in range(1001)),
        corpus.polarities,
    )
    assert len(fixed_targets(many.subset(range(5)))) == 5
    with pytest.raises(ConfigError, match="1001 targets"):
        fixed_targets(many)


def test_a_setup_from_file_to_model(bert_directory, labelled_csv, tmp_path):
    """Reads, trains, calibrates on the held-out texts, saves; the temperature is stored with the model."""
    from weft.absa import load

    setup = Setup(
        data=DataFiles(str(labelled_csv), columns=Columns(target="target"), dev_share=0.3),
        start=str(bert_directory),
        out=tmp_path / "model",
        model=options(),
        train=settings(epochs=12),
        learning=Learning(Augmentation(concatenate=0.5)),
    )
    outcome = run_setup(setup, quiet=True)
    assert tuple(outcome.history.final) == measured(setup.data.corpora(0)[1])
    asker = load(tmp_path / "model")
    assert asker.config.aspects == ("price", "safety")
    assert asker.config.temperature != 1.0
    assert 0.019 <= asker.config.temperature <= 50.001  # the bounds of the fit
    assert outcome.results["nll"] > 0
    assert outcome.problems == ()


def test_a_run_is_taken_up_with_the_same_data_and_loss(bert_directory, labelled_csv, tmp_path):
    table = Path(shutil.copy(labelled_csv, tmp_path))
    setup = Setup(
        data=DataFiles(str(table), columns=Columns(target="target")),
        out=tmp_path / "out",
        start=str(bert_directory),
        model=options(),
        train=settings(epochs=1),
    )
    run_setup(setup)
    with pytest.raises(ConfigError, match=r"mode is 'min'.*of 'score' the higher is better"):
        run_setup(replace(setup, train=settings(epochs=1, mode="min")))
    moved = table.rename(tmp_path / "moved.csv")
    data = replace(setup.data, train=str(moved))
    # Where the file lies, and how the model is stored, is no part of what was learnt.
    assert run_setup(replace(setup, data=data, int8=True)).history.losses == []
    with pytest.raises(ConfigError, match="other settings or data: learning"):
        run_setup(replace(setup, data=data, learning=Learning(label_smoothing=0.2)))
    text = moved.read_text(encoding="utf-8")
    moved.write_text(text.replace("positive", "?").replace("negative", "positive").replace("?", "negative"))
    with pytest.raises(ConfigError, match="other settings or data: data"):
        run_setup(replace(setup, data=data))


def test_a_setup_that_goes_on_from_a_model(bert_directory, labelled_csv, tmp_path):
    """From a table of two classes to reviews of five, with the options and the words of the first."""
    from weft.absa import load

    data = DataFiles(str(labelled_csv), columns=Columns(target="target"), dev_share=0.3)
    few = settings(epochs=1)
    first = Setup(data=data, start=str(bert_directory), out=tmp_path / "a", model=options(), train=few)
    run_setup(first, quiet=True)
    reviews = DataFiles(str(EXAMPLES / "restaurants.xml"), format="semeval", dev_share=0.25, terms=True)
    train_part, dev = reviews.corpora(0)
    assert TERM_ASPECT in train_part.aspects
    assert TERM_ASPECT not in dev.aspects
    second = Setup(data=reviews, begin=str(tmp_path / "a"), out=tmp_path / "b", train=few)
    assert set(run_setup(second, quiet=True).results) > {"aspect_f1", "accuracy_4"}
    asker = load(tmp_path / "b")
    assert asker.config.options == options()
    assert asker.classes_ == SEMEVAL_POLARITIES
    assert {"price", "safety", "ambience"} < set(asker.config.aspects)


def test_a_setup_names_what_contradicts_itself(labelled_csv):
    data = DataFiles(str(labelled_csv))
    for both in ({}, {"start": "bert", "begin": "absa-small"}):
        with pytest.raises(ConfigError, match="start is"):
            Setup(data=data, out="model", **both)
    for name, value in (("model", options("pair")), ("english", True)):
        with pytest.raises(ConfigError, match=f"{name} is given beside begin"):
            Setup(data=data, out="model", begin="absa-small", **{name: value})
    with pytest.raises(ConfigError, match="terms is for the format 'semeval'"):
        DataFiles(str(labelled_csv), terms=True)

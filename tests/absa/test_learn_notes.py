"""What a training tells about its data before it begins."""

import json
from dataclasses import replace

import pytest

from weft.absa.learn.notes import is_english, notes_about
from weft.absa.learn.setup import DataFiles
from weft.absa.learn.similarity import _regress
from weft.absa.learn.training import course
from weft.absa.read.labelled import read_labelled
from weft.absa.records import Context, Corpus, Problems, Sentence
from weft.absa.use.notes import notes_on
from weft.errors import InputError
from weft.train import TrainConfig


def corpus(*, begin="Text", **rows):
    sentences = [
        Sentence(f"{begin} {name} {number}.", (Context("price"),), (name,))
        for name, count in rows.items()
        for number in range(count)
    ]
    return Corpus(tuple(sentences), ("none", *sorted(set(rows) - {"none"})))


def held(**rows):
    return corpus(begin="Held", **rows)


def notes(train, dev=None):
    return list(notes_about(train, dev or held(none=1, positive=1)))


def test_classes_are_named_with_their_rows():
    (line,) = notes(corpus(none=1200, positive=3))
    assert line == "1,203 texts to train on, 2 held out; rows by class: none 1,200, positive 3"


def test_a_rare_class_that_is_nearly_a_frequent_one():
    said = notes(corpus(none=3, positive=40, positve=2))
    assert said[1:] == ["class 'positve' has 2 rows: is it meant to be 'positive' (41)?"]
    assert len(notes(corpus(none=3, positive=40, positve=30))) == 1
    assert len(notes(corpus(none=3, positive=400, negative=2, neutral=2, conflict=2))) == 1


def test_a_table_of_opinions_alone():
    said = notes(corpus(positive=5, negative=5), held(positive=1))
    assert said[1].startswith(
        "no row says 'none': the model will find an opinion on whatever it is asked about"
    )


def test_answers_of_abstain_are_no_class_to_learn():
    said = notes(corpus(none=5, positive=5, unsure=5))
    assert said[1:] == [
        "class 'unsure' has 5 rows: predict --abstain writes it in place of an opinion; label these rows, or leave "
        "them out"
    ]


def test_a_class_that_is_held_out_alone():
    said = notes(corpus(none=5, positive=5), held(none=1, negative=1))
    assert said[1:] == ["class 'negative' is among the texts held out alone: it cannot be learnt"]


def test_rows_that_cannot_be_used_are_told_once():
    problems = Problems()
    problems.add("a.csv row 7", "column 'text' is empty")
    train = replace(corpus(none=5, positive=5), problems=problems)
    told = "1 row cannot be used; the first: a.csv row 7: column 'text' is empty"
    assert notes(train, replace(held(none=1, positive=1), problems=problems))[1] == told
    assert notes(train, replace(held(none=1, positive=1), problems=Problems()))[1] == told
    assert notes(corpus(none=5, positive=5), replace(held(none=1, positive=1), problems=problems))[1] == told


def test_texts_that_are_held_out_and_trained_on():
    texts = corpus(none=5, positive=5)
    assert notes(texts, texts.subset([0, 7, 9]))[1:] == [
        "3 texts both to train on and held out: figures on these say little"
    ]
    assert len(notes(texts.subset([0, 1, 5]), texts.subset([2, 6, 7]))) == 1


def test_what_a_model_does_not_see_of_its_texts(make):
    asker = make(max_length=8)
    said = ("positive", "none", "positive")
    questions = (Context("price", "LOCATION2"), Context("safety", "LOCATION2"), Context("price", "LOCATION1"))
    texts = [
        Sentence("LOCATION1 is dear.", questions, said),
        Sentence("LOCATION2 is safe but dear but safe", (Context("price"),), ("positive",)),
    ]
    train = Corpus(tuple(texts), ("none", "positive"))
    cut, unmentioned = list(notes_about(train, held(none=1, positive=1), asker))[1:]
    assert cut.startswith(
        "1 of 2 texts to train on: longer than the 8 word pieces of model.max_length, and what"
    )
    assert unmentioned.startswith(
        "1 of 2 opinions about a target: the text does not mention it, such as 'LOCATION2'"
    )


def test_classes_may_be_numbers_and_no_question_marks(tmp_path):
    path = tmp_path / "stars.jsonl"
    said = [5, 1, "None", "?", " ", 2.5, None]
    rows = [{"text": f"Text {n}.", "aspect": "price", "polarity": value} for n, value in enumerate(said)]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    found = read_labelled(str(path))
    assert found.polarities == ("none", "1", "5")
    assert found.gold() == [2, 1, 0]
    assert [problem.what for problem in found.problems.shown] == [
        "polarity '?' is no answer: nothing can be learnt from it, nor measured",
        "column 'polarity' is empty",
        "column 'polarity' holds 2.5, not text",
        "column 'polarity' holds None, not text",
    ]


def test_a_table_too_small_to_hold_out_names_itself_and_the_way_out(tmp_path):
    table = tmp_path / "two.csv"
    table.write_text("text,aspect,polarity\nGood.,room,positive\nBad.,room,negative\n", encoding="utf-8")
    with pytest.raises(InputError, match="2 texts cannot be split") as caught:
        DataFiles(str(table)).corpora(0)
    assert caught.value.where == str(table)
    assert "data.dev" in (caught.value.hint or "")


def test_a_table_held_out_is_under_the_classes_of_the_one_to_train_on(tmp_path):
    paths = [tmp_path / name for name in ("train.csv", "dev.csv")]
    held = ["A.,price,positive", "B.,price,negative", "C.,price,none", "D.,price,mixed"]
    for path, rows in zip(paths, ([*held[:3], "E.,price,neutral"], held), strict=True):
        path.write_text("\n".join(["text,aspect,polarity", *rows]), encoding="utf-8")
    train, dev = DataFiles(str(paths[0]), str(paths[1])).corpora(0)
    assert train.polarities == dev.polarities == ("none", "negative", "neutral", "positive")
    assert dev.gold() == [3, 1, 0]
    assert [problem.what for problem in dev.problems.shown] == ["polarity 'mixed' is not one of the model's"]
    paths[1].write_text("text,aspect,polarity\nD.,price,mixed\n", encoding="utf-8")
    with pytest.raises(InputError, match="no text has answers of"):
        DataFiles(str(paths[0]), str(paths[1])).corpora(0)


def test_of_a_text_only_the_answers_that_a_model_lacks_are_left_out(tmp_path):
    path = tmp_path / "mixed.csv"
    rows = [
        "A.,straps,negative",
        "A.,price,none",
        "A.,zip,mixed",
        "B.,lamp,torn",
        "A.,belt,mixed",
        "C.,lamp,positive",
    ]
    path.write_text("\n".join(["text,aspect,polarity", *rows]), encoding="utf-8")
    corpus = read_labelled(str(path))
    for _ in range(2):
        kept = corpus.labelled_as(("none", "positive", "negative"))
        assert [(s.text, [c.aspect for c in s.contexts]) for s in kept.sentences] == [
            ("A.", ["straps", "price"]),
            ("C.", ["lamp"]),
        ]
        assert kept.gold() == [2, 0, 1]
        assert kept.problems.count == 3
        assert list(kept.problems.lines()) == [
            f"{path} row {row}: polarity {name!r} is not one of the model's"
            for row, name in ((3, "mixed"), (5, "mixed"), (4, "torn"))
        ]
        assert corpus.problems.count == 0
        assert not corpus.problems.shown
    assert kept.labelled_as(("none", "positive")).problems.shown[-1].where == f"{path} row 1"
    bare = Corpus((Sentence("A.", (Context("lamp"),)),), ("none", "mixed"))
    assert bare.labelled_as(("none", "positive")).sentences == bare.sentences


def test_one_question_is_enough_to_fit_on():
    """A spread of one number is none, not NaN."""
    import torch

    logits, features = torch.tensor([[0.1, 0.2, 0.3]]).double(), torch.tensor([[0.4, 0.2]]).double()
    weight, bias = _regress(logits, features, torch.tensor([1]))
    assert bool(weight.isfinite().all() and bias.isfinite().all())


def test_a_model_trained_on_another_language_does_not_wonder_at_it(make, start):
    german = [
        "Der Akku ist leider sehr schlecht und das Netzteil auch.",
        "Ich bin mit dem Gerät nicht zufrieden.",
        "Die Kamera ist gut, aber der Preis ist zu hoch.",
    ]
    english = [
        "The battery is very bad and so is the charger.",
        "I am not happy with it.",
        "It has a good camera.",
    ]

    def of(texts):
        questions, answers = (Context("price"), Context("safety")), ("none", "positive")
        return Corpus(
            tuple(Sentence(f"{text} {n}", questions, answers) for n, text in enumerate(texts * 4)), answers
        )

    assert is_english(of(english))
    assert not is_english(of(german))
    assert is_english(Corpus((*of(english).sentences, of(german).sentences[0]), ("none", "positive")))
    few, options = TrainConfig(steps=1, device="cpu"), make().config.options
    own = course(of(german), start, options, few)[0]
    assert notes_on(german[0], own) == []
    assert notes_on(german[0], own.calibrated(2.0)) == []
    assert notes_on(german[0], course(of(english), start, options, few)[0]) == [
        "the text seems to be in another language than English: de"
    ]
    assert notes_on(german[0], course(of(english), start, options, few, begin=own)[0]) == []

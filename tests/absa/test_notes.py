"""What an answer says beside itself: unsure, threshold, target, language."""

import numpy as np
import pytest

from weft.absa import load
from weft.absa.find.finder import Finder
from weft.absa.records import Context, Sentence
from weft.absa.use.predict import Tally, records
from weft.absa.use.windows import Heard
from weft.platform.language import foreign

TEXT = "LOCATION1 is cheap but not very safe"


@pytest.fixture
def answered(make, monkeypatch):
    asker = make()

    def told(shares, context=None, **options):
        monkeypatch.setattr(asker, "hear", lambda sentences: [Heard(np.array([shares]))])
        (record,) = records(asker, [Sentence(TEXT, (context or Context("price"),))], **options)
        return record["polarity"], record["note"]

    return told


def test_the_most_probable_answer_needs_no_note(answered):
    assert answered([0.2, 0.7, 0.1], threshold=0.5) == ("positive", None)


def test_a_threshold_that_decides_is_named(answered):
    assert answered([0.5, 0.4, 0.1], threshold=0.4) == ("positive", "decided by the threshold 0.4")


def test_unsure_is_said_only_where_asked(answered):
    shares = [0.35, 0.45, 0.2]
    assert answered(shares, threshold=0.5) == ("positive", None)
    polarity, note = answered(shares, threshold=0.5, abstain=0.5)
    assert polarity == "unsure"
    assert note == "positive at 0.45 is less sure than 0.5"
    assert answered(shares, threshold=0.5, abstain=0.4) == ("positive", None)


def test_a_target_that_is_not_there_is_none_and_never_unsure(answered):
    polarity, note = answered([0.35, 0.45, 0.2], Context("price", "Hotel"), threshold=0.5, abstain=0.9)
    assert (polarity, note) == ("none", "the text does not mention Hotel")


def test_another_part_that_is_judged_otherwise_is_named(make, monkeypatch):
    asker = make()
    assert asker.classes_ == ("none", "positive", "negative")

    def note(*windows, answer=(0.1, 0.8, 0.1)):
        heard = Heard(np.array([answer]), np.array([[window] for window in windows]))
        monkeypatch.setattr(asker, "hear", lambda sentences: [heard])
        return records(asker, [Sentence(TEXT, (Context("price"),))], threshold=0.5)[0]["note"]

    praise, silence = (0.1, 0.8, 0.1), (0.9, 0.05, 0.05)
    assert note(praise, (0.1, 0.2, 0.7)) == "another part of the text is judged negative (0.70)"
    assert note(praise, silence, (np.nan,) * 3) is None
    assert note(praise, (0.4, 0.11, 0.49)) is None
    assert note(silence, (0.3, 0.2, 0.5), answer=silence) is None
    assert (
        note((0.1, 0.2, 0.7), praise, answer=(0.1, 0.2, 0.7))
        == "another part of the text is judged positive (0.80)"
    )


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("The rooms were clean and the staff was kind", None),
        ("great phone!!", None),
        ("ok", None),
        ("12 :-)", None),
        ("Das Zimmer war sauber und das Personal sehr freundlich", "de"),
        ("Le personnel est très gentil mais la chambre était sale", "fr"),
        ("房间很干净,员工也很友好", "zh"),
        ("Der Service war super", "de"),
        ("Das Display ist kaputt", "de"),
        ("Le prix est correct", "fr"),
        ("No me gusta nada", "es"),
        ("Non mi piace", "it"),
        ("Veel te duur", "nl"),
        ("Muito caro", "pt"),
        ("Apple Mac OS", None),
        ("great wurst", None),
        ("El Camino Real, Las Vegas", None),
    ],
)
def test_another_language_is_noticed(text, code):
    assert foreign(text) == code


def test_another_language_is_said(make):
    text = "Das Zimmer war sauber und das Personal sehr freundlich"
    (record,) = records(make(), [Sentence(text, (Context("price"),))])
    assert record["note"].endswith("another language than English: de")


def test_one_question_in_each_row_is_read_with_the_other_questions_of_its_text(make, monkeypatch):
    asker = make()
    questions = [Context("price"), Context("safety"), Context("price", "LOCATION1")]
    whole = asker.answer([Sentence(TEXT, tuple(questions)), Sentence("quiet", (questions[0],))])
    seen = []
    read = asker._answer
    monkeypatch.setattr(
        asker, "_answer", lambda sentences, most: seen.append(len(sentences)) or read(sentences, most)
    )
    alone = asker.answer(
        [*(Sentence(TEXT, (question,)) for question in questions), Sentence("quiet", (questions[0],))]
    )
    assert seen == [2]
    assert np.array_equal(np.concatenate(alone[:3]), whole[0])
    assert np.array_equal(alone[3], whole[1])


def test_a_table_says_how_many_answers_say_little(make):
    tally = Tally()
    assert tally.lines() == []
    texts = ["Das Zimmer war sauber und das Personal sehr freundlich", TEXT]
    contexts = (Context("price"), Context("price", "LOCATION1"), Context("price", "Hotel"))
    for text in texts:
        tally.add(records(make(), [Sentence(text, contexts)]))
    assert tally.lines() == [
        "3 of 6 questions name a target that their text does not mention: answered none",
        "3 of 6 questions are about texts that seem to be in another language than English",
    ]


@pytest.mark.parametrize(
    ("text", "there"),
    [
        ("...", False),
        ("?!", False),
        ("&hellip; <b>!!</b> — ", False),
        ("ok", True),
        ("5", True),
        ("😀", True),
        (":(", True),
        ("★★☆☆☆", True),
        ("とても", True),
    ],
)
def test_a_text_without_words_judges_nothing(text, there):
    asker = load("absa-any")
    (record,) = records(asker, [Sentence(text, (Context("general"),))])
    assert (record["note"] == "the text has no words") is not there
    assert there or record["polarity"] == "none"
    assert there or Finder(asker).find([text]) == [[]]

"""Long texts: which opinion it is, by the passage that speaks of it most clearly, beside the whole."""

from dataclasses import replace

import numpy as np
import pytest

from weft.absa.explain.attribution import explain
from weft.absa.find.finder import Finder
from weft.absa.find.nearby import by_category
from weft.absa.find.summary import Summary
from weft.absa.records import Context, Sentence
from weft.absa.use.decide import decide
from weft.absa.use.passages import by_passages, in_paragraphs, passages
from weft.absa.use.sides import leaning
from weft.absa.use.store import load
from weft.absa.use.windows import Heard
from weft.errors import ConfigError

LONG = (
    "The rent is dear. It is a bad rent.\n\nThe location is good. Very good. "
    "The transit is safe. It is quiet. And green."
)
CLASSES = ("none", "positive", "negative")


def test_passages_are_three_sentences_and_share_one():
    found = [LONG[start:stop].strip() for start, stop in passages(LONG)]
    assert found == [
        "The rent is dear. It is a bad rent.\n\nThe location is good.",
        "The location is good. Very good. The transit is safe.",
        "The transit is safe. It is quiet. And green.",
    ]
    six = LONG.removesuffix(" And green.")
    assert [six[start:stop].strip() for start, stop in passages(six)][1:] == [
        "The location is good. Very good. The transit is safe.",
        "Very good. The transit is safe. It is quiet.",
    ]
    assert passages("The rent is dear. It is bad. Very bad. The location is good. And green.") == []
    assert passages("") == passages("the rent") == []


def said(*rows):
    """What every passage answers, the same of each question."""
    upcoming = iter(rows)

    def answer(asked):
        return [Heard(np.array([next(upcoming)] * len(sentence.contexts))) for sentence in asked]

    return answer


def test_the_clearest_passage_moves_the_opinion_and_not_whether_there_is_one():
    contexts = (Context("price"), Context("safety"), Context("price", "rent"), Context("quiet"))
    whole = np.array([[0.2, 0.4, 0.4], [0.2, 0.6, 0.2], [0.2, 0.4, 0.4], [0.81, 0.1, 0.09]])
    heard = Heard(whole)
    (found,) = by_passages(
        [Sentence(LONG, contexts)], [heard], 0.5, said([0.5, 0.1, 0.4], [0.1, 0.8, 0.1], [0.9, 0.0, 0.1])
    )
    assert np.array_equal(found.rows[2:], whole[2:])  # a target, and what is hardly judged
    assert np.array_equal(found.rows[:, 0], whole[:, 0])
    for row, own in zip(found.rows[:2], whole[:2], strict=True):
        among = np.sqrt(own[1:] * [0.8, 0.1])
        assert np.allclose(row[1:], 0.8 * among / among.sum())
    assert found.beside_whole is not None
    assert found.beside_whole.places.tolist() == [[*passages(LONG)[1]]] * 2 + [[-1, -1]] * 2
    assert np.array_equal(heard.rows, whole)


def test_a_weight_of_one_is_the_passage_and_of_none_the_whole():
    sentence, near = Sentence(LONG, (Context("price"),)), [[0.1, 0.6, 0.3]] * 3
    for weight, among in ((0.0, [0.25, 0.75]), (1.0, [2 / 3, 1 / 3])):
        (found,) = by_passages([sentence], [Heard(np.array([[0.2, 0.2, 0.6]]))], weight, said(*near))
        assert np.allclose(found.rows, [[0.2, *(0.8 * share for share in among)]])


@pytest.mark.parametrize("text", ["the rent is dear", "the rent\n\nis dear", LONG.replace("\n\n", " ")])
def test_what_is_short_or_one_paragraph_is_not_asked_again(text):
    def answer(asked):
        raise AssertionError

    heard = [Heard(np.array([[0.2, 0.4, 0.4]]))]
    assert by_passages([Sentence(text, (Context("price"),))], heard, 0.7, answer) == heard


def test_one_paragraph_is_asked_where_that_is_wanted():
    heard = [Heard(np.array([[0.2, 0.4, 0.4]]))]
    sentence = Sentence(LONG.replace("\n\n", " "), (Context("price"),))
    (found,) = by_passages([sentence], heard, 0.7, said(*[[0.1, 0.8, 0.1]] * 3), without_paragraphs=0.0)
    assert np.allclose(found.rows, heard[0].rows)
    assert found.beside_whole is not None
    assert found.beside_whole.places.tolist() == [[*passages(sentence.text)[0]]]


@pytest.mark.parametrize(
    ("text", "has"),
    [
        ("It was good.\n\nIt was bad.", True),
        ("It was good.\r\n\r\nIt was bad.", True),
        ("It was good.\n  \n It was bad.", True),
        ("It was good.<br><br/>It was bad.", True),
        ("<p>It was good.</p><p>It was bad.</p>", True),
        ("It was good.\nIt was bad.", False),
        ("\n\nIt was good. It was bad.\n\n", False),
        ("It was good.<br>It was bad.", False),
    ],
)
def test_paragraphs(text, has):
    assert in_paragraphs(text) is has


def test_questions_of_a_text_and_a_side_and_a_temperature_take_their_part_along():
    contexts = (Context("price"), Context("price", "rent"), Context("safety"))
    whole = np.array([[0.2, 0.4, 0.4], [0.3, 0.4, 0.3], [0.1, 0.6, 0.3]])
    (heard,) = by_passages([Sentence(LONG, contexts)], [Heard(whole)], 0.7, said(*[[0.1, 0.8, 0.1]] * 3))
    picked = heard.of([2, 0])
    assert np.array_equal(picked.rows, heard.rows[[2, 0]])
    assert np.allclose(picked.at(1.0), picked.rows)
    cooler = picked.at(0.5)
    assert (cooler[:, 1] > picked.rows[:, 1]).all()
    leant = heard.leaning("cons", CLASSES)
    assert np.allclose(leant.rows, leaning(heard.rows, "cons", CLASSES))
    assert leant.beside_whole is not None
    assert np.allclose(leant.beside_whole.rows(), leant.rows)


def test_a_model_asks_passages_where_its_configuration_says_so(make):
    asker = make(max_length=64)
    contexts = (Context("price"), Context("safety"), Context("price", "rent"))
    short = Sentence("the rent is dear", contexts)
    before = asker.answer([Sentence(LONG, contexts), short])
    asker.config = replace(asker.config, passage_weight=0.7)
    heard, other = asker.hear([Sentence(LONG, contexts), short])
    assert np.allclose(other.rows, before[1])
    assert np.allclose(heard.rows[2], before[0][2])
    assert np.allclose(heard.rows[:, 0], before[0][:, 0])
    near = asker.in_whole().answer(
        [Sentence(LONG[start:stop], contexts[:2]) for start, stop in passages(LONG)]
    )
    for column in range(2):
        clearest = min((rows[column] for rows in near), key=lambda row: row[0])
        among = before[0][column, 1:] ** 0.3 * clearest[1:] ** 0.7
        assert np.allclose(
            heard.rows[column, 1:], (1 - before[0][column, 0]) * among / among.sum(), atol=1e-6
        )
    assert np.allclose(asker.in_whole().answer([Sentence(LONG, contexts)])[0], before[0])
    assert asker.in_whole().in_whole().config.passage_weight == 0
    with pytest.raises(ConfigError, match=r"AbsaConfig.passage_weight is 1.5; it must be in \[0, 1\]"):
        replace(asker.config, passage_weight=1.5)


def test_an_explanation_says_what_is_answered(make):
    asker = make(max_length=64)
    asker.config = replace(asker.config, passage_weight=0.7)
    explained = explain(asker, LONG, "price", method="gradient")
    (row,) = asker.answer([Sentence(LONG, (Context("price"),))])[0]
    assert np.allclose([*explained.probabilities.values()], row, atol=1e-6)


def test_categories_have_their_own_passage(make):
    asker = make(max_length=64)
    contexts = (Context("rent"), Context("price"), Context("safety"))
    texts = [Sentence(LONG, contexts), Sentence("the rent is dear", contexts)]
    whole = asker.answer(texts)
    assert by_category(asker, texts, whole, contexts[1:])[1] == [{}, {}]
    asker.config = replace(asker.config, passage_weight=0.7)
    rows, places = by_category(asker, texts, whole, contexts[1:])
    assert np.array_equal(rows[0][0], whole[0][0])
    assert np.allclose(rows[0][1:], asker.answer(texts)[0][1:], atol=1e-6)
    assert np.array_equal(rows[1], whole[1])
    assert set(places[0].values()) <= set(passages(LONG))
    assert (set(places[0]) <= set(contexts[1:]), places[1]) == (True, {})


REVIEW = (
    "We booked Delmore Tours for a week in the mountains. The booking took one call and the papers came the next day. "
    "\n\nOn the first morning the bus was late and nobody rang us. The driver was rude and smelled of smoke. "
    "\n\nThe hotel was another matter. Our room looked over the lake, spotless and quiet. "
    "Breakfast was cold and there was never enough of it. The guide, though, knew every flower. "
    "She waited for my mother at each climb and carried her bag. "
    "\n\nThe last day was spoiled by the bus again, which broke down twice. We got home at three in the morning."
)


def test_shipped_what_is_said_of_other_things_makes_no_conflict():
    asker = load("absa-any")
    sentence = Sentence(REVIEW, tuple(map(Context, ("guide", "driver", "booking"))))
    said = [
        [one.classes_[n] for n in decide(one.answer([sentence])[0], one.config.threshold)]
        for one in (asker, asker.in_whole())
    ]
    assert said == [["positive", "negative", "positive"], ["positive", "conflict", "conflict"]]


def test_shipped_a_category_without_a_name_shows_where_it_is_spoken_of(tmp_path):
    from weft.absa.find.domain import Category

    finder = Finder(load("absa-any"), [Category("punctuality", ()), Category("cleanliness", ())], ask=True)
    (found,) = finder.find([REVIEW])
    unnamed = {finding.category: finding for finding in found if finding.term is None}
    assert unnamed
    summary = Summary()
    summary.add(1, REVIEW, found)
    for category, finding in unnamed.items():
        assert finding.passage in passages(REVIEW)
        start, stop = finding.passage
        assert all(start <= a and b <= stop for a, b in finding.places)
        (aspect,) = (aspect for aspect in summary.aspects() if aspect.name == category)
        (example,) = aspect.examples(finding.polarity)
        assert REVIEW[start:stop].strip()[:40] in example.text


def test_a_passage_of_a_conversation_has_no_labels(make, monkeypatch):
    asker = make(max_length=64, as_meant=True)
    asker.config = replace(asker.config, passage_weight=0.7)
    text = (
        "Agent: Is the rent dear?\n\nCustomer: The rent is good. Very good.\n\n"
        "Agent: And the transit?\n\nCustomer: The transit is bad. Very bad. And the location is quiet."
    )
    asked = []
    answer = asker._answer

    def noted(sentences, most):
        asked.append([sentence.text for sentence in sentences])
        return answer(sentences, most)

    monkeypatch.setattr(asker, "_answer", noted)
    asker.hear([Sentence(text, (Context("price"),))])
    whole, near = asked
    assert whole == [text]
    assert len(near) > 1
    assert not any(label in passage for passage in near for label in ("Agent", "Customer"))

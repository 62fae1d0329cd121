"""What a list names is found, where the tagger misses it, too."""

from __future__ import annotations

import numpy as np
import pytest

from weft.absa.find.domain import Category
from weft.absa.find.finder import Finder
from weft.absa.find.places import with_items
from weft.absa.find.spans import Span
from weft.absa.represent.meant import named_by_layout
from weft.absa.use.store import load


def test_items_of_lists_and_labels_are_named() -> None:
    text = "Likes: the balcony, no noise, sofa bed. Dislikes: lift. Support :( Cabin ❤️\n+ my bed\n- pool"
    assert [text[start:stop] for start, stop in named_by_layout(text)] == [
        "balcony",
        "sofa bed",
        "lift",
        "Support",
        "Cabin",
        "bed",
        "pool",
    ]
    assert named_by_layout("- one\n- two. The bar was loud :( really") == []


def test_an_item_is_a_term_where_the_tagger_has_none() -> None:
    text = "x" * 50
    tagged = [Span(0, 4), Span(6, 9, "opinion"), Span(10, 14), Span(20, 25, "opinion"), Span(40, 44)]
    assert with_items(text, tagged, [(5, 9), (10, 18), (26, 30)]) == [
        Span(0, 4),
        Span(5, 9, "item"),
        Span(10, 14),
        Span(20, 25, "opinion"),
        Span(26, 30, "item"),
        Span(40, 44),
    ]
    assert with_items(text, [], [(1, 2)]) == [Span(1, 2, "item")]
    assert with_items(text, tagged, []) == tagged
    text = "Cons: lift\nPros: pool"
    assert with_items(text, [Span(6, 15), Span(17, 21)], [(6, 10), (17, 21)]) == [
        Span(6, 10, "item"),
        Span(17, 21),
    ]


def test_lists_are_found_with_their_polarity() -> None:
    texts = [
        "Likes: balcony, sofa bed. Dislikes: lift, neighbours.",
        "+ keyboard\n+ hinge\n- trackpad\n- fan",
    ]
    asker = load("absa-any")
    found = [{f.term: f.polarity for f in findings} for findings in Finder(asker).find(texts)]
    assert found == [
        {"balcony": "positive", "sofa bed": "positive", "lift": "negative", "neighbours": "negative"},
        {"keyboard": "positive", "hinge": "positive", "trackpad": "negative", "fan": "negative"},
    ]
    written = Finder(asker.as_written()).find(texts)
    assert sum(map(len, written)) < 8


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Pros: Cons: everything", [("everything", "negative")]),
        ("Pros: none\nCons: everything", [("everything", "negative")]),
        ("Pros: stock options / Cons: worth nothing", [("stock options", "positive"), (None, "negative")]),
    ],
)
def test_what_stands_below_a_head_is_of_it(text, expected) -> None:
    (found,) = Finder(load("absa-any")).find([text])
    assert [(one.term, one.polarity) for one in found] == expected


def test_an_item_that_judges_by_itself_names_nothing() -> None:
    finder = Finder(load("absa-any"), [Category("price", ("cheap", "expensive"))])
    (found,) = finder.find(["+ cheap\n+ friendly\n+ easy to use\n- basket\n- slow"])
    assert [(f.term, f.category, f.polarity, f.words) for f in found] == [
        (None, "price", "positive", ("cheap",)),
        (None, "general", "positive", ("friendly",)),
        (None, "general", "positive", ("easy to use",)),
        ("basket", None, "negative", ()),
        (None, "general", "negative", ("slow",)),
    ]
    assert [f.places for f in found][:2] == [((2, 7),), ((10, 18),)]


def test_the_items_of_lists_have_the_threshold_of_questions_and_probabilities_that_sum_to_one(
    monkeypatch,
) -> None:
    """Between the threshold of questions, .3, and that of terms, .7: an item counts, a term of a sentence does not."""
    asker = load("absa-any")

    def answer(_, asked):
        whole, near = (0.8, 0.2, 0, 0, 0), (0.2, 0.8, 0, 0, 0)
        return [np.array([near if c.target else whole for c in s.contexts]) for s in asked]

    monkeypatch.setattr(type(asker), "answer", answer)
    items, sentence, judging = Finder(asker).find(
        ["+ keyboard\n- fan", "The keyboard is good.", "+ cheap\n- fan"]
    )
    assert [(f.term, f.confidence) for f in items] == [("keyboard", 1.0), ("fan", 1.0)]
    assert [f.term for f in sentence] == []
    assert [(f.term, f.confidence) for f in judging] == [(None, pytest.approx(0.5)), ("fan", 1.0)]

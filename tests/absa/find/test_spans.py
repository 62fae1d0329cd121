"""Tags become whole words, and judging words find what they judge."""

import time

import pytest

from weft.absa.find.spans import Span, nearest, spans_of
from weft.absa.model.terms import TAGS
from weft.absa.represent.spelling import shown_in_place

TEXT = "The battery-life is great, but the screen is dim."


def tagged(text, **names):
    """Offsets and tags of pieces, two letters each, of the words named: ``battery="B-term"``."""
    offsets, tags = [(0, 0)], [0]
    for word in text.split():
        start = text.index(word)
        for first in range(start, start + len(word), 2):
            offsets.append((first, min(first + 2, start + len(word))))
            name = names.get(word.strip(".,"), "O")
            if name.startswith("B") and first > start:
                name = "I" + name[1:]
            tags.append(TAGS.index(name))
    return [*offsets, (0, 0)], [*tags, 0]


def words(text, spans):
    return [(text[s.start : s.stop], s.kind) for s in spans]


def test_whole_words_are_found_and_punctuation_is_cut_off():
    offsets, tags = tagged(TEXT, **{"battery-life": "B-term", "great": "B-opinion", "dim": "B-opinion"})
    found = spans_of(TEXT, offsets, tags)
    assert words(TEXT, found) == [("battery-life", "term"), ("great", "opinion"), ("dim", "opinion")]


@pytest.mark.parametrize(
    "word",
    ["camera’s", "camera&#39;s", "camera&rsquo;s", "cafe\u0301", "two-in-one", "check‑in", "caf&eacute;"],
)
def test_a_word_is_whole_however_it_is_written(word):
    text = f"The {word} mode."
    offsets, tags = [(0, 0), (4, 6)], [0, TAGS.index("B-term")]
    assert words(text, spans_of(text, offsets, tags)) == [(word, "term")]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("the pizza 🍕 was", "pizza"),
        ("the 👩‍👧 seats 🏊🏽‍♀️ was", "seats"),
        ("the 🍞 was", "🍞"),
        ("the rock 🎸 band was", "rock 🎸 band"),
    ],
)
def test_an_emoji_beside_a_term_is_none_of_its_words(text, named):
    offsets = [(i, i + 1) for i, letter in enumerate(text) if letter != " "]
    inside = range(text.index("the ") + 4, text.index(" was"))
    tags = [TAGS.index("I-term" if start in inside else "O") for start, _ in offsets]
    assert words(text, spans_of(text, offsets, tags)) == [(named, "term")]
    tags = [TAGS.index("I-opinion" if start in inside else "O") for start, _ in offsets]
    assert words(text, spans_of(text, offsets, tags)) == [(text[inside.start : inside.stop], "opinion")]


def test_a_letter_with_a_sign_is_one_name():
    text = "our C++ and C# code"
    offsets = [(4, 5), (5, 6), (6, 7), (8, 11), (12, 13), (13, 14), (15, 19)]
    tags = [TAGS.index(name) for name in ("B-term", "O", "B-term", "O", "B-term", "O", "I-term")]
    assert words(text, spans_of(text, offsets, tags)) == [("C++", "term"), ("C# code", "term")]


def test_what_a_page_writes_for_a_character_is_no_word_of_its_own():
    text = "<b>front&nbsp;desk</b> &quot;rude&quot;"
    offsets = [(3, 8), (14, 18), (23, 29), (29, 33), (33, 39)]
    tags = [TAGS.index(name) for name in ("B-term", "I-term", "B-opinion", "I-opinion", "I-opinion")]
    found = words(text, spans_of(text, offsets, tags))
    assert found == [("front&nbsp;desk", "term"), ("rude", "opinion")]


def test_what_a_page_writes_for_a_character_ends_no_clause():
    text = "The tea &amp; the cake<br/>isn&#39;t nice; the soup was&hellip;"
    shown = shown_in_place(text)
    assert len(shown) == len(text)
    assert [shown.index(mark) for mark in "&;…"] == [8, text.index("; the soup"), text.index("&hellip;")]
    terms = [Span(text.index(word), text.index(word) + len(word)) for word in ("tea", "cake", "soup")]
    opinion = Span(text.index("nice"), text.index("nice") + 4, "opinion")
    assert nearest(shown, opinion, terms) == 1
    assert nearest(text, opinion, terms) == 2
    assert nearest(shown, opinion, terms[:1]) == 0


def test_judging_words_are_looked_at_in_time_that_grows_with_the_text():
    text = "Soup and bread " * 5_000
    terms = [Span(start, start + 4) for start in range(0, len(text), 15)]
    begun = time.process_time()
    assert [nearest(text, Span(term.stop + 5, term.stop + 10, "opinion"), terms) for term in terms] == [
        number if number == len(terms) - 1 else number + 1 for number in range(len(terms))
    ]
    assert time.process_time() - begun < 5


def test_a_token_outside_of_all_words_is_passed_over():
    tags = [TAGS.index("B-term")]
    assert spans_of("   ", [(0, 1)], tags) == []
    assert spans_of("  a", [(0, 1)], tags) == []


def test_words_that_go_on_are_one_and_a_new_beginning_is_another():
    text = "pad thai rice was good"
    offsets, tags = tagged(text, pad="B-term", thai="I-term", rice="B-term")
    assert words(text, spans_of(text, offsets, tags)) == [("pad thai", "term"), ("rice", "term")]


def test_a_span_that_goes_on_without_beginning_counts():
    text = "the tea there"
    assert words(text, spans_of(text, *tagged(text, tea="I-term"))) == [("tea", "term")]


def test_nothing_tagged_is_nothing_found():
    assert spans_of(TEXT, *tagged(TEXT)) == []
    assert spans_of(" ?! ", [(0, 0), (1, 3), (0, 0)], [0, 1, 0]) == []


@pytest.mark.parametrize(
    ("opinion", "term"), [("great", "battery-life"), ("dim", "screen"), ("The", "battery-life")]
)
def test_judging_words_belong_to_the_nearest_term_of_their_clause(opinion, term):
    terms = [span_of("battery-life"), span_of("screen")]
    number = nearest(TEXT, span_of(opinion), terms)
    assert TEXT[terms[number].start : terms[number].stop] == term


@pytest.mark.parametrize("text", ["Pros:\n- pool\n- bar\n{}\n- lift", "Pros: pool, bar. {} lift, door"])
@pytest.mark.parametrize("head", ["Cons:", "**Cons**:"])
def test_what_heads_a_list_belongs_to_its_first_item(text, head):
    text = text.format(head)
    terms = [Span(text.index(word), text.index(word) + len(word)) for word in ("pool", "bar", "lift")]
    at = text.index("Cons")
    assert nearest(text, Span(at, at + 4, "opinion"), terms) == 2
    shown = shown_in_place(text.replace("\n", "<br>"))
    assert [line.strip() for line in shown.split("\n")] == text.split("\n")


def test_without_a_term_in_the_sentence_they_belong_to_none():
    text = "The soup came. Awful!"
    assert nearest(text, Span(15, 20, "opinion"), [Span(4, 8)]) is None
    assert nearest(text, Span(15, 20, "opinion"), []) is None


def test_an_end_of_a_clause_counts_more_than_a_short_way():
    text = "the screen of this phone is what you see as dim, but soup"
    words_ = [Span(text.index(word), text.index(word) + len(word)) for word in ("screen", "soup")]
    assert nearest(text, Span(text.index("dim"), text.index("dim") + 3, "opinion"), words_) == 0


def test_a_term_in_another_clause_is_better_than_none():
    text = "the soup, but awful"
    assert nearest(text, Span(14, 19, "opinion"), [Span(4, 8)]) == 0


def span_of(word):
    start = TEXT.index(word)
    return Span(start, start + len(word))

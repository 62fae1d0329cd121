"""Tags become whole words, and judging words find what they judge."""

import pytest

from weft.absa.find.spans import Span, nearest, spans_of
from weft.absa.model.terms import TAGS

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


@pytest.mark.parametrize("word", ["camera’s", "camera&#39;s", "camera&rsquo;s", "cafe\u0301", "two-in-one"])
def test_a_word_is_whole_however_it_is_written(word):
    text = f"The {word} mode."
    offsets, tags = [(0, 0), (4, 6)], [0, TAGS.index("B-term")]
    assert words(text, spans_of(text, offsets, tags)) == [(word, "term")]


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

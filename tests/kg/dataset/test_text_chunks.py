"""Chunks of text: every stored span, cut out of the source, is the stored text, on Unicode of all kinds."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.kg.dataset import text_chunks as module
from weft.kg.dataset.chunks import Chunk
from weft.kg.dataset.text_chunks import pack_sentences, text_chunks
from weft.kg.dataset.tokens import NO_WORD
from weft.kg.dataset.vocabulary import learn_vocabulary
from weft.kg.link.linker import Linker
from weft.kg.link.words import fold
from weft.kg.read.documents import Mention, TextDocument
from weft.kg.read.funnel import Funnel
from weft.kg.read.seeds import Entity
from weft.kg.read.sentences import sentence_starts

TOKENIZER = learn_vocabulary(["The river flows through the city of Paris. Ça coule. Привет, мир!"] * 3, 340)

# Combining marks, emoji with joiners and skin tones, right-to-left, CRLF, a byte order mark, NUL, scripts
# without spaces, wide and invisible spaces, characters beyond the basic plane.
PIECES = [
    "Paris",
    "New York",
    "e\u0301te\u0301",
    "été",
    "\u0905\u0928\u0941\u0938\u0902",
    "👩‍👩‍👧",
    "👍🏽",
    "مرحبا بالعالم",
    "שָׁלוֹם",
    "\r\n",
    "\n\n",
    "\r",
    "\ufeff",
    "\x00",
    "\u200b",
    "\u00a0",
    "\u2028",
    "東京。",
    "𝔘𝔫𝔦",
    "ﬁ",
    "İ",
    "ß",
    ". ",
    "? ",
    " ",
    "\t",
    "-",
    "U.S. ",
    "x" * 40,
]
TEXTS = st.lists(
    st.one_of(st.sampled_from(PIECES), st.text(min_size=1, max_size=6)), min_size=1, max_size=40
).map("".join)
NAMES = ("Paris", "New York", "été", "مرحبا", "👍🏽", "\u0905\u0928\u0941\u0938\u0902", "𝔘𝔫𝔦", "York", "ß")


def test_a_chunk_looks_at_its_own_mentions_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[int] = []
    of_one = module._chunk

    def counted(*given: Any) -> Chunk:
        looked.append(len(given[-1]))
        return of_one(*given)

    monkeypatch.setattr(module, "_chunk", counted)
    text = "Paris lies here. " * 200
    starts = [17 * number for number in range(200)]
    document = TextDocument("a", text, tuple(Mention(start, start + 5, 0, "Paris") for start in starts))
    chunks = text_chunks(document, TOKENIZER.encode(text), 64, Funnel(), overlap=16)
    assert [len(chunk.mentions) for chunk in chunks] == looked
    assert sum(looked) < 2 * len(starts)


@settings(max_examples=150, deadline=None)
@given(TEXTS, st.integers(8, 40), st.integers(0, 7), st.data())
def test_every_stored_span_is_the_stored_text(
    text: str, roots: int, overlap: int, data: st.DataObject
) -> None:
    if data.draw(st.booleans(), label="given mentions"):
        ends = st.tuples(st.integers(0, len(text)), st.integers(0, len(text)))
        spans = data.draw(st.lists(ends.map(sorted), max_size=6), label="spans")
        given_ = tuple(Mention(a, b, n, f"entity {n}", "T") for n, (a, b) in enumerate(spans) if a < b)
        document = TextDocument("d", text, given_)
    else:
        document = Linker([Entity(name) for name in NAMES]).link(TextDocument("d", text))
    tokens = TOKENIZER.encode(text)
    funnel = Funnel()
    chunks = text_chunks(document, tokens, roots, funnel, overlap)
    covered = set()
    for chunk in chunks:
        assert 0 < len(chunk.ids) <= roots
        assert len(set(chunk.names)) <= NO_WORD
        covered |= set(zip(chunk.starts.tolist(), chunk.ends.tolist(), strict=True))
        for mention in chunk.mentions:
            assert text[mention.start : mention.end] == mention.text
            first, last = mention.first, mention.first + mention.length - 1
            assert (chunk.starts[first], chunk.ends[last]) == (mention.start, mention.end)
            assert (chunk.words[first : last + 1] == mention.word).all()
            assert chunk.names[mention.word] == mention.name
            # The tokens spell the place and nothing else.
            assert fold(TOKENIZER.text(chunk.ids[first : last + 1].tolist())).replace(" ", "") == fold(
                mention.text
            ).replace(" ", "")
    assert covered == set(zip(tokens.starts.tolist(), tokens.ends.tolist(), strict=True))
    outside = "".join(
        character
        for place, character in enumerate(text)
        if not any(start <= place < end for start, end in covered)
    )
    assert not outside.strip()
    kept = {(m.start, m.end, m.entity) for chunk in chunks for m in chunk.mentions}
    assert funnel.counts["mentions"] - funnel.counts["mentions longer than a chunk"] <= len(document.mentions)
    assert kept <= {(m.start, m.end, m.entity) for m in document.mentions}
    lost = len(document.mentions) - funnel.counts["mentions"]
    assert lost == sum(
        funnel.counts[reason]
        for reason in (
            "mentions that no tokens fit",
            "mentions that overlap another",
            "mentions inside another of their entity",
        )
    )


@settings(max_examples=100, deadline=None)
@given(
    st.integers(1, 60).flatmap(
        lambda total: st.tuples(
            st.just(total),
            st.lists(st.integers(0, total - 1), max_size=8, unique=True).map(sorted),
            st.integers(2, 20),
            st.integers(0, 10),
        )
    )
)
def test_packing_covers_every_token(case: tuple[int, list[int], int, int]) -> None:
    total, starts, size, overlap = case
    free = np.ones(total + 1, dtype=bool)
    spans, hard = pack_sentences(total, np.array(starts, dtype=np.int64), free, size, min(overlap, size - 1))
    assert spans[0][0] == 0
    assert spans[-1][1] == total
    for (start, stop), (next_start, next_stop) in pairwise(spans):
        assert start < next_start <= stop < next_stop
        assert stop - next_start <= overlap
        assert next_start == stop or next_start in starts
    assert all(0 < stop - start <= size for start, stop in spans)
    assert hard == sum(stop not in starts and stop != total for _, stop in spans)


def test_chunks_end_at_sentences_and_cut_long_ones_between_words() -> None:
    text = "One two three. Four five six. " + "long " * 30 + "end."
    document = TextDocument("d", text)
    funnel = Funnel()
    chunks = text_chunks(document, TOKENIZER.encode(text), 20, funnel)
    pieces = [text[chunk.starts[0] : chunk.ends[-1]] for chunk in chunks]
    assert pieces[0].endswith(".")
    assert funnel.counts["cuts inside a sentence"] >= 1
    assert all(piece.split()[-1] in {"long", "end.", "six.", "three."} for piece in pieces)


def test_no_cut_falls_into_a_mention() -> None:
    text = "a b c d e f g h i j New York City k l m n."
    start = text.index("New")
    document = TextDocument("d", text, (Mention(start, start + len("New York City"), 0, "New York City"),))
    tokens = TOKENIZER.encode(text)
    long = len(TOKENIZER.encode("New York City"))
    for roots in range(long, len(tokens)):
        chunks = text_chunks(document, tokens, roots, Funnel())
        assert sum(len(chunk.mentions) for chunk in chunks) == 1, roots
    funnel = Funnel()
    assert not any(chunk.mentions for chunk in text_chunks(document, tokens, long - 1, funnel))
    assert funnel.listed["mentions longer than a chunk"] == [f"d: 'New York City' at {start}"]


def test_a_repeated_part_is_whole_sentences() -> None:
    text = " ".join(f"Sentence number {number} is here." for number in range(12))
    document = TextDocument("d", text)
    tokens = TOKENIZER.encode(text)
    chunks = text_chunks(document, tokens, 60, Funnel(), overlap=30)
    starts = [int(chunk.starts[0]) for chunk in chunks]
    assert all(text[start:].startswith("Sentence") for start in starts)
    assert all(a.ends[-1] > b.starts[0] for a, b in pairwise(chunks))


def test_mentions_of_one_entity_share_a_word_and_overlapping_ones_are_listed() -> None:
    text = "Wilfried Schneider won. Schneider is German. New York City"
    city = text.index("New")
    mentions = (
        Mention(0, 18, 0, "Wilfried Schneider", "PER"),
        Mention(9, 18, 0, "Wilfried Schneider", "PER"),
        Mention(24, 33, 0, "Wilfried Schneider", "PER"),
        Mention(city, city + 13, 1, "New York City"),
        Mention(city + 4, city + 8, 2, "York"),
        Mention(city - 1, city + 3, 3, " New"),
    )
    funnel = Funnel()
    (chunk,) = text_chunks(TextDocument("d", text, mentions), TOKENIZER.encode(text), 100, funnel)
    assert [(m.text, m.word) for m in chunk.mentions] == [
        ("Wilfried Schneider", 0),
        ("Schneider", 0),
        ("New York City", 1),
    ]
    assert funnel.counts["mentions inside another of their entity"] == 1
    assert funnel.listed["mentions that overlap another"] == [f"d: 'York' at {city + 4}"]
    assert funnel.listed["mentions that no tokens fit"] == [f"d: ' New' at {city - 1}"]


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("It rained. We left.", ["It rained. ", "We left."]),
        ("Dr. Smith met J. S. Bach. He left.", ["Dr. Smith met J. S. Bach. ", "He left."]),
        ("He paid 3.50 dollars. then left", ["He paid 3.50 dollars. then left"]),
        ('"Stop!" she said. (Why?) No one knew.', ['"Stop!" she said. ', "(Why?) ", "No one knew."]),
        ("東京。京都。", ["東京。", "京都。"]),
        ("A title\n\nThe text", ["A title\n\n", "The text"]),
        ("One\r\n\r\nTwo", ["One\r\n\r\n", "Two"]),
        ("هل تعلم؟ نعم", ["هل تعلم؟ ", "نعم"]),
        ("Roe v. Wade was decided c. 1973. It fell.", ["Roe v. Wade was decided c. 1973. ", "It fell."]),
        (
            "Ann was born in Oslo.[1] Bo died.[2][citation needed] X.",
            ["Ann was born in Oslo.[1] ", "Bo died.[2][citation needed] ", "X."],
        ),
        (
            "He left Apple Inc. He lived in the U.S. The end.",
            ["He left Apple Inc. ", "He lived in the U.S. ", "The end."],
        ),
        (
            "Apple Inc. Chairman K. He met plan B. She left.",
            ["Apple Inc. Chairman K. He met plan B. ", "She left."],
        ),
        ("He said no. No. 5 won.", ["He said no. ", "No. 5 won."]),
        (
            "1. Warner Bros. Records\n2. Ft. Worth. It was 20. We left.",
            ["1. Warner Bros. Records\n", "2. Ft. Worth. ", "It was 20. ", "We left."],
        ),
        ("", [""]),
    ],
)
def test_sentences(text: str, sentences: list[str]) -> None:
    starts = [*sentence_starts(text), len(text)]
    assert [text[a:b] for a, b in pairwise(starts)] == sentences

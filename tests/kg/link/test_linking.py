"""Links: exact names, near names, given mentions."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.errors import ConfigError
from weft.kg.link import near as near_module
from weft.kg.link.dictionary import Dictionary
from weft.kg.link.linker import Linker
from weft.kg.link.near import NearNames, gram_codes
from weft.kg.link.words import fold, split_words
from weft.kg.read.documents import Mention, TextDocument
from weft.kg.read.funnel import Funnel
from weft.kg.read.seeds import Entity


def linked(text: str, names: list[str], near: float | None = None) -> list[tuple[str, str]]:
    document = Linker([Entity(name) for name in names], near).link(TextDocument("d", text))
    return [(text[m.start : m.end], m.name) for m in document.mentions]


@pytest.mark.parametrize(
    ("text", "names", "expected"),
    [
        # All occurrences, whatever the case.
        ("Paris, PARIS and paris.", ["Paris"], [("Paris", "Paris"), ("PARIS", "Paris"), ("paris", "Paris")]),
        # Only whole words.
        ("Parisian comparison", ["Paris"], []),
        # The longest name.
        ("New York City", ["New York", "York", "New York City"], [("New York City", "New York City")]),
        # Over a line break and with other spaces.
        ("New\r\nYork or", ["New York"], [("New\r\nYork", "New York")]),
        ("New\u00a0 York", ["New York"], [("New\u00a0 York", "New York")]),
        # Punctuation inside a name counts.
        ("the U.S. and the US", ["U.S."], [("U.S.", "U.S.")]),
        # Composed or not.
        ("cafe\u0301", ["café"], [("cafe\u0301", "café")]),
        # However the apostrophe is written.
        ("at O’Hare", ["O'Hare"], [("O’Hare", "O'Hare")]),
        ("STRASSE", ["Straße"], [("STRASSE", "Straße")]),
        # A combining mark belongs to its word: हिन is no part of हिन्दी.
        ("हिन्दी", ["हिन"], []),
        ("हिन्दी", ["हिन्दी"], [("हिन्दी", "हिन्दी")]),
        ("in مصر today", ["مصر"], [("مصر", "مصر")]),
        # One word in capitals is not the word in small letters, unless nothing is in capitals.
        ("He, who asked WHO", ["WHO"], [("WHO", "WHO")]),
        ("Who asked?", ["WHO"], [("Who", "WHO")]),
        ("who asked who?", ["WHO"], [("who", "WHO"), ("who", "WHO")]),
        ("The world health organization", ["WORLD HEALTH"], [("world health", "WORLD HEALTH")]),
        ("A who of whos", ["WHO", "who"], [("who", "WHO")]),
        ("A x", ["X"], [("x", "X")]),
        ("", ["a"], []),
        ("text", [], []),
    ],
)  # fmt: skip
def test_exact_names(text: str, names: list[str], expected: list[tuple[str, str]]) -> None:
    assert linked(text, names) == expected


WORDS = st.sampled_from(["a", "b", "c", "ab", "."])


@settings(max_examples=150, deadline=None)
@given(
    st.lists(WORDS, max_size=14),
    st.lists(st.lists(WORDS, min_size=1, max_size=3), max_size=6, unique_by=tuple),
)
def test_exact_names_against_every_substring(text: list[str], names: list[list[str]]) -> None:
    """Left to right, at each free place the longest name that stands there."""
    expected, place = [], 0
    while place < len(text):
        fits = [n for n in names if text[place : place + len(n)] == n]
        if fits:
            best = max(fits, key=len)
            expected.append((place, place + len(best), " ".join(best)))
            place += len(best)
        else:
            place += 1
    entities = [Entity(" ".join(name)) for name in names]
    words = split_words(" ".join(text))
    found, _ = Dictionary(entities).find(words)
    assert [(m.first, m.stop, entities[m.entity].name) for m in found] == expected


def test_names_inside_or_across_a_match_are_noted() -> None:
    funnel = Funnel()
    entities = [Entity(name) for name in ("New York", "York", "York Minster", "Minster")]
    linker = Linker(entities, None, funnel)
    document = linker.link(TextDocument("d", "New York Minster"))
    assert [m.name for m in document.mentions] == ["New York", "Minster"]
    # At each place the longest name: "York Minster", not "York".
    assert funnel.counts["names over another name"] == 1
    assert funnel.noted["names over another name"] == Counter({"York Minster in New York": 1})


def test_names_of_two_entities_and_names_without_a_word_are_listed() -> None:
    funnel = Funnel()
    Dictionary(
        [Entity("Paris", aliases=("Lutetia",)), Entity("Paris Hilton", aliases=("PARIS", " "))], funnel
    )
    assert funnel.listed["names that two entities share"] == ["'PARIS': Paris; Paris Hilton"]
    assert funnel.listed["names without a word"] == ["' '"]


def test_aliases_link_to_their_entity() -> None:
    linker = Linker([Entity("Rhine", "river", ("Rhein",))], None)
    (mention,) = linker.link(TextDocument("d", "Der Rhein.")).mentions
    assert mention == Mention(4, 9, 0, "Rhine", "river")


def jaccard(first: str, second: str) -> float:
    """J of the 3-grams of two strings; 0 where neither has three characters."""
    a, b = ({text[place : place + 3] for place in range(len(text) - 2)} for text in (first, second))
    return len(a & b) / len(a | b) if a | b else 0.0


def test_jaccard_by_hand() -> None:
    # main: mai ain; mainz: mai ain inz.
    assert jaccard("main", "mainz") == pytest.approx(2 / 3)
    assert jaccard("of germany", "germany") == pytest.approx(5 / 8)
    assert jaccard("ab", "ab") == 0.0
    assert jaccard("aaaa", "aaa") == 1.0
    assert len(set(gram_codes("a\U0001f44d\U0010ffffb").tolist())) == 2
    for first, second in (("main", "mainz"), ("aaaa", "aaa"), ("of germany", "germany")):
        near = NearNames({second: 7}, 0.0)
        assert near.best(first) == (7, pytest.approx(jaccard(first, second)))


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.text("abc ", min_size=1, max_size=9).map(fold).filter(bool), min_size=1, max_size=8, unique=True
    ),
    st.text("abcd ", max_size=9).map(fold),
    st.sampled_from([0.0, 0.3, 0.5, 0.8]),
)
def test_nearest_name_is_brute_force(names: list[str], query: str, threshold: float) -> None:
    index = NearNames({name: number + 10 for number, name in enumerate(names)}, threshold)
    values = [jaccard(query, name) for name in names]
    best = int(np.argmax(values))
    entity, value = index.best(query)
    if values[best] > threshold:
        assert (entity, value) == (best + 10, pytest.approx(values[best]))
    else:
        assert (entity, value) == (-1, 0.0)


def test_near_names_in_a_text() -> None:
    names = ["diabetes mellitus", "Nizhny Novgorod", "insulin"]
    text = "Diabetis mellitus near Nizhni Novgorod needs insulins and insulin."
    assert linked(text, names, 0.5) == [
        ("Diabetis mellitus", "diabetes mellitus"),
        ("Nizhni Novgorod", "Nizhny Novgorod"),
        ("insulins", "insulin"),
        ("insulin", "insulin"),
    ]
    assert linked(text, names) == [("insulin", "insulin")]
    # "insulins" ends as it begins: its 3-grams are those of "insulin". The others are less near.
    assert linked(text, names, 0.9) == [("insulins", "insulin"), ("insulin", "insulin")]


def test_a_near_name_neither_covers_an_exact_one_nor_takes_a_short_word_in() -> None:
    assert linked("the Germany of Germany", ["Germany"], 0.5) == [("Germany", "Germany")] * 2
    assert linked("of Germanys", ["Germany"], 0.5) == [("Germanys", "Germany")]
    assert linked("Rhine Rhines", ["Rhine"], 0.5) == [("Rhine", "Rhine"), ("Rhines", "Rhine")]


def test_near_links_are_noted() -> None:
    funnel = Funnel()
    Linker([Entity("insulin")], 0.5, funnel).link(TextDocument("d", "Insulins, insulins, Insulin"))
    assert funnel.counts["mentions by a near name"] == 2
    assert funnel.noted["near names"] == Counter({"Insulins → insulin": 1, "insulins → insulin": 1})


def test_a_word_in_small_letters_is_not_near_a_name_in_capitals_either() -> None:
    funnel = Funnel()
    linker = Linker([Entity("Acquired immunodeficiency syndrome", aliases=("AIDS",))], 0.5, funnel)
    document = linker.link(TextDocument("d", "It aids against AIDS."))
    assert [(m.start, m.end) for m in document.mentions] == [(16, 20)]
    assert funnel.noted["words in small letters that are no name"] == Counter(
        {"aids: Acquired immunodeficiency syndrome": 1}
    )


def test_given_mentions_are_kept_and_named() -> None:
    linker = Linker([Entity("insulin", "drug")], 0.5)
    given_ = (
        Mention(0, 2, 0, "INSULIN"),
        Mention(3, 5, 1, "insulins", "hormone"),
        Mention(6, 8, 2, "Unknown", "x"),
        Mention(9, 11, 3, "unknown"),
    )
    document = linker.link(TextDocument("d", "it it it it insulin", given_))
    assert [(m.entity, m.name, m.type) for m in document.mentions] == [
        (0, "insulin", "drug"),
        (0, "insulin", "hormone"),
        (1, "Unknown", "x"),
        (1, "Unknown", "x"),
    ]
    assert linker.entities[1] == Entity("Unknown", "x")


def test_given_mentions_without_a_dictionary() -> None:
    linker = Linker([], 0.5)
    (mention,) = linker.link(TextDocument("d", "Bern", (Mention(0, 4, 5, "Bern"),))).mentions
    assert mention.entity == 0


@pytest.mark.parametrize("near", [-0.1, 1.0])
def test_a_similarity_is_a_share(near: float) -> None:
    with pytest.raises(ConfigError, match="near is"):
        Linker([], near)


_LETTERS = st.text(alphabet="abć ", max_size=9)


@settings(max_examples=80, deadline=None)
@given(
    st.lists(_LETTERS, max_size=8, unique=True),
    st.lists(_LETTERS, min_size=1, max_size=5),
    st.sampled_from([0.0, 0.25, 0.5, 0.6, 0.9]),
)
def test_the_nearest_name_is_the_one_that_comparing_all_of_them_finds(
    names: list[str], asked: list[str], threshold: float
) -> None:
    near = NearNames({name: 10 + number for number, name in enumerate(names)}, threshold)
    for text in asked:
        similar = [jaccard(text, name) for name in names]
        best = max(similar, default=0.0)
        expected = (10 + similar.index(best), best) if best > threshold else (-1, 0.0)
        assert near.best(text) == expected


def test_blocks_change_no_link(monkeypatch: pytest.MonkeyPatch) -> None:
    names = {
        f"{a}{b}ville on {b}{a}water": number for number, (a, b) in enumerate(product("abcdef", repeat=2))
    }
    text = split_words(" ".join(f"{a}{b}vile on {b}{a}water and" for a, b in product("abcdef", repeat=2)))
    free = np.zeros(len(text.folded), dtype=bool)
    whole = NearNames(names, 0.4).find(text, free)
    monkeypatch.setattr(near_module, "_BLOCK", 3)
    assert NearNames(names, 0.4).find(text, free) == whole
    assert len(whole) > 10

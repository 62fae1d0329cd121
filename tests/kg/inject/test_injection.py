"""The injection, step by step, against examples computed by hand."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from weft.errors import ConfigError, ShapeError
from weft.kg.dataset.chunks import Chunk
from weft.kg.dataset.text_chunks import text_chunks
from weft.kg.dataset.tokens import NO_WORD, CodeTokenizer
from weft.kg.dataset.vocabulary import learn_vocabulary
from weft.kg.inject.candidates import Candidates, match_heads, triple_text
from weft.kg.inject.injection import InjectionConfig, inject
from weft.kg.inject.score import embedding_scorer, tfidf_scores
from weft.kg.inject.select import above, above_quantile, best_occurrences, buckets, first_per_head
from weft.kg.link.linker import Linker
from weft.kg.link.words import split_words
from weft.kg.read.documents import TextDocument
from weft.kg.read.funnel import Funnel
from weft.kg.read.seeds import Entity, Seeds, SeedTriple
from weft.kg.schema import Relation, Schema

SCHEMA = Schema((Relation("flows_into", "…"), Relation("is_a", "…")))
TEXTS = (
    "The Aare flows into the Rhine.",
    "The Aare is a river in Switzerland.",
    "The Rhine flows into the North Sea.",
)


def numbers(*values: float) -> NDArray[np.float64]:
    return np.array(values, dtype=np.float64)


def candidates(*rows: tuple[int, int, int, int]) -> Candidates:
    return Candidates(*np.array(rows, dtype=np.int64).reshape(-1, 4).T)


def make(texts: Sequence[str], entities: list[Entity]) -> tuple[list[Chunk], CodeTokenizer]:
    tokenizer = learn_vocabulary([*texts] * 3, 420)
    linker, chunks = Linker(entities, None), []
    for text in texts:
        document = linker.link(TextDocument(text, text))
        chunks += text_chunks(document, tokenizer.encode(text), 200, Funnel())
    return chunks, tokenizer


def test_step_1_every_triple_in_every_chunk_with_its_head() -> None:
    entities = [Entity(name) for name in ("Aare", "Rhine", "North Sea", "river", "Elbe")]
    triples = [SeedTriple(0, 1, 1), SeedTriple(0, 2, 3), SeedTriple(1, 1, 2), SeedTriple(4, 1, 2)]
    chunks, _ = make(TEXTS, entities)
    found = match_heads(chunks, triples, [0, 1, 2, 3])
    assert list(zip(found.chunk.tolist(), found.triple.tolist(), strict=True)) == [
        (0, 0), (0, 1), (0, 2),
        (1, 0), (1, 1),
        (2, 2),
    ]  # fmt: skip
    assert found.head.tolist() == [0, 0, 1, 0, 0, 1]
    assert found.relation.tolist() == [1, 2, 1, 1, 2, 1]
    assert len(match_heads(chunks, triples, [3])) == 0
    assert triple_text(triples[0], entities, SCHEMA) == "Aare flows into Rhine"


def test_step_2_tfidf_by_hand() -> None:
    """Two chunks "a b" and "a c", a triple "a b b": idf(a) = log(3/3) + 1 = 1, idf(b) = idf(c) = log(3/2) + 1."""
    b = math.log(3 / 2) + 1
    expected = (1 * 1 + 2 * b * b) / (math.sqrt(1 + 4 * b * b) * math.sqrt(1 + b * b))
    pairs = np.array([[0, 0], [0, 1]])
    scores = tfidf_scores(["a b b"], ["A b", "a, c"], pairs)
    assert scores[0] == pytest.approx(expected)
    comma = math.log(3 / 2) + 1
    assert scores[1] == pytest.approx(1 / (math.sqrt(1 + 4 * b * b) * math.sqrt(1 + b * b + comma * comma)))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.text("ab c", max_size=8), min_size=1, max_size=5),
    st.lists(st.text("abd ", max_size=8), min_size=1, max_size=5),
)
def test_step_2_tfidf_is_the_cosine_of_dense_vectors(triples: list[str], chunks: list[str]) -> None:
    words = sorted({word for text in (*triples, *chunks) for word in split_words(text).folded})

    def vector(text: str) -> NDArray[np.float64]:
        folded = split_words(text).folded
        df = [sum(word in split_words(chunk).folded for chunk in chunks) for word in words]
        idf = [math.log((1 + len(chunks)) / (1 + count)) + 1 for count in df]
        values = np.array([folded.count(word) * weight for word, weight in zip(words, idf, strict=True)])
        norm = np.linalg.norm(values)
        return values / norm if norm else values

    pairs = np.array([[t, c] for t in range(len(triples)) for c in range(len(chunks))])
    expected = [float(vector(triples[t]) @ vector(chunks[c])) if words else 0.0 for t, c in pairs]
    np.testing.assert_allclose(tfidf_scores(triples, chunks, pairs), expected, atol=1e-12)


def test_step_2_with_an_embedding() -> None:
    table = {"t": [2.0, 0.0], "u": [0.0, 0.0], "c": [3.0, 4.0]}
    scores = embedding_scorer(lambda texts: np.array([table[text] for text in texts]))
    np.testing.assert_allclose(scores(["t", "u"], ["c"], np.array([[0, 0], [1, 0]])), [0.6, 0.0])
    wrong = embedding_scorer(lambda texts: np.zeros((1, 2)))
    with pytest.raises(ShapeError, match="for 2 texts"):
        wrong(["t", "u"], ["c"], np.array([[0, 0]]))


def test_step_3_alpha() -> None:
    assert above(numbers(0.5, 0.55, 0.56), 0.55).tolist() == [2]
    # The median of 1, 2, 3, 4 is 2.5.
    assert above_quantile(numbers(4, 1, 3, 2), 0.5).tolist() == [0, 2]
    assert above_quantile(numbers(0.2), 0.55).tolist() == [0]
    assert above_quantile(numbers(0.2, 0.2, 0.2), 0.55).tolist() == [0, 1, 2]
    assert above_quantile(numbers(), 0.55).tolist() == []


def test_step_4_each_triple_at_its_best_occurrence() -> None:
    found = candidates((0, 7, 1, 1), (1, 7, 1, 1), (1, 8, 1, 2), (2, 7, 1, 1), (3, 8, 1, 2))
    # Triple 7 is best in chunk 1 and again in chunk 2: the first counts. Triple 8 is best in chunk 3.
    assert best_occurrences(found, numbers(0.1, 0.9, 0.3, 0.9, 0.4)).tolist() == [1, 4]
    assert best_occurrences(candidates(), numbers()).tolist() == []


def test_step_5_buckets_by_hand() -> None:
    found = candidates(*((0, number, 0, 1 if number < 250 else 2) for number in range(253)))
    scores = np.full(253, 0.80)
    scores[:4] = (0.90, 0.895, 0.89, 0.85)
    by_score, by_relation = buckets(found, scores)
    # (0.90 − 0.89) / 0.01 is a whole step, in floating point too.
    assert by_score[:5].tolist() == [0, 0, 1, 5, 10]
    # 250 triples of relation 1 and 3 of relation 2.
    assert by_relation[[0, 249, 250, 252]].tolist() == [2, 2, 0, 0]


def test_step_5_a_rare_relation_goes_first_within_a_score_bucket() -> None:
    # One head in one chunk: the common relation scores a little higher, but in the same bucket.
    found = candidates((0, 0, 5, 1), (0, 1, 5, 2), (0, 2, 5, 2), (1, 3, 5, 1), (0, 4, 6, 1))
    scores = numbers(0.900, 0.896, 0.897, 0.5, 0.3)
    by_score, by_relation = np.array([0, 0, 0, 40, 60]), np.array([3, 0, 0, 3, 3])
    assert first_per_head(found, scores, by_score, by_relation).tolist() == [2, 3, 4]
    assert first_per_head(found, scores, by_score, by_relation, keep=2).tolist() == [1, 2, 3, 4]
    # In another score bucket the higher score goes first after all.
    assert first_per_head(found, scores, np.array([0, 1, 1, 40, 60]), by_relation).tolist() == [0, 3, 4]
    # Ties are cut by the number of the triple.
    assert first_per_head(found, np.full(5, 0.5), np.zeros(5, np.int64), np.zeros(5, np.int64)).tolist() == [
        0,
        3,
        4,
    ]
    empty = np.zeros(0, dtype=np.int64)
    assert first_per_head(candidates(), numbers(), empty, empty).tolist() == []


def _inject(
    config: InjectionConfig, scores: dict[tuple[str, str], float], longest_tail: int = 9
) -> tuple[list[Chunk], Funnel, CodeTokenizer]:
    """Six triples in the three chunks of TEXTS, with scores given for (triple, chunk)."""
    entities = [Entity(name) for name in ("Aare", "Rhine", "North Sea", "river", "Elbe")]
    triples = [
        SeedTriple(0, 1, 1), SeedTriple(0, 2, 3), SeedTriple(1, 1, 2), SeedTriple(1, 2, 3), SeedTriple(4, 1, 2),
    ]  # fmt: skip
    chunks, tokenizer = make(TEXTS, entities)
    words = [triple_text(triple, entities, SCHEMA) for triple in triples]
    axes = [*words, *TEXTS]

    # Orthogonal chunks, and triples that lie on them by their scores: the cosines are the scores.
    def embed(texts: Sequence[str]) -> NDArray[np.float64]:
        rows = np.zeros((len(texts), len(axes)))
        for row, text in enumerate(texts):
            if text in TEXTS:
                rows[row, axes.index(text)] = 1.0
                continue
            for chunk in TEXTS:
                rows[row, axes.index(chunk)] = scores.get((text, chunk), 0.0)
            rows[row, axes.index(text)] = math.sqrt(1 - (rows[row] ** 2).sum())
        return rows

    funnel = Funnel()
    inject(chunks, TEXTS, Seeds(entities, triples), SCHEMA, tokenizer, longest_tail, config, funnel, embed)
    return chunks, funnel, tokenizer


SCORES = {
    ("Aare flows into Rhine", TEXTS[0]): 0.80,
    ("Aare is a river", TEXTS[0]): 0.60,
    ("Aare is a river", TEXTS[1]): 0.70,
    ("Rhine flows into North Sea", TEXTS[0]): 0.60,
    ("Rhine flows into North Sea", TEXTS[2]): 0.75,
    ("Rhine is a river", TEXTS[0]): 0.40,
    ("Rhine is a river", TEXTS[2]): 0.56,
}


def test_the_whole_of_it() -> None:
    chunks, funnel, tokenizer = _inject(InjectionConfig(), SCORES)
    assert funnel.counts["injection 1: triples in a chunk with their head"] == 8
    assert funnel.counts["injection 2: with a score above alpha"] == 6
    assert funnel.counts["injection 3: each at its best occurrence"] == 4
    # "Rhine is a river" and "Rhine flows into North Sea" have one head occurrence: the better one stays.
    assert funnel.counts["injection 4: the first of each head"] == funnel.counts["triples"] == 3
    assert funnel.listed["seed triples whose head never occurs"] == ["Elbe flows into North Sea"]
    found = [
        [
            (chunk.names[t.head_word], SCHEMA.names[t.relation], tokenizer.text(t.tail_ids))
            for t in chunk.triples
        ]
        for chunk in chunks
    ]
    assert found == [
        [("Aare", "flows_into", "Rhine")],
        [("Aare", "is_a", "river")],
        [("Rhine", "flows_into", "North Sea")],
    ]
    tail = chunks[0].triples[0]
    assert chunks[0].names[tail.tail_word] == "Rhine"
    assert TEXTS[0][tail.offset :].startswith("Aare")


def test_several_of_a_head() -> None:
    chunks, funnel, tokenizer = _inject(InjectionConfig(per_head=2), SCORES)
    assert funnel.counts["triples"] == 4
    absent = next(t for t in chunks[2].triples if SCHEMA.names[t.relation] == "is_a")
    # "river" does not stand in that chunk: it is spelled, and there is no word to copy.
    assert absent.tail_word == NO_WORD
    assert tokenizer.text(absent.tail_ids) == "river"


def test_tails_that_are_too_long_are_listed() -> None:
    _, funnel, tokenizer = _inject(InjectionConfig(), SCORES, longest_tail=1)
    long = [name for name in ("North Sea", "river", "Rhine") if len(tokenizer.tail(name)) > 1]
    assert "North Sea" in long
    listed = funnel.listed["seed triples whose tail is too long"]
    assert "Rhine flows into North Sea" in listed
    assert len(listed) == sum({"North Sea": 1, "river": 2, "Rhine": 1}[name] for name in long)


@pytest.mark.parametrize(
    "bad", [{"alpha": 1.1}, {"alpha": -0.1}, {"score_step": 0.0}, {"relation_step": 0}, {"per_head": 0}]
)
def test_configurations_that_break_a_rule(bad: dict[str, float]) -> None:
    with pytest.raises(ConfigError, match=next(iter(bad))):
        InjectionConfig(**bad)  # pyright: ignore[reportArgumentType]

"""Short texts in training: documents cut into sentences, and texts of few pairs that count together."""

from __future__ import annotations

from random import Random

import torch

from weft.kg.learn.text import _together
from weft.kg.read.documents import GivenFact, Mention, TextDocument
from weft.kg.read.sentences import pieces
from weft.kg.represent.entities import EntityExample

TEXT = "Ida Holm founded Lund Foods. She lives in Lund.  Lund Foods is in Lund. Ida Holm died."


def _document() -> TextDocument:
    names = {"Ida Holm": 0, "Lund Foods": 1, "Lund": 2}
    mentions, taken = [], [False] * len(TEXT)
    for name, number in names.items():
        start = TEXT.find(name)
        while start >= 0:
            if not taken[start]:
                mentions.append(Mention(start, start + len(name), number, name, "ORG"))
                taken[start : start + len(name)] = [True] * len(name)
            start = TEXT.find(name, start + 1)
    facts = (GivenFact(1, "founded_by", 0), GivenFact(0, "residence", 2), GivenFact(1, "headquarters", 2))
    return TextDocument("d", TEXT, tuple(sorted(mentions)), facts)


def test_pieces_hold_all_sentences_once_and_the_facts_between_what_they_name() -> None:
    for seed in range(20):
        found = list(pieces(_document(), Random(seed)))
        assert " ".join(item.text for item in found).split() == TEXT.split()
        assert sum(len(item.mentions) for item in found) == len(_document().mentions)
        for item in found:
            named = {mention.entity for mention in item.mentions}
            for mention in item.mentions:
                assert item.text[mention.start : mention.end] == mention.name
            expected = {fact for fact in _document().facts if {fact.head, fact.tail} <= named}
            assert set(item.facts) == expected
    # By itself the first sentence says who founded, and not where she lives.
    alone = next(
        item for seed in range(20) for item in pieces(_document(), Random(seed)) if item.text[-6:] == "Foods."
    )
    assert [fact.relation for fact in alone.facts] == ["founded_by"]


def _example(number: int, entities: int) -> EntityExample:
    each = torch.arange(entities)
    kinds = torch.ones(entities, dtype=torch.int64)
    ids = torch.ones(9, dtype=torch.int64)
    return EntityExample(number, ids, each, each, each + 1, kinds, each, torch.zeros(0, 3, dtype=torch.int64))


def test_texts_of_few_pairs_count_together() -> None:
    texts = [_example(number, entities) for number, entities in enumerate((9, 2, 3, 2, 2, 4))]
    assert [[item.document for item in group] for group in _together(texts, 0)] == [
        [0],
        [1],
        [2],
        [3],
        [4],
        [5],
    ]
    # Pairs 2, 2, 2 | 6 | 12 | 72, shortest first: a group is full once it has six.
    assert [[item.document for item in group] for group in _together(texts, 6)] == [[1, 3, 4], [2], [5], [0]]

"""Scores of relations by words: what they are made of, and that a definition leads to the relations like it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import torch

from weft.kg.evaluate.raw import Judged
from weft.kg.extraction.entities import EntityExtractor
from weft.kg.extraction.entity_fact import EntityFact
from weft.kg.read.documents import GivenFact, TextDocument
from weft.kg.schema import Relation
from weft.kg.worded import judge as worded_judge
from weft.kg.worded.scores import WordedScores, worded_scores
from weft.platform.models import find_model


@pytest.fixture(scope="module")
def shipped() -> EntityExtractor:
    return EntityExtractor.load(find_model("kg", "kg-text-small"))


def test_scores_equal_a_loop() -> None:
    generator = torch.Generator().manual_seed(0)
    margin = torch.randn(2, 3, 3, 4, generator=generator) * 3
    forward, backward = (torch.randn(2, 4, generator=generator) for _ in range(2))
    types = torch.randn(2, 2, 2, generator=generator)
    speaking = torch.tensor([[True] * 4, [True, False, True, True]])
    kinds = torch.tensor([[0, 1, 1], [1, 0, 1]])
    found = WordedScores(forward, backward, speaking, types)(margin, kinds)
    for b in range(2):
        for i in range(3):
            for j in range(3):
                for new in range(2):
                    expected = sum(
                        float(forward[new, r] * margin[b, i, j, r] + backward[new, r] * margin[b, j, i, r])
                        for r in range(4)
                    )
                    highest = max(float(margin[b, i, j, r]) for r in range(4) if speaking[new, r])
                    expected += float(types[new, kinds[b, i], kinds[b, j]]) - 0.5 * max(highest, 0.0)
                    assert float(found[b, i, j, new]) == pytest.approx(expected, abs=1e-4)


def test_a_definition_leads_to_relations_like_it(shipped: EntityExtractor) -> None:
    def of(definition: str) -> WordedScores:
        return worded_scores(shipped.model, shipped.tokenizer, shipped.schema, [Relation("x", definition)])

    names = shipped.schema.names[1:]
    scores = of("the film head was directed by the tail")
    assert names[int(scores.forward[0].argmax())] == "director"
    scores = of("the head directed the film or play tail")
    assert names[int(scores.backward[0].argmax())] == "director"
    assert float(scores.backward[0].max()) > float(scores.forward[0].max())
    # The weights are of all relations together: whatever the pair, one share of it all.
    assert float(scores.forward.sum() + scores.backward.sum()) == pytest.approx(1.0, abs=1e-4)


def test_types_are_read_from_the_words(shipped: EntityExtractor) -> None:
    types = list(shipped.model.config.types)
    bare, typed = (
        worded_scores(shipped.model, shipped.tokenizer, shipped.schema, [relation])
        for relation in (
            Relation("x", "the person head was raised in the town tail"),
            Relation("x", "the person head was raised in the town tail", head_types=("PER",)),
        )
    )
    of = {(a, b): float(bare.types[0, types.index(a), types.index(b)]) for a in types[1:] for b in types[1:]}
    assert max(of, key=of.__getitem__) == ("PER", "LOC")
    assert not typed.types.any()


def test_a_relation_that_is_left_out_has_no_say(shipped: EntityExtractor) -> None:
    own = shipped.schema.relations
    scores = worded_scores(shipped.model, shipped.tokenizer, shipped.schema, own, left_out=True)
    place = {relation.name: number for number, relation in enumerate(own)}
    for name in ("part_of", "director"):
        row = place[name]
        for other in (name, own[row].inverse):
            if other:
                assert not scores.speaking[row, place[other]]
                assert scores.forward[row, place[other]] == scores.backward[row, place[other]] == 0
    assert not scores.speaking[place["part_of"], place["has_part"]]
    assert int(scores.speaking[place["director"]].sum()) == len(own) - 1


def test_relations_that_were_trained_are_read_as_before(shipped: EntityExtractor) -> None:
    relation = Relation("acquired by", "the company head was bought by the company tail", head_types=("ORG",))
    more = shipped.asked([relation])
    assert more.schema.names == (*shipped.schema.names, "acquired by")
    assert shipped.asked([]) is shipped
    document = TextDocument(
        "a", "Volvo bought Ekdahl Motors in 1999. Volvo is a company in Gothenburg, Sweden."
    )
    before, after = shipped.facts_of(document), more.facts_of(document)
    assert before
    assert before == [fact for fact in after if fact.relation != "acquired by"]
    new = {(fact.head, fact.tail): fact.confidence for fact in after if fact.relation == "acquired by"}
    assert max(new, key=new.__getitem__) == ("Ekdahl Motors", "Volvo")
    assert all(0.05 <= value < 0.5 for value in new.values())


def test_the_best_score_of_each_relation_is_that_of_its_own_threshold(
    shipped: EntityExtractor, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = (0, 1)

    def stated(_: EntityExtractor, __: Sequence[TextDocument]) -> list[Judged]:
        rows = [("father", 0.9, 0), ("father", 0.5, None), ("father", 0.4, 1), ("capital", 0.3, None)]
        return [
            Judged(0, EntityFact("a", relation, "b", sure, place, place, place), gold)
            for relation, sure, gold in rows
        ]

    monkeypatch.setattr(worded_judge, "judge", stated)
    facts = tuple(GivenFact(n, name, n + 1) for n, name in enumerate(("father", "father", "capital")))
    found = worded_judge.best_scores(shipped, [TextDocument("d", "a b", (), facts)])
    # Two of father: 1 of 1 is .67, 2 of 3 is .8. Of capital nothing right is stated.
    assert found == {"father": pytest.approx(0.8), "capital": 0.0}


def test_a_relation_by_words_that_holds_both_ways_is_read_both_ways(shipped: EntityExtractor) -> None:
    definition = "the head and the tail are married to each other"
    text = "Anna Berg married Karl Holm in 1994. Karl Holm and Anna Berg live in Lund."
    twin = Relation("partner of", definition, both_ways=True, head_types=("PER",), tail_types=("PER",))
    found = shipped.asked([twin]).facts_of(TextDocument("d", text), least=0.0)
    sure = {(fact.head, fact.tail): fact.confidence for fact in found if fact.relation == "partner of"}
    assert sure[("Anna Berg", "Karl Holm")] == pytest.approx(sure[("Karl Holm", "Anna Berg")], abs=1e-5)

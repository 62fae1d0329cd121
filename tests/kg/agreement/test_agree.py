"""Facts that contradict each other: the surer one stays."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from weft.errors import ConfigError, InputError
from weft.kg.agreement.agree import with_inverses, without_contradictions
from weft.kg.extraction.entity_fact import EntityFact
from weft.kg.read.redocred import redocred_schema
from weft.kg.schema import Relation, Schema
from weft.platform.models import find_model

SCHEMA = redocred_schema()


def fact(head: str, relation: str, tail: str, confidence: float) -> EntityFact:
    return EntityFact(head, relation, tail, confidence, (0, 1), (2, 3), (0, 9))


def test_scores_of_a_relation_and_its_inverse_become_one() -> None:
    torch.manual_seed(0)
    margin = torch.randn(2, 4, 4, SCHEMA.size - 1)
    agreed = with_inverses(margin, SCHEMA.inverses())
    owner, owned = SCHEMA.id_of("subsidiary") - 1, SCHEMA.id_of("parent_organization") - 1
    torch.testing.assert_close(agreed[0, 1, 2, owner], agreed[0, 2, 1, owned])
    assert float(agreed[0, 1, 2, owner]) == pytest.approx(
        float(margin[0, 1, 2, owner] + margin[0, 2, 1, owned]) / 2
    )
    spouse = SCHEMA.id_of("spouse") - 1
    torch.testing.assert_close(agreed[..., spouse], agreed[..., spouse].transpose(1, 2))
    plain = SCHEMA.id_of("employer") - 1
    assert torch.equal(agreed[..., plain], margin[..., plain])


def test_one_birthplace_but_for_what_it_lies_in() -> None:
    stated = [
        fact("Ida", "place_of_birth", "Lund", 0.9),
        fact("Ida", "place_of_birth", "Bergen", 0.6),
        fact("Ida", "place_of_birth", "Sweden", 0.5),
        fact("Lund", "country", "Sweden", 0.7),
        fact("Ida", "residence", "Bergen", 0.4),
    ]
    kept = without_contradictions(stated, SCHEMA)
    assert kept == [item for item in stated if item.confidence != 0.6]


def test_nobody_is_the_parent_of_a_parent() -> None:
    stated = [
        fact("A", "parent_organization", "B", 0.4),
        fact("B", "parent_organization", "A", 0.8),
        fact("B", "spouse", "C", 0.4),
        fact("C", "spouse", "B", 0.4),
    ]
    assert without_contradictions(stated, SCHEMA) == stated[1:]


def test_what_a_schema_says_of_inverses_is_checked(tmp_path: Path) -> None:
    assert all(SCHEMA.inverses()[other] == relation for relation, other in SCHEMA.inverses().items())
    SCHEMA.save(tmp_path / "schema.json")
    assert Schema.load(tmp_path / "schema.json") == SCHEMA
    with pytest.raises(ConfigError, match="which is no relation"):
        Schema((Relation("owns", "", inverse="owned"),))
    for text, match in (
        ('{"a": {"tails": "two"}}', "tails 'two'"),
        ('{"a": {"inverse": 3}}', "no string"),
    ):
        (tmp_path / "bad.json").write_text(text)
        with pytest.raises(InputError, match=match):
            Schema.load(tmp_path / "bad.json")


def test_one_time_of_founding_said_more_or_less_exactly() -> None:
    stated = [
        fact("Ikea", "inception", "1943", 0.9),
        fact("Ikea", "inception", "28 July 1943", 0.4),
        fact("Ikea", "inception", "1793", 0.6),
        fact("Ikea", "inception", "long ago", 0.3),
        fact("Volvo", "inception", "1927", 0.2),
    ]
    assert without_contradictions(stated, SCHEMA) == [*stated[:2], stated[4]]


def test_the_shipped_schema_has_the_rules_of_its_relations() -> None:
    shipped = Schema.load(find_model("kg", "kg-text-small") / "schema.json")
    for rule, own in zip(SCHEMA.relations, shipped.relations, strict=True):
        for name in ("name", "both_ways", "inverse", "one_tail"):
            assert getattr(own, name) == getattr(rule, name), rule.name


def test_nobody_is_the_parent_of_his_own_parent_nor_father_and_mother() -> None:
    stated = [
        fact("Gerald", "child", "Imogen", 0.8),
        fact("Imogen", "child", "Gerald", 0.7),
        fact("Gerald", "father", "Imogen", 0.6),
        fact("Imogen", "father", "Gerald", 0.5),
        fact("Imogen", "mother", "Gerald", 0.4),
        fact("Imogen", "mother", "Dorothy", 0.3),
    ]
    kept = without_contradictions(stated, SCHEMA)
    assert kept == [item for item in stated if item.confidence in (0.8, 0.5, 0.3)]

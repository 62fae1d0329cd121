"""Relations by words as a user types them, and what is no such relation."""

from __future__ import annotations

from pathlib import Path

import pytest

from weft.errors import ConfigError, InputError
from weft.kg.schema import Relation, Schema
from weft.kg.worded.relation import asked_relations, turned

SCHEMA = Schema(
    (Relation("born_in", "the person head was born in the place tail", False, ("PER",), ("LOC",), ("P19",)),)
)


def test_a_name_and_a_definition() -> None:
    (found,) = asked_relations(["subsidiary  of:  the tail is the parent company: it owns the head"], SCHEMA)
    assert (found.name, found.definition) == (
        "subsidiary of",
        "the tail is the parent company: it owns the head",
    )
    assert not found.head_types


def test_a_file_says_types(tmp_path: Path) -> None:
    path = tmp_path / "more.yaml"
    path.write_text("trained_by:\n  definition: the tail trained the head\n  head: [PER]\n  tail: [PER]\n")
    first, second = asked_relations([str(path), "lost to: the head lost to the tail"], SCHEMA)
    assert (first.name, first.head_types, first.tail_types) == ("trained_by", ("PER",), ("PER",))
    assert second.name == "lost to"


@pytest.mark.parametrize(
    ("said", "wrong"),
    [
        ("subsidiary of", "no colon"),
        ("subsidiary of: ", "no definition"),
        (": the tail owns the head", "no name"),
        ("owns: one is the parent of the other", "which end is which"),
        ("owns: the head is large", "which end is which"),
        ("owns: the headmaster owns the tailor", "which end is which"),
        ("born_in: the head was born in the tail", "has learnt"),
        ("born in: the head was born in the tail", "has learnt"),
        ("P19: the head was born in the tail", "has learnt"),
    ],
)
def test_what_is_no_relation(said: str, wrong: str) -> None:
    with pytest.raises(ConfigError, match=wrong):
        asked_relations([said], SCHEMA)


def test_twice_and_of_strange_types(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="twice"):
        asked_relations(["owns: the head owns the tail", "owns: the tail is the head's"], SCHEMA)
    path = tmp_path / "more.json"
    path.write_text('{"flows": {"definition": "the head flows into the tail", "head": "RIVER"}}')
    with pytest.raises(ConfigError, match="'RIVER', which the model does not find"):
        asked_relations([str(path)], SCHEMA)
    with pytest.raises(InputError):
        asked_relations([str(tmp_path / "none.yaml")], SCHEMA)


def test_turned_round() -> None:
    assert turned("the head owns the tail, as heads do") == "the tail owns the head, as heads do"

"""A small corpus in Re-DocRED's form, whose facts its sentences state."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

PEOPLE = (
    "Ada Byron",
    "Emil Post",
    "Kurt Weyl",
    "Rosa Klein",
    "Lise Noether",
    "Otto Hahn",
    "Max Born",
    "Ida Tacke",
)
TOWNS = ("Bern", "Turin", "Graz", "Lyon", "Ghent", "Porto", "Riga", "Basel")
LANDS = ("Switzerland", "Italy", "Austria", "France", "Belgium", "Portugal", "Latvia", "Switzerland")


def record(number: int) -> dict[str, Any]:
    """One document: who was born where, and in which country the town lies."""
    person, town, land = (names[number % 8] for names in (PEOPLE, TOWNS, LANDS))
    other = TOWNS[(number * 3 + 1) % 8]
    filler = f"In year {1900 + number} there was much rain .".split()
    sentences = [
        [*person.split(), "was", "born", "in", town, "."],
        filler,
        [town, "lies", "in", land, "and", "not", "near", other, "."],
    ]

    def mention(name: str, sentence: int, first: int, kind: str) -> dict[str, Any]:
        return {"name": name, "sent_id": sentence, "pos": [first, first + len(name.split())], "type": kind}

    return {
        "title": f"Document {number}",
        "sents": sentences,
        "vertexSet": [
            [mention(person, 0, 0, "PER")],
            [mention(town, 0, 5, "LOC"), mention(town, 2, 0, "LOC")],
            [mention(land, 2, 3, "LOC")],
            [mention(other, 2, 7, "LOC")],
        ],
        "labels": [
            {"h": 0, "r": "P19", "t": 1, "evidence": [0]},
            {"h": 1, "r": "P17", "t": 2, "evidence": [2]},
        ],
    }


def write_corpus(path: Path, documents: int) -> Path:
    """Write so many documents."""
    path.write_text(json.dumps([record(number) for number in range(documents)]), encoding="utf-8")
    return path

"""Words of messages: the article fits the noun, and no message writes one before a noun that it is told."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import weft
from weft.errors import counted, with_article

#: Each is told a head or a tail, a sign, or a name of ours.
ALLOWED = {"graph/triples.py", "kg/storage/query/diagnosis.py", "cli/completion.py"}


@pytest.mark.parametrize(
    ("noun", "told"),
    [("entity-graph", "an entity-graph"), ("leafy-chain", "a leafy-chain"), ("int", "an int"), ("", "a ")],
)
def test_the_article_fits(noun: str, told: str) -> None:
    assert with_article(noun) == told


@pytest.mark.parametrize(
    ("number", "nouns", "told"),
    [
        (0, ("fact",), "0 facts"),
        (1, ("fact",), "1 fact"),
        (2, ("fact",), "2 facts"),
        (1, ("entity", "entities"), "1 entity"),
        (3, ("entity", "entities"), "3 entities"),
    ],
)
def test_the_noun_fits_the_number(number: int, nouns: tuple[str, ...], told: str) -> None:
    assert counted(number, *nouns) == told


def test_no_command_of_kg_prints_a_number_before_a_plural_that_it_is_told() -> None:
    root = Path(weft.__file__).parent
    nouns = "annotations|chunks|documents|entities|facts|files|places|queries|rows|steps|times"
    printing = [
        *(root / "cli" / "kg").rglob("*.py"),
        root / "cli" / "train.py",
        *(root / "kg" / "dataset").glob("*.py"),
    ]
    guessing = [
        f"{path.name}: {line.strip()}"
        for path in printing
        for line in path.read_text(encoding="utf-8").splitlines()
        if re.search(rf"""f".*\}} ((?!with)\w+ )?({nouns})\b""", line)
    ]
    assert not guessing


def test_no_message_guesses_an_article() -> None:
    root = Path(weft.__file__).parent
    guessing = {
        path.relative_to(root).as_posix()
        for path in root.rglob("*.py")
        if re.search(r"""f".*\ban? \{""", path.read_text(encoding="utf-8"))
    }
    assert guessing == ALLOWED

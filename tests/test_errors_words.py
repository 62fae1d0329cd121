"""Words of messages: the article fits the noun, and no message writes one before a noun that it is told."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import weft
from weft.errors import with_article

#: Each is told a head or a tail, a sign, or a name of ours.
ALLOWED = {"graph/triples.py", "kg/storage/query/diagnosis.py", "cli/completion.py"}


@pytest.mark.parametrize(
    ("noun", "told"),
    [("entity-graph", "an entity-graph"), ("leafy-chain", "a leafy-chain"), ("int", "an int"), ("", "a ")],
)
def test_the_article_fits(noun: str, told: str) -> None:
    assert with_article(noun) == told


def test_no_message_guesses_an_article() -> None:
    root = Path(weft.__file__).parent
    guessing = {
        path.relative_to(root).as_posix()
        for path in root.rglob("*.py")
        if re.search(r"""f".*\ban? \{""", path.read_text(encoding="utf-8"))
    }
    assert guessing == ALLOWED

"""Written texts: short ones of many kinds, with their names marked and their facts stated.

A text of ``written.txt`` is a block: ``# kind``, lines of text with marks ``[name|KEY]`` (``~`` is a new paragraph),
then facts ``> KEY relation KEY``. A key's letter is the type. A fact with ``?`` behind it may be read or not.
"""

from __future__ import annotations

import re
from pathlib import Path

from kg_text_made import HERE, with_what_follows

from weft.kg.read.documents import GivenFact, Mention, TextDocument

TYPES = {"P": "PER", "O": "ORG", "L": "LOC", "T": "TIME", "N": "NUM", "M": "MISC"}
LATER = 491
"""Texts from here on were written when those before had been trained on."""
_MARK = re.compile(r"\[([^\[\]|]+)\|([POLTNM]\d+)\]")


def read_written(path: Path = HERE / "written.txt", *, open_ones: bool = True) -> list[TextDocument]:
    """The texts.

    Args:
        path: Of the file.
        open_ones: Whether facts that may be read or not are among them.
    """
    blocks = re.split(r"\n\s*\n", path.read_text(encoding="utf-8"))
    return [
        _text(f"written-{number}", block, open_ones) for number, block in enumerate(blocks) if block.strip()
    ]


def trained_on() -> list[TextDocument]:
    """The texts but for those that choices are made by and those that measure."""
    return [
        text for number, text in enumerate(read_written()) if not _chooses(number) and not _measures(number)
    ]


def choosing(*, open_ones: bool = True) -> list[TextDocument]:
    """A tenth of the texts: no training sees them, choices are made by them."""
    return [text for number, text in enumerate(read_written(open_ones=open_ones)) if _chooses(number)]


def measuring(*, open_ones: bool = True) -> list[TextDocument]:
    """A tenth of the later texts: no training and no choice sees them."""
    return [text for number, text in enumerate(read_written(open_ones=open_ones)) if _measures(number)]


def kinds(path: Path = HERE / "written.txt") -> dict[str, str]:
    """What kind of text each is, by its id: "minutes", "press release"."""
    blocks = re.split(r"\n\s*\n", path.read_text(encoding="utf-8"))
    return {
        f"written-{number}": block.strip().splitlines()[0].removeprefix("#").strip()
        for number, block in enumerate(blocks)
        if block.strip()
    }


def _chooses(number: int) -> bool:
    return number % 10 == 7


def _measures(number: int) -> bool:
    return number >= LATER and number % 10 == 3


def _text(name: str, block: str, open_ones: bool) -> TextDocument:
    lines = [line.strip() for line in block.strip().splitlines()[1:]]
    marked = " ".join(line for line in lines if not line.startswith("> ")).replace(" ~ ", "\n\n")
    text, at = "", 0
    numbers: dict[str, int] = {}
    places: list[tuple[int, int, str]] = []
    for mark in _MARK.finditer(marked):
        text += marked[at : mark.start()]
        numbers.setdefault(mark[2], len(numbers))
        places.append((len(text), len(text) + len(mark[1]), mark[2]))
        text += mark[1]
        at = mark.end()
    text += marked[at:]
    names = {key: max((text[s:e] for s, e, of in places if of == key), key=len) for key in numbers}
    stated: set[tuple[str, str, str]] = set()
    for line in lines:
        if line.startswith("> "):
            head, relation, tail, *doubt = line[2:].split()
            if open_ones or not doubt:
                stated.add((head, relation, tail))
    return TextDocument(
        name,
        text,
        tuple(Mention(start, end, numbers[key], names[key], TYPES[key[0]]) for start, end, key in places),
        tuple(
            sorted(
                GivenFact(numbers[head], relation, numbers[tail])
                for head, relation, tail in with_what_follows(stated)
            )
        ),
    )

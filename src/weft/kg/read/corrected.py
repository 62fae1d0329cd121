"""What a text says to be so and not otherwise: "born in Osnabrück, not in Oldenburg"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from weft.kg.read.documents import Mention

_AT = r"(?:(?:in|at|on|by|from|to|of|for|with)\s+)?(?:the\s+)?"
_NOT = re.compile(rf"\s*,?\s*(?:and\s+)?(?:not|rather\s+than)\s+{_AT}")
"""Between what is so and what is not."""
_BUT = re.compile(rf"\s*,?\s*but\s+(?:rather\s+)?{_AT}")
"""The other way round, behind "not"."""
_DENIED = re.compile(rf"\bnot\s+{_AT}$")
_GOES_ON = re.compile(r"\s*,?\s*(?:where|which|who|whose|whom)\b")
"""What is told of the second name then, which may have to do with whom the sentence is about."""
_BEFORE = 30


class Correction(NamedTuple):
    """Two names of one kind, of which the one is right.

    Args:
        right: The name of what is so.
        wrong: Of what is not.
        place: Where the first of them stands.
    """

    right: str
    wrong: str
    place: int


def corrections(text: str, mentions: Sequence[Mention]) -> list[Correction]:
    """The corrections of a text, in order.

    Args:
        text: Of a document.
        mentions: Its names.
    """
    found: list[Correction] = []
    for one, other in pairwise(sorted(mentions)):
        if one.type != other.type or one.name == other.name:
            continue
        link = text[one.end : other.start]
        if _NOT.fullmatch(link) and not _GOES_ON.match(text, other.end):
            found.append(Correction(one.name, other.name, one.start))
        elif _BUT.fullmatch(link) and _DENIED.search(text[max(0, one.start - _BEFORE) : one.start]):
            found.append(Correction(other.name, one.name, one.start))
    return found

"""A relative clause with one name tells of the name before it: "sold to Orbel, whose headquarters are in Turin"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from weft.kg.read.documents import Mention

_CLAUSE = re.compile(r",\s+(?:whose|who)\s+[^,;:.()\"“”]*")
OF_ONE = frozenset(
    (
        "date_of_birth",
        "educated_at",
        "headquarters",
        "located_in",
        "place_of_birth",
        "place_of_death",
        "residence",
        "work_location",
    )
)
"""Relations of which a clause tells its own name alone: of "Orbel, whose parts are …" others are told as well."""
_JOINED = re.compile(r"(?:\b(?:and|or|of|for|from|in|at|&)\s+(?:the\s+)?|,\s*(?:the\s+)?)$")
"""Before a name that the clause may not be about alone: "Ada and Karl, who …", "the mayor of Ulm, who …"."""
_AGAIN = re.compile(r"\b(?:and|but|or|when|where|while|after|before|that)\b")
"""Where the clause goes on with something else."""


def told_of(text: str, mentions: Sequence[Mention]) -> dict[tuple[int, int], str]:
    """Names in relative clauses by their place, and the name that each is told of.

    Args:
        text: Of a document.
        mentions: Its names, in order.
    """
    found: dict[tuple[int, int], str] = {}
    for one, other in pairwise(mentions):
        link = text[one.end : other.start]
        if (
            _CLAUSE.fullmatch(link)
            and not _AGAIN.search(link)
            and not _JOINED.search(text[max(0, one.start - 20) : one.start])
        ):
            found[other.start, other.end] = one.name
    return found

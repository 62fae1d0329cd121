"""Whether the name in a question does what is asked for, or has it done: by auxiliary, passive, "by" and "of"."""

from __future__ import annotations

import re
from collections.abc import Sequence

from weft.kg.ask.names import ASKING, EMPTY

_DO = frozenset(("do", "does", "did"))
_BE = frozenset(("is", "are", "was", "were", "be", "been", "being"))
_GET = frozenset(("get", "gets", "got"))
_HAVE = frozenset(("have", "has", "had"))
_HELPING = _DO | _BE | _HAVE | {"can", "could", "will", "would", "may", "might", "must", "should"}
_ARTICLES = frozenset(("the", "a", "an"))
_RELATIVE = frozenset(("who", "whom", "which", "what", "that"))
_BESIDE_NAME = 2
"""Most words between an article and the name that say what it is: "the pop singer X"."""
_PAST = frozenset(
    re.findall(
        r"\w+",
        "born bought brought built drawn driven fought found given held hit known laid led lost made paid put run sent "
        "set shot shown sold spoken sung taken taught thought told understood won worn woven written",
    )
)
"""Past participles that do not end with "ed"."""
_CONTRACTED = re.compile(r"(\w+)['’]s$")


def acts(before: Sequence[str], after: Sequence[str], owns: bool = False) -> bool | None:
    """Whether the name of a question is the one who acts; None where the wording does not tell.

    It acts as the subject of an active verb ("What did X buy?") and behind the "by" of a passive one ("What was
    bought by X?"). As the subject of a passive verb ("Who was X bought by?"), as an object ("Who bought X?") and as an
    owner ("X's owner", "owner of X", "Which units does X have?") it does not.

    Args:
        before: The words before the name.
        after: The words after it.
        owns: Whether it stands in the genitive: "X's".
    """
    before = _plain(before)
    after = _plain(after)
    if owns:
        return False
    front = _before_article(before)
    previous = before[front - 1] if front else ""
    helped = not _HELPING.isdisjoint(before)
    if previous == "of":
        return False
    if previous == "by":
        return any(map(_is_participle, before))
    if not _DO.isdisjoint(before):
        if not _HAVE.isdisjoint(after):
            return False
        if any(word not in EMPTY for word in after):
            return True
    if not front:
        return None if not after or after[0] not in _HELPING else not _is_passive(after)
    begins = after[0] if after else ""
    told = _is_participle(begins) or (begins.endswith("s") and begins not in EMPTY)
    subject = (
        previous in _HELPING
        or (told and not helped)
        or (previous in _RELATIVE and begins not in EMPTY | {""})
    )
    asks = not ASKING.isdisjoint(before)
    passive = _is_passive((*before, *after)) if helped or asks else any(map(_is_participle, before))
    return subject != passive


def _plain(words: Sequence[str]) -> list[str]:
    """In small letters, "who's" as two words."""
    found: list[str] = []
    for word in map(str.casefold, words):
        short = _CONTRACTED.match(word)
        found += [short[1], "is"] if short and short[1] in ASKING else [word]
    return found


def _before_article(before: Sequence[str]) -> int:
    """Where what belongs to the name begins: "the", "the company"."""
    for length in range(1, min(len(before), _BESIDE_NAME + 1) + 1):
        if before[-length] in _ARTICLES:
            return len(before) - length
        if before[-length] in EMPTY or before[-length] in ASKING:
            break
    return len(before)


def _is_participle(word: str) -> bool:
    return word in _PAST or (word.endswith("ed") and not word.endswith("eed") and len(word) > len("used"))


def _is_passive(words: Sequence[str]) -> bool:
    """Whether a participle follows a form of "be", with no other auxiliary or relative between."""
    being = False
    for word in words:
        if word in _BE or word in _GET:
            being = True
        elif word in _HELPING or word in _RELATIVE:
            being = False
        elif being and _is_participle(word):
            return True
    return False

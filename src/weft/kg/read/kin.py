"""Relatives of somebody who is not named beside them: what the words of kinship let them be to each other.

"She is survived by her husband Peter, her son Mark and her niece Ruth" says what each is to her. Peter may be Mark's
father; he is not his spouse, and neither is Mark the brother of Ruth.
"""

from __future__ import annotations

import re
from typing import Literal

Kin = Literal["spouse", "child", "sibling", "parent", "other"]

WORDS: dict[Kin, str] = {
    "spouse": r"(?:late |ex-|former )?(?:husband|wife|widow|widower|spouse|partner|fiancée?)",
    "child": r"(?:step|adopted |(?:eld|young|old)e(?:r|st) |only |twin )?(?:sons?|daughters?|child|children)",
    "sibling": r"(?:half-|step|elder |older |younger |twin |late )?(?:brothers?|sisters?|siblings?|twins?)",
    "parent": r"(?:step|late )?(?:mother|father|parents?|mum|dad)",
    "other": r"(?:great-)?(?:grand\w+|cousins?|niece|nieces|nephews?|aunts?|uncles?|\w+-in-law|god\w+)",
}
_NAMES = r"(?:,?\s+(?:(?:and|&|van|von|de|of)\s+)*(?:\(?[A-Z][\w'’.-]*\)?(?:\s+|\s*,\s*|$))*(?:and\s+)?)"
_OF_KIN = "|".join(f"(?P<{kin}>{words})" for kin, words in WORDS.items())
_INTRODUCED = re.compile(rf"(?:\b(?P<whose>his|her|their|my|our)\s+)?\b(?:{_OF_KIN}){_NAMES}$")
_MAY: dict[str, frozenset[frozenset[Kin]]] = {
    "spouse": frozenset({frozenset(("parent",))}),
    "sibling": frozenset({frozenset(("child",)), frozenset(("sibling",))}),
    **dict.fromkeys(
        ("child", "father", "mother"),
        frozenset(
            {
                frozenset(("spouse", "child")),
                frozenset(("parent", "sibling")),
                frozenset(("child", "other")),
                frozenset(("parent", "other")),
                frozenset(("sibling", "other")),
            }
        ),
    ),
}
"""For a relation of kinship what two relatives of one person are where they can have it."""


_LETTERS = r"[^\W\d_][\w'’-]*"
_KIN = "|".join(WORDS.values())
_RELATIVE = re.compile(
    rf"\b(?:{_KIN})\b(?:,|\s+(?:of|was|is|called|named))?\s+(?:(?:the|an?|late|Dr|Sir|Mrs?|Ms)\.?\s+)?"
    rf"(?:{_LETTERS}\s+){{0,2}}(?:{_LETTERS},\s+)?$"
)
"""What stands before a relative's name: "his father, ", "her brother, the pilot ", "the son of a smith, "."""
_RELATED = re.compile(
    rf"\s*[,(]\s*(?:his|her|their|the|{_LETTERS}['’]s?)\s+(?:\w+\s+)?(?:{_KIN})\b(?!\s+(?:of|to)\b)"
)
"""What stands after one: "Wilhelm Kessler, his father, …"."""
_SENTENCE = re.compile(r"[.!?;:]\s")
_REACH = 80


def is_relative(text: str, start: int, end: int) -> bool:
    """Whether a name in a text is introduced as somebody's relative: "his father, Otto Kessler", "Otto, her brother,".

    Args:
        text: Of the document.
        start: Where the name begins.
        end: Where it ends.
    """
    before = _SENTENCE.split(text[max(0, start - _REACH) : start])[-1]
    return _RELATIVE.search(before) is not None or _RELATED.match(text, end) is not None


def may_be(relation: str, sentence: str, first: tuple[int, int], second: tuple[int, int]) -> bool:
    """Whether a sentence that introduces two people as relatives of a third lets them have a relation.

    True of every relation but spouse, sibling, child, father and mother, and wherever one of the two is not introduced
    by a word of kinship, or is the other's relative himself ("her husband Peter's sister Ruth").

    Args:
        relation: Its name.
        sentence: With both names.
        first: Characters of one name in it.
        second: Of the other.
    """
    if relation not in _MAY:
        return True
    (start, end), (later, _) = sorted((first, second))
    one, other = _INTRODUCED.search(sentence[:start]), _INTRODUCED.search(sentence[:later])
    if one is None or other is None or re.match(r"['’]s?\b", sentence[end:]):
        return True
    if other["whose"] is not None and other["whose"] != one["whose"]:
        return True  # "his mother Ada and her brother Karl": he may be Ada's
    return frozenset(kin for kin in WORDS if one[kin] or other[kin]) in _MAY[relation]

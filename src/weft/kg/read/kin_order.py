"""Who is whose child: what a word of kinship between two names, or before one of them, says of a fact about both."""

from __future__ import annotations

import re

from weft.kg.read.kin import WORDS, Kin
from weft.kg.read.sentences import sentence_starts

_OF_KIN = "|".join(f"(?P<{kin}>{words})" for kin, words in WORDS.items())
_BETWEEN = re.compile(rf"['’]s?\s+(?:[\w-]+\s+){{0,2}}?(?:{_OF_KIN}),?\s*$")
"""Between two names the second of which is the first one's relative: "Johan's elder sibling, Grethe"."""
_RELATED_TO = re.compile(
    r"(?:,\s*(?:(?:was|is)\s+)?|\s+(?:was|is|as)\s+)(?:(?:the|an?)\s+)?(?:(?!his|her|their)[\w-]+\s+)?"
    rf"(?:{_OF_KIN})\s+of\s+(?:(?:the|an?)\s+[\w\s-]{{1,30}},?\s+)?$"
)
"""Between two names the first of which is the second one's relative: "Gerald, the son of a keeper, Arthur"."""
_PRONOUN = re.compile(rf"\b(?:his|her|their)\s+(?:[\w-]+\s+){{0,2}}?(?:{_OF_KIN}),?\s*$", re.IGNORECASE)
"""Before a name: "their daughter, Imogen"."""
KINSHIP: dict[str, Kin] = {
    "child": "child",
    "father": "parent",
    "mother": "parent",
    "spouse": "spouse",
    "sibling": "sibling",
}
"""Relations of kinship, and what the tail of a fact is to its head."""
_TURNED: dict[Kin, Kin] = {"child": "parent", "parent": "child"}
_OTHER_SEX = {"father": re.compile(r"\b(?:mother|mum)\b"), "mother": re.compile(r"\b(?:father|dad)\b")}
_BEFORE = 60


def is_turned(relation: str, text: str, head: tuple[int, int], tail: tuple[int, int]) -> bool:
    """Whether the words at two names make them another kind of relatives than a fact does.

    "Johan's elder sibling, Grethe" is no parent and no child of his; "He is survived by their daughter, Imogen" says
    that she is somebody's child and not the mother of whom the text named before. False of relations that are none of
    kinship.

    Args:
        relation: Its name.
        text: Of the document.
        head: Characters of the head.
        tail: Of the tail, where it stands nearest to the head.
    """
    if relation not in KINSHIP:
        return False
    first, second = sorted((head, tail))
    # What the later name is to the earlier one, by the fact.
    stated = KINSHIP[relation]
    stated = stated if second == tail else _TURNED.get(stated, stated)
    link = text[first[1] : second[0]]
    found = _BETWEEN.match(link)
    if found is not None:
        return _kind(found) != stated or _is_of_other_sex(relation, found[0], second == tail)
    found = _RELATED_TO.match(link)
    if found is not None:
        kind = _kind(found)
        return _TURNED.get(kind, kind) != stated or _is_of_other_sex(relation, found[0], first == tail)
    before = text[max(0, second[0] - _BEFORE) : second[0]]
    found = _PRONOUN.search(before[sentence_starts(before)[-1] :])
    if found is None:
        return False
    kind = _kind(found)
    if kind in _TURNED and _TURNED[kind] == stated:
        return True
    return kind == stated and _is_of_other_sex(relation, found[0], second == tail)


def _kind(found: re.Match[str]) -> Kin:
    return next(kin for kin in WORDS if found[kin])


def _is_of_other_sex(relation: str, said: str, of_tail: bool) -> bool:
    """Whether a father is called a mother, or the other way round."""
    return of_tail and relation in _OTHER_SEX and _OTHER_SEX[relation].search(said) is not None

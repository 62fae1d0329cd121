"""Faces, hearts and grades behind what they judge, as words: "cabin ❤️ buffet 🤢", "wait :(", "Manual: B+"."""

from __future__ import annotations

import re

from weft.absa.represent.facts import graded
from weft.absa.represent.slips import Slip

_GOOD, _BAD = "😀😃😄😁😊🙂😍🥰😋🤤🤩👏🙌💯❤♥🧡💛💚💙💜", "😠😡🤬😞😟🙁☹😢😒😤🤢🤮👿💔"
_GRADES = {"A": "excellent", "B": "good", "C": "average", "D": "bad", "E": "terrible", "F": "terrible"}
_FACE = re.compile(
    rf"(?P<face>[{_GOOD}{_BAD}])[\ufe0f\U0001f3fb-\U0001f3ff]?(?:(?P=face)[\ufe0f\U0001f3fb-\U0001f3ff]?)*"
    r"|(?<!:[()])(?<!:-[()])(?P<typed>:-?[()])++(?=[\s.,;!]|\Z)"
)
_GRADE = re.compile(r"(?<=: )(?P<grade>[A-F])[+-]?(?=[.,;]?(?:\s|\Z))(?!(?<=A) [a-z])")
_LABEL = re.compile(
    r"(?:\A|[\n.!?;,:()/|]|[^\w\s'’&,;:/%$€£\"-])[ \t]*"
    r"(?P<label>[^\W\d_][\w'’&-]*(?:[ \t]+[\w'’&-]+){0,2})[ \t]*(?P<colon>:[ \t]*)?\Z"
)
"""At most three words behind the beginning of a line, a mark or a sign: what a face behind them is about."""
_SAYS = re.compile(
    r"(?:i|i['’]m|you|he|she|we|they|thanks?|thx|hello|regards|cheers|love you|miss you|see you|happy birthday|"
    r"merry christmas|good (?:luck|morning|evening|night))\b|"
    r"(?:hi|hey|yes|yep|no|nope|ok|okay|bye|sorry|please|lol|haha|wow|omg|congrats|same|question|[cd])\Z",
    re.IGNORECASE,
)
"""A sentence or a greeting rather than a label."""
_LOOKED_AT = 60
"""Characters before a face in which its label is looked for."""


def faces(text: str) -> list[Slip]:
    """The faces, hearts and grades of a text that rate what stands before them, and the words that each is read as.

    "cabin ❤️ buffet 🤢" is "cabin is good, buffet is bad", "Manual: C-" "Manual: is average". A face is one where a
    label of at most three words stands before it, behind the beginning of a line, a mark or another face, and where
    another one of the text has one, too, or a colon stands between; elsewhere it is read by its name. Grades are from A
    to F, behind a colon, and two of them at least; "Gate: B" and the like are none.
    """
    letters = list(_GRADE.finditer(text))
    may_be = graded([text[max(0, match.start() - _LOOKED_AT) : match.start()] for match in letters])
    grades = [match for match, may in zip(letters, may_be, strict=True) if may]
    found = [Slip(*match.span(), _said(text, match, _good(match))) for match, _ in _labelled(text)]
    if len(grades) > 1:
        found += [Slip(*match.span(), f"is {_GRADES[match['grade']]}") for match in grades]
    return sorted(found)


def labels(text: str) -> list[tuple[int, int]]:
    """Where the labels stand that the faces of :func:`faces` rate."""
    return [label for _, label in _labelled(text)]


def _labelled(text: str) -> list[tuple[re.Match[str], tuple[int, int]]]:
    """The faces that rate a label, and where it stands."""
    found = [
        (match, label, begin)
        for match in _FACE.finditer(text)
        for begin in (max(0, match.start() - _LOOKED_AT),)
        if (label := _LABEL.search(text[begin : match.start()])) is not None
        and not _SAYS.match(label["label"])
    ]
    return [
        (match, (begin + label.start("label"), begin + label.end("label")))
        for match, label, begin in found
        if len(found) > 1 or label["colon"]
    ]


def _good(match: re.Match[str]) -> bool:
    return match["face"] in _GOOD if match["face"] else match["typed"].endswith(")")


def _said(text: str, match: re.Match[str], good: bool) -> str:
    start, stop = match.span()
    before = " " * text[max(0, start - 1) : start].isalnum()
    follows = text[stop : stop + 2].strip()[:1].isalpha()
    return f"{before}is {'good' if good else 'bad'}{',' * follows}{' ' * text[stop : stop + 1].isalnum()}"

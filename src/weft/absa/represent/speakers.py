"""Conversations: labels of speakers ("Agent:") are no words of what is said, and what an agent states is no opinion."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import zip_longest
from typing import Literal, NamedTuple

from weft.absa.represent.slips import english
from weft.absa.represent.spelling import laid_out

Role = Literal["asks", "answers"]
_ASKS = (
    "customer|client|user|caller|visitor|guest|member|patient|passenger|student|shopper|subscriber|buyer|tenant|"
    "me|you|interviewee|respondent|participant|end user"
)
_ANSWERS = (
    "agent|support|desk|help ?desk|service desk|support desk|front desk|support agent|support team|"
    "customer (?:support|service|care)|customer service agent|chat agent|live agent|service agent|"
    "bot|chat ?bot|virtual (?:assistant|agent)|assistant|operator|representative|rep|advisor|adviser|"
    "consultant|moderator|interviewer|system|host|seller|landlord|doctor|nurse|teacher|manager|admin"
)
_ROLES: dict[Role, re.Pattern[str]] = {
    "asks": re.compile(rf"(?:{_ASKS})", re.IGNORECASE),
    "answers": re.compile(rf"(?:{_ANSWERS})", re.IGNORECASE),
}
"""Who asks, and who answers. Of the latter many name what a review judges, too ("Support: slow")."""
_ALONE = re.compile(
    rf"(?:{_ASKS}|agent|(?:support|chat|live|virtual|customer service) agent|bot|chat ?bot|virtual assistant|operator|"
    r"representative|interviewer|moderator)",
    re.IGNORECASE,
)
"""Those that tell a conversation where they come again, whoever else speaks."""
_NAMES = (
    "aisha alex alexander ali alice amy ana andrea andrew anita anja anna anne anton arjun ben benjamin brian "
    "carlos caroline charlotte chloe chris christian christine claire clara dan daniel david deborah dennis diana "
    "diego dmitri edward elena elizabeth ella emily emma eric erik eva fatima felix fiona gabriel george hannah "
    "hans harry heidi helen henry ingrid isabel ivan jacob james jan jana jane janet jason javier jennifer "
    "jessica joe johan john jonas jonathan jorge jose joseph juan julia julie karen karl kate katherine katie "
    "kevin klaus lara laura lena leo linda lisa louis lucas lucia lucy luis luke maria marie mario martha martin "
    "mary matt matthew max megan michael miguel mohamed mohammed monica nadia natalie nicole nina noah nora olga "
    "oliver olivia oscar pablo patricia patrick paul paula pavel pedro peter petra philip priya rachel raj "
    "rebecca richard robert roberto ryan samuel sandra sara sarah sebastian simon sofia sofie sophia sophie "
    "stefan stephen steve susan tanya teresa thomas tim tina tom tomas vera veronica victor victoria wei william "
    "xavier yuki yusuf zoe"
)
_FIRST_NAMES = frozenset(_NAMES.split())
"""First names that are no other words: other capitalised words may head what is judged."""
_DATE = r"\d{1,4}[./-]\d{1,2}[./-]\d{1,4}"
_CLOCK = r"\d{1,2}:\d{2}(?::\d{2})?(?:\.\d+)?Z?(?:[ \t\u202f]?[ap]\.?m\b\.?)?"
_TIME = rf"(?:{_DATE}(?:,?[ \t]+|T))?{_CLOCK}|{_DATE}"
_NAME = r"[^\W\d_][\w.'’-]{0,30}(?:[ \t]#?[\w.'’-]{1,30}){0,2}"
_LABEL = re.compile(
    rf"(?m)^[ \t>]*(?:[*•-][ \t]+)?(?:(?P<before>\[(?:{_TIME})\]|\((?:{_TIME})\)|(?:{_TIME})(?=[ \t]))[ \t]*"
    rf"(?:[–—|-][ \t]+)?)?[*_]{{0,2}}(?P<name>{_NAME})"
    rf"(?:[ \t]*[(\[](?:(?P<behind>{_TIME})|(?P<as>[^\W\d_][^()\[\]\n:]{{0,29}}))[)\]])?"
    r"[*_]{0,2}[ \t]*:[*_]{0,2}(?=\s|$)[ \t]*"
)
"""A label at the beginning of a line: at most three words, a time before or behind them, a role in brackets."""
_INSIDE = re.compile(
    rf"(?<=[.!?…|/;\"”)] )(?P<name>(?:{_ASKS}|{_ANSWERS})(?:[ \t]#?\d{{1,2}})?)[ \t]*:(?=\s|$)[ \t]*",
    re.IGNORECASE,
)
"""The label of a role in the middle of a line, where lines were joined."""
_MARKS = frozenset(".!?…,:;)")
_SENTENCE = re.compile(r"\S(?:[^.!?…\n]|[.!?…](?!\s|$))*[.!?…]*")
_ASKED = re.compile(r"\?[\s\"'”’)!?]*\Z")
_EMPTY_LINE = re.compile(r"\n[ \t\r]*\n")
_TAKES_UP = re.compile(
    r"\W*(?:yes|yeah|yep|yup|yea|exactly|correct|right|agreed|indeed|true|absolutely|definitely|precisely|totally|"
    r"no|nope|nah|not|i (?:dis)?agree|i know|same here|that(?:['’]s| is)|it(?:['’]s| is))\b",
    re.IGNORECASE,
)
"""How an answer begins that says of what was said before whether it is so."""
_NUMBER = re.compile(r"[ \t]*#?\d{1,2}\Z")


@dataclass(frozen=True)
class _Label:
    """A label: its characters, the name in small letters, the role, whether a time is beside it."""

    start: int
    stop: int
    name: str
    role: Role | None
    timed: bool
    capital: bool


class Label(NamedTuple):
    """Where a speaker's label stands in a text, and the role that it names.

    Args:
        start: Its first character.
        stop: Its last + 1, with the colon and blanks behind it.
        role: Whether it names one who asks or one who answers.
    """

    start: int
    stop: int
    role: Role | None


def without_speakers(text: str) -> str:
    """A text with blanks and a dash in place of the labels of speakers, so that all else stays in its place.

    A dash is how books write who speaks. The sentence before a label ends: with a full stop, where the line has no mark
    of its own at its end. What those who answer state (:func:`stated_by_others`) is blank, too. A text that is no
    conversation stays as it is, and so does one of labels alone.
    """
    found = _labels(text)
    if not found:
        return text
    said = _blanked(text, stated_by_others(text))
    parts: list[str] = []
    at = 0
    for start, stop, _ in found:
        before = said[:start].rstrip()[-1:]
        ends = "." if before and before not in _MARKS else "\n"
        dash = "— " if stop - start > len("Me:") else "—"
        parts += said[at:start], f"{ends}\n".ljust(stop - start - len(dash)), dash
        at = stop
    said = "".join((*parts, said[at:]))
    return text if not any(map(str.isalnum, said)) else said


@lru_cache(maxsize=1 << 12)
def stated_by_others(text: str) -> tuple[tuple[int, int], ...]:
    """Where those who answer ("Agent", "Support") state something to those who ask: first character, last + 1.

    It is no opinion of whoever the text is from: "Agent: Our app is very easy to use!". Their questions stay, since
    the answer may be no more than "No", and so does a last sentence that the next turn takes up ("Yes, exactly"). A
    turn ends at an empty line. None where nobody has the role of one who asks.
    """
    found = _labels(text)
    if {"asks", "answers"} - {label.role for label in found}:
        return ()
    spans: list[tuple[int, int]] = []
    for label, after in zip_longest(found, found[1:]):
        end = len(text) if after is None else after.start
        is_taken_up = after is not None and _TAKES_UP.match(text, after.stop) is not None
        if label.role != "answers":
            continue
        gap = _EMPTY_LINE.search(text, label.stop, end)
        turn = list(_SENTENCE.finditer(text, label.stop, end if gap is None else gap.start()))
        heard = turn[:-1] if is_taken_up else turn
        spans += [sentence.span() for sentence in heard if not _ASKED.search(sentence[0])]
    return tuple(spans)


def speakers(text: str) -> tuple[tuple[int, int], ...]:
    """Where the labels of a conversation's speakers stand: first character, last + 1; none in another text.

    A label begins a line and ends with a colon. Two at least make a conversation

    - where one is of who asks ("Customer", "Me") and one of who answers ("Agent", "Support"): these may stand inside a
      line, too, if the text begins with one;
    - where one of these comes again, but for those of who answers that may head what a review judges ("Support: slow"):
      these want a person beside them;
    - where one comes again that has a time beside it ("[10:32] Anna:");
    - where a first name comes again beside another ("Anna: … Ben: … Anna: …").

    In a conversation a label that comes again is one of a speaker, and so is one with a time, or that is a first name.
    """
    return tuple((label.start, label.stop) for label in _labels(text))


@lru_cache(maxsize=1 << 12)
def _labels(text: str) -> tuple[Label, ...]:
    if ":" not in text:
        return ()
    shown, places = laid_out(text)
    labels = [_label(match) for match in _LABEL.finditer(shown)]
    if labels and labels[0].role is not None and not shown[: labels[0].start].strip():
        taken = {label.start for label in labels}
        inside = (_label(match) for match in _INSIDE.finditer(shown))
        labels += [label for label in inside if label.capital and label.start not in taken]
    if len(labels) < 2 or not _converse(labels):
        return ()
    often = Counter(label.name for label in labels if label.capital)
    kept = (
        label
        for label in labels
        if label.role is not None
        or label.timed
        or label.name.split()[0] in _FIRST_NAMES
        or (often[label.name] > 1 and _is_name(label.name))
    )
    found = [
        Label(label.start, label.stop, label.role) for label in sorted(kept, key=lambda label: label.start)
    ]
    if places is None:
        return tuple(found)
    return tuple(Label(places[start][0], places[stop - 1][1], role) for start, stop, role in found)


def _blanked(text: str, spans: Sequence[tuple[int, int]]) -> str:
    """The text with blanks in place of these characters."""
    parts: list[str] = []
    at = 0
    for start, stop in spans:
        parts += text[at:start], " " * (stop - start)
        at = stop
    return "".join((*parts, text[at:]))


def _converse(labels: Sequence[_Label]) -> bool:
    """Whether these are the labels of a conversation."""
    roles = {label.role for label in labels}
    if {"asks", "answers"} <= roles:
        return True
    often = Counter(label.name for label in labels)
    again = [label for label in labels if often[label.name] > 1]
    if any(_ALONE.fullmatch(_NUMBER.sub("", label.name)) for label in again):
        return True
    person = any(label.role is None and _is_name(label.name) for label in labels)
    if person and any(label.role == "answers" for label in again):
        return True
    if any(label.timed for label in again) and sum(label.timed for label in labels) > 1:
        return True
    named = {label.name for label in labels if label.name.split()[0] in _FIRST_NAMES}
    return len(named) > 1 and any(label.name in named for label in again)


def _label(match: re.Match[str]) -> _Label:
    groups = match.groupdict()
    name = match["name"]
    role = _role_of(name) or (_role(groups["as"]) if groups.get("as") else None)
    timed = bool(groups.get("before") or groups.get("behind"))
    start = match.start() + len(match[0]) - len(match[0].lstrip(" \t"))
    return _Label(start, match.end(), name.casefold(), role, timed, name[0].isupper())


def _role_of(name: str) -> Role | None:
    """The role that a label names, alone, or with a number or name: "Speaker 1", "Agent Sofie"."""
    role = _role(_NUMBER.sub("", name))
    if role is not None or " " not in name:
        return role
    first, rest = name.split(None, 1)
    named = rest[:1].isupper() and (_is_name(rest.casefold()) or len(rest.rstrip(".")) == 1)
    return _role(first) if named else None


def _role(words: str) -> Role | None:
    return next((role for role, names in _ROLES.items() if names.fullmatch(words.strip())), None)


def _is_name(name: str) -> bool:
    """Whether a label, in small letters, may be a person's name: a first name, or no word of English."""
    first = name.split()[0]
    return first in _FIRST_NAMES or (first.isalpha() and len(first) > 2 and first not in english().known)

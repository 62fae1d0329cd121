"""Answers that begin by saying that there is nothing to name: "nothing, staff were lovely"."""

from __future__ import annotations

import re

from weft.absa.represent.spelling import shown

_BEGIN = 400
"""Characters of an answer in which it is looked for."""
_BEFORE = (
    r"honestly|really|actually|well|absolutely|literally|sorry|hm+|um+|er+|oh|so far|no idea|honest answer|"
    r"at the moment|right now|for now|to be (?:fair|honest)|i"
)
_NOTHING = (
    r"nothing|none|nil|nada|nope|nah|no|zero|zilch|hardly anything|not (?:much|a lot|a thing|really|anything)"
)
_FURTHER = (
    r"at all|really|so far|yet|much|bad|wrong|special|specific|major|unpleasant|in particular|whatsoever|"
    r"(?:comes?|springs?) to mind|(?:that )?i can think of|of (?:it|them|note)|this (?:time|week|year)|"
    r"(?:for|from) (?:me|us|now|my side|our side)|known to (?:me|us)|at the moment|right now|for now|"
    r"to (?:add|report|say|complain about|fault|dislike|like|improve|change|mention)"
)
_NO = r"complaints?|negatives?|dislikes?|cons|pros|faults?|issues?|problems?|downsides?|suggestions?|comments?|changes"
_UNABLE = (
    r"(?:can(?: ?no|'|)t|could(?:n'?t| not)|do(?:n'?t| not)) (?:really |honestly )?"
    r"(?:(?:think of|fault|complain|say|judge|tell|know)(?: (?:anything|one|a thing|any|it|them))?|"
    rf"have any (?:{_NO}))|"
    r"i have nothing|not that i (?:know|noticed|can think)|not a single thing"
)
_DENIED = re.compile(
    rf"[\W_]*(?:(?:{_BEFORE})\b[\W_]*){{0,3}}"
    rf"(?:(?:{_NOTHING})(?: (?:{_FURTHER}))*[ \t]*(?:[.,;:!?()–—\n](?!\s?\d)|-|$)|n/?a\b|"
    rf"(?:no (?:{_NO})|{_UNABLE})(?: (?:{_FURTHER}))*\b)",
    re.IGNORECASE,
)


def is_denied(text: str) -> bool:
    """Whether an answer begins by saying that there is nothing of what it was asked for.

    Such a word ends what is said: "no, all of it was delicious" and "none so far" do, "no parking" and "nothing worked"
    do not. A text of marks alone ("-") says nothing, too.
    """
    seen = shown(text[:_BEGIN]).replace("’", "'")
    return _DENIED.match(seen) is not None or not any(map(str.isalnum, seen))


def behind_denial(text: str) -> str:
    """What such an answer says behind that, as a web page shows it: of "nothing - loved it" the last two words."""
    seen = shown(text).replace("’", "'")
    found = _DENIED.match(seen)
    rest = "" if found is None else seen[found.end() :]
    return rest.strip() if any(map(str.isalnum, rest)) else ""

"""Answers that begin by saying that there is nothing to name: "nothing, staff were lovely"."""

from __future__ import annotations

import re

from weft.absa.represent.spelling import shown

_BEFORE = (
    r"honestly|really|actually|well|absolutely|literally|sorry|hmm+|um+|er+|oh|so far|no idea|honest answer|"
    r"to be (?:fair|honest)|i"
)
_NOTHING = (
    r"nothing|none|nil|nada|nope|nah|no|zero|zilch|hardly anything|not (?:much|a lot|a thing|really|anything)"
)
_FURTHER = (
    r"at all|really|so far|yet|much|bad|wrong|special|specific|major|unpleasant|in particular|whatsoever|"
    r"(?:comes?|springs?) to mind|(?:that )?i can think of|of (?:it|them|note)|this (?:time|week|year)|"
    r"(?:for|from) (?:me|us|now|my side|our side)|known to (?:me|us)|"
    r"to (?:add|report|say|complain about|fault|dislike|like|improve|change|mention)"
)
_NO = r"complaints?|negatives?|dislikes?|cons|pros|faults?|issues?|problems?|downsides?|suggestions?|comments?|changes"
_UNABLE = r"(?:can(?:no|')t|could(?:n't| not)|do(?:n't| not)) (?:really )?(?:think of|fault|complain)|i have nothing"
_DENIED = re.compile(
    rf"[\W_]*(?:(?:{_BEFORE})\b[\W_]*){{0,3}}"
    rf"(?:(?:{_NOTHING})(?: (?:{_FURTHER}))*[ \t]*(?:[.,;:!?()–—\n](?!\s?\d)|-|$)|"
    rf"n/?a\b|no (?:{_NO})\b|(?:{_UNABLE})\b)",
    re.IGNORECASE,
)


def is_denied(text: str) -> bool:
    """Whether an answer begins by saying that there is nothing of what it was asked for.

    Such a word ends what is said: "no, all of it was delicious" and "none so far" do, "no parking" and "nothing worked"
    do not. A text of marks alone ("-") says nothing, too.
    """
    seen = shown(text).replace("’", "'")
    return _DENIED.match(seen) is not None or not any(map(str.isalnum, seen))

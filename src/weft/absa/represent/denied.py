"""Answers that begin by saying that there is nothing to name: "nothing, staff were lovely"."""

from __future__ import annotations

import re

from weft.absa.records import is_blank
from weft.absa.represent.spelling import is_emoji, shown

_BEFORE = (
    r"honestly|really|actually|well|absolutely|literally|sorry|hm+|um+|er+|oh|so far|no idea|honest answer|"
    r"at the moment|right now|for now|to be (?:fair|honest)|there(?:'s| is| was)|i"
)
_NOTHING = (
    r"nothing|none|nil|nada|nope|nah|no|zero|zilch|hardly anything|not (?:much|a lot|a thing|really|anything)|"
    r"not a single thing|n\.? ?/ ?a\.?|n\.a\.?|na|not applicable|i have nothing"
)
_FURTHER = (
    r"at all|really|so far|yet|much|bad|wrong|special|specific|major|unpleasant|in particular|whatsoever|as such|"
    r"(?:comes?|springs?) to (?:my )?mind|(?:that )?i (?:can think of|noticed|know of|saw|guess)|of (?:it|them|note)|"
    r"this (?:time|week|year)|(?:for|from) (?:me|us|now|my side|our side)|known to (?:me|us)|"
    r"at the moment|right now|for now|to be (?:fair|honest)|tbh|honestly|sorry|thanks?|thank you|"
    r"to (?:add|report|say|complain about|fault|dislike|like|improve|change|mention)"
)
_NO = (
    r"complaints?|negatives?|positives?|dislikes?|cons|pros|faults?|issues?|problems?|downsides?|suggestions?|"
    r"comments?|changes"
)
_CANNOT = r"(?:can(?: ?no|'|)t|could(?:n'?t| not)) (?:really |honestly )?"
_DO_NOT = r"do(?:n'?t| not) (?:really |honestly )?"
_END = r"(?=\s*(?:$|-(?=\s|$)|[–—]|[^\w\s\-–—/'(&%+#](?!\s?(?:\d|of\b))))"
"""The end of what is said: a mark that is no hyphen, no slash and no bracket; "No. 7" and "no. of" go on."""
_DENIED = re.compile(
    rf"[\W_]*(?:(?:{_BEFORE})\b[\W_]*){{0,3}}(?:"
    rf"(?:(?:{_NOTHING})|{_CANNOT}(?:think of (?:anything|one|any|a thing|much)|say|judge|tell|complain)|"
    rf"{_DO_NOT}(?:know|have any (?:{_NO}))|not that i (?:know|noticed|can think)|no (?:{_NO}))"
    rf"(?: (?:{_FURTHER}))*{_END}|"
    rf"{_CANNOT}fault\b|{_CANNOT}complain about\b|no (?:{_NO}) (?:with|about)\b)",
    re.IGNORECASE,
)
_FACE = re.compile(r"[:;=][-']?[()\[\]]|[()][-']?[:;=]")
_BUT = re.compile(
    r"[\W_]*(?:just|but|maybe|perhaps|except|apart from|other than|only|if anything|although|though|better|more|less|"
    r"fewer|longer|shorter|bigger|smaller|cheaper|cleaner|faster|quieter|easier|clearer|could|should|would be|i wish|"
    r"please|add|a bit)\b",
    re.IGNORECASE,
)
"""How it goes on where something is named after all: "nothing major, just better wifi"."""


def has_words(text: str) -> bool:
    """Whether a text says anything: it has a letter, a number, an emoji or a face, which are read as words."""
    seen = shown(text)
    return any(map(str.isalnum, seen)) or any(map(is_emoji, seen)) or _FACE.search(seen) is not None


def behind_denial(text: str) -> str | None:
    """What an answer says behind saying that there is nothing of what it was asked for; None where it does not say so.

    Such a word ends what is said: "no, all of it was delicious" and "none so far" do so, "no parking", "no-show fees"
    do not. What goes on with a wish or "but" names something. A text of marks alone ("-") says nothing, but emoji do.

    Returns:
        As a web page shows it, with a blank for all spaces: "loved it" of "nothing - loved it". Empty where nothing is
        left.
    """
    seen = " ".join(shown(text).replace("’", "'").split())
    if not any(map(str.isalnum, seen)):
        return None if has_words(seen) else ""
    found = _DENIED.match(seen)
    if found is None or _BUT.match(seen, found.end()):
        return None
    rest = seen[found.end() :].lstrip(" \t.,;:!?…*~-–—")
    return "" if is_blank(rest) else rest

"""What became less or more and is better so: "Waiting times have come down", "The choice has grown"."""

from __future__ import annotations

import re

from weft.absa.represent.slips import Slip

_BAD = (
    r"(?:wait(?:ing)?|load(?:ing)?|response|boot)[ -]times?|waits?|waiting lists?|delays?|"
    r"noise(?: levels?)?|complaints?|(?<!share )(?<!house )(?<!stock )(?<!oil )(?<!selling )prices?|queues?|"
    r"crash(?:es)?|bugs?|glitch(?:es)?|errors?|faults?|"
    r"(?:battery )?drain|costs?|fees?|rents?|premiums?|excess|smells?|crowds?|lag|pain|swelling|traffic|emissions?|"
    r"accidents?|injur(?:y|ies)|fraud(?: cases)?|thefts?|break-ins?|churn|bad loans?|paperwork|waste"
)
"""What is better the less there is of it."""
_GOOD = (
    r"quality|staff(?: numbers)?|opening (?:hours|times)|portions?|choice|selection|range|battery life|speed|"
    r"reliability"
)
"""What is better the more there is of it."""
_OF = r"(?: (?:of|in|on|at|to|about|from|for|with)(?: [\w'’-]+){1,3}?)?"
_SINCE = r"(?:(?:has|have|had)(?: all but| really| finally| now| also| \w+ly)? )"
_FELL = (
    rf"{_SINCE}(?:come|gone|died) (?:right |way )?down|{_SINCE}gone away|{_SINCE}gone(?=[.,;!]|$| since\b)|"
    rf"{_SINCE}?(?:fallen|fell|dropped|shrunk|shrank|declined|decreased|eased(?: off)?|lessened|subsided|vanished|"
    r"disappeared|plummeted|dwindled|halved|thinned out)|"
    r"(?:came|went|died) (?:right |way )?down|went away|"
    r"(?:is|are|was|were|has been|have been) (?:down(?= (?:by|to|\d|a lot|from))|"
    r"cut|halved|lowered|reduced|shortened|slashed|gone(?=[.,;!]|$| since\b))|"
    r"(?:has |have )?(?:got|gotten|become) (?:shorter|smaller|lower)"
)
_FALLS = r"falls?|drops?(?= \d)|shrinks?|eases?|declines?|sinks?|down(?= \d)"
"""Of headlines, which begin with what falls."""
_ROSE = (
    rf"{_SINCE}gone up|{_SINCE}?(?:risen|rose|grown|grew|increased|doubled|tripled|climbed)|went up|"
    r"(?:is|are|was|were|has been|have been) (?:extended|doubled|increased|tripled)"
)
_MUCH = (
    r"(?: (?:in half|a (?:lot|bit|little)|sharply|considerably|noticeably))?"
    r"(?: by (?:about |over |almost |nearly |more than )?(?:half|an? \w+|two thirds|three quarters|\w*\d[\w.%]*)\b%?"
    r"|(?: (?:to|from)(?: (?!(?:since|after|when|because|thanks|over|in|at|on|with|but|and|to)\b)[\w'’%-]+){1,4}){1,2}"
    r"| \d+ ?%)?"
)
_NOT_SO = r"\b(?! (?:me|us|you|my|our|short|on|upon|into|behind|apart|only|slightly|barely)\b)"
_CHANGED = re.compile(
    rf"\b(?:(?:{_BAD}){_OF} (?P<fell>{_FELL})|(?:{_GOOD}){_OF} (?P<rose>{_ROSE})){_NOT_SO}(?P<much>{_MUCH})",
    re.IGNORECASE,
)
_HEADLINE = re.compile(
    rf"(?m)^(?:(?!(?:if|unless|when|until|once|should|as)\b)\w+ )?(?:{_BAD}){_OF} "
    rf"(?P<fell>{_FALLS}){_NOT_SO}(?P<much>{_MUCH})",
    re.IGNORECASE,
)
_DID = re.compile(
    rf"(?<!not )(?<!n['’]t )(?<!to )\b(?:(?P<less>cut|halved|lowered|reduced|slashed|shortened)"
    rf"(?: the| its| their| our| my)? (?:\w+ )?(?:{_BAD})|"
    rf"(?P<more>doubled|extended|increased|tripled) (?:the|its|their|our|my) (?:\w+ )?(?:{_GOOD}))\b(?P<much>{_MUCH})",
    re.IGNORECASE,
)
_HALF = re.compile(rf"\bhalf as (?:many|much)(?= (?:{_BAD})\b)", re.IGNORECASE)
_UNREAL = re.compile(
    r"\b(?:if|unless|until|till|hope|hoped|wish|when|once|before|expect|should|would|will|want|wait for|told|said|says|"
    r"promised?|claims?)\b[^.!?;\n]*\Z",
    re.IGNORECASE,
)
"""Before what is hoped, supposed or said by others."""
_ENDS = re.compile(r"[.!?;\n]|\Z")
_LOOKED_AT = 60
"""Characters before a change in which such a word is looked for."""
FEWER, MORE, IMPROVED = "are no longer a problem", "are much better", "improved"
"""What a model reads as the praise that is meant."""


def changes(text: str) -> list[Slip]:
    """What became better by being less or more, and the words that say so.

    Of known things that are better the less there is of them, "Delays fell by a third" is "Delays are no longer a
    problem", "they halved the waiting time" "they improved the waiting time", "half as many bugs" "far fewer bugs"; of
    those that are better the more there is, "the choice has grown" is "the choice are much better". The number of the
    verb does not matter to a model. What rises and is bad, or falls and is good, is read well as it is. What is hoped,
    asked or said by others stays.
    """
    found: list[Slip] = []
    for pattern in (_CHANGED, _HEADLINE):
        for match in pattern.finditer(text):
            if _is_told(text, match):
                rose = match.groupdict().get("rose") is not None
                found.append(
                    Slip(match.start("rose" if rose else "fell"), match.end(), MORE if rose else FEWER)
                )
    for match in _DID.finditer(text):
        if _is_told(text, match):
            start, stop = match.span("less" if match["less"] else "more")
            found.append(Slip(start, match.end(), f"{IMPROVED}{text[stop : match.start('much')]}"))
    found += [Slip(*match.span(), "far fewer") for match in _HALF.finditer(text)]
    return sorted(found)


def _is_told(text: str, match: re.Match[str]) -> bool:
    """Whether it is told, not hoped, asked or said by somebody."""
    ends = _ENDS.search(text, match.end(), match.end() + _LOOKED_AT)
    begin = max(0, match.start() - _LOOKED_AT)
    return _UNREAL.search(text, begin, match.start()) is None and (ends is None or ends[0] != "?")

"""Datelines: place and day that open a report ("ROTTERDAM, March 3 (Reuters) - …") and are none of its facts."""

from __future__ import annotations

import re
from typing import NamedTuple

_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|"
    r"nov(?:ember)?|dec(?:ember)?)\.?"
)
_WEEKDAY = r"(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?\.?"
_YEAR = r"(?:1[5-9]|20)\d\d"
_DATE = (
    rf"(?i:(?:{_WEEKDAY},?[ ])?(?:\d{{1,2}}(?:st|nd|rd|th)?[ ]{_MONTH}(?:,?[ ]{_YEAR})?"
    rf"|{_MONTH}[ ]\d{{1,2}}(?:st|nd|rd|th)?(?:,?[ ]{_YEAR})?|{_MONTH}[ ]{_YEAR}|{_YEAR}-\d\d-\d\d)"
    rf"|{_WEEKDAY}(?![\w,]))"
)
_UPPER = r"[^\W\d_a-zß-öø-ÿ]"
_CAPITALS = rf"(?:ST\.[ ])?{_UPPER}(?:{_UPPER}|['’.-]){{2,}}(?:[ ]{_UPPER}(?:{_UPPER}|['’.-])+){{0,3}}"
_SMALL = r"(?:(?:am|an|auf|and|da|de|del|der|do|dos|du|en|la|le|of|sur|upon)[ ])*"
_OPENERS = r"(?:In|On|At|By|From|Since|Until|Dear|Born|Died|The|A|An)\b"
_WORDS = rf"(?!{_OPENERS})(?:St\.[ ])?{_UPPER}[\w'’-]+(?:[ ]{_SMALL}{_UPPER}[\w'’-]+){{0,3}}"
_REGION = rf"(?:,[ ](?!(?i:{_MONTH}|{_WEEKDAY})(?![\w.]))[^\W\d_][\w.'’-]*(?:[ ][^\W\d_][\w.'’-]*){{0,2}})?"
_AGENCY = r"(?:\((?P<agency>[^\W\d_][\w .&-]{1,28})\)|/(?P<wire>[^\W\d_][\w .&-]{1,28})/)"
_DASH = r"(?:[ ]?(?:--|[–—])|[ ]-)(?=\s)"
_DATELINE = re.compile(
    rf"(?!(?i:{_MONTH})\b)(?P<place>{_CAPITALS}|{_WORDS}){_REGION}"
    rf"(?:(?:,[ ]|[ ]\()(?P<date>{_DATE})\)?)?(?:,?[ ]{_AGENCY})?"
    rf"(?:(?P<dash>{_DASH})|[.:])[ \t]*(?:[ \t]|\r?\n(?![ \t\r]*\n))[ \t]*(?=[\"'“‘«(]*{_UPPER})"
)
"""A place, its region or country, a day, an agency, and what parts them from the sentence behind."""
_LIFE = re.compile(rf"(?:{_DATE}|(?i:{_MONTH})\b|born\b|died\b)")
"""What stands behind a person and the day of a birth: "Anna Holm, 2 May 1970 – June 2020"."""
_ABOVE = re.compile(r"(?:\A\ufeff?|\n[ \t\r]*\n)[ \t\r\n]*(?=\S)")


class Dateline(NamedTuple):
    """A dateline at the beginning of a paragraph.

    Args:
        start: Offset of its first character.
        end: Offset at which the sentence behind it begins.
        sure: Whether a place and nobody stands there, by the words alone: in capitals or of one word, with a day or an
            agency; not so "Anna Holm, 2 May 2016." and "UNICEF — ".
    """

    start: int
    end: int
    sure: bool


def datelines(text: str) -> list[Dateline]:
    """The datelines of a text, in order: at its beginning and at that of paragraphs.

    A place, then a day or an agency or both, then a dash, a colon or a full stop, and in the same paragraph a sentence;
    or a place in capitals and a dash.
    """
    found: list[Dateline] = []
    for above in _ABOVE.finditer(text):
        line = _DATELINE.match(text, above.end())
        if line is None or _LIFE.match(text, line.end()):
            continue
        place = line["place"]
        dated = bool(line["date"] or ((line["agency"] or line["wire"]) and line["dash"]))
        if not dated and not (line["dash"] and place.isupper()):
            continue
        plain = place.isupper() or " " not in place
        found.append(Dateline(above.end(), line.end(), dated and plain))
    return found

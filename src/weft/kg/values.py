"""Names that are dates or amounts, in one spelling each: what a program can sort and count with."""

from __future__ import annotations

import re
import unicodedata
from calendar import isleap
from typing import NamedTuple

DATE, NUMBER = "TIME", "NUM"
"""Types of entities that have values."""
_MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october",
    "november", "december",
)  # fmt: skip
_MONTH = {name[:length]: number for number, name in enumerate(_MONTHS, 1) for length in (3, len(name))} | {
    "sept": 9
}
_NAMES = "|".join(sorted(_MONTH, key=len, reverse=True))
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_YEAR = r"(?P<year>\d{1,4}(?=\s?(?:bce?|b\.c\.|ad)(?!\w))|\d{3,4})(?P<era>\s?(?:bce?|b\.c\.|ad))?"
_DATES = tuple(
    re.compile(pattern)
    for pattern in (
        r"(?P<year>\d{4})-(?P<month>\d{2})(?:-(?P<day>\d{2}))?",
        rf"(?:the )?{_DAY}(?: of)? (?P<month>{_NAMES})\.?(?: ?,? {_YEAR})?",
        rf"(?P<month>{_NAMES})\.? {_DAY}(?: ?,? {_YEAR})?",
        rf"(?P<month>{_NAMES})\.?(?: ?,| of)? {_YEAR}",
        _YEAR,
        r"(?:the )?(?:(?P<part>early|mid|late)[ -])?(?P<decade>\d{3})0s",
        r"(?:the )?(?:(?P<part>early|mid|late)[ -])?(?P<century>\d{1,2})(?:st|nd|rd|th) century",
    )
)
_RANGE = re.compile(r"(?:from )?(\d{4})\s?(?:-|–|—|to)\s?(\d{4}|\d{2})")
_MONTHLY = re.compile(r"\d{4}-(?:0[1-9]|1[0-2])")
"""A month of ISO 8601, which is no span of years: "1914-18" is one."""
_DAYS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_WORDS = re.findall(
    r"\w+",
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen twenty",
)
_TENS = re.findall(r"\w+", "thirty forty fifty sixty seventy eighty ninety")
_COUNT = {word: number for number, word in enumerate(_WORDS)} | {
    word: 10 * number for number, word in enumerate(_TENS, 3)
}
_SCALE = {"hundred": 2, "thousand": 3, "million": 6, "billion": 9, "bn": 9, "trillion": 12}
_MONEY = {"$": "USD", "us$": "USD", "€": "EUR", "£": "GBP", "¥": "JPY"}
_SHORT = {"k": 3, "m": 6, "mn": 6, "mln": 6, "mio": 6, "b": 9, "tn": 12}
"""What stands behind an amount of money for a word of :data:`_SCALE`; behind another number "m" are metres."""
_CURRENCY = re.compile(r"(?:us |u\.s\. )?dollars?|usd|euros?|eur|pounds?(?: sterling)?|gbp|yen|jpy")
_AMOUNT = re.compile(
    r"(?P<money>us\$|[$€£¥])?\s?(?P<number>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|[a-z]+(?:-[a-z]+)?)"
    rf"(?:\s?(?P<scale>{'|'.join(sorted(_SCALE, key=len, reverse=True))})\b)?"
    r"(?:\s?(?P<unit>%|°c|[a-z][a-z²³ /.]{0,30}))?"
)
_GOES_ON = re.compile(rf"(?:and|or|to|{'|'.join((*_COUNT, *_SCALE))})\b")
_PER_CENT = frozenset(("%", "percent", "per cent"))


class Value(NamedTuple):
    """What a name says, so that two spellings of one thing are equal.

    Args:
        text: A date of ISO 8601 (``1999-05-12``, ``1999-05``, ``1999``; decades and centuries as ``199X`` and
            ``19XX``, spans of years as ``1914/1918``), or a decimal number.
        datatype: Of XML Schema: ``date``, ``gYearMonth``, ``gYear``, ``gMonthDay``, ``decimal``;
            ``string`` where it has none.
        unit: Of an amount, as written; ``%`` and codes of currencies in one spelling.
    """

    text: str
    datatype: str
    unit: str = ""

    def __str__(self) -> str:
        return f"{self.text} {self.unit}".strip()


def value_of(name: str, kind: str = "") -> Value | None:
    """What a date or an amount says; None where it is neither, or is said in a way that is not known.

    Args:
        name: As the text has it.
        kind: Its type; without one, only what can be nothing but a date is read.
    """
    said = " ".join(name.casefold().split())
    if not said.isascii():  # digits of other scripts are digits: RDF knows those of ASCII alone
        said = "".join(str(unicodedata.decimal(mark, mark)) for mark in said)
    if kind == NUMBER:
        return _amount(said)
    if kind not in (DATE, ""):
        return None
    found = _date(said)
    return found if kind or (found is not None and found.datatype in ("date", "gYearMonth")) else None


def _date(said: str) -> Value | None:
    span = _RANGE.fullmatch(said)
    if span and not _MONTHLY.fullmatch(said):
        first, last = span.groups()
        last = first[: 4 - len(last)] + last
        return Value(f"{first}/{last}", "string") if first < last else None
    for pattern in _DATES:
        match = pattern.fullmatch(said)
        if match:
            return _calendar(match.groupdict())
    return None


def _calendar(said: dict[str, str | None]) -> Value | None:
    for name, places in (("decade", 1), ("century", 2)):
        digits = said.get(name)
        if digits:
            # The 19th century holds the years 18XX.
            number = digits if name == "decade" else f"{int(digits) - 1:02}"
            return None if said.get("part") or int(digits) < 1 else Value(number + places * "X", "string")
    day, written = int(said.get("day") or 0), said.get("month") or ""
    month = int(written) if written.isdigit() else _MONTH.get(written, 0)
    if (written and not 1 <= month <= 12) or (said.get("day") and not 1 <= day <= _DAYS[month - 1]):
        return None
    ends = f"-{month:02}" * bool(month) + f"-{day:02}" * bool(day)
    year = said.get("year")
    if year and (month, day) == (2, 29) and not said.get("era") and not isleap(int(year)):
        return None
    if not year:
        return Value(f"-{ends}", "gMonthDay")
    before = (said.get("era") or "").strip().startswith("b")
    # ISO counts 1 BC as the year 0.
    number = f"-{int(year) - 1:04}" if before else f"{int(year):04}"
    return Value(number + ends, "date" if day else "gYearMonth" if month else "gYear")


def _amount(said: str) -> Value | None:
    match = _AMOUNT.fullmatch(said)
    if not match:
        return None
    number = _decimal(match["number"])
    if number is None:
        return None
    unit, places = (match["unit"] or "").strip(), _SCALE.get(match["scale"] or "", 0)
    if _GOES_ON.match(unit):
        return None  # "two hundred and fifty", "three to five": the number is not all of it
    if match["money"]:
        if not match["scale"] and unit in _SHORT:
            unit, places = "", _SHORT[unit]
        if unit and not _CURRENCY.fullmatch(unit):
            return None  # "$200 per ton", "$100 canadian"
        unit = _MONEY[match["money"]]
    return Value(_shifted(number, places), "decimal", "%" if unit in _PER_CENT else unit)


def _decimal(said: str) -> str | None:
    if said[0].isdigit():
        return said.replace(",", "")
    tens, _, ones = said.partition("-")
    if tens not in _COUNT or (
        ones and not (_COUNT[tens] in range(20, 100, 10) and 0 < _COUNT.get(ones, 0) < 10)
    ):
        return None
    return str(_COUNT[tens] + _COUNT.get(ones, 0))


def _shifted(number: str, places: int) -> str:
    """A decimal times a power of ten, exactly."""
    whole, _, part = number.partition(".")
    part = part.ljust(places, "0")
    whole, part = (whole + part[:places]).lstrip("0") or "0", part[places:].rstrip("0")
    return f"{whole}.{part}" if part else whole

"""What looks like a judgement by its layout and is a fact: changes, symptoms, tasks, places that have a letter."""

from __future__ import annotations

import re
from collections.abc import Sequence

_OF_BILLS = r"(?:vat|tax(?:es)?|tips?|deposit|discount|shipping|postage|fees?|vouchers?|surcharges?)"
"""Below "Total" these are parts of a sum; without them, and without numbers, it heads a verdict."""
_ABOVE = re.compile(
    r"(?m)^[ \t*_#]*+(?:change ?log|changes|release notes|what['’]s (?:new|included)|recipe change|"
    r"ingredients|groceries|"
    r"(?:shopping|packing|check|guest)[ -]?list|to[ -]?do(?: list)?|tasks?|still to do|"
    r"(?:shopping|packing|check|guest)[ -]?list (?:for|of|to)\b[^\n:.✅✔✓❌✖✘✗]{1,60}+(?=[:\n])|"
    r"(?:what|things|items) to (?:bring|pack|buy|take)|(?:please )?(?:bring|pack)(?: along)?(?: the following)?|"
    r"included?|includes|contains|allergens|attendance|attending|attendees|available|legend|key|"
    r"ros|hpi|pmh|fh|pe|urine|urinalysis|labs|neuro|meds|medications|symptoms|allergies|family history|"
    r"review of systems|"
    rf"subtotal|total(?=[^\n]*\d|(?:[^\n]*\n){{1,6}}?[^\n]*\b{_OF_BILLS}\b)|"
    r"income|budget|balance|(?:burger )?order|pollen(?: today)?|diff|added(?:/removed)?|patch notes|"
    r"(?:update|version|release|v) ?\d[\d.]*+)"
    r"[*_]{0,2}[ \t]*+(?:[:.]|$)",
    re.IGNORECASE,
)
"""What stands above a list of facts."""
_STATUS = re.compile(
    r"(?:\A|[\n.!?;,:|✅✔✓❌✖✘✗☑☐☒\ufe0f])[ \t]*(?:not[ \t]+(?:yet[ \t]+)?)?"
    r"(?:approved|archived|attended|billed|booked|cancelled|checked(?:[ -](?:in|out))?|completed?|confirmed|dated|"
    r"delivered|dispatched|done|invoiced|notified|ordered|packed|paid|pending|picked|posted|printed|received|refunded|registered|"
    r"returned|reviewed|scheduled|sent|shipped|signed|submitted|verified|witnessed)"
    r"(?=[ \t]*:?[ \t]*[✅✔✓❌✖✘✗☑☐☒])",
    re.IGNORECASE,
)
"""What a tick says of a task or an order, alone before it: "Paid ✔", and no "well packed ✔"."""
_DIFF = re.compile(r"(?m)^(?:@@ -\d|\+\+\+ \S|diff --git )")
_LETTERED = frozenset(
    {
        *("type", "ward", "wing", "zone", "terminal", "gate", "platform", "pier", "row", "exit"),
        *("dock", "aisle", "sector", "vitamin", "hepatitis", "influenza", "factor", "group"),
        *("team", "plan", "option", "choice", "answer", "question", "version", "variant"),
        *("column", "appendix", "exhibit", "annex", "figure"),
        *("name", "author", "editor", "signed", "witness", "initials", "surname", "operator", "player"),
        *("sample", "band", "tariff", "licence", "license", "category", "visa", "passport", "disk"),
        *("partition", "port", "shift", "monday", "tuesday", "wednesday", "thursday", "friday"),
    }
)
"""What has a letter as its name."""
_OFTEN = frozenset(
    {
        *("bed", "building", "block", "tower", "floor", "area", "section", "hall", "track"),
        *("seat", "stand", "entrance", "door", "bay", "lot", "unit", "flat", "apartment", "bus"),
        *("line", "lane", "stop", "part", "side", "drive", "size", "cup", "key", "chord"),
        *("note", "hint", "example", "case", "socket", "winner", "winners", "next"),
        *("home", "away", "day", "night", "week", "usb", "hdmi", "machine", "language", "database", "strep"),
    }
)
"""What has a letter as its name beside such."""
_LABEL = re.compile(r"(\w+)[ \t]*:[ \t]*\Z")


def facts_from(text: str) -> int:
    """Where a heading says that a list of facts follows ("Changelog", "To do:", "ROS:"); the text's end without one."""
    above = _ABOVE.search(text)
    return len(text) if above is None else above.start()


def has_status(text: str) -> bool:
    """Whether a tick or cross says that something was done or not, so that all of the text's do: "Paid ✔ Visa ✘"."""
    return _STATUS.search(text) is not None


def is_diff(text: str) -> bool:
    """Whether a text is what ``diff`` writes, or holds it."""
    return _DIFF.search(text) is not None


def graded(before: Sequence[str]) -> list[bool]:
    """Which of the letters behind some labels may be grades: not that of "Gate: B", nor that of "Seat: F" beside it.

    Args:
        before: What stands before each letter.
    """
    found = [_LABEL.search(part) for part in before]
    words = ["" if label is None else label[1].lower() for label in found]
    named = [word in _LETTERED or word[-1:].isdigit() or len(word) == 1 for word in words]
    often = [word in _OFTEN for word in words]
    letters = any(named) or all(often)
    return [not one and not (other and letters) for one, other in zip(named, often, strict=True)]

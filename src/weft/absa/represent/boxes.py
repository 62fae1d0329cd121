"""Boxes to tick inside a text: of "Bugs: ☐ Many ☑ None" only "Bugs: None" is said."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from weft.absa.represent.facts import facts_from, has_status
from weft.absa.represent.slips import Slip

_BOX = re.compile(
    r"(?P<open>[☐⬜🔲]\ufe0f?|(?<!\S)\[[ ]?\](?!\()|(?<!\S)\([ ]\)|(?P<crossed>[❌✖✘✗]\ufe0f?))"
    r"|(?P<ticked>[☑🗹✅✔✓]\ufe0f?|(?<!\S)\[[xX✓✔]\](?!\()|(?<!\S)\([xX]\))"
    r"|(?P<x>☒\ufe0f?)"
)
_TICK = re.compile(r"[☑🗹]\ufe0f?")
"""A ticked box that is no sign of praise."""
_STOP = re.compile(r"[.!?;|](?=\s|\Z)")
"""The end of an option inside a line."""
_NEXT_LABEL = re.compile(
    r"(?<=[\s,;/|])(?:[A-Z][\w'’&-]*(?:[ ][a-z][\w'’&-]*){0,2}|[^\W\d_][\w'’&-]*)[ ]?:\s*\Z"
)
"""What the next options are about, behind an option: "☐ None Story:"."""
_LABEL = re.compile(r"[^\n:]{1,60}:[ \t]*")
_ABOVE = re.compile(
    r"(?:\A|\n)(?![ \t*•-]*[\[(][ xX✓✔]?[\])])(?P<before>[-=~*_#{}\[\]|> \t]*)"
    r"(?P<label>[^\W\d_][\w'’&/-]*(?:[ ][\w'’&/-]+){0,3})(?P<gap>[-=~*_#{}\[\]|<: \t]*\n\s*)\Z"
)
"""The line above boxes that says what they are about, and what adorns it: "---{Story}---"."""
_LOOKED_AT = 120
"""Characters before a box in which the line above is looked for."""
_DEGREES = frozenset(
    {
        *("yes", "no", "none", "few", "some", "many", "lots", "little", "much", "good", "okay", "ok", "bad"),
        *("great", "excellent", "amazing", "beautiful", "average", "decent", "fair", "poor", "terrible"),
        *("awful", "short", "long", "low", "medium", "high", "easy", "hard", "slow", "fast", "cheap"),
        *("expensive", "overpriced", "worth", "free", "weak", "boring", "nothing", "acceptable", "right"),
    }
)
"""What options of a form say of their label, and items of a list of praise and blame do not."""
_WORD = re.compile(r"[^\W\d_]+")


class _Option(NamedTuple):
    start: int
    stop: int
    box: re.Match[str]
    said: bool


def boxes(text: str) -> list[Slip]:
    """What is not said of a text that has boxes to tick, and the boxes: each is read as nothing.

    "Story: ☐ Weak ☑ Great" is "Story: Great", "☑ Short wait ☐ Long wait" is "Short wait". A line above becomes a label:
    "---{Story}---", "☑ Great" is "Story: Great". A box is ticked as ☑, [x] or (x); beside open ones as ✅ or ✔, and as
    ☒ where none is ticked otherwise. A cross behind a label, or before what a tick says otherwise, leaves open, too:
    "Bugs: ❌ Many ✅ None", "❌ Good sound ✅ Bad sound"; crosses of praise and blame ("✅ pool ❌ wifi") stay.
    Lists of tasks and other facts stay as they are.
    """
    found = list(_BOX.finditer(text))
    if not found or facts_from(text) < found[0].start() or has_status(text):
        return []
    ticks = any(box["ticked"] for box in found)
    lines = [_options(text, line, ticks) for line in _lines(text, found)]
    drawn = any(box["open"] and not box["crossed"] for box in found) or (
        ticks and any(box["x"] for box in found)
    )
    if not (drawn and any(option.said for line in lines for option in line)):
        only = all(_TICK.fullmatch(box[0]) for box in found)
        lines = lines if only else [line for line in lines if _instead(text, line)]
    slips: list[Slip] = []
    for line in lines:
        above = _ABOVE.search(text, max(0, line[0].start - _LOOKED_AT), line[0].start)
        if above is not None:
            slips += [Slip(*above.span("before"), "")] if above["before"] else []
            slips.append(Slip(*above.span("gap"), ": "))
        for option in line:
            slips += _read(text, option)
    return slips


def _lines(text: str, found: Sequence[re.Match[str]]) -> Iterator[list[re.Match[str]]]:
    """The boxes of each line."""
    line = list(found[:1])
    for last, box in pairwise(found):
        if "\n" in text[last.end() : box.start()]:
            yield line
            line = []
        line.append(box)
    yield line


def _options(text: str, line: Sequence[re.Match[str]], ticks: bool) -> list[_Option]:
    """The options of a line: each behind its box, or before it where a box ends the line and none begins it."""
    begin = text.rfind("\n", 0, line[0].start()) + 1
    end = text.find("\n", line[-1].end())
    end = len(text) if end < 0 else end
    said = [box["ticked"] is not None or (box["x"] is not None and not ticks) for box in line]
    if text[begin : line[0].start()].strip(" \t*•-") and not text[line[-1].end() : end].strip(" \t|"):
        label = _LABEL.match(text, begin, line[0].start())
        starts = [begin if label is None or label.end() == line[0].start() else label.end()]
        starts += [box.end() for box in line[:-1]]
        return [
            _Option(start, box.end(), box, one) for start, box, one in zip(starts, line, said, strict=True)
        ]
    options: list[_Option] = []
    for box, next_start, one in zip(line, [*(box.start() for box in line[1:]), end], said, strict=True):
        stop = _STOP.search(text, box.end(), next_start)
        label = _NEXT_LABEL.search(text, box.end(), next_start) if next_start < end else None
        last = stop.start() if stop is not None else next_start if label is None else label.start()
        options.append(_Option(box.start(), last, box, one))
    return options


def _instead(text: str, options: Sequence[_Option]) -> bool:
    """Whether crosses say what a tick of the same line says otherwise."""
    words = [_WORD.findall(text[option.box.end() : option.stop].lower()) for option in options]
    said = [found for found, option in zip(words, options, strict=True) if option.said and found]
    others = [found for found, option in zip(words, options, strict=True) if not option.said and found]
    if not said or not others or len(said) + len(others) < len(options):
        return False
    if all(len(one) > 1 and any(one[-1] == two[-1] and one != two for two in said) for one in others):
        return True
    begin = text.rfind("\n", 0, options[0].start) + 1
    led = _LABEL.fullmatch(text, begin, options[0].start) or _ABOVE.search(
        text, max(0, begin - _LOOKED_AT), begin
    )
    return led is not None and all(not _DEGREES.isdisjoint(found) for found in (*said, *others))


def _read(text: str, option: _Option) -> list[Slip]:
    """Nothing in place of an option that is not said; one that is without its box, with an end."""
    if not option.said:
        return [Slip(option.start, option.stop, "")]
    start, stop = option.box.span()
    if start > option.start:
        return [Slip(option.start + len(text[option.start : start].rstrip(" \t:")), stop, ". ")]
    words = text[stop : option.stop]
    behind, last = option.stop - len(words.lstrip(" \t")), stop + len(words.rstrip())
    slips = [Slip(start, behind, "")]
    if last > behind and text[last - 1].isalnum() and text[last : last + 1].isspace():
        slips.append(Slip(last, last + 1, f".{text[last]}"))
    return slips

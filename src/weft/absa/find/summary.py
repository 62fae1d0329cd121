"""What a table of texts judges, in the whole: aspects by frequency and polarity, with sentences behind them."""

from __future__ import annotations

import heapq
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from weft.absa.find.finding import Finding
from weft.absa.find.groups import Groups
from weft.absa.represent.spelling import laid_out, shown
from weft.absa.use.notes import FOREIGN, MENDED

ORDER = ("positive", "neutral", "conflict", "negative")
"""In which polarities are shown; others that a model has come behind them."""
_SHOWN = 25
"""Examples that are kept of each aspect and polarity, the surest ones."""
_AROUND = 160
"""Characters of a long text that are shown on either side of what is judged."""


@dataclass(frozen=True)
class Example:
    """A sentence behind a number.

    Args:
        row: Of the table.
        text: The text, or the part of it around what is judged.
        term: First character and last + 1 of the term in ``text``; None where it is not named.
        words: Of the judging words.
        polarity: How it is judged.
        confidence: How sure the model is.
    """

    row: int
    text: str
    term: tuple[int, int] | None
    words: tuple[tuple[int, int], ...]
    polarity: str
    confidence: float

    def line(self, most: int = 80) -> str:
        """At most so many characters of the text on one line, what is judged in their midst."""
        start, stop = self.term or (self.words[0] if self.words else (0, 0))
        before, named, after = (
            " ".join(part.split()) for part in (self.text[:start], self.text[start:stop], self.text[stop:])
        )
        left = " " if before and self.text[start - 1].isspace() else ""
        right = " " if after and self.text[stop].isspace() else ""
        whole = f"{before}{left}{named}{right}{after}"
        if len(whole) <= most:
            return whole
        at = len(before) + len(left)
        room = max(0, most - len(named) - 4)
        first = min(max(0, at - room // 2), max(0, len(whole) - room - len(named)))
        first, last = whole_words(whole, first, first + len(named) + room, (at, at + len(named)))
        return f"{'… ' if first else ''}{whole[first:last].strip()}{' …' if last < len(whole) else ''}"


@dataclass
class Aspect:
    """What is said about one aspect."""

    name: str
    polarities: Counter[str] = field(default_factory=Counter[str])
    terms: Counter[str] = field(default_factory=Counter[str])
    kept: dict[str, list[tuple[float, int, Example]]] = field(default_factory=dict[str, Any])

    @property
    def total(self) -> int:
        """How often it is judged."""
        return self.polarities.total()

    def examples(self, polarity: str, most: int = _SHOWN) -> list[Example]:
        """The surest examples of a polarity, the surest first."""
        return [example for _, _, example in sorted(self.kept.get(polarity, ()), reverse=True)[:most]]


class Summary:
    """Counts findings in constant memory: beside the counts a few examples are kept.

    A finding without a category counts under its own term, in lower case, as a web page shows it, in one line; a term
    with a slip of the keyboard under what is likely meant.

    Args:
        by: The column that texts are compared by.

    Attributes:
        texts: All of them.
        silent: Texts without a finding.
        foreign: Texts that seem to be in another language than English.
        mended: Texts of which words are read as what is likely meant.
        groups: What each value of that column judges.
    """

    def __init__(self, by: str | None = None) -> None:
        self.texts = 0
        self.silent = 0
        self.foreign = 0
        self.mended = 0
        self.groups = None if by is None else Groups(by)
        self._aspects: dict[str, Aspect] = {}
        self._number = 0

    def add(
        self,
        row: int,
        text: str,
        findings: Iterable[Finding],
        note: str | None = None,
        group: str | None = None,
    ) -> None:
        """Count the findings of one text.

        Args:
            row: Of the table.
            text: The text.
            findings: What it judges; where groups are compared, faint ones count, too, and unsure ones as is likely.
            note: What :func:`weft.absa.find.records.noted` says of it.
            group: What it is compared by.
        """
        judged: list[tuple[str, str]] = []
        self.texts += 1
        self.foreign += FOREIGN in (note or "")
        self.mended += MENDED in (note or "")
        told = list(findings)
        self.silent += all(finding.faint for finding in told)
        for finding in told:
            named = finding.meant or finding.term
            term = None if named is None else " ".join(shown(named).lower().split())
            name = finding.category or term or ""
            judged.append((name, finding.likely or finding.polarity))
            if finding.faint:
                continue
            aspect = self._aspects.setdefault(name, Aspect(name))
            aspect.polarities[finding.polarity] += 1
            if term is not None:
                aspect.terms[term] += 1
            self._number += 1
            kept = aspect.kept.setdefault(finding.polarity, [])
            # The number keeps equals in their order, and examples from being compared.
            entry = (finding.confidence, -self._number, _example(row, text, finding))
            if len(kept) < _SHOWN:
                heapq.heappush(kept, entry)
            else:
                heapq.heappushpop(kept, entry)
        if self.groups is not None:
            self.groups.add(group or None, judged)

    def aspects(self, least: int = 1) -> list[Aspect]:
        """The aspects that are judged at least so often, the most frequent first."""
        found = [aspect for aspect in self._aspects.values() if aspect.total >= least]
        return sorted(found, key=lambda aspect: (-aspect.total, aspect.name))

    def polarities(self) -> tuple[str, ...]:
        """Those of ``ORDER``, and the others that occur."""
        found = {name for aspect in self._aspects.values() for name in aspect.polarities}
        return (*ORDER, *sorted(found - set(ORDER)))

    def notes(self) -> list[str]:
        """What there is to say of how the texts were read."""
        seem = "text seems" if self.foreign == 1 else "texts seem"
        have = "text has words" if self.mended == 1 else "texts have words"
        foreign = (
            f"{self.foreign:,} {seem} to be in another language than English, which the models do not read"
        )
        mended = f"{self.mended:,} {have} that are read as what is likely meant"
        return [foreign] * (self.foreign > 0) + [mended] * (self.mended > 0)

    def as_json(self, examples: int = 3) -> dict[str, Any]:
        """The summary as plain data."""
        return {
            "texts": self.texts,
            "without_findings": self.silent,
            "other_languages": self.foreign,
            "mended": self.mended,
            "aspects": [
                {
                    "aspect": aspect.name,
                    "count": aspect.total,
                    "polarities": dict(aspect.polarities),
                    "terms": dict(aspect.terms.most_common(10)),
                    "examples": {
                        polarity: [example.text for example in aspect.examples(polarity, examples)]
                        for polarity in aspect.polarities
                    },
                }
                for aspect in self.aspects()
            ],
            **({} if self.groups is None else {"by": self.groups.as_json()}),
        }


def _example(row: int, text: str, finding: Finding) -> Example:
    """The example, as a web page shows it, with what surrounds it; words are whole, "…" stands where it goes on."""
    places = [*([finding.span] if finding.span else []), *finding.places]
    if not places and finding.passage is not None:
        places = [finding.passage]
    start, stop = min((a for a, _ in places), default=0), max((b for _, b in places), default=2 * _AROUND)
    # Twice as much as is shown, for markup takes room, and a text may be long.
    begin, end = whole_words(text, start - 2 * _AROUND, stop + 2 * _AROUND, (start, stop))
    part, origins = laid_out(text[begin:end])

    def moved(place: tuple[int, int]) -> tuple[int, int]:
        first, last = place[0] - begin, min(place[1], end) - begin
        if origins is None:
            return first, last
        at = bisect_right(origins, first, key=lambda origin: origin[1])
        return at, bisect_left(origins, last, lo=at, key=lambda origin: origin[0])

    inner = moved((start, stop))
    first, last = whole_words(part, inner[0] - _AROUND, inner[1] + _AROUND, inner)
    before = "… " if first or begin else ""
    shown = f"{before}{part[first:last]}{' …' if last < len(part) or end < len(text) else ''}"
    shift = first - len(before)
    term, *words = [(a - shift, b - shift) for a, b in map(moved, [finding.span or (0, 0), *finding.places])]
    return Example(
        row, shown, term if finding.span else None, tuple(words), finding.polarity, finding.confidence
    )


def whole_words(text: str, first: int, last: int, kept: tuple[int, int]) -> tuple[int, int]:
    """The whole words between two characters, and ``kept``: first character, last + 1.

    Where no space stands between an end and what is kept, that end is cut where it is.
    """
    first, last = max(0, first), min(len(text), last)
    if first and not text[first - 1].isspace():
        first = next((i + 1 for i in range(first, min(kept[0], last)) if text[i].isspace()), first)
    if last < len(text) and not text[last].isspace():
        last = next((i for i in range(last - 1, max(kept[1], first) - 1, -1) if text[i].isspace()), last)
    return first, last

"""What a table of texts judges, in the whole: aspects by frequency and polarity, with sentences behind them."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from weft.absa.find.finder import Finding

ORDER = ("positive", "neutral", "conflict", "negative")
"""In which polarities are shown."""
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

    A finding without a category counts under its own term, in lower case.

    Attributes:
        texts: All of them.
        silent: Texts without a finding.
        foreign: Texts that seem to be in another language than English.
    """

    def __init__(self) -> None:
        self.texts = 0
        self.silent = 0
        self.foreign = 0
        self._aspects: dict[str, Aspect] = {}
        self._number = 0

    def add(self, row: int, text: str, findings: Iterable[Finding], foreign: bool = False) -> None:
        """Count the findings of one text; ``foreign`` where it seems to be in another language than English."""
        self.texts += 1
        self.foreign += foreign
        told = list(findings)
        self.silent += not told
        for finding in told:
            name = finding.category or (finding.term or "").lower()
            aspect = self._aspects.setdefault(name, Aspect(name))
            aspect.polarities[finding.polarity] += 1
            if finding.term is not None:
                aspect.terms[finding.term.lower()] += 1
            self._number += 1
            kept = aspect.kept.setdefault(finding.polarity, [])
            # The number keeps equals in their order, and examples from being compared.
            entry = (finding.confidence, -self._number, _example(row, text, finding))
            if len(kept) < _SHOWN:
                heapq.heappush(kept, entry)
            else:
                heapq.heappushpop(kept, entry)

    def aspects(self, least: int = 1) -> list[Aspect]:
        """The aspects that are judged at least so often, the most frequent first."""
        found = [aspect for aspect in self._aspects.values() if aspect.total >= least]
        return sorted(found, key=lambda aspect: (-aspect.total, aspect.name))

    def as_json(self, examples: int = 3) -> dict[str, Any]:
        """The summary as plain data."""
        return {
            "texts": self.texts,
            "without_findings": self.silent,
            "other_languages": self.foreign,
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
        }


def _example(row: int, text: str, finding: Finding) -> Example:
    places = [*([finding.span] if finding.span else []), *finding.places]
    first = max(0, min((start for start, _ in places), default=0) - _AROUND)
    last = min(len(text), max((stop for _, stop in places), default=2 * _AROUND) + _AROUND)
    term = None if finding.span is None else (finding.span[0] - first, finding.span[1] - first)
    words = tuple((start - first, stop - first) for start, stop in finding.places)
    return Example(row, text[first:last], term, words, finding.polarity, finding.confidence)

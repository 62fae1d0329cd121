"""What one group of a table's texts judges otherwise than the others: branches, months, stars, compared."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from weft.errors import InputError

MOST = 200
"""So many different values a column may have that texts are compared by."""
_LEAST = 5
"""An aspect of fewer texts is not compared: whatever its few judgements are, they may be chance."""
LEVEL = 0.05
"""Of the differences that are told so many, in the mean, are chance."""
Measure = Literal["praised", "blamed"]
_OF: dict[Measure, frozenset[str]] = {
    "praised": frozenset({"positive", "conflict"}),
    "blamed": frozenset({"negative", "conflict"}),
}


@dataclass(frozen=True)
class Difference:
    """One aspect that one group praises, or blames, more or less often than the others do.

    Args:
        aspect: Its name.
        group: The value of the column.
        measure: What is counted: texts that praise the aspect, or that blame it.
        here: So many of how many texts, in the group.
        elsewhere: The same in the other groups.
        p: How likely as much or more is by chance, with all that is compared in view.
    """

    aspect: str
    group: str
    measure: Measure
    here: tuple[int, int]
    elsewhere: tuple[int, int]
    p: float

    @property
    def more(self) -> bool:
        """Whether the group has more of it than the others."""
        return self.here[0] * self.elsewhere[1] > self.elsewhere[0] * self.here[1]

    def cells(self) -> list[str]:
        """In words: the aspect, the group, what stands out, both shares, p."""
        shares = [f"{some:,} of {of:,} ({some / of:.2f})" for some, of in (self.here, self.elsewhere)]
        p = f"{self.p:.3f}" if self.p >= 0.001 else "<.001"
        return [self.aspect, self.group, f"{self.measure} {'more' if self.more else 'less'}", *shares, p]

    def as_json(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "aspect": self.aspect,
            "group": self.group,
            "measure": self.measure,
            "here": list(self.here),
            "elsewhere": list(self.elsewhere),
            "p": float(f"{self.p:.3g}"),
        }


@dataclass
class Told:
    """What the texts of one group say of one aspect.

    Attributes:
        judging: Texts that judge it.
        praised: Those that praise it.
        blamed: Those that blame it; some do both.
        polarities: Of all judgements.
    """

    judging: int = 0
    praised: int = 0
    blamed: int = 0
    polarities: Counter[str] = field(default_factory=Counter[str])


class Groups:
    """Counts what each group judges, text by text: what one text says twice is one voice.

    Args:
        column: What the texts are compared by.

    Attributes:
        texts: Of each group, in the order in which they came.
        without: Texts of no group: they are compared with none.
    """

    def __init__(self, column: str) -> None:
        self.column = column
        self.texts: Counter[str] = Counter()
        self.without = 0
        self._told: dict[str, dict[str, Told]] = {}

    def add(self, group: str | None, judged: Iterable[tuple[str, str]]) -> None:
        """Count one text: its group, and the aspects that it judges, each with a polarity.

        Raises:
            InputError: There are more groups than can be compared.
        """
        if group is None:
            self.without += 1
            return
        if group not in self.texts and len(self.texts) == MOST:
            raise InputError(
                f"the column {self.column!r} has more than {MOST} different values",
                hint="compare by one with fewer: a branch, a month, stars",
            )
        self.texts[group] += 1
        own: dict[str, set[str]] = {}
        for aspect, polarity in judged:
            told = self._told.setdefault(aspect, {}).setdefault(group, Told())
            told.polarities[polarity] += 1
            own.setdefault(aspect, set()).add(polarity)
        for aspect, polarities in own.items():
            told = self._told[aspect][group]
            told.judging += 1
            told.praised += bool(polarities & _OF["praised"])
            told.blamed += bool(polarities & _OF["blamed"])

    @property
    def names(self) -> list[str]:
        """The groups: numbers by their size, all else by the alphabet."""
        return sorted(self.texts, key=_in_order)

    def of(self, aspect: str) -> dict[str, Told]:
        """What each group that judges an aspect says of it."""
        return self._told.get(aspect, {})

    def differences(self, level: float = LEVEL) -> list[Difference]:
        """What stands out, the least likely by chance first.

        Each aspect that five texts judge is compared in each group with all other groups: how many of the texts praise
        it, and how many blame it. p is Fisher's (two-sided), adjusted for the number of comparisons after Benjamini and
        Hochberg (1995), so that of what is told 5 % is chance, in the mean. Of two groups one says what the other does.
        What differs only from a group that is told already (where one branch is blamed for waiting, the next is blamed
        less than "the others") is left out.

        Args:
            level: The highest p that is told.
        """
        compared = list(self._compared())
        # log n! of every n up to the number of texts.
        logs = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, self.texts.total() + 1)))])
        adjusted = _adjusted([_chance(logs, one.here, one.elsewhere) for one in compared])
        likely = [replace(one, p=p) for one, p in zip(compared, adjusted, strict=True) if p <= level]
        told: list[Difference] = []
        for one in sorted(likely, key=lambda one: (one.p, one.aspect, one.group, one.measure)):
            before = [
                other.here for other in told if (other.aspect, other.measure) == (one.aspect, one.measure)
            ]
            elsewhere = _without(one.elsewhere, before)
            if not before or (elsewhere[1] and _chance(logs, one.here, elsewhere) <= level):
                told.append(one)
        return told

    def _compared(self) -> Iterator[Difference]:
        names = self.names if len(self.texts) > 2 else self.names[:1] * (len(self.texts) == 2)
        texts = self.texts.total()
        for aspect, told in sorted(self._told.items()):
            if sum(own.judging for own in told.values()) < _LEAST:
                continue
            for measure in _OF:
                some = {group: int(getattr(own, measure)) for group, own in told.items()}
                for group in names:
                    own, size = some.get(group, 0), self.texts[group]
                    elsewhere = sum(some.values()) - own, texts - size
                    yield Difference(aspect, group, measure, (own, size), elsewhere, 1.0)

    def as_json(self) -> dict[str, Any]:
        """All groups and what stands out, as plain data."""
        return {
            "column": self.column,
            "texts_without": self.without,
            "groups": [
                {
                    "group": name,
                    "texts": self.texts[name],
                    "aspects": {
                        aspect: dict(told[name].polarities)
                        for aspect, told in sorted(self._told.items())
                        if name in told
                    },
                }
                for name in self.names
            ],
            "differences": [one.as_json() for one in self.differences()],
        }


def _in_order(name: str) -> tuple[int, float, str]:
    try:
        size = float(name)
    except ValueError:
        size = math.nan
    return (0, size, name) if math.isfinite(size) else (1, 0.0, name)


def _without(elsewhere: tuple[int, int], others: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """What is left of a share without some groups."""
    some, of = elsewhere
    return some - sum(own for own, _ in others), of - sum(size for _, size in others)


def _chance(logs: NDArray[np.float64], here: tuple[int, int], elsewhere: tuple[int, int]) -> float:
    """Fisher's exact p of two shares, two-sided: of all tables with these sums those that are as unlikely, or more.

    Args:
        logs: Log n! of every n up to the number of texts.
        here: So many of how many.
        elsewhere: The same.
    """
    own, of = here
    some, others = own + elsewhere[0], elsewhere[1]

    def choose(of: int, some: NDArray[np.int64] | int) -> NDArray[np.float64]:
        return np.asarray(logs[of] - logs[some] - logs[of - some])

    found = np.arange(max(0, some - others), min(some, of) + 1)
    shares = np.exp(choose(of, found) + choose(others, some - found) - choose(of + others, some))
    return float(min(1.0, shares[shares <= shares[own - found[0]] * (1 + 1e-7)].sum()))


def _adjusted(chances: Sequence[float]) -> list[float]:
    """After Benjamini and Hochberg: the least level at which each is told."""
    count = len(chances)
    order = np.argsort(chances, kind="stable")
    scaled = np.asarray(chances)[order] * count / np.arange(1, count + 1)
    found = np.empty(count)
    found[order] = np.minimum.accumulate(scaled[::-1])[::-1]
    return np.minimum(found, 1.0).tolist()

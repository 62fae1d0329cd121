"""What the branches of a function ask, as text: the same for the same question in both versions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from weft.bcsd.difference.told.spelling import Speller
from weft.bcsd.lift.solve.computation import Computation

#: Conditions that bound a number.
ORDERS = frozenset({"LESS", "SLESS", "FLOAT_LESS", "FLOAT_LESSEQUAL", "CARRY", "SCARRY", "SBORROW"})
#: What a condition may say the other way round, or of a wider value.
_OUTER = frozenset({"ZEXT", "SEXT", "NOT"})
_ARITHMETIC = frozenset({"ADD", "SUB", "MULT", "LEFT"})


class Condition(NamedTuple):
    """What a branch asks.

    Args:
        key: Equal for the same question in both versions.
        bounds: Whether it bounds a number.
        text: For a person.
        width: Bytes of the narrowest sum, product or shift that it compares; 0 where there is none.
        about: What it compares, constants aside and as far as it surely says which values these are.
    """

    key: str
    bounds: bool
    text: str
    width: int
    about: frozenset[str] = frozenset()


def conditions_of(found: Computation, speller: Speller) -> tuple[Condition, ...]:
    """What the branches of a function ask, sorted.

    Args:
        found: What it computes.
        speller: Of its values.
    """
    asked = (node for effects in found.effects for node in effects if found.ops[node] == "BRANCH")
    return tuple(sorted(_condition(found, speller, found.args[node][0]) for node in asked))


def _condition(found: Computation, speller: Speller, node: int) -> Condition:
    inner = node
    while found.ops[inner] in _OUTER and found.args[inner]:
        inner = found.args[inner][0]
    said, args = speller.spelled(node), found.args[inner]
    compared = [speller.spelled(arg) for arg in args if speller.number(arg) is None]
    return Condition(
        said.key,
        found.ops[inner] in ORDERS,
        said.shown,
        min((width for arg in args if (width := _width(found, arg))), default=0),
        frozenset(one.key for one in compared if not one.vague),
    )


def _width(found: Computation, node: int) -> int:
    """To how many bytes the sum, product or shift that a value is was cut; 0 where it is none."""
    narrowest = found.sizes[node]
    while found.args[node] and (found.ops[node] in _OUTER or found.ops[node] == "SUBPIECE"):
        node = found.args[node][0]
        narrowest = min(narrowest, found.sizes[node])
    return narrowest if found.ops[node] in _ARITHMETIC else 0


def widths_changed(old: Sequence[Condition], new: Sequence[Condition]) -> list[str]:
    """Of conditions that both versions ask: where the sum that is compared was cut to another width, for a person."""
    sides: list[dict[str, set[int]]] = []
    texts: dict[str, str] = {}
    for conditions in (old, new):
        widths: dict[str, set[int]] = {}
        for condition in conditions:
            widths.setdefault(condition.key, set()).add(condition.width)
            texts[condition.key] = condition.text
        sides.append(widths)
    before, after = sides
    return [
        f"if {texts[key]}: {_bits(before[key])} → {_bits(after[key])}"
        for key in sorted(before)
        if key in after and not before[key] & after[key]
    ]


def bounds_added(gone: Sequence[Condition], come: Sequence[Condition]) -> int:
    """How many conditions bound a number that was not asked about before.

    One that asks otherwise about the same value (``a == 5``, then ``a < 5``) is another condition, and no new one.

    Args:
        gone: Conditions of the old version alone.
        come: Conditions of the new version alone.
    """
    others = [condition for condition in gone if not condition.bounds]
    turned = 0
    for condition in come:
        before = next((other for other in others if other.about & condition.about), None)
        if condition.bounds and before is not None:
            others.remove(before)
            turned += 1
    more = sum(condition.bounds for condition in come) - sum(condition.bounds for condition in gone)
    return max(more - turned, 0)


def _bits(widths: set[int]) -> str:
    return ", ".join(f"u{8 * width}" for width in sorted(widths))

"""What one version of a function does and the other does not: calls with other arguments first, then stores."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

from weft.bcsd.difference.told.calls import calls_changed
from weft.bcsd.difference.told.effects import Effects
from weft.bcsd.difference.told.stores import locals_changed, stores_changed


class Effect(StrEnum):
    """What is told of."""

    ARGUMENT = "argument"
    STORE = "store"


class Note(NamedTuple):
    """An effect that is new, gone or other, and what a person reads."""

    effect: Effect
    text: str


def effects_changed(old: Effects, new: Effects, taken: Mapping[str, int], *, fields: bool) -> list[Note]:
    """What is new, gone or other: calls first, constants before other stores.

    Args:
        old: What the old version does.
        new: What the new version does.
        taken: How many arguments a callee takes, where that is known.
        fields: Whether it was told already which fields lie elsewhere.
    """
    arguments = calls_changed(old.calls, new.calls, taken)
    stores = [
        *stores_changed(old.stores, new.stores, fields=fields),
        *locals_changed(old.locals, new.locals),
    ]
    return [Note(Effect.ARGUMENT, text) for text in arguments] + [Note(Effect.STORE, text) for text in stores]

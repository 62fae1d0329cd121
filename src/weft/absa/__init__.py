"""Targeted aspect sentiment: what does this text feel about that aspect of this target?

read → represent → model → learn → use → explain → evaluate; `records` and `config` belong to all of them.

::

    model = weft.absa.load("absa-small")
    model.predict(["LOCATION1 is dear, but safe"], [("LOCATION1", "price"), ("LOCATION1", "safety")])
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from weft.absa.records import Context, Corpus, Sentence

if TYPE_CHECKING:
    from weft.absa.learn.training import train
    from weft.absa.use.asker import Asker
    from weft.absa.use.store import load, save

__all__ = ["Asker", "Context", "Corpus", "Sentence", "load", "save", "train"]

# Reading tables and labelled data needs no torch, so that bad input is refused before it is loaded.
_LAZY = {"Asker": "use.asker", "load": "use.store", "save": "use.store", "train": "learn.training"}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(import_module(f"{__name__}.{_LAZY[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

"""Targeted aspect sentiment: what does this text feel about that aspect of this target?

read → represent → model → learn → use → explain → evaluate; `records` and `config` belong to all of them.

::

    model = weft.absa.load("absa-any")
    model.predict(["Camden is dear, but safe"], [("Camden", "price"), ("Camden", "safety")])
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from weft.absa.records import Context, Corpus, Sentence
from weft.platform.lazy import lazily

if TYPE_CHECKING:
    from weft.absa.learn.training import train
    from weft.absa.use.asker import Asker
    from weft.absa.use.store import load, save

__all__ = ["Asker", "Context", "Corpus", "Sentence", "load", "save", "train"]

# Reading tables and labelled data needs no torch, so that bad input is refused before it is loaded.
_LAZY = {"Asker": "use.asker", "load": "use.store", "save": "use.store", "train": "learn.training"}

__getattr__, __dir__ = lazily(
    __name__, {**dict.fromkeys(("Context", "Corpus", "Sentence"), "records"), **_LAZY}
)

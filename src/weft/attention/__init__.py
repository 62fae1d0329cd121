"""Attention: tensors in, tensors out. One operation, five ways to compute it, one independent oracle."""

from typing import TYPE_CHECKING

from weft.platform.lazy import lazily

if TYPE_CHECKING:
    from weft.attention.operation import Path, attend
    from weft.attention.reference import Maps
    from weft.attention.terms import Decay, Prefix, Quasi, Terms

__all__ = ["Decay", "Maps", "Path", "Prefix", "Quasi", "Terms", "attend"]

__getattr__, __dir__ = lazily(
    __name__,
    {
        **dict.fromkeys(("Decay", "Prefix", "Quasi", "Terms"), "terms"),
        "Maps": "reference",
        "Path": "operation",
        "attend": "operation",
    },
)

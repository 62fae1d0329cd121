"""Attention: tensors in, tensors out. One operation, five ways to compute it, one independent oracle."""

from weft.attention.attend import Path, attend
from weft.attention.reference import Maps
from weft.attention.terms import Decay, Prefix, Quasi, Terms

__all__ = ["Decay", "Maps", "Path", "Prefix", "Quasi", "Terms", "attend"]


def __dir__() -> list[str]:
    return sorted(__all__)

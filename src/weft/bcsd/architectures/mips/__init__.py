"""MIPS."""

from weft.bcsd.architectures.mips.processor import ARCHITECTURES

__all__ = ["ARCHITECTURES"]

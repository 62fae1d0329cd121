"""x86-64 and i386."""

from weft.bcsd.architectures.x86.processor import ARCHITECTURES

__all__ = ["ARCHITECTURES"]

"""ARM in A32 and Thumb-2."""

from weft.bcsd.architectures.arm.processor import ARCHITECTURES

__all__ = ["ARCHITECTURES"]

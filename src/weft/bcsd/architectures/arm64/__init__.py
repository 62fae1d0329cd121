"""AArch64."""

from weft.bcsd.architectures.arm64.processor import ARCHITECTURES

__all__ = ["ARCHITECTURES"]

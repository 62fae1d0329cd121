"""PowerPC, 64 bits, in either byte order."""

from weft.bcsd.architectures.ppc64.processor import ARCHITECTURES

__all__ = ["ARCHITECTURES"]

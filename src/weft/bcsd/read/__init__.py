"""A file becomes an image: mapped bytes, symbols, unwind ranges, imports. No instruction is decoded here."""

from weft.bcsd.read.image import Image, Region, Symbol, UnwindRange
from weft.bcsd.read.open import open_image

__all__ = ["Image", "Region", "Symbol", "UnwindRange", "open_image"]

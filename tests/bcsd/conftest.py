"""Committed binaries: `source/` is what they were made from, `expected/` what must be found in them."""

from functools import lru_cache
from pathlib import Path

import pytest

from weft.bcsd.disassemble.native import NativeDisassembler
from weft.bcsd.read import open_image

FILES = Path(__file__).parent / "files"


@lru_cache(maxsize=64)
def _functions(name):
    image = open_image(FILES / name)
    found = sorted(NativeDisassembler().functions(image), key=lambda f: (f.address, f.size))
    return image, {function.name: function for function in found}


@pytest.fixture(scope="session")
def functions_of():
    """Name of a committed file → its image and its functions by name."""
    return _functions


@pytest.fixture(scope="session")
def files():
    """The folder of committed binaries."""
    return FILES

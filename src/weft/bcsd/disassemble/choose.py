"""A disassembler by name."""

from __future__ import annotations

import os

from weft.bcsd.disassemble.interface import Disassembler
from weft.errors import ConfigError

NAMES = ("auto", "native", "angr", "smda")
_NATIVE = ("auto", "native")


def choose_disassembler(name: str) -> Disassembler:
    """The disassembler of that name; ``auto`` is the native one.

    Args:
        name: One of :data:`NAMES`, or the path of a file of saved functions (``.json``).

    Raises:
        ConfigError: There is none of that name.
        MissingExtraError: It needs a package that is not installed.
    """
    if name in _NATIVE:
        from weft.bcsd.disassemble.native import NativeDisassembler

        return NativeDisassembler()
    if name == "angr":
        from weft.bcsd.disassemble.angr import AngrDisassembler

        return AngrDisassembler()
    if name == "smda":
        from weft.bcsd.disassemble.smda import SmdaDisassembler

        return SmdaDisassembler()
    if name.endswith(".json") and os.path.isfile(name):
        from weft.bcsd.disassemble.frozen import FrozenDisassembler

        return FrozenDisassembler(name)
    known = ", ".join(NAMES)
    raise ConfigError(f"disassembler {name!r}", hint=f"one of {known}, or a .json file of saved functions")


def extractor_version(name: str) -> int:
    """Version of what the native disassembler finds; 0 for any other, which finds functions in its own way.

    Args:
        name: See :func:`choose_disassembler`.
    """
    if name not in _NATIVE:
        return 0
    from weft.bcsd.disassemble.native import EXTRACTOR_VERSION

    return EXTRACTOR_VERSION

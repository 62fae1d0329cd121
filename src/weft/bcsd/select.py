"""Naming one function of one file: ``FILE:FUNCTION``, ``FILE:0xADDRESS``, ``FILE@ADDRESS``."""

from __future__ import annotations

import difflib
import errno
import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

from weft.bcsd.read.demangle import demangle
from weft.bcsd.read.members import lacks, split_member
from weft.bcsd.read.names import printable
from weft.errors import InputError
from weft.platform.reading import cannot_read

_ADDRESS = re.compile("(0[xX])?[0-9A-Fa-f]+")


class Named(Protocol):
    """What a function must have to be found."""

    @property
    def name(self) -> str: ...  # noqa: D102

    @property
    def address(self) -> int: ...  # noqa: D102

    @property
    def size(self) -> int: ...  # noqa: D102

    @property
    def aliases(self) -> Sequence[str]: ...  # noqa: D102


class Selector(NamedTuple):
    """A file and, optionally, which of its functions."""

    path: str
    function: str | None


def parse_selector(text: str) -> Selector:
    """Split ``FILE[:FUNCTION|@ADDRESS]``.

    A file whose own name holds the separator wins: the longest that exists is taken as it stands, so that names such
    as ``ns::f(int)`` may hold separators, too. An address behind ``@`` gets the ``0x`` that it lacks.

    Raises:
        InputError: No file stands before the separator, or none that can be read, or no function behind it.
    """
    if not text:
        raise InputError("no file is named")
    if _is_there(text):
        return Selector(text, None)
    separators = [i for i, letter in enumerate(text) if letter in ":@"]
    # Where the archive is there and the member is not, what reads it says so.
    at = next((i for i in reversed(separators) if _is_there(text[:i])), None)
    at = at or next((i for i in separators if os.path.exists(split_member(text[:i])[0])), None)
    if at is None:
        if os.path.exists(split_member(text)[0]):
            return Selector(text, None)
        raise _missing(text)
    path, separator, function = text[:at], text[at], text[at + 1 :]
    if not function:
        raise InputError(f"no function is named behind the {separator!r}", where=path)
    bare = separator == "@" and re.fullmatch("[0-9A-Fa-f]+", function)
    return Selector(path, f"0x{function}" if bare else function)


def _missing(text: str) -> InputError:
    """The error of a file that is not there, as far as may be seen: a folder above it may be closed."""
    try:
        os.stat(split_member(text)[0])
    except OSError as error:
        if error.errno in (errno.EACCES, errno.ELOOP):
            return cannot_read(error, text)
    return InputError("no such file", where=text)


def _is_there(path: str) -> bool:
    """Whether a file is there and, where a member is named, holds it, as far as can be told."""
    return os.path.exists(split_member(path)[0]) and not lacks(path)


def find_function(
    functions: Sequence[Named], wanted: str, where: str, readable: Mapping[str, str] | None = None
) -> int:
    """The index of the function with that name, alias or address.

    Args:
        functions: All functions of the file.
        wanted: A name, mangled or not, or an address in hexadecimal: with ``0x`` any address inside the function,
            without it the first one.
        where: The file, for the message.
        readable: Mangled name → readable one. None: they are made here, which is for bounded processes only.

    Raises:
        InputError: There is none, or several of that name; near names or addresses are listed.
    """
    spellings = _spellings(wanted)
    named = [i for i, function in enumerate(functions) if _is_called(function, spellings)]
    if not named and _is_readable(wanted):
        text = demangle if readable is None else lambda name: readable.get(name, name)
        named = [i for i, function in enumerate(functions) if _reads(function, wanted, text)]
    if len(named) > 1:
        places = ", ".join(f"{functions[i].address:#x}" for i in named[:5])
        raise InputError(
            f"{len(named)} functions named {wanted!r}", where=where, hint=f"name one by address: {places}"
        )
    if named:
        return named[0]
    inside = _ADDRESS.fullmatch(wanted)
    if inside:
        starts = [function.address for function in functions]
        address = int(wanted, 16)
        if address in starts:
            return starts.index(address)
        if inside.group(1):
            return _holding(functions, address, where)
    names = [name for function in functions for name in (function.name, *function.aliases)]
    near = difflib.get_close_matches(printable(wanted), names, n=3, cutoff=0.5)
    hint = (
        f"near: {', '.join(near)}"
        if near
        else f"{len(functions)} functions; `weft bcsd show {where}` lists them"
    )
    raise InputError(f"no function {wanted!r}", where=where, hint=hint)


def may_mean(function: Named, wanted: str) -> bool:
    """Whether :func:`find_function` may find this function, whatever others there are; for bounded processes only."""
    if _is_called(function, _spellings(wanted)):
        return True
    if _is_readable(wanted) and _reads(function, wanted, demangle):
        return True
    if not _ADDRESS.fullmatch(wanted):
        return False
    address = int(wanted, 16)
    return address == function.address or function.address < address < function.address + function.size


def _spellings(wanted: str) -> set[str]:
    """Names are held as they are printed, by whom they are asked for as they are written."""
    return {wanted, printable(wanted)}


def _is_called(function: Named, spellings: set[str]) -> bool:
    return function.name in spellings or not spellings.isdisjoint(function.aliases)


def _is_readable(wanted: str) -> bool:
    """Whether a name is one of C++ or Rust as a programmer writes it."""
    return "(" in wanted or "::" in wanted


def _reads(function: Named, wanted: str, text: Callable[[str], str]) -> bool:
    return any(text(name) == wanted for name in (function.name, *function.aliases))


def _holding(functions: Sequence[Named], address: int, where: str) -> int:
    """The function that an address lies in; of several, the one that begins last.

    Raises:
        InputError: There is none; the functions around it are named.
    """
    before = [i for i, function in enumerate(functions) if function.address < address]
    holding = [i for i in before if address < functions[i].address + functions[i].size]
    if holding:
        return max(holding, key=lambda i: functions[i].address)
    around: list[Named] = []
    if before:
        around.append(max((functions[i] for i in before), key=lambda function: function.address))
    after = [function for function in functions if function.address > address]
    if after:
        around.append(min(after, key=lambda function: function.address))
    places = ", ".join(f"{near.name} at {near.address:#x} ({near.size} bytes)" for near in around)
    raise InputError(f"no function at {address:#x}", where=where, hint=f"around it: {places or 'nothing'}")

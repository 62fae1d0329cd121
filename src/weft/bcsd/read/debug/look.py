"""Where debug files are looked for, and which one is believed.

``WEFT_DEBUG_FILES`` names folders beyond that of the binary (several with ``:`` between them), in place of
``/usr/lib/debug``; no other file is looked for where it is empty.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from weft.bcsd.read.members import map_file
from weft.bcsd.read.names import printable
from weft.errors import WeftError

if TYPE_CHECKING:
    from weft.bcsd.read.image import Image, Symbol

VARIABLE = "WEFT_DEBUG_FILES"
_FOLDER = "/usr/lib/debug"
#: Bytes of a name in a link.
_LONGEST = 1 << 12

Names = TypeVar("Names")


class UnfitError(Exception):
    """A debug file whose names are not read; its text says what the file is, as in "is of another build"."""


class Place(NamedTuple):
    """Where a debug file may be.

    Args:
        path: The file: an absolute path, or one below each of the folders of debug files.
        shown: What of its path a remark says.
    """

    path: str
    shown: str


class Looked(NamedTuple):
    """Where the debug file of a binary was looked for, and what was there then.

    Args:
        places: As :class:`Place` has them. They depend on the binary alone.
        used: What a remark calls the file that names are from; empty for none.
        stamp: Of the files that were there; empty where there were none.
    """

    places: tuple[str, ...]
    used: str
    stamp: str

    def stamp_now(self) -> str:
        """The stamp of what is there now: by name, size, time of change, and whether it may be read."""
        return _stamp(self.places)

    def to_text(self) -> str:
        """In one line."""
        return json.dumps(self)

    @staticmethod
    def from_text(text: str) -> Looked:
        """What :meth:`to_text` wrote.

        Raises:
            ValueError: It is something else.
        """
        match json.loads(text):
            case [[*places], str(used), str(stamp)] if all(isinstance(place, str) for place in places):
                return Looked(tuple(places), used, stamp)
            case _:
                raise ValueError("not where a debug file was looked for")


class Found(NamedTuple, Generic[Names]):
    """What came of looking for a debug file.

    Args:
        names: What it holds; None where there is none that fits.
        remark: On that file, or on one that is there and does not fit.
        looked: Where it was looked for.
    """

    names: Names | None
    remark: str | None
    looked: Looked


def debug_folders() -> list[str]:
    """The folders of debug files; none where no other file is to be read."""
    return [folder for folder in os.environ.get(VARIABLE, _FOLDER).split(os.pathsep) if folder]


def first_fitting(
    path: str, places: Iterable[Place], read: Callable[[memoryview, Place], Names | None]
) -> Found[Names]:
    """What the first debug file that fits holds.

    Args:
        path: The binary, which is no debug file of its own.
        places: Where to look, the likeliest first.
        read: Reads a file there: None where it fits and names nothing. Raises :class:`UnfitError`.
    """
    places = tuple(dict.fromkeys(places))
    # What changes while it is read is noticed the next time.
    looked = Looked(tuple(place.path for place in places), "", _stamp(place.path for place in places))
    refused: str | None = None
    for place, file in ((one, file) for one in places for file in _files(one.path)):
        name = printable(os.fsencode(place.shown))
        try:
            if not os.path.isfile(file) or os.path.samefile(file, path):
                continue
            found = read(map_file(file), place)
        except OSError as error:
            refused = f"its debug file {name} cannot be read ({error.strerror}): names in it are not read"
        except WeftError:
            refused = f"its debug file {name} is empty: names in it are not read"
        except UnfitError as error:
            refused = f"its debug file {name} {error}: names in it are not read"
        else:
            if found is not None:
                remark = f"names of functions are from its debug file {name}"
                return Found(found, remark, looked._replace(used=name))
    return Found(None, refused, looked)


def linked(path: str, link: bytes, *, big_endian: bool = False) -> Iterator[tuple[Place, int]]:
    """Where the debug file of a GNU debug link may be, with the checksum that the link tells.

    Args:
        path: The file with the link.
        link: Its section ``.gnu_debuglink``.
        big_endian: Whether the checksum is.
    """
    name, zero, _ = link[:_LONGEST].partition(b"\0")
    rest = link[len(name) + 4 & ~3 :][:4]
    if not zero or len(rest) < 4 or not name or b"/" in name:
        return
    checksum = int.from_bytes(rest, "big" if big_endian else "little")
    here = os.path.dirname(os.path.realpath(path))
    shown = os.fsdecode(name)
    # The last one is below the folders of debug files.
    for folder in (here, os.path.join(here, ".debug"), here.lstrip("/")):
        yield Place(os.path.join(folder, shown), shown), checksum


def take_up(image: Image, found: Found[Any], named: Iterable[Symbol]) -> None:
    """Add to an image what its debug file names in code and it does not know, and the remark on that file.

    Args:
        image: Has the names that the file kept; one of them gets the size that the debug file tells.
        found: The debug file.
        named: Its symbols, at the addresses of the image.
    """
    named = [symbol for symbol in dict.fromkeys(named) if image.code_map.at(symbol.address) is not None]
    have = {(symbol.address, symbol.name) for symbol in image.symbols}
    more = any((symbol.address, symbol.name) not in have for symbol in named)
    sized = {(symbol.address, symbol.name) for symbol in named if symbol.typed and symbol.size}
    kept = [symbol for symbol in image.symbols if (symbol.address, symbol.name) not in sized]
    known = {(symbol.address, symbol.name) for symbol in kept}
    image.symbols = kept + [symbol for symbol in named if (symbol.address, symbol.name) not in known]
    # A file that kept all its names has no use for a debug file.
    image.looked = found.looked if more else found.looked._replace(used="")
    if found.remark is not None and (more or found.names is None):
        image.remarks.append(found.remark)


def _files(place: str) -> Iterator[str]:
    """The files that a place may mean."""
    folders = debug_folders()
    if os.path.isabs(place):
        yield from [place] if folders else []
    else:
        yield from (os.path.join(folder, place) for folder in folders)


def _stamp(places: Iterable[str]) -> str:
    found: set[str] = set()
    for file in (file for place in places for file in _files(place)):
        try:
            there = os.stat(file)
        except (OSError, ValueError):
            continue  # nothing that could be read
        if stat.S_ISREG(there.st_mode):
            readable = int(os.access(file, os.R_OK))
            name = printable(os.fsencode(os.path.basename(file)))
            found.add(f"{name} {there.st_size} {there.st_mtime_ns} {readable}")
    return "; ".join(sorted(found))

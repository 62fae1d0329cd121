"""Where debug files are looked for, and which one is believed.

``WEFT_DEBUG_FILES`` names folders beyond that of the binary (several with ``:`` between them), in place of
``/usr/lib/debug``; no other file is looked for where it is empty.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeVar

from weft.bcsd.read.members import map_file
from weft.bcsd.read.names import printable
from weft.errors import WeftError

VARIABLE = "WEFT_DEBUG_FILES"
_FOLDER = "/usr/lib/debug"

Names = TypeVar("Names")


class UnfitError(Exception):
    """A debug file whose names are not read; its text says what the file is, as in "is of another build"."""


class Place(NamedTuple):
    """Where a debug file may be.

    Args:
        path: The file.
        shown: What of its path a remark says.
    """

    path: str
    shown: str


def debug_folders() -> list[str]:
    """The folders of debug files; none where no other file is to be read."""
    return [folder for folder in os.environ.get(VARIABLE, _FOLDER).split(os.pathsep) if folder]


def first_fitting(
    path: str, places: Iterable[Place], read: Callable[[memoryview, Place], Names | None]
) -> tuple[Names | None, str | None]:
    """What the first debug file that fits holds, and a remark on it, or on one that is there and does not fit.

    Args:
        path: The binary, which is no debug file of its own.
        places: Where to look, the likeliest first.
        read: Reads a file there: None where it fits and names nothing. Raises :class:`UnfitError`.
    """
    refused: str | None = None
    for place in places:
        name = printable(os.fsencode(place.shown))
        try:
            if not os.path.isfile(place.path) or os.path.samefile(place.path, path):
                continue
            found = read(map_file(place.path), place)
        except OSError as error:
            refused = f"its debug file {name} cannot be read ({error.strerror}): names in it are not read"
        except WeftError:
            refused = f"its debug file {name} is empty: names in it are not read"
        except UnfitError as error:
            refused = f"its debug file {name} {error}: names in it are not read"
        else:
            if found is not None:
                return found, f"names of functions are from its debug file {name}"
    return None, refused

"""Lifting the functions of an image: which lifter, and what it could not do."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import NDArray

from weft.bcsd.disassemble.interface import Function
from weft.bcsd.lift.apart.bounded import BoundedLifter, LiftLimits
from weft.bcsd.lift.apart.wire import pack_surroundings
from weft.bcsd.lift.cache import LiftCache, cache_folder
from weft.bcsd.lift.gather import code_of, surroundings_of
from weft.bcsd.lift.version import available_lifter
from weft.bcsd.read.image import Image
from weft.errors import ConfigError, MissingExtraError

CHOICES = ("auto", "pcode", "none")


def lifter_named(choice: str) -> str:
    """The name of the lifter that a choice means: empty for none.

    Args:
        choice: One of :data:`CHOICES`; ``auto`` is p-code where it is installed.

    Raises:
        ConfigError: There is none of that name.
        MissingExtraError: It is asked for and not installed.
    """
    if choice not in CHOICES:
        raise ConfigError(f"no lifter {choice!r}", hint=f"one of {', '.join(CHOICES)}")
    name = "" if choice == "none" else available_lifter()
    if choice == "pcode" and not name:
        raise MissingExtraError("pypcode", "bcsd")
    return name


class ImageLifter:
    """Lifts the functions of one image, in a process of its own; what was lifted before is known.

    What is new is kept when the ``with`` statement is left.

    Args:
        image: The image.
        choice: See :func:`lifter_named`.
        limits: Of each function.
        cache: Whether to look into the cache of what was lifted before, and to add to it.

    Attributes:
        name: Of the lifter; empty where there is none, and then no function has features.
    """

    def __init__(
        self, image: Image, choice: str = "auto", limits: LiftLimits | None = None, *, cache: bool = True
    ) -> None:
        self.name = lifter_named(choice)
        self._image = image
        self._bounded: BoundedLifter | None = None
        self._cache: LiftCache | None = None
        if self.name:
            around = surroundings_of(image)
            folder = cache_folder() if cache else None
            if folder is not None:
                self._cache = LiftCache(folder, self.name.encode() + b"\0" + pack_surroundings(around))
            self._bounded = BoundedLifter(around, limits, self._cache)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._cache is not None:
            self._cache.close()

    @property
    def remarks(self) -> tuple[str, ...]:
        """What a reader should know: how many functions are compared by their tokens alone, a cache that is refused."""
        failed = 0 if self._bounded is None else self._bounded.failed
        told = f"{failed} functions could not be lifted: they are compared by tokens alone" if failed else ""
        refused = "" if self._cache is None else self._cache.refused
        return tuple(filter(None, (told, refused)))

    def features(self, function: Function) -> NDArray[np.uint16] | None:
        """The features of a function; None where it has none.

        Raises:
            LimitError: No process can be started.
        """
        return None if self._bounded is None else self._bounded.features(code_of(self._image, function))

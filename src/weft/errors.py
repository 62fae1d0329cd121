"""One error tree: what was wrong, where, and how to mend it.

Every failure that a user can cause ends in one of these classes. The command line prints
``str(error)`` as one line and exits with ``error.exit_code``; it never shows a traceback for them.

====  ===========================  ==================================================================
code  class                        meaning
====  ===========================  ==================================================================
0     –                            done
1     ``WeftError``                a failure without a narrower class
2     ``ConfigError``              wrong arguments or configuration
3     ``InputError``               input that is not there or cannot be used (data, tensors, graphs, files)
4     ``CheckpointError``          a model that cannot be loaded, or holds what cannot be saved
5     ``MissingExtraError``        an optional dependency is not installed
6     ``StoreError``               an index or a store that is damaged, busy or of another kind
7     ``LimitError``               a bound on time, memory or size was reached
8     ``OutputError``              a file or folder that cannot be written
9     ``PartialFailure``           the run went through, some items failed and were listed
70    –                            a fault of weft's own: one line, the traceback with ``WEFT_DEBUG=1``
130   ``Interrupted``              stopped, by Ctrl-C or SIGTERM; what was saved stays
====  ===========================  ==================================================================
"""

from __future__ import annotations

from typing import ClassVar

__all__ = [
    "CheckpointError",
    "ConfigError",
    "DtypeError",
    "GraphError",
    "InputError",
    "Interrupted",
    "LimitError",
    "MissingExtraError",
    "NonFiniteError",
    "OutputError",
    "PartialFailure",
    "ShapeError",
    "StoreError",
    "WeftError",
    "counted",
    "in_one_line",
    "with_article",
]


def __dir__() -> list[str]:
    return __all__


def with_article(noun: str) -> str:
    """A noun that a message is told, with its article: ``a list``, ``an int``."""
    return f"{'an' if noun[:1].lower() in tuple('aeiou') else 'a'} {noun}"


def counted(number: int, one: str, several: str = "") -> str:
    """A number with its noun: ``1 fact``, ``2,000 facts``, ``1 entity``, ``0 entities``.

    Args:
        number: How many.
        one: What one of them is called.
        several: What others are called; ``one`` with an s where empty.
    """
    return f"{number:,} {one if number == 1 else several or f'{one}s'}"


def in_one_line(text: str) -> str:
    r"""A text as one line that is no command to a terminal: other characters are written out, as ``\x1b`` and ``\n``.

    Bytes of a path that are no text stay as they are.
    """
    if text.isprintable():
        return text
    return "".join(
        letter if letter.isprintable() or "\ud800" <= letter <= "\udfff" else repr(letter)[1:-1]
        for letter in text
    )


class WeftError(Exception):
    """A failure that names the thing, the place and the way out.

    Args:
        what: What was wrong, with the offending value in it.
        where: The file, row, field or tensor in which it was found.
        hint: How to mend it.
    """

    exit_code: ClassVar[int] = 1

    def __init__(self, what: str, *, where: str | None = None, hint: str | None = None) -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.hint = hint

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        way_out = f" ({self.hint})" if self.hint else ""
        return in_one_line(f"{place}{self.what}{way_out}")


class ConfigError(WeftError, ValueError):
    """Arguments or a configuration that break a rule: names the field, the value and the rule."""

    exit_code = 2


class InputError(WeftError, ValueError):
    """Input that cannot be used."""

    exit_code = 3


class ShapeError(InputError):
    """Tensors whose shapes do not fit: the message holds both shapes."""


class DtypeError(InputError, TypeError):
    """A tensor of the wrong dtype: the message holds the dtype found and the one needed."""


class NonFiniteError(InputError):
    """NaN or infinity where a number is needed."""


class GraphError(InputError):
    """A graph that contradicts itself: edge indices out of range, a node without a graph."""


class CheckpointError(WeftError):
    """A checkpoint that cannot be loaded: missing or unexpected tensors are listed."""

    exit_code = 4


class MissingExtraError(WeftError, ImportError):
    """An optional dependency is absent: the message holds the install line.

    Args:
        package: What is not installed.
        extra: The extra of weft that brings it.
        hint: The way out where no extra brings it, as of a program of the system.
    """

    exit_code = 5

    def __init__(self, package: str, extra: str = "", hint: str | None = None) -> None:
        super().__init__(
            f"{package} is not installed", hint=hint or f"pip install '.[{extra}]' in the checkout"
        )
        self._arguments = (package, extra, hint)

    def __reduce__(self) -> tuple[type[MissingExtraError], tuple[str, str, str | None]]:
        return type(self), self._arguments


class StoreError(WeftError):
    """An index or a store that cannot be opened or read."""

    exit_code = 6


class LimitError(WeftError):
    """A bound on time, memory or size was reached."""

    exit_code = 7


class OutputError(WeftError):
    """A file or folder that cannot be written; what stood there before still does."""

    exit_code = 8


class PartialFailure(WeftError):  # noqa: N818 - it is the outcome of a run, not an error in it
    """The run went through; some items failed and were listed."""

    exit_code = 9


class Interrupted(WeftError):  # noqa: N818 - as above
    """Stopped by the user, with the state saved."""

    exit_code = 130

"""Pieces of a source file, and the facts that they state."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

Span = tuple[int, int]


@dataclass(frozen=True)
class Unit:
    """A piece of one file.

    Args:
        kind: ``"function"``, ``"class"`` or ``"module"``.
        name: Qualified name inside the module; empty for the module itself.
        text: The unit's text.
        segments: Source spans of which the text consists, in order.
        node: The syntax tree of the function, class or module, as its language has it.
        name_span: Span of ``def name`` or ``class name`` in the text; empty for a module.
        breaks: Offsets in the text at which a statement starts.
    """

    kind: Literal["function", "class", "module"]
    name: str
    text: str
    segments: tuple[Span, ...]
    node: object
    name_span: Span
    breaks: tuple[int, ...]

    def source_offsets(self, starts: NDArray[np.int64], ends: NDArray[np.int64]) -> NDArray[np.int64]:
        """The spans in the file of spans in the text.

        Args:
            starts: ``(n,)`` offsets of first characters.
            ends: ``(n,)`` offsets after last characters.

        Returns:
            ``(n, 2)``.
        """
        text = np.array(starts_of(self.segments), dtype=np.int64)
        source = np.array([start for start, _ in self.segments], dtype=np.int64)

        def place(offsets: NDArray[np.int64]) -> NDArray[np.int64]:
            index = np.searchsorted(text, offsets, side="right") - 1
            return source[index] + offsets - text[index]

        return np.stack([place(starts), place(ends - 1) + 1], axis=1)

    def text_offset(self, offset: int) -> int:
        """The offset in the text of a character of the file, or of the last one kept before it."""
        return to_text(self.segments, starts_of(self.segments), offset)


def starts_of(segments: Sequence[Span]) -> list[int]:
    """Offset in the text at which each segment starts."""
    starts, total = [], 0
    for start, end in segments:
        starts.append(total)
        total += end - start
    return starts


def to_text(segments: Sequence[Span], starts: list[int], offset: int) -> int:
    """The offset in the text of a character of the file, or of the last one kept before it."""
    index = max(bisect_right(segments, (offset, offset + 10**9)) - 1, 0)
    return starts[index] + min(max(offset - segments[index][0], 0), segments[index][1] - segments[index][0])


@dataclass(frozen=True, order=True)
class Fact:
    """One fact.

    Args:
        head: An identifier.
        relation: Name of the relation.
        tail: An identifier or a constant.
        offset: Where in the file the syntax tree states it.
    """

    head: str
    relation: str
    tail: str
    offset: int


class End(NamedTuple):
    """An end of a stated fact.

    Args:
        name: Qualified.
        kind: Such as ``"class"``; ``"unresolved"`` where it could not be followed.
    """

    name: str
    kind: str


class Stated(NamedTuple):
    """One fact that the syntax of a file states, between entities of the whole tree.

    Args:
        head: Its head.
        relation: Name of the relation.
        tail: Its tail.
        start: First character that states it.
        end: The one after the last.
    """

    head: End
    relation: str
    tail: End
    start: int
    end: int


class Clue(NamedTuple):
    """One thing that a source tree tells of a type that nothing states.

    Args:
        kind: One of the kinds of its language.
        name: The type that it speaks for.
        share: How much of all that this kind tells speaks for it, in (0, 1].
    """

    kind: str
    name: str
    share: float


class Open(NamedTuple):
    """Something that has a type which nothing states.

    Args:
        head: What has it.
        relation: The relation that would state it.
        name: The head as it stands in the text.
        start: Where it is defined.
        end: The character after its name.
        plain: A type that is plain from the code, though nobody wrote it down; empty where none is.
        optional: Whether it is ``None`` at times, beside that type.
        clues: What the tree around it tells.
        used: The members that are read from it.
        fitting: The classes of the tree that have all of these.
        meant: The qualified name of the plain type.
    """

    head: End
    relation: str
    name: str
    start: int
    end: int
    plain: str = ""
    optional: bool = False
    clues: tuple[Clue, ...] = ()
    used: tuple[str, ...] = ()
    fitting: tuple[str, ...] = ()
    meant: str = ""

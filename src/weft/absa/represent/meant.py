"""A text as it is read: spelled in the tokenizer's characters and, where asked, as what is likely meant by it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from weft.absa.records import Side
from weft.absa.represent.boxes import boxes
from weft.absa.represent.changes import changes
from weft.absa.represent.faces import faces, labels
from weft.absa.represent.lists import headed, listed, lists
from weft.absa.represent.ratings import ratings
from weft.absa.represent.shorthand import shorthand
from weft.absa.represent.slips import Places, Slip, english, mended, replaced
from weft.absa.represent.speakers import without_speakers
from weft.absa.represent.spelling import laid_out, spelled

Known = Callable[[str], bool]
"""Whether the tokenizer has pieces for a character."""


def as_read(
    text: str, known: Known, as_meant: bool, own: frozenset[str] = frozenset()
) -> tuple[str, Places | None]:
    """A text as a tokenizer reads it, and for each character what it stands for in the text.

    Args:
        text: The text.
        known: See :data:`Known`.
        as_meant: Whether ratings, faces, the signs of lists, short forms and what became less or more become words,
            and slips of the keyboard what is likely meant, and labels of speakers are left out.
        own: Further words that stay as they are.

    Returns:
        The text that is read; of each of its characters the first one and the last + 1 that it stands for, None where
        nothing changed.
    """
    if not as_meant:
        return spelled(text, known)
    text = without_speakers(text)
    return mended(*_marked(text, known, _marks(text, own)), own)


def read_otherwise(text: str, known: Known, own: frozenset[str] = frozenset()) -> list[Slip]:
    """What :func:`as_read` reads as something else than is written, in order, in the text's own characters."""
    text = without_speakers(text)
    marks = _marks(text, own)
    written, places = _marked(text, known, marks)
    found = list(english(own).slips(written))
    if places is not None:
        found = [Slip(places[start][0], places[stop - 1][1], word) for start, stop, word in found]
    return sorted([*marks, *found])


def named_by_layout(text: str) -> list[tuple[int, int]]:
    """Where the things stand that a text names by its layout, in its own characters: items of lists, labels."""
    shown, places = laid_out(text)
    found: list[tuple[int, int]] = []
    for start, stop in sorted([*listed(shown), *labels(shown)]):
        if not found or start >= found[-1][1]:
            found.append((start, stop))
    return found if places is None else [(places[start][0], places[stop - 1][1]) for start, stop in found]


def sides_by_layout(text: str) -> list[tuple[int, int, Side]]:
    """What stands below a text's heads of praise and blame, in its own characters, and which of both it is."""
    shown, places = laid_out(text)
    found = [section for section in headed(shown) if section[0] < section[1]]
    if places is None:
        return found
    moved: list[tuple[int, int, Side]] = []
    for start, stop, side in found:
        moved.append((places[start][0], places[stop - 1][1], side))
    return moved


def _marks(text: str, own: frozenset[str]) -> list[Slip]:
    """Ratings, faces, signs of lists, changes and short forms of a text, in order; of two in one place the first."""
    shown, places = laid_out(text)
    found: list[Slip] = []
    slips = [
        *boxes(shown),
        *ratings(shown),
        *faces(shown),
        *lists(shown),
        *changes(shown),
        *shorthand(shown, own),
    ]
    for slip in sorted(slips, key=lambda slip: (slip.start, -slip.stop)):
        if not found or slip.start > found[-1].stop:
            found.append(slip)
        elif slip.start == found[-1].stop:
            apart = found[-1].word[-1:].isalnum() and slip.word[:1].isalnum()
            found.append(slip._replace(word=f"{' ' * apart}{slip.word}"))
    if places is None:
        return found
    return [Slip(places[start][0], places[stop - 1][1], word) for start, stop, word in found]


def _marked(text: str, known: Known, found: Sequence[Slip]) -> tuple[str, Places | None]:
    """The text with some marks as words, spelled."""
    rated, outer = replaced(text, None, found)
    written, inner = spelled(rated, known)
    if outer is None or inner is None:
        return written, inner if outer is None else outer
    return written, [(outer[start][0], outer[stop - 1][1]) for start, stop in inner]

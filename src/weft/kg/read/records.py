"""Tables and forms in a text: lines of cells below a line of labels, and lines that begin with a label each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from weft.kg.read.labels import plain_label
from weft.kg.read.sections import is_heading

Span = tuple[int, int]
_LINE = re.compile(r"[^\r\n]+")
_FIELD = re.compile(
    r"[ \t]*(?:[•‣⁃◦▪▫●○■□*+–—-][ \t]*)?"
    r"(?P<label>[*_]{0,2}[^\W\d_][^:|!?\r\n]{0,59}):[*_]{0,2}[ \t]+(?P<value>\S.*)"
)
_BARE = re.compile(r"[ \t]*(?P<label>[*_]{0,2}[^\W\d_][^:|!?\r\n]{0,59}):[*_]{0,2}[ \t]*(?P<value>)$")
"""A label whose value stands in the lines below."""
_ITEM = re.compile(r"[ \t]*[•‣⁃◦▪▫●○■□*+–—-][ \t]+\S")
_APART = re.compile(r"\t+| {2,}")
"""What parts the cells of a line without bars."""
_COLUMNS = 3
"""So many cells make a line without bars one of a table."""
_BAR = re.compile(r"(?<!\\)\|")
_LABEL_WORDS = 6
_RULE = re.compile(r"[\s\ufeff|:+=~_*#-]*$")
"""A line without words: blank, below a heading ("====="), below the head of a table ("|---|:--:|")."""
_GOES_ON = 60
"""Most characters of a line that goes on with what stands behind a label."""
_LONGEST = 400
"""Most characters of what stands behind a label, where lines go on with it."""
_ENDED = re.compile(r"[.!?:;…][\"'”’)\]]*$")
_SHORTENED = re.compile(r"(?<=\.\w)\.$|(?<=\b(?:Inc|Ltd))\.$|(?<=\bCo)\.$")
"""The full stop of a heading that ends with a firm's form: "Staff of Kestrel Maritime B.V."."""
_ABOVE = 4
"""So many headings above a form may name what it is about."""


class Field(NamedTuple):
    """A label and what stands behind it.

    Args:
        label: Its characters.
        value: Those behind it; with the lines that it goes on in.
    """

    label: Span
    value: Span


class Form(NamedTuple):
    """Lines that begin with a label: "Born: 1958".

    Args:
        above: Lines that may name what it is about, the nearest first: the one right above it, and headings.
        fields: In order, two at least.
        title: A line with a label that stands apart above them: the head of a table of two columns, or a title.
    """

    above: tuple[Span, ...]
    fields: tuple[Field, ...]
    title: Field | None = None


class Table(NamedTuple):
    """Lines of cells.

    Args:
        above: As of a form.
        head: The cells of the first line.
        rows: Those of the lines below, with empty ones where cells are missing at the end of a line.
    """

    above: tuple[Span, ...]
    head: tuple[Span, ...]
    rows: tuple[tuple[Span, ...], ...]


class _Line(NamedTuple):
    start: int
    text: str
    is_below_gap: bool
    is_alone: bool

    @property
    def span(self) -> Span:
        """Its characters without marks of markup around them."""
        stripped = self.text.strip(" \t*_#")
        start = self.start + self.text.index(stripped)
        return start, start + len(stripped)


def records_of(text: str) -> list[Form | Table]:
    """The tables and forms of a text, in order."""
    reader = _Reader(text)
    for line in _lines(text):
        reader.read(line)
    reader.close()
    return reader.found


class _Reader:
    """Reads a text line by line."""

    def __init__(self, text: str) -> None:
        self.found: list[Form | Table] = []
        self._text = text
        self._headings: list[Span] = []
        self._fields: list[Field] = []
        self._cells: list[tuple[Span, ...]] = []
        self._above: tuple[Span, ...] = ()
        self._before: _Line | None = None
        self._goes_on_at: tuple[_Line, int] | None = None
        self._title: Field | None = None
        self._is_apart = False

    def close(self) -> None:
        """The end of a table or form."""
        if len(self._fields) > 1:
            self.found.append(Form(self._above, tuple(self._fields), self._title))
        if len(self._cells) > 1:
            head, *rows = self._cells
            whole = (_filled(row, len(head)) for row in rows if len(row) <= len(head))
            self.found.append(Table(self._above, head, tuple(whole)))
        self._fields, self._cells, self._is_apart, self._title = [], [], False, None

    def read(self, line: _Line) -> None:
        """The next line."""
        cells = _cells(line)
        field = None if cells else _field(line)
        if field is not None and field.value[0] == field.value[1] and (not self._fields or line.is_below_gap):
            # "Present:" above a list begins no form.
            field = None
        if cells:
            self._read_row(line, cells)
        elif field is not None:
            self._read_field(line, field)
        elif self._fields and not line.is_below_gap and _ITEM.match(line.text):
            self._read_item(line)
        elif self._fields and not line.is_below_gap and self._goes_on(line):
            self._goes_on_at = line, self._fields[-1].value[1]
            self._extend(line)
        else:
            self.close()
            if line.is_alone and is_heading(_SHORTENED.sub("", line.text.strip())):
                self._headings.append(line.span)
        self._before = line

    def _read_item(self, line: _Line) -> None:
        """An item of a list in a form: the line above it, if that has no label of its own, is the label of all."""
        if self._goes_on_at is not None and self._goes_on_at[0] == self._before:
            label, end = self._goes_on_at
            above = self._fields[-1]
            self._fields[-1] = above._replace(value=(above.value[0], end))
            self._fields.append(Field(label.span, line.span))
        self._extend(line)

    def _extend(self, line: _Line) -> None:
        start, _ = self._fields[-1].value
        self._fields[-1] = self._fields[-1]._replace(value=(start, line.start + len(line.text.rstrip())))

    def _read_row(self, line: _Line, cells: tuple[Span, ...]) -> None:
        # Where a table has a head of its own the page parts it from the rows.
        is_headed = len(self._cells) == 1 and len(self._cells[0]) >= len(cells)
        if self._fields or (line.is_below_gap and not is_headed):
            self.close()
        if not self._cells:
            self._above = self._lines_above(line)
        self._cells.append(cells)

    def _read_field(self, line: _Line, field: Field) -> None:
        is_begun_again = bool(self._fields) and self._label(self._fields[0]) == self._label(field)
        # Either all lines of a form are parted by empty lines, or none is.
        is_parted = line.is_below_gap and len(self._fields) > 1 and not self._is_apart
        if self._cells or is_begun_again or is_parted:
            self.close()
        if not self._fields:
            self._above = self._lines_above(line)
        if self._is_apart and len(self._fields) == 2 and not line.is_below_gap:
            # The first was a title above the others: "Family sheet: Johannes Brügge".
            self._title = self._fields.pop(0)
            self._above = ((self._title.label[0], self._title.value[1]), *self._above)
            self._is_apart = False
        self._is_apart |= line.is_below_gap and len(self._fields) == 1
        self._fields.append(field)

    def _goes_on(self, line: _Line) -> bool:
        """Whether a line below a field goes on with its value."""
        bare = line.text.strip()
        value = self._fields[-1].value
        is_short = len(bare) <= _GOES_ON and line.start - value[0] <= _LONGEST
        if value[0] == value[1] and line.text[0] not in " \t":
            return False
        return is_short and not _ENDED.search(bare) and (not bare[0].islower() or line.text[0] in " \t")

    def _label(self, field: Field) -> str:
        return plain_label(self._text[slice(*field.label)])

    def _lines_above(self, line: _Line) -> tuple[Span, ...]:
        title = self._before
        is_title = title is not None and not line.is_below_gap and not _ENDED.search(title.text)
        own = (title.span,) if is_title and title is not None and _field(title) is None else ()
        return (*own, *reversed(self._headings[-_ABOVE:]))


def _filled(row: tuple[Span, ...], columns: int) -> tuple[Span, ...]:
    """A row with empty cells behind it."""
    end = row[-1][1]
    return (*row, *[(end, end)] * (columns - len(row)))


def _field(line: _Line) -> Field | None:
    """The label and value of a line; None where it has no label."""
    found = _FIELD.match(line.text) or _BARE.match(line.text)
    if found is None or len(found["label"].split()) > _LABEL_WORDS:
        return None
    start, value = line.start, line.start + found.start("value")
    label = (start + found.start("label"), start + found.end("label"))
    return Field(label, (value, value + len((found["value"] or "").rstrip())))


def _lines(text: str) -> Iterator[_Line]:
    """The lines that say something: neither blank ones nor rules."""
    lines = [line for line in _LINE.finditer(text) if not _RULE.match(line[0])]
    inner = (_blank(text[one.end() : other.start()]) for one, other in pairwise(lines))
    gaps = [False, *inner, True]
    for number, line in enumerate(lines):
        is_alone = (gaps[number] or number == 0) and gaps[number + 1]
        yield _Line(line.start(), line[0], gaps[number], is_alone)


def _blank(between: str) -> bool:
    """Whether what parts two lines holds an empty one."""
    return between.replace("\r\n", "\n").replace("\r", "\n").count("\n") > 1


def _cells(line: _Line) -> tuple[Span, ...]:
    """The cells of a line of a table; none of another."""
    stripped = line.text.strip()
    is_framed = stripped[0] == stripped[-1] == "|"
    if is_framed or " | " in line.text or stripped.endswith(" |"):
        place, inner, between = line.start + line.text.index(stripped), stripped, _BAR
        if is_framed:
            place, inner = place + 1, stripped[1:-1]
    else:
        place, inner, between = line.start, line.text.rstrip(), _APART
    spans: list[Span] = []
    edges = [0, *(edge for found in between.finditer(inner) for edge in found.span()), len(inner)]
    for start, end in zip(edges[::2], edges[1::2], strict=True):
        said = inner[start:end].strip()
        first = place + start + (inner[start:end].index(said) if said else 0)
        spans.append((first, first + len(said)))
    return tuple(spans) if len(spans) >= (_COLUMNS if between is _APART else 2) else ()

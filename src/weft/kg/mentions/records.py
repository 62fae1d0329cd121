"""What tables and forms are about, and what their labels say of it."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from weft.kg.mentions.join import PERSON
from weft.kg.read.labels import Labels, Stated, kind_of_label, names_first, plain_label
from weft.kg.read.records import Form, Span, Table, records_of

_MOST = 0.5
"""Share of a cell, or of a part of a heading, that a name has at least where that is named."""
_PIECES = re.compile(
    r"\s[–—|-]\s|:\s|[()\[\],]|^(?i:about (?:the )?(?=[A-Z])"
    r"|(?:annual )?(?:board|data|history|life|list|meeting|minutes|notes|profile|reports?) (?:of|on|about) (?:the )?)"
)
_OF_ALL = re.compile(
    r"(?P<label>[^\W\d_][\w' -]{1,30}?)\s+(?:of|at|by|from)\s+(?:the\s+)?(?P<name>[^\W\d_][^\r\n]*?)\s*$"
)
"""A heading that says what all things below it are to one."""
_ALONE = frozenset(("husband", "groom", "bridegroom", "deceased", "testator"))
"""Labels with which a form about somebody begins, though they say something of others, too."""
_BESIDE = {"wife": "husband", "bride": "groom"}
"""Labels with which a form begins where others begin with their counterparts."""
_WIDE = frozenset(("country", "state", "region", "county", "district", "province"))
"""Labels of columns that more often tell where things are than what a table is about."""
_LEADING = re.compile(r"(?:(?:in|at|by|on|near|from|since|with|of|and|to|c\.|ca\.)\s+)+")
_LONGEST_WORD = 5
"""A longer last word has no full stop of its own."""


class Cell(NamedTuple):
    """What stands behind, or below, a label.

    Args:
        label: As it is looked up.
        place: Where it stands.
        said: What it says; nothing where it is not known.
        value: The characters.
    """

    label: str
    place: Span
    said: tuple[Stated, ...]
    value: Span


class Record(NamedTuple):
    """A thing and the cells beside it.

    Args:
        subject: Where the thing is named.
        kind: Its type, by its label; empty where that does not tell.
        cells: The others.
        block: The number of its table or form.
        is_row_of_heading: Whether it is one of several rows about the person that stands above a table.
    """

    subject: Span
    kind: str
    cells: tuple[Cell, ...]
    block: int = 0
    is_row_of_heading: bool = False


class _Spans:
    """Where names stand, to look up."""

    def __init__(self, spans: Iterable[Span]) -> None:
        self.spans = sorted(spans)

    def inside(self, span: Span) -> list[Span]:
        """Those that lie within a span."""
        first = bisect_left(self.spans, (span[0], 0))
        last = bisect_left(self.spans, (span[1], 0))
        return [item for item in self.spans[first:last] if item[1] <= span[1]]

    def fill(self, span: Span) -> bool:
        """Whether one of them is most of a span; it may begin before it."""
        before = self.spans[max(0, bisect_left(self.spans, (span[0], 0)) - 1) : bisect_left(self.spans, span)]
        around = [(max(start, span[0]), min(end, span[1])) for start, end in (*before, *self.inside(span))]
        return any(end - start >= _MOST * (span[1] - span[0]) for start, end in around)


def told_blocks(text: str, labels: Labels) -> list[Form | Table]:
    """The tables and forms of a text with a label that says something; lines of a talk are no form."""
    return [block for block in records_of(text) if _is_told(text, block, labels)]


def _is_told(text: str, block: Form | Table, labels: Labels) -> bool:
    if isinstance(block, Form) and (table := _as_table(text, block, labels)) is not None:
        block = table
    places = block.head if isinstance(block, Table) else [field.label for field in block.fields]
    written = frozenset(plain_label(text[slice(*place)]) for place in places)
    is_headed = isinstance(block, Table) and any(kind_of_label(label) is not None for label in written)
    return is_headed or any(labels.said(label, written) for label in written)


def holding(spans: Sequence[Span], place: int) -> int | None:
    """The number of the span that holds a character; None where none does.

    Args:
        spans: In order, none over another.
        place: The character.
    """
    number = bisect_right(spans, place, key=lambda span: span[0]) - 1
    return number if number >= 0 and place < spans[number][1] else None


def cells_of(blocks: Iterable[Form | Table]) -> list[Span]:
    """The cells of tables and forms that are no labels, in order."""
    found: list[Span] = []
    for block in blocks:
        if isinstance(block, Table):
            found += (cell for row in block.rows for cell in row)
        else:
            found += (field.value for field in block.fields)
    return found


def records(text: str, blocks: Sequence[Form | Table], labels: Labels, named: Iterable[Span]) -> list[Record]:
    """What the tables and forms of a text are about, in order; those of which nobody can tell are left out.

    A row of a table is about what stands in the column "Name", else in that of a kind of things ("Ship") of which the
    most others say something, else in the first, if most of its cells are names; else, below a person's name, about
    that. A form is about its "Name"; about its first line, if
    that has the label of a kind and says nothing else ("Ship"), or if other forms begin so, too; else about the line
    above it or the nearest heading with a name, else about its first line, if that has the label of a kind.

    Args:
        text: Of the document.
        blocks: Its tables and forms.
        labels: Of a schema.
        named: Where names are found, but for dates and numbers.
    """
    spans = _Spans(named)
    found: list[Record] = []
    alike: dict[str, list[Form]] = defaultdict(list)
    for block in blocks:
        if isinstance(block, Form):
            alike[_first_label(text, block)].append(block)
    for number, block in enumerate(blocks):
        if isinstance(block, Table):
            told = _of_table(text, block, labels, spans)
        elif (table := _as_table(text, block, labels)) is not None:
            told = _of_table(text, table, labels, spans)
        else:
            first = _first_label(text, block)
            is_one_of_several = _is_one_of_several(alike[first]) or bool(alike.get(_BESIDE.get(first, "")))
            told = _of_form(text, block, labels, spans, is_one_of_several)
        found += (record._replace(block=number) for record in told)
    return found


def _is_one_of_several(forms: Sequence[Form]) -> bool:
    """Whether forms that begin alike have no lines of their own above them that name what they are about."""
    above = {form.above[:1] for form in forms}
    return len(forms) > 1 and (() in above or len(above) < len(forms))


def _as_table(text: str, form: Form, labels: Labels) -> Table | None:
    """The table of two columns that reads as lines with labels: "Company: CEO"."""
    fields = form.fields if form.title is None else (form.title, *form.fields)
    lines = [(field.label, field.value) for field in fields]
    one, other = (plain_label(text[slice(*span)]) for span in lines[0])
    known = sum(bool(labels.said(plain_label(text[slice(*label)]))) for label, _ in lines[1:])
    kinds = [kind_of_label(label) is not None for label in (one, other)]
    is_head = (kinds[0] and bool(labels.said(other))) or (kinds[1] and bool(labels.said(one)))
    if is_head and 2 * known < len(lines) - 1:
        return Table(form.above, lines[0], tuple(lines[1:]))
    return None


def _of_table(text: str, table: Table, labels: Labels, named: _Spans) -> Iterator[Record]:
    written = [plain_label(text[slice(*span)]) for span in table.head]
    beside = frozenset(written)
    said = [labels.said(label, beside) for label in written]
    column = _subject_column(written, said, table.rows, labels, named)
    if column is None:
        yield from _of_heading(text, table, written, said, named)
        return
    above = next(filter(None, (_heading_cell(text, line, labels, named) for line in table.above)), None)
    if not (above or any(item for place, item in enumerate(said) if place != column)):
        return
    for row in table.rows:
        if row[column][0] < row[column][1]:
            cells = [
                Cell(*item)
                for place, item in enumerate(zip(written, table.head, said, row, strict=True))
                if place != column
            ]
            cells += [above] if above else []
            yield Record(row[column], kind_of_label(written[column]) or "", tuple(cells))


def _of_heading(
    text: str, table: Table, written: Sequence[str], said: Sequence[tuple[Stated, ...]], named: _Spans
) -> Iterator[Record]:
    """The rows of a table about a person who stands above it: "Years | Employer" below "Lena Brandt".

    Rows below other headings ("Board of Arden Water": topic, owner) are about something that nobody knows.
    """
    subject = _subject_above(text, table.above, named)
    if subject is not None:
        for row in table.rows:
            cells = (Cell(*item) for item in zip(written, table.head, said, row, strict=True))
            yield Record(subject, PERSON, tuple(cells), is_row_of_heading=True)


def _subject_above(text: str, above: Sequence[Span], named: _Spans) -> Span | None:
    """The first part of a heading that is a name, the nearest heading first."""
    pieces = (piece for line in above for piece in parts_of(text, line, _PIECES) if named.fill(piece))
    return next(pieces, None)


def _heading_cell(text: str, line: Span, labels: Labels, named: _Spans) -> Cell | None:
    """What a heading says of all that stands below it: "Staff of Kestrel Maritime"; None where it says nothing."""
    found = _OF_ALL.match(text, *line)
    if found is None or not named.fill(found.span("name")):
        return None
    label = plain_label(found["label"])
    turned = tuple(item._replace(turned=not item.turned) for item in labels.said(label))
    return Cell(label, found.span("label"), turned, found.span("name")) if turned else None


def _subject_column(
    head: Sequence[str],
    said: Sequence[tuple[Stated, ...]],
    rows: Sequence[Sequence[Span]],
    labels: Labels,
    named: _Spans,
) -> int | None:
    """The column of what a table is about; None where nobody can tell.

    Of several columns of kinds of things that of which the most others say something: of "Country | Company | CEO" the
    companies.
    """
    first = next((column for column, label in enumerate(head) if names_first(label)), None)
    if first is not None:
        return first
    kinds = {column: kind for column, label in enumerate(head) if (kind := kind_of_label(label)) is not None}
    if kinds:

        def told(column: int) -> int:
            others = (one for place, one in enumerate(said) if place != column)
            strong = (tuple(item for item in one if not item.is_weak) for one in others)
            return sum(bool(labels.types(one, kinds[column])) for one in strong)

        return max(kinds, key=lambda column: (told(column), head[column] not in _WIDE, -column))
    return 0 if 2 * sum(named.fill(row[0]) for row in rows) > len(rows) else None


def _first_label(text: str, form: Form) -> str:
    return plain_label(text[slice(*form.fields[0].label)])


def _of_form(
    text: str, form: Form, labels: Labels, named: _Spans, is_one_of_several: bool
) -> Iterator[Record]:
    written = [plain_label(text[slice(*field.label)]) for field in form.fields]
    own = next((place for place, label in enumerate(written) if names_first(label)), None)
    is_kind = kind_of_label(written[0]) is not None
    is_own = is_kind and (is_one_of_several or not labels.said(written[0]))
    is_own |= is_one_of_several and written[0] in _BESIDE
    if own is None and (is_own or written[0] in _ALONE):
        own = 0
    subject = None if own is None else form.fields[own].value
    if subject is None:
        subject = _subject_above(text, form.above, named)
    if subject is None and is_kind:
        own, subject = 0, form.fields[0].value
    beside = frozenset(written)
    if subject is not None:
        cells = (
            Cell(label, field.label, labels.said(label, beside), field.value)
            for place, (label, field) in enumerate(zip(written, form.fields, strict=True))
            if place != own
        )
        yield Record(subject, "" if own is None else kind_of_label(written[own]) or "", tuple(cells))


def parts_of(text: str, span: Span, between: re.Pattern[str]) -> Iterator[Span]:
    """The parts of a span, without blanks and small words before them, and full stops and marks of notes behind.

    Args:
        text: Of the document.
        span: Its characters.
        between: What parts them.
    """
    edges = [span[0], *(edge for found in between.finditer(text, *span) for edge in found.span()), span[1]]
    for start, end in zip(edges[::2], edges[1::2], strict=True):
        said = text[start:end]
        start += len(said) - len(said.lstrip())
        if (small := _LEADING.match(text, start, end)) is not None:
            start = small.end()
        said = text[start:end].rstrip(" \t\r\n*†‡§¹²³⁴⁵⁶⁷⁸⁹⁰")
        word = said.rsplit(" ", 1)[-1]
        is_shortened = "." in word[:-1] or len(word) <= _LONGEST_WORD
        said = said if is_shortened else said.removesuffix(".")
        if said:
            yield start, start + len(said)

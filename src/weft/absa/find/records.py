"""Findings as records: of one text, of a table in a stream."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from weft.absa.find.finder import Finder
from weft.absa.find.finding import Finding
from weft.absa.read.fields import COLUMN, GROUP, Fields
from weft.absa.read.labelled import given_cell
from weft.absa.read.table import TableRow
from weft.absa.records import Problems
from weft.absa.use.notes import notes_on
from weft.errors import InputError

COLUMNS = ("row", "text", "term", "start", "stop", "category", "polarity", "confidence", "words", "note")
TYPES: dict[str, type] = {"row": int, "start": int, "stop": int, "confidence": float}
"""Of the columns that hold no text."""


def record(text: str, finding: Finding, note: str | None = None) -> dict[str, Any]:
    """One finding as it is written: the judging words stand in one field, with semicolons between."""
    start, stop = finding.span or (None, None)
    likely = [f"{finding.likely} at {finding.confidence:.2f} is not sure enough"] if finding.likely else []
    return {
        "text": text,
        "term": finding.term,
        "start": start,
        "stop": stop,
        "category": finding.category,
        "polarity": finding.polarity,
        "confidence": round(finding.confidence, 4),
        "words": "; ".join(finding.words) or None,
        "note": "; ".join([*likely, *([note] if note else [])]) or None,
    }


def columns_of(fields: Fields) -> tuple[str, ...]:
    """The columns of a table's records, those of its groups and of its several texts behind the row's number."""
    group = () if fields.by is None else (GROUP,)
    return (COLUMNS[0], *group, *((COLUMN,) if fields.several else ()), *COLUMNS[1:])


def found_in(
    finder: Finder,
    rows: Iterable[TableRow],
    column: str,
    problems: Problems,
    source: str = "",
    chunk: int = 512,
) -> Iterator[list[tuple[TableRow, str, list[Finding]]]]:
    """The findings of a table's rows, chunk after chunk: row, text, findings.

    Args:
        finder: What finds.
        rows: The table's rows.
        column: Of the text, where a row does not say it.
        problems: Takes the rows that cannot be used.
        source: The table's name, for messages.
        chunk: Rows that are in memory at once.
    """
    upcoming = iter(rows)
    while taken := list(islice(upcoming, chunk)):
        usable: list[tuple[TableRow, str]] = []
        for row in taken:
            try:
                if row.problem is not None:
                    raise InputError(row.problem)
                usable.append((row, given_cell(row.cells, row.column or column)))
            except InputError as error:
                problems.add(f"{source} row {row.number}".strip(), error.what)
        found = finder.find([text for _, text in usable], [row.side for row, _ in usable]) if usable else []
        yield [(row, text, findings) for (row, text), findings in zip(usable, found, strict=True)]


def noted(text: str, finder: Finder) -> str | None:
    """What there is to say about how a text is read: see :func:`weft.absa.use.notes.notes_on`."""
    return "; ".join(notes_on(text, finder.asker)) or None

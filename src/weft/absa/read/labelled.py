"""Labelled tables of one's own: one row per (text, target, aspect) with its polarity."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from weft.absa.read.table import Format, read_rows
from weft.absa.records import NONE, Context, Corpus, Problems, Sentence, is_blank
from weft.errors import InputError


@dataclass(frozen=True)
class Columns:
    """The names of the columns.

    Args:
        text: The text.
        aspect: The aspect in words.
        polarity: The gold polarity, ``"none"`` for no opinion; any letter case.
        target: The target, or None where the table has no such column.
    """

    text: str = "text"
    aspect: str = "aspect"
    polarity: str = "polarity"
    target: str | None = None


def read_labelled(path: str, columns: Columns | None = None, form: Format | None = None) -> Corpus:
    """Read a labelled CSV, JSON lines or Parquet file.

    Rows of one text become one sentence, whose contexts are encoded together. The classes are
    ``"none"`` and the polarities found, in alphabetical order.

    Raises:
        InputError: The file cannot be read, lacks a column or has no usable row.
    """
    names = columns or Columns()
    needed = [names.text, names.aspect, names.polarity, *([names.target] if names.target else [])]
    problems = Problems()
    texts: dict[str, dict[Context, str]] = {}
    places: dict[str, dict[Context, str]] = {}
    for row in read_rows(path, needed, form):
        where = f"{path} row {row.number}"
        try:
            if row.problem:
                raise InputError(row.problem)
            text, context, polarity = _labelled(row.cells, names)
            asked = texts.setdefault(text, {})
            if asked.setdefault(context, polarity) != polarity:
                raise InputError(
                    f"the same text and context has polarity {asked[context]!r} in an earlier row"
                )
            places.setdefault(text, {}).setdefault(context, where)
        except InputError as error:
            problems.add(where, error.what)
    if not texts:
        shown = f"; the first problem: {problems.shown[0]}" if problems.shown else ""
        raise InputError(f"no usable row{shown}", where=path)
    sentences = tuple(
        Sentence(text, tuple(asked), tuple(asked.values()), next(iter(rows)), rows)
        for text, asked in texts.items()
        for rows in (tuple(places[text].values()),)
    )
    found = {polarity for sentence in sentences for polarity in sentence.polarities} - {NONE}
    if not found:
        raise InputError(f"every polarity is {NONE!r}; another one is needed", where=path)
    return Corpus(sentences, (NONE, *sorted(found)), problems)


def _labelled(cells: Mapping[str, Any], names: Columns) -> tuple[str, Context, str]:
    text = text_cell(cells, names.text)
    aspect = text_cell(cells, names.aspect)
    polarity = text_cell(cells, names.polarity).lower()
    target = optional_cell(cells, names.target)
    return text, Context(aspect, target), polarity


def text_cell(cells: Mapping[str, Any], column: str) -> str:
    """The stripped text of a cell.

    Raises:
        InputError: It is not text, or it is empty.
    """
    return given_cell(cells, column).strip()


def given_cell(cells: Mapping[str, Any], column: str) -> str:
    """The text of a cell as it was given, for places that are counted in it.

    Raises:
        InputError: It is not text, or it is empty.
    """
    value = cells.get(column)
    if not isinstance(value, str):
        raise InputError(f"column {column!r} holds {value!r}, not text")
    if is_blank(value):
        raise InputError(f"column {column!r} is empty")
    return value


def optional_cell(cells: Mapping[str, Any], column: str | None) -> str | None:
    """The stripped text of a cell, or None where there is no such column or the cell is empty."""
    if column is None:
        return None
    value = cells.get(column)
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    return text_cell(cells, column)

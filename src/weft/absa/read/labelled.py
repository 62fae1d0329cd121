"""Labelled tables of one's own: one row per (text, target, aspect) with its polarity."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

from weft.absa.read.nested import text_paths
from weft.absa.read.table import Format, read_rows
from weft.absa.records import NONE, UNKNOWN, Context, Corpus, Problems, Sentence, is_blank
from weft.errors import InputError

TARGET = "target"
"""The column of targets, where a table has it and no other is named."""


@dataclass(frozen=True)
class Columns:
    """The names of the columns.

    Args:
        text: The text.
        aspect: The aspect in words.
        polarity: The gold polarity, ``"none"`` for no opinion; any letter case, or a whole number.
        target: The target. Where None it is ``"target"`` in a table that has such a column; ``""`` reads none.
    """

    text: str = "text"
    aspect: str = "aspect"
    polarity: str = "polarity"
    target: str | None = None

    @property
    def named(self) -> list[str]:
        """The columns that a table must have."""
        return [self.text, self.aspect, self.polarity, *([self.target] if self.target else [])]

    @property
    def of_target(self) -> str | None:
        """The column of targets, where the table has it."""
        if self.target is not None:
            return self.target or None
        return None if TARGET in self.named else TARGET


def read_labelled(path: str, columns: Columns | None = None, form: Format | None = None) -> Corpus:
    """Read a labelled CSV, JSON lines or Parquet file.

    Rows of one text become one sentence, whose contexts are encoded together. The classes are
    ``"none"`` and the polarities found, in alphabetical order.

    Raises:
        InputError: The file cannot be read, lacks a column or has no usable row.
    """
    return read_grouped(path, None, columns, form)[0]


def read_grouped(
    path: str, by: str | None, columns: Columns | None = None, form: Format | None = None
) -> tuple[Corpus, list[str]]:
    """Read a labelled table, and for each sentence what a further column says of its rows.

    A text whose rows differ there becomes a sentence for each value, with the questions of its own rows.

    Args:
        path: The table.
        by: The further column; with None every value is ``""``.
        columns: What the others are called.
        form: See :func:`weft.absa.read.table.read_rows`.

    Returns:
        The sentences, and the value of each.

    Raises:
        InputError: The file cannot be read, lacks a column or has no usable row.
    """
    names = columns or Columns()
    needed = [*names.named, *([by] if by and by not in names.named else [])]
    problems = Problems()
    asked: dict[tuple[str, str], dict[Context, str]] = {}
    places: dict[tuple[str, str], dict[Context, str]] = {}
    spelled: dict[tuple[str, str], dict[Context, Context]] = {}
    for row in read_rows(path, needed, form, also=list(filter(None, [names.of_target]))):
        where = f"{path} row {row.number}"
        try:
            if row.problem:
                raise InputError(row.problem)
            text, context, polarity = _labelled(row.cells, names)
            key = _value(row.cells, by), text
            answers = asked.setdefault(key, {})
            known = spelled.setdefault(key, {}).setdefault(_alike(context), context)
            if answers.get(known, polarity) != polarity:
                letters = "" if known == context else f", but for letter case ({known.aspect!r}),"
                raise InputError(
                    f"the same text and context{letters} has polarity {answers[known]!r} in an earlier row"
                )
            answers.setdefault(context, polarity)
            places.setdefault(key, {}).setdefault(context, where)
        except InputError as error:
            problems.add(where, error.what)
    if not asked:
        shown = f"; the first problem: {problems.shown[0]}" if problems.shown else ""
        raise InputError(f"no usable row{shown}", where=path)
    sentences = tuple(
        Sentence(key[1], tuple(answers), tuple(answers.values()), next(iter(rows)), rows)
        for key, answers in asked.items()
        for rows in (tuple(places[key].values()),)
    )
    found = {polarity for sentence in sentences for polarity in sentence.polarities} - {NONE}
    if not found:
        raise InputError(f"every polarity is {NONE!r}; another one is needed", where=path)
    return Corpus(sentences, (NONE, *sorted(found)), problems), [value for value, _ in asked]


def _alike(context: Context) -> Context:
    """The same for an aspect in any letter case; a target stays as its text has it ("US" is not "us")."""
    return replace(context, aspect=context.aspect.casefold())


def _value(cells: Mapping[str, Any], by: str | None) -> str:
    if by is None:
        return ""
    value = cells[by]
    if value is None or is_blank(str(value)):
        raise InputError(f"column {by!r} is empty")
    return str(value).strip()


def _labelled(cells: Mapping[str, Any], names: Columns) -> tuple[str, Context, str]:
    text = text_cell(cells, names.text)
    aspect = text_cell(cells, names.aspect)
    polarity = _polarity(cells, names.polarity)
    target = optional_cell(cells, names.of_target)
    return text, Context(aspect, target), polarity


def _polarity(cells: Mapping[str, Any], column: str) -> str:
    """The class in small letters; whole numbers, such as stars, are classes as well.

    Raises:
        InputError: It is neither text nor a whole number, empty, or a question mark.
    """
    value = cells.get(column)
    polarity = str(value).lower() if isinstance(value, int) else text_cell(cells, column).lower()
    if polarity == UNKNOWN:
        raise InputError(f"polarity {UNKNOWN!r} is no answer: nothing can be learnt from it, nor measured")
    return polarity


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
    if isinstance(value, dict):
        texts = ", ".join(map(repr, text_paths(column, cast("dict[str, Any]", value)))) or "no text"
        raise InputError(f"column {column!r} holds an object; in it there is {texts}")
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

"""Texts of a table that stand in several columns, or answer a question for what was good, or for what was not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from weft.absa.read.separated import TEXT, TableRow
from weft.absa.read.wordless import Wordless
from weft.absa.records import SIDES, Side, is_blank
from weft.errors import ConfigError, InputError, counted

COLUMN = "column"
"""In records, of the name of the column that a text stood in, where a row has several."""
GROUP = "group"
"""In records, of what texts are compared by."""


@dataclass
class Fields:
    """Which columns of a table hold texts, and what each was asked for.

    Args:
        text: The column of the text, where it is neither of ``pros`` nor ``cons``.
        side: What the texts of ``text`` were asked for.
        pros: Columns of what was good.
        cons: Columns of what was not.
        by: The column that texts are compared by.

    Attributes:
        empty: Of a row with several fields those that hold nothing, as people leave them.
        all: All fields of such rows.

    Raises:
        ConfigError: A column is named twice, or ``side`` beside ``pros`` or ``cons``.
    """

    text: str | None = TEXT
    side: Side | None = None
    pros: tuple[str, ...] = ()
    cons: tuple[str, ...] = ()
    by: str | None = None
    empty: int = field(default=0, init=False)
    all: int = field(default=0, init=False)
    _wordless: Wordless = field(default_factory=Wordless, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.side is not None and (self.pros or self.cons):
            raise ConfigError("give the side of all texts, or the columns of each side, not both")
        if self.by in self._texts:
            raise ConfigError(f"the column {self.by!r} holds texts; compare by another")
        twice = next((name for name in self.columns if self.columns.count(name) > 1), None)
        if twice is not None:
            raise ConfigError(f"the column {twice!r} is named twice")
        if not self.columns:
            raise ConfigError("no column of texts")

    @property
    def _texts(self) -> list[str]:
        return [*([self.text] if self.text else []), *self.pros, *self.cons]

    @property
    def columns(self) -> list[str]:
        """The columns that a table must have."""
        return [*self._texts, *([] if self.by is None else [self.by])]

    @property
    def left_out(self) -> list[str]:
        """Those of them that a row of JSON lines may lack: exports leave out what nobody filled in."""
        return [*self.pros, *self.cons, *([] if self.by is None else [self.by])]

    @property
    def several(self) -> bool:
        """Whether each row has a text for what was good, or was not, so that it is told which column said it."""
        return bool(self.pros or self.cons)

    def of(self, rows: Iterable[TableRow]) -> Iterator[TableRow]:
        """A row for each text; one that cannot be used, once. What nobody filled in is counted and left out.

        Raises:
            InputError: Nobody filled in anything.
        """
        if self.by is not None:
            rows = (replace(row, group=_group(row.cells.get(self.by))) for row in rows)
        if not self.several:
            for row in rows:
                if row.problem is None and not _is_empty(row.cells.get(self.single)):
                    self._wordless.look(row.cells, self.single)
                yield replace(row, side=self.side)
            return
        given: list[tuple[str, Side | None]] = [(self.text, None)] if self.text else []
        for side, names in zip(SIDES, (self.pros, self.cons), strict=True):
            given.extend((name, side) for name in names)
        some = False
        for row in rows:
            if row.problem is not None:
                some = True
                yield row
                continue
            for name, side in given:
                self.all += 1
                if _is_empty(row.cells.get(name)):
                    self.empty += 1
                else:
                    some = True
                    self._wordless.look(row.cells, name)
                    yield replace(row, column=name, side=side)
        if not some:
            raise InputError(f"nobody filled in {' or '.join(map(repr, self.columns))}")

    @property
    def single(self) -> str:
        """The column of the text where a row has one."""
        return self.text or ""

    def lines(self) -> list[str]:
        """What there is to say, a line each."""
        empty = [f"{self.empty:,} of {counted(self.all, 'field')} empty"] if self.empty else []
        return empty + self._wordless.lines()


def _is_empty(cell: object) -> bool:
    """Whether nobody filled in a cell, as formats tell it."""
    return (
        cell is None
        or (isinstance(cell, float) and cell != cell)
        or (isinstance(cell, str) and is_blank(cell))
    )


def _group(cell: object) -> str:
    """What a cell says of its row's group, in one line; nothing where it is empty."""
    if _is_empty(cell):
        return ""
    return f"{cell:.15g}" if isinstance(cell, float) else " ".join(str(cell).split())


def fields_of(
    text: str | None,
    side: Side | None,
    pros: tuple[str, ...],
    cons: tuple[str, ...],
    by: str | None = None,
) -> Fields:
    """As somebody named them: the column ``text``, where no other is named.

    Raises:
        ConfigError: See :class:`Fields`.
    """
    return Fields(TEXT if text is None and not (pros or cons) else text, side, pros, cons, by)


def in_row(row: TableRow, found: dict[str, Any]) -> dict[str, Any]:
    """A record with the row that it comes from, the column where the row has several texts, and its group."""
    column = {} if row.column is None else {COLUMN: row.column}
    group = {} if row.group is None else {GROUP: row.group or None}
    return {"row": row.number, **group, **column, **found}

"""Tables of texts, read and written as streams: CSV, JSON lines, Parquet, plain lines.

A file of any length is read in constant memory. What is wrong with the whole file (it is missing, it has no such
column) is one error; what is wrong with one row is a :class:`Problem`, and the other rows go through.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from shlex import quote
from types import TracebackType
from typing import IO, Any, Literal, Self

from weft.absa.read.nested import paths, with_paths
from weft.absa.read.separated import SEPARATORS, TEXT, TableRow, check_columns, separated
from weft.absa.records import NOT_UTF8, is_utf8
from weft.errors import ConfigError, InputError, MissingExtraError
from weft.platform.files import replaced, writer
from weft.platform.reading import (
    LINE_CHARACTERS,
    name_of,
    open_input,
    parse_json,
    text_stream,
)
from weft.platform.spreadsheet import write_rows

Format = Literal["csv", "jsonl", "parquet", "lines"]
SUFFIXES: dict[str, Format] = {
    ".csv": "csv",
    ".tsv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".txt": "lines",
}
WORKBOOKS = (".xlsx", ".xls", ".ods")
WORKBOOK, SAVE_AS = "is a workbook of a spreadsheet", 'save its sheet as "CSV UTF-8"'
_PARQUET_BATCH = 1024
_ARRAY = re.compile(r"\s*\[\s*(?:\{|$)")
_TOO_LONG = f"is longer than {LINE_CHARACTERS:,} characters"


def format_of(path: str, *, to_write: bool = False) -> Format:
    """The format that a file's name says.

    Args:
        path: The file.
        to_write: Whether it is to be written: plain lines have no room for records.

    Raises:
        ConfigError: The suffix is not known, or such a file is not written.
    """
    suffix = Path(path).suffix.lower()
    formats: dict[str, Format] = {
        end: form for end, form in SUFFIXES.items() if not (to_write and form == "lines")
    }
    if suffix not in formats:
        known = ", ".join(sorted(formats))
        if suffix in SUFFIXES:
            raise ConfigError(f"cannot write records to {path!r}", hint=f"known are {known}")
        if suffix in WORKBOOKS and not to_write:
            raise ConfigError(f"{path!r} {WORKBOOK}", hint=SAVE_AS)
        hint = array_hint(path) if suffix == ".json" and not to_write else f"known are {known}"
        raise ConfigError(f"cannot tell the format of {path!r} by its suffix", hint=hint)
    return formats[suffix]


def array_hint(path: str) -> str:
    """What makes JSON lines of a file that holds an array of objects."""
    file = "FILE" if path == "-" else quote(path)
    lines = (
        "FILE.jsonl"
        if path == "-"
        else quote(f"{path.removesuffix('.json').removesuffix('.jsonl')}-lines.jsonl")
    )
    return f"of an array of objects `jq -c '.[]' {file} > {lines}` makes JSON lines, which are read"


def read_rows(
    path: str,
    columns: Sequence[str],
    form: Format | None = None,
    also: Sequence[str] = (),
    left_out: Sequence[str] = (),
) -> Iterator[TableRow]:
    """Stream the rows of a table.

    Args:
        path: A file, or ``"-"`` for standard input (then plain lines unless ``form`` says otherwise).
        columns: The columns that must exist. A CSV row with a missing or a surplus field, a broken JSON line and text
            that is not UTF-8 come as rows with a ``problem``. UTF-16 that opens with its mark is read as well.
            Of JSON lines and Parquet one may be the path of a cell inside objects, see
            :mod:`weft.absa.read.nested`.
        form: The format; by default what the suffix says. ``"lines"`` has one column, ``"text"``. The fields of a CSV
            file stand between commas, semicolons, tabs or pipes, see :func:`weft.absa.read.separated.separated`.
        left_out: Those of the columns that a row of JSON lines may lack, if some row has them.
        also: Further columns, which a Parquet file is read for where it has them; other rows have all of theirs.

    Raises:
        ConfigError: Columns of plain lines, which have none but ``"text"``.
        InputError: The file cannot be read, lacks a column, or holds no row. That no row of JSON lines has
            the columns, or one of those that may be left out, is known at their end.
    """
    rows = _rows(path, columns, form, also, left_out)
    first = next(rows, None)
    if first is None:
        raise InputError("holds no row", where=name_of(path))
    yield first
    yield from rows


def _rows(
    path: str, columns: Sequence[str], form: Format | None, also: Sequence[str], left_out: Sequence[str]
) -> Iterator[TableRow]:
    chosen = form or ("lines" if path == "-" else format_of(path))
    if chosen == "parquet":
        if path == "-":
            raise ConfigError("Parquet cannot be read from standard input")
        yield from _parquet(Path(path), columns, also)
        return
    where = name_of(path)
    if chosen == "lines" and (others := [column for column in columns if column != TEXT]):
        raise ConfigError(
            f"{where} is read as plain lines, which have no column {others[0]!r}",
            hint="say what it is: --input-format csv, for instance",
        )
    # A byte that is not UTF-8 becomes a lone surrogate, so that it spoils its own row and no other.
    with text_stream(path, utf16=True, errors="surrogateescape", newline="") as opened:
        stream = _lines(opened)
        if chosen == "csv":
            tabs = path.lower().endswith(".tsv")
            rows = separated(stream, where, columns, ("\t",) if tabs else SEPARATORS, LINE_CHARACTERS)
        elif chosen == "jsonl":
            rows = _jsonl(stream, where, columns, also, left_out)
        else:
            rows = map(_plain, count(1), stream)
        yield from map(_utf8, rows)


def _lines(stream: IO[str]) -> Iterator[str]:
    """Of a line that is too long, one character too many stands for the whole, so that it spoils no other row."""
    while line := stream.readline(LINE_CHARACTERS + 1):
        yield line
        while len(line) > LINE_CHARACTERS and not line.endswith("\n"):
            line = stream.readline(LINE_CHARACTERS + 1)


def _plain(number: int, line: str) -> TableRow:
    cut = len(line) > LINE_CHARACTERS
    return TableRow(number, {}, _TOO_LONG) if cut else TableRow(number, {TEXT: line.rstrip("\r\n")})


def _utf8(row: TableRow) -> TableRow:
    for name, value in row.cells.items():
        if isinstance(value, str) and not is_utf8(value):
            return TableRow(row.number, {}, f"column {name!r} {NOT_UTF8}")
    return row


def _jsonl(
    stream: Iterator[str], path: str, columns: Sequence[str], also: Sequence[str], left_out: Sequence[str]
) -> Iterator[TableRow]:
    lacking: Mapping[str, Any] | None = None
    unseen = dict.fromkeys(left_out)
    used = begun = False
    shown: Mapping[str, Any] = {}
    for number, line in enumerate(stream, start=1):
        if not line.strip():
            continue
        if not begun and _ARRAY.match(line):
            raise InputError(
                "holds an array, not a JSON object on each line", where=path, hint=array_hint(path)
            )
        begun = True
        if len(line) > LINE_CHARACTERS:
            yield TableRow(number, {}, _TOO_LONG)
            continue
        try:
            cells = parse_json(line, "")
        except InputError as error:
            yield TableRow(number, {}, error.what)
            continue
        if not isinstance(cells, dict):
            yield TableRow(number, {}, f"a JSON {type(cells).__name__}, not an object")
            continue
        cells = with_paths(cells, [*columns, *also])
        missing = [column for column in columns if column not in cells and column not in left_out]
        unseen = {column: None for column in unseen if column not in cells}
        if missing:
            lacking = cells if lacking is None else lacking
            yield TableRow(number, {}, f"no {', '.join(map(repr, missing))}")
        else:
            used = True
            shown = cells
            yield TableRow(number, cells)
    if lacking is not None and not used:
        check_columns(paths(lacking), [column for column in columns if column not in lacking], path)
    if used and unseen:
        check_columns(paths(shown), list(unseen), path)


def _parquet(path: Path, columns: Sequence[str], also: Sequence[str]) -> Iterator[TableRow]:
    parquet = _pyarrow_parquet()
    import pyarrow

    open_input(path).close()
    try:
        source = parquet.ParquetFile(path)
    except OSError as error:
        raise InputError(f"cannot read it: {error.strerror or error}", where=str(path)) from error
    except pyarrow.ArrowInvalid as error:
        raise InputError("not a Parquet file", where=str(path)) from error
    with source:
        there, number = [*source.schema_arrow.names, *_inside(source.schema_arrow, "")], 0
        check_columns(there, columns, str(path))
        taken = [*columns, *(name for name in also if name in there)]
        try:
            for batch in source.iter_batches(batch_size=_PARQUET_BATCH, columns=taken):
                for cells, problem in _cells(batch):
                    number += 1
                    yield TableRow(number, with_paths(cells, taken), problem)
        except (OSError, pyarrow.ArrowException) as error:
            # What lies behind a damaged page cannot be found; the rows before it were read.
            what = str(error).splitlines()[0]
            yield TableRow(number + 1, {}, f"the file is damaged from here on: {what}")


def _inside(fields: Any, before: str) -> Iterator[str]:
    """The paths of what stands inside the objects of a schema, or of one such object."""
    from pyarrow import types

    for field in fields:
        if before:
            yield f"{before}{field.name}"
        if types.is_struct(field.type):
            yield from _inside(field.type, f"{before}{field.name}.")


def _cells(batch: Any) -> Iterator[tuple[dict[str, Any], str | None]]:
    """The cells of each row, or what is wrong with it."""
    try:
        rows = batch.to_pylist()
    except UnicodeDecodeError:
        rows = None
    if rows is not None:
        yield from ((cells, None) for cells in rows)
        return
    for place in range(batch.num_rows):
        cells, problem = dict[str, Any](), None
        for name in batch.schema.names:
            try:
                cells[name] = batch.column(name)[place].as_py()
            except UnicodeDecodeError:
                problem = f"column {name!r} {NOT_UTF8}"
        yield ({} if problem else cells), problem


def _pyarrow_parquet() -> Any:
    try:
        import pyarrow.parquet as parquet
    except ImportError as error:
        raise MissingExtraError("pyarrow", "absa") from error
    return parquet


class TableWriter:
    """Writes records as a stream to a file that appears whole or not at all.

    Args:
        path: Where to write; its suffix is the format. None writes JSON lines to standard output.
        columns: The columns, in order.
        types: Of the columns in Parquet that hold no text: int, float or bool.

    Raises:
        ConfigError: The suffix is not CSV, JSON lines or Parquet.
    """

    def __init__(
        self, path: str | None, columns: Sequence[str], types: Mapping[str, type] | None = None
    ) -> None:
        self.columns = tuple(columns)
        self._types = dict(types or {})
        self._path = path
        self._delimiter = "\t" if (path or "").lower().endswith(".tsv") else ","
        self._form: Format = "jsonl" if path is None else format_of(path, to_write=True)
        self._stack = ExitStack()
        self._stream: IO[str] | None = None
        self._parquet: Any = None

    def __enter__(self) -> Self:
        if self._path is None:
            self._stream = sys.stdout
            return self
        with ExitStack() as stack:
            if self._form == "parquet":
                self._parquet = stack.enter_context(
                    self._parquet_writer(stack.enter_context(replaced(self._path)))
                )
            else:
                self._stream = stack.enter_context(writer(self._path, newline=""))
                if self._form == "csv":
                    write_rows(self._stream, [self.columns], self._delimiter)
            self._stack = stack.pop_all()
        return self

    def write(self, records: Sequence[Mapping[str, Any]]) -> None:
        """Append records; each has every column."""
        if not records:
            return
        if self._form == "parquet":
            self._write_parquet(records)
            return
        assert self._stream is not None  # set by __enter__
        if self._form == "csv":
            rows = ([record[column] for column in self.columns] for record in records)
            write_rows(self._stream, rows, self._delimiter)
        else:
            self._stream.writelines(json.dumps(record, ensure_ascii=False) + "\n" for record in records)

    def _parquet_writer(self, place: Path) -> Any:
        parquet = _pyarrow_parquet()
        import pyarrow

        # Known beforehand, not from the first records: all of these may lack what later ones have.
        names = {int: pyarrow.int64(), bool: pyarrow.bool_(), float: pyarrow.float64(), str: pyarrow.string()}
        types = [names[self._types.get(column, str)] for column in self.columns]
        return parquet.ParquetWriter(place, pyarrow.schema(list(zip(self.columns, types, strict=True))))

    def _write_parquet(self, records: Sequence[Mapping[str, Any]]) -> None:
        import pyarrow

        columns = {column: [record[column] for record in records] for column in self.columns}
        self._parquet.write_table(pyarrow.table(columns, schema=self._parquet.schema))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.__exit__(kind, error, trace)

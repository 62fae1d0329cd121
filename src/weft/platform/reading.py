"""Input that nobody vouches for, read within bounds: bytes, lines, fields, digits, depth, aliases.

A bound that is passed is an :class:`~weft.errors.InputError` that names the file, the place in it and the bound.
So is a file that is not there, cannot be read, is no text, or is not what its format says. The bounds are far
above what real input holds; a caller with other needs says so.
"""

from __future__ import annotations

import codecs
import csv
import io
import json
import os
import re
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NoReturn, cast

from weft.errors import InputError, WeftError, with_article
from weft.platform.undecodable import undecodable

if TYPE_CHECKING:
    from _csv import Reader

MEBIBYTE = 1 << 20
FILE_BYTES = 1024 * MEBIBYTE
"""Of a file of data that is read whole."""
SETTINGS_BYTES = MEBIBYTE
"""Of a file that a person wrote: a configuration, a schema."""
SOURCE_BYTES = MEBIBYTE
"""Of a file of source code, which is parsed whole."""
WORD_CHARACTERS = 100_000
"""Of a word, as a vocabulary cuts it up."""
LINE_CHARACTERS = 16 * MEBIBYTE
FIELD_CHARACTERS = MEBIBYTE
DIGITS = 100
"""Of a number: a float of 64 bits needs 17, an address 20."""
YAML_DEPTH, YAML_NODES = 50, 200_000
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_NUMERIC = re.compile(r"[-+]?[0-9][0-9a-fA-FxXoO_:.]*")


def open_input(path: str | Path, *, stream: bool = False) -> IO[bytes]:
    """Open a file to read its bytes.

    Args:
        path: The file.
        stream: Whether a pipe or a terminal will do too; a device that never ends will not in any case.

    Raises:
        InputError: It is not there, cannot be read, or is no file.
    """
    try:
        mode = os.stat(path).st_mode
        usable = stat.S_ISREG(mode) or (stream and (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)))
        if not usable and not (stream and _is_terminal(path, mode)):
            what = "is a folder" if stat.S_ISDIR(mode) else "is no file but a device or a pipe"
            raise InputError(what, where=str(path), hint="name a file")
        return open(path, "rb")
    except OSError as error:
        raise cannot_read(error, path) from error


def cannot_read(error: OSError, path: str | Path) -> InputError:
    """The one error of a place that cannot be read, from what the system said."""
    if isinstance(error, FileNotFoundError):
        return InputError("is not there", where=str(path), hint="look at the path's spelling")
    return InputError(f"cannot be read: {error.strerror or error}", where=str(path))


@contextmanager
def raising(error: type[WeftError]) -> Iterator[None]:
    """Let what is wrong with the input of the body be an error of another class, such as a model's."""
    try:
        yield
    except InputError as found:
        raise error(found.what, where=found.where, hint=found.hint) from found


def read_bytes(path: str | Path, limit: int = FILE_BYTES) -> bytes:
    """A file's bytes.

    Args:
        path: A regular file.
        limit: The most bytes.

    Raises:
        InputError: It cannot be read, or is larger.
    """
    with open_input(path) as file:
        try:
            content = file.read(min(limit, max(os.fstat(file.fileno()).st_size, MEBIBYTE)) + 1)
        except OSError as error:
            raise cannot_read(error, path) from error
    if len(content) > limit:
        raise InputError(f"is larger than {_size(limit)}", where=str(path))
    return content


def read_text(path: str | Path, limit: int = FILE_BYTES) -> str:
    """A text of UTF-8, with or without a byte order mark.

    Raises:
        InputError: As :func:`read_bytes`, or it is not UTF-8.
    """
    return decode(read_bytes(path, limit), str(path))


def decode(content: bytes, where: str) -> str:
    """Bytes of UTF-8 as text, without a byte order mark.

    Raises:
        InputError: They are not UTF-8.
    """
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        # The codec counts from behind the mark, in bytes of its own.
        line = error.object.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"is not UTF-8: byte 0x{error.object[error.start]:02x}",
            where=f"{where}, line {line}",
            hint="convert it",
        ) from error


def read_object(path: str | Path, limit: int = FILE_BYTES) -> dict[str, Any]:
    """A file of JSON that holds one object.

    Raises:
        InputError: As :func:`read_json`, or it holds something else.
    """
    values = read_json(path, limit)
    if not isinstance(values, dict):
        raise InputError(
            f"holds {with_article(type(values).__name__)}; a JSON object is needed", where=str(path)
        )
    return values


def read_json(path: str | Path, limit: int = FILE_BYTES, *, unique: bool = False) -> Any:
    """A file of JSON; arguments as for :func:`read_text` and :func:`parse_json`.

    Raises:
        InputError: As :func:`read_text` and :func:`parse_json`.
    """
    return parse_json(read_text(path, limit), str(path), unique=unique)


def parse_json(text: str, where: str, *, unique: bool = False) -> Any:
    """A text of JSON.

    Args:
        text: The text.
        where: Its place, for errors.
        unique: Whether a key that stands twice in an object is an error, as in YAML; else its last value counts.

    Raises:
        InputError: It is no JSON, is nested too deeply, holds a number of too many digits, or a key twice.
    """
    pairs = _unique if unique else None
    try:
        return json.loads(
            text,
            parse_int=partial(_number, int),
            parse_float=partial(_number, float),
            object_pairs_hook=pairs,
        )
    except json.JSONDecodeError as error:
        place = f"{where}, line {error.lineno}, column {error.colno}"
        raise InputError(f"is not JSON: {error.msg}", where=place) from error
    except _RefusedError as error:
        raise InputError(str(error), where=where) from None
    except RecursionError:
        raise InputError("is JSON that is nested too deeply", where=where) from None


def read_yaml(path: str | Path, limit: int = SETTINGS_BYTES) -> Any:
    """A file of YAML.

    Raises:
        InputError: As :func:`read_text` and :func:`parse_yaml`.
    """
    return parse_yaml(read_text(path, limit), str(path))


def parse_yaml(text: str, where: str) -> Any:
    """A text of YAML, plain values only.

    Raises:
        InputError: It is no YAML, asks for an object, is nested too deeply, has a key twice, has aliases that contain
            themselves or grow beyond all bounds, or holds a number of too many digits.
    """
    import yaml  # here, not above: `weft --help` reads none

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        _check_events(yaml.parse(text, Loader=loader), where)
        return _loaded(loader(text))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        place = where if mark is None else f"{where}, line {mark.line + 1}, column {mark.column + 1}"
        if "nesting depth" in (error.problem or ""):
            # The parser looks ahead, and since PyYAML 6.0.4 it has a bound of its own.
            raise InputError(f"is nested deeper than {YAML_DEPTH}", where=place) from error
        raise InputError(f"is not YAML: {error.problem or error.context}", where=place) from error
    except (yaml.YAMLError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"is not YAML: {str(error).splitlines()[0]}", where=where) from error
    except (LookupError, AttributeError) as error:
        # What PyYAML makes of `!!int ""`, `!!bool foo`, `!!timestamp foo`.
        raise InputError("is not YAML: a value that is not of its tag", where=where) from error


def lines(path: str | Path, limit: int = LINE_CHARACTERS, **options: Any) -> Iterator[str]:
    """The lines of a text of UTF-8, one after the other, with their ends.

    Args:
        path: A file or a pipe; ``"-"`` is standard input.
        limit: The most characters of a line.
        options: As for ``open``: ``newline``, ``errors``.

    Raises:
        InputError: It cannot be read, is not UTF-8, or has a longer line.
    """
    with text_stream(path, **options) as stream:
        yield from bounded(stream, name_of(path), limit)


def name_of(path: str | Path) -> str:
    """What messages call an input: a path, or ``"-"``."""
    return "standard input" if str(path) == "-" else str(path)


@contextmanager
def text_stream(path: str | Path, *, utf16: bool = False, **options: Any) -> Iterator[IO[str]]:
    """Open a text to read it piece by piece; further arguments as for :func:`lines`.

    Args:
        path: The text.
        utf16: Whether it may be UTF-16 that opens with its mark; half a character is a lone surrogate then.
        options: See :func:`lines`.

    Raises:
        InputError: It cannot be read, or is not UTF-8.
    """
    raw = open(sys.stdin.fileno(), "rb", closefd=False) if str(path) == "-" else open_input(path, stream=True)  # noqa: SIM115
    with raw:
        wide = utf16 and cast("io.BufferedReader", raw).peek(2).startswith(_UTF_16)
        how = {**options, "errors": "surrogatepass"} if wide else options
        with io.TextIOWrapper(raw, **{"encoding": "utf-16" if wide else "utf-8-sig", **how}) as text:
            try:
                yield text
            except UnicodeDecodeError as error:
                what, where = f"is not UTF-{16 if wide else 8}", name_of(path)
                if not wide and str(path) != "-" and (found := undecodable(path)) is not None:
                    what, where = f"{what}: byte 0x{found[1]:02x}", f"{where}, line {found[0]}"
                raise InputError(what, where=where, hint="convert it") from error


def bounded(stream: IO[str], where: str, limit: int = LINE_CHARACTERS) -> Iterator[str]:
    """The lines of an open text.

    Raises:
        InputError: A line is longer than the limit.
    """
    number = 0
    while line := stream.readline(limit + 1):
        number += 1
        if len(line) > limit:
            raise InputError(f"is longer than {limit:,} characters", where=f"{where}, line {number}")
        yield line


def csv_reader(rows: Iterable[str], delimiter: str = ",", limit: int = FIELD_CHARACTERS) -> Reader:
    """The records of a CSV text; what breaks its rules, or holds a longer field, is a ``csv.Error`` of its record.

    Args:
        rows: Its lines, as of :func:`lines` with ``newline=""``.
        delimiter: Between fields.
        limit: The most characters of a field.
    """
    csv.field_size_limit(limit)
    return csv.reader(rows, delimiter=delimiter, strict=True)


class _RefusedError(Exception):
    """A number of too many digits or a key that stands twice, on its way out of the JSON parser."""


def _number(kind: type[int] | type[float], text: str) -> Any:
    if len(text) > DIGITS:
        raise _RefusedError(f"holds a number of {len(text):,} characters; {DIGITS} are read")
    return kind(text)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise _RefusedError(f"the key {key!r} stands twice")
        found[key] = value
    return found


def _loaded(loader: Any) -> Any:
    """What a loader of YAML holds, as ``yaml.load`` reads it, but of a key that stands twice neither value is lost."""
    try:
        node = loader.get_single_node()
        if node is None:
            return None
        _check_keys(node)
        return loader.construct_document(node)
    finally:
        loader.dispose()


def _check_keys(root: Any) -> None:
    import yaml

    waiting, seen = [root], {id(root)}
    while waiting:
        node = waiting.pop()
        inner = node.value if isinstance(node, yaml.SequenceNode) else []
        if isinstance(node, yaml.MappingNode):
            keys = set[tuple[str, str]]()
            for key, value in node.value:
                inner += [key, value]
                if not isinstance(key, yaml.ScalarNode) or key.tag == "tag:yaml.org,2002:merge":
                    continue
                if (key.tag, key.value) in keys:
                    raise yaml.MarkedYAMLError(
                        None, None, f"the key {key.value!r} stands twice", key.start_mark
                    )
                keys.add((key.tag, key.value))
        for child in inner:
            if id(child) not in seen:
                seen.add(id(child))
                waiting.append(child)


def _check_events(events: Iterable[Any], where: str) -> None:
    """Bound the depth of a YAML text, and its size once its aliases are written out."""
    import yaml

    sizes: dict[str, int] = {}
    open_nodes: list[tuple[str | None, int]] = []  # the anchor of each, and its size so far
    total = 0

    def refuse(what: str, event: Any) -> NoReturn:
        mark = event.start_mark
        raise InputError(what, where=f"{where}, line {mark.line + 1}, column {mark.column + 1}")

    for event in events:
        if isinstance(event, yaml.CollectionStartEvent):
            if len(open_nodes) == YAML_DEPTH:
                refuse(f"is nested deeper than {YAML_DEPTH}", event)
            open_nodes.append((event.anchor, 1))
            continue
        if isinstance(event, yaml.CollectionEndEvent):
            anchor, size = open_nodes.pop()
        elif isinstance(event, yaml.ScalarEvent):
            anchor, size = event.anchor, 1
            if len(event.value) > DIGITS and event.implicit[0] and _NUMERIC.fullmatch(event.value):
                refuse(f"is a number of {len(event.value):,} characters; {DIGITS} are read", event)
        elif isinstance(event, yaml.AliasEvent):
            anchor, size = None, sizes.get(event.anchor, 1)
            if any(event.anchor == name for name, _ in open_nodes):
                refuse(f"the alias *{event.anchor} contains itself", event)
        else:
            continue
        if anchor is not None:
            sizes[anchor] = size
        if open_nodes:
            name, sum_ = open_nodes[-1]
            open_nodes[-1] = (name, sum_ + size)
        total = size + sum(so_far for _, so_far in open_nodes[-1:])
        if total > YAML_NODES:
            refuse(f"holds more than {YAML_NODES:,} values, its aliases written out", event)


def _is_terminal(path: str | Path, mode: int) -> bool:
    if not stat.S_ISCHR(mode):
        return False
    with open(path, "rb") as file:
        return file.isatty()


def _size(limit: int) -> str:
    return f"{limit // MEBIBYTE:,} MiB" if limit >= MEBIBYTE else f"{limit:,} bytes"

"""Documents from plain text, Markdown, HTML, PDF, Word documents, mails, folders of them, and JSONL."""

from __future__ import annotations

import codecs
import errno
import multiprocessing
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Any

from weft.errors import InputError, LimitError, counted
from weft.kg.read.decoding import decode_text
from weft.kg.read.documents import Mention, TextDocument
from weft.kg.read.funnel import Funnel
from weft.kg.read.prose import PARSED, SUFFIXES, check_words, kind_of, read_prose
from weft.kg.storage.manifest import is_store
from weft.platform.processes import Limits, run_bounded, run_here
from weft.platform.reading import cannot_read, parse_json, read_bytes

LIMITS = Limits(seconds=300, mebibytes=4096)
"""Of a file whose prose a parser has to find: of real ones the largest take a minute or two, a hostile one for ever."""
_SPLIT = "split it, or save its text as .txt"
UNREAD_FILES, UNREAD_LINES = "files that cannot be read", "lines that cannot be read"
UNREAD_FOLDERS = "folders that cannot be opened"
"""Reasons of a funnel."""
SCANNED = "PDFs with pages of pictures alone, perhaps scans"
BROKEN = "PDFs with damaged pages, read without them"
TEXT = "text"
"""The key of the text in JSON lines, where none is named."""
_KEYS, _SHOWN = 5, 40
"""Most keys of a line that are named, and most characters of each."""
_PAGES = 10
"""Most pages that are named."""
Closed = Callable[[Path, str], None]
_MENTION = frozenset(("start", "end", "entity", "type"))
_INSTALLED = frozenset(("__pycache__", "site-packages", "node_modules"))
OTHERS = "files of other kinds"
"""The note of a funnel on files of a folder that are none of :data:`SUFFIXES`, by suffix."""


def read_corpus(
    places: Iterable[Path], funnel: Funnel, limits: Limits = LIMITS, text_column: str = TEXT
) -> Iterator[TextDocument]:
    """The documents of files and folders, in order of their names.

    A folder stands for all files below it with one of :data:`SUFFIXES`, but for what :func:`left_out` names; a
    document's id is then its path below the folder, and files of other kinds and linked folders are noted, but for
    those of stores. A file named itself
    may have any suffix; ``.jsonl`` holds a document in each line. Of Markdown, HTML, PDF, Word documents and mails
    the prose is the document, and its places are counted there. Where there are such, files are read in another
    process, within ``limits``, for what a hostile one makes its parser do, nobody knows.

    Args:
        places: Files and folders.
        funnel: Counts and lists folders, files and lines that cannot be read, notes files of other kinds.
        limits: Of time and memory for a file.
        text_column: The key of the text in JSON lines.

    Raises:
        InputError: There is no such place.
    """
    files = list(_files(places, funnel))
    # A process of a pool (of whoever calls this) may start none of its own.
    apart = not multiprocessing.current_process().daemon and any(kind_of(path) in PARSED for path, _ in files)
    paths = [path for path, _ in files]
    found = run_bounded(read_prose, paths, workers=1, limits=limits) if apart else run_here(read_prose, paths)
    for (path, name), outcome in zip(files, found, strict=True):
        funnel.counts["files"] += 1
        if outcome.error is not None:
            way_out = outcome.error.hint or (_SPLIT if isinstance(outcome.error, LimitError) else "")
            funnel.fail(UNREAD_FILES, name, outcome.error.what + (f" ({way_out})" if way_out else ""))
        elif outcome.value is None:
            yield from _lines(path, name, funnel, text_column)
        else:
            text, scanned, broken, origins = outcome.value
            for reason, pages in ((SCANNED, scanned), (BROKEN, broken)):
                if pages:
                    shown = ", ".join(map(str, pages[:_PAGES])) + ", …" * (len(pages) > _PAGES)
                    funnel.leave_out(reason, f"{name}: {counted(len(pages), 'page')}: {shown}")
            yield TextDocument(name, text, origins=origins)


def _files(places: Iterable[Path], funnel: Funnel) -> Iterator[tuple[Path, str]]:
    """The files of a corpus, and what they are called in it."""
    for place in places:
        if place.is_dir():
            closed = partial(_note_folder, place, funnel)
            for path in sorted(paths_below(place, closed)):
                below = path.relative_to(place)
                if left_out(below):
                    continue
                text = kind_of(path) in SUFFIXES
                if os.path.isfile(path):
                    if text:
                        yield path, plain_name(below)
                    else:
                        funnel.note(OTHERS, plain_name(kind_of(path)) or "no suffix")
                elif os.path.isdir(path):
                    if os.path.islink(path):
                        funnel.note(OTHERS, "linked folder")
                elif text:
                    funnel.fail(UNREAD_FILES, plain_name(below), no_file(path))
        elif place.exists():
            yield place, plain_name(place.name)
        else:
            raise not_there(place)


def paths_below(folder: Path, closed: Closed = lambda path, why: None) -> Iterator[Path]:
    """All paths below a folder, but those in stores below it: what weft wrote there is nothing to read.

    Args:
        folder: The folder.
        closed: As for :func:`walk`.

    Raises:
        InputError: The folder itself cannot be opened.
    """
    for place, below, names in walk(folder, closed):
        yield from (place / name for name in (*below, *names))
        below[:] = [name for name in below if not is_store(place / name)]


def walk(folder: Path, closed: Closed) -> Iterator[tuple[Path, list[str], list[str]]]:
    """As :func:`os.walk`, and a folder that cannot be opened is told.

    Args:
        folder: The folder.
        closed: Told each folder below that cannot be opened, and why.

    Raises:
        InputError: The folder itself cannot be opened.
    """

    def fail(error: OSError) -> None:
        found = cannot_read(error, error.filename)
        if Path(error.filename) == folder:
            raise found
        closed(Path(error.filename), found.what)

    for place, below, names in os.walk(folder, onerror=fail):
        yield Path(place), below, names


def not_there(place: Path) -> InputError:
    """The error of a place that is neither a file nor a folder: of a link, where that leads."""
    why = no_file(place) if place.is_symlink() else ""
    return InputError(why or "no such file or folder", where=str(place))


def no_file(path: Path) -> str:
    """Why what is not a folder is no file either; empty where it is one."""
    try:
        return "" if stat.S_ISREG(path.stat().st_mode) else "no regular file"
    except FileNotFoundError:
        return "a link that leads nowhere"
    except OSError as error:
        circle = error.errno == errno.ELOOP
        return "a link that leads in a circle" if circle else cannot_read(error, path).what


def _note_folder(corpus: Path, funnel: Funnel, folder: Path, why: str) -> None:
    below = folder.relative_to(corpus)
    if not left_out(below):
        funnel.fail(UNREAD_FOLDERS, plain_name(below), why)


def plain_name(path: Path | str) -> str:
    r"""A name of the file system, whose bytes that are no UTF-8 stay visible in it (``caf\xe9.txt``)."""
    return os.fsencode(Path(path).as_posix() if path else "").decode("utf-8", "backslashreplace")


def left_out(path: Path) -> bool:
    """Whether a path below a corpus is hidden, leads through a hidden folder, or through one of other people's code."""
    return any(part.startswith(".") or part in _INSTALLED for part in path.parts)


def parse_line(line: str, default_id: str, funnel: Funnel, text_column: str = TEXT) -> TextDocument:
    """One line of a JSONL file: ``text`` (or what is named), and where they are known ``id`` and ``mentions``.

    A mention is an object of ``start``, ``end``, and where they are known ``entity`` (its name; what stands there
    without one) and ``type``; those that lie outside the text, or whose name or type is no text, are counted and
    listed, other fields are told. What is ``null`` is not known; no more is an ``id`` that is empty.

    Raises:
        InputError: The line is no JSON object with a text.
    """
    record = parse_json(line, "")
    if not isinstance(record, dict) or not isinstance(record.get(text_column), str):
        raise InputError(f"not an object that has {text_column!r}{_other_texts(record, text_column)}")
    text, name, given = record[text_column], record.get("id"), record.get("mentions")
    if name is None or (isinstance(name, str) and not name.strip()):
        name = default_id
    given = [] if given is None else given
    if not isinstance(name, str | int) or isinstance(name, bool) or not isinstance(given, list):
        raise InputError("an 'id' that is no string, or 'mentions' that are no list")
    names = [str(item.get(key, "")) for item in given if isinstance(item, dict) for key in ("entity", "type")]
    for what, said in (("a text", text), ("an 'id'", str(name)), ("a mention", " ".join(names))):
        try:
            said.encode()
        except UnicodeEncodeError as error:
            raise InputError(f"{what} with half a character at {error.start}") from error
    check_words(text)
    return TextDocument(str(name), text, tuple(_mentions(text, str(name), given, funnel)))


def _other_texts(record: object, text_column: str) -> str:
    """Which keys of a record hold a text, the nearest to the one that was looked for first."""
    named = (
        {key: value for key, value in record.items() if isinstance(value, str)}
        if isinstance(record, dict)
        else {}
    )
    if not named or text_column in named:
        return ""
    near = get_close_matches(text_column, named, n=1)
    meant = f"did you mean {near[0]!r}? " if near else ""
    others = ", ".join(repr(key[:_SHOWN]) for key in list(named)[:_KEYS])
    return f" ({meant}it has the texts {others}; --text-column names one)"


def _mentions(text: str, name: str, given: list[Any], funnel: Funnel) -> Iterator[Mention]:
    numbers: dict[str, int] = {}
    for item in given:
        start, end = (item.get("start"), item.get("end")) if isinstance(item, dict) else (None, None)
        if not (isinstance(start, int) and isinstance(end, int) and 0 <= start < end <= len(text)):
            funnel.leave_out("mentions outside their text", f"{name}: {item!r}")
            continue
        said = [item.get(key) for key in ("entity", "type")]
        if not all(one is None or (isinstance(one, str | int) and not isinstance(one, bool)) for one in said):
            funnel.leave_out("mentions whose name or type is no text", f"{name}: {item!r}")
            continue
        for key in item.keys() - _MENTION:
            funnel.note("fields of mentions that are not read", key)
        entity, kind = ("" if one is None else str(one) for one in said)
        entity = entity if entity.strip() else text[start:end]
        yield Mention(start, end, numbers.setdefault(entity, len(numbers)), entity, kind)


def _lines(path: Path, name: str, funnel: Funnel, text_column: str) -> Iterator[TextDocument]:
    """The documents of JSON lines; what cannot be read is listed."""
    try:
        data = read_bytes(path)
    except InputError as error:
        funnel.fail(UNREAD_FILES, name, error.what)
        return
    for number, line in enumerate(data.removeprefix(codecs.BOM_UTF8).split(b"\n"), 1):
        if not line.strip():
            continue
        funnel.counts["lines"] += 1
        where = f"{name}:{number}"
        try:
            yield parse_line(decode_text(line), where, funnel, text_column)
        except InputError as error:
            funnel.fail(UNREAD_LINES, where, error.what)

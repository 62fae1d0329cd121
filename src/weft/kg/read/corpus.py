"""Documents from plain text, Markdown, HTML, PDF, Word documents, mails, folders of them, and JSONL."""

from __future__ import annotations

import codecs
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from weft.errors import InputError, counted
from weft.kg.read.documents import Mention, TextDocument
from weft.kg.read.funnel import Funnel
from weft.kg.read.markup import decode_declared, html_text, mail_text, markdown_text, pdf_text, word_text
from weft.kg.storage.manifest import is_store
from weft.platform.reading import WORD_CHARACTERS, cannot_read, parse_json, read_bytes

NOTEBOOK = ".ipynb"
MARKDOWN, HTML, PDF, WORD, MAIL = (".md", ".markdown"), (".html", ".htm", ".xhtml"), ".pdf", ".docx", ".eml"
SUFFIXES = (".txt", ".text", ".rst", ".jsonl", *MARKDOWN, *HTML, PDF, WORD, MAIL)
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_ZEROS = 3
"""One of so many characters may be zero; of English in UTF-16 that is taken for UTF-8 half of them are."""
_HEAD = 1024
"""Bytes of a page that declare its encoding, as the standard of HTML has it."""
_DECLARED = re.compile(rb"(?:charset|encoding)\s*=\s*[\"']?\s*([\w.:-]+)", re.IGNORECASE)
_NO_TEXT = {
    b"PK\x03\x04": "a zip archive, as .odt and .epub are",
    b"\xd0\xcf\x11\xe0": "an older Office document",
    b"{\\rtf": "rich text",
}
"""How files begin that hold prose in a form that is not read."""
UNREAD_FILES, UNREAD_LINES = "files that cannot be read", "lines that cannot be read"
UNREAD_FOLDERS = "folders that cannot be opened"
"""Reasons of a funnel."""
SCANNED = "PDFs with pages of pictures alone, perhaps scans"
_PAGES = 10
"""Most pages that are named."""
Closed = Callable[[Path, str], None]
_INSTALLED = frozenset(("__pycache__", "site-packages", "node_modules"))
OTHERS = "files of other kinds"
"""The note of a funnel on files of a folder that are none of :data:`SUFFIXES`, by suffix."""


def read_corpus(places: Iterable[Path], funnel: Funnel) -> Iterator[TextDocument]:
    """The documents of files and folders, in order of their names.

    A folder stands for all files below it with one of :data:`SUFFIXES`, but for what :func:`left_out` names; a
    document's id is then its path below the folder, and files of other kinds and linked folders are noted, but for
    those of stores. A file named itself
    may have any suffix; ``.jsonl`` holds a document in each line. Of Markdown, HTML, PDF, Word documents and mails
    the prose is the document, and its places are counted there.

    Args:
        places: Files and folders.
        funnel: Counts and lists folders, files and lines that cannot be read, notes files of other kinds.

    Raises:
        InputError: There is no such place.
    """
    for place in places:
        if place.is_dir():
            closed = partial(_note_folder, place, funnel)
            for path in sorted(paths_below(place, closed)):
                below = path.relative_to(place)
                if left_out(below):
                    continue
                text = path.suffix.lower() in SUFFIXES
                if os.path.isfile(path):
                    if text:
                        yield from _read_file(path, plain_name(below), funnel)
                    else:
                        funnel.note(OTHERS, plain_name(path.suffix.lower()) or "no suffix")
                elif os.path.isdir(path):
                    if os.path.islink(path):
                        funnel.note(OTHERS, "linked folder")
                elif text:
                    funnel.fail(UNREAD_FILES, plain_name(below), no_file(path))
        elif place.exists():
            yield from _read_file(place, plain_name(place.name), funnel)
        else:
            raise InputError("no such file or folder", where=str(place))


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


def no_file(path: Path) -> str:
    """Why what is not a folder is no file either; empty where it is one."""
    try:
        return "" if stat.S_ISREG(path.stat().st_mode) else "no regular file"
    except FileNotFoundError:
        return "a link that leads nowhere"
    except OSError as error:
        return cannot_read(error, path).what


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


def decode_text(data: bytes) -> str:
    """UTF-8, or UTF-16 where the file opens with its mark; every character stays, marks and line ends too.

    Raises:
        InputError: Bytes that are neither, or of which so many are zero that they are of another encoding.
    """
    try:
        text = data.decode("utf-16" if data.startswith(_UTF_16) else "utf-8")
    except UnicodeDecodeError as error:
        way = "convert it, as `iconv -f windows-1252 -t utf-8` does"
        raise InputError(f"not UTF-8: {error.reason} at byte {error.start}", hint=way) from error
    if _ZEROS * text.count("\0") > len(text):
        way = "convert it, as `iconv -f utf-16le -t utf-8` does"
        raise InputError("no text: full of zero bytes, as UTF-16 without its mark and UTF-32 are", hint=way)
    return text


def decode_page(data: bytes) -> str:
    """HTML: as :func:`decode_text` does, else in the encoding that the page itself declares.

    Raises:
        InputError: Bytes that are neither.
    """
    try:
        return decode_text(data)
    except InputError:
        declared = _DECLARED.search(data[:_HEAD])
        if declared is None:
            raise
    name = declared[1].decode("ascii")
    try:
        return decode_declared(data, name)
    except (LookupError, UnicodeError) as error:
        raise InputError(f"neither UTF-8 nor {name}, as it says: {error}") from error


def check_words(text: str) -> None:
    """Refuse a text with a word that no language has: cutting it up would take for ever.

    Raises:
        InputError: There is one.
    """
    found = re.search(rf"(?<!\S)\S{{{WORD_CHARACTERS}}}", text)
    if found is not None:
        raise InputError(f"a word of more than {WORD_CHARACTERS:,} characters at {found.start()}")


def parse_line(line: str, default_id: str, funnel: Funnel) -> TextDocument:
    """One line of a JSONL file: ``text``, and where they are known ``id`` and ``mentions``.

    A mention is an object of ``start``, ``end``, and where they are known ``entity`` (its name; what stands there
    without one) and ``type``; those that lie outside the text are counted and listed. What is ``null`` is not known;
    no more is an ``id`` that is empty.

    Raises:
        InputError: The line is no JSON object with a text.
    """
    record = parse_json(line, "")
    if not isinstance(record, dict) or not isinstance(record.get("text"), str):
        raise InputError("not an object with a 'text'")
    text, name, given = record["text"], record.get("id"), record.get("mentions")
    if name is None or (isinstance(name, str) and not name.strip()):
        name = default_id
    given = [] if given is None else given
    if not isinstance(name, str | int) or not isinstance(given, list):
        raise InputError("an 'id' that is no string, or 'mentions' that are no list")
    names = [str(item.get(key, "")) for item in given if isinstance(item, dict) for key in ("entity", "type")]
    for what, said in (("a text", text), ("an 'id'", str(name)), ("a mention", " ".join(names))):
        try:
            said.encode()
        except UnicodeEncodeError as error:
            raise InputError(f"{what} with half a character at {error.start}") from error
    check_words(text)
    return TextDocument(str(name), text, tuple(_mentions(text, str(name), given, funnel)))


def _mentions(text: str, name: str, given: list[Any], funnel: Funnel) -> Iterator[Mention]:
    numbers: dict[str, int] = {}
    for item in given:
        start, end = (item.get("start"), item.get("end")) if isinstance(item, dict) else (None, None)
        if not (isinstance(start, int) and isinstance(end, int) and 0 <= start < end <= len(text)):
            funnel.leave_out("mentions outside their text", f"{name}: {item!r}")
            continue
        entity, kind = ("" if item.get(key) is None else str(item[key]) for key in ("entity", "type"))
        entity = entity if entity.strip() else text[start:end]
        yield Mention(start, end, numbers.setdefault(entity, len(numbers)), entity, kind)


def _read_file(path: Path, name: str, funnel: Funnel) -> Iterator[TextDocument]:
    funnel.counts["files"] += 1
    try:
        data = read_bytes(path)
        if path.suffix.lower() != ".jsonl":
            scanned = list[int]()
            text = _prose(data, path.suffix.lower(), scanned)
            if scanned:
                shown = ", ".join(map(str, scanned[:_PAGES])) + ", …" * (len(scanned) > _PAGES)
                funnel.leave_out(SCANNED, f"{name}: {counted(len(scanned), 'page')}: {shown}")
            check_words(text)
            yield TextDocument(name, text)
            return
    except InputError as error:
        way_out = f" ({error.hint})" if error.hint else ""
        funnel.fail(UNREAD_FILES, name, f"{error.what}{way_out}")
        return
    for number, line in enumerate(data.removeprefix(codecs.BOM_UTF8).split(b"\n"), 1):
        if not line.strip():
            continue
        funnel.counts["lines"] += 1
        where = f"{name}:{number}"
        try:
            yield parse_line(decode_text(line), where, funnel)
        except InputError as error:
            funnel.fail(UNREAD_LINES, where, error.what)


def _prose(data: bytes, suffix: str, scanned: list[int]) -> str:
    """What a file says, by its kind; ``scanned`` takes the pages of a PDF that hold pictures and no text.

    Raises:
        InputError: It holds no prose that can be read.
    """
    if suffix == PDF:
        return pdf_text(data, scanned)
    if (reader := {WORD: word_text, MAIL: mail_text}.get(suffix)) is not None:
        return reader(data)
    for start, kind in _NO_TEXT.items():
        if data.startswith(start):
            raise InputError(f"{kind}: save it as text, HTML, PDF or .docx")
    if suffix == NOTEBOOK:
        raise InputError("a Jupyter notebook", hint="`jupyter nbconvert --to markdown` makes a text of it")
    if suffix in HTML:
        return html_text(decode_page(data))
    text = decode_text(data)
    return markdown_text(text) if suffix in MARKDOWN else text

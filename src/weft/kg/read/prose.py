"""What one file says: plain text, or the prose of Markdown, HTML, PDF, Word documents and mails.

Imports little, for it is what a process begins with that reads files within limits.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from weft.errors import InputError
from weft.kg.read.decoding import decode_page, decode_text
from weft.kg.read.markdown import markdown_prose
from weft.kg.read.markup import html_prose, mail_text, pdf_text, word_text
from weft.kg.read.origins import Origin, Traced
from weft.platform.reading import WORD_CHARACTERS, read_bytes

NOTEBOOK = ".ipynb"
MARKDOWN, HTML, PDF, WORD, MAIL = (".md", ".markdown"), (".html", ".htm", ".xhtml"), ".pdf", ".docx", ".eml"
JSON_LINES = ".jsonl"
PARSED = (*MARKDOWN, *HTML, PDF, WORD, MAIL)
"""Suffixes of files whose prose a parser has to find."""
SUFFIXES = (".txt", ".text", ".rst", JSON_LINES, *PARSED)
_SAVE, _UNPACK = (
    "save it as text, HTML, PDF or .docx",
    "unpack it, and name the folder or the file that comes out",
)
_NO_PROSE = (
    (rb"PK\x03\x04", "a zip archive, as .odt and .epub are", _SAVE),
    (rb"\xd0\xcf\x11\xe0", "an older Office document", _SAVE),
    (rb"\{\\rtf", "rich text", _SAVE),
    (rb"\x1f\x8b|BZh\d1AY&SY|\xfd7zXZ\x00|\x28\xb5\x2f\xfd", "a packed file", _UNPACK),
    (rb"7z\xbc\xaf\x27\x1c|Rar!\x1a\x07|(?s:.{257})ustar", "an archive", _UNPACK),
)
"""How files begin that hold prose in a form that is not read, what they are, and what makes them readable."""
_ZIPPED = (".zip", ".jar", ".whl", ".egg")
"""Suffixes of zip archives that are no document."""
HEAD_BYTES = 1024
"""Bytes by which such a file is known."""


def kind_of(path: Path) -> str:
    """A file's suffix, in small letters."""
    return path.suffix.lower()


class Prose(NamedTuple):
    """What a file says.

    Args:
        text: Its prose.
        scanned: Pages of a PDF, from 1, that hold pictures and no text.
        broken: Pages of a PDF that are damaged.
        origins: Where its parts come from in a file of Markdown or HTML.
    """

    text: str
    scanned: list[int]
    broken: list[int]
    origins: tuple[Origin, ...] = ()


def read_prose(path: Path) -> Prose | None:
    """What a file says; None of JSON lines, which are documents each.

    Raises:
        InputError: It holds no prose that can be read.
    """
    if kind_of(path) == JSON_LINES:
        return None
    found = _prose(read_bytes(path), kind_of(path))
    check_words(found.text)
    return found


def other_form(data: bytes, suffix: str) -> str:
    """What a file is that holds prose in a form that is not read, and the way out; empty of another one.

    Args:
        data: Its first :data:`HEAD_BYTES`, or more.
        suffix: Of its name, in small letters.
    """
    for begins, form, way in _NO_PROSE:
        if re.match(begins, data):
            return f"a zip archive: {_UNPACK}" if suffix in _ZIPPED else f"{form}: {way}"
    return ""


def check_words(text: str) -> None:
    """Refuse a text with a word that no language has: cutting it up would take for ever.

    Raises:
        InputError: There is one.
    """
    found = re.search(rf"(?<!\S)\S{{{WORD_CHARACTERS}}}", text)
    if found is not None:
        raise InputError(f"a word of more than {WORD_CHARACTERS:,} characters at {found.start()}")


def _prose(data: bytes, suffix: str) -> Prose:
    """What a file says, by its kind.

    Raises:
        InputError: It holds no prose that can be read.
    """
    scanned, broken = list[int](), list[int]()
    if suffix == PDF:
        return Prose(pdf_text(data, scanned, broken), scanned, broken)
    text, origins = _other_prose(data, suffix)
    return Prose(text, scanned, broken, origins)


def _other_prose(data: bytes, suffix: str) -> Traced:
    if (reader := {WORD: word_text, MAIL: mail_text}.get(suffix)) is not None:
        return Traced(reader(data))
    if other := other_form(data, suffix):
        raise InputError(other)
    if suffix == NOTEBOOK:
        raise InputError("a Jupyter notebook", hint="`jupyter nbconvert --to markdown` makes a text of it")
    if suffix in HTML:
        return html_prose(decode_page(data))
    text = decode_text(data)
    return markdown_prose(text) if suffix in MARKDOWN else Traced(text)

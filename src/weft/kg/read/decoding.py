"""Bytes of a text, of a page or of a mail as characters: in UTF-8, or in the encoding that is declared."""

from __future__ import annotations

import codecs
import re
from contextlib import suppress

from weft.errors import InputError

_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_ZEROS = 3
"""One of so many characters may be zero; of English in UTF-16 that is taken for UTF-8 half of them are."""
_MOSTLY = 0.5
_BEYOND = "\u1000"
"""More than this share of a text are characters below that one, in most scripts that are written with an alphabet."""
_HEAD = 1024
"""Bytes of a page that declare its encoding, as the standard of HTML has it."""
_DECLARED = re.compile(rb"(?:charset|encoding)\s*=\s*[\"']?\s*([\w.:-]+)", re.IGNORECASE)
_WESTERN = ("ascii", "iso8859-1", "cp1252")
"""Whoever declares one of these means the encoding of Windows, the largest of them; so do browsers read them."""


def decode_text(data: bytes) -> str:
    """UTF-8, or UTF-16 where the file opens with its mark; every character stays, marks and line ends too.

    Raises:
        InputError: Bytes that are neither, or of which so many are zero that they are of another encoding.
    """
    try:
        text = data.decode("utf-16" if data.startswith(_UTF_16) else "utf-8")
    except UnicodeDecodeError as error:
        raise _of_no_utf8(data, error) from error
    if _ZEROS * text.count("\0") > len(text):
        way = "convert it, as `iconv -f utf-16le -t utf-8` does"
        raise InputError("no text: full of zero bytes, as UTF-16 without its mark and UTF-32 are", hint=way)
    return text


def _of_no_utf8(data: bytes, error: UnicodeDecodeError) -> InputError:
    """What bytes are that are no UTF-8: UTF-16 that does not say so, no text at all, or a text of one byte a letter."""
    head = data[:_HEAD]
    if b"\0" in head and not data.startswith(_UTF_16):
        name = "utf-16le" if head[1::2].count(0) > head[::2].count(0) else "utf-16be"
        letters = head[: len(head) // 2 * 2].decode(name, "replace")
        if sum(one.isprintable() and one < _BEYOND for one in letters) > _MOSTLY * len(letters):
            way = f"convert it, as `iconv -f {name} -t utf-8` does"
            return InputError("UTF-16 without its mark", hint=way)
        return InputError("no text, but a program, a picture or other data: it has zero bytes")
    way = "convert it, as `iconv -f windows-1252 -t utf-8` does"
    return InputError(f"not UTF-8: {error.reason} at byte {error.start}", hint=way)


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
        return _decode(data, name)
    except (LookupError, UnicodeError) as error:
        raise InputError(f"neither UTF-8 nor {name}, as it says: {error}") from error


def decode_body(data: bytes, declared: str | None, *, is_page: bool) -> str:
    """A mail's body in the encoding that its header declares, else as a page or a text by itself.

    Args:
        data: The body, without the encoding of its transfer.
        declared: By the header; ASCII declares nothing, for many mails say so of whatever they hold.
        is_page: Whether it is HTML.

    Raises:
        InputError: It is not in the encoding that it declares, nor in UTF-8 where it declares none.
    """
    if declared is None or declared.lower() == "us-ascii":
        return decode_page(data) if is_page else decode_text(data)
    try:
        return _decode(data, declared)
    except (LookupError, UnicodeError) as error:
        raise InputError(f"not {declared}, as it says: {error}") from error


def _decode(data: bytes, name: str) -> str:
    """Bytes in a declared encoding; UTF-8 is often declared as a Western one, and hardly ever is the other way round.

    Raises:
        LookupError: There is no such encoding.
        UnicodeError: They are of another one.
    """
    known = codecs.lookup(name).name
    if known not in _WESTERN:
        return data.decode(known)
    with suppress(UnicodeDecodeError):
        return data.decode()
    return data.decode("cp1252")

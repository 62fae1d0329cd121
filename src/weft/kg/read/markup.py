"""The prose of HTML, PDF, Word documents and mails: paragraphs with an empty line between them."""

from __future__ import annotations

import email
import email.policy
import io
import logging
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from email.message import MIMEPart
from itertools import pairwise
from typing import TYPE_CHECKING
from xml.parsers.expat import ExpatError

from weft.errors import InputError
from weft.kg.read.decoding import decode_body
from weft.kg.read.items import BULLET
from weft.kg.read.notes import is_mark, raised
from weft.kg.read.origins import Traced, has_marks, traced, unmarked, with_marks
from weft.kg.read.tables import CELLS, children, spanned

if TYPE_CHECKING:
    from pypdf import PageObject
    from selectolax.lexbor import LexborNode


def _tags(text: str) -> frozenset[str]:
    return frozenset(text.split())


_SILENT = _tags(
    "script style noscript template head nav footer aside form button select svg math iframe object canvas "
    "pre audio video textarea del s strike rt rp menu -comment"
)
"""What is no prose of a page: of what was struck out the text says no more, of ruby the words alone are read."""
_BLOCKS = _tags(
    "p div section article main header h1 h2 h3 h4 h5 h6 ul ol dl table blockquote figure figcaption hr "
    "details summary address body caption thead tbody fieldset"
)
_LINES = _tags("tr br option")
_LISTS = _tags("ul ol dl")
_PARAGRAPH, _LINE, _CELL, _INDENT, _QUOTE = "\f", "\n", "\v", "\x1c", '"'
_TERM = 2
"""Cells of a line that has a term and what it is; of longer ones a cell that is alone is one of a row all the same."""
_NEXT = "\x1d"
"""What parts the lines of such a cell, and the items of a list in any: it becomes a comma."""
_CLIMBED = 40
"""So many elements above an item tell how deep it lies."""
_GAP = re.compile(r" *\n[ \n]*")
_HYPHEN = re.compile(r"(?<=[a-z])[-\u00ad]\n(?=[a-z])")
_ENDS = re.compile(r"[.!?:;…][\"'”’)\]]*$")
_NO_WIDTH = re.compile("[\u00ad\u200b\u2060\ufeff]")
"""Where a word may be broken, and marks without width: they are no letters of it."""
_HIDDEN = re.compile(r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*hidden)\b", re.IGNORECASE)
_DECLARED_BY = 2_000
"""Characters of a page that declare that it is one of XHTML."""
_XHTML = "http://www.w3.org/1999/xhtml"
_CLOSED = re.compile(
    r"<(?!(?:area|base|br|col|embed|hr|img|input|link|meta|source|track|wbr)\b)([a-zA-Z]+)(\s[^<>]*)?/>"
)
"""An element of XHTML that is closed as soon as it opens; HTML knows no such, and would read on until its end."""
_QUOTED = re.compile(r"(?m)^(?:>[ \t]?)+")
"""What mails put in front of the lines that they answer."""
_LIGATURES = str.maketrans(
    {
        "\ufb00": "ff",
        "\ufb01": "fi",
        "\ufb02": "fl",
        "\ufb03": "ffi",
        "\ufb04": "ffl",
        "\ufb05": "st",
        "\ufb06": "st",
    }
)
_PDF_PAGES = 10_000
_WORD_BYTES = 256 << 20
"""Most bytes of a Word document's parts, unpacked."""
_DAMAGE = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    EOFError,
    LookupError,
    OSError,
    RuntimeError,
    TypeError,
    ValueError,
    struct.error,
    zlib.error,
)
"""What a damaged file makes its parser raise beside the errors of its own format."""
_SAID = 200
"""Most characters of a parser's own error that are repeated."""
_REMARKS = 3
"""Most remarks of a parser that an error repeats."""
_SHORT = 0.6
"""A line of a PDF this much shorter than its page's longest, and ended like a sentence, closes a paragraph."""


def html_text(text: str) -> str:
    """The text of :func:`html_prose`."""
    return html_prose(text).text


def html_prose(text: str) -> Traced:
    """The prose of HTML: no menus, scripts, forms, code, hidden text and marks of notes; a row of a table is a line."""
    if _XHTML in text[:_DECLARED_BY]:
        text = _CLOSED.sub(r"<\1\2></\1>", text)
    return Traced(prose_of(text)) if has_marks(text) else traced(prose_of(with_marks(text)))


def prose_of(page: str) -> str:
    """The prose of HTML, with the marks of lines that stand in its text."""
    from selectolax.lexbor import LexborHTMLParser

    def is_hidden(node: LexborNode) -> bool:
        """Whether the page itself says that nobody sees it."""
        said = node.attributes
        return (
            said.get("hidden", "until-found") != "until-found"
            or (node.tag == "dialog" and "open" not in said)
            or "mw-editsection" in (said.get("class") or "")
            or _HIDDEN.search(said.get("style") or "") is not None
        )

    def walk(node: LexborNode | None) -> Iterator[str]:
        stack: list[LexborNode | str] = [] if node is None else [node]
        # What is all that a cell of a table holds, or what an item begins with, as editors write them, is no paragraph.
        alone = dict[int, str]()
        while stack:
            item = stack.pop()
            if isinstance(item, str):
                yield item
                continue
            tag = item.tag or ""
            if tag == "-text":
                said = re.sub(r"\s+", " ", _NO_WIDTH.sub("", item.text_content or ""))
                yield said if unmarked(said).strip() else unmarked(said)
            if tag == "sup" and (power := raised(item)) is not None and not is_mark(item):
                yield power
                continue
            if tag == "-text" or tag in _SILENT or is_mark(item) or is_hidden(item):
                continue
            before, after = ("", alone[item.mem_id]) if item.mem_id in alone else _edges(item)
            held = children(item)
            if tag in CELLS or tag in ("dd", "li"):
                said = [one for one in held if one.tag != "-text" or unmarked(one.text_content or "").strip()]
                first = said[0] if len(said) == 1 or (said and tag == "li") else None
                if first is not None and first.tag in _BLOCKS:
                    alone[first.mem_id] = "" if len(said) == 1 else _LINE
            row = reaching.get(item.mem_id, held)
            stack += [after, *(_CELL if one is None else one for one in reversed(row)), before]

    root = LexborHTMLParser(page).root
    reaching = spanned(root)
    parts = [_gaps(part) for part in "".join(walk(root)).split(_PARAGRAPH)]
    return "\n\n".join(part for part in parts if part)


def pdf_text(data: bytes, scanned: list[int] | None = None, broken: list[int] | None = None) -> str:
    """The text of a PDF that holds text: hyphens at line ends mended, lines of a paragraph joined.

    What the parser remarks on the way is part of the error, where there is one; what it mends is not told.

    Args:
        data: The file.
        scanned: Takes the numbers, from 1, of pages that hold pictures and no text.
        broken: Takes those of damaged pages, where others can be read; a damaged page is an error where None.

    Raises:
        InputError: No PDF, a locked one, a damaged one, or one without text, such as a scan.
    """
    from pypdf import PdfReader
    from pypdf.errors import DependencyError, PyPdfError

    with _remarks("pypdf") as remarks:
        try:
            reader = PdfReader(io.BytesIO(data))
            if reader.is_encrypted and not reader.decrypt(""):
                raise InputError("a PDF that a password locks")
            if len(reader.pages) > _PDF_PAGES:
                raise InputError(f"a PDF of {len(reader.pages):,} pages; {_PDF_PAGES:,} may be read")
            pages, failed = list[str](), dict[int, Exception]()
            for number in range(len(reader.pages)):
                try:
                    pages.append(reader.pages[number].extract_text().translate(_LIGATURES))
                except DependencyError:
                    raise
                except (PyPdfError, *_DAMAGE) as error:
                    failed[number + 1] = error
                    pages.append("")
            if failed and (broken is None or not any(text.strip() for text in pages)):
                raise next(iter(failed.values()))
            if broken is not None:
                broken += failed
            if scanned is not None:
                silent = (number for number, text in enumerate(pages, 1) if not text.strip())
                scanned += [
                    number
                    for number in silent
                    if number not in failed and _has_pictures(reader.pages[number - 1])
                ]
        except InputError:
            raise
        except DependencyError as error:
            way = "`pip install cryptography`, or `qpdf --decrypt IN OUT`"
            raise InputError("a PDF encrypted with AES", hint=way) from error
        except (PyPdfError, *_DAMAGE) as error:
            said = "; ".join([_of_parser(error), *dict.fromkeys(remarks)][: 1 + _REMARKS])
            raise InputError(f"no PDF that can be read: {said}") from error
    text = "\n\n".join(found for found in map(_paragraphs, pages) if found)
    if not text:
        raise InputError("a PDF without text, perhaps a scan")
    return text


def _has_pictures(page: PageObject) -> bool:
    """Whether a page shows pictures or forms; one whose resources are damaged or missing shows none."""
    from pypdf.generic import DictionaryObject

    with suppress(*_DAMAGE):
        held = page["/Resources"].get_object()
        return isinstance(held, DictionaryObject) and bool(held["/XObject"].get_object())
    return False


def word_text(data: bytes) -> str:
    """The prose of a Word document (.docx): headings, paragraphs, lists, tables, notes; no pictures.

    Raises:
        InputError: No Word document, or a damaged one.
    """
    import mammoth

    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            size = sum(part.file_size for part in archive.infolist())
        if size > _WORD_BYTES:
            raise InputError(f"a Word document of {size:,} bytes, unpacked; {_WORD_BYTES:,} may be read")
        pictures = mammoth.images.img_element(lambda image: {})
        html = mammoth.convert_to_html(
            io.BytesIO(data), convert_image=pictures, include_embedded_style_map=False
        ).value
    except InputError:
        raise
    except (zipfile.BadZipFile, ExpatError, *_DAMAGE) as error:
        raise InputError(f"no Word document that can be read: {_of_parser(error)}") from error
    return html_text(html)


def mail_text(data: bytes) -> str:
    """What a mail (.eml) says: its subject and its body, the plain one if there is one.

    Attachments and the marks of quoted lines are left out. A plain body that is empty stands for nothing.

    Raises:
        InputError: It has no body of text, one that is not in the encoding that it declares, or a damaged header.
    """
    try:
        message = email.message_from_bytes(data, policy=email.policy.default)
        body = message.get_body(("plain", "html"))
        if body is None:
            raise InputError("a mail without a text")
        text = _mail_part(body)
        if not text.strip() and (other := message.get_body(("html",))) is not None:
            text = _mail_part(other)
        subject = str(message["subject"] or "").strip()
    except InputError:
        raise
    except _DAMAGE as error:
        raise InputError(f"no mail that can be read: {_of_parser(error)}") from error
    text = _QUOTED.sub("", "\n".join(text.splitlines()))
    return "\n\n".join(part for part in (subject, text.strip()) if part)


def _mail_part(part: MIMEPart) -> str:
    """The text of a mail's body.

    Raises:
        InputError: It is not in the encoding that it, or its page, declares, nor in UTF-8 where neither declares one.
    """
    data, is_page = part.get_payload(decode=True), part.get_content_subtype() == "html"
    if not isinstance(data, bytes):
        raise InputError("a mail without a text")
    try:
        text = decode_body(data, part.get_content_charset(), is_page=is_page)
    except InputError as error:
        raise InputError(f"a mail whose text is {error.what}") from error
    return html_text(text) if is_page else text


def _of_parser(error: Exception) -> str:
    """A parser's own error in a line."""
    if isinstance(error, RecursionError):
        return "its parts are nested too deeply"
    return " ".join(f"{type(error).__name__} {error}".split())[:_SAID]


@contextmanager
def _remarks(logger: str) -> Iterator[list[str]]:
    """What a library logs while it works, instead of lines of its own among ours."""
    found: list[str] = []

    class Keep(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            found.append(" ".join(record.getMessage().split()))

    log, handler = logging.getLogger(logger), Keep()
    passed_on = log.propagate
    log.addHandler(handler)
    log.propagate = False
    try:
        yield found
    finally:
        log.removeHandler(handler)
        log.propagate = passed_on


def _edges(node: LexborNode) -> tuple[str, str]:
    """What stands before and behind an element; a term and what it is ("Born", "1958") are the cells of a line."""
    tag = node.tag or ""
    if tag == "li":
        return (_NEXT, "") if _in_row(node, 1) else (_LINE + _bullet(node), _LINE)
    if tag in _LISTS and _in_row(node, 1):
        return "", ""
    if tag in _LISTS and node.parent is not None and node.parent.tag in ("li", *_LISTS):
        return _LINE, _LINE
    if tag in CELLS:
        return _CELL, ""
    if tag in ("dt", "dd"):
        return (_LINE + _CELL, "") if tag == "dt" else (_CELL, _LINE)
    if tag == "br" and _in_row(node):
        return _NEXT, ""
    edge = _PARAGRAPH if tag in _BLOCKS else _LINE if tag in _LINES else _QUOTE if tag == "q" else ""
    return edge, edge


def _in_row(node: LexborNode, most: int = _TERM) -> bool:
    """Whether something stands in a cell of a row of more than so many, whose lines would tear the row."""
    above = node.parent
    for _ in range(_CLIMBED):
        if above is None or above.tag in CELLS:
            break
        above = above.parent
    row = None if above is None or above.tag not in CELLS else above.parent
    return row is not None and sum(cell.tag in CELLS for cell in children(row)) > most


def _bullet(item: LexborNode) -> str:
    """What stands before an item of a list, indented where that is one of another; nothing in a cell of a table."""
    depth, above = 0, item.parent
    for _ in range(_CLIMBED):
        if above is None or above.tag in CELLS or above.tag == "dd":
            break
        depth += above.tag == "li"
        above = above.parent
    inside = above is not None and (above.tag in CELLS or above.tag == "dd")
    return "" if inside else f"{_INDENT * depth}{BULLET} "


def _gaps(part: str) -> str:
    """A paragraph with single spaces; its lines stay, the cells of a row are told apart by a colon or by bars."""
    lines = []
    for line in _GAP.split(part):
        first, *row = (_parted(re.sub(r" +", " ", cell)) for cell in line.split(_CELL))
        row = [first, *row] if first else row
        cells = [cell for cell in row if cell]
        named = len(row) == len(cells) == 2
        # An empty cell keeps its place: what stands behind it belongs to the label above.
        written = " | ".join(row).rstrip(" |").lstrip(" ") if len(cells) > 1 else "".join(cells)
        if len(cells) == 1 and row[0] and len(row) > _TERM:
            written += " |"
        lines.append(f"{cells[0].removesuffix(':').rstrip()}: {cells[1]}" if named else written)
    return "\n".join(line.replace(_INDENT, "  ") for line in lines if line.strip(f"{_INDENT}{BULLET} "))


def _parted(cell: str) -> str:
    """A cell with commas between its lines."""
    return ", ".join(filter(None, (part.strip(" ") for part in cell.split(_NEXT))))


def _paragraphs(page: str) -> str:
    lines = [line.strip() for line in _HYPHEN.sub("", page).splitlines()]
    longest = max(map(len, lines), default=0)
    written = lines[0] if lines else ""
    for before, line in pairwise(lines):
        ended = _ENDS.search(before) and len(before) < _SHORT * longest
        # A line that much shorter than the next, which begins with a capital, is a heading.
        headed = line[:1].isupper() and before[-1:].isalnum() and len(before) < _SHORT * len(line)
        apart = not before or not line or ended or headed
        written += ("\n\n" if apart else " ") + line
    return re.sub(r"\n\s*\n", "\n\n", written).strip()

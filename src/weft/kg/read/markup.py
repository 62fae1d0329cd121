"""The text of Markdown, HTML and PDF: paragraphs with an empty line between them, without what is not prose."""

from __future__ import annotations

import io
import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise

from weft.errors import InputError


def _tags(text: str) -> frozenset[str]:
    return frozenset(text.split())


_SILENT = _tags(
    "script style noscript template head nav footer aside form button select svg math iframe object canvas "
    "pre audio video -comment"
)
_BLOCKS = _tags(
    "p div section article main header h1 h2 h3 h4 h5 h6 ul ol dl table blockquote figure figcaption hr "
    "details summary address body caption thead tbody fieldset"
)
_LINES = _tags("li tr br dt dd option")
_CELLS = frozenset(("td", "th"))
_PARAGRAPH, _LINE, _CELL = "\f", "\n", "\v"
_GAP = re.compile(r" *\n[ \n]*")
_ROW = re.compile(r" *\v[ \v]*")
_HYPHEN = re.compile(r"(?<=[a-z])[-\u00ad]\n(?=[a-z])")
_ENDS = re.compile(r"[.!?:;…][\"'”’)\]]*$")
_PDF_PAGES = 10_000
_REMARKS = 3
"""Most remarks of a parser that an error repeats."""
_SHORT = 0.6
"""A line of a PDF this much shorter than its page's longest, and ended like a sentence, closes a paragraph."""


def markdown_text(text: str) -> str:
    """The prose of Markdown: code and front matter are left out, of a link its words stay."""
    from markdown_it import MarkdownIt

    text = text.removeprefix("\ufeff")
    if text.startswith("---\n") and "\n---\n" in text[3:]:
        text = text[text.index("\n---\n", 3) + 5 :]
    return html_text(MarkdownIt("commonmark").enable("table").render(text))


def html_text(text: str) -> str:
    """The prose of HTML: no menus, scripts, forms and code; a row of a table is a line."""
    from selectolax.lexbor import LexborHTMLParser, LexborNode

    def walk(node: LexborNode | None) -> Iterator[str]:
        stack: list[LexborNode | str] = [] if node is None else [node]
        while stack:
            item = stack.pop()
            if isinstance(item, str):
                yield item
                continue
            tag = item.tag or ""
            if tag == "-text":
                yield re.sub(r"\s+", " ", item.text_content or "")
            if tag == "-text" or tag in _SILENT:
                continue
            edge = (
                _PARAGRAPH if tag in _BLOCKS else _LINE if tag in _LINES else _CELL if tag in _CELLS else ""
            )
            children: list[LexborNode | str] = []
            child = item.child
            while child is not None:
                children.append(child)
                child = child.next
            stack += [edge, *reversed(children), edge]

    parts = [_gaps(part) for part in "".join(walk(LexborHTMLParser(text).root)).split(_PARAGRAPH)]
    return "\n\n".join(part for part in parts if part)


def pdf_text(data: bytes) -> str:
    """The text of a PDF that holds text: hyphens at line ends mended, lines of a paragraph joined.

    What the parser remarks on the way is part of the error, where there is one; what it mends is not told.

    Raises:
        InputError: No PDF, a locked one, a damaged one, or one without text, such as a scan.
    """
    from pypdf import PdfReader
    from pypdf.errors import PyPdfError

    # What a damaged file makes its parser raise beside its own errors.
    damage = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError, OSError)
    with _remarks("pypdf") as remarks:
        try:
            reader = PdfReader(io.BytesIO(data))
            if reader.is_encrypted and not reader.decrypt(""):
                raise InputError("a PDF that a password locks")
            if len(reader.pages) > _PDF_PAGES:
                raise InputError(f"a PDF of {len(reader.pages):,} pages; {_PDF_PAGES:,} may be read")
            pages = [page.extract_text() for page in reader.pages]
        except (PyPdfError, *damage) as error:
            said = "; ".join([type(error).__name__, *dict.fromkeys(remarks)][: 1 + _REMARKS])
            raise InputError(f"no PDF that can be read: {said}") from error
    text = "\n\n".join(found for found in map(_paragraphs, pages) if found)
    if not text:
        raise InputError("a PDF without text, perhaps a scan")
    return text


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


def _gaps(part: str) -> str:
    """A paragraph with single spaces; its lines stay, the cells of a row are told apart by a colon or by bars."""
    lines = []
    for line in _GAP.split(part):
        cells = [cell.strip() for cell in _ROW.split(line)]
        cells = [re.sub(r" +", " ", cell) for cell in cells if cell]
        lines.append(": ".join(cells) if len(cells) == 2 else " | ".join(cells))
    return "\n".join(line for line in lines if line)


def _paragraphs(page: str) -> str:
    lines = [line.strip() for line in _HYPHEN.sub("", page).splitlines()]
    longest = max(map(len, lines), default=0)
    written = lines[0] if lines else ""
    for before, line in pairwise(lines):
        apart = not before or not line or (_ENDS.search(before) and len(before) < _SHORT * longest)
        written += ("\n\n" if apart else " ") + line
    return re.sub(r"\n\s*\n", "\n\n", written).strip()

"""The prose of Markdown: that of the page which it makes, with the lines of the file that its parts come from."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from weft.kg.read.markup import prose_of
from weft.kg.read.origins import MARK, Traced, has_marks, mark_of, traced, with_marks

if TYPE_CHECKING:
    from markdown_it.token import Token

_FOOTNOTE = re.compile(rf"(?m)^((?:{MARK})?)\[\^[^\]\s]+\]:[ ]?|\[\^[^\]\s]+\]")
"""The mark of a footnote: in front of it, and where it belongs."""
_WIKI_LINK = re.compile(r"\[\[(?:[^\[\]|\n]*\|)?([^\[\]|\n]+)\]\]")
"""A link between notes: "[[Anna Holm]]", "[[Anna Holm|her]]"."""
_TOML_FRONT_MATTER = re.compile(r"\A\+\+\+[ \t]*\n(?:[^\n]*\n)*?\+\+\+[ \t]*(?:\n|\Z)")
_FRONT_MATTER = re.compile(
    r"---[ \t]*\n(?:[ \t]*(?:#[^\n]*)?\n)*[ \t]*(?:---[ \t]*(?:\n|\Z)|[\w\"'-][^\n:]*:(?:\s|$))"
)
"""Fields between rules; a text that begins with a rule is none."""
_END_OF_FRONT = re.compile(r"\n---[ \t]*(?:\n|\Z)")


def markdown_text(text: str) -> str:
    """The text of :func:`markdown_prose`."""
    return markdown_prose(text).text


def markdown_prose(text: str) -> Traced:
    """The prose of Markdown: code, front matter and marks of footnotes are left out, of a link its words stay."""
    from markdown_it import MarkdownIt

    text = whole = text.removeprefix("\ufeff").replace("\r\n", "\n")
    if _FRONT_MATTER.match(text) and (end := _END_OF_FRONT.search(text, 3)) is not None:
        text = text[end.end() :]
    text = _TOML_FRONT_MATTER.sub("", text)
    above = whole.count("\n") - text.count("\n")
    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    tokens = parser.parse(_WIKI_LINK.sub(r"\1", text))
    is_traced = not has_marks(whole)
    for token in tokens if is_traced else ():
        _mark_lines(token, above + 1)
    prose = _FOOTNOTE.sub(r"\1", prose_of(parser.renderer.render(tokens, parser.options, {})))
    return traced(prose) if is_traced else Traced(prose)


def _mark_lines(token: Token, first: int) -> None:
    """Put marks into a token's lines; the text's first line is the file's ``first``."""
    line = first + (token.map[0] if token.map else 0)
    if token.type == "html_block":
        token.content = with_marks(token.content, line)
    begins = True
    for part in token.children or ():
        if part.type in ("softbreak", "hardbreak"):
            line, begins = line + 1, True
        elif begins and part.type in ("text", "code_inline") and part.content.strip():
            part.content, begins = mark_of(line) + part.content, False

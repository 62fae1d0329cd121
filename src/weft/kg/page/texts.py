"""The page of texts that a model read: mentions marked by what they are, the facts between them beside."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from weft.kg.extraction.text import Marked
from weft.platform.files import write_text
from weft.platform.page import asset, render

_BODY = """<main id="texts" aria-label="the texts"></main>
<aside>
  <p id="summary" class="dim"></p>
  <p id="key" class="key" aria-label="kinds of names"></p>
  <label>least confidence <output id="least"></output>
    <input id="slider" type="range" min="0" max="1" step="0.01"></label>
  <div id="panel" aria-live="polite"></div>
</aside>"""
LEAST = 0.5
"""Where the page's slider stands at first."""


def write_texts_page(read: Sequence[Marked], title: str, output: Path) -> None:
    """Write the page.

    Args:
        read: Documents with their mentions and facts.
        title: What the page is called.
        output: The file.

    Raises:
        OutputError: It cannot be written.
    """
    write_text(output, texts_page(read, title))


def texts_page(read: Sequence[Marked], title: str) -> str:
    """The page."""
    return render(
        title,
        _BODY,
        style=asset("weft.kg.page", "texts.css"),
        scripts=[asset("weft.kg.page", "texts.js")],
        data={"title": title, "least": LEAST, "documents": [_record(item) for item in read]},
    )


def _record(read: Marked) -> dict[str, object]:
    """A document as JSON: its characters in pieces, a mention each or what stands between."""
    text, done = read.document.text, 0
    pieces: list[object] = []
    at: dict[tuple[int, int], int] = {}
    for mention in sorted(read.document.mentions):
        if mention.start < done:
            continue
        if mention.start > done:
            pieces.append(text[done : mention.start])
        at[mention.start, mention.end] = len(pieces)
        said = text[mention.start : mention.end]
        pieces.append({"text": said, "entity": mention.entity, "name": mention.name, "kind": mention.type})
        done = mention.end
    if done < len(text):
        pieces.append(text[done:])
    return {
        "id": read.document.id,
        "pieces": pieces,
        "facts": [
            {
                "head": fact.head,
                "relation": fact.relation.replace("_", " "),
                "tail": fact.tail,
                "confidence": item.confidence,
                "line": item.line,
                "places": [at[place] for place in (fact.place, fact.tail_place) if place in at],
            }
            for fact, item in zip(read.facts, read.evidence, strict=True)
        ],
    }

"""The page: a template, cytoscape.js and the data in one file, without a request to anywhere."""

from __future__ import annotations

import html
import json
import os
from importlib.resources import files
from pathlib import Path

from weft.errors import StoreError
from weft.kg.page.neighbourhood import Neighbourhood
from weft.kg.store.graph import Graph

_SENTENCES = 5
"""Places that the page holds of each fact."""


def write_page(graph: Graph, around: Neighbourhood, output: Path) -> None:
    """Write the page of a neighbourhood.

    What the corpus says reaches the page as JSON and is shown as text, never as markup; a content security
    policy forbids every request.

    Args:
        graph: Where the sentences are.
        around: What to show.
        output: The file.

    Raises:
        StoreError: It cannot be written.
    """
    page = render(graph, around)
    partial = output.with_name(f".{output.name}.{os.getpid()}.part")
    try:
        partial.write_text(page, encoding="utf-8")
        os.replace(partial, output)
    except OSError as error:
        raise StoreError(f"cannot be written: {error.strerror or error}", where=str(output)) from error
    finally:
        partial.unlink(missing_ok=True)


def render(graph: Graph, around: Neighbourhood) -> str:
    """The page as a string."""
    folder = files("weft.kg.page")
    parts = {
        "{{title}}": html.escape(around.centre),
        "{{script}}": folder.joinpath("page.js").read_text(encoding="utf-8"),
        "{{cytoscape}}": folder.joinpath("cytoscape.min.js").read_text(encoding="utf-8"),
        "{{data}}": script_json(record(graph, around)),
    }
    page = folder.joinpath("page.html").read_text(encoding="utf-8")
    pieces = [page]
    for name, part in parts.items():
        # Split, not replaced one after the other: what a part holds is not searched for the next name.
        pieces = [piece for text in pieces for piece in _spread(text, name, part)]
    return "".join(pieces)


def _spread(text: str, name: str, part: str) -> list[str]:
    before, found, after = text.partition(name)
    return [before, part, after] if found else [text]


def record(graph: Graph, around: Neighbourhood) -> dict[str, object]:
    """What the page shows, as JSON."""
    number = {name: index for index, name in enumerate(around.rings)}
    return {
        "centre": around.centre,
        "leftOut": around.left_out,
        "nodes": [{"name": name, "ring": ring} for name, ring in around.rings.items()],
        "facts": [
            {
                "head": number[fact.head],
                "tail": number[fact.tail],
                "relation": fact.relation,
                "confidence": fact.confidence,
                "evidence": fact.evidence,
                "places": [
                    {
                        "document": place.document,
                        "line": place.line,
                        "sentence": place.sentence,
                        "names": [place.head, place.tail],
                    }
                    for place in graph.places(fact.row)[:_SENTENCES]
                ],
            }
            for fact in around.facts
        ],
    }


def script_json(value: object) -> str:
    """JSON that may stand in a script element: nothing in it can end the element or begin a comment."""
    text = json.dumps(value, ensure_ascii=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text

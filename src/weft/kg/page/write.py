"""The page: cytoscape.js, what it draws and the sentences in one file."""

from __future__ import annotations

from pathlib import Path

from weft.kg.page.neighbourhood import Neighbourhood
from weft.kg.storage.graph import Graph
from weft.platform.files import write_text
from weft.platform.graphs import DRAWING
from weft.platform.page import asset, render

_SENTENCES = 5
"""Places that the page holds of each fact."""
# cytoscape adds a style sheet unless an element has this name; the policy allows none but the page's own.
_BODY = """<div id="graph" role="img" aria-label="the graph; the list beside it says the same"></div>
<aside>
  <h1 id="centre"></h1>
  <p id="summary" class="dim"></p>
  <label>least confidence <output id="least">0.00</output>
    <input id="slider" type="range" min="0" max="1" step="0.01" value="0"></label>
  <div id="panel" aria-live="polite"></div>
  <i id="__________cytoscape_stylesheet" hidden></i>
</aside>"""


def write_page(graph: Graph, around: Neighbourhood, output: Path) -> None:
    """Write the page of a neighbourhood.

    Args:
        graph: Where the sentences are.
        around: What to show.
        output: The file.

    Raises:
        OutputError: It cannot be written.
    """
    write_text(output, neighbourhood_page(graph, around))


def neighbourhood_page(graph: Graph, around: Neighbourhood) -> str:
    """The page."""
    return render(
        around.centre,
        _BODY,
        style=asset("weft.kg.page", "page.css"),
        scripts=[
            *(asset("weft.platform.graphs", name) for name in DRAWING),
            asset("weft.kg.page", "page.js"),
        ],
        data=record(graph, around),
    )


def record(graph: Graph, around: Neighbourhood) -> dict[str, object]:
    """What the page shows, as JSON."""
    number = {name: index for index, name in enumerate(around.rings)}
    return {
        "centre": around.centre,
        "leftOut": around.left_out,
        "nodes": [
            {"name": name, "ring": ring, "kind": graph.kind(name)} for name, ring in around.rings.items()
        ],
        "facts": [
            {
                "head": number[fact.head],
                "tail": number[fact.tail],
                "relation": fact.relation,
                "confidence": fact.confidence,
                "origin": fact.origin,
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

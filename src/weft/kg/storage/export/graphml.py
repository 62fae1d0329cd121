"""GraphML: entities as nodes, facts as directed edges with their confidence and the surest place."""

from __future__ import annotations

import re
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

from weft.kg.storage.graph import Graph

_EDGE_KEYS = {
    "relation": "string",
    "confidence": "double",
    "evidence": "int",
    "origin": "string",
    "document": "string",
    "line": "int",
    "sentence": "string",
}
_NO_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that no XML document may hold, not even escaped: they become U+FFFD."""


def write_graphml(graph: Graph, path: Path) -> None:
    """Write a multigraph: two entities may be joined by several relations."""
    number = {name: f"n{index}" for index, name in enumerate(graph.entities)}
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.write('<?xml version="1.0" encoding="UTF-8"?>\n')
        file.write('<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n')
        file.write('<key id="label" for="node" attr.name="label" attr.type="string"/>\n')
        for key in ("kind", "value"):
            file.write(f'<key id="{key}" for="node" attr.name="{key}" attr.type="string"/>\n')
        for key, kind in _EDGE_KEYS.items():
            file.write(f'<key id="{key}" for="edge" attr.name="{key}" attr.type="{kind}"/>\n')
        file.write('<graph edgedefault="directed">\n')
        for name, node in number.items():
            kind = f'<data key="kind">{_text(graph.kind(name))}</data>' if graph.kind(name) else ""
            value = graph.value(name)
            said = "" if value is None else f'<data key="value">{_text(str(value))}</data>'
            file.write(f'<node id="{node}"><data key="label">{_text(name)}</data>{kind}{said}</node>\n')
        for row in range(len(graph)):
            fact, place = graph.fact(row), graph.places(row)[0]
            values = (
                fact.relation,
                fact.confidence,
                fact.evidence,
                fact.origin,
                place.document,
                place.line,
                place.sentence,
            )
            data = "".join(
                f"<data key={quoteattr(key)}>{_text(str(value))}</data>"
                for key, value in zip(_EDGE_KEYS, values, strict=True)
            )
            ends = f'source="{number[fact.head]}" target="{number[fact.tail]}"'
            file.write(f'<edge id="e{row}" {ends}>{data}</edge>\n')
        file.write("</graph>\n</graphml>\n")


def _text(text: str) -> str:
    return escape(_NO_XML.sub("\ufffd", text), {"\r": "&#13;"})

"""An explanation as one HTML page without a script: both graphs, their blocks coloured by what they carry."""

from __future__ import annotations

from html import escape

import numpy as np

from weft.bcsd.draw import DRAWN_BLOCKS
from weft.bcsd.explain.occlusion import Explanation, Half
from weft.bcsd.report.layout import Arrow, Box
from weft.bcsd.report.picture import block_lines, place
from weft.platform.page import bar, heat, render

#: A drop from which on a block has its full colour, unless another one falls further.
_FULL_COLOUR = 0.05

_BODY = """<header><h1>What carried the match</h1>
<p>Learned similarity <b>{learned:.3f}</b>, lexical <b>{lexical:.3f}</b>.</p>
<p class="key dim">Hidden, a block or instruction lets the learned similarity
<span><i class="for20"></i>fall</span> <span><i class="against20"></i>rise</span></p></header>
<main><div class="panes">{graphs}</div>
<h2>Tokens of the lexical part, and their share of it</h2>
<table>{tokens}</table>
<div class="panes">{listings}</div></main>"""


def explanation_page(explanation: Explanation) -> str:
    """The page."""
    halves = (explanation.a, explanation.b)
    longest = max((share for _, share in explanation.tokens), default=1.0) or 1.0
    tokens = "".join(
        f'<tr><td class="mono">{escape(token)}</td><td>{share:.3f}</td>'
        f"<td>{bar(share / longest, 'long')}</td></tr>"
        for token, share in explanation.tokens
    )
    body = _BODY.format(
        learned=explanation.learned,
        lexical=explanation.lexical,
        graphs="".join(map(_graph, halves)),
        listings="".join(map(_listing, halves)),
        tokens=tokens or "<tr><td>none in common</td></tr>",
    )
    return render(f"{explanation.a.function.name} ↔ {explanation.b.function.name}", body)


def _graph(half: Half) -> str:
    function = half.function
    title = f"{half.path}: {function.name} at {function.address:#x}"
    if len(function.blocks) > DRAWN_BLOCKS:
        picture = f"<p>{len(function.blocks)} blocks are too many to draw.</p>"
    else:
        picture = _svg(half)
    return f'<div><h2>{escape(title)}</h2><div class="scroll">{picture}</div>{_prefix(half)}</div>'


def _svg(half: Half) -> str:
    function = half.function
    layout = place(function)
    strongest = max(_FULL_COLOUR, float(abs(half.blocks).max()))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{layout.width + 16}" height="{layout.height + 24}" '
        f'viewBox="-8 -8 {layout.width + 16} {layout.height + 24}" role="img" class="picture">'
    ]
    parts += [
        f'<path d="{_way(arrow)}" class="edge{edge.kind:d}"/>'
        for edge, arrow in zip(function.edges, layout.arrows, strict=True)
    ]
    for number, (box, drop) in enumerate(zip(layout.boxes, half.blocks.tolist(), strict=True)):
        parts.append(
            f'<g><title>{drop:+.4f}</title><rect {_at(box)} class="box"/>'
            f'<rect {_at(box)} class="{heat(drop, strongest)}"/>'
        )
        parts += [
            f'<text x="{box.x + 5}" y="{box.y + 14 + 11 * line}">{escape(text)}</text>'
            for line, text in enumerate(block_lines(function, number))
        ]
        parts.append("</g>")
    return "".join([*parts, "</svg>"])


def _way(arrow: Arrow) -> str:
    return "M" + "L".join(f"{x} {y}" for x, y in arrow.points)


def _at(box: Box) -> str:
    return f'x="{box.x}" y="{box.y}" width="{box.width}" height="{box.height}" rx="3"'


def _prefix(half: Half) -> str:
    if half.prefix is None:
        return ""
    rows = "".join(
        f"<tr><td>layer {layer}</td><td>{weights.mean():.3f}</td>"
        f"<td>{bar(float(weights.mean()), 'long')}</td></tr>"
        for layer, weights in enumerate(half.prefix, start=1)
    )
    return f"<h2>Attention on the graph's prefix</h2><table>{rows}</table>"


def _listing(half: Half) -> str:
    function = half.function
    known = half.instructions[~np.isnan(half.instructions)]
    strongest = max(_FULL_COLOUR / 4, float(abs(known).max()) if len(known) else 0.0)
    lines: list[str] = []
    for number, block in enumerate(function.blocks):
        lines.append(f"<b>block {number}: {half.blocks[number]:+.4f}</b>")
        for index in range(block.start, block.end):
            address, _, mnemonic, operands = function.instructions[index]
            drop = float(half.instructions[index])
            text = escape(f"{address:#9x}  {mnemonic} {operands}".rstrip())
            lines.append(f'<span class="{heat(drop, strongest)}">{text}</span>')
    joined = "\n".join(lines)
    return f'<div><h2>{escape(function.name)}</h2><div class="scroll"><pre>{joined}</pre></div></div>'

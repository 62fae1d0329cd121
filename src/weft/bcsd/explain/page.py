"""An explanation as one HTML page without a script: both graphs, their blocks coloured by what they carry."""

from __future__ import annotations

import math
from html import escape

import numpy as np

from weft.bcsd.draw import DRAWN_BLOCKS
from weft.bcsd.explain.occlusion import Explanation, Half
from weft.bcsd.report.layout import Arrow
from weft.bcsd.report.picture import EDGE_COLOURS, block_lines, place

#: A drop from which on a block has its full colour, unless another one falls further.
_FULL_COLOUR = 0.05

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1"><title>{title}</title>
<style>
body {{ font: 14px/1.45 system-ui, sans-serif; color: #1b1f24 }}
body {{ margin: 0 auto; max-width: 1400px; padding: 0 24px 40px }}
h1 {{ font-size: 20px; margin: 22px 0 6px }} h2 {{ font-size: 14px; margin: 18px 0 6px; overflow-wrap: anywhere }}
.panes {{ display: grid; grid-template-columns: 1fr 1fr; gap: 16px }} .panes > div {{ min-width: 0 }}
.scroll {{ overflow: auto; max-height: 640px; border: 1px solid #d9dce1; border-radius: 6px; padding: 8px }}
svg, pre, .mono {{ font-family: ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace }}
svg {{ display: block; margin: 0 auto; font-size: 9px }} svg text {{ white-space: pre }}
pre {{ font-size: 12px; margin: 0; line-height: 1.5 }} pre b {{ color: #2559b8; font-weight: 600 }}
.key {{ color: #5d6673 }}
.key i {{ display: inline-block; width: 14px; height: 10px; margin: 0 4px 0 10px; border: 1px solid #8a93a0 }}
table {{ border-collapse: collapse }} td {{ padding: 1px 14px 1px 0 }}
.bar {{ display: inline-block; height: 8px; background: #2559b8; border-radius: 2px }}
</style></head><body>
<h1>What carried the match</h1>
<p>Learned similarity <b>{learned:.3f}</b>, lexical <b>{lexical:.3f}</b>.
<span class="key">Hidden, a block or instruction lets the learned similarity
<i style="background:rgba(0,120,60,.6)"></i>fall <i style="background:rgba(200,30,30,.6)"></i>rise.</span></p>
<div class="panes">{graphs}</div>
<h2>Tokens of the lexical part, and their share of it</h2>
<table>{tokens}</table>
<div class="panes">{listings}</div>
</body></html>
"""


def explanation_page(explanation: Explanation) -> str:
    """The page."""
    halves = (explanation.a, explanation.b)
    longest = max((share for _, share in explanation.tokens), default=1.0) or 1.0
    tokens = "".join(
        f'<tr><td class="mono">{escape(token)}</td><td>{share:.3f}</td>'
        f'<td><span class="bar" style="width:{160 * share / longest:.0f}px"></span></td></tr>'
        for token, share in explanation.tokens
    )
    return _PAGE.format(
        title=escape(f"{explanation.a.function.name} ↔ {explanation.b.function.name}"),
        learned=explanation.learned,
        lexical=explanation.lexical,
        graphs="".join(map(_graph, halves)),
        listings="".join(map(_listing, halves)),
        tokens=tokens or "<tr><td>none in common</td></tr>",
    )


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
        f'viewBox="-8 -8 {layout.width + 16} {layout.height + 24}" role="img">'
    ]
    parts += [
        f'<path d="{_way(arrow)}" fill="none" stroke="{EDGE_COLOURS[edge.kind]}" stroke-width="1.1"/>'
        for edge, arrow in zip(function.edges, layout.arrows, strict=True)
    ]
    for number, (box, drop) in enumerate(zip(layout.boxes, half.blocks.tolist(), strict=True)):
        parts.append(
            f'<g><title>{drop:+.4f}</title><rect x="{box.x}" y="{box.y}" width="{box.width}" height="{box.height}" '
            f'rx="3" fill="#fff" stroke="#8a93a0"/><rect x="{box.x}" y="{box.y}" width="{box.width}" '
            f'height="{box.height}" rx="3" fill="{_colour(drop, strongest)}"/>'
        )
        parts += [
            f'<text x="{box.x + 5}" y="{box.y + 14 + 11 * line}">{escape(text)}</text>'
            for line, text in enumerate(block_lines(function, number))
        ]
        parts.append("</g>")
    return "".join([*parts, "</svg>"])


def _way(arrow: Arrow) -> str:
    return "M" + "L".join(f"{x} {y}" for x, y in arrow.points)


def _colour(drop: float, strongest: float) -> str:
    if math.isnan(drop):
        return "transparent"
    shade = "0,120,60" if drop > 0 else "200,30,30"
    return f"rgba({shade},{0.6 * abs(drop) / strongest:.3f})"


def _prefix(half: Half) -> str:
    if half.prefix is None:
        return ""
    rows = "".join(
        f"<tr><td>layer {layer}</td><td>{weights.mean():.3f}</td>"
        f'<td><span class="bar" style="width:{160 * weights.mean():.0f}px"></span></td></tr>'
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
            lines.append(f'<span style="background:{_colour(drop, strongest)}">{text}</span>')
    joined = "\n".join(lines)
    return f'<div><h2>{escape(function.name)}</h2><div class="scroll"><pre>{joined}</pre></div></div>'

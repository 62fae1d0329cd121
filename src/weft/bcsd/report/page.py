"""The report of a matching as one HTML page: tables of matches, each opening on its evidence and both pictures."""

from __future__ import annotations

import os
from html import escape
from typing import Any

from weft import __version__
from weft.bcsd.matching.in_common import in_common
from weft.bcsd.matching.match import Matching
from weft.bcsd.matching.record import function_record, match_records
from weft.bcsd.matching.side import Side
from weft.bcsd.report.picture import BOX_COLUMNS, BOX_LINES, picture_record
from weft.platform.page import asset, bar, render

_CHIPS = ("same_bytes", "same_tokens", "imports", "constants", "strings", "callees", "callers", "place")
_SURE, _UNSURE = 0.8, 0.5
_PROBABILITY = "the probability that the match is right, fitted on packages that the model was not trained on"
_UNCALIBRATED = (
    '<p class="note">The model has no matching rule of its own: confidences order the matches, but are no '
    "probabilities.</p>"
)

_BODY = """<header>
<h1>Which function is which</h1>
<div class="files">
{cards}
</div>
{note}
</header>
<main>
<nav>
<span>
<button type="button" value="matches" aria-pressed="true">Matches {matches}</button>
<button type="button" value="only-a" aria-pressed="false">Only in A {only_a}</button>
<button type="button" value="only-b" aria-pressed="false">Only in B {only_b}</button>
</span>
<input type="search" id="search" placeholder="name, address, evidence …" aria-label="filter">
<label>at least <input type="range" id="floor" min="0" max="100" value="0">
<span id="floor-value" class="mono">0 %</span> sure</label>
<label><input type="checkbox" id="tiny"> hide tiny functions</label>
<span id="count" class="dim"></span>
</nav>
{tables}
</main>
<footer>weft {version}, model {model}. Score: learned and lexical similarity, 1 only for equal bytes. Rank: the
place of B's function among all of B by score alone. Confidence: {confidence}. Tiny: fewer than 5 blocks, easily alike
by chance.</footer>"""


def report_page(matching: Matching, model: str, calibrated: bool) -> str:
    """The page.

    Args:
        matching: From sides that hold their listings.
        model: Version of the model.
        calibrated: Whether the confidences were fitted with it.
    """
    records = list(match_records(matching))
    only_a, only_b = matching.unmatched_a(), matching.unmatched_b()
    names = [os.path.basename(side.path) for side in (matching.a, matching.b)]
    body = _BODY.format(
        cards="\n".join([_card("A", matching.a), _card("B", matching.b), _summary(records, matching)]),
        note="" if calibrated else _UNCALIBRATED,
        matches=len(records),
        only_a=len(only_a),
        only_b=len(only_b),
        tables="\n".join(
            [
                _match_table(records),
                _function_table("only-a", matching.a, only_a),
                _function_table("only-b", matching.b, only_b),
            ]
        ),
        version=escape(__version__),
        model=escape(model),
        confidence=_PROBABILITY if calibrated else "an order, not a probability",
    )
    return render(
        f"{names[0]} ↔ {names[1]}",
        body,
        style=asset("weft.bcsd.report", "page.css"),
        scripts=[asset("weft.bcsd.report", "page.js")],
        data=_data(matching, records),
    )


def _data(matching: Matching, records: list[dict[str, Any]]) -> dict[str, Any]:
    rows = [{address: row for row, address in enumerate(side.addresses)} for side in (matching.a, matching.b)]
    matches = [
        {
            "a": rows[0][record["a"]["address"]],
            "b": rows[1][record["b"]["address"]],
            "evidence": _readable(record["evidence"]),
        }
        for record in records
    ]
    return {
        "box_lines": BOX_LINES,
        "box_columns": BOX_COLUMNS,
        "a": _side_data(matching.a, {match["a"] for match in matches}),
        "b": _side_data(matching.b, {match["b"] for match in matches}),
        "matches": matches,
    }


def _readable(evidence: dict[str, Any]) -> dict[str, Any]:
    """Addresses and constants in hexadecimal: a script's numbers hold 53 bits of them only."""
    found = dict(evidence)
    if "constants" in found:
        found["constants"] = {**found["constants"], "shared": list(map(hex, found["constants"]["shared"]))}
    for kind in ("callees", "callers"):
        if kind in found:
            shared = [
                {side: hex(address) for side, address in pair.items()} for pair in found[kind]["shared"]
            ]
            found[kind] = {**found[kind], "shared": shared}
    return found


def _name(side: Side, row: int) -> str:
    return side.readable.get(side.names[row], side.names[row])


def _side_data(side: Side, wanted: set[int]) -> dict[str, Any]:
    return {
        "functions": {
            row: [_name(side, row), hex(side.addresses[row]), *list(function_record(side, row).values())[-2:]]
            for row in sorted(wanted)
        },
        "names": {hex(side.addresses[row]): _name(side, row) for row in sorted(wanted)},
        "pictures": {row: picture_record(side.functions[row]) for row in sorted(wanted)},
    }


def _card(letter: str, side: Side) -> str:
    remarks = "".join(f'<div class="warning">{escape(remark)}</div>' for remark in side.remarks)
    return (
        f'<div class="card"><h2>{letter}</h2><div class="mono">{escape(side.path)}</div>'
        f'<div class="dim">{len(side)} functions, {escape(side.table.column("architecture")[0].as_py())}, '
        f"sha256 {escape(side.sha256[:16])}…</div>{remarks}</div>"
    )


def _summary(records: list[dict[str, Any]], matching: Matching) -> str:
    sure = sum(record["confidence"] >= _SURE for record in records)
    alone = f"{len(matching.unmatched_a())} of A and {len(matching.unmatched_b())} of B without one"
    said = in_common(matching).said()
    told = f'<div class="warning">{escape(said)}</div>' if said else ""
    return (
        f'<div class="card"><h2>Result</h2>{told}<div>{len(records)} matches, {sure} at least 80 % sure</div>'
        f'<div class="dim">{alone}</div></div>'
    )


def _match_table(records: list[dict[str, Any]]) -> str:
    heads = (
        ("confidence", "number", "down"),
        ("score", "number", "down"),
        ("rank", "number", "up"),
        ("function of A", "text", "up"),
        ("function of B", "text", "up"),
        ("evidence", "number", "down"),
    )
    head = "".join(f'<th data-kind="{kind}" data-first="{first}">{name}</th>' for name, kind, first in heads)
    body = "\n".join(_match_row(number, record) for number, record in enumerate(records))
    # The rows come surest first.
    head = head.replace("<th", '<th data-order="down"', 1)
    return f'<table id="matches"><thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody></table>'


def _match_row(number: int, record: dict[str, Any]) -> str:
    confidence, score = record["confidence"], record["score"]
    colour = "" if confidence >= _SURE else "low" if confidence >= _UNSURE else "lowest"
    evidence = [kind for kind in _CHIPS if record["evidence"].get(kind)]
    chips = "".join(f'<span class="chip">{kind.replace("_", " ")}</span>' for kind in evidence)
    chips += "".join(
        f'<span class="chip flag">{escape(flag.replace("_", " "))}</span>' for flag in record["flags"]
    )
    tiny = ' data-tiny="1"' if "tiny" in record["flags"] else ""
    return (
        f'<tr class="match" tabindex="0" data-match="{number}" data-confidence="{confidence}"{tiny}>'
        f'<td data-value="{confidence}">{bar(confidence, colour)}{confidence:.2f}</td>'
        f'<td data-value="{score}" data-label="score">{score:.4f}</td>'
        f'<td data-value="{record["rank"]}" data-label="rank">{record["rank"]}</td>'
        f"{_name_cell('A', record['a'])}{_name_cell('B', record['b'])}"
        f'<td class="chips" data-value="{len(evidence)}">{chips}</td></tr>'
    )


def _name_cell(letter: str, function: dict[str, Any]) -> str:
    name = escape(function.get("demangled", function["name"]))
    return (
        f'<td class="name" data-label="{letter}" data-value="{name}">{name} '
        f'<span class="dim">{function["address"]:#x}, {function["blocks"]} bl.</span></td>'
    )


def _function_table(identity: str, side: Side, rows: list[int]) -> str:
    heads = (("function", "text"), ("address", "number"), ("bytes", "number"), ("blocks", "number"))
    head = "".join(f'<th data-kind="{kind}" data-first="up">{name}</th>' for name, kind in heads)
    body: list[str] = []
    for row in rows:
        function = function_record(side, row)
        name = escape(function.get("demangled", function["name"]))
        tiny = ' data-tiny="1"' if function["blocks"] < 5 else ""
        body.append(
            f'<tr{tiny}><td class="name" data-value="{name}">{name}</td>'
            f'<td class="mono" data-value="{function["address"]}">{function["address"]:#x}</td>'
            f'<td data-value="{function["size"]}" data-label="bytes">{function["size"]}</td>'
            f'<td data-value="{function["blocks"]}" data-label="blocks">{function["blocks"]}</td></tr>'
        )
    joined = "\n".join(body)
    return f'<table id="{identity}" hidden><thead><tr>{head}</tr></thead><tbody>\n{joined}\n</tbody></table>'

"""A difference as one HTML page without a script: changed functions open on both versions side by side."""

from __future__ import annotations

import os
from html import escape
from typing import Any

from weft import __version__
from weft.bcsd.difference.compare import Difference, Entry, Status
from weft.bcsd.difference.kinds import Change
from weft.bcsd.difference.record import left_out, listing
from weft.bcsd.difference.version import Version
from weft.platform.page import asset, render

#: Lines of all listings together; what is further down has its notes alone.
LINES = 60_000
#: Functions listed of each other status.
LISTED = 2000
_ROWS = {"+": "add", "-": "gone", "!": "differs", "~": "layout", "=": "same"}
_BODY = """<header><h1>What changed</h1>
<div class="files">{cards}</div>
{remarks}
<p class="key dim"><span>+ new</span> <span>− gone</span> <span>! differs</span>
<span>~ other registers or layout alone</span></p>
</header>
<main>
<h2>Changed {changed}</h2>
{functions}
{others}
</main>
<footer>weft {version}. The most telling kind of change comes first, the larger share of the instructions before the
smaller. What differs by where it was linked, by registers or by order is no change.</footer>"""


def difference_page(difference: Difference) -> str:
    """The page."""
    left = LINES
    changed: list[str] = []
    for entry in difference.entries:
        if entry.change is None:
            continue
        lines = sum(len(block.rows) for block in entry.change.blocks)
        changed.append(_changed(difference, entry, entry.change, listed=lines <= left))
        left -= min(lines, left)
    old, new = (os.path.basename(version.side.path) for version in (difference.old, difference.new))
    body = _BODY.format(
        cards=_card("Old", difference.old) + _card("New", difference.new) + _summary(difference),
        remarks="".join(f'<p class="note">{escape(remark)}</p>' for remark in difference.remarks),
        changed=len(changed),
        functions="\n".join(changed) or '<p class="dim">No function.</p>',
        others="\n".join(
            _list(difference, status) for status in (Status.ADDED, Status.REMOVED, Status.RENAMED)
        ),
        version=escape(__version__),
    )
    return render(f"{old} → {new}", body, style=asset("weft.bcsd.difference.view", "page.css"))


def _card(head: str, version: Version) -> str:
    side = version.side
    remarks = "".join(f'<div class="warning">{escape(remark)}</div>' for remark in side.remarks)
    return (
        f'<div class="card"><h2>{head}</h2><div class="mono">{escape(side.path)}</div>'
        f'<div class="dim">{len(version)} functions, {escape(version.architecture)}, '
        f"sha256 {escape(side.sha256[:16])}…</div>{remarks}</div>"
    )


def _summary(difference: Difference) -> str:
    counts = ", ".join(f"{difference.count(status)} {status}" for status in Status)
    said = difference.in_common.said()
    told = f'<div class="warning">{escape(said)}</div>' if said else ""
    return f'<div class="card"><h2>Result</h2>{told}<div>{counts}</div></div>'


def _changed(difference: Difference, entry: Entry, change: Change, *, listed: bool) -> str:
    old, new = difference.old.shown(entry.old), difference.new.shown(entry.new)
    name = escape(new if old == new else f"{old} → {new}")
    chips = "".join(
        f'<span class="chip{"" if place else " first"}">{escape(kind)}</span>'
        for place, kind in enumerate(change.kinds)
    )
    notes = "".join(f'<li class="mono">{escape(note)}</li>' for note in change.notes)
    if listed:
        body = "".join(_block(block) for block in listing(difference, entry))
        more = left_out(change.blocks)
        code = f'<table class="code">{body}</table>' + (
            f"<p>{more} more lines are left out.</p>" if more else ""
        )
    else:
        code = '<p class="dim">Left out for the size of this page: --function prints it.</p>'
    places = f"{difference.old.codes[entry.old].address:#x} → {difference.new.codes[entry.new].address:#x}"
    return (
        f'<details><summary><span class="amount">{change.amount:.0%}</span><span class="name">{name}</span> '
        f'<span class="dim mono">{places}</span> {chips}</summary><ul class="notes">{notes}</ul>{code}</details>'
    )


def _block(block: dict[str, Any]) -> str:
    places = [hex(block[side]) if block[side] is not None else "" for side in ("old", "new")]
    head = f'<tr class="head"><td class="mark"></td><td>{places[0]}</td><td>{places[1]}</td><td class="kind"></td></tr>'
    return head + "".join(
        f'<tr class="{_ROWS[mark]}"><td class="mark">{mark.replace("-", "−").replace("=", "")}</td>'
        f'<td class="mono old">{_half(old)}</td><td class="mono new">{_half(new)}</td>'
        f'<td class="kind">{escape(", ".join(kinds)) if mark == "!" else ""}</td></tr>'
        for mark, old, new, kinds in block["rows"]
    )


def _half(half: list[Any] | None) -> str:
    if half is None:
        return ""
    address, text, note = half
    return f"<i>{address:x}</i> {escape(text)}" + (f" <i>; {escape(note)}</i>" if note else "")


def _list(difference: Difference, status: Status) -> str:
    entries = [entry for entry in difference.entries if entry.status == status]
    if not entries:
        return ""
    rows: list[str] = []
    for entry in entries[:LISTED]:
        halves = [
            (version.shown(row), version.codes[row].address)
            for version, row in ((difference.old, entry.old), (difference.new, entry.new))
            if row >= 0
        ]
        names = escape(" → ".join(name for name, _ in halves))
        places = " → ".join(hex(address) for _, address in halves)
        rows.append(f'<tr><td class="name">{names}</td><td class="mono">{places}</td></tr>')
    more = f"<p>{len(entries) - LISTED} more.</p>" if len(entries) > LISTED else ""
    return f'<h2>{status.capitalize()} {len(entries)}</h2><table class="list">{"".join(rows)}</table>{more}'

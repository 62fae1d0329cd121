"""One function of both versions side by side, as text."""

from __future__ import annotations

from weft.bcsd.difference.compare import Difference, Entry, Status
from weft.bcsd.difference.record import left_out, listing
from weft.bcsd.difference.version import Version
from weft.bcsd.read.names import printable
from weft.errors import InputError

_WIDTH = 58


def find_entry(difference: Difference, wanted: str) -> Entry:
    """The function of a name, or the one that holds ``@ADDRESS``, in the new version or else in the old one.

    Raises:
        InputError: There is none, or several.
    """
    found: dict[int, Entry] = {}
    for version, side in ((difference.new, "new"), (difference.old, "old")):
        rows = {row for row in range(len(version)) if _is(version, row, wanted)}
        found = {id(entry): entry for entry in difference.entries if getattr(entry, side) in rows}
        if found:
            break
    if len(found) != 1:
        what = f"{len(found)} functions are called {wanted!r}" if found else f"no function {wanted!r}"
        hint = "@ADDRESS names one of them" if found else "weft bcsd diff OLD NEW lists what changed"
        raise InputError(what, where=f"{difference.old.side.path}, {difference.new.side.path}", hint=hint)
    return next(iter(found.values()))


def _is(version: Version, row: int, wanted: str) -> bool:
    code = version.codes[row]
    if wanted.startswith("@"):
        try:
            address = int(wanted[1:], 16)
        except ValueError:
            return False
        return code.address <= address < code.address + max(code.size, 1)
    names = (code.name, version.shown(row), *code.aliases)
    return wanted in names or printable(wanted) in names


def side_by_side(difference: Difference, wanted: str) -> str:
    """A function's blocks and instructions beside each other.

    Raises:
        InputError: There is no such function, or several.
    """
    entry = find_entry(difference, wanted)
    halves = [
        f"{version.shown(row)} {version.codes[row].address:#x}" if row >= 0 else "–"
        for version, row in ((difference.old, entry.old), (difference.new, entry.new))
    ]
    head = f"{entry.status}: {halves[0]}  │  {halves[1]}"
    if entry.change is None:
        if entry.status in (Status.ADDED, Status.REMOVED):
            return head
        return f"{head}\ndiffers by {entry.sameness}"
    lines = [head, "kinds: " + ", ".join(f"{kind} ({count})" for kind, count in entry.change.kinds.items())]
    lines += entry.change.notes
    for block in listing(difference, entry):
        places = [hex(block[side]) if block[side] is not None else "–" for side in ("old", "new")]
        lines.append(f"\n  {places[0]:<{_WIDTH}}   {places[1]}")
        for mark, old, new, kinds in block["rows"]:
            cells = [_cell(half) for half in (old, new)]
            told = f"   {', '.join(kinds)}" if kinds and mark == "!" else ""
            lines.append(f"{mark} {cells[0]:<{_WIDTH}} │ {cells[1]:<{_WIDTH}}{told}".rstrip())
    more = left_out(entry.change.blocks)
    if more:
        lines.append(f"… {more} more lines")
    return "\n".join(lines)


def _cell(half: list[object] | None) -> str:
    if half is None:
        return ""
    address, text, note = half
    told = f"{address:x} {text}" + (f"  ; {note}" if note else "")
    told = "".join(char if char.isprintable() else repr(char)[1:-1] for char in told)
    return told if len(told) <= _WIDTH else told[: _WIDTH - 1] + "…"

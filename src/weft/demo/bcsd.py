"""Two builds of one library matched by the shipped model: another compiler, level and architecture, one stripped."""

from __future__ import annotations

import json
from importlib.resources import as_file, files
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from weft.bcsd.matching.match import TINY_BLOCKS, Matching, match
from weft.bcsd.matching.record import surest_first
from weft.bcsd.matching.rule import rule_of
from weft.bcsd.matching.side import SideRequest, read_side
from weft.bcsd.report.page import report_page
from weft.bcsd.use.embedder import Embedder
from weft.bcsd.use.store import find
from weft.platform.files import write_text

KNOWN = "libz-gcc-O0-x86_64.so"
STRIPPED = "libz-clang-O3-aarch64-stripped.so"
REPORT = Path("weft-demo-match.html")
SHOWN = 10
SURE = 0.8


def show(console: Console) -> None:
    """Match the two files, and compare with the names that were stripped away."""
    console.print(
        "\n[bold]Which function is which.[/] A: zlib by gcc -O0 for x86-64, with symbols. B: zlib by clang -O3 for "
        "AArch64, stripped. The model saw neither, nor any other build of zlib.\n"
    )
    folder = find("bcsd-small")
    embedder = Embedder.load(folder, device="cpu", precision="auto")
    rule, calibrated = rule_of(folder, embedder.version)
    with as_file(files("weft").joinpath("demo", "zlib")) as place:
        a, b = (read_side(SideRequest(str(place / name), listings=True)) for name in (KNOWN, STRIPPED))
        names = json.loads((place / "names.json").read_text(encoding="utf-8"))
    matching = match(a, b, embedder, rule)
    truth = [names.get(hex(address), "") for address in b.addresses]
    console.print(surest(matching, truth))
    console.print(Text("\n" + summary(matching, truth)))
    write_text(REPORT, report_page(matching, embedder.version, calibrated))
    console.print(f"The whole of it, side by side, with pictures of the graphs: {REPORT}")


def surest(matching: Matching, truth: list[str]) -> Table:
    """The surest matches of functions that are not tiny."""
    table = Table(show_edge=False, header_style="bold")
    for heading in ("sure", "A, by its name", "blocks", "B, by its address", "blocks", "B was called"):
        table.add_column(heading, justify="right" if heading in ("sure", "blocks") else "left")
    a, b = matching.a, matching.b
    large = [
        number
        for number in surest_first(matching)
        if min(a.num_blocks[matching.rows[number]], b.num_blocks[matching.columns[number]]) >= TINY_BLOCKS
    ]
    for number in large[:SHOWN]:
        i, j = matching.rows[number], matching.columns[number]
        colour = "green" if a.names[i] == truth[j] else "red"
        table.add_row(
            f"{matching.confidence[number]:.2f}",
            Text(a.names[i]),
            str(a.num_blocks[i]),
            f"{b.addresses[j]:#x}",
            str(b.num_blocks[j]),
            Text(truth[j], colour),
        )
    return table


def summary(matching: Matching, truth: list[str]) -> str:
    """Recall over the functions that both files have, and how often a sure match is right."""
    a, b = matching.a, matching.b
    where = {name: row for row, name in enumerate(truth) if name}
    partner = dict(zip(matching.rows.tolist(), matching.columns.tolist(), strict=True))
    both = [(row, where[name]) for row, name in enumerate(a.names) if name in where]
    large = [(i, j) for i, j in both if min(a.num_blocks[i], b.num_blocks[j]) >= TINY_BLOCKS]
    found = [sum(partner.get(i) == j for i, j in group) for group in (large, both)]
    right = [a.names[i] == truth[j] for i, j in partner.items()]
    sure = [
        correct
        for correct, confidence in zip(right, matching.confidence.tolist(), strict=True)
        if confidence >= SURE
    ]
    return (
        f"Of the {len(large)} functions of at least {TINY_BLOCKS} blocks that both files hold, {found[0]} are found; "
        f"of all {len(both)}, {found[1]}. {len(partner)} pairs are proposed; of the {len(sure)} that are at least "
        f"{SURE:.0%} sure, {sum(sure)} are right."
    )

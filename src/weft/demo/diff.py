"""Two versions of a small ARM32 program: what the patch changed, and one function side by side."""

from __future__ import annotations

from importlib.resources import as_file, files
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from weft.bcsd.difference.compare import Difference, Status
from weft.bcsd.difference.files import diff
from weft.bcsd.difference.view.page import difference_page
from weft.bcsd.difference.view.show import side_by_side
from weft.platform.files import write_text

REPORT = Path("weft-demo-diff.html")
SHOWN = "the_bound"


def show(console: Console) -> None:
    """Compare the two files, and print the function that got a bound check."""
    console.print(
        "\n[bold]What a patch changed.[/] Two versions of a small program, gcc -O2 for ARM32 (Thumb-2). What was only "
        "moved, and what differs by the number of a line alone, is no change.\n"
    )
    with as_file(files("weft").joinpath("demo", "patch")) as place:
        difference = diff(place / "old-arm.so", place / "new-arm.so").difference
    console.print(changes(difference))
    counts = ", ".join(f"{difference.count(status)} {status}" for status in Status)
    console.print(f"\n{len(difference.new)} functions: {counts}")
    console.print(Text("\n" + side_by_side(difference, SHOWN)), soft_wrap=True)
    write_text(REPORT, difference_page(difference))
    console.print(f"All changed functions side by side: {REPORT}")


def changes(difference: Difference) -> Table:
    """What became of each function that is not the same."""
    table = Table(show_edge=False, header_style="bold")
    for heading in ("", "function", "kinds", "what"):
        table.add_column(heading)
    for entry in difference.entries:
        if entry.status == Status.UNCHANGED:
            continue
        names = [
            version.shown(row)
            for version, row in ((difference.old, entry.old), (difference.new, entry.new))
            if row >= 0
        ]
        kinds, notes = (entry.change.kinds, entry.change.notes) if entry.change is not None else ((), ())
        cells = (str(entry.status), " → ".join(dict.fromkeys(names)), ", ".join(kinds), "; ".join(notes[:2]))
        table.add_row(*map(Text, cells))
    return table

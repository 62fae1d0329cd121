"""Print the rows that `weft bench NAME -o FILE` wrote as a Markdown table, for docs/results.md."""

import json
import sys
from pathlib import Path
from typing import Any


def line(row: dict[str, Any]) -> str:
    """One row; a figure that is none is a dash, and where it decides, neither met nor missed."""
    target = "–"
    if row["target"] is not None:
        target = f"{'≤' if row['better'] == 'lower' else '≥'} {row['target']:.3g}"
        if row["ok"] is not None:
            target += ", met" if row["ok"] else ", **missed**"
    cells = [row["name"], row["variant"], row["dtype"], row["unit"]]
    figures = ["–" if row[key] is None else f"{row[key]:.3g}" for key in ("ours", "baseline", "ratio")]
    return f"| {' | '.join([*cells, *figures, target])} |"


def main(files: list[str]) -> None:
    """Print all rows under one head."""
    print("| measure | form | dtype | unit | ours | baseline | ratio | target |")
    print("|---|---|---|---|---|---|---|---|")
    for name in files:
        for row in json.loads(Path(name).read_text(encoding="utf-8")):
            print(line(row))


if __name__ == "__main__":
    main(sys.argv[1:])

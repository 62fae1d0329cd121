"""Print the rows that `weft bench NAME -o FILE` wrote as a Markdown table, for docs/results.md."""

import json
import sys
from pathlib import Path

print("| measure | form | dtype | unit | ours | baseline | ratio | target |")
print("|---|---|---|---|---|---|---|---|")
for name in sys.argv[1:]:
    for row in json.loads(Path(name).read_text(encoding="utf-8")):
        target = "–"
        if row["target"] is not None:
            sign = "≤" if row["better"] == "lower" else "≥"
            verdict = "met" if row["ok"] else "**missed**"
            target = f"{sign} {row['target']:.3g}, {verdict}"
        cells = [row["name"], row["variant"], row["dtype"], row["unit"]]
        figures = [f"{row[key]:.3g}" for key in ("ours", "baseline", "ratio")]
        print(f"| {' | '.join([*cells, *figures, target])} |")

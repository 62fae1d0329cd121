"""Mean and standard deviation over seeds of what a recipe measured, as a Markdown table.

    python recipes/summary.py RESULTS.jsonl [--only PREFIX …]

RESULTS.jsonl is what `kg_controls.py`, `kg_code_controls.py` or `absa_small.py` wrote. A configuration with one seed
has no deviation; that of several is that of a sample (n − 1). Values are in percent for absa, shares for kg.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

VIEWS = ("visible", "hidden", "absent", "parameter types", "return types")
KG = {"precision_at_1": "P@1", "hit_at_4": "Hit@4", "hit_at_10": "Hit@10"}
SENTIHOOD = (
    "strict",
    "macro_f1",
    "aspect_auc",
    "sentiment_accuracy",
    "sentiment_auc",
    "wrong_aspect",
    "wrong_target",
    "both_targets",
)
SEMEVAL = ("aspect_precision", "aspect_recall", "aspect_f1", "accuracy_4", "accuracy_3", "accuracy_2")
LEFT_OUT = "aspect_auc "


def kg(record: Mapping[str, Any]) -> dict[str, float]:
    """P@1 and Hit@N of every view, and seconds, of a line of `kg_controls.py` or `kg_code_controls.py`."""
    found = {}
    for view in VIEWS:
        values = record["views"].get(view, {})
        found |= {f"{view} {shown}": values[name] for name, shown in KG.items() if name in values}
    return found | {"seconds": record["train_seconds"]}


def absa(record: Mapping[str, Any]) -> dict[str, float]:
    """The measures of a line of `absa_small.py`, in percent, and its processor time."""
    final = record["final"]
    names = SEMEVAL if record["job"]["corpus"] == "semeval" else SENTIHOOD
    found = {name: 100 * final[name] for name in names}
    return found | {"processor seconds": record["processor_seconds"]}


def collect(lines: Sequence[str]) -> dict[str, dict[int, dict[str, float]]]:
    """Measures by configuration and seed; of a seed measured twice the later, of a failed one nothing."""
    found: dict[str, dict[int, dict[str, float]]] = {}
    for line in lines:
        record = json.loads(line)
        if "control" in record:
            found.setdefault(record["control"], {})[record["seed"]] = kg(record)
        elif record.get("final"):
            job = record["job"]
            if not job["left_out"]:
                found.setdefault(job["name"], {})[job["seed"]] = absa(record)
            for aspect in job["left_out"]:
                # Alone or with others: the one is not the mean of the other.
                name = f"{aspect}, one of {len(job['left_out'])} left out"
                auc = 100 * record["final"][LEFT_OUT + aspect]
                found.setdefault(name, {})[job["seed"]] = {"aspect_auc": auc}
    return found


def shown(values: Sequence[float], form: Callable[[float], str]) -> str:
    """Mean and sample deviation; the value alone where there is one."""
    mean = form(statistics.fmean(values))
    return mean if len(values) == 1 else f"{mean} ± {form(statistics.stdev(values))}"


def table(found: Mapping[str, Mapping[int, Mapping[str, float]]]) -> str:
    """Configurations of the same measures under one head each."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for name, seeds in found.items():
        groups.setdefault(tuple(next(iter(seeds.values()))), []).append(name)
    parts = []
    for columns, names in groups.items():
        lines = ["| | seeds | " + " | ".join(columns) + " |", "|---" * (len(columns) + 2) + "|"]
        for name in names:
            seeds = found[name]
            cells = [
                shown([one[column] for one in seeds.values()], _form(column, columns)) for column in columns
            ]
            lines.append(f"| {name} | {', '.join(map(str, sorted(seeds)))} | " + " | ".join(cells) + " |")
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def _form(column: str, columns: Sequence[str]) -> Callable[[float], str]:
    if column.endswith("seconds"):
        return "{:.0f}".format
    if any("P@1" in name for name in columns):
        return lambda value: f"{value:.3f}".replace("0.", ".", 1)
    return "{:.1f}".format


def main(argv: list[str]) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Mean and deviation over seeds of a recipe's results.")
    parser.add_argument("results", type=Path)
    parser.add_argument("--only", nargs="*", default=[], help="configurations whose names begin so")
    arguments = parser.parse_args(argv)
    found = collect(arguments.results.read_text(encoding="utf-8").splitlines())
    wanted = {
        name: seeds
        for name, seeds in found.items()
        if not arguments.only or any(name.startswith(prefix) for prefix in arguments.only)
    }
    if not wanted:
        print(f"{arguments.results}: no finished configuration of that name", file=sys.stderr)
        return 1
    print(table(wanted))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

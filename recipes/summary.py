"""Mean and standard deviation over seeds of what a recipe measured, as a Markdown table.

    python recipes/summary.py RESULTS.jsonl [--only PREFIX …]

RESULTS.jsonl is what `kg_controls.py`, `kg_code_controls.py`, `kg_redocred.py`, `kg_seed_entities.py`,
`bcsd_controls.py` or `absa_small.py` wrote. A configuration with one seed has no deviation; that of several is that of
a sample (n − 1). Values are in percent for absa, shares for kg and bcsd. For bcsd a second table has what the whole
model finds more than each control, with 95 % bootstrap intervals over the queries of all settings, each query's mean
over the seeds that both have.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from weft.objective.intervals import bootstrap_interval

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
FACTS = {"precision": "P", "recall": "R", "f1": "F1"}
COUNTS = ("stated in training", "right of the", "stated by the model", "of these right")
WHOLE = "full"
"""The control of `bcsd_controls.py` that lacks nothing."""
Measures = dict[str, float | None]
Found = dict[str, dict[int | None, Measures]]
"""Measures by configuration and seed; a baseline has none."""


def kg(record: Mapping[str, Any]) -> Measures:
    """P@1 and Hit@N of every view, and seconds, of a line of `kg_controls.py` or `kg_code_controls.py`."""
    found: Measures = {}
    for view in VIEWS:
        values = record["views"].get(view, {})
        found |= {f"{view} {shown}": values[name] for name, shown in KG.items() if name in values}
    return found | {"seconds": record["train_seconds"]}


def facts(record: Mapping[str, Any]) -> Measures:
    """The figures of a line of `kg_redocred.py`; baselines have no seconds and no confidences."""
    best, kept = record["test"]["best"], record["test"].get("kept")
    found: Measures = {shown: best[name] for name, shown in FACTS.items()}
    found |= {"Ign F1": best["ignoring_f1"]}
    found |= {f"{name}, F1": best[name]["f1"] for name in ("seen", "unseen") if name in best}
    found |= {"F1 without a chosen threshold": record["test"]["plain"]["f1"]}
    if kept is not None:
        found |= {f"{name} where 0.9 is asked": kept[name] for name in ("precision", "recall")}
        found |= {"calibration error": record["test"]["calibration_error"]}
    return found | ({"seconds": record["seconds"]} if "seconds" in record else {})


def seeded(record: Mapping[str, Any]) -> Measures:
    """The figures of a line of `kg_seed_entities.py`."""
    right = {f"right of the {n} surest": record[f"right_of_{n}"] for n in (100, 200, 400)}
    return {
        "stated in training": record["stated_in_training"],
        **right,
        "F1 (range)": record["f1"],
        "average precision": record["average_precision"],
        "stated by the model itself": record["states"],
        "of these right": record["states_right"],
    }


def bcsd(record: Mapping[str, Any]) -> Measures:
    """Recall@1 of every setting, its means, and seconds, of a line of `bcsd_controls.py`."""
    settings = record["recall_1"]
    found: Measures = {name: statistics.fmean(hits["all"]) for name, hits in settings.items()}
    for name, part in (("mean", "all"), ("mean, long", "long")):
        means = [statistics.fmean(hits[part]) for hits in settings.values() if hits[part]]
        found[name] = statistics.fmean(means) if means else None
    return found | {"processor seconds": record["processor_seconds"]}


def absa(record: Mapping[str, Any]) -> Measures:
    """The measures of a line of `absa_small.py`, in percent, and its processor time."""
    final = record["final"]
    names = SEMEVAL if record["job"]["corpus"] == "semeval" else SENTIHOOD
    found: Measures = {name: 100 * final[name] for name in names}
    return found | {"processor seconds": record["processor_seconds"]}


def collect(lines: Sequence[str]) -> Found:
    """Measures by configuration and seed; of a seed measured twice the later, of a failed one nothing."""
    found: Found = {}
    for line in lines:
        record = json.loads(line)
        if "recall_1" in record:
            found.setdefault(record["control"], {})[record["seed"]] = bcsd(record)
        elif "stated_in_training" in record:
            name = f"{record['name'].rpartition('-')[0]}, {record['part']}"
            found.setdefault(name, {})[record["seed"]] = seeded(record)
        elif "test" in record:
            found.setdefault(record["name"], {})[record.get("seed")] = facts(record)
        elif "control" in record:
            found.setdefault(record["control"], {})[record["seed"]] = kg(record)
        elif record.get("final") and not record.get("quick"):
            job = record["job"]
            if not job["left_out"]:
                found.setdefault(job["name"], {})[job["seed"]] = absa(record)
            for aspect in job["left_out"]:
                # Alone or with others: the one is not the mean of the other.
                name = f"{aspect}, one of {len(job['left_out'])} left out"
                auc = 100 * record["final"][LEFT_OUT + aspect]
                found.setdefault(name, {})[job["seed"]] = {"aspect_auc": auc}
    return found


GROUPS = {"all": "group", "long": "group, long"}
"""Whose query each hit of a part is."""


def differences(lines: Sequence[str], names: Sequence[str]) -> str:
    """What the whole model finds more than each of these controls; empty where there is nothing to compare."""
    hits: dict[str, dict[int, Any]] = {}
    for record in map(json.loads, lines):
        if "recall_1" in record:
            hits.setdefault(record["control"], {})[record["seed"]] = record["recall_1"]
    rows: list[str] = []
    for name in (name for name in names if name in hits and name != WHOLE):
        shared = sorted(hits[name].keys() & hits.get(WHOLE, {}).keys())
        if shared:
            cells = [
                _difference([(hits[WHOLE][s], hits[name][s]) for s in shared], p) for p in ("all", "long")
            ]
            rows.append(f"| {name} | {', '.join(map(str, shared))} | {' | '.join(cells)} |")
    head = [f"| {WHOLE} less … | seeds | all queries | long ones |", "|---|---|---|---|"]
    return "\n".join([*head, *rows]) if rows else ""


def _difference(pairs: Sequence[tuple[Any, Any]], part: str) -> str:
    """Of pairs of a seed: the mean difference of recall@1 over the queries of all settings, and its interval.

    A function is asked for in several settings: its queries are drawn together.
    """

    def of_all(settings: Mapping[str, Any], name: str) -> list[float]:
        return [hit for setting in settings.values() for hit in setting[name]]

    apart = np.mean([np.subtract(of_all(whole, part), of_all(other, part)) for whole, other in pairs], axis=0)
    if not len(apart):
        return "–"
    told = all(GROUPS[part] in setting for setting in pairs[0][0].values())  # not in records of before
    interval = bootstrap_interval(apart, groups=of_all(pairs[0][0], GROUPS[part]) if told else None)
    low, high = map(_share, (interval.low, interval.high))
    return f"{'+' if round(interval.estimate, 3) > 0 else ''}{_share(interval.estimate)} ({low} to {high})"


def shown(values: Sequence[float], form: Callable[[float], str]) -> str:
    """Mean and sample deviation; the value alone where there is one, a dash where there is none."""
    if not values:
        return "–"
    mean = form(statistics.fmean(values))
    return mean if len(values) == 1 else f"{mean} ± {form(statistics.stdev(values))}"


def table(found: Found) -> str:
    """Configurations of the same measures under one head each."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for name, seeds in found.items():
        groups.setdefault(tuple(next(iter(seeds.values()))), []).append(name)
    parts = []
    for columns, names in groups.items():
        lines = ["| | seeds | " + " | ".join(columns) + " |", "|---" * (len(columns) + 2) + "|"]
        for name in names:
            seeds = found[name]
            cells = [_cell(column, [one[column] for one in seeds.values()]) for column in columns]
            told = ", ".join(map(str, sorted(seed for seed in seeds if seed is not None))) or "–"
            lines.append(f"| {name} | {told} | " + " | ".join(cells) + " |")
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def _cell(column: str, values: Sequence[float | None]) -> str:
    """What is None was not measured: the seconds of a run that was cut off."""
    known, form = [value for value in values if value is not None], _form(column)
    cell = shown(known, form)
    return f"{cell} ({form(min(known))}–{form(max(known))})" if column.endswith("(range)") else cell


def _form(column: str) -> Callable[[float], str]:
    if column.endswith("seconds") or column.startswith(COUNTS):
        return "{:.0f}".format
    return "{:.1f}".format if column in (*SENTIHOOD, *SEMEVAL) else _share


def _share(value: float) -> str:
    # Without a sign where it rounds to nothing.
    told = f"{round(value, 3) + 0.0:.3f}".replace("-", "−")
    sign, digits = ("−", told[1:]) if told.startswith("−") else ("", told)
    return sign + digits.removeprefix("0")


def main(argv: list[str]) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Mean and deviation over seeds of a recipe's results.")
    parser.add_argument("results", type=Path)
    parser.add_argument("--only", nargs="*", default=[], help="configurations whose names begin so")
    arguments = parser.parse_args(argv)
    lines = arguments.results.read_text(encoding="utf-8").splitlines()
    found = collect(lines)
    wanted = {
        name: seeds
        for name, seeds in found.items()
        if not arguments.only or any(name.startswith(prefix) for prefix in arguments.only)
    }
    if not wanted:
        print(f"{arguments.results}: no finished configuration of that name", file=sys.stderr)
        return 1
    print("\n\n".join(filter(None, (table(wanted), differences(lines, list(wanted))))))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""The tables of `bcsd_operations_graph.py`: what each control reached, and what it is worth.

    python recipes/bcsd_operations_table.py FOLDER/results.jsonl… [--role test]

Means over the settings of the headline, mean and standard deviation over seeds. *Full* is the shipped score, *with* the
same with what was trained, at the weight that is best on the validation packages (mean over seeds and settings; for
``prefix`` in the place of the shipped model). Differences are over the queries of all settings, each query's mean over
seeds, with 95 % bootstrap intervals that draw functions: one is asked for in several settings.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft.bcsd.evaluate.tasks import HEADLINE
from weft.objective.intervals import bootstrap_interval

Records = list[dict[str, Any]]
#: Systems that are no weight of the trained cosine.
_OTHERS = ("cosine", "alone", "bag", "instead", "long", "group")


def hits(record: dict[str, Any], system: str, *, long: bool) -> list[NDArray[np.float64]]:
    """Of each setting of the headline, which queries were answered rightly."""
    found: list[NDArray[np.float64]] = []
    for setting in HEADLINE:
        own = record["hits"][setting]
        right = np.array(own[system], np.float64)
        found.append(right[np.array(own["long"]) == 1] if long else right)
    return found


def mean(record: dict[str, Any], system: str, *, long: bool = False) -> float:
    """Mean recall@1 over the headline."""
    return float(np.mean([own.mean() for own in hits(record, system, long=long)]))


def chosen(valid: Records) -> str:
    """The weight, or the system, that counts as *with*: the best weight on the validation packages."""
    systems = [name for name in valid[0]["hits"][HEADLINE[0]] if name not in _OTHERS]
    if "instead" in valid[0]["hits"][HEADLINE[0]]:
        return "instead"
    return max(systems, key=lambda system: np.mean([mean(record, system) for record in valid]))


def difference(one: Records, system: str, other: Records, against: str, *, long: bool) -> str:
    """Of two systems over the same queries."""
    parts = [
        np.mean([np.concatenate(hits(record, name, long=long)) for record in records], axis=0)
        for records, name in ((one, system), (other, against))
    ]
    groups = np.concatenate(hits(one[0], "group", long=long))
    interval = bootstrap_interval(parts[0] - parts[1], groups=groups)
    return f"{interval.estimate:+.4f} ({interval.low:+.4f} to {interval.high:+.4f})"


def spread(records: Records, system: str, *, long: bool = False) -> str:
    """Mean and standard deviation over seeds."""
    figures = [mean(record, system, long=long) for record in records]
    return f"{np.mean(figures):.4f} ± {np.std(figures, ddof=len(figures) > 1):.4f}"


def main(argv: list[str]) -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(
        description="Print what the controls of the graph over operations reached."
    )
    parser.add_argument("results", type=Path, nargs="+")
    parser.add_argument("--role", choices=("valid", "test"), default="valid")
    arguments = parser.parse_args(argv)
    lines = [line for path in arguments.results for line in path.read_text().splitlines()]
    records: Records = [json.loads(line) for line in lines]
    names = list(dict.fromkeys(record["control"] for record in records))
    judged: dict[str, Records] = {}
    for name in names:
        valid = [r for r in records if (r["control"], r["role"]) == (name, "valid")]
        own = [r for r in records if (r["control"], r["role"]) == (name, arguments.role)]
        if not own or not valid:
            continue
        judged[name] = own
        system = chosen(valid)
        print(f"{name}: {len(own)} seeds, with: {system}")
        for long in (False, True):
            print(
                f"  {'> 128 instructions' if long else 'all queries'}: alone {spread(own, 'alone', long=long)}, "
                f"bag {mean(own[0], 'bag', long=long):.4f}, full {mean(own[0], '0.0', long=long):.4f}, "
                f"with {spread(own, system, long=long)}, with − full "
                f"{difference(own, system, own, '0.0', long=long)}"
            )
        for setting in own[0]["hits"]:
            figures = [
                np.mean([np.mean(r["hits"][setting][s]) for r in own])
                for s in ("alone", "bag", "0.0", system)
            ]
            print(f"  {setting}: alone, bag, full, with " + " ".join(f"{figure:.3f}" for figure in figures))
    for name, own in judged.items():
        first = next(iter(n for n in judged if n.split(":")[0] == name.split(":")[0]))
        if first != name:
            for long in (False, True):
                print(
                    f"{first} less {name}, {'> 128 instructions' if long else 'all queries'}: alone "
                    f"{difference(judged[first], 'alone', own, 'alone', long=long)}"
                )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

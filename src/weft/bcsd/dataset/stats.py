"""Counting a data set: what a person wants to know before training on it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from weft.errors import InputError

#: Sequence lengths whose truncation is reported.
BUDGETS = (128, 256, 512)
_COLUMNS = (
    "package",
    "role",
    "group",
    "build",
    "architecture",
    "compiler",
    "level",
    "num_blocks",
    "num_edges",
    "num_instructions",
    "flags",
    "duplicate",
    "name",
    "token_digest",
)
#: Functions of fewer blocks share names and code by chance (``init``, a getter): not counted across the split.
_TELLING_BLOCKS = 3


def dataset_stats(path: Path) -> dict[str, Any]:
    """Counts, lengths, blocks, duplicates and truncation of an assembled data set.

    Raises:
        InputError: The file is missing, unreadable or no data set.
    """
    try:
        table = pq.read_table(path, columns=list(_COLUMNS))
    except FileNotFoundError as error:
        raise InputError("no such file", where=str(path), hint="weft bcsd dataset build makes it") from error
    except (OSError, ValueError, KeyError) as error:
        raise InputError("not a data set of functions", where=str(path)) from error
    frame = {name: table.column(name).to_numpy(zero_copy_only=False) for name in _COLUMNS if name != "flags"}
    blocks, lengths = frame["num_blocks"], frame["num_instructions"]
    kept = blocks >= 5
    builds = Counter(frame["group"])
    distinct = Counter(frame["group"][~frame["duplicate"].astype(bool)])
    big = set(frame["group"][kept])
    incomplete = sum("cfg_incomplete" in flags for flags in table.column("flags").to_pylist())
    return {
        "rows": table.num_rows,
        "groups": len(builds),
        "groups_4_builds": sum(count >= 4 for count in builds.values()),
        "groups_4_distinct": sum(count >= 4 for count in distinct.values()),
        "groups_5_blocks": len(big),
        "across_split": _across_split(frame),
        "roles": {role: _side(frame, role, builds) for role in ("train", "valid", "test")},
        "packages": {
            str(package): {
                "role": str(frame["role"][frame["package"] == package][0]),
                "builds": len(set(frame["build"][frame["package"] == package])),
                "groups": len(set(frame["group"][frame["package"] == package])),
                "groups_5_blocks": len(set(frame["group"][(frame["package"] == package) & kept])),
            }
            for package in sorted(set(frame["package"]))
        },
        "instructions": _quantiles(lengths),
        "blocks": _quantiles(blocks),
        "edges": _quantiles(frame["num_edges"]),
        "duplicates": int(frame["duplicate"].sum()),
        "cfg_incomplete": incomplete,
        "truncated": {
            str(level): {
                str(budget): _share(lengths[kept & (frame["level"] == level)], budget) for budget in BUDGETS
            }
            for level in sorted(set(frame["level"]))
        },
    }


def _across_split(frame: dict[str, Any]) -> dict[str, int]:
    """Names and token digests that functions for training share with those for validation or testing."""
    telling = frame["num_blocks"] >= _TELLING_BLOCKS
    training = frame["role"] == "train"
    return {
        key: len(set(frame[column][telling & training]) & set(frame[column][telling & ~training]))
        for key, column in (("names", "name"), ("codes", "token_digest"))
    }


def _side(frame: dict[str, Any], role: str, builds: Counter[str]) -> dict[str, int]:
    mask = frame["role"] == role
    groups = set(frame["group"][mask])
    return {
        "packages": len(set(frame["package"][mask])),
        "rows": int(mask.sum()),
        "groups": len(groups),
        "groups_4_builds": sum(builds[group] >= 4 for group in groups),
        "groups_5_blocks": len(set(frame["group"][mask & (frame["num_blocks"] >= 5)])),
    }


def _quantiles(values: np.ndarray[Any, Any]) -> dict[str, float]:
    if not len(values):
        return {}
    points = {"median": 50, "p90": 90, "p99": 99, "max": 100}
    return {"mean": round(float(values.mean()), 2)} | {
        name: float(np.percentile(values, point)) for name, point in points.items()
    }


def _share(lengths: np.ndarray[Any, Any], budget: int) -> float:
    """The share of functions longer than a budget."""
    return round(float((lengths > budget).mean()), 4) if len(lengths) else 0.0

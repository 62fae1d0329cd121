"""``weft bcsd eval``: recall of a model and of the baselines across compilers, levels and architectures."""

from __future__ import annotations

import json
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from weft.cli.options import Parser, add_json, add_machine, add_model, add_precision, device_of
from weft.cli.table import table

if TYPE_CHECKING:
    from weft.bcsd.evaluate.report import Cell


def parser() -> Parser:
    """The arguments of ``weft bcsd eval``."""
    result = Parser(
        "bcsd eval", "Recall@1, Recall@10 and MRR for each setting, size and pool, beside TF-IDF baselines."
    )
    result.add_argument("data", type=Path, metavar="DATA", help="the table that weft bcsd dataset made")
    add_model(result, None)
    result.add_argument("--role", choices=("test", "valid"), default="test", help="whose packages (test)")
    result.add_argument(
        "--sizes",
        default="5,1",
        metavar="N,…",
        help="least basic blocks of both functions, one table each (5,1)",
    )
    result.add_argument(
        "--pools", default="32,100,1000,all", metavar="K,…", help="candidates of a query (32,100,1000,all)"
    )
    result.add_argument(
        "--packages",
        metavar="NAME,…",
        help="whose functions are asked for; others fill up larger pools (all)",
    )
    result.add_argument("--settings", metavar="NAME,…", help="some of the settings (all)")
    add_precision(result, "fp32")
    add_json(result)
    add_machine(result)
    return result


def run(argv: list[str]) -> int:
    """Run ``weft bcsd eval``."""
    arguments = parser().parse_args(argv)
    from weft.bcsd.evaluate.report import evaluate_file
    from weft.bcsd.evaluate.tasks import SETTINGS
    from weft.errors import ConfigError

    filters = _numbers("--sizes", arguments.sizes)
    pools = [None if k == "all" else _number("--pools", k) for k in arguments.pools.split(",")]
    settings = arguments.settings.split(",") if arguments.settings else None
    unknown = [name for name in settings or () if name not in SETTINGS]
    if unknown:
        raise ConfigError(f"--settings: no setting {unknown[0]!r}", hint=f"one of: {', '.join(SETTINGS)}")
    cells = evaluate_file(
        arguments.data,
        arguments.model,
        device=device_of(arguments),
        precision=arguments.precision,
        role=arguments.role,
        min_blocks=filters,
        pools=pools,
        settings=settings,
        packages=arguments.packages.split(",") if arguments.packages else (),
    )
    print(json.dumps([cell.record() for cell in cells]) if arguments.json else listing(cells))
    return 0


def listing(cells: list[Cell]) -> str:
    """A table for each setting, filter and pool, a row for each system."""
    blocks: list[str] = []
    for _, group in groupby(cells, lambda cell: (cell.setting, cell.min_blocks, cell.pool)):
        found = list(group)
        first, result = found[0], found[0].result
        pool = f"all {result.pool}" if first.pool is None else f"{result.pool}"
        title = f"{first.setting}, ≥ {first.min_blocks} blocks, pool {pool}, {result.queries} queries"
        rows = [
            (
                cell.system,
                f"{cell.result.recall_1.estimate:.3f}",
                f"{cell.result.recall_1.low:.3f}–{cell.result.recall_1.high:.3f}",
                f"{cell.result.recall_10:.3f}",
                f"{cell.result.mrr:.3f}",
            )
            for cell in found
        ]
        blocks.append(f"{title}\n{table(('system', '>R@1', '>interval', '>R@10', '>MRR'), rows)}")
    return "\n\n".join(blocks)


def _numbers(flag: str, text: str) -> list[int]:
    return [_number(flag, part) for part in text.split(",")]


def _number(flag: str, text: str) -> int:
    from weft.errors import ConfigError

    if not text.isdecimal() or int(text) < 1:
        raise ConfigError(f"{flag}: {text!r}; it must be a number of at least 1")
    return int(text)

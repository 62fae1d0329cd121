"""``weft kg compare``: an extracted graph beside the seed graph."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from weft.kg.store.compare import Comparison


def parser() -> argparse.ArgumentParser:
    """The arguments of ``weft kg compare``."""
    result = argparse.ArgumentParser(
        prog="weft kg compare",
        description="Say how large a store's graph and a seed graph are, what they share and what is new, relation by "
        "relation. The facts that the store keeps count.",
    )
    result.add_argument("store", type=Path, metavar="STORE")
    result.add_argument(
        "seed",
        nargs="+",
        type=Path,
        metavar="SEED",
        help="seed triples (CSV, TSV, JSONL, N-Triples), or a data set of text for the facts that it knows",
    )
    result.add_argument(
        "--schema",
        type=Path,
        metavar="FILE",
        help="for seeds that use other names of relations (the store's)",
    )
    result.add_argument("--json", action="store_true", help="print JSON")
    return result


def run(argv: list[str]) -> int:
    """Run ``weft kg compare``."""
    arguments = parser().parse_args(argv)
    from weft.kg.read.funnel import Funnel
    from weft.kg.store.compare import compare, read_seed_graph
    from weft.kg.store.graph import Graph

    graph, funnel = Graph.load(arguments.store), Funnel()
    found = compare(graph, read_seed_graph(arguments.seed, graph, arguments.schema, funnel))
    for reason, items in funnel.listed.items():
        print(f"left out: {len(items)} {reason}, the first: {items[0]}", file=sys.stderr)
    print(json.dumps(found.record(), ensure_ascii=False) if arguments.json else _table(found))
    return 0


def _table(found: Comparison) -> str:
    shares = {"facts": found.facts, "entities": found.entities, **found.relations}
    width = max(map(len, shares))
    lines = [f"{'':<{width}}  {'seed':>9}  {'store':>9}  {'both':>9}  {'new':>9}  {'not found':>9}"]
    for name, share in shares.items():
        numbers = (share.seed, share.graph, share.both, share.new, share.not_found)
        lines.append(f"{name:<{width}}  " + "  ".join(f"{number:>9}" for number in numbers))
    lines.append(f"new facts between two entities of the seed: {found.between_known}")
    return "\n".join(lines)

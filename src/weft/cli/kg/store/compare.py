"""``weft kg compare``: an extracted graph beside the seed graph."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from weft.cli.kg.met import say_unused
from weft.cli.options import Parser, add_json, add_store
from weft.cli.table import table

if TYPE_CHECKING:
    from weft.kg.storage.compare import Comparison


def parser() -> Parser:
    """The arguments of ``weft kg compare``."""
    result = Parser(
        "kg compare",
        "Say how large a store's graph and a seed graph are, what they share and what is new, relation by relation. "
        "The facts that the store keeps count.",
    )
    add_store(result)
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
    add_json(result)
    return result


def run(argv: list[str]) -> int:
    """Run ``weft kg compare``."""
    arguments = parser().parse_args(argv)
    from weft.kg.read.funnel import Funnel
    from weft.kg.storage.compare import compare, read_seed_graph
    from weft.kg.storage.graph import Graph

    graph, funnel = Graph.load(arguments.store), Funnel()
    found = compare(graph, read_seed_graph(arguments.seed, graph, arguments.schema, funnel))
    say_unused(funnel.listed)
    print(json.dumps(found.record(), ensure_ascii=False) if arguments.json else _listing(found))
    return 0


def _listing(found: Comparison) -> str:
    shares = {"facts": found.facts, "entities": found.entities, **found.relations}
    rows = [
        (name, share.seed, share.graph, share.both, share.new, share.not_found)
        for name, share in shares.items()
    ]
    heads = ("", ">seed", ">store", ">both", ">new", ">not found")
    return f"{table(heads, rows)}\nnew facts between two entities of the seed: {found.between_known}"

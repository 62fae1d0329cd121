"""``weft kg export``: a store in other formats."""

from __future__ import annotations

import argparse
from pathlib import Path


def parser() -> argparse.ArgumentParser:
    """The arguments of ``weft kg export``."""
    result = argparse.ArgumentParser(
        prog="weft kg export",
        description="Write the kept facts of a store: ntriples, turtle, jsonld, graphml, jsonl (files); "
        "neo4j, parquet (folders).",
    )
    result.add_argument("store", type=Path, metavar="STORE")
    result.add_argument("--format", required=True, metavar="FORMAT")
    result.add_argument("-o", "--output", type=Path, required=True, metavar="PLACE")
    return result


def run(argv: list[str]) -> int:
    """Run ``weft kg export``."""
    arguments = parser().parse_args(argv)
    from weft.kg.store.export import export
    from weft.kg.store.graph import Graph

    graph = Graph.load(arguments.store)
    export(graph, arguments.format, arguments.output)
    print(f"{len(graph)} facts in {arguments.output}")
    return 0

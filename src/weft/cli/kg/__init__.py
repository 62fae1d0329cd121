"""``weft kg``: knowledge graphs from text and code."""

from __future__ import annotations

from weft.cli.subcommands import run_subcommand

COMMANDS: dict[str, tuple[str, str]] = {
    "build": (
        "weft.cli.kg.build",
        "source trees or text to a data set: chunks, facts, a vocabulary; prints the funnel",
    ),
    "train": ("weft.cli.kg.train", "train a leafy chain model on a data set; resumable"),
    "eval": ("weft.cli.kg.eval", "score a model and the baselines on held-out modules"),
    "facts": (
        "weft.cli.kg.facts",
        "facts of a Python file, each with its confidence, beside the syntax tree's",
    ),
    "extract": ("weft.cli.kg.extract", "read a corpus into a store, document by document"),
    "query": ("weft.cli.kg.query", "ask a store in SPARQL"),
    "show": ("weft.cli.kg.show", "the facts of an entity, with the sentences that state them"),
    "export": ("weft.cli.kg.export", "write a store as RDF, GraphML, CSV for Neo4j, JSONL or Parquet"),
    "compare": ("weft.cli.kg.compare", "a store's graph beside the seed graph: sizes, shared and new facts"),
    "merge": ("weft.cli.kg.merge", "make two entities one"),
    "unmerge": ("weft.cli.kg.unmerge", "undo a merge"),
    "rm": ("weft.cli.kg.rm", "take documents and their facts out of a store"),
}


def run(argv: list[str]) -> int:
    """Find the subcommand, import it, run it."""
    return run_subcommand("kg", "Knowledge graphs from text and code.", COMMANDS, argv)

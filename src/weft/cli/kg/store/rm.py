"""``weft kg rm``: take documents and their facts out of a store."""

from __future__ import annotations

from difflib import get_close_matches

from weft.cli.options import Parser, add_store
from weft.errors import InputError, counted


def parser() -> Parser:
    """The arguments of ``weft kg rm``."""
    result = Parser(
        "kg rm", "Take documents out of a store; facts that no other document states go with them."
    )
    add_store(result)
    result.add_argument("document", nargs="+", metavar="DOCUMENT", help="as weft kg show names it")
    return result


def run(argv: list[str]) -> int:
    """Run ``weft kg rm``."""
    arguments = parser().parse_args(argv)
    from weft.kg.storage.graph import Graph
    from weft.kg.storage.writer import open_writer

    with open_writer(arguments.store) as writer:
        for name in arguments.document:
            if name not in writer.documents:
                near = get_close_matches(name, list(writer.documents), n=3)
                raise InputError(
                    f"no document {name!r}; nothing was taken out",
                    where=str(arguments.store),
                    hint=f"near: {', '.join(near)}" if near else None,
                )
        before = len(Graph.load(arguments.store))
        places = sum(writer.remove(name).facts for name in dict.fromkeys(arguments.document))
        writer.finish()
    after = len(Graph.load(arguments.store))
    print(f"{counted(places, 'place')} taken out: {counted(before - after, 'fact')} fewer, {after} left")
    return 0

"""Answers of a search as JSON values: the documented, stable form of ``weft bcsd search``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

from weft.bcsd.read.demangle import demangle_safely
from weft.bcsd.read.names import spelled
from weft.bcsd.use.search.answers import Answer

Readable = Callable[[Iterable[str]], dict[str, str]]
#: Answers whose names are demangled at once.
_AT_ONCE = 64


def search_record(
    answers: Iterable[Answer], path: str, head: dict[str, Any], readable: Readable = demangle_safely
) -> dict[str, Any]:
    """All answers; see ``docs/bcsd.md``.

    Args:
        answers: One for each function that was asked for.
        path: The file that was asked about.
        head: What was searched: ``index``, ``model``, ``rows``, ``remarks``.
        readable: Gives the readable forms of mangled names.
    """
    queries: list[dict[str, Any]] = []
    for answer, forms in with_readable(answers, readable):
        hits = [_named(hit._asdict(), forms) for hit in answer.hits]
        queries.append({**_named(answer._asdict(), forms), "hits": hits})
    return {"schema": 1, **head, "binary": spelled(path), "queries": queries}


def with_readable(
    answers: Iterable[Answer], readable: Readable = demangle_safely
) -> Iterator[tuple[Answer, dict[str, str]]]:
    """Each answer, and the readable forms of the mangled names in it."""
    waiting = iter(answers)
    while some := list(islice(waiting, _AT_ONCE)):
        forms = readable([*(a.name for a in some), *(hit.name for a in some for hit in a.hits)])
        yield from ((answer, forms) for answer in some)


def _named(fields: dict[str, Any], readable: dict[str, str]) -> dict[str, Any]:
    """The fields, with the readable name where the name is mangled."""
    text = readable.get(fields["name"])
    return {**fields, "demangled": text} if text else fields

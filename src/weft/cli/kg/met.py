"""What was met in a corpus besides the documents that were read: said on standard error."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

from weft.errors import counted

_NAMED = 5


def say_unused(unused: Mapping[str, Sequence[str]]) -> None:
    """Say what of documents and seed files was left out.

    Args:
        unused: What, by reason.
    """
    for reason, items in unused.items():
        print(f"left out: {reason} ({len(items)}), the first: {items[0]}", file=sys.stderr)


def say_met(others: Mapping[str, int], foreign: Sequence[tuple[str, str]]) -> None:
    """Say which files were not read because of their kind, and which documents are in another language.

    Args:
        others: Files of other kinds, by suffix.
        foreign: Documents, and the code of the language of each.
    """
    from weft.kg.extraction.model import TEXT_MODEL, listed
    from weft.kg.read.prose import SUFFIXES

    if others:
        texts = sum(others.get(suffix, 0) for suffix in SUFFIXES)
        way = f" (--model {TEXT_MODEL} reads {texts} of them, into a store of its own)" if texts else ""
        files = counted(sum(others.values()), "file of another kind", "files of other kinds")
        print(f"{files} not read: {listed(others)}{way}", file=sys.stderr)
    if foreign:
        named = ", ".join(f"{document} ({code})" for document, code in foreign[:_NAMED])
        more = ", …" if len(foreign) > _NAMED else ""
        documents = counted(len(foreign), "document seems", "documents seem")
        them = "it" if len(foreign) == 1 else "them"
        print(
            f"{documents} to be in another language than English, the only one that the model "
            f"reads; what it says of {them} is worth little: {named}{more}",
            file=sys.stderr,
        )

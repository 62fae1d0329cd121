"""Questions that are answered together: what goes wrong with some is not the others' fault."""

from __future__ import annotations

import asyncio
from typing import Any

from weft.errors import InputError
from weft.serve.batches import Batches


def ask(requests: list[Any]) -> list[bytes]:
    """Answers what is no error."""
    for request in requests:
        if isinstance(request, Exception):
            raise request
    return [str(request).encode() for request in requests]


def answers(together: int, *requests: Any) -> list[Any]:
    """What each of some requests gets that come at once."""

    async def all_of_them() -> list[Any]:
        batches = Batches(ask, together)
        asked = asyncio.gather(*map(batches.answer, requests), return_exceptions=True)
        return await asyncio.wait_for(asked, 60)

    return asyncio.run(all_of_them())


def test_what_one_did_wrong_is_not_the_fault_of_the_others():
    error = InputError("bad")
    assert answers(9, "a", error, "b") == [b"a", error, b"b"]


def test_an_unforeseen_error_is_of_its_batch_alone():
    error = OSError(24, "Too many open files")
    assert answers(1, error, "a", "b") == [error, b"a", b"b"]

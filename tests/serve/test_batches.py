"""Questions that are answered together: what goes wrong with some is not the others' fault."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any, cast

from weft.errors import InputError
from weft.serve.batches import Batches
from weft.serve.problems import Refusal
from weft.serve.tasks.task import Task
from weft.serve.tasks.texts import predict


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


def test_who_comes_behind_too_many_is_told_to_come_again():
    found = answers(1, *range(1100))
    refused = [one for one in found if isinstance(one, Refusal)]
    assert {(one.status, one.headers["Retry-After"]) for one in refused} == {(429, "5")}
    assert len(found) - len(refused) == 1024


def test_an_unforeseen_error_is_of_its_batch_alone():
    error = OSError(24, "Too many open files")
    assert answers(1, error, "a", "b") == [error, b"a", b"b"]


def test_requests_together_are_each_read_as_they_ask():
    def asked(text: str, as_written: bool, *words: str) -> dict[str, Any]:
        return {
            "texts": [text, "The food was fine."],
            "aspects": ["wifi"],
            "targets": [],
            "threshold": None,
            "abstain": None,
            "as_written": as_written,
            "words": list(words),
        }

    requests = [
        asked("Wifi 1/10", True),
        asked("Wifi 1/10", False),
        asked("Bed 9/10", True),
        asked("Wifi 9/10", False),
        asked("The batery was dead", False, "Batery"),
        asked("The batery was dead", False),
    ]
    served = cast("Any", SimpleNamespace(absa="absa-any"))
    found = predict(Task("absa.predict", {"requests": requests}, served), lambda _: None)
    assert [[record["text"] for record in part] for part in found] == [
        request["texts"] for request in requests
    ]
    assert [part[0]["polarity"] for part in found[1:4:2]] == ["negative", "positive"]
    assert ["read as meant" in (part[0]["note"] or "") for part in found] == [
        *(False, True, False, True, False, True)
    ]

"""Stores that are asked: each module names the facts of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from weft.kg.read.redocred import redocred_schema
from weft.kg.storage.layout import Evidence
from weft.kg.storage.writer import create_store, open_writer


@pytest.fixture(scope="module")
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of the module's ``FACTS``: head, relation, tail, confidence."""
    folder = tmp_path_factory.mktemp("ask") / "store"
    create_store(folder, redocred_schema(), "folded")
    with open_writer(folder) as writer:
        places = [
            Evidence(head, relation, tail, sure, 0, 4, 0, 9, 1, f"{head} {relation} {tail}.")
            for head, relation, tail, sure in request.module.FACTS
        ]
        writer.put("one", "c", "00", "m", places)
        writer.finish()
    return folder

"""Jobs that an earlier version of the service kept: an update goes on with them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from weft.platform.processes import Limits
from weft.serve.jobs.ledger import Ledger
from weft.serve.tasks.task import File, Served, Task, perform

ASKED = {"aspects": ["food"], "targets": [], "threshold": None, "abstain": None}
TABLE = {"file": "f", "format": None, "text_column": "text", "target_column": None, "aspect_column": None}
TEXT = "The food was great."


@pytest.mark.parametrize(
    ("kind", "request_"),
    [
        ("absa.texts", {"texts": [TEXT], **ASKED}),
        ("absa.table", {**ASKED, **TABLE}),
        ("absa.find", {"texts": [TEXT]}),
        ("absa.find_table", TABLE),
        ("absa.explain", {"text": TEXT, **ASKED, "method": "occlusion", "polarity": None, "model": None}),
    ],
)
def test_a_job_that_does_not_say_how_words_are_read(tmp_path: Path, kind: str, request_: dict[str, Any]):
    table = tmp_path / "rows.csv"
    table.write_text(f"text\n{TEXT}\n")
    ledger = Ledger(tmp_path / "jobs")
    ledger.add("ann", kind, request_, [], 1)
    ledger.close()
    job = Ledger(tmp_path / "jobs").claim()
    assert job is not None
    served = Served(None, None, "absa-any", Limits())
    found = perform(Task(job.kind, job.request, served, {"f": File(table, "rows.csv")}), lambda _: None)
    assert isinstance(found, bytes)
    told = json.loads(found)
    (answer,) = told["records"] if kind.endswith("table") else told
    assert answer["polarity"] == "positive"

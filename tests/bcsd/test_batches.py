"""Many small files in one go: the same answers as one by one, and a bad one harms no other."""

import os
import time

import pyarrow.parquet as pq
import pytest
from tests.bcsd.test_members import archive

from weft.bcsd.use import batches as batches_module
from weft.bcsd.use.batches import batches, each_of, run_batches
from weft.bcsd.use.extract_files import Extraction, extract
from weft.errors import InputError, LimitError
from weft.platform.processes import Limits


@pytest.fixture
def library(files, tmp_path):
    place = tmp_path / "lib.a"
    good = (files / "gcc-O2-x86_64.o").read_bytes()
    bad = good[:18] + b"\xff\xff" + good[20:]
    place.write_bytes(archive(*((f"m{number}.o", bad if number == 2 else good) for number in range(5))))
    return place


def test_members_of_one_archive_go_together(library, tmp_path, monkeypatch):
    monkeypatch.setattr(batches_module, "LARGEST", 2)
    other = tmp_path / "plain.so"
    members = [f"{library}(m{number}.o)" for number in range(5)]
    jobs = [*members, str(other), str(other)]
    found = batches(jobs, str, 1)
    assert [len(batch) for batch in found] == [2, 2, 1, 1, 1]
    assert [job for batch in found for job in batch] == jobs
    monkeypatch.undo()
    assert [len(batch) for batch in batches(members, str, 1)] == [5]
    assert [len(batch) for batch in batches(members, str, 2)] == [3, 2], "each process has its share"


def test_a_table_of_an_archive_holds_every_member(library, tmp_path):
    whole, alone = tmp_path / "whole.parquet", tmp_path / "alone.parquet"
    reports = extract([str(library)], str(whole), Extraction(lifter="none"))
    members = [f"{library}(m{number}.o)" for number in range(5)]
    assert [report.path for report in reports] == members
    assert [report.error is None for report in reports] == [True, True, False, True, True]
    assert "m2.o" in str(reports[2].error)
    table = pq.read_table(whole)
    assert table.num_rows == sum(report.counts.functions for report in reports if report.counts)
    extract([members[3]], alone, Extraction(lifter="none"))
    third = [name == members[3] for name in table.column("binary").to_pylist()]
    assert table.filter(third) == pq.read_table(alone)


def test_the_seconds_of_a_job_are_told_whether_it_is_alone_or_not():
    for batch in ([0.02], [0.02, 0.03]):
        outcomes = each_of(time.sleep, batch)
        assert [outcome.item for outcome in outcomes] == batch
        assert all(outcome.seconds >= outcome.item for outcome in outcomes)


def _fragile(batch):
    if len(batch) > 1 and "bad" in batch:
        os._exit(3)
    return [outcome.error or outcome.value for outcome in each_of(_checked, batch)]


def _checked(job):
    if job == "bad":
        raise InputError("bad", where=job)
    if job == "large":
        raise LimitError("too large", where=job)
    return job.upper()


def test_a_batch_that_breaks_its_process_is_taken_apart():
    jobs = [("a", "bad", "b"), ("c",), ("d", "e")]
    done = list(run_batches(_fragile, jobs, workers=1, limits=Limits(60, 2048)))
    assert [outcome.item for outcome in done] == [("a",), ("bad",), ("b",), ("c",), ("d", "e")]
    assert [outcome.value for outcome in done] == [["A"], None, ["B"], ["C"], ["D", "E"]]
    assert str(done[1].error) == "bad: bad"


def test_what_does_not_fit_beside_others_is_tried_by_itself():
    done = list(run_batches(_fragile, [("a", "large")], workers=1, limits=Limits(60, 2048)))
    assert [outcome.item for outcome in done] == [("a",), ("large",)]
    assert isinstance(done[1].error, LimitError)

"""The threads that do jobs: an error is one job's, or passes; they go on, and a stop loses nothing."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from weft.errors import Interrupted, StoreError
from weft.platform.processes import Limits
from weft.platform.processes.crew import Crew, Tell
from weft.serve import desk as desks
from weft.serve.guard.tokens import LOCAL
from weft.serve.jobs import runner as runners
from weft.serve.jobs.ledger import CANCELLED, DONE, FAILED, RUNNING, Job, Ledger
from weft.serve.jobs.runner import Runner, wait_for
from weft.serve.problems import Paths, record
from weft.serve.settings import Settings


class FakeCrew:
    """Does what it is told by the tests."""

    def __init__(self, *_: Any) -> None:
        self.work: Callable[[Callable[[], bool]], bytes] = lambda wanted: b"{}"

    def run(self, item: Any, tell: Any = None, wanted: Any = lambda: True, seconds: Any = None) -> bytes:
        return self.work(wanted)

    def close(self) -> None: ...


class Work:
    """A runner, its ledger, and what it said."""

    def __init__(self, place: Path, crew: Any) -> None:
        self.ledger, self.crew = Ledger(place), crew
        self.ended: list[tuple[str, str]] = []
        self.faults: list[Exception] = []
        self.runner = Runner(
            self.ledger,
            crew,
            FakeCrew(),  # type: ignore[arg-type]
            lambda job: 60,
            lambda error: record(error, Paths([])),
            lambda kind, state: self.ended.append((kind, state)),
            1,
            self.faults.append,
        )

    def accept(self) -> str:
        job = self.ledger.add("ann", "bcsd.match", {}, [], 9)
        assert job is not None
        self.runner.wake()
        return job.id

    def job(self, name: str) -> Job:
        found = self.ledger.job(name, "ann")
        assert found is not None
        return found

    def comes_to(self, name: str, state: str) -> bool:
        return wait_for(lambda: self.job(name).state == state, 60)


@contextmanager
def working(place: Path, crew: Any) -> Iterator[Work]:
    """Threads at work."""
    work = Work(place, crew)
    work.runner.start()
    yield work
    work.runner.stop()
    work.ledger.close()


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runners, "_PAUSE", 0.01)


def told(cause: sqlite3.Error) -> StoreError:
    """What the ledger raises."""
    error = StoreError("the list of jobs cannot be used")
    error.__cause__ = cause
    return error


def failing(times: int, error: Exception, then: Callable[..., Any]) -> Callable[..., Any]:
    """Raises so many times, and works after that."""
    left = [error] * times

    def call(*arguments: Any, **named: Any) -> Any:
        if left:
            raise left.pop()
        return then(*arguments, **named)

    return call


def test_a_job_whose_worker_cannot_be_made_fails_and_the_next_is_done(tmp_path: Path):
    crew = FakeCrew()
    crew.work = failing(1, OSError(24, "Too many open files"), crew.work)
    with working(tmp_path, crew) as work:
        first, second = work.accept(), work.accept()
        assert work.comes_to(second, DONE)
        assert (work.job(first).problem or {})["detail"] == "a fault of weft's own"
        assert [type(fault) for fault in work.faults] == [OSError]
        assert work.ended == [("bcsd.match", FAILED), ("bcsd.match", DONE)]


def test_a_ledger_that_cannot_be_used_just_now_is_tried_again(tmp_path: Path):
    full = told(sqlite3.OperationalError("database or disk is full"))
    work = Work(tmp_path, FakeCrew())
    for name in ("claim", "finish"):
        setattr(work.ledger, name, failing(3, full, getattr(work.ledger, name)))
    work.runner._prepare = failing(3, full, lambda job: 60)
    work.runner.start()
    assert work.comes_to(work.accept(), DONE)
    assert work.faults == [full] * 9
    work.runner.stop()


def test_a_result_that_can_never_be_kept_fails_its_job(tmp_path: Path):
    work = Work(tmp_path, FakeCrew())
    work.ledger.finish = failing(9, told(sqlite3.DataError("string or blob too big")), bool)
    work.runner.start()
    name = work.accept()
    assert work.comes_to(name, FAILED)
    assert (work.job(name).problem or {})["status"] == 503
    work.runner.stop()


def test_a_transaction_that_the_disk_ended_is_not_ended_again(tmp_path: Path):
    ledger = Ledger(tmp_path)

    def fills_the_disk() -> None:
        with ledger._change() as base:
            base.execute("ROLLBACK")  # as SQLite does itself there
            raise sqlite3.OperationalError("database or disk is full")

    with pytest.raises(StoreError, match="disk is full"):
        fills_the_disk()
    assert ledger.add("ann", "k", {}, [], 9) is not None


def test_what_was_interrupted_and_nobody_cancelled_fails(tmp_path: Path):
    crew = FakeCrew()
    crew.work = failing(1, Interrupted("stopped"), crew.work)
    with working(tmp_path, crew) as work:
        assert work.comes_to(work.accept(), FAILED)


def test_a_cancelled_job_is_counted_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    begun, left = threading.Event(), threading.Event()

    def until_unwanted(wanted: Callable[[], bool]) -> bytes:
        begun.set()
        assert wait_for(lambda: not wanted(), 60)
        left.set()
        raise Interrupted("stopped")

    monkeypatch.setattr(desks, "Crew", FakeCrew)
    desk = desks.Desk(Settings(tmp_path / "data"))
    monkeypatch.setattr(desk._jobs, "work", until_unwanted)
    desk._runner.start()
    job = desk.submit(LOCAL, "bcsd.match", {}, [])
    assert begun.wait(60)
    assert desk.cancel(job)
    assert left.wait(60)
    assert wait_for(lambda: desk._runner.progress(job.id) is None, 60)
    desk._runner.stop()
    assert desk.job(LOCAL, job.id).state == CANCELLED
    assert (
        'weft_jobs_finished_total{kind="bcsd.match",state="cancelled"} 1.0' in desk.measures.text().decode()
    )


def sleep(item: Any, tell: Tell) -> bytes:
    """A job that takes long."""
    tell({"what": "sleeping", "done": 0, "total": 0})
    time.sleep(item)
    return b"{}"


def test_a_job_that_is_under_way_at_a_stop_goes_on_after_the_next_start(tmp_path: Path):
    with working(tmp_path, Crew(sleep, 1, Limits(240, 4096))) as work:
        name = work.accept()
        assert wait_for(lambda: (work.runner.progress(name) or {}).get("what") == "sleeping", 240)
        work.runner.stop()
        assert work.job(name).state == RUNNING
        assert work.ended == work.faults == []
    with working(tmp_path, FakeCrew()) as work:
        assert work.comes_to(name, DONE)

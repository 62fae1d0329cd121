"""Jobs: accepted once on the disk, done once, cancelled, kept, resumed; and the uploads beside them."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.serve.conftest import FILES, Service, serving
from weft.errors import InputError, OutputError, StoreError
from weft.serve.jobs.files import Files, clean_name
from weft.serve.jobs.ledger import ATTEMPTS, CANCELLED, DONE, FAILED, QUEUED, RUNNING, Ledger
from weft.serve.jobs.runner import SHORT
from weft.serve.problems import Refusal
from weft.serve.routes import work
from weft.serve.settings import Bounds

A, B = FILES / "gcc-O2-x86_64.so", FILES / "clang-O2-x86_64.so"
PROBLEM = {"type": "urn:weft:problem:stopped", "title": "t", "status": 409, "detail": "d"}


def test_a_job_goes_through_its_states(tmp_path: Path):
    ledger = Ledger(tmp_path)
    job = ledger.add("ann", "bcsd.match", {"a": "x"}, ["x"], 2)
    assert job is not None
    assert ledger.in_use("x")
    claimed = ledger.claim()
    assert claimed is not None
    assert (claimed.id, claimed.request, claimed.uploads) == (job.id, {"a": "x"}, ("x",))
    assert ledger.claim() is None
    assert ledger.finish(job.id, b"{}")
    assert not ledger.finish(job.id, b"other"), "a job is done once"
    assert ledger.result(job.id) == b"{}"
    assert not ledger.in_use("x")
    assert ledger.job(job.id, "bob") is None
    assert not ledger.cancel(job.id)
    assert ledger.counts() == {QUEUED: 0, RUNNING: 0, DONE: 1, FAILED: 0, CANCELLED: 0}
    assert ledger.expired(time.time() + 1)[0] == [job.id]


def test_no_more_wait_than_may(tmp_path: Path):
    ledger = Ledger(tmp_path)
    assert ledger.add("ann", "k", {}, [], 1) is not None
    assert ledger.add("ann", "k", {}, [], 1) is None
    assert ledger.add("bob", "k", {}, [], 1) is not None


def test_what_was_under_way_waits_again_and_what_kills_fails_in_the_end(tmp_path: Path):
    name = ""
    for attempt in range(1, ATTEMPTS + 1):
        ledger = Ledger(tmp_path)
        if attempt == 1:
            job = ledger.add("ann", "k", {}, [], 9)
            assert job is not None
            name = job.id
        assert ledger.resume(PROBLEM) == 1
        claimed = ledger.claim()
        assert claimed is not None
        assert claimed.attempts == attempt - 1
        ledger.close()  # the process dies
    ledger = Ledger(tmp_path)
    assert ledger.resume(PROBLEM) == 0
    found = ledger.job(name, "ann")
    assert found is not None
    assert (found.state, found.problem) == (FAILED, PROBLEM)


def test_what_the_service_may_have_died_of_goes_after_the_others(tmp_path: Path):
    ledger = Ledger(tmp_path)
    first, second = (ledger.add("ann", "k", {}, [], 9) for _ in range(2))
    assert first is not None
    assert second is not None
    claimed = ledger.claim()
    assert claimed is not None
    assert claimed.id == first.id
    ledger.close()
    ledger = Ledger(tmp_path)
    assert ledger.resume(PROBLEM) == 2
    order = [ledger.claim(), ledger.claim()]
    assert [job.id for job in order if job is not None] == [second.id, first.id]


def test_what_takes_seconds_has_a_queue_of_its_own(tmp_path: Path):
    ledger = Ledger(tmp_path)
    long, short = (ledger.add("ann", kind, {}, [], 9) for kind in ("bcsd.match", SHORT[0]))
    assert long is not None
    assert short is not None
    claimed = ledger.claim(SHORT)
    assert claimed is not None
    assert claimed.id == short.id
    assert ledger.claim(SHORT) is None
    claimed = ledger.claim(but=SHORT)
    assert claimed is not None
    assert claimed.id == long.id
    assert ledger.claim(but=SHORT) is None


def test_a_damaged_list_of_jobs_is_told(tmp_path: Path):
    (tmp_path / "jobs.sqlite").write_bytes(b"no database at all" * 100)
    with pytest.raises(StoreError, match="the list of jobs cannot be used"):
        Ledger(tmp_path)


@pytest.mark.parametrize("before", [False, True], ids=["new", "there"])
def test_what_users_send_only_the_owner_of_the_service_reads(tmp_path: Path, before: bool):
    folder = tmp_path / "data"
    if before:  # by a service that let others read
        Ledger(folder).close()
        for name in ("jobs.sqlite", "jobs.sqlite-wal", "jobs.sqlite-shm"):
            (folder / name).touch()
            (folder / name).chmod(0o644)
    mask = os.umask(0o022)
    try:
        ledger = Ledger(folder)
        ledger.add("ann", "absa.texts", {"texts": ["a secret"]}, [], 9)
    finally:
        os.umask(mask)
    modes = {path.name: oct(path.stat().st_mode & 0o777) for path in folder.iterdir()}
    assert modes == dict.fromkeys(("jobs.sqlite", "jobs.sqlite-wal", "jobs.sqlite-shm"), "0o600")
    assert folder.stat().st_mode & 0o777 == 0o700


async def pieces(*parts: bytes) -> AsyncIterator[bytes]:
    for part in parts:
        yield part


def test_a_disk_without_room_for_a_folder_is_told_as_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    files = Files(tmp_path / "uploads", Ledger(tmp_path), Bounds())

    def full(path: Path, *_: Any, **options: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    monkeypatch.setattr(Path, "mkdir", full)
    with pytest.raises(OutputError, match="No space left"):
        asyncio.run(files.take("ann", "a", pieces(b"a")))


def test_an_upload_is_for_its_owner_alone_and_goes_with_what_was_made_of_it(tmp_path: Path):
    ledger = Ledger(tmp_path)
    files = Files(tmp_path / "uploads", ledger, Bounds(kept_bytes=10))
    upload = asyncio.run(files.take("ann", "a/b/../x.CSV", pieces(b"abc", b"def")))
    assert (upload.name, upload.size) == ("x.CSV", 6)
    path = files.path(upload)
    assert path.read_bytes() == b"abcdef"
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.name == "content.csv"
    with pytest.raises(Refusal, match="10 bytes together"):
        asyncio.run(files.take("ann", "y", pieces(b"abcde")))
    with pytest.raises(InputError, match="empty"):
        asyncio.run(files.take("ann", "y", pieces()))
    assert os.listdir(tmp_path / "uploads") == [upload.id]
    (path.parent / "made of it").write_text("x")
    files.remove(upload.id)
    assert os.listdir(tmp_path / "uploads") == []


def test_files_that_come_at_once_have_one_bound(tmp_path: Path):
    ledger = Ledger(tmp_path)
    files = Files(tmp_path / "uploads", ledger, Bounds(kept_bytes=100))

    async def slowly() -> AsyncIterator[bytes]:
        for _ in range(6):
            yield b"x" * 10
            await asyncio.sleep(0)

    async def both() -> list[Any]:
        coming = [files.take("ann", "a", slowly()), files.take("ann", "b", slowly())]
        return await asyncio.gather(*coming, files.take("bob", "c", slowly()), return_exceptions=True)

    *anns, bobs = asyncio.run(both())
    assert any(isinstance(one, Refusal) for one in anns)
    assert ledger.held("ann") <= 100
    assert bobs.size == ledger.held("bob") == 60
    held = ledger.held("ann")
    asyncio.run(files.take("ann", "d", pieces(b"x" * (100 - held))))
    assert ledger.held("ann") == 100, "what was refused does not count"


def test_the_sweep_takes_what_is_old_and_what_nobody_knows(tmp_path: Path):
    ledger = Ledger(tmp_path)
    files = Files(tmp_path / "uploads", ledger, Bounds(keep_seconds=0.01))
    needed = asyncio.run(files.take("ann", "a", pieces(b"a")))
    old = asyncio.run(files.take("ann", "b", pieces(b"b")))
    ledger.add("ann", "k", {}, [needed.id], 9)
    (tmp_path / "uploads" / "0123456789abcdef01234567").mkdir()
    time.sleep(0.05)
    files.sweep()
    assert os.listdir(tmp_path / "uploads") == [needed.id]
    assert ledger.upload(old.id, "ann") is None


def test_the_sweep_leaves_what_is_still_coming(tmp_path: Path):
    files = Files(tmp_path / "uploads", Ledger(tmp_path), Bounds())

    async def swept_meanwhile() -> AsyncIterator[bytes]:
        yield b"abc"
        for folder in (tmp_path / "uploads").iterdir():
            os.utime(folder, (1, 1))  # it has been coming for long
        files.sweep()
        yield b"def"

    upload = asyncio.run(files.take("ann", "a", swept_meanwhile()))
    assert files.path(upload).read_bytes() == b"abcdef"
    assert files._coming == {}


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("a\x1b[31m.so", "a�[31m.so"),
        ("é" * 500, "é" * 127),
        ("Ж" * 150 + ".py", "Ж" * 126 + ".py"),
        ("x" * 300 + ".CSV", "x" * 251 + ".CSV"),
        ("a." + "b" * 300, "a." + "b" * 253),
    ],
)
def test_a_name_is_what_a_file_system_takes(name: str, kept: str, tmp_path: Path):
    assert clean_name(name) == kept
    (tmp_path / kept).touch()


def test_an_upload_that_a_job_needs_stays(client: httpx.Client, send: Callable[..., str]):
    file = send(A)
    job = client.post("/v1/bcsd/match?wait=0", json={"a": file, "b": file}).json()
    assert (job["kind"], job["uploads"], job["result"]) == ("bcsd.match", [file, file], None)
    refused = client.delete(f"/v1/uploads/{file}")
    assert refused.status_code == 409 or client.get(f"/v1/jobs/{job['id']}").json()["state"] == "done"
    assert client.delete(f"/v1/jobs/{job['id']}").status_code == 204
    again = client.get(f"/v1/jobs/{job['id']}").json()
    assert again["state"] in ("cancelled", "done")
    if again["state"] == "cancelled":
        told = client.get(f"/v1/jobs/{job['id']}/result")
        assert (told.status_code, told.json()["detail"]) == (409, "the job is cancelled")
    assert client.delete(f"/v1/uploads/{file}").status_code == 204
    assert client.get(f"/v1/uploads/{file}").status_code == 404


def test_who_waits_for_events_hears_that_the_service_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    states = iter(["queued"] * 3 + ["done"])
    monkeypatch.setattr(work, "_look", lambda *_: {"state": next(states)})
    monkeypatch.setattr(work, "_LOOK", 0.01)
    monkeypatch.setattr(work, "_SILENCE", 0.0)
    job = Ledger(tmp_path).add("ann", "k", {}, [], 9)

    async def told() -> list[Any]:
        return [event async for event in work.events(None, None, job)]  # type: ignore[arg-type]

    first, *between, last = asyncio.run(told())
    assert (first.data, last.data) == ({"state": "queued"}, {"state": "done"})
    assert [(event.data, event.comment) for event in between] == [(None, "still there")] * 2


def test_events_end_with_the_job(client: httpx.Client, send: Callable[..., str]):
    job = client.post("/v1/bcsd/functions?wait=0", json={"file": send(A)}).json()
    seen = []
    with client.stream("GET", f"/v1/jobs/{job['id']}/events") as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        seen += [json.loads(line[5:]) for line in answer.iter_lines() if line.startswith("data:")]
    assert seen[-1]["state"] == "done"
    assert seen[-1]["result"] == f"/v1/jobs/{job['id']}/result"
    assert client.get(seen[-1]["result"]).json()["functions"]


def test_a_second_service_of_a_folder_says_so_and_ends(service: Service):
    command = [sys.executable, "-m", "weft", "serve", "--port", "0", "--data", str(service.data)]
    second = subprocess.run(command, capture_output=True, text=True, check=False, timeout=240)
    assert second.returncode == StoreError.exit_code
    assert second.stderr.count("\n") <= 2
    assert "is kept by" in second.stderr
    assert "name another --data" in second.stderr


def test_no_accepted_job_is_lost_when_the_service_is_killed(tmp_path: Path):
    accepted: dict[str, str] = {}
    for _ in range(2):
        with serving(tmp_path) as service, service.client() as client:
            files = [
                client.post("/v1/uploads", params={"name": path.name}, content=path.read_bytes()).json()["id"]
                for path in (A, B)
            ]
            for file in files:
                job = client.post("/v1/bcsd/functions?wait=0", json={"file": file}).json()
                accepted[job["id"]] = file
            assert service.stop(signal.SIGKILL) == -signal.SIGKILL
    with serving(tmp_path) as service, service.client() as client:
        found: dict[str, set[str]] = {}
        for name in accepted:
            with client.stream("GET", f"/v1/jobs/{name}/events") as events:
                list(events.iter_lines())
            job = client.get(f"/v1/jobs/{name}").json()
            assert job["state"] == "done", job
            content = client.get(job["result"]).text
            size = client.get(f"/v1/uploads/{accepted[name]}").json()["sha256"]
            found.setdefault(size, set()).add(content)
        assert {len(texts) for texts in found.values()} == {1}
        assert service.stop() == 0


def test_what_others_keep_beside_uploads_stays(tmp_path: Path):
    for name in ("holiday", "0123456789abcdef01234567"):
        (tmp_path / "uploads" / name).mkdir(parents=True)
    Files(tmp_path / "uploads", Ledger(tmp_path), Bounds()).sweep()
    assert [path.name for path in (tmp_path / "uploads").iterdir()] == ["holiday"]

"""A service that really runs, on a free port, with an index of committed binaries and a small store."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pyarrow as pa
import pytest

from weft.bcsd.index.store import FunctionStore
from weft.cli.main import main
from weft.kg.schema import Relation, Schema
from weft.kg.storage.layout import Evidence
from weft.kg.storage.writer import create_store, open_writer

FILES = Path(__file__).parents[1] / "bcsd" / "files"
SOURCE = (
    '"""A shape."""\n\n\nclass Shape:\n    """Has sides."""\n\n    def area(self, width: int) -> int:\n'
    "        return width\n"
)


@dataclass
class Service:
    """A running service."""

    url: str
    process: subprocess.Popen[str]
    data: Path
    log: Path

    def client(self, **headers: str) -> httpx.Client:
        """A client of it, which waits as long as a busy machine needs."""
        return httpx.Client(base_url=self.url, headers=headers, timeout=240, trust_env=False)

    def stop(self, number: int = signal.SIGTERM) -> int:
        """End it; its exit code."""
        self.process.send_signal(number)
        return self.process.wait(60)

    def lines(self) -> list[dict[str, object]]:
        """The log."""
        return [json.loads(line) for line in self.log.read_text().splitlines() if line.startswith("{")]


def ended(client: httpx.Client, answer: httpx.Response) -> httpx.Response:
    """The answer, or that of the job."""
    if answer.status_code != 202:
        return answer
    with client.stream("GET", f"{answer.headers['location']}/events") as events:
        list(events.iter_lines())
    return client.get(f"{answer.headers['location']}/result")


@contextmanager
def serving(place: Path, *arguments: str) -> Iterator[Service]:
    """Start `weft serve` and wait until it listens."""
    log = place / "log"
    command = [
        sys.executable,
        "-m",
        "weft",
        "serve",
        "--port",
        "0",
        "--data",
        str(place / "data"),
        *arguments,
    ]
    with log.open("a") as errors:
        process = subprocess.Popen(
            command, stderr=subprocess.PIPE, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"}
        )
        assert process.stderr is not None
        first = process.stderr.readline()
        assert first.startswith("weft serve: http://"), first + process.stderr.read()
        drain = subprocess.Popen(["cat"], stdin=process.stderr, stdout=errors)
    service = Service(first.split()[-1].rstrip("/"), process, place / "data", log)
    try:
        yield service
    finally:
        if process.poll() is None:
            service.stop()
        process.stderr.close()
        drain.wait(240)


@pytest.fixture(scope="session")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index of two committed binaries, by the shipped model."""
    place = tmp_path_factory.mktemp("serve") / "index"
    names = ("gcc-O1-x86_64.so", "clang-O3-x86_64.so")
    arguments = ["bcsd", "index", "add", *(str(FILES / name) for name in names), "--index", str(place)]
    assert main([*arguments, "--workers", "1", "--quiet"]) == 0
    return place


@pytest.fixture(scope="session")
def shelf_index(index: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same index, each file a version of one library."""
    place = tmp_path_factory.mktemp("serve") / "libraries"
    shutil.copytree(index, place)
    store = FunctionStore.open(place)
    rows = store.take(store.sample(10_000, 0)).drop_columns(["_rowid", "ordinal", "draw"])
    rows = rows.sort_by([("binary", "ascending"), ("address", "ascending")])
    binaries = sorted(set(rows["binary"].to_pylist()))
    versions = {name: f"{number}.0" for number, name in enumerate(binaries, 1)}
    for name, column in (
        ("library", ["inspect"] * len(rows)),
        ("version", [versions[name] for name in rows["binary"].to_pylist()]),
        ("package", ["libinspect-dev"] * len(rows)),
    ):
        at = rows.schema.get_field_index(name)
        rows = rows.set_column(at, rows.schema.field(at), pa.array(column, pa.string()))
    store.remove(binaries)
    store.replace(rows)
    return place


def evidence(head: str, relation: str, tail: str, start: int = 0) -> Evidence:
    """A place whose sentence says the fact."""
    sentence = f"{head} {relation} {tail}."
    end = start + len(head)
    return Evidence(head, relation, tail, 0.9, start, end, start, start + len(sentence), 1, sentence)


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of a few people and places."""
    place = tmp_path_factory.mktemp("serve") / "store"
    schema = Schema(
        (Relation("knows", "the head knows the tail"), Relation("born in", "the tail is a place"))
    )
    create_store(place, schema, "folded")
    with open_writer(place) as writer:
        writer.begin_run("model", "model-1")
        facts = [
            evidence("Ada", "knows", "Bo"),
            evidence("Ada", "born in", "Oslo", 40),
            evidence("Bo", "knows", "Cy", 80),
        ]
        writer.put("one.txt", "corpus", "00", "model-1", facts)
        writer.finish()
    return place


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory, index: Path, store: Path) -> Iterator[Service]:
    """The service that most tests ask."""
    place = tmp_path_factory.mktemp("service")
    arguments = ["--index", str(index), "--store", str(store), "--rate", "0", "--query-timeout", "60"]
    with serving(place, *arguments) as running:
        yield running


@pytest.fixture(scope="session")
def libraries(tmp_path_factory: pytest.TempPathFactory, shelf_index: Path) -> Iterator[Service]:
    """A service whose index names libraries."""
    with serving(tmp_path_factory.mktemp("libraries"), "--index", str(shelf_index), "--rate", "0") as running:
        yield running


@pytest.fixture(scope="session")
def client(service: Service) -> Iterator[httpx.Client]:
    """A client of it."""
    with service.client() as client:
        yield client


@pytest.fixture(scope="session")
def send(client: httpx.Client) -> Callable[[str | Path, bytes | None], str]:
    """Sends a file, and gives its id."""

    def sent(name: str | Path, content: bytes | None = None) -> str:
        body = Path(name).read_bytes() if content is None else content
        answer = client.post("/v1/uploads", params={"name": Path(name).name}, content=body)
        assert answer.status_code == 201, answer.text
        return str(answer.json()["id"])

    return sent

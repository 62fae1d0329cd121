"""What the service says when it cannot or will not answer: always in its own words, and to nobody else's harm."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
from pydantic import ValidationError

from weft.bcsd.use.embed_files import Embedding
from weft.errors import ConfigError
from weft.kg.storage.query import sparql
from weft.serve import desk as desks
from weft.serve.app import create_app
from weft.serve.desk import Desk
from weft.serve.guard.tokens import new_token
from weft.serve.lanes import Lane
from weft.serve.main import configured
from weft.serve.problems import Refusal
from weft.serve.settings import Bounds, Settings
from weft.serve.shapes.texts import AskFind, AskPredict
from weft.serve.tasks.task import File, remarks_of

JSON = {"content-type": "application/json"}
PROBLEM = "application/problem+json"
Asks = Callable[[httpx.AsyncClient], Awaitable[Any]]


@pytest.fixture(autouse=True)
def _quiet(capfd: pytest.CaptureFixture[str]) -> None:
    """The log of these services is not of the tests."""


def asked(settings: Settings, asks: Asks, called: str = "localhost") -> Any:
    """What comes of asking the application itself, without a network and without workers."""
    _, app = create_app(settings)

    async def run() -> Any:
        # Of an application that fails the server sees nothing but its answer.
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url=f"http://{called}") as client:
            return await asyncio.wait_for(asks(client), 120)

    return asyncio.run(run())


def get(path: str, **more: Any) -> Asks:
    """Asks for one address."""
    return lambda client: client.get(path, **more)


async def endless() -> AsyncIterator[bytes]:
    for _ in range(64):
        yield b" " * (1 << 16)


async def stopping() -> AsyncIterator[bytes]:
    yield b"{"
    await asyncio.Event().wait()


@pytest.mark.parametrize(
    ("body", "status", "kind"), [(endless, 413, "size"), (stopping, 408, "slow")], ids=["long", "slow"]
)
def test_a_body_that_breaks_a_bound_while_it_is_read(
    body: Callable[[], AsyncIterator[bytes]], status: int, kind: str, tmp_path: Path
):
    settings = Settings(tmp_path, bounds=Bounds(patience=0.5))
    answer = asked(settings, lambda client: client.post("/v1/absa/predict", content=body(), headers=JSON))
    assert (answer.status_code, answer.json()["type"]) == (status, f"urn:weft:problem:{kind}")
    assert (answer.headers["content-type"], answer.headers["connection"]) == (PROBLEM, "close")


@pytest.mark.parametrize(
    "path", ["/healthz", "/", "/v1/models", "/v1/jobs/000000000000000000000000", "/v1/nothing"]
)
def test_a_head_is_a_get_without_its_body(path: str, tmp_path: Path):
    settings = Settings(tmp_path)
    _, app = create_app(settings)
    log: list[str] = []
    app._log = log.append  # type: ignore[attr-defined]
    server = uvicorn.Server(configured(app, settings.bounds))
    listening = socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=lambda: server.run(sockets=[listening]), daemon=True)
    thread.start()
    with httpx.Client(base_url=f"http://127.0.0.1:{listening.getsockname()[1]}", trust_env=False) as client:
        got, head = client.get(path), client.head(path)
        refused = client.delete(path)
    server.should_exit = True
    thread.join(60)
    assert head.content == b""
    assert head.status_code == got.status_code
    for name in ("content-type", "content-length"):
        assert head.headers[name] == got.headers[name]
    lines = [json.loads(line) for line in log]
    assert [(line["method"], line["route"] == lines[0]["route"]) for line in lines[:2]] == [
        ("GET", True),
        ("HEAD", True),
    ]
    assert (lines[0]["bytes"], lines[1]["bytes"]) == (len(got.content), 0)
    if refused.status_code == 405:
        assert refused.headers["allow"] == "GET, HEAD"


@pytest.mark.parametrize("path", ["/v1/uploads", "/v1/absa/predict"])
def test_who_goes_away_while_it_sends_is_no_fault(path: str, tmp_path: Path):
    _, app = create_app(Settings(tmp_path))
    log: list[str] = []
    app._log = log.append  # type: ignore[attr-defined]
    coming = [
        {"type": "http.request", "body": b"{", "more_body": True},
        {"type": "http.disconnect"},
    ]
    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": "POST",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"name=a.so",
        "headers": [(b"host", b"localhost"), (b"content-type", b"application/json")],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 2),
        "scheme": "http",
        "root_path": "",
    }

    async def receive() -> Any:
        return coming.pop(0)

    async def send(_message: Any) -> None:
        pass

    asyncio.run(app(scope, receive, send))  # type: ignore[arg-type]
    (line,) = log
    assert json.loads(line)["status"] == 499
    assert "fault" not in line


@pytest.mark.parametrize(
    ("media", "told"),
    [("application/x-www-form-urlencoded", "as application/x-www-form-urlencoded"), (None, "as nothing")],
)
def test_a_body_that_is_not_called_json_is_told_so(media: str | None, told: str, tmp_path: Path):
    headers = {} if media is None else {"content-type": media}
    body = b'{"texts": ["a"], "aspects": ["b"]}'
    answer = asked(
        Settings(tmp_path), lambda client: client.post("/v1/absa/predict", content=body, headers=headers)
    )
    assert answer.status_code == 422
    assert answer.json()["detail"] == f"body: it is sent {told}, and must be as application/json"
    assert "content-type: application/json" in answer.json()["hint"]


def test_too_many_connections_are_told_as_all_else_is(tmp_path: Path):
    settings = Settings(tmp_path, bounds=Bounds(connections=1))
    _, app = create_app(settings)
    log: list[str] = []
    app._log = log.append  # type: ignore[attr-defined]
    server = uvicorn.Server(configured(app, settings.bounds))
    listening = socket.create_server(("127.0.0.1", 0))
    address = listening.getsockname()[:2]
    thread = threading.Thread(target=lambda: server.run(sockets=[listening]), daemon=True)
    thread.start()
    with socket.create_connection(address, timeout=60) as idle:
        idle.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert idle.recv(65536).startswith(b"HTTP/1.1 200 "), "and it stays open"
        answer = httpx.get(f"http://127.0.0.1:{address[1]}/healthz", trust_env=False, timeout=60)
    assert (answer.status_code, answer.json()["type"]) == (503, "urn:weft:problem:busy")
    assert (answer.headers["content-type"], answer.headers["retry-after"]) == (PROBLEM, "5")
    server.should_exit = True
    thread.join(60)
    assert [json.loads(line)["status"] for line in log] == [200, 503]


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("/v1/kg/entities", {"sec-fetch-mode": "no-cors", "sec-fetch-dest": "image"}, 403),
        ("/metrics", {"sec-fetch-mode": "cors", "sec-fetch-dest": "empty"}, 403),
        ("/v1/models", {"sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe"}, 403),
        ("/v1/models", {}, 403),
        ("/v1/models", {"sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}, 200),
        ("/", {"sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}, 200),
        ("/healthz", {"sec-fetch-mode": "no-cors", "sec-fetch-dest": "image"}, 200),
    ],
)
@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_pages_of_other_sites_make_nothing_work(
    path: str, headers: dict[str, str], status: int, site: str, tmp_path: Path
):
    answer = asked(Settings(tmp_path), get(path, headers={**headers, "sec-fetch-site": site}))
    assert answer.status_code == status
    own = asked(Settings(tmp_path), get(path, headers={**headers, "sec-fetch-site": "same-origin"}))
    assert own.status_code != 403


def test_who_has_no_token_does_not_lock_out_others_behind_a_proxy(tmp_path: Path):
    tokens = tmp_path / "tokens.json"
    token = new_token(tokens, "ann", ("read",))
    bounds = Bounds(rate=0.001, burst=2)
    settings = Settings(tmp_path / "data", token_file=tokens, names=("weft.example",), bounds=bounds)

    async def asks(client: httpx.AsyncClient) -> list[int]:
        guess, known = {"authorization": "Bearer guess"}, {"authorization": f"Bearer {token}"}
        told = [(await client.get("/v1/models", headers=guess)).status_code for _ in range(3)]
        told += [(await client.get(path)).status_code for path in ("/", "/app.js", "/healthz")]
        return [*told, (await client.get("/v1/models", headers=known)).status_code]

    assert asked(settings, asks, "weft.example") == [401, 401, 429, 200, 200, 200, 200]


def test_the_case_of_a_name_is_nothing(tmp_path: Path):
    tokens = tmp_path / "tokens.json"
    new_token(tokens, "ann", ("read",))
    settings = Settings(tmp_path / "data", token_file=tokens, names=("Weft.Example.org",))
    for called in ("weft.example.org", "Weft.Example.org"):
        answer = asked(settings, get("/healthz", headers={"host": called}))
        assert answer.status_code == 200, called
    assert asked(settings, get("/healthz", headers={"host": "weft.example.com"})).status_code == 421


def test_who_may_write_may_send_what_to_write(tmp_path: Path):
    tokens = tmp_path / "tokens.json"
    headers = {"authorization": f"Bearer {new_token(tokens, 'robot', ('write',))}"}

    async def asks(client: httpx.AsyncClient) -> None:
        sent = await client.post("/v1/uploads?name=a.py", content=b"x = 1", headers=headers)
        assert sent.status_code == 201
        body = {"file": sent.json()["id"]}
        job = await client.post("/v1/kg/documents?wait=0", json=body, headers=headers)
        assert job.status_code == 202
        assert (await client.get(job.headers["location"], headers=headers)).status_code == 200
        assert (await client.delete(job.headers["location"], headers=headers)).status_code == 204
        told = await client.get("/v1/models", headers=headers)
        assert (told.status_code, told.json()["detail"]) == (403, "the scope 'read' is needed")

    asked(Settings(tmp_path / "data", store=tmp_path, token_file=tokens), asks)


def test_queries_that_wait_leave_the_threads_of_all_free(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    done = threading.Event()

    def slow(*_: Any) -> sparql.Answer:
        assert done.wait(120)
        return sparql.Answer((), [], True)

    monkeypatch.setattr(sparql, "answer", slow)
    monkeypatch.setattr(sparql, "locate_index", lambda store: contextlib.nullcontext("place"))

    async def asks(client: httpx.AsyncClient) -> list[httpx.Response]:
        query = {"query": "ASK {}"}
        waiting = [
            asyncio.create_task(client.get("/v1/kg/sparql", params=query, timeout=None)) for _ in range(50)
        ]
        try:
            await asyncio.sleep(0)
            for path in ("/healthz", "/", "/v1/jobs", "/v1/models"):
                assert (await asyncio.wait_for(client.get(path), 60)).status_code == 200, path
        finally:
            done.set()
        return list(await asyncio.gather(*waiting))

    answers = asked(Settings(tmp_path, store=tmp_path, bounds=Bounds(rate=0)), asks)
    refused = [answer for answer in answers if answer.status_code == 429]
    assert 0 < len(refused) < 50
    assert {answer.status_code for answer in answers} == {200, 429}
    assert (refused[0].json()["type"], refused[0].headers["retry-after"]) == ("urn:weft:problem:busy", "5")


def test_a_lane_refuses_what_is_too_much_and_nothing_after_that():
    done = threading.Event()

    async def run() -> list[Any]:
        lane = Lane(1, 1)
        first = [asyncio.create_task(lane.run(done.wait, 60)) for _ in range(2)]
        await asyncio.sleep(0)
        with pytest.raises(Refusal, match="2 were asked before"):
            await lane.run(done.wait, 60)
        done.set()
        return [*await asyncio.gather(*first), await lane.run(done.wait, 60)]

    assert asyncio.run(run()) == [True] * 3


@pytest.mark.parametrize("name", ["default-graph-uri", "named-graph-uri"])
@pytest.mark.parametrize("place", ["data", "params"])
def test_there_is_one_graph(name: str, place: str, tmp_path: Path):
    fields = {"query": "ASK {}", name: "urn:other"}
    more = {"data": {"query": "ASK {}"}, place: fields}
    answer = asked(Settings(tmp_path, store=tmp_path), lambda client: client.post("/v1/kg/sparql", **more))
    assert (answer.status_code, answer.json()["detail"]) == (400, f"there is one graph: leave {name} out")


@pytest.mark.parametrize(
    ("shape", "name", "value"),
    [
        (AskPredict, "format", "csv"),
        (AskPredict, "text_column", "review"),
        (AskPredict, "target_column", "place"),
        (AskPredict, "aspect_column", "what"),
        (AskFind, "format", "csv"),
        (AskFind, "text_column", "review"),
    ],
)
def test_what_is_about_a_file_is_not_said_of_texts(
    shape: type[AskPredict] | type[AskFind], name: str, value: str
):
    aspects: dict[str, Any] = {"aspects": ["food"]} if shape is AskPredict else {}
    with pytest.raises(ValidationError, match=f"{name} is about a file"):
        shape(texts=["Nice place"], **{**aspects, name: value})
    shape(file="0" * 24, **{**aspects, name: value})
    shape(texts=["Nice place"], text_column="text", format=None, **aspects)


@pytest.mark.parametrize(("name", "value"), [("threshold", 0.0), ("targets", ["bed"])])
def test_what_is_about_an_aspect_is_not_said_where_none_is_asked(name: str, value: Any):
    with pytest.raises(ValidationError, match=f"{name} is about an aspect that is asked"):
        AskPredict(texts=["Nice place"], **{name: value})


@pytest.mark.parametrize(
    "name", ["rate", "job_seconds", "keep_seconds", "quick_seconds", "query_seconds", "patience"]
)
@pytest.mark.parametrize("value", [float("inf"), float("nan"), -1.0])
def test_a_bound_without_end_is_none(name: str, value: float):
    with pytest.raises(ConfigError, match=f"{name} is "):
        Bounds(**{name: value})


def test_a_file_was_read_if_it_was_read_as_the_index_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    file = File(tmp_path / "content", "a.so")
    desk = Desk(Settings(tmp_path / "data", index=tmp_path))
    monkeypatch.setattr(desks, "in_step", lambda index, asked: Embedding(asked.model, lifter="none"))
    remarks_of(file, "auto").write_text("[]")  # of a service with another index
    assert not desk.is_extracted(file)
    remarks_of(file, "none").write_text("[]")
    assert desk.is_extracted(file)

"""Who may, from where, how much and how fast; what is refused, and that the service lives on."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import urlsplit

import httpx
import pytest

from tests.serve.conftest import FILES, Service, ended, serving
from weft.cli.main import main
from weft.errors import ConfigError, InputError
from weft.serve.guard.gate import Rates
from weft.serve.guard.tokens import Tokens, new_token
from weft.serve.problems import Paths, Refusal
from weft.serve.settings import Bounds, Settings

A = FILES / "gcc-O2-x86_64.so"


@pytest.fixture(scope="module")
def tokens(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """A token file, and the tokens by their names."""
    path = tmp_path_factory.mktemp("tokens") / "tokens.json"
    made = {
        name: new_token(path, name, scopes)
        for name, scopes in (("ann", ("read",)), ("bob", ("read", "write")))
    }
    made["robot"] = new_token(path, "robot", ("write",))
    return path, made


@pytest.fixture(scope="module")
def guarded(
    tmp_path_factory: pytest.TempPathFactory, tokens: tuple[Path, dict[str, str]]
) -> Iterator[Service]:
    """A service with tokens and small bounds."""
    place = tmp_path_factory.mktemp("guarded")
    arguments = [
        "--token-file",
        str(tokens[0]),
        "--upload-limit",
        "1",
        "--rate",
        "0",
        "--called",
        "weft.example",
    ]
    with serving(place, *arguments, "--patience", "2") as running:
        yield running


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


@pytest.mark.parametrize("arguments", [("--host", "0.0.0.0"), ("--host", "::"), ("--called", "weft.example")])
def test_others_are_let_in_by_tokens_alone(arguments, capsys):
    assert main(["serve", *arguments]) == 2
    assert "no token file says who may ask" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("option", "code", "told"),
    [("index", 3, "no such index"), ("store", 3, "no such store"), ("absa", 4, "no such model")],
)
def test_what_is_not_there_is_told_at_the_start(option: str, code: int, told: str, tmp_path: Path, capsys):
    data = tmp_path / "data"
    assert main(["serve", f"--{option}", str(tmp_path / "none"), "--data", str(data), "--port", "0"]) == code
    assert told in capsys.readouterr().err
    assert not data.exists()


def test_a_token_is_printed_once_and_kept_as_a_hash(tmp_path, capsys):
    path = tmp_path / "tokens.json"
    assert main(["serve", "--new-token", "ann", "--scope", "read,write", "--token-file", str(path)]) == 0
    token = capsys.readouterr().out.strip()
    assert token not in path.read_text()
    assert path.stat().st_mode & 0o777 == 0o600
    caller = Tokens.read(path).caller(token)
    assert caller is not None
    assert (caller.name, sorted(caller.scopes)) == ("ann", ["read", "write"])
    assert Tokens.read(path).caller(token[:-1]) is None
    with pytest.raises(ConfigError, match="there is a token 'ann'"):
        new_token(path, "ann", ("read",))
    with pytest.raises(ConfigError, match="no scope admin"):
        new_token(path, "eve", ("admin",))


@pytest.mark.parametrize(
    "content", ["", "{}", '{"weft_tokens": 1, "tokens": {"a": {"sha256": "x", "scopes": []}}}']
)
def test_a_token_file_that_is_none(tmp_path, content):
    path = tmp_path / "tokens.json"
    path.write_text(content)
    with pytest.raises(InputError):
        Tokens.read(path)


@pytest.mark.parametrize("change", [str.upper, lambda digest: "é" * 64, lambda digest: digest[:-1]])
def test_a_hash_that_no_token_has_is_refused(tmp_path: Path, change: Callable[[str], str]):
    path = tmp_path / "tokens.json"
    new_token(path, "ann", ("read",))
    content = json.loads(path.read_text())
    content["tokens"]["ann"]["sha256"] = change("ab" * 32)
    path.write_text(json.dumps(content))
    with pytest.raises(InputError, match=r"tokens\.json: the token 'ann' has not a sha256 of 64"):
        Tokens.read(path)


def test_a_token_file_that_others_may_write_is_refused(tmp_path: Path):
    path = tmp_path / "tokens.json"
    new_token(path, "ann", ("read",))
    path.chmod(0o644)
    Tokens.read(path)  # what it holds lets nobody in
    path.chmod(0o664)
    with pytest.raises(ConfigError, match="others may write to it"):
        Tokens.read(path)


def test_no_token_wrong_token_other_scope(guarded: Service, tokens: tuple[Path, dict[str, str]]):
    with guarded.client() as client:
        assert client.get("/healthz").status_code == 200
        for headers in ({}, bearer("weft_no"), {"authorization": "Basic x"}, {"authorization": "Bearer"}):
            for path in ("/v1/models", "/v1/jobs", "/metrics", "/v1/openapi.json", "/v1/nothing"):
                answer = client.get(path, headers=headers)
                assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
                assert answer.headers["content-type"] == "application/problem+json"
        assert client.get("/v1/models", headers=bearer(tokens[1]["ann"])).status_code == 200
        answer = client.get("/v1/models", headers=bearer(tokens[1]["robot"]))
        assert (answer.status_code, answer.json()["detail"]) == (403, "the scope 'read' is needed")


def test_to_write_needs_its_scope(guarded: Service, tokens: tuple[Path, dict[str, str]]):
    with guarded.client() as client:
        asked = {"file": "0" * 24}
        answer = client.post("/v1/kg/documents", json=asked, headers=bearer(tokens[1]["ann"]))
        assert (answer.status_code, answer.json()["detail"]) == (403, "the scope 'write' is needed")
        answer = client.post("/v1/kg/documents", json=asked, headers=bearer(tokens[1]["bob"]))
        assert answer.json()["type"] == "urn:weft:problem:not-served"


def test_what_one_sends_nobody_else_sees(guarded: Service, tokens: tuple[Path, dict[str, str]]):
    with guarded.client() as client:
        ann, bob = bearer(tokens[1]["ann"]), bearer(tokens[1]["bob"])
        file = client.post("/v1/uploads?name=a.so", content=A.read_bytes(), headers=ann).json()["id"]
        job = client.post("/v1/bcsd/functions?wait=0", json={"file": file}, headers=ann).json()["id"]
        for path in (
            f"/v1/uploads/{file}",
            f"/v1/jobs/{job}",
            f"/v1/jobs/{job}/result",
            f"/v1/jobs/{job}/events",
        ):
            assert client.get(path, headers=bob).status_code == 404
        assert client.delete(f"/v1/jobs/{job}", headers=bob).status_code == 404
        assert client.post("/v1/bcsd/functions", json={"file": file}, headers=bob).status_code == 404
        assert client.get("/v1/uploads", headers=bob).json() == {"uploads": []}
        assert client.delete(f"/v1/jobs/{job}", headers=ann).status_code == 204


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"sec-fetch-site": "cross-site"},
        {"host": "evil.example"},
    ],
)
def test_pages_of_other_sites_are_refused(client: httpx.Client, headers: dict[str, str]):
    answer = client.post("/v1/absa/predict", json={"texts": ["x"], "aspects": ["y"]}, headers=headers)
    assert answer.status_code in (403, 421)
    assert "access-control-allow-origin" not in answer.headers
    asked = {"origin": "https://evil.example", "access-control-request-method": "POST"}
    assert client.options("/v1/absa/predict", headers=asked).status_code in (403, 405)


def test_a_proxy_calls_it_by_a_name_that_is_known(guarded: Service, tokens: tuple[Path, dict[str, str]]):
    with guarded.client(**bearer(tokens[1]["ann"])) as client:
        assert client.get("/v1/models", headers={"host": "weft.example"}).status_code == 200
        assert client.get("/v1/models", headers={"host": "evil.example"}).status_code == 421


def test_every_answer_is_hardened(client: httpx.Client):
    for path in ("/", "/v1/models", "/nothing"):
        headers = client.get(path).headers
        policy = headers["content-security-policy"]
        assert "unsafe" not in policy
        assert "default-src 'none'" in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
        assert "server" not in headers
    assert client.get("/v1/models").headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    "path",
    [
        "/../../etc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/..%2f..%2fetc%2fpasswd",
        "/vendor/..%2f__init__.py",
        "//etc/passwd",
        "/__init__.py",
        "/v1/uploads/..%2f..%2fjobs.sqlite",
        "/v1/jobs/%00",
        "/index.html%00.txt",
    ],
)
def test_tricks_with_paths_lead_nowhere(service: Service, path: str):
    place = urlsplit(service.url)
    with socket.create_connection((place.hostname, place.port), timeout=60) as line:
        line.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
        answer = b"".join(iter(lambda: line.recv(65536), b""))
    assert answer.split()[1] in (b"404", b"422", b"400"), answer[:300]
    assert b"root:" not in answer


def test_names_of_files_are_names(client: httpx.Client):
    for name in ("../../etc/x.so", "C:\\x.so", "/abs/x.so"):
        answer = client.post("/v1/uploads", params={"name": name}, content=b"x")
        assert answer.json()["name"] == "x.so"
    for name in ("..", "/", " "):
        assert client.post("/v1/uploads", params={"name": name}, content=b"x").status_code == 422


def test_no_path_of_the_server_in_an_answer(client: httpx.Client, send: Callable[..., str], service: Service):
    file = send("not-elf.so", b"nothing of the kind")
    answer = ended(client, client.post("/v1/bcsd/functions", json={"file": file}))
    assert answer.status_code == 422
    assert "not-elf.so" in answer.text
    unknown = client.get("/v1/kg/facts", params={"entity": "Nobody at all"})
    assert unknown.status_code == 422
    for text in (answer.text, unknown.text, client.get("/v1/models").text):
        assert str(service.data) not in text
        assert "/tmp" not in text


def test_paths_are_cut_to_their_last_part(tmp_path):
    paths = Paths([tmp_path / "data", Path("/srv/index")])
    told = paths.hidden(f"{tmp_path}/data/uploads/ab/content: bad (see /srv/index/x.lance, '/srv/index')")
    assert told == "content: bad (see x.lance, 'index')"


def test_a_body_beyond_its_bound_is_refused_before_it_is_read(
    guarded: Service, tokens: tuple[Path, dict[str, str]]
):
    place = urlsplit(guarded.url)
    head = (
        f"POST /v1/uploads?name=a HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {tokens[1]['ann']}\r\n"
        f"Content-Length: {1 << 30}\r\n\r\n"
    )
    with socket.create_connection((place.hostname, place.port), timeout=60) as line:
        line.sendall(head.encode())
        assert line.recv(65536).split()[1] == b"413"

    def endless() -> Iterator[bytes]:
        for _ in range(64):
            yield b"x" * (1 << 16)

    with guarded.client(**bearer(tokens[1]["ann"])) as client:
        answer = client.post("/v1/uploads?name=a", content=endless())
        assert (answer.status_code, answer.json()["detail"]) == (413, "it may have 1,048,576 bytes")
        assert client.get("/v1/uploads").json() == {"uploads": []} or all(
            upload["size"] < 1 << 20 for upload in client.get("/v1/uploads").json()["uploads"]
        )
    assert not any(guarded.data.glob("uploads/*/.*"))


def test_slow_clients_are_let_go(guarded: Service, tokens: tuple[Path, dict[str, str]]):
    place = urlsplit(guarded.url)
    head = (
        f"POST /v1/uploads?name=a HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {tokens[1]['ann']}\r\n"
    )
    lines = [socket.create_connection((place.hostname, place.port), timeout=60) for _ in range(3)]
    began = time.monotonic()
    lines[1].sendall(b"GET /healthz HT")
    lines[2].sendall(f"{head}Content-Length: 100\r\n\r\nfew".encode())
    answers = [b"".join(iter(lambda line=line: line.recv(65536), b"")) for line in lines]
    assert answers[:2] == [b"", b""]
    assert answers[2].split()[1] == b"408"
    assert time.monotonic() - began < 30
    for line in lines:
        line.close()
    with guarded.client() as client:
        assert client.get("/healthz").status_code == 200


def test_a_head_without_end_is_refused(guarded: Service):
    place = urlsplit(guarded.url)
    with socket.create_connection((place.hostname, place.port), timeout=60) as line:
        line.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Long: " + b"x" * (65 << 10))
        answer = b"".join(iter(lambda: line.recv(65536), b""))
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 ")
    assert b"content-type: application/problem+json" in head
    assert json.loads(body)["detail"] == "its head has more than 65,536 bytes"
    with guarded.client() as client:
        assert client.get("/healthz").status_code == 200


def test_what_is_no_http_is_refused(guarded: Service):
    place = urlsplit(guarded.url)
    for nonsense in (
        b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n",
        b"GET /\xff HTTP/1.1\r\nHost: localhost\r\n\r\n",
    ):
        with socket.create_connection((place.hostname, place.port), timeout=60) as line:
            line.sendall(nonsense)
            answer = b"".join(iter(lambda line=line: line.recv(65536), b""))
        assert answer.split()[1] == b"400"
        assert b"urn:weft:problem:http" in answer


def test_a_bucket_for_each_client():
    rates = Rates(Bounds(rate=0.001, burst=2))
    for _ in range(2):
        rates.take("one")
    with pytest.raises(Refusal) as refused:
        rates.take("one")
    assert refused.value.response().headers["retry-after"]
    rates.take("another")


def test_who_asks_too_fast_is_answered_as_often_as_the_rate_says(monkeypatch: pytest.MonkeyPatch):
    now = 0.0
    monkeypatch.setattr("weft.serve.guard.gate.time", SimpleNamespace(monotonic=lambda: now))
    rates, answered = Rates(Bounds(rate=10, burst=5)), 0
    for step in range(2000):  # for 100 seconds twice as often
        now = step / 20
        try:
            rates.take("one")
            answered += 1
        except Refusal:
            continue
    assert 1000 <= answered <= 1005


def test_the_log_says_who_and_what_and_no_content(service: Service, client: httpx.Client):
    secret = "a text that nobody should read"
    client.post("/v1/absa/predict", json={"texts": [secret], "aspects": ["secretaspect"]})
    client.get("/v1/kg/entities", params={"q": "secretname"})
    wanted, until = {"/v1/absa/predict", "/v1/kg/entities"}, time.monotonic() + 60
    while not wanted <= {line["route"] for line in service.lines()} and time.monotonic() < until:
        time.sleep(0.05)
    assert wanted <= {line["route"] for line in service.lines()}
    text = service.log.read_text()
    assert "secret" not in text
    assert secret not in text
    assert {"time", "request", "method", "route", "status", "ms", "bytes", "caller"} == set(
        service.lines()[-1]
    )


def test_settings_that_break_a_rule(tmp_path):
    for change in ({"port": 70000}, {"workers": 0}, {"host": "10.0.0.1"}):
        with pytest.raises(ConfigError):
            Settings(tmp_path, **change)
    with pytest.raises(ConfigError, match="burst is 0"):
        Bounds(burst=0)


def test_metrics_are_what_prometheus_reads(client: httpx.Client):
    client.get("/healthz")
    text = client.get("/metrics").text
    assert 'weft_requests_total{method="GET",route="/healthz",status="200"}' in text
    assert 'weft_jobs{state="queued"}' in text
    assert json.loads(client.get("/v1/openapi.json").text)["info"]["title"] == "weft"

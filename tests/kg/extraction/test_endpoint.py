"""Extraction with an endpoint, good and bad: what is taken, what stands instead, what is told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.kg.fake_endpoint import FakeServer, chat, server

from weft.cli.main import main
from weft.errors import ConfigError
from weft.kg.storage.graph import Graph
from weft.kg.storage.rdf import ntriples

__all__ = ["server"]

Row = dict[str, Any]
NAMES = ("path", "mode", "size", "name", "items", "text", "value", "count", "key", "handler")
FIRST = "".join(
    f"def make_{name}({name}, other_{name}=None):\n    return use({name}, other_{name})\n\n\n"
    for name in NAMES
)
SECOND = FIRST.replace("make", "take").replace("other", "more")


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpus") / "shapes"
    folder.mkdir()
    (folder / "first.py").write_text(FIRST, encoding="utf-8")
    (folder / "second.py").write_text(SECOND, encoding="utf-8")
    return folder


def extract(tree: Path, store: Path, *options: str) -> int:
    common = ["--workers", "1", "--beams", "2", "--least-confidence", "0", "--quiet", "--json"]
    return main(["kg", "extract", str(tree), "-o", str(store), *common, *options])


def url(server: FakeServer) -> list[str]:
    return ["--llm", f"http://127.0.0.1:{server.server_address[1]}/v1", "--llm-model", "fake-7b"]


def places(store: Path) -> dict[tuple[object, ...], Row]:
    keys = ("document", "start", "chunk_start", "head", "relation")
    return {
        tuple(row[key] for key in keys): row
        for row in Graph.load(store, "inferred").evidence.to_pylist()
        if row["origin"] == "model"
    }


def last_slot(question: Row) -> str:
    """The least likely token of the last place: seldom what the model itself spells."""
    slots = json.loads(question["messages"][1]["content"].rsplit("Likely tokens: ", 1)[1])
    return chat(json.dumps({"tail": slots[-1][-1] if slots else None}))


def by_turns(question: Row) -> tuple[int, str]:
    """Well, nonsense, out of scope, a refusal, an error; by the question, so that order does not matter."""
    turn = sum(question["messages"][1]["content"].encode()) % 5
    answers = [
        last_slot(question),
        chat("I cannot say."),
        chat('{"tail": "zebra"}'),
        chat('{"tail": null}'),
        "",
    ]
    return (503 if turn == 4 else 200), answers[turn]


def test_what_is_combined_is_marked_and_everything_else_is_the_models_own(
    server: FakeServer, tree: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert extract(tree, tmp_path / "plain") == 0
    capsys.readouterr()
    server.reply = by_turns
    assert extract(tree, tmp_path / "s", *url(server)) == 0
    out, err = capsys.readouterr()
    tally = json.loads(out)["tally"]
    counts = tally["counts"]
    expected = {"accepted", "nonsense", "a token that is not likely", "no tail given", "status 503"}
    assert counts.keys() - {"empty or too long"} == expected
    assert sum(counts.values()) == len(server.asked)
    assert "refused: " in err
    assert f"{counts['nonsense']} nonsense" in err
    assert "the next run with --llm asks again" in err
    plain, mixed = places(tmp_path / "plain"), places(tmp_path / "s")
    combined = {key for key, row in mixed.items() if row["combined"]}
    assert 0 < len(combined) <= counts["accepted"]
    assert {mixed[key]["combined"] for key in combined} == {"fake-7b"}
    assert any(mixed[key]["tail"] != plain[key]["tail"] for key in combined)
    for key in mixed.keys() - combined:
        assert (mixed[key]["tail"], mixed[key]["confidence"]) == (
            plain[key]["tail"],
            plain[key]["confidence"],
        )
    assert not any(row["combined"] for row in plain.values())
    lines = b"".join(ntriples(Graph.load(tmp_path / "s")))
    marked = [line for line in lines.splitlines() if b"combinedBy" in line]
    assert 0 < len(marked) <= len(combined)
    assert all(line.endswith(b'<urn:weft:term:combinedBy> "fake-7b" .') for line in marked)
    head = mixed[next(iter(combined))]["head"]
    assert main(["kg", "show", str(tmp_path / "s"), head]) == 0
    assert "tail combined by fake-7b" in capsys.readouterr().out


def test_documents_with_unanswered_questions_are_asked_again_and_others_are_not(
    server: FakeServer, tree: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = tmp_path / "s"
    assert extract(tree, tmp_path / "plain") == 0
    server.status = 500
    assert extract(tree, store, *url(server)) == 0
    # Five failures, then one for each further document.
    assert len(server.asked) == 5 + 1
    plain, silent = places(tmp_path / "plain"), places(store)
    assert {key: row["tail"] for key, row in silent.items()} == {
        key: row["tail"] for key, row in plain.items()
    }
    capsys.readouterr()
    server.status, server.reply = 200, chat('{"tail": "zebra"}')
    assert extract(tree, store, *url(server)) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["read"], report["replaced"], report["unchanged"], report["unanswered"]) == (2, 2, 0, 0)
    asked = len(server.asked)
    assert extract(tree, store, *url(server)) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["read"], report["unchanged"], report["tally"]) == (0, 2, None)
    assert len(server.asked) == asked
    # Without the endpoint, and with another model behind it, the answers would be others.
    assert extract(tree, store, *url(server)[:2], "--llm-model", "other") == 0
    assert json.loads(capsys.readouterr().out)["replaced"] == 2


def test_a_url_that_is_none_is_refused_before_anything_is_made(tree: Path, tmp_path: Path) -> None:
    assert extract(tree, tmp_path / "s", "--llm", "localhost:8080") == ConfigError.exit_code
    assert not (tmp_path / "s").exists()

"""The commands from a folder of Python to a queried graph, with the shipped model; and what they refuse."""

from __future__ import annotations

import csv
import io
import json
import shutil
from pathlib import Path

import pytest
from tests.kg.storage.conftest import ODD

from weft.cli.main import main
from weft.kg.languages.python import LANGUAGE
from weft.kg.schema import Relation, Schema
from weft.kg.storage.graph import Graph
from weft.kg.storage.layout import Evidence
from weft.kg.storage.writer import create_store, open_writer

FIRST = """
class Reader(Base):
    def load(self, path, mode="r"):
        if not path:
            raise ValueError("no path")
        return open(path, mode)
"""
SECOND = '''
def copy(source, target=None):
    """Copies."""
    for line in source:
        target.write(line)
'''


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpus") / "shapes"
    (folder / "inner" / "__pycache__").mkdir(parents=True)
    (folder / "first.py").write_text(FIRST, encoding="utf-8")
    (folder / "inner" / "second.py").write_text(SECOND, encoding="utf-8")
    (folder / "inner" / "__init__.py").write_text("", encoding="utf-8")
    (folder / "inner" / "__pycache__" / "no.py").write_text(SECOND, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def extracted(tree: Path) -> Path:
    store = tree.parent / "store"
    assert (
        main(["kg", "extract", str(tree), "-o", str(store), "--workers", "1", "--beams", "2", "--quiet"]) == 0
    )
    return store


@pytest.fixture
def out(capsys: pytest.CaptureFixture[str]) -> pytest.CaptureFixture[str]:
    capsys.readouterr()
    return capsys


def test_from_a_folder_to_an_answer(extracted: Path, tree: Path, out: pytest.CaptureFixture[str]) -> None:
    query = """SELECT ?tail ?confidence ?line ?sentence WHERE {
        ?a rdf:subject e:first.Reader.load ; rdf:predicate r:raises ; rdf:object ?tail ; weft:origin "tree" ;
           weft:confidence ?confidence ; weft:source [ weft:line ?line ; weft:sentence ?sentence ;
           weft:document d:shapes/first.py ] }""".replace(
        "d:shapes/first.py", "<urn:weft:document:shapes/first.py>"
    )
    assert main(["kg", "query", str(extracted), query, "--json"]) == 0
    rows = json.loads(out.readouterr().out)["results"]["bindings"]
    assert [row["tail"]["value"] for row in rows] == ["urn:weft:entity:builtins.ValueError"]
    assert rows[0]["line"] == {
        "type": "literal",
        "value": "5",
        "datatype": "http://www.w3.org/2001/XMLSchema#integer",
    }
    assert rows[0]["sentence"]["value"] == FIRST.split("\n")[4].strip()
    assert float(rows[0]["confidence"]["value"]) == 1
    assert main(["kg", "show", str(extracted), "load", "--json"]) == 0
    shown = json.loads(out.readouterr().out)
    places = [place for fact in shown["facts"] for place in fact["evidence"]]
    text = (tree / "first.py").read_text(encoding="utf-8")
    for place in places:
        if place["document"] == "shapes/first.py":
            stated = text[place["start"] : place["end"]]
            assert stated == (place["tail"] if place["origin"] == "tree" else place["head"]).split(".")[-1]
            assert place["chunk"][0] <= place["start"] < place["end"] <= place["chunk"][1]
    assert {place["document"] for place in places} == {"shapes/first.py"}


def test_a_store_is_shown_without_a_name(
    extracted: Path, tmp_path: Path, out: pytest.CaptureFixture[str]
) -> None:
    graph = Graph.load(extracted)
    assert main(["kg", "show", str(extracted), "--limit", "2"]) == 0
    first, *lines = out.readouterr().out.splitlines()
    assert first == f"{len(graph)} facts about {len(graph.entities)} entities"
    assert lines[-1] == f"and {len(graph) - 4} more (--limit)"
    assert main(["kg", "show", str(extracted), "--json", "--limit", str(len(graph))]) == 0
    record = json.loads(out.readouterr().out)
    assert record.keys() == {"entities", "count", "facts"}
    assert (record["entities"], record["count"]) == (len(graph.entities), len(graph))
    sure = [fact["confidence"] for fact in record["facts"]]
    assert sure == sorted(sure, reverse=True)
    assert len({(fact["head"], fact["relation"], fact["tail"]) for fact in record["facts"]}) == len(graph)
    page = tmp_path / "page.html"
    assert main(["kg", "show", str(extracted), "--html", str(page)]) == 2
    assert (
        "around an entity, and none is named (name one, such as 'first.Reader.load')" in out.readouterr().err
    )
    assert not page.exists()


def test_an_entity_without_facts_of_the_origin_asked_for_is_told(
    extracted: Path, out: pytest.CaptureFixture[str]
) -> None:
    """``Reader`` is the end of a qualified name, and whatever is known of it the tree states."""
    assert main(["kg", "show", str(extracted), "Reader", "--only", "inferred"]) == 0
    lines = out.readouterr().out.splitlines()
    assert lines == ["first.Reader, class: 0 facts", "none is inferred: leave --only out for the others"]
    assert main(["kg", "show", str(extracted), "Riader", "--only", "inferred"]) == 3


def test_a_store_is_no_corpus(extracted: Path, out: pytest.CaptureFixture[str]) -> None:
    assert main(["kg", "facts", str(extracted)]) == 3
    assert "a store of facts, not texts (`weft kg show STORE` prints its facts)" in out.readouterr().err


def test_a_second_run_reads_nothing_and_another_store_is_the_same(
    extracted: Path,
    tree: Path,
    tmp_path: Path,
    out: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    common = ["--beams", "2", "--quiet", "--json"]
    assert main(["kg", "extract", str(tree), "-o", str(extracted), *common]) == 0
    report = json.loads(out.readouterr().out)
    assert (report["read"], report["unchanged"], report["empty"]) == (0, 3, 0)
    other = tmp_path / "other"
    assert main(["kg", "extract", str(tree), "-o", str(other), "--workers", "1", *common]) == 0
    report = json.loads(out.readouterr().out)
    assert (report["read"], report["empty"]) == (2, 1)
    for name, store in (("a", extracted), ("b", other)):
        assert main(["kg", "export", str(store), "--format", "ntriples", "-o", str(tmp_path / name)]) == 0
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    # A version of weft that states other facts of the same sources reads them anew.
    monkeypatch.setattr(type(LANGUAGE), "reading", 99)
    out.readouterr()
    assert main(["kg", "extract", str(tree), "-o", str(other), "--workers", "1", *common]) == 0
    assert json.loads(out.readouterr().out)["replaced"] == 3


def test_a_file_that_is_no_python_is_listed_and_costs_an_exit_code(
    tree: Path, tmp_path: Path, out: pytest.CaptureFixture[str]
) -> None:
    corpus = tmp_path / "shapes"
    corpus.mkdir()
    shutil.copy(tree / "inner" / "second.py", corpus)
    (corpus / "broken.py").write_text("def f(:\n")
    (corpus / "latin.py").write_bytes(b"name = '\xe9'\n")
    assert main(["kg", "extract", str(corpus), "-o", str(tmp_path / "s"), "--workers", "1"]) == 9
    printed = out.readouterr()
    assert "not read: shapes/broken.py: not Python" in printed.err
    assert "not read: shapes/latin.py: not text" in printed.err
    assert "documents: 1 read" in printed.out


def test_the_forms_of_an_answer(store: Path, out: pytest.CaptureFixture[str]) -> None:
    query = "SELECT ?who ?whom WHERE { ?who r:knows ?whom } ORDER BY ?who ?whom"
    assert main(["kg", "query", str(store), query]) == 0
    table = out.readouterr().out
    assert [line.split() for line in table.splitlines()[1:]] == [
        ["Ada", "Bo"],
        ["Ada", "Cy"],
        ["Bo", "Cy"],
        ["3", "rows"],
    ]
    assert main(["kg", "query", str(store), query, "--csv"]) == 0
    rows = list(csv.reader(io.StringIO(out.readouterr().out)))
    assert rows[:2] == [["who", "whom"], ["urn:weft:entity:Ada", "urn:weft:entity:Bo"]]
    assert main(["kg", "query", str(store), "ASK { e:Ada r:born%20in e:Oslo }", "--json"]) == 0
    assert json.loads(out.readouterr().out) == {"head": {}, "boolean": True}
    assert main(["kg", "query", str(store), "ASK { e:Ada r:knows e:Oslo }"]) == 0
    assert out.readouterr().out == "no\n"
    assert (
        main(["kg", "query", str(store), "CONSTRUCT { ?b r:knows ?a } WHERE { ?a r:knows ?b }", "--json"])
        == 0
    )
    found = json.loads(out.readouterr().out)
    assert (found["head"]["vars"], len(found["results"]["bindings"])) == (
        ["subject", "predicate", "object"],
        3,
    )
    optional = "SELECT ?a ?p WHERE { ?a rdfs:label ?l OPTIONAL { ?a r:born%20in ?p } } ORDER BY ?a LIMIT 2"
    assert main(["kg", "query", str(store), optional, "--csv"]) == 0
    assert out.readouterr().out.splitlines()[2] == "urn:weft:entity:Bo,"


def test_an_answer_is_of_the_store_as_it_is_now(store: Path, out: pytest.CaptureFixture[str]) -> None:
    count = [
        "kg",
        "query",
        str(store),
        "SELECT (COUNT(*) AS ?n) { ?a weft:confidence ?c }",
        "--csv",
    ]
    assert main(count) == 0
    assert out.readouterr().out.split() == ["n", "4"]
    assert main(["kg", "rm", str(store), "three", "one"]) == 0
    assert out.readouterr().out == "3 places taken out: 2 facts fewer, 2 left\n"
    assert main(count) == 0
    assert out.readouterr().out.split() == ["n", "2"]
    # One index is kept, that of the store as it is.
    assert len(list((store / "index").iterdir())) == 1


def test_what_is_known_of_an_entity(store: Path, odd_store: Path, out: pytest.CaptureFixture[str]) -> None:
    assert main(["kg", "show", str(store), "ada", "--limit", "2", "--places", "2"]) == 0
    assert out.readouterr().out.splitlines() == [
        "Ada (also ADA): 3 facts",
        "0.90  Ada knows Bo",
        "      Ada knows Bo.",
        "      one:1",
        "      ADA knows Bo.",
        "      two:1",
        "0.60  Ada born in Oslo",
        "      Ada born in Oslo.",
        "      one:41",
        "and 1 more (--limit)",
    ]
    assert main(["kg", "show", str(odd_store), ODD]) == 0
    assert "<b>cat</b>" in out.readouterr().out


def test_what_a_text_would_say_to_a_terminal_is_shown_as_what_it_is(
    tmp_path: Path, out: pytest.CaptureFixture[str]
) -> None:
    store, name, sentence = tmp_path / "store", "Ada \x1b[31mLund", "Ada \x1b[31mLund was born in Oslo\x07."
    create_store(store, Schema((Relation("place_of_birth", "the tail is a place"),)), "folded")
    with open_writer(store) as writer:
        place = Evidence(name, "place_of_birth", "Oslo", 0.9, 0, 4, 0, 9, 1, sentence)
        writer.put("one", "c", "00", "m", [place])
        writer.finish()
    for command in (
        ["show", str(store)],
        ["show", str(store), name],
        ["ask", str(store), "Who was born in Oslo?"],
    ):
        assert main(["kg", *command]) == 0
        said = out.readouterr().out
        assert "Ada \\x1b[31mLund was born in Oslo\\x07." in said
        assert all(char.isprintable() or char == "\n" for char in said)


def test_a_name_of_a_text_is_found_with_and_without_its_article(
    store: Path, out: pytest.CaptureFixture[str]
) -> None:
    assert main(["kg", "show", str(store), "the Ada", "--limit", "1"]) == 0
    assert out.readouterr().out.startswith("Ada")
    assert Graph.load(store).with_other_article("the Zoe") is None


def test_merging_and_undoing(store: Path, out: pytest.CaptureFixture[str]) -> None:
    assert main(["kg", "merge", str(store), "bo", "cy"]) == 0
    assert out.readouterr().out == "Cy is Bo now: 1 fact (2 and 2 before)\n"
    assert main(["kg", "show", str(store), "Cy"]) == 0
    assert out.readouterr().out.startswith("Bo (also Cy): 1 fact")
    assert main(["kg", "merge", str(store), "bo", "cy"]) == 3
    assert "'cy' and 'bo' are one entity already, 'Bo'" in out.readouterr().err
    assert main(["kg", "unmerge", str(store), "Ada", "Bo"]) == 3
    assert "'Bo' was not merged into 'Ada' (merged: 'Cy' into 'Bo')" in out.readouterr().err
    assert main(["kg", "unmerge", str(store), "Bo", "Cy"]) == 0
    assert out.readouterr().out == "Bo has 2 facts, Cy 2\n"


def test_merging_and_undoing_as_json(store: Path, out: pytest.CaptureFixture[str]) -> None:
    assert main(["kg", "merge", str(store), "bo", "cy", "--json"]) == 0
    apart = {"entity": "Bo", "other": "Cy", "entity_facts": 2, "other_facts": 2}
    # What Bo had with Cy is no fact now; that Ada knows them is one.
    assert json.loads(out.readouterr().out) == {**apart, "facts": 1}
    assert main(["kg", "unmerge", str(store), "bo", "cy", "--json"]) == 0
    assert json.loads(out.readouterr().out) == apart


def test_what_is_one_is_told_as_one(store: Path, tmp_path: Path, out: pytest.CaptureFixture[str]) -> None:
    assert main(["kg", "rm", str(store), "three"]) == 0
    assert out.readouterr().out == "1 place taken out: 1 fact fewer, 3 left\n"
    assert main(["kg", "merge", str(store), "Bo", "Oslo"]) == 0
    assert out.readouterr().out == "Oslo is Bo now: 3 facts (2 and 1 before)\n"
    assert main(["kg", "unmerge", str(store), "Bo", "Oslo"]) == 0
    assert out.readouterr().out == "Bo has 2 facts, Oslo 1\n"
    assert main(["kg", "show", str(store), "Cy", "--html", str(tmp_path / "page.html"), "--depth", "1"]) == 0
    assert out.readouterr().out.startswith("2 entities and 1 fact in ")
    assert main(["kg", "query", str(store), "SELECT ?o { e:Ada r:knows ?o }"]) == 0
    assert out.readouterr().out.endswith("\n1 row\n")
    assert main(["kg", "rm", str(store), "two"]) == 0
    assert main(["kg", "export", str(store), "--format", "jsonl", "-o", str(tmp_path / "facts")]) == 0
    assert out.readouterr().out.splitlines()[-1].startswith("2 facts in ")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["query", "NOTHING", "ASK {}"], 3, "no such store"),
        (["query", "FOLDER", "ASK {}"], 6, "not a knowledge graph store (no manifest.json)"),
        (
            ["query", "STORE", "SELECT ?s\nWHERE { ?s ?p }"],
            3,
            "query, line 2, column 9: not SPARQL: a pattern needs subject, predicate and object",
        ),
        (
            ["query", "STORE", "SELECT ?s { ?s x:y ?o }"],
            3,
            "query, line 1, column 16: not SPARQL: no prefix x: is declared",
        ),
        (["query", "STORE", " "], 3, "an empty query"),
        (
            ["query", "STORE", "DELETE WHERE { ?s ?p ?o }"],
            3,
            "query, line 1, column 1: not SPARQL: DELETE changes a store; a query asks",
        ),
        (
            ["query", "STORE", "ASK { SERVICE <http://127.0.0.1/> { ?s ?p ?o } }"],
            3,
            "query, line 1, column 7: SERVICE",
        ),
        (["show", "STORE", "Adda"], 3, "no entity 'Adda' (near: Ada)"),
        (["show", "STORE", "Ada", "--limit", "0"], 2, "--limit is 0"),
        (
            ["show", "STORE", "Ada", "--html", "PAGE", "--nodes", "1000"],
            2,
            "nodes is 1000; it must be in 2..300",
        ),
        (["show", "STORE", "Ada", "--html", "PAGE", "--json"], 2, "prints no facts: leave --json out"),
        (["show", "STORE", "Ada", "--html", "PAGE", "--limit", "3"], 2, "leave --limit out"),
        (["show", "STORE", "Ada", "--html", "PAGE", "--places", "1"], 2, "leave --places out"),
        (["build", "FOLDER", "-o", "OUT", "--schema", "PAGE"], 2, "text needs --schema and --seed"),
        (["build", "FOLDER", "-o", "OUT", "--split", "PAGE"], 2, "--split is for text"),
        (["build", "FOLDER", "-o", "OUT", "--alpha", "0.9"], 2, "--alpha is for text"),
        (["build", "FOLDER", "-o", "OUT", "--per-head", "2"], 2, "--per-head is for text"),
        (["build", "FOLDER", "-o", "OUT", "--language", "python", "--exact"], 2, "--exact is for text"),
        (["facts", "FOLDER/letter.py", "--exact"], 2, "--exact is for a model of text"),
        (["facts", "FOLDER/letter.py", "--near", "0.9"], 2, "--near is for a model of text"),
        (["export", "STORE", "--format", "pdf", "-o", "OUT"], 2, "no format 'pdf'"),
        (["export", "FOLDER", "--format", "turtle", "-o", "OUT"], 6, "not a knowledge graph store"),
        (["merge", "STORE", "Ada", "ADA"], 3, "one entity already"),
        (["merge", "STORE", "Ada", "Nobody"], 3, "no entity 'Nobody'"),
        (["unmerge", "STORE", "Ada", "Bo"], 3, "'Bo' was not merged into 'Ada' (nothing was merged here)"),
        (["rm", "STORE", "on"], 3, "no document 'on'; nothing was taken out"),
        (["rm", "NOTHING", "one"], 3, "no such store"),
        (["extract", "NOTHING", "-o", "OUT"], 3, "no such file or folder"),
        (["extract", "NOTHING", "-o", "STORE"], 3, "no such file or folder"),
        (["extract", "EMPTY", "-o", "OUT"], 3, "holds no file"),
        (["extract", "FOLDER", "-o", "FOLDER"], 6, "not a knowledge graph store, and not empty (letter.py)"),
        (["extract", "FOLDER", "-o", "OUT", "--model", "no-such"], 4, "no such model"),
        (["extract", "FOLDER", "-o", "OUT", "--model", "EMPTY"], 4, "has no config.json"),
        (["extract", "FOLDER", "-o", "OUT", "--target-precision", "1.2"], 2, "precision is 1.2"),
        (["extract", "FOLDER", "-o", "OUT", "--workers", "0"], 2, "workers is 0"),
        (["extract", "FOLDER", "-o", "OUT", "--beams", "0"], 2, "beams is 0"),
        (["extract", "FOLDER", "-o", "STORE"], 6, "has no relation 'calls', of which the model speaks"),
    ],
)
def test_what_is_refused(
    arguments: list[str],
    code: int,
    message: str,
    store: Path,
    tmp_path: Path,
    out: pytest.CaptureFixture[str],
) -> None:
    places = {
        "STORE": store,
        "FOLDER": tmp_path / "folder",
        "EMPTY": tmp_path / "empty",
        "NOTHING": tmp_path / "nothing",
        "OUT": tmp_path / "out",
        "PAGE": tmp_path / "page.html",
    }
    places["FOLDER"].mkdir()
    places["EMPTY"].mkdir()
    (places["FOLDER"] / "letter.py").write_text("x = 1\n", encoding="utf-8")
    assert main(["kg", *(str(places.get(part, part)) for part in arguments)]) == code
    error = out.readouterr().err
    assert message in error
    assert "Traceback" not in error
    assert len(error.strip().splitlines()) == 1


def test_a_store_that_is_being_written_is_said(store: Path, out: pytest.CaptureFixture[str]) -> None:
    with open_writer(store):
        assert main(["kg", "rm", str(store), "one"]) == 6
        assert "is writing to this store" in out.readouterr().err
        assert main(["kg", "show", str(store), "Ada"]) == 0

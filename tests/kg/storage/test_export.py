"""Every format, read back by a reader that is not ours, says what the graph says."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import networkx
import pyarrow.parquet as pq
import pytest
import rdflib
from tests.kg.storage.conftest import SCHEMA, evidence, put

from weft.cli.main import main
from weft.errors import ConfigError, InputError, OutputError
from weft.kg.read.funnel import Funnel
from weft.kg.read.seeds import read_seeds
from weft.kg.schema import Relation, Schema
from weft.kg.storage.export import FORMATS, export
from weft.kg.storage.graph import Graph
from weft.kg.storage.rdf import ASSERTION, ENTITY, RELATION, TERM, iri, ntriples
from weft.kg.storage.writer import create_store, open_writer

Facts = set[tuple[str, str, str, float]]


@pytest.fixture(params=["store", "odd_store"])
def graph(request: pytest.FixtureRequest) -> Graph:
    return Graph.load(request.getfixturevalue(request.param))


def facts_of(graph: Graph) -> Facts:
    facts = [graph.fact(row) for row in range(len(graph))]
    return {(fact.head, fact.relation, fact.tail, fact.confidence) for fact in facts}


def written(graph: Graph, form: str, folder: Path) -> Path:
    place = folder / "out"
    export(graph, form, place)
    assert [path.name for path in folder.iterdir() if "part" in path.name] == []
    return place


@pytest.mark.filterwarnings("ignore:ConjunctiveGraph is deprecated:DeprecationWarning")  # rdflib's own use
@pytest.mark.parametrize(("form", "name"), [("ntriples", "nt"), ("turtle", "turtle"), ("jsonld", "json-ld")])
def test_rdf(graph: Graph, form: str, name: str, tmp_path: Path) -> None:
    found = rdflib.Graph().parse(written(graph, form, tmp_path), format=name)
    term = rdflib.Namespace(TERM)
    assertions = {node for node in found.subjects(term.confidence) if str(node).startswith(ASSERTION)}
    assert len(assertions) == len(graph)
    label = {node: str(text) for node, text in found.subject_objects(rdflib.RDFS.label)}
    back: Facts = set()
    for node in assertions:
        head, tail = found.value(node, rdflib.RDF.subject), found.value(node, rdflib.RDF.object)
        relation = found.value(node, rdflib.RDF.predicate)
        assert (head, relation, tail) in found
        name = str(relation).removeprefix(RELATION).replace("%20", " ")
        back.add((label[head], name, label[tail], float(found.value(node, term.confidence))))
    assert back == facts_of(graph)
    places = {
        (
            str(found.value(node, term.sentence)),
            int(found.value(node, term.start)),
            int(found.value(node, term.end)),
        )
        for node in found.subjects(term.sentence)
    }
    evidence = graph.evidence.to_pylist()
    assert places == {(item["sentence"], item["start"], item["end"]) for item in evidence}
    documents = {str(model) for model in found.objects(None, term.model)}
    assert documents == {"model-1"}
    assert set(found.objects(None, term.source)) == set(found.subjects(term.sentence))


def test_turtle_of_names_that_end_in_a_dot(tmp_path: Path) -> None:
    names = [
        "Inc.",
        "Inc..",
        ".x",
        "a.b",
        "a b.",
        "-.",
        'says "e:Inc\\. " ',
        "e:Inc.",
        "A%",
        "~",
        "(x)",
        "Zo\u00eb.",
    ]
    create_store(tmp_path / "s", Schema((Relation("part of.", "the head is a part of the tail"),)), "exact")
    with open_writer(tmp_path / "s") as writer:
        put(writer, "one.", *(evidence(name, "part of.", "Ltd.") for name in names))
        writer.finish()
    graph = Graph.load(tmp_path / "s")
    found = rdflib.Graph().parse(written(graph, "turtle", tmp_path), format="turtle")
    stated = rdflib.Graph().parse(data=b"".join(ntriples(graph)), format="nt")
    assert set(found) == set(stated)
    assert b"e:a.b " in (tmp_path / "out").read_bytes()


def test_ntriples_hold_each_statement_once(graph: Graph) -> None:
    statements = b"".join(ntriples(graph)).splitlines()
    assert len(statements) == len(set(statements))
    assert iri(ENTITY, "a b/<c>") == "urn:weft:entity:a%20b%2F%3Cc%3E"


def test_graphml(graph: Graph, tmp_path: Path) -> None:
    found = networkx.read_graphml(written(graph, "graphml", tmp_path), force_multigraph=True)
    label = found.nodes(data="label")
    back = {
        (label[head], data["relation"], label[tail], data["confidence"])
        for head, tail, data in found.edges(data=True)
    }
    # XML has no control characters; a carriage return and a line feed come back as they were.
    readable = {
        (head.replace("\x01", "\ufffd"), relation, tail.replace("\x01", "\ufffd"), sure)
        for head, relation, tail, sure in facts_of(graph)
    }
    assert back == readable
    assert all(data["sentence"] and data["document"] for _, _, data in found.edges(data=True))


def test_neo4j(graph: Graph, tmp_path: Path) -> None:
    folder = written(graph, "neo4j", tmp_path)
    with (folder / "nodes.csv").open(encoding="utf-8", newline="") as file:
        nodes = {row["id:ID"]: row for row in csv.DictReader(file)}
    with (folder / "relationships.csv").open(encoding="utf-8", newline="") as file:
        relations = list(csv.DictReader(file))
    assert {row[":LABEL"] for row in nodes.values()} == {"Entity"}
    back = {
        (
            nodes[row[":START_ID"]]["name"],
            row[":TYPE"],
            nodes[row[":END_ID"]]["name"],
            float(row["confidence:double"]),
        )
        for row in relations
    }
    assert back == {
        (" ".join(head.splitlines()), relation, " ".join(tail.splitlines()), sure)
        for head, relation, tail, sure in facts_of(graph)
    }
    for name in ("nodes.csv", "relationships.csv"):
        # No field holds a line break: the importer would need an option for it.
        assert len((folder / name).read_bytes().split(b"\n")) - 2 == len(
            nodes if name[0] == "n" else relations
        )


def test_jsonl(graph: Graph, tmp_path: Path) -> None:
    text = written(graph, "jsonl", tmp_path).read_text(encoding="utf-8")
    records = [json.loads(line) for line in text.split("\n")[:-1]]
    assert {(r["head"], r["relation"], r["tail"], r["confidence"]) for r in records} == facts_of(graph)
    assert sum(len(record["evidence"]) for record in records) == graph.num_places
    assert {"document", "start", "end", "chunk", "model", "confidence", "sentence"} <= records[0]["evidence"][
        0
    ].keys()


def test_neo4j_has_no_line_break_in_a_relation(tmp_path: Path) -> None:
    create_store(tmp_path / "s", Schema((Relation("part\nof", "the head is a part of the tail"),)), "exact")
    with open_writer(tmp_path / "s") as writer:
        put(writer, "one", evidence("a", "part\nof", "b")._replace(sentence="a is a part of b."))
        writer.finish()
    text = (written(Graph.load(tmp_path / "s"), "neo4j", tmp_path) / "relationships.csv").read_text()
    assert [line.split(",")[2] for line in text.splitlines()] == [":TYPE", "part of"]


def test_neo4j_has_no_line_break_in_a_kind(tmp_path: Path) -> None:
    create_store(tmp_path / "s", SCHEMA)
    with open_writer(tmp_path / "s") as writer:
        put(writer, "one", evidence("a", "knows", "b")._replace(head_kind="a\nkind", tail_kind="b"))
        writer.finish()
    text = (written(Graph.load(tmp_path / "s"), "neo4j", tmp_path) / "nodes.csv").read_text()
    assert [line.split(",")[2] for line in text.splitlines()] == ["kind", "a kind", "b"]


def test_jsonl_is_a_seed(graph: Graph, tmp_path: Path) -> None:
    place = written(graph, "jsonl", tmp_path).rename(tmp_path / "seed.jsonl")
    funnel = Funnel()
    seeds = read_seeds([place], SCHEMA, funnel)
    assert funnel.failures == 0
    assert len(seeds.triples) == len(graph)


def test_parquet(graph: Graph, tmp_path: Path) -> None:
    folder = written(graph, "parquet", tmp_path)
    tables = {path.stem: pq.read_table(path) for path in folder.iterdir()}
    triples = tables["triples"].to_pylist()
    assert {(t["head"], t["relation"], t["tail"], t["confidence"]) for t in triples} == facts_of(graph)
    for place in tables["evidence"].to_pylist():
        fact = triples[place["triple"]]
        assert graph.entity(place["head"]) == fact["head"]
        assert (fact["relation"], place["confidence"] <= fact["confidence"]) == (place["relation"], True)
    assert tables["documents"]["model"].to_pylist() == ["model-1"] * len(tables["documents"])


def test_facts_that_are_not_kept_stay_behind(store: Path, tmp_path: Path) -> None:
    from weft.kg.storage.writer import open_writer

    with open_writer(store) as writer:
        writer.keep(0.9)
        writer.finish()
    graph = Graph.load(store)
    for form in FORMATS:
        export(graph, form, tmp_path / form)
    assert b"Oslo" not in (tmp_path / "ntriples").read_bytes()
    assert len(pq.read_table(tmp_path / "parquet" / "evidence.parquet")) == 3
    assert len((tmp_path / "jsonl").read_text().splitlines()) == 2


@pytest.mark.parametrize("name", ["", "  "])
def test_an_empty_name_is_nobody(store: Path, name: str) -> None:
    graph = Graph.load(store)
    assert graph.find(name) is None
    assert graph.with_other_article(name) is None
    with pytest.raises(InputError, match="no name is given"):
        graph.entity(name)


def test_what_is_refused(store: Path, tmp_path: Path) -> None:
    graph = Graph.load(store)
    with pytest.raises(ConfigError, match=r"no format 'pdf' \(one of: ntriples, turtle, jsonld, graphml"):
        export(graph, "pdf", tmp_path / "out")
    with pytest.raises(OutputError, match="cannot be written: No such file"):
        export(graph, "jsonl", tmp_path / "no" / "out")
    for form, inside in (("jsonl", "manifest.json"), ("turtle", "new.ttl"), ("parquet", "folder")):
        with pytest.raises(OutputError, match="lies in the store"):
            export(graph, form, store / inside)
    assert main(["kg", "show", str(store), "Ada", "--html", str(store / "page.html")]) == 8
    assert Graph.load(store).triples.equals(graph.triples)
    (tmp_path / "there").mkdir()
    with pytest.raises(OutputError, match="File exists"):
        export(graph, "neo4j", tmp_path / "there")

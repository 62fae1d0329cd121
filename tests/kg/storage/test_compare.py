"""A graph beside its seed: what both state, what is new, by whichever name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from weft.cli.main import main
from weft.errors import InputError
from weft.kg.read.funnel import Funnel
from weft.kg.storage.compare import SeedGraph, Share, compare, read_seed_graph
from weft.kg.storage.export import export
from weft.kg.storage.graph import Graph
from weft.kg.storage.writer import open_writer

SEED = "head,relation,tail,head_aliases\nAda Lovelace,knows,BO,ada\nBo,knows,Dee,\nCy,met,Bo,\nEve,born in,Ada,\n"
SCHEMA = "knows: who knows whom\nborn in: where\n"


def seed_file(folder: Path) -> Path:
    path = folder / "seed.csv"
    path.write_text(SEED, encoding="utf-8")
    return path


def test_names_that_are_one_entity_in_the_graph_or_in_the_seed_are_one(store: Path) -> None:
    # The store: Ada knows Bo, Ada born in Oslo, Bo knows Cy, Ada knows Cy.
    seed = SeedGraph(
        [
            ("Ada Lovelace", "knows", "BO"),
            ("bo", "knows", "Dee"),
            ("DEE", "knows", "bo"),
            ("Cy", "knows", "Ada"),
        ],
        [("Ada Lovelace", "ADA"), ("BO",), ("bo",), ("Dee",), ("DEE",), ("Cy",), ("Ada",)],
    )
    found = compare(Graph.load(store), seed)
    assert found.facts == Share(seed=4, graph=4, both=1)
    assert (found.facts.new, found.facts.not_found) == (3, 3)
    # Ada, Bo, Cy and Dee; Ada, Bo, Cy and Oslo.
    assert found.entities == Share(4, 4, 3)
    assert found.relations == {"born in": Share(0, 1, 0), "knows": Share(4, 3, 1)}
    assert found.between_known == 2


def test_merged_entities_and_kept_facts_count(store: Path) -> None:
    seed = SeedGraph([("Ada", "born in", "Kristiania")], [("Ada",), ("Kristiania",)])
    assert compare(Graph.load(store), seed).facts.both == 0
    with open_writer(store) as writer:
        writer.merge("Oslo", "Kristiania")
        writer.finish()
    assert compare(Graph.load(store), seed).facts.both == 1
    with open_writer(store) as writer:
        writer.keep(0.9)
        writer.finish()
    assert compare(Graph.load(store), seed).facts == Share(1, 2, 0)


def test_nothing_beside_nothing(store: Path) -> None:
    with open_writer(store) as writer:
        for document in ("one", "two", "three"):
            writer.remove(document)
        writer.finish()
    found = compare(Graph.load(store), SeedGraph([], []))
    assert (found.facts, found.entities, found.relations) == (Share(0, 0, 0), Share(0, 0, 0), {})


def test_a_seed_file_is_read_with_the_relations_of_the_store(store: Path, tmp_path: Path) -> None:
    funnel = Funnel()
    seed = read_seed_graph([seed_file(tmp_path)], Graph.load(store), None, funnel)
    assert len(seed.facts) == 3
    assert funnel.counts["seed triples whose relation is not in the schema"] == 1
    assert compare(Graph.load(store), seed).facts == Share(3, 4, 1)


def test_an_export_beside_its_store_is_the_same(store: Path, tmp_path: Path) -> None:
    """How sure a fact is and where it stands are no facts, even where a relation has the name of one of these."""
    schema = tmp_path / "schema.yaml"
    schema.write_text(
        SCHEMA + "document: what it is written in\nsubject: what it is about\n", encoding="utf-8"
    )
    graph, funnel = Graph.load(store), Funnel()
    for form, name in (("ntriples", "graph.nt"), ("jsonl", "graph.jsonl")):
        export(graph, form, tmp_path / name)
        found = compare(graph, read_seed_graph([tmp_path / name], graph, schema, funnel))
        assert (found.facts, found.entities) == (Share(4, 4, 4), Share(4, 4, 4))
    assert not funnel.listed


def test_a_seed_of_which_nothing_can_be_used_is_refused(store: Path, tmp_path: Path) -> None:
    path = tmp_path / "seed.csv"
    path.write_text("Ada,meets,Bo\n", encoding="utf-8")
    with pytest.raises(
        InputError, match=r"names no entity.*: seed\.csv:1: Ada meets Bo \(seed triples whose relation"
    ):
        read_seed_graph([path], Graph.load(store), None, Funnel())
    path.write_text("head,relation,tail\n", encoding="utf-8")
    assert read_seed_graph([path], Graph.load(store), None, Funnel()) == SeedGraph([], [])


def test_the_command(store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = seed_file(tmp_path)
    assert main(["kg", "compare", str(store), str(path)]) == 0
    out, err = capsys.readouterr()
    rows = {line[:8].strip(): line[8:].split() for line in out.splitlines()[1:-1]}
    assert rows == {
        "facts": ["3", "4", "1", "3", "2"],
        "entities": ["4", "4", "2", "2", "2"],
        "born in": ["1", "1", "0", "1", "1"],
        "knows": ["2", "3", "1", "2", "1"],
    }
    assert out.endswith("new facts between two entities of the seed: 0\n")
    assert (
        "left out: seed triples whose relation is not in the schema (1), the first: seed.csv:4: Cy met Bo"
        in err
    )
    schema = tmp_path / "schema.yaml"
    schema.write_text("knows: {definition: who knows whom, also: [met]}\nborn in: where\n", encoding="utf-8")
    assert main(["kg", "compare", str(store), str(path), "--schema", str(schema), "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["facts"] == {"seed": 4, "graph": 4, "both": 1, "new": 3, "not_found": 3}
    assert (record["relations"]["knows"]["seed"], record["new_between_known_entities"]) == (3, 2)


def test_what_cannot_be_read_is_named(
    store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["kg", "compare", str(store), str(tmp_path / "none.csv")]) == 3
    assert "none.csv" in capsys.readouterr().err
    assert main(["kg", "compare", str(store), str(tmp_path)]) == 3
    assert "facts.parquet" in capsys.readouterr().err

"""Seed triples in every form, and lines that are none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.errors import InputError
from weft.kg.read.funnel import Funnel
from weft.kg.read.ntriples import local_name, read_ntriples
from weft.kg.read.seeds import Entity, Seeds, read_seeds, save_entities
from weft.kg.schema import Relation, Schema

SCHEMA = Schema(
    (
        Relation("flows_into", "…", head_types=("river",), tail_types=("river", "sea")),
        Relation("capital_of", "…", also=("http://example.org/capitalOf", "P1376")),
        Relation("sibling", "…", both_ways=True),
    )
)


def stated(seeds: Seeds) -> set[tuple[str, str, str]]:
    names = SCHEMA.names
    return {
        (seeds.entities[head].name, names[relation], seeds.entities[tail].name)
        for head, relation, tail in seeds.triples
    }


def read(path: Path, text: str) -> tuple[Seeds, Funnel]:
    path.write_text(text, encoding="utf-8")
    funnel = Funnel()
    return read_seeds([path], SCHEMA, funnel), funnel


EXPECTED = {("Rhine", "flows_into", "North Sea"), ("Bern", "capital_of", "Switzerland")}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("s.csv", "Rhine,flows_into,North Sea\nBern,capital_of,Switzerland\n"),
        ("s.csv", "tail,relation,head\r\nNorth Sea,flows_into,Rhine\r\nSwitzerland,P1376,Bern\r\n"),
        ("s.csv", '\ufeff"Rhine","flows_into","North Sea"\n# a remark\n\nBern,capital_of,Switzerland'),
        ("s.tsv", "Rhine\tflows_into\tNorth Sea\nBern\tcapital_of\tSwitzerland\n"),
        (
            "s.jsonl",
            '{"head": "Rhine", "relation": "flows_into", "tail": "North Sea"}\n'
            '{"head": "Bern", "relation": "capital_of", "tail": "Switzerland"}\n',
        ),
        (
            "s.nt",
            "<http://x.org/Rhine> <http://x.org/flows_into> <http://x.org/North_Sea> .\n"
            '<http://x.org/b> <http://example.org/capitalOf> "Switzerland"@en .\n'
            '<http://x.org/b> <http://www.w3.org/2000/01/rdf-schema#label> "B\\u0065rn" .\n',
        ),
    ],
)
def test_every_form_says_the_same(tmp_path: Path, name: str, text: str) -> None:
    seeds, funnel = read(tmp_path / name, text)
    assert stated(seeds) == EXPECTED
    assert funnel.failures == 0
    assert funnel.counts["seed triples"] == 2


def test_types_and_aliases(tmp_path: Path) -> None:
    seeds, _ = read(
        tmp_path / "s.csv",
        "head,relation,tail,head_type,tail_type,head_aliases\n"
        "Rhine,flows_into,North Sea,river,sea,Rhein|Rijn| \n"
        "Aare,flows_into,Rhine,river,river,\n",
    )
    assert seeds.entities == [
        Entity("Rhine", "river", ("Rhein", "Rijn")),
        Entity("North Sea", "sea"),
        Entity("Aare", "river"),
    ]
    record = {"head": "Rhine", "relation": "flows_into", "tail": "North Sea", "tail_aliases": ["Nordsee"]}
    seeds, _ = read(tmp_path / "s.jsonl", json.dumps(record))
    assert seeds.entities[1] == Entity("North Sea", "", ("Nordsee",))
    seeds, _ = read(
        tmp_path / "s.nt",
        "<http://x.org/r> <http://x.org/flows_into> <http://x.org/n> .\n"
        '<http://x.org/r> <http://www.w3.org/2000/01/rdf-schema#label> "Rhein"@de .\n'
        '<http://x.org/r> <http://www.w3.org/2004/02/skos/core#prefLabel> "Rhine" .\n'
        '<http://x.org/r> <http://www.w3.org/2004/02/skos/core#altLabel> "Rijn" .\n'
        "<http://x.org/r> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://x.org/types#river> .\n",
    )
    assert seeds.entities[0] == Entity("Rhine", "river", ("Rhein", "Rijn"))


def test_a_relation_both_ways_is_stated_both_ways(tmp_path: Path) -> None:
    seeds, funnel = read(tmp_path / "s.csv", "Ann,sibling,Bob\nBob,sibling,Ann\nAnn,sibling,Bob\n")
    assert stated(seeds) == {("Ann", "sibling", "Bob"), ("Bob", "sibling", "Ann")}
    assert funnel.counts["seed triples that repeat another"] == 2


def test_a_header_is_one_in_letters_of_either_case_and_for_names_alone(tmp_path: Path) -> None:
    text = "Head;Relation;TAIL;Head_Type;Source\nBern;capital_of;Switzerland;city;web\n"
    seeds, funnel = read(tmp_path / "s.csv", text)
    assert stated(seeds) == {("Bern", "capital_of", "Switzerland")}
    assert seeds.entities[0] == Entity("Bern", "city")
    assert ["'Source'" in item for item in funnel.listed["seed columns and keys that are unknown"]] == [True]
    seeds, funnel = read(tmp_path / "s.csv", "head,head_type\nBern,city\nRhine,river\n")
    assert seeds.entities == [Entity("Bern", "city"), Entity("Rhine", "river")]
    assert not funnel.listed


def test_what_is_no_triple_is_listed(tmp_path: Path) -> None:
    seeds, funnel = read(
        tmp_path / "s.csv",
        "head,relation,tail,head_type,tail_type\n"
        "Rhine,flows_into,North Sea,river,sea\n"
        "Rhine,likes,Cologne,river,city\n"
        "Rhine,flows_into,Cologne,river,city\n"
        "Rhine,flows_into,,,\n"
        "Rhine,flows_into\n"
        "a,capital_of,c,d,e,f\n"
        'Bern,"capital_of,Switzerland\n'
        "Bern,capital_of,Switzerland,,\n",
    )
    assert stated(seeds) == EXPECTED
    assert funnel.listed["seed triples whose relation is not in the schema"] == [
        "s.csv:3: Rhine likes Cologne"
    ]
    assert funnel.listed["seed triples whose types do not fit the schema"] == [
        "s.csv:4: Rhine flows_into Cologne (river city)"
    ]
    lines = [item.split(": ")[0] for item in funnel.listed["seed lines that cannot be read"]]
    assert lines == ["s.csv:5", "s.csv:6", "s.csv:7", "s.csv:8"]
    assert funnel.failures == 4


def test_broken_lines_of_the_other_forms(tmp_path: Path) -> None:
    good = '{"head": "Bern", "relation": "capital_of", "tail": "Switzerland"}'
    seeds, funnel = read(tmp_path / "s.jsonl", f'{{"head": \n[]\n{{"tail": "a"}}\n{good}\n')
    assert stated(seeds) == {("Bern", "capital_of", "Switzerland")}
    assert funnel.failures == 3
    good = '<http://x.org/Bern> <http://x.org/capital_of> "Switzerland" .'
    bad = [
        "a b c .",
        good[:-1],
        '<http://x.org/a> "b" <c> .',
        '<a:b> <c:d> "\\x" .',
        '<a:b> <c:d> "\\uD800" .',
    ]
    seeds, funnel = read(tmp_path / "s.nt", "\n".join([*bad, "# remark", good + " # and one here\r"]))
    assert stated(seeds) == {("Bern", "capital_of", "Switzerland")}
    assert funnel.failures == len(bad)


def test_files_that_are_none(tmp_path: Path) -> None:
    for name, content in [("s.xml", b"<a/>"), ("s.csv", b"\xff\xfe\xff")]:
        (tmp_path / name).write_bytes(content)
        with pytest.raises(InputError, match=r"a seed of kind|is not UTF-8"):
            read_seeds([tmp_path / name], SCHEMA, Funnel())


@settings(max_examples=80, deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=20))
def test_literals_come_back(text: str) -> None:
    spelled = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r")
    statements, _, broken = read_ntriples(f'<http://a.b/c> <http://a.b/d> "{spelled}"@en-GB .')
    assert not broken
    assert statements == [(1, ("http://a.b/c", "http://a.b/d", text))]


def test_iris_may_spell_letters_by_their_numbers() -> None:
    line = r"<http://x.org/K\u00F6ln> <http://x.org/flows_into> <http://x.org/\U0001F30A> ."
    statements, _, broken = read_ntriples(line)
    assert not broken
    assert statements == [(1, ("http://x.org/Köln", "http://x.org/flows_into", "http://x.org/🌊"))]
    for wrong in (r"\n", r"\u00F", r"\uD800"):
        assert len(read_ntriples(line.replace(r"\u00F6", wrong))[2]) == 1


def test_names_of_iris() -> None:
    assert local_name("http://dbpedia.org/resource/North_Sea") == "North Sea"
    assert local_name("http://x.org/a#K%C3%B6ln") == "Köln"
    assert local_name("urn:isbn:123") == "123"
    assert local_name("Ratio 3:1") == "Ratio 3:1"


def test_a_dictionary_is_kept(tmp_path: Path) -> None:
    entities = [Entity("Köln", "city", ("Cologne",)), Entity("a")]
    save_entities(entities, tmp_path / "e.json")
    kept = json.loads((tmp_path / "e.json").read_text())
    assert kept == [
        {"name": "Köln", "type": "city", "aliases": ["Cologne"]},
        {"name": "a", "type": "", "aliases": []},
    ]


def test_names_without_a_triple_are_entities(tmp_path: Path) -> None:
    text = "head,relation,tail,head_type,head_aliases\nAare,,,river,Aar\nBern,capital_of,Switzerland,,\n"
    seeds, funnel = read(tmp_path / "s.csv", text)
    assert seeds.entities == [Entity("Aare", "river", ("Aar",)), Entity("Bern"), Entity("Switzerland")]
    assert stated(seeds) == {("Bern", "capital_of", "Switzerland")}
    assert funnel.counts["entities without a seed triple"] == 1
    seeds, funnel = read(
        tmp_path / "s.jsonl", '{"head": "Aare", "head_type": "river"}\n{"head": "a", "tail": "b"}'
    )
    assert seeds.entities == [Entity("Aare", "river")]
    assert funnel.failures == 1
    # A plain list of names.
    assert [entity.name for entity in read(tmp_path / "t.csv", "Aare\nNew York\n")[0].entities] == [
        "Aare",
        "New York",
    ]


def test_a_head_may_begin_with_the_mark_of_a_remark(tmp_path: Path) -> None:
    seeds, funnel = read(
        tmp_path / "s.csv",
        "#a seed\nhead,relation,tail,head_type\n#MeToo,sibling,Time's Up,\n# Bern,sibling,Basel\n#Bern,,\n",
    )
    assert stated(seeds) == {("#MeToo", "sibling", "Time's Up"), ("Time's Up", "sibling", "#MeToo")}
    assert funnel.counts["seed lines that are remarks"] == 3
    assert read(tmp_path / "t.csv", "#MeToo,sibling,Time's Up\n")[0].entities[0].name == "#MeToo"
    assert read(tmp_path / "t.csv", '"# 1",sibling,Time\'s Up\n#"\n#\n')[0].entities[0].name == "# 1"


@pytest.mark.parametrize(
    ("header", "said"),
    [
        ("head,relation,tail,head_typ", "the column 'head_typ' is unknown (did you mean head_type?)"),
        ("head,relation,tail,x", "the column 'x' is unknown (one of head, relation, tail, head_type, tail_"),
        ("head,relation,tail,head", "the column 'head' stands twice"),
    ],
)
def test_a_column_that_no_seed_has_is_told(tmp_path: Path, header: str, said: str) -> None:
    _, funnel = read(tmp_path / "s.csv", f"{header}\nBern,capital_of,Switzerland,\n")
    twice = "twice" in said
    reason = "seed lines that cannot be read" if twice else "seed columns and keys that are unknown"
    assert funnel.listed[reason][0].startswith(f"s.csv:1: {said}")
    assert funnel.failures == (2 if twice else 0)


def test_a_fact_with_a_key_that_no_seed_has_is_read_and_the_key_told_once(tmp_path: Path) -> None:
    line = '{"head": "Bern", "relation": "capital_of", "tail": "Switzerland", "source": "w"}'
    seeds, funnel = read(tmp_path / "s.jsonl", f"{line}\n{line}\n")
    assert stated(seeds) == {("Bern", "capital_of", "Switzerland")}
    assert funnel.failures == 0
    (found,) = funnel.listed["seed columns and keys that are unknown"]
    assert found.startswith("s.jsonl:1: the key 'source' is unknown (")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            '{"head": "Bern", "predicate": "capital_of", "object": "Switzerland"}',
            "has the unknown key 'predicate' (one of head, relation, tail,",
        ),
        ('{"head": "Aare", "head_typ": "river"}', "has the unknown key 'head_typ' (did you mean head_type?)"),
        ('{"head": "Bern", "relation": 5, "tail": 7}', "has no string for 'relation'"),
        ('{"head": "Aare", "head_type": ["river"]}', "has no string for 'head_type'"),
        ('{"head": "Aa\\ud800re"}', "has a name with half a character"),
        ('{"head": "Aare", "head_aliases": ["\\udc00"]}', "has a name with half a character"),
        ('{"head": "Aare", "\\ud800": 1}', r"has the unknown key '\ud800'"),
    ],
)
def test_a_line_of_json_that_says_something_else_is_told(tmp_path: Path, line: str, said: str) -> None:
    seeds, funnel = read(tmp_path / "s.jsonl", f'{line}\n{{"head": "Elbe", "relation": null}}\n')
    assert seeds.entities == [Entity("Elbe")]
    (found,) = funnel.listed["seed lines that cannot be read"]
    assert found.startswith("s.jsonl:1: ")
    assert said in found
    funnel.save(tmp_path / "build.json", {})


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "s.jsonl",
            '{"head": "Rhine", "relation": "flows_into", "tail": "North Sea", "kinds": ["river", "sea"]}\n'
            '{"head": "Bern", "relation": "capital_of", "tail": "Aare", "kinds": ["LOC", null]}\n'
            '{"head": "Aare", "relation": "flows_into", "tail": "Rhine", "kinds": ["LOC", "LOC"]}\n',
        ),
        (
            "s.nt",
            '<urn:weft:entity:Rhine> <urn:weft:term:kind> "river" .\n'
            '<urn:weft:entity:North%20Sea> <urn:weft:term:kind> "sea" .\n'
            '<urn:weft:entity:Aare> <urn:weft:term:kind> "LOC" .\n'
            "<urn:weft:entity:Rhine> <urn:weft:relation:flows_into> <urn:weft:entity:North%20Sea> .\n"
            "<urn:weft:entity:Aare> <urn:weft:relation:flows_into> <urn:weft:entity:Rhine> .\n",
        ),
    ],
)
def test_kinds_of_an_export_are_types_where_the_schema_allows_them(
    tmp_path: Path, name: str, text: str
) -> None:
    seeds, funnel = read(tmp_path / name, text)
    types = {entity.name: entity.type for entity in seeds.entities}
    assert (types["Rhine"], types["North Sea"], types["Aare"]) == ("river", "sea", "")
    assert ("Aare", "flows_into", "Rhine") in stated(seeds)
    assert not funnel.listed

"""Queries of others: none reaches another machine, none runs for ever, none takes the program down."""

from __future__ import annotations

import json
import shutil
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.kg.storage.conftest import SCHEMA, evidence, put

from weft.cli.main import main
from weft.errors import InputError, LimitError
from weft.kg.storage.graph import Graph
from weft.kg.storage.query.sparql import answer, ask, build_index, locate_index, open_index
from weft.kg.storage.writer import create_store, open_writer


class Listener:
    """Counts who comes to a port."""

    def __init__(self) -> None:
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.socket.getsockname()[1]}/"
        self.calls = 0
        threading.Thread(target=self._count, daemon=True).start()

    def _count(self) -> None:
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            self.calls += 1
            connection.close()


@pytest.fixture
def listener() -> Iterator[Listener]:
    found = Listener()
    yield found
    found.socket.close()


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * { SERVICE <URL> { ?s ?p ?o } }",
        "SELECT * { sErViCe SILENT <URL> { ?s ?p ?o } }",
        "SELECT * { { ?s e:x\\# ?o } SERVICE <URL> { ?a ?b ?c } }",
        "SELECT * { ?s ?p ?o FILTER(1<2)SERVICE#>\n<URL> { ?a ?b ?c } }",
        "ASK { FILTER(1<2)SERVICE#>\n<URL>{} }",
        "SELECT * { \\u0053ERVICE <URL> { ?s ?p ?o } }",
        "SELECT * { BIND('a' AS ?x)SERVICE<URL>{ ?s ?p ?o } }",
        "ASK { BIND(<URL> AS ?u) SERVICE ?u { ?s ?p ?o } }",
        "ASK { ?x e:a '''it's \"\"\" ''' SERVICE <URL> { ?s ?p ?o } }",
    ],
)
def test_no_query_reaches_another_machine(query: str, store: Path, listener: Listener) -> None:
    with open_index(store) as index, pytest.raises(InputError):
        ask(index, query.replace("URL", listener.url))
    assert listener.calls == 0


@pytest.mark.parametrize(
    "query",
    [
        "SELECT ?service { ?service ?p ?o }",
        "# no SERVICE here\nSELECT * { ?s ?p ?o }",
        "SELECT * { ?s ?p 'SERVICE <http://127.0.0.1/> { }' }",
        "SELECT * { e:SERVICE ?p <http://service.example/service> }",
        "SELECT * { e:a.b.c.d ?p e:x.y\\.z , 'a.b.c:d.e.f' ; ?q <http://a.b.c/d.e.f> . e:service.a.b ?p ?o }",
        "PREFIX service: <urn:x:> SELECT * { service:SERVICE ?p ?o }",
    ],
)
def test_the_word_may_be_part_of_names_texts_and_comments(query: str, store: Path) -> None:
    with open_index(store) as index:
        assert ask(index, query).truth is None


def test_what_is_refused_says_where(store: Path) -> None:
    with open_index(store) as index, pytest.raises(InputError, match="query, line 2, column 3: SERVICE asks"):
        ask(index, "SELECT * {\n  SERVICE <http://127.0.0.1/> { ?s ?p ?o } }")


def test_brackets_have_a_bound(store: Path) -> None:
    with open_index(store) as index:
        assert ask(index, f"ASK {'{' * 80} ?s ?p ?o {'}' * 80}").truth is True
        assert ask(index, f"ASK {'{' * 100} ?s ?p ?o {'}' * 100}").truth is True
        with pytest.raises(LimitError, match="more than 100 brackets"):
            ask(index, f"ASK {'{' * 101} ?s ?p ?o {'}' * 101}")
        for opening, closing in ("{}", "()"):
            with pytest.raises(LimitError, match="more than 100 brackets"):
                ask(index, f"SELECT * {{ FILTER{opening * 3000}1{closing * 3000} }}")


def test_a_query_that_breaks_the_engine_breaks_nothing_else(store: Path) -> None:
    # The parser calls itself for each of these, and they are no brackets.
    query = f"ASK {{ ?s ?p ?o FILTER({'!' * 400_000}true) }}"
    with (
        locate_index(store) as place,
        pytest.raises((InputError, LimitError), match=r"engine broke|the answer"),
    ):
        answer(place, query, 20.0)


def test_a_query_ends_at_its_time(store: Path) -> None:
    everything = " ".join(f"?a{n} ?b{n} ?c{n} ." for n in range(12))
    with locate_index(store) as place:
        with pytest.raises(LimitError, match="took more than 2 s"):
            answer(place, f"SELECT (COUNT(*) AS ?n) {{ {everything} }}", 2.0)
        assert answer(place, "ASK { ?s ?p ?o }", 20.0).truth is True


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (
            "SELCT * { ?s ?p ?o }",
            "line 1, column 1: not SPARQL: a query cannot begin with 'SELCT' (did you mean SELECT?)",
        ),
        ("hello", "a query cannot begin with 'hello'"),
        ("INSERT DATA { e:a r:b e:c }", "INSERT changes a store; a query asks"),
        ("SELECT * { ?s ?p ?o", "line 1, column 10: not SPARQL: a { that is not closed"),
        # The engine is given names with their dots escaped: its column is not the query's.
        ("SELECT * {\n e:a.b.c r:x ?y . ?y r:z 1 2 }", "line 2, column 31: not SPARQL: what stands up to"),
        ("SELECT * {\n e:abcdef r:x ?y . ?y r:z 1 2 }", "line 2, column 32: not SPARQL: what stands up to"),
        ("SELECT * { ?s ?p ?o ) }", "column 21: not SPARQL: a ) that closes nothing"),
        ("SELECT * { ?s ?p 'abc }", "column 18: not SPARQL: a text that begins with '"),
        (
            "SELECT * {\n ?s foo:x ?o }",
            "line 2, column 5: not SPARQL: no prefix foo: is declared (declare it, or use",
        ),
        (
            "SELECT * { ?s ?p ?o FILTR(?o > 1) }",
            "the word 'FILTR' is no part of SPARQL (did you mean FILTER?)",
        ),
        ("SELECT * { ?s knows ?o }", "the word 'knows' is no part of SPARQL"),
        ("SELECT * { ?s r:knows }", "needs subject, predicate and object; here stand only ?s r:knows"),
        ("SELECT ?s (COUNT(?o) AS ?n) { ?s ?p ?o }", "a variable that the pattern does not bind"),
        ("SELECT * { ?s ?p ?o FILTER(?o > ) }", "what stands up to here cannot go on so"),
    ],
)
def test_a_query_is_told_what_is_wrong_with_it(
    query: str, message: str, store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["kg", "query", str(store), query]) == 3
    error = capsys.readouterr().err
    assert message in error
    assert len(error.splitlines()) == 1


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("SELECT * { ?s r:knws ?o }", "the store has no relation r:knws (did you mean r:knows?)"),
        ("ASK { ?s r:Knows ?o }", "the store has no relation r:Knows (did you mean r:knows?)"),
        ("SELECT * { ?s r:born_in ?o }", "the store has no relation r:born_in (did you mean r:born%20in?)"),
        (
            "SELECT * { ?s <urn:weft:relation:founded%20by>/r:knwos ?o }",
            "the store has no relation r:founded%20by (it has r:born%20in, r:knows); "
            "no r:knwos (did you mean r:knows?)",
        ),
        (
            "PREFIX own: <urn:weft:relation:> SELECT * { ?s own:knws ?o }",
            "the store has no relation r:knws (did you mean r:knows?)",
        ),
        ("SELECT * { ?s r:kn\\-ws ?o }", "the store has no relation r:kn-ws (did you mean r:knows?)"),
    ],
)
def test_an_empty_answer_names_the_relations_that_the_store_lacks(
    query: str, said: str, store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["kg", "query", str(store), query, "--json"]) == 0
    found, error = capsys.readouterr()
    assert error == f"{said}\n"
    assert json.loads(found) in (
        {"head": {}, "boolean": False},
        {**json.loads(found), "results": {"bindings": []}},
    )


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * { e:Nobody ?relation ?o }",
        "SELECT * { e:Nobody r:knows ?o }",
        "SELECT * { e:Nobody r:born%20in ?o }  # and no r:knws",
        "SELECT * { e:Nobody ?p 'r:knws' }",
        "PREFIX r: <urn:other:> SELECT * { ?s r:knws ?o }",
        "PREFIX : <urn:weft:relation:> SELECT * { e:Nobody :knows _:knws }",
        "SELECT * { ?s rdfs:knws ?o }",
        "SELECT * { ?s ?p ?o OPTIONAL { ?s r:knws ?x } }",
    ],
)
def test_no_other_answer_is_told_so(query: str, store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["kg", "query", str(store), query]) == 0
    assert capsys.readouterr().err == ""


def _two_sentences(folder: Path) -> Path:
    """One head at one place, whose second fact has its tail in another sentence."""
    create_store(folder, SCHEMA)
    near, far = evidence("Ada", "knows", "Bo"), evidence("Ada", "knows", "Cy")
    with open_writer(folder) as writer:
        put(writer, "one", near, far._replace(sentence="Ada knows Bo. … Cy knows her."))
        writer.finish()
    return folder


def test_each_fact_has_its_own_sentence_at_one_place(tmp_path: Path) -> None:
    query = """SELECT ?tail ?sentence { ?a rdf:object [ rdfs:label ?tail ] ;
               weft:source [ weft:start 0 ; weft:sentence ?sentence ] } ORDER BY ?tail"""
    store = _two_sentences(tmp_path / "store")
    with open_index(store) as index:
        found = [tuple(term.value for term in row if term is not None) for row in ask(index, query).rows]
    graph = Graph.load(store)
    assert found == [
        (fact.tail, place.sentence) for fact in graph.facts() for place in graph.places(fact.row)
    ]
    assert found == [("Bo", "Ada knows Bo."), ("Cy", "Ada knows Bo. … Cy knows her.")]


def test_an_index_of_other_statements_is_built_anew(store: Path) -> None:
    with locate_index(store) as place:
        generation = place.name.partition("-")[0]
        build_index(Graph.load(store), place.parent / generation)
        (place.parent / f"{generation}-stated").mkdir()
    # As older versions named them: they had other statements.
    shutil.rmtree(place)
    with locate_index(store) as place, locate_index(store, "inferred") as other:
        assert sorted(path.name for path in place.parent.iterdir()) == sorted([place.name, other.name])
        assert place.name != generation

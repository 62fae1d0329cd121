"""The service answers as the commands do: the same values, under one description for both."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import BaseModel

from tests.serve.conftest import FILES, SOURCE, Service, ended, serving
from weft.cli.main import main
from weft.serve.shapes.base import Models
from weft.serve.shapes.binaries import Detail, Difference, Explanation, Found, Identified, Listing, Matching
from weft.serve.shapes.graphs import Entities, EntityFacts, Kept, ModelFacts, Sparql
from weft.serve.shapes.texts import Explanations, Findings, Opinions, TableFindings, TableOpinions

A, B = FILES / "gcc-O2-x86_64.so", FILES / "clang-O2-x86_64.so"
TEXT = "The food was great, the service slow."
Send = Callable[..., str]


def command(capsys: pytest.CaptureFixture[str], *arguments: object) -> Any:
    """What a command prints."""
    capsys.readouterr()
    assert main([str(argument) for argument in arguments]) == 0
    return json.loads(capsys.readouterr().out)


def ask(client: httpx.Client, path: str, request: dict[str, Any], model: type[BaseModel]) -> Any:
    """What the service answers, be it at once or by a job; it is as described."""
    answer = client.post(path, json=request)
    if answer.status_code == 202:
        place = answer.headers["location"]
        with client.stream("GET", f"{place}/events") as events:
            assert [line for line in events.iter_lines() if line][-1].startswith("data:")
        answer = client.get(f"{place}/result")
    assert answer.status_code == 200, answer.text
    model.model_validate(answer.json())
    return answer.json()


def rounded_like(told: Any) -> Any:
    """The same, where a figure of four digits may differ by one in the last: the command embeds one function in NumPy,
    the service in torch, and a processor of another kind rounds one of them elsewhere."""
    if isinstance(told, dict):
        return {key: rounded_like(value) for key, value in told.items()}
    if isinstance(told, list):
        return [rounded_like(value) for value in told]
    return pytest.approx(told, rel=0, abs=1.5e-4) if isinstance(told, float) else told


def test_the_functions_of_a_file(client: httpx.Client, send: Send, capsys: pytest.CaptureFixture[str]):
    file = send(A)
    told = command(capsys, "bcsd", "show", A, "--json")
    assert ask(client, "/v1/bcsd/functions", {"file": file}, Listing) == told
    Listing.model_validate(told)
    one = command(capsys, "bcsd", "show", f"{A}:checked", "--json")
    assert ask(client, "/v1/bcsd/functions", {"file": file, "function": "checked"}, Detail) == one
    Detail.model_validate(one)


def test_a_search(client: httpx.Client, send: Send, index: Path, capsys: pytest.CaptureFixture[str]):
    file = send(A)
    for function in (None, "checked"):
        selector = A if function is None else f"{A}:{function}"
        told = command(capsys, "bcsd", "search", selector, "--index", index, "--json", "--quiet")
        found = ask(client, "/v1/bcsd/search", {"file": file, "function": function}, Found)
        Found.model_validate(told)
        assert found["binary"] == A.name
        told["binary"], told["index"] = A.name, "index"
        for query in told["queries"]:
            for hit in query["hits"]:
                hit["binary"] = Path(hit["binary"]).name  # no path of the server
        assert found == rounded_like(told)
        # A function of a file that was read is answered at once, the same.
        if function is not None:
            again = client.post("/v1/bcsd/search", json={"file": file, "function": function})
            assert (again.status_code, again.json()) == (200, found)


def test_a_matching_and_an_explanation(client: httpx.Client, send: Send, capsys: pytest.CaptureFixture[str]):
    a, b = send(A), send(B)
    told = command(capsys, "bcsd", "match", A, B, "--json", "--quiet")
    found = ask(client, "/v1/bcsd/match", {"a": a, "b": b}, Matching)
    Matching.model_validate(told)
    told["a"]["path"], told["b"]["path"] = A.name, B.name
    assert found == told
    told = command(capsys, "bcsd", "explain", f"{A}:checked", f"{B}:checked", "--json")
    request = {"a": a, "function_a": "checked", "b": b, "function_b": "checked"}
    found = ask(client, "/v1/bcsd/explain", request, Explanation)
    Explanation.model_validate(told)
    told["a"]["path"], told["b"]["path"] = A.name, B.name
    assert found == told


def test_a_difference(client: httpx.Client, send: Send, capsys: pytest.CaptureFixture[str]):
    told = command(capsys, "bcsd", "diff", A, B, "--json", "--quiet")
    Difference.model_validate(told)
    found = ask(client, "/v1/bcsd/diff", {"old": send(A), "new": send(B)}, Difference)
    told["old"]["path"], told["new"]["path"] = A.name, B.name
    assert found == told


def test_libraries(libraries: Service, shelf_index: Path, capsys: pytest.CaptureFixture[str]):
    told = command(capsys, "bcsd", "identify", A, "--index", shelf_index, "--json", "--quiet")
    Identified.model_validate(told)
    assert told["libraries"]
    with libraries.client() as client:
        file = client.post("/v1/uploads", params={"name": A.name}, content=A.read_bytes()).json()["id"]
        found = ask(client, "/v1/bcsd/identify", {"file": file}, Identified)
        assert client.get("/v1/models").json()["libraries"] is True
    told["binary"] = A.name
    assert found == told


def test_an_index_that_names_no_library(
    client: httpx.Client, send: Send, index: Path, capsys: pytest.CaptureFixture[str]
):
    assert main(["bcsd", "identify", str(A), "--index", str(index)]) == 6
    assert "`weft bcsd index build PACKAGE… --index DIR` makes an index that does" in capsys.readouterr().err
    refused = ended(client, client.post("/v1/bcsd/identify", json={"file": send(A)}))
    assert refused.status_code == 422
    assert "the index does not say of which library a function is" in refused.text
    assert client.get("/v1/models").json()["libraries"] is False


def test_an_entity(client: httpx.Client, store: Path, capsys: pytest.CaptureFixture[str]):
    told = command(capsys, "kg", "show", store, "ada", "--json")
    found = client.get("/v1/kg/facts", params={"entity": "ada"}).json()
    assert found == told
    assert EntityFacts.model_validate(told).facts[0].evidence
    listed = client.get("/v1/kg/entities", params={"q": "o"}).json()
    assert [entry["entity"] for entry in Entities.model_validate(listed).model_dump()["entities"]] == [
        "Oslo",
        "Bo",
    ]


@pytest.mark.parametrize(
    "query", ["SELECT ?s WHERE { ?s r:knows ?o } ORDER BY ?s", "ASK { e:Ada r:knows e:Bo }"]
)
def test_sparql(client: httpx.Client, store: Path, capsys: pytest.CaptureFixture[str], query: str):
    told = command(capsys, "kg", "query", store, query, "--json")
    Sparql.model_validate(told)
    assert client.get("/v1/kg/sparql", params={"query": query}).json() == told
    assert client.post("/v1/kg/sparql", data={"query": query}).json() == told
    as_it_is = {"content-type": "application/sparql-query"}
    assert client.post("/v1/kg/sparql", content=query, headers=as_it_is).json() == told


def test_a_client_of_the_protocol_is_answered(service: Service):
    from rdflib import Graph, URIRef
    from rdflib.plugins.stores.sparqlstore import SPARQLStore

    graph = Graph(SPARQLStore(f"{service.url}/v1/kg/sparql"))
    asked = "SELECT ?who WHERE { ?who <urn:weft:relation:knows> ?whom } ORDER BY ?who"
    assert [str(row.who) for row in graph.query(asked)] == ["urn:weft:entity:Ada", "urn:weft:entity:Bo"]
    assert (URIRef("urn:weft:entity:Ada"), URIRef("urn:weft:relation:knows"), None) in graph


def test_facts_of_a_source(
    client: httpx.Client, send: Send, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    source = tmp_path / "shape.py"
    source.write_text(SOURCE)
    told = command(capsys, "kg", "facts", source, "--json", "--quiet", "--relation", "has_type")
    ModelFacts.model_validate(told)
    assert (
        ask(client, "/v1/kg/extract", {"file": send(source), "relations": ["has_type"]}, ModelFacts) == told
    )


def test_facts_are_put_into_a_store(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    folder = tmp_path / "uploads"
    folder.mkdir()
    (folder / "shape.py").write_text(SOURCE)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "o.py").write_text("class Other:\n    pass\n")
    for store in ("mine", "served"):
        assert (
            main(["kg", "extract", str(tmp_path / "other"), "-o", str(tmp_path / store), "--workers", "1"])
            == 0
        )
    told = command(
        capsys, "kg", "extract", folder, "-o", tmp_path / "mine", "--workers", 1, "--json", "--quiet"
    )
    Kept.model_validate(told)
    with serving(tmp_path, "--store", str(tmp_path / "served")) as running, running.client() as client:
        file = client.post("/v1/uploads?name=shape.py", content=SOURCE.encode()).json()["id"]
        assert ask(client, "/v1/kg/documents", {"file": file}, Kept) == told
        facts = client.get("/v1/kg/facts", params={"entity": "Shape"}).json()
        other = client.post("/v1/uploads?name=other.py", content=b"class Second:\n    pass\n").json()["id"]
        assert ask(client, "/v1/kg/documents", {"file": other}, Kept)["gone"] == []
    assert facts == command(capsys, "kg", "show", tmp_path / "mine", "Shape", "--json")


def test_opinions(client: httpx.Client, capsys: pytest.CaptureFixture[str]):
    told = command(
        capsys, "absa", "predict", TEXT, "--aspect", "food", "--aspect", "service", "--json", "--quiet"
    )
    Opinions.model_validate(told)
    found = ask(client, "/v1/absa/predict", {"texts": [TEXT], "aspects": ["food", "service"]}, Opinions)
    assert found == told
    told = command(capsys, "absa", "explain", TEXT, "--aspect", "service", "--json", "--quiet")
    Explanations.model_validate(told)
    assert ask(client, "/v1/absa/explain", {"text": TEXT, "aspects": ["service"]}, Explanations) == told


def test_findings(client: httpx.Client, capsys: pytest.CaptureFixture[str]):
    told = command(capsys, "absa", "find", TEXT, "--json", "--quiet")
    Findings.model_validate(told)
    assert ask(client, "/v1/absa/find", {"texts": [TEXT]}, Findings) == told
    assert told


def test_texts_as_they_are_written(client: httpx.Client, capsys: pytest.CaptureFixture[str]):
    text = "The stafff were lovley, wifi 1/10."
    for way in ("predict", "explain"):
        asked = {"aspects": ["wifi"], **({"texts": [text]} if way == "predict" else {"text": text})}
        told = [
            command(capsys, "absa", way, text, "--aspect", "wifi", "--json", "--quiet", *more)
            for more in ((), ("--as-written",))
        ]
        answers = [
            ask(client, f"/v1/absa/{way}", asked | more, Opinions if way == "predict" else Explanations)
            for more in ({}, {"as_written": True})
        ]
        assert answers == told
        assert told[0] != told[1]
    told = command(capsys, "absa", "find", text, "--json", "--quiet", "--as-written")
    assert ask(client, "/v1/absa/find", {"texts": [text], "as_written": True}, Findings) == told
    assert told != ask(client, "/v1/absa/predict", {"texts": [text]}, Findings)


def test_words_that_are_right_as_they_are(
    client: httpx.Client, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    words = tmp_path / "words.txt"
    words.write_text("Stafff\n")
    text, more = "The stafff were lovley.", {"words": ["Stafff"]}
    for way in ("predict", "explain"):
        asked = {"aspects": ["staff"], **({"texts": [text]} if way == "predict" else {"text": text})}
        told = command(
            capsys, "absa", way, text, "--aspect", "staff", "--json", "--quiet", "--words", str(words)
        )
        model = Opinions if way == "predict" else Explanations
        assert ask(client, f"/v1/absa/{way}", asked | more, model) == told
        assert ask(client, f"/v1/absa/{way}", asked, model) != told
    told = command(capsys, "absa", "find", text, "--json", "--quiet", "--words", str(words))
    assert ask(client, "/v1/absa/find", {"texts": [text]} | more, Findings) == told
    refused = client.post("/v1/absa/find", json={"texts": [text], "as_written": True} | more)
    assert (refused.status_code, "words beside as_written" in refused.text) == (422, True)


def test_findings_of_a_table(
    client: httpx.Client, send: Send, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    table, out = tmp_path / "reviews.csv", tmp_path / "out.jsonl"
    table.write_text(f'review,note\n"{TEXT}",x\n,empty\n"The room was clean",y\n"I walked home",z\n')
    asked = ["absa", "find", str(table), "--text-column", "review", "--json", "--quiet", "-o", str(out)]
    capsys.readouterr()
    assert main(asked) == 9
    summary = json.loads(capsys.readouterr().out)
    found = ask(client, "/v1/absa/find", {"file": send(table), "text_column": "review"}, TableFindings)
    assert found["summary"] == summary
    assert found["records"] == [json.loads(line) for line in out.read_text().splitlines()]
    assert (found["unused"], found["problems"]) == (1, ["reviews.csv row 2: column 'review' is empty"])
    refused = client.post("/v1/absa/find", json={"texts": ["a"], "file": "0" * 24})
    assert (refused.status_code, refused.json()["type"]) == (422, "urn:weft:problem:request")


def test_a_table_of_texts(client: httpx.Client, send: Send, tmp_path: Path):
    table, out = tmp_path / "reviews.csv", tmp_path / "out.jsonl"
    table.write_text(f'text,note\n"{TEXT}",x\n,empty\n"Nice rooms",y\n')
    assert main(["absa", "predict", str(table), "--aspect", "food", "--quiet", "-o", str(out)]) == 9
    told = [json.loads(line) for line in out.read_text().splitlines()]
    found = ask(client, "/v1/absa/predict", {"file": send(table), "aspects": ["food"]}, TableOpinions)
    assert found["records"] == told
    assert (found["unused"], found["problems"]) == (1, ["reviews.csv row 2: column 'text' is empty"])


def test_a_table_without_aspects(
    client: httpx.Client, send: Send, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    table, out = tmp_path / "reviews.csv", tmp_path / "out.jsonl"
    table.write_text(f'review\n"{TEXT}"\n"The room was clean"\n')
    told = command(
        capsys, "absa", "predict", table, "--text-column", "review", "--json", "--quiet", "-o", out
    )
    found = ask(client, "/v1/absa/predict", {"file": send(table), "text_column": "review"}, TableFindings)
    assert (found["summary"], found["problems"]) == (told, [])
    assert found["records"] == [json.loads(line) for line in out.read_text().splitlines()]
    told = command(capsys, "absa", "predict", TEXT, "--json", "--quiet")
    assert ask(client, "/v1/absa/predict", {"texts": [TEXT]}, Findings) == told
    for name, value in {
        "targets": ["food"],
        "target_column": "place",
        "threshold": 0.6,
    }.items():
        refused = client.post("/v1/absa/predict", json={"texts": [TEXT], name: value})
        assert (refused.status_code, refused.json()["type"]) == (422, "urn:weft:problem:request")
        assert name in refused.json()["detail"]


def test_findings_that_are_not_sure_enough(
    client: httpx.Client, send: Send, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    asked, told = {"texts": [TEXT], "abstain": 1.0}, ["absa", "find", TEXT, "--abstain", "1", "--json"]
    records = command(capsys, *told, "--quiet")
    assert {record["polarity"] for record in records} == {"unsure"}
    assert ask(client, "/v1/absa/find", asked, Findings) == records
    assert ask(client, "/v1/absa/predict", asked, Findings) == records
    table = tmp_path / "reviews.csv"
    table.write_text(f'text\n"{TEXT}"\n')
    summary = command(capsys, "absa", "find", table, "--abstain", "1", "--quiet", "--json")
    found = ask(client, "/v1/absa/find", {"file": send(table), "abstain": 1.0}, TableFindings)
    assert found["summary"] == summary
    assert {name for one in summary["aspects"] for name in one["polarities"]} == {"unsure"}


def test_a_form_that_asks_what_was_good_and_what_was_not(
    client: httpx.Client, send: Send, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    table, out = tmp_path / "form.csv", tmp_path / "out.jsonl"
    table.write_text('liked,better\n"Friendly staff",better wifi\n,price\nthe pool,nothing\n')
    sides = ("--pros", "liked", "--cons", "better", "--quiet")
    columns = {"file": send(table), "pros": ["liked"], "cons": ["better"]}
    told = command(capsys, "absa", "find", table, *sides, "--json", "-o", out)
    found = ask(client, "/v1/absa/find", columns, TableFindings)
    assert found["summary"] == told
    assert found["records"] == [json.loads(line) for line in out.read_text().splitlines()]
    assert {record["column"] for record in found["records"]} == {"liked", "better"}
    assert main(["absa", "predict", str(table), *sides, "--aspect", "staff", "-o", str(out)]) == 0
    found = ask(client, "/v1/absa/predict", columns | {"aspects": ["staff"]}, TableOpinions)
    assert found["records"] == [json.loads(line) for line in out.read_text().splitlines()]
    for way, more in (("find", {}), ("predict", {"aspects": ["wifi"]})):
        aspects = ("--aspect", "wifi") if more else ()
        told = command(capsys, "absa", way, "better wifi", *aspects, "--json", "--quiet", "--side", "cons")
        asked = {"texts": ["better wifi"], "side": "cons"} | more
        assert ask(client, f"/v1/absa/{way}", asked, Opinions if more else Findings) == told
        for wrong in ({"pros": ["liked"]}, {"side": "bad"}):
            refused = client.post(f"/v1/absa/{way}", json={"texts": ["better wifi"]} | more | wrong)
            assert refused.status_code == 422
        refused = client.post(f"/v1/absa/{way}", json=columns | more | {"side": "cons"})
        assert (refused.status_code, "not both" in refused.text) == (422, True)


def test_branches_are_compared(
    client: httpx.Client, send: Send, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    table, out = tmp_path / "branches.csv", tmp_path / "out.jsonl"
    rows = [("Leeds", "The queue was endless"), ("York", "Great coffee")] * 8
    table.write_text("branch,text\n" + "".join(f"{where},{text}\n" for where, text in rows))
    told = command(capsys, "absa", "find", table, "--by", "branch", "--quiet", "--json", "-o", out)
    found = ask(client, "/v1/absa/find", {"file": send(table), "by": "branch"}, TableFindings)
    assert found["summary"] == told
    assert found["summary"]["by"]["differences"]
    assert found["records"] == [json.loads(line) for line in out.read_text().splitlines()]
    for way, wrong in (
        ("find", {"texts": ["x"], "by": "branch"}),
        ("predict", {"file": send(table), "aspects": ["queue"], "by": "branch"}),
    ):
        refused = client.post(f"/v1/absa/{way}", json=wrong)
        assert (refused.status_code, "by " in refused.text) == (422, True)


def test_categories_of_ones_own(
    client: httpx.Client, send: Send, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    lines, domain = ["waiting: queue, line", "drinks: coffee"], tmp_path / "domain.txt"
    domain.write_text("\n".join(lines))
    told = command(capsys, "absa", "find", TEXT, "--domain", domain, "--json", "--quiet")
    for way in ("find", "predict"):
        found = ask(client, f"/v1/absa/{way}", {"texts": [TEXT], "domain": lines}, Findings)
        assert found == told
    table, out = tmp_path / "branches.csv", tmp_path / "out.jsonl"
    rows = [("Leeds", "We waited and waited"), ("York", "Great coffee"), ("Hull", "It was all right")] * 4
    table.write_text("branch,text\n" + "".join(f"{where},{text}\n" for where, text in rows))
    for by, more in (([], {}), (["--by", "branch"], {"by": "branch"})):
        asked = ["absa", "find", table, "--domain", domain, *by, "--quiet", "--json", "-o", out]
        told = command(capsys, *asked)
        found = ask(client, "/v1/absa/find", {"file": send(table), "domain": lines} | more, TableFindings)
        assert found["summary"] == told
        assert found["records"] == [json.loads(line) for line in out.read_text().splitlines()]
    for wrong, said in (
        ({"domain": ["price", "price"]}, "names the category 'price' twice"),
        ({"domain": ["# nothing"]}, "names no category"),
        ({"domain": [": cost"]}, "domain line 1"),
        ({"domain": ["x" * 1001]}, "at most 1000"),
        ({"domain": ["x"] * 65}, "at most 64"),
    ):
        answer = ended(client, client.post("/v1/absa/find", json={"texts": [TEXT]} | wrong))
        assert answer.status_code == 422
        assert said in answer.text
    refused = client.post("/v1/absa/predict", json={"texts": [TEXT], "aspects": ["a"], "domain": lines})
    assert (refused.status_code, "domain is about" in refused.text) == (422, True)


@pytest.mark.parametrize("empty", ["", "  "])
def test_an_empty_text_is_refused_by_its_number(client: httpx.Client, empty: str):
    for way, more in (("find", {}), ("predict", {"aspects": ["food"]})):
        refused = client.post(f"/v1/absa/{way}", json={"texts": ["a", "b", empty]} | more)
        assert refused.status_code == 422
        assert refused.json()["detail"] == "text 3: the text is empty: leave it out"


def test_a_workbook_is_told_what_to_do_with(client: httpx.Client):
    upload = client.post("/v1/uploads", params={"name": "r.xlsx"}, content=b"PK").json()["id"]
    refused = ended(client, client.post("/v1/absa/find", json={"file": upload}))
    assert refused.status_code == 422
    assert refused.json()["hint"] == 'save its sheet as "CSV UTF-8"'


def test_what_is_about_what_is_found_is_refused_elsewhere(client: httpx.Client, send: Send, tmp_path: Path):
    table = tmp_path / "t.csv"
    table.write_text("branch,text\na,b\n")
    for way, wrong in (("predict", {"file": send(table), "aspects": ["queue"], "by": "branch"}),):
        refused = client.post(f"/v1/absa/{way}", json=wrong)
        assert (refused.status_code, "by " in refused.text) == (422, True)


def test_a_table_whose_kind_nobody_knows_is_refused_as_an_input(client: httpx.Client, send: Send):
    asked = {"file": send("a.so", b"x"), "aspects": ["food"]}
    refused = ended(client, client.post("/v1/absa/predict", json=asked))
    assert (refused.status_code, refused.json()["type"]) == (422, "urn:weft:problem:config")
    assert "'a.so'" in refused.json()["detail"]


def test_what_takes_long_is_a_job_with_the_same_answer(
    client: httpx.Client, capsys: pytest.CaptureFixture[str]
):
    long = TEXT * 9
    told = command(
        capsys, "absa", "explain", long, "--aspect", "food", "--json", "--quiet", "--method", "attention"
    )
    asked = {"text": long, "aspects": ["food"], "method": "attention"}
    before = {job["id"] for job in client.get("/v1/jobs").json()["jobs"]}
    assert ask(client, "/v1/absa/explain", asked, Explanations) == told
    asked = {
        "texts": [f"{TEXT * 12}{number}" for number in range(4)],
        "aspects": [f"food {n}" for n in range(64)],
    }
    assert len(ask(client, "/v1/absa/predict", asked, Opinions)) == 256
    assert client.post("/v1/absa/find?wait=0", json={"texts": [TEXT]}).status_code == 202
    assert client.post("/v1/absa/find?wait=5.1", json={"texts": [TEXT]}).status_code == 422
    kinds = {job["kind"] for job in client.get("/v1/jobs").json()["jobs"] if job["id"] not in before}
    assert kinds == {"absa.explain", "absa.texts", "absa.find"}


@pytest.mark.parametrize(
    ("path", "request_"),
    [
        ("/v1/bcsd/search", {"hits": "5"}),
        ("/v1/bcsd/search", {"hits": True}),
        ("/v1/bcsd/match", {"floor": "0.5"}),
        ("/v1/absa/predict", {"threshold": "0.5"}),
    ],
)
def test_a_value_of_another_type_is_refused(client: httpx.Client, path: str, request_: dict[str, Any]):
    whole = {"file": "0" * 24, "a": "0" * 24, "b": "0" * 24, "aspects": ["food"], **request_}
    fields = {
        "search": ("file", "hits"),
        "match": ("a", "b", "floor"),
        "predict": ("file", "aspects", "threshold"),
    }
    known = {name: whole[name] for name in fields[path.rpartition("/")[2]]}
    refused = client.post(path, json=known)
    assert (refused.status_code, refused.json()["type"]) == (422, "urn:weft:problem:request"), refused.text
    assert next(iter(request_)) in refused.json()["detail"]


def test_models(client: httpx.Client, capsys: pytest.CaptureFixture[str]):
    found = client.get("/v1/models").json()
    Models.model_validate(found)
    assert found["shipped"] == command(capsys, "models", "--json")
    assert (found["index"], found["store"], found["absa"]) == ("index", "store", "absa-any")
    assert found["upload_bytes"] == 256 << 20

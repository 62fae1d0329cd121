"""A program of a library that an index holds: named, with its version; as a table, JSON and a bill of materials."""

import json
import subprocess
from dataclasses import replace

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from weft.bcsd.components.banner import Banner
from weft.bcsd.components.cyclonedx import bill
from weft.bcsd.components.explain import Library, on_versions
from weft.bcsd.components.identify import Function, Identified, library_sizes
from weft.bcsd.components.record import identified_record
from weft.bcsd.libraries.build import Sources, build
from weft.bcsd.use.embed_files import Embedding
from weft.cli.bcsd.index.identify import describe
from weft.cli.main import main
from weft.errors import StoreError

LIBRARIES = (
    Library("zlib", 0.98, (("1:1.3-1", 0.7), ("1:1.2-1", 0.3)), ("zlib1g-dev",), (0, 1), 90, 2),
    Library("libpng1.6", 0.8, (("1.6.39-2", 1.0),), ("libpng-dev",), (3,), 200, 1),
)
FUNCTIONS = tuple(Function(f"sub_{n}", 16 * n, 16) for n in range(5))
FOUND = Identified("/x/app", "ab" * 32, "v", FUNCTIONS, LIBRARIES, (2, 4), 7)


def test_the_bill_of_materials_is_valid():
    record = bill(FOUND)
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(json.dumps(record)) is None
    assert record == bill(FOUND)
    first = record["components"][0]
    assert first["purl"] == "pkg:deb/debian/zlib1g-dev@1%3A1.3-1"
    sure = {one["field"]: one["confidence"] for one in first["evidence"]["identity"]}
    assert sure == {"name": 0.98, "version": pytest.approx(0.98 * 0.7, abs=1e-3)}
    nothing = Identified("app", "ab" * 32, "v", FUNCTIONS, (), tuple(range(5)), 7)
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(json.dumps(bill(nothing))) is None


def component(library):
    """Of a valid bill of materials of one library."""
    record = bill(Identified("app", "ab" * 32, "v", FUNCTIONS, (library,), (), 7))
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(json.dumps(record)) is None
    return record["components"][0]


def test_one_version_held_is_no_evidence_of_the_version():
    alone = LIBRARIES[1]
    told = component(alone)
    assert "version" not in told
    assert told["purl"] == "pkg:deb/debian/libpng-dev"
    assert [one["field"] for one in told["evidence"]["identity"]] == ["name"]
    assert {"name": "weft:nearest-version-held", "value": "1.6.39-2"} in told["properties"]
    (said,) = on_versions([alone])
    assert said.startswith("libpng1.6: the index holds version 1.6.39-2 alone")
    assert on_versions(LIBRARIES[:1]) == ()
    first, second = identified_record(FOUND)["libraries"]
    assert first["versions"] == [{"version": "1:1.3-1", "share": 0.7}, {"version": "1:1.2-1", "share": 0.3}]
    assert second["versions"] == [{"version": "1.6.39-2", "share": None}]
    assert (first["versions_held"], second["versions_held"]) == (2, 1)
    zlib, png = (line.split() for line in describe(FOUND).splitlines()[1:3])
    assert zlib[:4] == ["zlib", "0.98", "1:1.3-1", "0.70"]
    assert png[:4] == ["libpng1.6", "0.80", "1.6.39-2", "–"]
    assert "1.00" not in describe(FOUND)


@pytest.mark.parametrize(
    ("library", "says", "purl"),
    [
        (LIBRARIES[0], "1.3", "@1%3A1.3-1"),
        (LIBRARIES[0], "1.4.1", ""),
        (LIBRARIES[1], "1.6.39", ""),
        (LIBRARIES[1], "1.6.50", ""),
    ],
)
def test_the_version_is_what_the_file_says(library, says, purl):
    text = f"{library.name} {says}"
    said = replace(library, said=(Banner(library.name, says, text, False),))
    told = component(said)
    assert told["version"] == says
    assert {"name": "weft:file-says", "value": text} in told["properties"]
    assert told["purl"].partition(library.packages[0])[2] == purl
    evidence = {one["field"]: one for one in told["evidence"]["identity"]}
    assert evidence["version"] == {"field": "version", "concludedValue": says}
    found = replace(FOUND, libraries=(said,))
    assert identified_record(found)["libraries"][0]["file_says"] == [{"version": says, "text": text}]
    assert text in describe(found)
    contradicted = [one for one in on_versions([said]) if f"the file says {text!r}" in one]
    assert bool(contradicted) == (says in ("1.4.1", "1.6.50"))


def test_of_several_versions_that_a_file_says_none_is_the_version():
    two = tuple(Banner("zlib", number, f"zlib {number}", False) for number in ("1.3.9", "1.2.9"))
    assert "version" not in component(replace(LIBRARIES[1], said=two))
    assert (
        component(replace(LIBRARIES[0], said=(*two, Banner("zlib", "1.3", "", False))))["version"]
        == "1:1.3-1"
    )


def test_the_table_names_what_was_found_and_what_is_left():
    text = describe(FOUND)
    assert "zlib" in text
    assert "1:1.2-1" in text
    assert "3 of 5 functions are explained; the other 2 have 32 bytes" in text
    quiet = describe(FOUND, summary=False)
    assert text.startswith(quiet)
    assert "explained" not in quiet
    none = Identified("app", "", "v", FUNCTIONS, (), (0,), 7)
    assert describe(none, summary=False) == describe(none)
    assert describe(none).startswith("no library of the index")


def test_quiet_leaves_the_summary_out(monkeypatch, capsys):
    monkeypatch.setattr("weft.bcsd.components.identify.identify", lambda *_: FOUND)
    for quiet, told in ((["--quiet"], 0), ([], 1)):
        assert main(["bcsd", "identify", "app", "--index", "libs", *quiet]) == 0
        assert capsys.readouterr().out.count("are explained") == told


@pytest.mark.slow
def test_a_program_is_looked_up(deb, library, objects, tmp_path, capsys):
    options = Embedding(precision="fp32")
    index = tmp_path / "index"
    packages = [
        str(deb("libtiny-dev", version, library(level), source="tiny"))
        for version, level in (("1", "-O1"), ("2", "-O2"))
    ]
    build(packages, index, Sources(tmp_path / "work"), options)
    assert library_sizes(index) == {("tiny", "1", "libtiny-dev"): 3, ("tiny", "2", "libtiny-dev"): 3}
    (tmp_path / "tiny.o").write_bytes(objects["-O2"])
    (tmp_path / "m.c").write_text(
        "int sum(int *, int), find(char *, char), order(int *, int);"
        "int main(int n, char **v) { return sum(&n, 1) + find(*v, 3) + order(&n, 1); }"
    )
    subprocess.run(["gcc", "m.c", "tiny.o", "-o", "app"], cwd=tmp_path, check=True)
    assert (
        main(
            [
                "bcsd",
                "identify",
                str(tmp_path / "app"),
                "--index",
                str(index),
                "--precision",
                "fp32",
                "--json",
            ]
        )
        == 0
    )
    found = json.loads(capsys.readouterr().out)
    assert found["functions"] >= 3
    named = {one["name"] for library in found["libraries"] for one in library["functions"]}
    assert not named & {one["name"] for one in found["unexplained"]}
    assert all(one["name"] == "tiny" and one["versions_held"] == 2 for one in found["libraries"])


def test_an_index_of_files_names_no_library(tmp_path):
    with pytest.raises(StoreError):
        library_sizes(tmp_path)

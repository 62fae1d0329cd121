"""A program of a library that an index holds: named, with its version; as a table, JSON and a bill of materials."""

import json
import subprocess

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from weft.bcsd.components.cyclonedx import bill
from weft.bcsd.components.explain import Library
from weft.bcsd.components.identify import Function, Identified, library_sizes
from weft.bcsd.libraries.build import Sources, build
from weft.bcsd.use.embed_files import Embedding
from weft.cli.bcsd.index.identify import describe
from weft.cli.main import main
from weft.errors import StoreError

LIBRARIES = (
    Library("zlib", 0.98, (("1:1.3-1", 0.7), ("1:1.2-1", 0.3)), ("zlib1g-dev",), (0, 1), 90),
    Library("libpng1.6", 0.8, (("1.6.39-2", 1.0),), ("libpng-dev",), (3,), 200),
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
    assert all(one["name"] == "tiny" for one in found["libraries"])


def test_an_index_of_files_names_no_library(tmp_path):
    with pytest.raises(StoreError):
        library_sizes(tmp_path)

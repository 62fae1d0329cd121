"""`weft bcsd embed`, `index` and `search` as a person types them."""

import csv
import io
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from weft.bcsd.disassemble.frozen import save_functions
from weft.bcsd.disassemble.native import EXTRACTOR_VERSION, NativeDisassembler
from weft.bcsd.index.description import read_description, write_description
from weft.bcsd.index.update import add, not_compared
from weft.bcsd.read import open_image
from weft.bcsd.use.embedded import embeddings_of
from weft.cli.main import main


def weft(*arguments):
    return main(["bcsd", *map(str, arguments)])


def one_line(text):
    assert text.strip()
    assert "\n" not in text.strip()
    assert "Traceback" not in text
    return text.strip()


@pytest.fixture(scope="module")
def machine(model):
    return ("--model", model, "--precision", "fp32")


def test_embed_writes_a_table_and_lists_what_failed(files, machine, tmp_path, capsys):
    import numpy as np
    import pyarrow.parquet as pq

    folder = tmp_path / "in"
    folder.mkdir()
    content = (files / "gcc-O2-x86_64.so").read_bytes()
    (folder / "good.so").write_bytes(content)
    (folder / "bad.so").write_bytes(content[:60])
    output = tmp_path / "e.parquet"
    assert weft("embed", folder, "-o", output, "--workers", 2, "--min-blocks", 3, "--json", *machine) == 9
    captured = capsys.readouterr()
    document = json.loads(captured.out)
    assert [file["binary"] for file in document["files"]] == [str(folder / "good.so")]
    assert document["files"][0]["seconds"] > 0
    assert document["failures"][0]["exit_code"] == 3
    assert f"failed: {folder / 'bad.so'}: " in captured.err
    table = pq.read_table(output)
    assert table.num_rows == document["files"][0]["functions"]
    assert min(table["num_blocks"].to_pylist()) >= 3
    np.testing.assert_allclose(np.linalg.norm(embeddings_of(table), axis=1), 1, atol=1e-5)
    assert table.schema.metadata[b"weft.embedded"] == b"1"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["e.parquet", "in"]


def test_index_and_search(built, copied, machine, files, capsys):
    assert weft("index", "ls", "--index", copied) == 0
    assert "69 functions of 4 files" in capsys.readouterr().out
    new = files / "gcc-O1-x86_64.so"
    assert weft("index", "add", new, "--index", copied, "--workers", 1, "--json", *machine) == 0
    captured = capsys.readouterr()
    (file,) = json.loads(captured.out)["files"]
    assert (file["binary"], file["status"]) == (str(new), "added")
    query = f"{files / 'gcc-O2-x86_64-stripped.so'}:0x980"
    assert weft("search", query, "--index", copied, "-k", 3, "--json", *machine) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["rows"] == 69 + file["functions"]
    (asked,) = document["queries"]
    assert set(asked) == {"name", "address", "size", "blocks", "flags", "not_here", "hits"}
    assert 0 <= asked["not_here"] <= 1
    assert [hit["rank"] for hit in asked["hits"]] == [1, 2, 3]
    assert set(asked["hits"][0]) == {
        *("rank", "score", "confidence", "name", "address", "size"),
        *("blocks", "binary", "architecture", "flags", "library", "version", "package"),
    }
    assert asked["hits"][0]["name"] == "dense"
    assert asked["hits"][0]["address"] == 0x980
    assert weft("search", query, "--index", copied, "-k", 2, "--csv", *machine) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [row["name"] for row in rows] == [hit["name"] for hit in asked["hits"][:2]]
    assert rows[0]["flags"] == "same_bytes"
    assert weft("search", query, "--index", copied, "--at-least", 1, "--json", *machine) == 0
    assert json.loads(capsys.readouterr().out)["queries"] == [{**asked, "hits": []}]
    assert weft("index", "rm", new, "--index", copied) == 0
    assert "1 removed" in capsys.readouterr().out
    assert weft("search", query, "--index", copied, *machine) == 0
    assert "dense" in capsys.readouterr().out


def test_quiet_leaves_the_count_of_what_has_no_hit_out_where_there_is_more(built, machine, files, capsys):
    asked = ("search", files / "gcc-O2-x86_64-stripped.so", "--index", built / "index", *machine)
    assert weft(*asked, "--json") == 0
    found = json.loads(capsys.readouterr().out)["queries"]
    best = sorted(max(hit["confidence"] for hit in query["hits"]) for query in found)
    assert best[0] < best[-1]
    count = "no hit that is at least"
    for least, quiet, told in ((best[-1], ("--quiet",), 0), (1, ("--quiet",), 1)):
        assert weft(*asked, "--at-least", least, *quiet) == 0
        assert capsys.readouterr().out.count(count) == told


def test_what_an_index_of_another_version_is_searched_without_is_said(built, copied, machine, files, capsys):
    query = ("search", f"{files / 'gcc-O2-x86_64-stripped.so'}:0x980", "--json", *machine, "--index")
    said = []
    for changed in ({}, {"inlined": 7}, {"inlined": 7, "calls": 0}):
        description = json.loads((built / "index" / "index.json").read_text())
        (copied / "index.json").write_text(json.dumps({**description, **changed}))
        assert weft(*query, copied) == 0
        captured = capsys.readouterr()
        remarks = json.loads(captured.out)["remarks"]
        assert captured.err.splitlines() == [f"{query[1].rpartition(':')[0]}: {remark}" for remark in remarks]
        said.append([remark for remark in remarks if "another version of weft" in remark])
    end = (
        "is not compared: the index was made by another version of weft (version {}; make it anew to have it)"
    )
    assert said == [
        [],
        [f"what callees add {end.format('7 for 1')}"],
        [f"what callees add and which functions call which {end.format('7 for 1 and 0 for 1')}"],
    ]


def test_an_index_whose_functions_another_version_found_says_so(copied, machine, files, capsys):
    described = copied / "index.json"
    before = json.loads(described.read_text())
    stripped = files / "gcc-O2-x86_64-stripped.so"

    def said(extractor):
        without = {key: value for key, value in before.items() if key != "extractor"}
        described.write_text(json.dumps(without if extractor is None else {**before, "extractor": extractor}))
        assert weft("search", f"{stripped}:0x980", "--json", "--index", copied, *machine) == 0
        found = json.loads(capsys.readouterr().out)["remarks"]
        return [remark for remark in found if "another version of weft" in remark]

    assert before["extractor"] == EXTRACTOR_VERSION
    assert said(None) == said(0) == said(EXTRACTOR_VERSION) == []
    for other in (EXTRACTOR_VERSION - 1, EXTRACTOR_VERSION + 1):
        (remark,) = said(other)
        assert f"functions of the index were found by another version of weft (version {other} for" in remark
        assert "begin or end elsewhere" in remark
        assert "make it anew" in remark
    assert weft("index", "add", stripped, "--index", copied, "--workers", 1, "--json", *machine) == 0
    assert json.loads(capsys.readouterr().out)["files"][0]["remarks"] == []
    assert json.loads(described.read_text())["extractor"] == EXTRACTOR_VERSION + 1


def test_what_another_disassembler_found_has_no_version(copied, options, files, tmp_path):
    binary = files / "gcc-O2-x86_64.so"
    saved = tmp_path / "saved.json"
    save_functions(NativeDisassembler().functions(open_image(str(binary))), saved, "angr")
    others = replace(options, disassembler=str(saved))
    add([str(binary)], tmp_path / "other", others)
    assert read_description(tmp_path / "other").extractor == 0
    write_description(copied, replace(read_description(copied), extractor=EXTRACTOR_VERSION - 1))
    assert len(not_compared(copied, options)) == 1
    assert not_compared(copied, others) == []


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("search", "{so}:dens", "--index", "{index}"), 3, "no function 'dens' (near: dense"),
        (("search", "/etc/passwd", "--index", "{index}"), 3, "not an ELF, PE or Mach-O file"),
        (("search", "/none:main", "--index", "{index}"), 3, "no such file"),
        (("search", "{so}", "--index", "/none"), 3, "/none: no such index"),
        (("search", "{so}", "--index", "/etc"), 6, "/etc: not an index (name the folder of an index)"),
        (("search", "{so}", "--index", "{so}"), 6, "not an index (name the folder of an index)"),
        (("identify", "{so}", "--index", "/none"), 3, "/none: no such index"),
        (("identify", "{so}", "--index", "/etc"), 6, "/etc: not an index"),
        (("search", "{so}", "--index", "{index}", "-k", "0"), 2, "--hits is 0; it must be at least 1"),
        (("search", "{so}", "--index", "{index}", "--at-least", "2"), 2, "--at-least is 2"),
        (
            ("search", "{so}", "--index", "{index}", "--min-blocks", "5000"),
            3,
            "no function of at least 5000 blocks",
        ),
        # It is told before the file is read, in which there is no such function.
        (
            ("identify", "{so}", "--index", "{index}", "--min-blocks", "5000"),
            6,
            "of no function which library it is of (`weft bcsd index build PACKAGE… --index DIR` makes an index",
        ),
        (("index", "add", "--index", "{index}"), 2, "required: FILE|DIR"),
        (("index", "add", "/none", "--index", "{index}"), 3, "no such file"),
        (("index", "rm", "/none", "--index", "{index}"), 3, "not in the index"),
        (("index", "ls", "--index", "/none"), 3, "no such index"),
        (("embed", "{so}", "-o", "/none/e.parquet"), 8, "/none/e.parquet: cannot be written"),
        (("embed", "{so}", "--workers", "0"), 2, "--workers is 0"),
    ],
)
def test_failures_are_one_line_and_a_code(arguments, code, message, built, machine, capsys):
    place = {"so": built / "in" / "gcc-O2-x86_64.so", "index": built / "index"}
    embeds = arguments[1] not in ("rm", "ls")
    assert weft(*(part.format(**place) for part in arguments), *(machine if embeds else ())) == code
    assert message in one_line(capsys.readouterr().err)


@pytest.mark.parametrize(
    "arguments",
    [("index", "ls"), ("index", "rm", "{so}"), ("index", "update"), ("search", "{so}"), ("identify", "{so}")],
)
def test_the_codes_are_those_that_the_manual_tells(arguments, built, tmp_path, capsys):
    told = (Path(__file__).parents[3] / "docs" / "bcsd.md").read_text()
    codes = dict(re.findall(r"(\d): (an index that is not there|a folder that is no index)\b", told))
    assert set(codes.values()) == {"an index that is not there", "a folder that is no index"}
    asked = [part.format(so=built / "in" / "gcc-O2-x86_64.so") for part in arguments]
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "notes").touch()
    places = {"an index that is not there": "none", "a folder that is no index": "full"}
    assert {what: str(weft(*asked, "--index", tmp_path / place)) for what, place in places.items()} == {
        what: code for code, what in codes.items()
    }
    assert "no such index" in capsys.readouterr().err


def test_a_model_that_is_none(built, capsys):
    so = built / "in" / "gcc-O2-x86_64.so"
    assert weft("search", so, "--index", built / "index", "--model", "/none") == 4
    assert "no such model" in one_line(capsys.readouterr().err)

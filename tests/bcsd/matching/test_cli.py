"""`weft bcsd match` as a person types it: every form of output, and failures in one line."""

from __future__ import annotations

import csv
import io
import json
import shutil
from dataclasses import replace

import pyarrow as pa
import pytest

from weft.bcsd.dataset.compile import STRIPPED
from weft.bcsd.dataset.config import Package, Variant
from weft.bcsd.dataset.label import label_build
from weft.bcsd.matching.rule import DEFAULT_RULE, save_rule
from weft.bcsd.table import write_tables
from weft.bcsd.use.embedder import Embedder
from weft.bcsd.use.named import find
from weft.cli.bcsd.match import describe
from weft.cli.main import main


def weft(*arguments):
    return main(["bcsd", "match", *map(str, arguments)])


@pytest.fixture
def pair_of_files(files, tmp_path):
    for name, kept in (("a.so", "gcc-O2-x86_64.so"), ("b.so", "gcc-O2-x86_64-stripped.so")):
        shutil.copy(files / kept, tmp_path / name)
    return tmp_path / "a.so", tmp_path / "b.so"


def test_everything_at_once(pair_of_files, lexical_model, tmp_path, capsys):
    report, script = tmp_path / "report.html", tmp_path / "names.py"
    outputs = ("--html", report, "--rename", "ghidra", "--rename-out", script, "--rename-floor", 0)
    assert weft(*pair_of_files, "--model", lexical_model, *outputs, "--json", "--quiet") == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    document = json.loads(captured.out)
    assert document["calibrated"] is False
    # The second file is the first one without its symbols.
    assert all(found["a"]["address"] == found["b"]["address"] for found in document["matches"])
    assert all(found["score"] == 1.0 for found in document["matches"])
    assert len(document["matches"]) == document["a"]["functions"]
    assert report.read_text().startswith("<!doctype html>")
    assert '"dense"' in script.read_text()


def test_text_and_csv(pair_of_files, lexical_model, capsys):
    assert weft(*pair_of_files, "--model", lexical_model, "--floor", 0) == 0
    captured = capsys.readouterr()
    assert "no matching rule of its own" in captured.err
    assert "18 matches of 18 and 18 functions; 0 of A and 0 of B are unmatched" in captured.out
    assert "same_bytes" in captured.out
    head, *rows = captured.out.splitlines()
    assert head.split() == ["sure", "score", "A", "B", "evidence", "remarks"]
    # Nothing is cut where the output is no terminal.
    assert any(row.split()[3] == "fail_with" for row in rows)
    assert weft(*pair_of_files, "--model", lexical_model, "--floor", 0, "--quiet") == 0
    captured = capsys.readouterr()
    assert (captured.out.splitlines(), captured.err) == ([head, *rows[:-1]], "")
    assert weft(*pair_of_files, "--model", lexical_model, "--csv", "--quiet", "--min-blocks", 5) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert rows
    assert all(int(row["a_blocks"]) >= 5 for row in rows)


def test_a_models_own_rule_is_used(pair_of_files, lexical_model, tmp_path, capsys):
    own = tmp_path / "model"
    shutil.copytree(lexical_model, own)
    save_rule(replace(DEFAULT_RULE, floor=1.0, model=Embedder.load(own).version), own / "match.json")
    assert weft(*pair_of_files, "--model", own, "--json") == 0
    captured = capsys.readouterr()
    assert "no matching rule" not in captured.err
    document = json.loads(captured.out)
    assert document["calibrated"] is True
    assert document["matches"] == []
    assert len(document["unmatched_a"]) == document["a"]["functions"]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["a.so", "none.so"], 3, "none.so: no such file"),
        (["a.so", "text"], 3, "not an ELF, PE or Mach-O file"),
        (["a.so", "b.so", "--min-blocks", "9999"], 3, "no function of at least 9999 blocks found"),
        (["a.so", "b.so", "--model", "none"], 4, "'none': no such model"),
        (["a.so", "b.so", "--model", "."], 4, "config.json"),
        (["a.so", "b.so", "--floor", "2"], 2, "--floor is 2.0; it must be in [0, 1]"),
        (["a.so", "b.so", "--min-blocks", "-1"], 2, "--min-blocks is -1"),
        (["a.so", "b.so", "--timeout", "0"], 2, "--timeout is 0.0"),
        (["a.so", "b.so", "--memory", "1"], 2, "--memory is 1"),
        (["a.so", "b.so", "--rename-out", "x.py"], 2, "--rename-out without --rename"),
        (["a.so", "b.so", "--html", "/none/r.html"], 8, "/none/r.html: cannot be written"),
        (["a.so", "b.so", "--device", "odd"], 2, "no such device"),
    ],
)
def test_failures_are_one_line_and_a_code(
    arguments, code, message, pair_of_files, lexical_model, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text").write_text("no binary at all")
    model = [] if "--model" in arguments else ["--model", str(lexical_model)]
    assert weft(*arguments, *model, "--quiet") == code
    captured = capsys.readouterr()
    assert captured.out == ""
    assert message in captured.err
    assert len(captured.err.strip().splitlines()) == 1
    assert not list(tmp_path.glob("weft_rename*"))


def test_where_the_script_goes_is_looked_at_before_anything_is_read(
    pair_of_files, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "weft_rename_ghidra.py").mkdir()
    assert weft("none.so", "b.so", "--rename", "ghidra") == 8
    assert "weft_rename_ghidra.py" in capsys.readouterr().err


def test_names_are_cut_to_the_terminal_and_no_further(matching):
    names = [f"_ZN4name{'x' * 60}E{row}v" for row in range(len(matching.a))]
    index = matching.a.table.schema.get_field_index("name")
    table = matching.a.table.set_column(index, "name", pa.array(names))
    long = replace(matching, a=replace(matching.a, table=table))
    whole = describe(long)
    assert sum(name in whole for name in names) == len(matching.rows)
    wide, narrow = describe(long, 260), describe(long, 100)
    assert sum(name in wide for name in names) == len(matching.rows)
    assert max(map(len, narrow.splitlines()[:-1])) <= 100
    assert "…" in narrow
    assert not any(name in narrow for name in names)


def test_a_confidence_by_itself_needs_a_rule(lexical_model, tmp_path, capsys):
    folder = tmp_path / "builds" / "some" / "gcc-O0-x86_64"
    folder.mkdir(parents=True)
    (folder / "report.json").write_text(json.dumps({"report": {"role": "valid"}}), encoding="utf-8")
    asked = ["bcsd", "calibrate", str(lexical_model), "--work", str(tmp_path), "--confidence"]
    assert main(asked) == 2
    assert "it has no rule of its own yet (leave out --confidence)" in capsys.readouterr().err
    assert main([*asked, "--search", "data.parquet"]) == 2
    assert "one of them at a time" in capsys.readouterr().err


@pytest.mark.parametrize("what", [("--work", "nowhere"), ("--search", "data.parquet")])
def test_what_is_shipped_is_not_calibrated_in_its_place(what, tmp_path, capsys):
    for named in ("bcsd-small", str(find("bcsd-small"))):
        assert main(["bcsd", "calibrate", named, *what]) == 2
        said = capsys.readouterr().err
        assert "is shipped with weft" in said
        assert "-o FILE" in said
    assert main(["bcsd", "calibrate", "bcsd-small", *what, "-o", str(tmp_path / "rule.json")]) in (2, 3)
    assert "is shipped" not in capsys.readouterr().err


def test_a_rule_is_fitted_to_the_builds_that_there_are(files, lexical_model, tmp_path, capsys):
    def build(name, level):
        folder, variant = tmp_path / "builds" / name / f"gcc-{level}-x86_64", Variant("gcc", level, "x86_64")
        folder.mkdir(parents=True)
        file = files / f"{variant}.so"
        shutil.copy(file, folder / STRIPPED)
        rows = label_build(Package(name, "valid", min_functions=1), variant, file, file, "none")
        write_tables([rows.table], folder / "functions.parquet", rows.table.schema)
        (folder / "report.json").write_text(json.dumps({"report": {"role": "valid"}}), encoding="utf-8")

    rule = tmp_path / "rule.json"
    asked = ["bcsd", "calibrate", str(lexical_model), "--work", str(tmp_path), "-o", str(rule)]
    build("p", "O0")
    assert main(asked) == 2
    assert "no two builds in common" in capsys.readouterr().err
    build("p", "O3")
    assert main(asked) == 0
    said = capsys.readouterr()
    assert "fitted on p alone: what files of different packages look like is not known" in said.err
    assert "nan" not in said.out
    build("q", "O0")
    build("q", "O3")
    # Where it cannot be written is told before it is fitted.
    assert main([*asked[:-1], str(tmp_path / "none" / "rule.json")]) == 8
    assert "cannot be written" in capsys.readouterr().err
    assert main(asked) == 0
    said = capsys.readouterr()
    assert said.err.strip() == (
        "fitted to XO -O0→-O3 alone: the validation packages lack a build of XO -O1→-O3, XC, XA, XM"
    )
    assert rule.is_file()


@pytest.mark.parametrize("command", ["match", "diff", "explain"])
@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("text", "not an ELF, PE or Mach-O file: text"),
        ("empty", "an empty file"),
        ("folder", "a folder, no binary (name a file"),
    ],
)
def test_both_files_are_looked_at_before_one_is_read(
    command, wrong, message, pair_of_files, tmp_path, monkeypatch, capsys
):
    def never(*_, **__):
        raise AssertionError("a file was read")

    (tmp_path / "text").write_text("no binary at all")
    (tmp_path / "empty").touch()
    (tmp_path / "folder").mkdir()
    for reader in ("matching.files.read_sides", "difference.files.read_versions", "explain.files.read_sides"):
        monkeypatch.setattr(f"weft.bcsd.{reader}", never)
    function = ":crc32" if command == "explain" else ""
    arguments = [f"{pair_of_files[0]}{function}", f"{tmp_path / wrong}{function}"]
    assert main(["bcsd", command, *arguments]) == 3
    assert f"{wrong}: {message}" in capsys.readouterr().err
    if command != "explain":
        assert main(["bcsd", command, arguments[0], str(tmp_path / "none")]) == 3
        assert "none: no such file" in capsys.readouterr().err

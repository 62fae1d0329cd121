"""`weft bcsd extract`, `show` and `dataset` as a person types them: results, failures in one line, exit codes."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from weft.bcsd.show import Line
from weft.bcsd.table import read_table
from weft.bcsd.use.embed_files import EmbedReport
from weft.bcsd.use.extract_files import FileReport
from weft.cli.bcsd.embed import record
from weft.cli.bcsd.extract import summary
from weft.cli.bcsd.show import listing
from weft.cli.main import main
from weft.errors import InputError


def weft(*arguments):
    return main(["bcsd", *map(str, arguments)])


def one_line(text):
    assert text.strip()
    assert "\n" not in text.strip()
    assert "Traceback" not in text
    return text.strip()


def test_help_imports_nothing_heavy():
    code = (
        "import sys; from weft.cli.main import main; main(['bcsd', '--help']);"
        "heavy = {'torch', 'lief', 'capstone', 'pyarrow', 'numpy'} & set(sys.modules); print(heavy)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("set()\n")
    assert "extract" in done.stdout


def test_where_every_file_fails_nothing_is_said_to_be_written(tmp_path, capsys):
    bad, output = tmp_path / "notes.txt", tmp_path / "out.parquet"
    bad.write_text("no binary")
    assert weft("extract", bad, "-o", output, "--workers", 1) == 3
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "not an ELF" in one_line(captured.err)
    assert weft("extract", bad, "-o", output, "--workers", 1, "--json") == 3
    assert json.loads(capsys.readouterr().out)["output"] is None
    assert not output.exists()


def test_extract_a_folder_with_a_bad_file_goes_through_and_lists_it(files, tmp_path, capsys):
    folder = tmp_path / "in"
    (folder / "deep").mkdir(parents=True)
    shutil.copy(files / "gcc-O2-x86_64.so", folder / "deep" / "good.so")
    (folder / "bad.so").write_bytes((files / "gcc-O2-x86_64.so").read_bytes()[:60])
    (folder / "notes.txt").write_text("no binary")
    (folder / "link.so").symlink_to(folder / "deep" / "good.so")
    output = tmp_path / "out.parquet"
    assert weft("extract", folder, "-o", output, "--workers", 1) == 9
    captured = capsys.readouterr()
    assert "18 functions" in captured.out
    assert "from 1 of 2 files" in captured.out
    assert "cfg_incomplete" in captured.out
    assert one_line(captured.err).startswith(f"failed: {folder / 'bad.so'}: ")
    assert read_table(output).num_rows == 18
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in", "out.parquet"]


def test_extract_json_and_min_blocks(files, tmp_path, capsys):
    output = tmp_path / "out.parquet"
    arguments = (
        "extract",
        files / "gcc-O2-aarch64.so",
        "-o",
        output,
        "--min-blocks",
        5,
        "--json",
        "--workers",
        1,
    )
    assert weft(*arguments) == 0
    (line,) = capsys.readouterr().out.splitlines()
    document = json.loads(line)
    (file,) = document["files"]
    assert document["schema"] == 1
    assert document["failures"] == []
    assert file["functions"] == read_table(output).num_rows == 5
    assert file["left_out"] == 12
    assert min(read_table(output).column("num_blocks").to_pylist()) >= 5


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["extract", "/none"], 3, "/none: no such file"),
        (["extract", "/etc/passwd", "--workers", "1"], 3, "not an ELF, PE or Mach-O file"),
        (["extract", "/bin/true", "--workers", "0"], 2, "--workers is 0; it must be at least 1"),
        (["extract", "/bin/true", "--timeout", "0"], 2, "--timeout is 0.0; it must be above 0"),
        (["extract", "/bin/true", "--disassembler", "ida"], 2, "disassembler 'ida'"),
        (["extract", "/bin/true", "-o", "/none/x.parquet"], 8, "/none/x.parquet: cannot be written"),
        (["show", "/none:main"], 3, "no such file"),
        (["dataset", "build", "/none.yaml"], 3, "is not there"),
        (["dataset", "stats", "/none.parquet"], 3, "no such file"),
    ],
)
def test_failures_are_one_line_and_a_code(arguments, code, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert weft(*arguments) == code
    assert message in one_line(capsys.readouterr().err)
    assert not list(tmp_path.iterdir())


def test_a_folder_without_binaries_is_named(tmp_path, capsys):
    (tmp_path / "a.txt").write_text("text")
    assert weft("extract", tmp_path, "-o", tmp_path / "x.parquet") == 3
    assert "no binary among 1 files" in one_line(capsys.readouterr().err)


@pytest.mark.parametrize("command", ["extract", "embed"])
def test_a_folder_without_binaries_beside_a_file_is_listed(command, files, tmp_path, capsys):
    folder, output = tmp_path / "empty", tmp_path / "x.parquet"
    folder.mkdir()
    good = files / "gcc-O2-x86_64.so"
    arguments = (command, folder, good, "-o", output, "--workers", 1, "--lifter", "none", "--json", "--quiet")
    assert weft(*arguments, *(("--precision", "fp32") if command == "embed" else ())) == 9
    captured = capsys.readouterr()
    document = json.loads(captured.out)
    assert [one["binary"] for one in document["files"]] == [str(good)]
    assert [one["binary"] for one in document["failures"]] == [str(folder)]
    assert one_line(captured.err) == f"failed: {folder}: no binary among 0 files"
    assert output.exists()


def test_extract_replays_saved_functions(files, functions_of, tmp_path):
    from weft.bcsd.disassemble.frozen import save_functions

    _, functions = functions_of("gcc-O2-x86_64.so")
    saved, output = tmp_path / "saved.json", tmp_path / "out.parquet"
    save_functions(list(functions.values())[:3], saved, "native")
    file = files / "gcc-O2-x86_64.so"
    assert weft("extract", file, "-o", output, "--disassembler", saved, "--workers", 1, "--quiet") == 0
    table = read_table(output)
    assert table.num_rows == 3
    assert table.schema.metadata[b"weft.disassembler"] == b"frozen"


@pytest.mark.parametrize(
    ("fields", "what"),
    [
        ({"references": []}, "AttributeError"),
        ({"size": float("inf")}, "OverflowError"),
        ({"blocks": [[0, 9999]]}, "blocks, edges of 'dense' out of range"),
        ({"blocks": [[1, 1]]}, "blocks"),
        ({"edges": [[0, 9999, "taken"]]}, "edges"),
        ({"references": {"9999": ["code", 0]}}, "references"),
        ({"references": {"0": ["jump", 9999]}}, "jumps"),
        ({"references": {"0": ["call_internal", -1]}}, "addresses"),
        ({"size": -1}, "size"),
    ],
)
def test_saved_functions_that_are_damaged_say_so(fields, what, functions_of, tmp_path):
    from weft.bcsd.disassemble.frozen import FrozenDisassembler, to_record

    record = to_record(functions_of("gcc-O2-x86_64.so")[1]["dense"]) | fields
    saved = tmp_path / "saved.json"
    saved.write_text(json.dumps({"weft_functions": 1, "disassembler": "native", "functions": [record]}))
    with pytest.raises(InputError, match=f"a damaged file of saved functions: .*{what}"):
        FrozenDisassembler(saved)


def test_show_lists_functions_and_one_function(files, tmp_path, capsys):
    file = files / "gcc-O2-x86_64.so"
    assert weft("show", file) == 0
    listing = capsys.readouterr().out
    assert "dense" in listing
    assert "18 functions, 0 with an indirect jump left unresolved (cfg_incomplete)" in listing
    assert weft("show", f"{file}:larger", "--dot", tmp_path / "g.dot") == 0
    shown = capsys.readouterr().out
    assert "3 blocks, 3 edges" in shown
    assert "block 0 → 1 (fall-through), 2 (taken)" in shown
    assert (tmp_path / "g.dot").read_text().startswith("digraph cfg {")
    assert weft("show", f"{file}:dense", "--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["name"] == "dense"
    assert {edge["kind"] for edge in document["edges"]} == {"fall_through", "taken", "switch"}
    assert isinstance(document["address"], int)
    assert len(document["instructions"]) == document["blocks"][-1]["end"]


def test_a_long_name_makes_no_other_line_longer(monkeypatch):
    long = "core::ptr::drop_in_place::<" + "x" * 900 + ">"
    names = (("main", ("cfg_incomplete",)), (long, ()), (long, ("cfg_incomplete",)))
    lines = [Line(name, 64, 10, 3, 3, 9, flags, (), name) for name, flags in names]
    piped = listing(lines).splitlines()
    assert len(piped[1]) < 80
    assert all(long in line for line in piped[2:4])
    monkeypatch.setattr(sys, "stdout", SimpleNamespace(isatty=lambda: True))
    monkeypatch.setenv("COLUMNS", "90")
    shown = listing(lines).splitlines()[:4]
    assert shown[1] == piped[1]
    assert [(len(line), line[-1]) for line in shown[2:]] == [(90, "…")] * 2


def test_show_names_near_functions_and_refuses_to_draw_a_file(files, capsys):
    file = files / "gcc-O2-x86_64.so"
    assert weft("show", f"{file}:dens") == 3
    assert "no function 'dens' (near: dense" in one_line(capsys.readouterr().err)
    assert weft("show", file, "--svg", "x.svg") == 2
    assert "name it: FILE:FUNCTION" in one_line(capsys.readouterr().err)
    assert weft("unknown") == 2


@pytest.mark.skipif(shutil.which("dot") is None, reason="graphviz' dot is not installed")
def test_show_draws(files, tmp_path):
    assert weft("show", f"{files / 'clang-O2-aarch64.so'}:weigh", "--svg", tmp_path / "g.svg") == 0
    assert "<svg" in (tmp_path / "g.svg").read_text()


def test_a_path_that_is_no_text_is_spelled_with_escapes(files, tmp_path, capsys):
    place = os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.so")
    shutil.copy(files / "gcc-O2-x86_64.so", place)
    output = tmp_path / "out.parquet"
    assert weft("extract", place, "-o", output, "--lifter", "none", "--quiet") == 0
    name = f"{tmp_path}/caf\\xe9.so"
    assert set(read_table(output).column("binary").to_pylist()) == {name}
    assert weft("extract", place, "-o", output, "--lifter", "none", "--json") == 0
    assert [one["binary"] for one in json.loads(capsys.readouterr().out)["files"]] == [name]
    failed = InputError("odd", where=place)
    for told in (
        summary([FileReport(place, None, failed, 0.0)], output),
        record([EmbedReport(place, 0, failed, 0.0)], output),
    ):
        assert told["failures"] == [{"binary": name, "error": f"{name}: odd", "exit_code": 3}]
    assert weft("show", place) == 0
    assert "18 functions" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["rows.csv", "rows.JSON", "rows.parquet.gz"])
def test_a_table_is_not_called_what_it_is_not(name, files, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "c.yaml").write_text("packages:\n- name: zlib\n  role: test\n  min_functions: 1\n")
    good, machine = files / "gcc-O2-x86_64.so", ("--workers", 1)
    for arguments in (
        ("extract", good, *machine),
        ("embed", good, *machine),
        ("dataset", "join", "c.yaml", "--work", tmp_path),
    ):
        assert weft(*arguments, "-o", name) == 2
        error = one_line(capsys.readouterr().err)
        assert f"{name}: the table is Parquet, and its name ends in '{Path(name).suffix}'" in error
    assert [place.name for place in tmp_path.iterdir()] == ["c.yaml"]
    for plain in ("rows", "rows.pq"):
        assert weft("extract", good, "-o", plain, "--lifter", "none", "--quiet") == 0
        assert read_table(tmp_path / plain).num_rows == 18


def test_no_name_of_a_file_speaks_to_the_terminal(tmp_path, files, capsys):
    evil = tmp_path / "a\x1b[31m\nb"
    evil.write_bytes((files / "gcc-O2-x86_64.o").read_bytes()[:40])
    assert weft("show", evil) == 3
    assert r"a\x1b[31m\nb: an ELF file whose header" in one_line(capsys.readouterr().err)
    assert weft("extract", evil, "-o", tmp_path / "none.parquet") == 3
    assert "\x1b" not in one_line(capsys.readouterr().err)
    shutil.copy(files / "gcc-O2-x86_64.o", evil)
    output = tmp_path / "rows.parquet"
    assert weft("embed", evil, "-o", output, "--lifter", "none") == 0
    assert r"a\x1b[31m\nb: 18 functions" in one_line(capsys.readouterr().err)

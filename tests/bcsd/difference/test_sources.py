"""Versions of which one alone has its names from a debug file."""

import json
import lzma
import shutil
import subprocess
from dataclasses import replace

import pytest
from tests.bcsd import test_debug_beside
from tests.bcsd.stripped import compile_apart

from weft.bcsd.difference.sources import one_sided_names, otherwise_made
from weft.bcsd.difference.version import VersionRequest, read_version
from weft.bcsd.read.debug.look import VARIABLE
from weft.cli.main import main


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder of debug files, and where there are none."""
    monkeypatch.setenv(VARIABLE, str(tmp_path / "none"))
    for packed in test_debug_beside.PACKED.iterdir():
        if not packed.stem.startswith("linked"):
            (tmp_path / packed.stem).write_bytes(lzma.decompress(packed.read_bytes()))
    inside = tmp_path / "apple" / "named.dylib.dSYM" / "Contents" / "Resources" / "DWARF"
    inside.mkdir(parents=True)
    (tmp_path / "named.dylib.dSYM").rename(inside / "named.dylib")
    shutil.copy(tmp_path / "named.dylib", tmp_path / "apple")
    (tmp_path / "bare").mkdir()
    shutil.copy(tmp_path / "named-x86_64.dll", tmp_path / "bare")
    compile_apart(tmp_path / "elf", "-Wl,--build-id=none")
    shutil.copy(tmp_path / "elf" / "lib.so", tmp_path / "bare")
    return tmp_path


def said(place, old, new):
    """The remarks on two versions."""
    return one_sided_names(*(read_version(VersionRequest(str(place / name))) for name in (old, new)))


@pytest.mark.parametrize(
    ("named", "other", "debug_file", "counts"),
    [
        ("elf/lib.so", "bare/lib.so", "lib.debug", "1 of 2"),
        ("named-x86_64.dll", "bare/named-x86_64.dll", "named-x86_64.pdb", "9 of 10"),
        ("apple/named.dylib", "named.dylib", "named.dylib.dSYM", "10 of 10"),
    ],
)
def test_that_names_and_bounds_are_from_elsewhere_is_said_once(place, named, other, debug_file, counts):
    (remark,) = said(place, named, other)
    assert remark == (
        f"functions in {place / named} have names and bounds from its debug file {debug_file}; in {place / other} "
        f"{counts} have no name, and their bounds are found from its code and the tables that it kept: some may "
        "differ by that alone"
    )
    assert said(place, other, named) == [remark]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("elf/lib.so", "elf/lib.so"),
        ("elf/lib.so", "elf/whole.so"),
        ("elf/whole.so", "bare/lib.so"),
        ("bare/lib.so", "bare/lib.so"),
        ("named-x86_64.dll", "elf/lib.so"),
    ],
)
def test_nothing_is_said_where_both_have_names_or_neither_has_a_debug_file(place, old, new):
    assert said(place, old, new) == []


def test_the_command_says_it_in_both_forms(place, lexical_model, capsys):
    versions = [str(place / "elf" / "lib.so"), str(place / "bare" / "lib.so")]
    assert main(["bcsd", "diff", *versions, "--model", str(lexical_model)]) == 0
    told = [line for line in capsys.readouterr().err.splitlines() if "1 of 2 have no name" in line]
    assert len(told) == 1
    assert told[0].startswith(f"weft bcsd diff: functions in {versions[0]} have names")
    assert main(["bcsd", "diff", *versions, "--model", str(lexical_model), "--json", "--quiet"]) == 0
    captured = capsys.readouterr()
    assert captured.err.count("have no name") == 0
    remarks = json.loads(captured.out)["remarks"]
    assert f"weft bcsd diff: {remarks[0]}" == told[0]


#: Functions enough to tell how a library was made.
MANY = "\n".join(
    f"int f{n}(int *v, int n) {{ int s = {n}; for (int i = 0; i < n; i++) if (v[i] > s) s += v[i] * {n + 3};"
    f" return s{' + n' * n}; }}"
    for n in range(12)
)


def compare_made(folder, lexical_model, capsys, *made):
    """The remarks on two versions, each from a text and a level."""
    for name, (text, level) in zip(("old.so", "new.so"), made, strict=True):
        (folder / "many.c").write_text(text)
        command = ("gcc", level, "-shared", "-fPIC", "-nostdlib", "-o", name, "many.c")
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
    versions = [str(folder / name) for name in ("old.so", "new.so")]
    assert main(["bcsd", "diff", *versions, "--model", str(lexical_model), "--json", "--quiet"]) == 0
    return json.loads(capsys.readouterr().out)["remarks"]


def test_that_most_of_the_code_is_made_otherwise_is_said(tmp_path, lexical_model, capsys):
    (remark,) = compare_made(tmp_path, lexical_model, capsys, (MANY, "-O0"), (MANY, "-O2"))
    assert remark.startswith("12 of 12 functions that both have are changed, and ")
    assert "different compilers, or other options of one" in remark


def test_nothing_is_said_of_edits(tmp_path, lexical_model, capsys):
    edited = MANY.replace("v[i] * 5", "v[i] / 7 - i").replace("return s +", "if (n > 4) s--; return s +")
    assert edited != MANY
    assert compare_made(tmp_path, lexical_model, capsys, (MANY, "-O2"), (edited, "-O2")) == []


def test_of_few_functions_and_of_start_up_code_nothing_is_said(version_of):
    old, new = version_of("old-x86_64"), version_of("new-x86_64")
    rows = range(min(len(old), len(new)))
    assert otherwise_made(old, new, {(row, row): 1.0 for row in rows})
    assert otherwise_made(old, new, {(row, row): 1.0 for row in rows[:9]}) == []
    assert otherwise_made(old, new, {(row, row): 0.4 for row in rows}) == []
    loaded = replace(old, side=replace(old.side, begins=tuple(old.side.addresses)))
    short = {(row, row): 1.0 for row in rows if row in loaded.side.start_up}
    assert len(short) > 9
    assert otherwise_made(loaded, new, short) == []

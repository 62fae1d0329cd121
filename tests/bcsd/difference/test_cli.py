"""``weft bcsd diff`` as a person types it: every form of output, hostile files, and failures in one line."""

from __future__ import annotations

import json
import os
import pickle
import random
import re
import shutil
from dataclasses import replace

import pytest
from tests.platform.pages import EVIL, Page

import weft
from weft.bcsd.difference.record import difference_record
from weft.bcsd.difference.view.page import difference_page
from weft.bcsd.difference.view.show import side_by_side
from weft.cli.bcsd.diff import describe
from weft.cli.main import main
from weft.errors import CheckpointError, InputError


def diff(*arguments):
    return main(["bcsd", "diff", *map(str, arguments)])


@pytest.fixture
def versions(patch):
    return patch / "patch-old-x86_64.so", patch / "patch-new-x86_64.so"


def test_json_and_page_at_once(versions, lexical_model, tmp_path, capsys):
    page = tmp_path / "diff.html"
    assert diff(*versions, "--model", lexical_model, "--html", page, "--json", "--quiet") == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    record = json.loads(captured.out)
    assert record["schema"] == 1
    assert record["counts"]["changed"] == 13
    first = record["functions"][0]
    assert (first["status"], first["new"]["name"]) == ("changed", "the_bound")
    assert first["kinds"]["bound check added"] == 1
    assert page.read_text().count("<details>") == 13
    assert diff(*versions, "--model", lexical_model, "--quiet") == 0
    assert "20 and 20 functions" not in capsys.readouterr().out


def test_a_long_name_leaves_room_for_what_changed(difference_of, monkeypatch):
    text = "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char>>"
    difference = difference_of("old-x86_64", "new-x86_64")
    readable = {
        "the_bound": f"Bin::eval({', '.join([text] * 4)}) const",
        "the_string": f"Bin::name({text} const&)",
    }
    old, new = (
        replace(version, side=replace(version.side, readable=readable))
        for version in (difference.old, difference.new)
    )
    named = replace(difference, old=old, new=new)
    head, first, *_ = described = describe(named).splitlines()
    assert "Bin::eval(std::__cxx11::basic_string<…>, " not in first
    assert "  Bin::eval(…) const  " in first
    assert any("  Bin::name(std::__cxx11::basic_string<…> const&)  " in line for line in described)
    assert head.index("kinds") < 100
    # Whole names are in what programs read.
    assert difference_record(named)["functions"][0]["new"]["demangled"] == readable["the_bound"]
    # On a terminal what changed has the most room.
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "120")
    head, first, *_ = described = describe(named).splitlines()
    assert "bound check added, …" in first
    assert head.index("what") <= 80
    assert max(map(len, described)) <= 120


def test_the_table_says_what_changed(difference_of):
    head, *rows = describe(difference_of("old-x86_64", "new-x86_64")).splitlines()
    assert head.split() == ["status", "amount", "address", "function", "kinds", "what"]
    assert rows[0].split()[0] == "changed"
    assert any("the_string" in row and '"value is %d" → "value is %u"' in row for row in rows)
    assert any(row.startswith("renamed") and "name_before → name_after" in row for row in rows)
    assert rows[-1] == "20 and 20 functions: 13 changed, 1 added, 1 removed, 1 renamed, 5 unchanged"
    assert describe(difference_of("old-x86_64", "new-x86_64"), summary=False).splitlines() == [
        head,
        *rows[:-1],
    ]
    same = difference_of("old-x86_64", "old-x86_64")
    assert describe(same, summary=False) == describe(same) != ""
    short = describe(difference_of("old-x86_64", "new-x86_64"), limit=3).splitlines()
    assert len(short) == 6
    assert short[-2].startswith("… 13 more")


def test_one_function_side_by_side(difference_of):
    difference = difference_of("old-x86_64", "new-x86_64")
    text = side_by_side(difference, "the_string")
    assert text.splitlines()[0].startswith("changed: the_string 0x")
    assert re.search(r'^! .*"value is %d".* │ .*"value is %u".*string$', text, re.MULTILINE)
    start = next(code.address for code in difference.new.codes if code.name == "the_string")
    assert side_by_side(difference, f"@{start + 1:x}") == text
    assert side_by_side(difference, "the_line").endswith("differs by line numbers")
    assert side_by_side(difference, "added_function").startswith("added: –  │  added_function")
    for wrong in ("none", "@zz", "@0"):
        with pytest.raises(InputError, match="no function"):
            side_by_side(difference, wrong)


def test_the_page_shows_all_and_trusts_nothing(difference_of):
    difference = difference_of("old-x86_64", "new-x86_64")
    page = Page(difference_page(difference))
    assert page.tags.count("details") == 13
    assert page.tags.count("script") == 0
    evil = replace(
        difference.new,
        side=replace(difference.new.side, path=f"/tmp/{EVIL}", remarks=[EVIL]),
        codes=[
            code._replace(name=EVIL, lines=tuple(line._replace(says=f'"{EVIL}"') for line in code.lines))
            for code in difference.new.codes
        ],
    )
    references = replace(difference.references, new=evil)
    hostile = replace(difference, new=evil, references=references, remarks=[EVIL])
    assert Page(difference_page(hostile)).tags.count("script") == 0


def test_the_front_door(versions, lexical_model):
    found = list(weft.bcsd.diff(*versions, model=lexical_model))
    assert len(found) == 21 - any(
        f["old"] and f["old"]["name"] == "removed_function" and f["new"] for f in found
    )
    assert found[0]["kinds"] == {"bound check added": 1, "block": 2}


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["patch-old-x86_64.so", "none.so"], 3, "none.so: no such file"),
        (
            ["patch-old-x86_64.so", "patch-new-aarch64.so"],
            3,
            "x86_64 and aarch64: a difference of processors",
        ),
        (["patch-old-x86_64.so", "../conftest.py"], 3, "not an ELF, PE or Mach-O file"),
        (["patch-old-x86_64.so", "patch-new-x86_64.so", "--function", "nobody"], 3, "no function 'nobody'"),
        (["patch-old-x86_64.so", "patch-new-x86_64.so", "--html", "no/x.html"], 8, "make its folder first"),
        (["patch-old-x86_64.so", "patch-new-x86_64.so", "--lifter", "ghidra"], 2, "no lifter 'ghidra'"),
        (["patch-old-x86_64.so", "patch-new-x86_64.so", "--limit", "0"], 2, "--limit is 0"),
        (["patch-old-x86_64.so", "patch-new-x86_64.so", "--timeout", "0.01"], 7, "took more than 0.01 s"),
    ],
)
def test_failures_are_one_line(patch, arguments, code, message, lexical_model, capsys, monkeypatch):
    monkeypatch.chdir(patch)
    assert diff(*arguments, "--model", lexical_model, "--quiet") == code
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_a_function_that_is_none_leaves_no_page(versions, lexical_model, tmp_path, capsys):
    page = tmp_path / "diff.html"
    wanted = ["--model", lexical_model, "--html", page, "--function", "nobody"]
    assert diff(*versions, *wanted) == 3
    assert "no function 'nobody'" in capsys.readouterr().err
    assert not page.exists()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("gcc-O2-x86_64.o", "gcc-O2-x86_64.so"),
        ("gcc-O2-x86_64.so", "clang-O2-x86_64.so"),
        ("gcc-O2-x86_64-stripped.so", "gcc-O2-x86_64.so"),
        ("clang-O2-mips", "clang-O2-mips"),
        ("clang-O2-x86_64.dll", "clang-O2-x86_64.dylib"),
        ("odd-x86_64.so", "gcc-O0-x86_64.so"),
    ],
)
def test_files_of_every_sort_are_compared(files, old, new, lexical_model, capsys):
    assert diff(files / old, files / new, "--model", lexical_model, "--json") == 0
    record = json.loads(capsys.readouterr().out)
    halves = [sum(f[side] is not None for f in record["functions"]) for side in ("old", "new")]
    assert halves == [record["old"]["functions"], record["new"]["functions"]]
    if old == new:
        assert record["counts"]["unchanged"] == halves[0]


def test_damaged_files_end_in_an_answer_or_one_line(patch, lexical_model, tmp_path, capsys):
    whole = (patch / "patch-new-x86_64.so").read_bytes()
    rng = random.Random(5)
    for number in range(4):
        damaged = bytearray(whole)
        if number % 2:
            del damaged[rng.randrange(64, len(whole)) :]
        else:
            for _ in range(30):
                damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        place = tmp_path / f"damaged-{number}"
        place.write_bytes(damaged)
        code = diff(patch / "patch-old-x86_64.so", place, "--model", lexical_model, "--json", "--timeout", 60)
        captured = capsys.readouterr()
        assert code in (0, 3, 7), captured.err
        if code:
            assert captured.err.count("\n") == 1
        else:
            assert json.loads(captured.out)["old"]["functions"] == 20


def test_odd_paths(patch, lexical_model, tmp_path, capsys):
    odd = os.fsencode(tmp_path) + b"/\xc3\xbc<b>\n.so"
    with open(odd, "wb") as out:
        out.write((patch / "patch-new-x86_64.so").read_bytes())
    page = tmp_path / "page.html"
    assert (
        diff(patch / "patch-old-x86_64.so", os.fsdecode(odd), "--model", lexical_model, "--html", page) == 0
    )
    assert "the_bound" in capsys.readouterr().out
    Page(page.read_text(encoding="utf-8"))


def test_a_path_that_is_no_text_is_compared(versions, lexical_model, tmp_path, capsys):
    places = [os.fsdecode(os.fsencode(tmp_path) + name) for name in (b"/\xe9 old.so", b"/\xe9 new.so")]
    for version, place in zip(versions, places, strict=True):
        shutil.copy(version, place)
    page = tmp_path / "diff.html"
    assert diff(*places, "--model", lexical_model, "--html", page, "--json", "--quiet") == 0
    assert json.loads(capsys.readouterr().out)["counts"]["changed"] == 13
    assert "\\udce9 new.so" in page.read_text()


def test_a_model_that_is_not_there_is_told_though_names_suffice(versions, capsys):
    assert diff(*versions, "--model", "nix") == 4
    assert "'nix': no such model" in capsys.readouterr().err
    with pytest.raises(CheckpointError, match="no such model"):
        weft.bcsd.diff(*versions, model="nix")


def test_what_a_program_gets_is_short_to_look_at_and_may_be_sent_to_another_process(versions, lexical_model):
    found = weft.bcsd.diff(*versions, model=lexical_model)
    assert re.fullmatch(r"<\S+ \(20 functions\) and \S+ \(20\)>", repr(found))
    sent = pickle.loads(pickle.dumps(found))  # noqa: S301 - our own
    assert list(sent) == list(found)
    assert len(found) == len(list(found)) >= 20
    pairs = weft.bcsd.match(*versions)
    assert re.fullmatch(r"<20 pairs of \S+ and \S+>", repr(pairs))
    assert len(pairs) == len(list(pairs)) == 20

"""No output overwrites another one, or what the command reads."""

from __future__ import annotations

from pathlib import Path

import pytest

from weft.cli.main import main
from weft.cli.outputs import check_outputs
from weft.errors import ConfigError, OutputError


def test_places_are_files_of_their_own(tmp_path: Path) -> None:
    table, page, link = tmp_path / "t.csv", tmp_path / "p.html", tmp_path / "link"
    table.write_text("text\n")
    link.symlink_to(page)
    check_outputs((page, None, tmp_path / "q.html"), [table])
    check_outputs((Path("/dev/null"), Path("/dev/null")))
    for outputs in ((page, page), (page, link), (table, tmp_path / "no" / ".." / "t.csv")):
        (tmp_path / "no").mkdir(exist_ok=True)
        with pytest.raises(ConfigError, match="two outputs are one file"):
            check_outputs(outputs)
    with pytest.raises(ConfigError, match="the output is the input"):
        check_outputs([page, table], [str(table)])
    with pytest.raises(OutputError, match="make its folder first"):
        check_outputs([tmp_path / "none" / "x"])


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (("show", "a.so:f", "--svg", "x", "--dot", "./x"), "two outputs are one file"),
        (("show", "a.so:f", "--dot", "a.so"), "the output is the input"),
        (
            ("match", "a.so", "b.so", "--rename", "ida", "--rename-out", "x", "--html", "x"),
            "two outputs are one file",
        ),
        (("match", "a.so", "b.so", "--html", "a.so"), "the output is the input"),
        (("diff", "a.so", "b.so", "--html", "b.so"), "the output is the input"),
        (("explain", "a.so:f", "b.so:f", "--html", "a.so"), "the output is the input"),
        (("show", "a.so(x.o):f", "--dot", "a.so"), "the output is the input"),
        (("match", "a.so(x.o)", "b.so", "--html", "a.so"), "the output is the input"),
        (("diff", "a.so", "b.so(x.o)", "--html", "b.so"), "the output is the input"),
        (("explain", "a.so(x.o):f", "b.so:f", "--html", "a.so"), "the output is the input"),
        (("extract", "b.so", "a.so", "--out", "a.so"), "the output is the input"),
        (("embed", "a.so", "--out", "./a.so"), "the output is the input"),
        (("extract", "a.so(x.o)", "--out", "a.so"), "the output is the input"),
    ],
)
def test_binaries_are_not_overwritten(
    arguments: tuple[str, ...],
    what: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a.so", "b.so"):
        (tmp_path / name).write_text("a binary")
    assert main(["bcsd", *arguments]) == 2
    assert what in capsys.readouterr().err
    assert {place.name: place.read_text() for place in tmp_path.iterdir()} == dict.fromkeys(
        ("a.so", "b.so"), "a binary"
    )


@pytest.mark.parametrize(
    "arguments",
    [
        ("bcsd", "dataset", "join", "c.yaml", "-o", "c.yaml"),
        ("bcsd", "dataset", "build", "c.yaml", "-o", "./c.yaml"),
        ("bcsd", "calibrate", "bcsd-small", "--search", "c.yaml", "-o", "c.yaml"),
        ("absa", "explain", "Good food", "--aspect", "food", "--words", "c.yaml", "--html", "c.yaml"),
    ],
)
def test_settings_words_and_data_are_not_overwritten(
    arguments: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    config = "packages:\n- name: zlib\n  role: test\n  min_functions: 1\n"
    (tmp_path / "c.yaml").write_text(config)
    assert main(arguments) == ConfigError.exit_code
    assert "the output is the input" in capsys.readouterr().err
    assert (tmp_path / "c.yaml").read_text() == config


def test_a_page_is_none_of_the_texts_that_it_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "texts").mkdir()
    for name in ("texts/a.txt", "seed.csv"):
        (tmp_path / name).write_text("x")
        assert main(["kg", "facts", "texts", "--seed", "seed.csv", "--html", name]) == ConfigError.exit_code
        assert "the output is the input" in capsys.readouterr().err
        assert (tmp_path / name).read_text() == "x"

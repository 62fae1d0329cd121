"""Arguments stand in any order that a reader would write them in."""

from __future__ import annotations

from pathlib import Path

import pytest

from weft.cli.bench import parser as bench
from weft.cli.kg.store.ask import parser as ask
from weft.cli.kg.store.compare import parser as compare
from weft.cli.kg.store.show import parser as show
from weft.cli.main import main
from weft.cli.models import parser as models
from weft.cli.options import Parser
from weft.errors import ConfigError, InputError
from weft.kg import extract


@pytest.mark.parametrize(
    ("parser", "first", "second"),
    [
        (ask, ["s", "Who?", "--at-least", "0.5"], ["s", "--at-least", "0.5", "Who?"]),
        (show, ["s", "Ada", "--limit", "1", "--json"], ["s", "--limit", "1", "Ada", "--json"]),
        (compare, ["s", "a", "b", "--json"], ["s", "a", "--json", "b"]),
        (bench, ["kg", "absa", "--quiet"], ["kg", "--quiet", "absa"]),
        (models, ["kg-text-small", "--json"], ["--json", "kg-text-small"]),
    ],
)
def test_an_option_may_stand_between_what_is_named(parser, first: list[str], second: list[str]) -> None:
    assert parser().parse_args(second) == parser().parse_args(first)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["s", "--limt", "1", "Ada"], r"unrecognized arguments: --limt 1 Ada \(did you mean --limit\?\)"),
        (
            ["s", "--limit", "1", "Ada", "Bo"],
            r"unrecognized arguments: Bo \(it takes STORE and ENTITY and no more; what has spaces needs quotation",
        ),
        (["--limit", "1"], "required: STORE"),
    ],
)
def test_what_nobody_asked_for_is_refused(given: list[str], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        show().parse_args(given)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            "kg extract a b -o s",
            "takes CORPUS and no more; name a folder of them, or call it again with the same STORE",
        ),
        ("kg facts a b", "it takes FILE and no more; name a folder of texts, or call it again for each"),
        ("kg annotate a b", "it takes PATH and no more; name a folder of them, or call it again for each"),
        (
            "absa find a b",
            "it takes TEXT|FILE and no more; a text stands in quotation marks; texts can stand in one",
        ),
        ("absa eval a b", "it takes FILE and no more; call it again for each"),
        ("bcsd match a b c", "it takes A and B and no more; what has spaces needs quotation marks"),
        ("serve a", "it takes options alone: weft serve --help"),
    ],
)
def test_one_more_than_a_command_takes_names_the_way_out(
    line: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(line.split()) == 2
    assert said in capsys.readouterr().err


def test_help_names_what_may_be_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    result = Parser("test", "…")
    result.add_argument("name", nargs="?", metavar="NAME")
    with pytest.raises(SystemExit):
        result.parse_args(["a", "b", "--help"])
    assert "[NAME]" in capsys.readouterr().out


@pytest.mark.parametrize("line", ["kg annotate {} --write", "kg extract {} -o there", "kg build {} -o there"])
def test_no_name_is_not_the_folder_one_is_in(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A variable that is not set, in quotation marks, names nothing: nothing is read, and nothing written."""
    monkeypatch.chdir(tmp_path)
    source = "def load(path):\n    return str(path)\n"
    (tmp_path / "module.py").write_text(source)
    assert main([word.replace("{}", "") for word in line.split()]) == 2
    assert "the name is empty" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["module.py"]
    assert (tmp_path / "module.py").read_text() == source
    with pytest.raises(InputError, match="no corpus is named"):
        extract("", tmp_path / "there")

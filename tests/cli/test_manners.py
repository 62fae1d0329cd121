"""The manners of all commands at once: every option documented, and the same option the same everywhere."""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections import defaultdict

import pytest

from weft.cli.commands import ROOT, Command, find, usage, walk
from weft.cli.main import main

COMMANDS = {" ".join(path): command for path, command in walk()}
OWN_DEFAULT = {
    "--model",
    "--precision",
    "--aspect-column",
    "--text-column",
    "--min-blocks",
    "--timeout",
    "--beams",
    "--limit",
    "--at-least",
    "--out",
    "--device",
    "--index",
}
"""Options of one meaning whose default is the command's own, and told in its help."""
OWN_METAVAR = {"--out"}
"""What is written is a file, a folder, a model or a store."""


def options(command: Command) -> list[argparse.Action]:
    return [action for action in command.parser()._actions if action.option_strings and action.dest != "help"]


@pytest.fixture(scope="module")
def by_name() -> dict[str, dict[str, argparse.Action]]:
    found: dict[str, dict[str, argparse.Action]] = defaultdict(dict)
    for name, command in COMMANDS.items():
        for action in options(command):
            found[action.option_strings[-1]][name] = action
    return found


@pytest.mark.parametrize("name", COMMANDS)
def test_every_argument_is_documented_in_plain_words(name: str):
    parser = COMMANDS[name].parser()
    text = parser.format_help()
    assert parser.prog == f"weft {name}"
    assert parser.description
    assert parser.description[0].isupper()
    assert parser.description.split("\n")[0][-1] in ".:"
    assert not re.search(r"[`*]|\bNone\b|:func:|:class:", text), text
    for action in parser._actions:
        assert action.help, action
        if action.nargs == 0 or action.choices:
            continue
        metavar = str(action.metavar)
        assert re.search(r"[A-Z]", metavar), action
        assert metavar == metavar.upper(), action
        if action.option_strings and action.default:
            default = f"{action.default:g}" if isinstance(action.default, float) else str(action.default)
            assert default in action.help, (name, action.help)


def test_one_option_has_one_spelling_metavar_kind_and_default(by_name):
    for option, users in by_name.items():
        actions = list(users.values())
        assert len({tuple(action.option_strings) for action in actions}) == 1, option
        assert len({type(action) for action in actions}) == 1, (option, users)
        if option not in OWN_METAVAR and not any(action.choices for action in actions):
            assert len({str(action.metavar) for action in actions}) == 1, (option, users.keys())
        if option not in OWN_DEFAULT:
            assert len({repr(action.default) for action in actions}) == 1, (option, users.keys())
        assert len({action.type for action in actions}) == 1, option


def test_what_computes_says_where_and_in_silence(by_name):
    assert by_name["--device"].keys() == by_name["--threads"].keys() - {"bench"}
    assert by_name["--device"].keys() <= by_name["--quiet"].keys()
    assert len(by_name["--json"]) >= 20
    assert all(action.option_strings == ["-o", "--out"] for action in by_name["--out"].values())
    assert not by_name.keys() & {"--output", "--config", "--cpu", "--verbose"}
    for option in by_name:
        assert option == "-k" or re.fullmatch(r"--[a-z0-9]+(-[a-z0-9]+)*", option), option


@pytest.mark.parametrize("name", ["", "bcsd", "kg", "absa", "bcsd index", "bcsd dataset"])
def test_a_group_lists_its_commands(name: str, capsys):
    path, group, rest = find([*name.split(), "--help"])
    assert " ".join(path) == name
    assert rest == ["--help"]
    assert main([*name.split(), "--help"]) == 0
    assert capsys.readouterr().out == usage(path, group) + "\n"
    assert all(f"\n  {word}" in usage(path, group) for word in group.commands)
    assert main(name.split()) == 2


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("kg querry", "weft: no command 'querry' of weft kg (did you mean query?)"),
        ("bcsd index ad x", "weft: no command 'ad' of weft bcsd index (did you mean add?)"),
        ("kg show s e --limt 3", "weft kg show: unrecognized arguments: --limt 3 (did you mean --limit?)"),
        ("kg rm store", "weft kg rm: the following arguments are required: DOCUMENT (weft kg rm --help)"),
        ("bcsd show f --timeout fast", "weft bcsd show: argument --timeout: invalid float value: 'fast'"),
        (
            "absa predict text --aspect a --threads 0",
            "weft absa predict: threads is 0; it must be at least 1 and at most 1,024",
        ),
        ("completion tcsh", "weft completion: argument shell: invalid choice"),
    ],
)
def test_a_wrong_line_is_answered_by_one_line(line: str, words: str, capsys):
    assert main(line.split()) == 2
    error = capsys.readouterr().err
    assert error.startswith(words)
    assert error.count("\n") == 1


def test_no_help_imports_torch():
    code = (
        "import sys\nfrom weft.cli.commands import walk\n"
        "for _, command in walk(): command.parser().format_help()\n"
        "sys.exit(any(name in sys.modules for name in ('torch', 'lief', 'pyarrow', 'numpy', 'rich')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_tree_names_what_exists():
    for name, command in COMMANDS.items():
        assert command.summary, name
        assert callable(command.parser)
    assert len(COMMANDS) == len(set(COMMANDS)) >= 35
    assert not ROOT.module

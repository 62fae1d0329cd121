"""What the shells complete, asked of the shells."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from weft.cli.commands import ROOT
from weft.cli.completion import bash_script
from weft.cli.main import main


def complete(script: Path, line: str) -> list[str]:
    """What bash offers at the end of a line."""
    words = line.split(" ")
    program = f"source {script}; COMP_WORDS=({' '.join(repr(word) for word in words)}); COMP_CWORD={len(words) - 1}; "
    program += '_weft; printf "%s\\n" "${COMPREPLY[@]}"'
    done = subprocess.run(["bash", "-c", program], capture_output=True, text=True, check=True)
    return done.stdout.split()


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("bash") is None:
        pytest.skip("no bash here")
    path = tmp_path_factory.mktemp("completion") / "weft.bash"
    path.write_text(bash_script())
    return path


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("weft b", {"bcsd", "bench"}),
        ("weft bcsd ma", {"match"}),
        ("weft bcsd index ", {"add", "update", "rm", "ls", "--help"}),
        ("weft bcsd index add --wo", {"--workers"}),
        ("weft bcsd match --rename ", {"ghidra", "ida"}),
        ("weft bcsd match a b --rename-", {"--rename-out", "--rename-floor"}),
        ("weft kg train x.yaml --th", {"--threads"}),
        ("weft completion ", {"bash", "zsh", "fish"}),
        ("weft absa predict --prec", {"--precision"}),
        ("weft absa predict --precision b", {"bf16"}),
    ],
)
def test_bash_offers_what_fits(script: Path, line: str, offered: set[str]):
    assert offered <= set(complete(script, line))


def test_bash_offers_every_command_at_first(script: Path):
    assert set(complete(script, "weft ")) >= set(ROOT.commands)
    assert complete(script, "weft kg show --limit 3 --js") == ["--json"]
    assert complete(script, "weft kg nothing --js") == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_takes_its_script(shell: str, capsys, tmp_path: Path):
    assert main(["completion", shell]) == 0
    printed = capsys.readouterr().out
    assert "bcsd" in printed
    assert "--help" in printed or "-l help" in printed
    if shutil.which(shell):
        path = tmp_path / shell
        path.write_text(printed)
        subprocess.run([shell, "-n", str(path)], check=True)

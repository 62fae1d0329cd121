"""The annotations of a real package: the same bytes with one worker and with two."""

from __future__ import annotations

import shutil
from importlib.util import find_spec
from pathlib import Path

import pytest

from weft.cli.main import main


def test_two_runs_are_the_same_bytes_with_one_worker_and_with_two(
    tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    found = find_spec("colorama")
    if found is None or found.origin is None:
        pytest.skip("colorama is not installed")
    package = tmp_path / "colorama"
    shutil.copytree(Path(found.origin).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    # Listed in the order of the files, whoever finds them out.
    (package / "a_broken.py").write_text("def f(:\n")
    (package / "zero.py").write_bytes(b"x = '\0'\n")
    printed = []
    for workers in ("1", "2"):
        for form in (("--json",), ()):
            assert main(["kg", "annotate", str(package), "--workers", workers, *form]) == 9
            printed.append(capsysbinary.readouterr())
    assert printed[0] == printed[2]
    assert printed[1] == printed[3]
    assert len(printed[0].out) > 10_000
    assert b"+    def write(self, text: str)" in printed[1].out
    broken, zero = (printed[0].err.index(name) for name in (b"a_broken.py", b"zero.py"))
    assert broken < zero

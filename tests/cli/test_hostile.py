"""Hostile input and places that cannot be written: one line, one exit code, nothing half written, soon."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from weft.cli.main import main

BINARY = Path(__file__).parents[1] / "bcsd" / "files" / "gcc-O2-x86_64.so"
BOMB = "\n".join(
    ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
)
FILES = {
    "fine.py": "def f():\n    return 1\n",
    "bomb.yaml": BOMB,
    "deep.yaml": "[" * 100_000,
    "digits.yaml": "train:\n  steps: " + "9" * 5_000,
    "deep.json": "[" * 100_000,
    "deep/config.json": "[" * 100_000,
    "digits.json": '{"a": ' + "9" * 5_000 + "}",
    "literal.py": "x = [" + "1, " * 1_300_000 + "]\n",
    "name.py": "x" * 2_000_000 + " = 1\n",
    "word.csv": "x" * (17 << 20),
}
CASES = [
    (("absa", "train", "bomb.yaml"), 3, "its aliases written out"),
    (("bcsd", "train", "deep.yaml"), 3, "nested deeper than 50"),
    (("kg", "train", "digits.yaml"), 3, "a number of 5,000 characters"),
    (("bcsd", "dataset", "build", "bomb.yaml", "-o", "d.parquet"), 3, "its aliases written out"),
    (("absa", "eval", "deep.json"), 3, "nested too deeply"),
    (("absa", "eval", "digits.json"), 3, "a number of 5,000 characters"),
    (
        ("absa", "predict", "/dev/zero", "--input-format", "csv", "--aspect", "food"),
        3,
        "no file but a device",
    ),
    (("absa", "explain", "/dev/zero", "--aspect", "food"), 3, "is a file of an unknown kind"),
    (("bcsd", "extract", "/dev/zero", "-o", "o.parquet"), 3, "/dev/zero: not a regular file"),
    (("bcsd", "embed", "/dev/zero", "-o", "o.parquet"), 3, "/dev/zero: not a regular file"),
    (("bcsd", "show", "/dev/zero"), 3, "/dev/zero: not a regular file"),
    (("bcsd", "eval", "/dev/zero"), 3, "/dev/zero: is no file but a device"),
    (("kg", "facts", "/dev/zero"), 3, "/dev/zero: is no file but a device"),
    (("kg", "extract", "fine.py", "-o", "o", "--model", "deep"), 4, "nested too deeply"),
    (("absa", "predict", "word.csv", "--aspect", "food"), 3, "the header is not CSV: field larger"),
    (("absa", "predict", "fine", "--aspect", "food", "--model", "m" * 5_000), 4, "no such model"),
    (("absa", "predict", "a/b.doc", "--aspect", "food"), 3, "a/b.doc: is not there"),
    (("kg", "facts", "literal.py"), 3, "is larger than 1 MiB"),
    (("kg", "facts", "name.py"), 3, "is larger than 1 MiB"),
    (("bcsd", "extract", str(BINARY), "-o", "."), 8, "it is a folder: name a file"),
    (("bcsd", "extract", str(BINARY), "-o", "no/x.parquet"), 8, "make its folder first"),
    (("bcsd", "extract", str(BINARY), "-o", "word.csv/x.parquet"), 8, "Not a directory"),
    (("absa", "predict", "fine", "--aspect", "food", "-o", "no/x.csv"), 8, "make its folder first"),
    (("absa", "explain", "fine", "--aspect", "food", "--html", "no/x.html"), 8, "make its folder first"),
    (("bcsd", "match", str(BINARY), str(BINARY), "--html", "no/x.html"), 8, "make its folder first"),
    (("kg", "query", "no", "ASK {}"), 3, "no such store"),
    (("bcsd", "search", f"{BINARY}:x", "--index", "no"), 3, "no such index"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("hostile")
    for name, text in FILES.items():
        (place / name).parent.mkdir(exist_ok=True)
        (place / name).write_text(text)
    return place


@pytest.mark.parametrize(("arguments", "code", "message"), CASES, ids=lambda value: str(value)[:60])
def test_one_line_one_code_and_nothing_written(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    code: int,
    message: str,
) -> None:
    monkeypatch.chdir(folder)
    began = time.process_time()
    found = main(arguments)
    error = capsys.readouterr().err
    assert (found, message in error, error.count("\n")) == (code, True, 1), error[:500]
    assert time.process_time() - began < 20
    assert sorted(os.listdir(folder)) == sorted({name.partition("/")[0] for name in FILES})


def test_a_disk_that_fills_up_leaves_the_old_table(tmp_path: Path) -> None:
    output = tmp_path / "out.parquet"
    output.write_text("old")
    script = (
        "import resource, signal, sys\n"
        "from weft.cli.main import main\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))\n"
        "sys.exit(main(sys.argv[1:]))"
    )
    command = [sys.executable, "-c", script, "bcsd", "extract", str(BINARY), "-o", str(output), "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode in (8, 9), done.stderr
    assert "Traceback" not in done.stderr
    assert "cannot be written" in done.stderr
    assert output.read_text() == "old"
    assert os.listdir(tmp_path) == ["out.parquet"]

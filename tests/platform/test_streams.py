"""An open file that is named as a place, such as ``/dev/stdout``, keeps what it holds."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from weft.errors import OutputError
from weft.platform import files

OPEN = """
import sys
from weft.platform import files
print("printed before")
files.check_output(sys.argv[1])
with files.scratch(sys.argv[1]) as folder:
    assert folder.parent.name != "out"
files.write_text(sys.argv[1], "written\\n")
print("printed after")
"""


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "/dev/stderr"])
@pytest.mark.parametrize("mode", ["a", "r+"])
def test_an_open_file_is_added_to_where_it_is_open(tmp_path: Path, name: str, mode: str) -> None:
    place = tmp_path / "out" / "log"
    place.parent.mkdir()
    place.write_text("held already\n" + "." * 60)
    with place.open(mode) as log:
        log.seek(len("held already\n"))
        subprocess.run([sys.executable, "-c", OPEN, name], stdout=log, stderr=log, check=True)
    rest = place.read_text().strip(".")
    end = "printed before\nwritten\nprinted after\n"
    assert rest == "held already\n" + ("." * 60 if mode == "a" else "") + end
    assert [path.name for path in place.parent.iterdir()] == ["log"]


@pytest.mark.skipif(not Path("/dev/fd").is_dir(), reason="needs Linux's /dev/fd")
def test_an_open_file_that_cannot_be_written_and_one_that_is_not_open(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("old")
    with (tmp_path / "f").open("rb") as read_only:
        with pytest.raises(OutputError, match="cannot be written: Bad file descriptor"):
            files.write_text(f"/dev/fd/{read_only.fileno()}", "new")
        assert (tmp_path / "f").read_text() == "old"
    for number in (987, 10**30):
        with pytest.raises(OutputError, match="cannot be written"):
            files.write_text(f"/dev/fd/{number}", "new")

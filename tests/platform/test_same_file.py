"""Whether two paths are one file."""

import os
from pathlib import Path

from weft.platform.same_file import is_same


def test_one_file_has_many_names(tmp_path: Path) -> None:
    one, other = tmp_path / "a", tmp_path / "b"
    one.write_text("x")
    assert is_same(one, tmp_path / "." / "a")
    assert not is_same(one, other)
    assert is_same(other, str(other))  # neither is there
    other.symlink_to(one)
    assert is_same(one, other)
    # One file by its number, as a name in other letters where the file system knows no case.
    os.link(one, tmp_path / "A")
    assert is_same(tmp_path / "A", one)

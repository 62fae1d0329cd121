"""One writer at a time, also inside one process, and what the other one is told."""

import os

import pytest

from weft.errors import OutputError, StoreError
from weft.platform.processes.lock import locked


def hold(path, **more):
    return locked(path, "{} writes here", "wait", **more)


def test_one_holds_it_and_the_other_is_told_who(tmp_path):
    path = tmp_path / "lock"
    with hold(path):
        with pytest.raises(StoreError, match=f"process {os.getpid()} writes here") as refused, hold(path):
            pass
        assert refused.value.where == str(tmp_path)
        assert refused.value.hint == "wait"
        with pytest.raises(OutputError), hold(path, error=OutputError):
            pass


def test_it_ends_with_the_work_and_with_its_failure(tmp_path):
    path = tmp_path / "lock"
    with pytest.raises(KeyError), hold(path):
        raise KeyError
    with hold(path):
        pass
    with hold(path):
        pass
    assert path.exists()


def test_the_number_is_the_holders_own(tmp_path):
    path = tmp_path / "lock"
    path.write_text("123456789012345678\n")
    with hold(path):
        assert path.read_text() == f"{os.getpid()}\n"
        path.write_text("")
        with pytest.raises(StoreError, match="another process writes here"), hold(path):
            pass


def test_a_place_that_cannot_be_locked(tmp_path):
    with pytest.raises(OutputError), hold(tmp_path / "no" / "lock"):
        pass


def test_where_a_link_stands_nothing_is_written(tmp_path):
    mine = tmp_path / "mine.txt"
    mine.write_text("precious")
    (tmp_path / "lock").symlink_to(mine)
    with pytest.raises(OutputError, match=r"lock: is a link.*remove the link"), hold(tmp_path / "lock"):
        pass
    assert mine.read_text() == "precious"

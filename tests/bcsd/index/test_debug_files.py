"""An index and the debug files of what is in it: names come when they come, and stay when they go."""

import os
import shutil

import pytest
from tests.bcsd.stripped import compile_apart

from weft.bcsd.index import into
from weft.bcsd.index.merge import merge
from weft.bcsd.index.rows import DEBUG_FILES
from weft.bcsd.index.store import FunctionStore
from weft.bcsd.index.update import add, update
from weft.bcsd.read.debug.look import VARIABLE, Looked
from weft.bcsd.use.embed_files import EmbedFile, EmbedReport, embed_each
from weft.cli.main import main
from weft.errors import StoreError

FROM = "names of functions are from its debug file lib.debug"
GONE = "its debug file lib.debug is not there any more: the index keeps the names from it"
UNFIT = "the index keeps the names from its debug file lib.debug, which is not there any more as it was"


def compile_into(folder, number=1):
    """``lib.so``, stripped, in a folder, and its ``lib.debug`` beside the folder."""
    folder.mkdir(exist_ok=True)
    apart = folder.parent / f"made-{folder.name}-{number}"
    compile_apart(apart, "-Wl,--build-id=sha1", number=number)
    shutil.copy(apart / "lib.so", folder / "lib.so")
    shutil.copy(apart / "lib.debug", folder.parent / "lib.debug")


def embed_here(paths, options, scratch):
    """As ``embed_each``, in this process, whose environment the tests change."""
    for path in paths:
        embed = EmbedFile(options)
        rows = embed(path)
        yield EmbedReport(path, rows.num_rows, None, 0.0, embed.remarks, embed.looked), rows


@pytest.fixture
def place(tmp_path, options, monkeypatch):
    """A folder with a stripped library that is in an index, whose debug file lies elsewhere."""
    monkeypatch.setenv(VARIABLE, str(tmp_path / "none"))
    monkeypatch.setattr(into, "embed_each", embed_here)
    compile_into(tmp_path / "in")
    (change,) = add([tmp_path / "in"], tmp_path / "index", options)
    assert change == (str(tmp_path / "in/lib.so"), "added", 2, None, (), False)
    assert names(tmp_path) == {"sub_1000", "shown"}
    return tmp_path


@pytest.fixture
def once_more(place, options):
    def run(work=add):
        (change,) = work([place / "in"], place / "index", options)
        return change.status, change.remarks, change.named

    return run


def names(place, index="index"):
    rows = FunctionStore.open(place / index).rows()
    return set(rows["name"].to_pylist())


@pytest.mark.parametrize("work", [add, update])
def test_names_come_with_a_debug_file_that_comes_later(place, once_more, work):
    assert once_more(work) == ("unchanged", (), False)
    (place / "lib.debug").rename(place / "in/lib.debug")
    assert once_more(work) == ("updated", (FROM,), True)
    assert names(place) == {"hidden", "shown"}
    assert once_more(work) == ("unchanged", (), False)


def test_names_come_with_a_folder_of_debug_files_that_is_named_later(place, once_more, monkeypatch):
    there = place / "debug" / str(place / "in").lstrip("/")
    there.mkdir(parents=True)
    (place / "lib.debug").rename(there / "lib.debug")
    assert once_more() == ("unchanged", (), False)
    monkeypatch.setenv(VARIABLE, str(place / "debug"))
    assert once_more() == ("updated", (FROM,), True)
    assert names(place) == {"hidden", "shown"}
    # Beside the file it is the same one.
    (there / "lib.debug").rename(place / "in/lib.debug")
    assert once_more() == ("unchanged", (), False)


@pytest.mark.parametrize("work", [add, update])
def test_names_stay_where_a_debug_file_is_gone_or_is_another_s(place, once_more, monkeypatch, work):
    debug = (place / "lib.debug").read_bytes()
    (place / "in/lib.debug").write_bytes(debug)
    once_more()
    (place / "in/lib.debug").unlink()
    assert once_more(work) == ("unchanged", (GONE,), False)
    (place / "in/lib.debug").write_bytes(b"of another build")
    status, remarks, named = once_more(work)
    assert (status, remarks[-1], named) == ("unchanged", UNFIT, False)
    (place / "in/lib.debug").write_bytes(debug)
    monkeypatch.setenv(VARIABLE, "")
    assert once_more(work) == ("unchanged", (GONE,), False)
    assert names(place) == {"hidden", "shown"}


def test_a_debug_file_of_another_build_is_read_once(place, once_more, monkeypatch):
    (place / "in/lib.debug").write_bytes(b"of another build")
    status, (remark,), named = once_more()
    assert (status, named) == ("updated", True)
    assert "of another build" in remark
    monkeypatch.setattr(into, "embed_each", lambda paths, *rest: iter([1] * len(paths)))
    assert once_more() == ("unchanged", (), False)


def test_new_content_without_its_debug_file_is_told_of(place, once_more):
    (place / "lib.debug").rename(place / "in/lib.debug")
    once_more()
    (place / "in/lib.debug").unlink()
    compile_into(place / "in", number=100_000)
    status, (remark,), named = once_more()
    assert (status, named) == ("updated", False)
    assert remark == "its debug file lib.debug was of its earlier content, and none of this one is there"
    assert names(place) == {"sub_1000", "shown"}


def test_a_run_that_is_stopped_leaves_the_old_rows_and_goes_on(place, once_more, monkeypatch):
    (place / "lib.debug").rename(place / "in/lib.debug")

    def stopped(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(FunctionStore, "replace", stopped)
        with pytest.raises(KeyboardInterrupt):
            once_more()
    assert names(place) == {"sub_1000", "shown"}
    assert once_more() == ("updated", (FROM,), True)
    assert len(FunctionStore.open(place / "index")) == 2


def test_an_index_made_before_opens_and_knows_of_what_is_added_from_then_on(place, once_more, options):
    old = FunctionStore.open(place / "index")
    old._table.drop_columns([DEBUG_FILES])
    assert FunctionStore.open(place / "index").debug_files() == {}
    (place / "lib.debug").rename(place / "in/lib.debug")
    assert once_more() == ("unchanged", (), False)
    compile_into(place / "other")
    add([place / "other"], place / "index", options)
    (place / "lib.debug").rename(place / "other/lib.debug")
    (change,) = add([place / "other"], place / "index", options)
    assert (change.status, change.named) == ("updated", True)


@pytest.mark.parametrize("old", [False, True])
def test_a_merged_index_knows_what_its_parts_know(place, options, old):
    if old:
        FunctionStore.open(place / "index")._table.drop_columns([DEBUG_FILES])
    assert merge([place / "index"], place / "whole")[0].status == "added"
    (place / "lib.debug").rename(place / "in/lib.debug")
    (change,) = add([place / "in"], place / "whole", options)
    assert change.status == ("unchanged" if old else "updated")


def test_how_many_were_read_anew_is_said(place, options, capsys, monkeypatch):
    monkeypatch.setattr(into, "embed_each", embed_each)
    (place / "lib.debug").rename(place / "in/lib.debug")
    command = ["bcsd", "index", "add", str(place / "in"), "--index", str(place / "index")]
    assert main([*command, "--model", options.model, "--precision", "fp32"]) == 0
    assert ": 1 updated (1 because a debug file came or changed); 2 functions" in capsys.readouterr().out


def test_a_table_that_says_something_else_is_damaged(place, once_more):
    table = FunctionStore.open(place / "index")._table
    table.update(where="ordinal = 0", values={DEBUG_FILES: "[1, 2]"})
    with pytest.raises(StoreError, match="its table is damaged: not where a debug file was looked for"):
        once_more()


def test_a_stamp_changes_with_size_time_and_name_and_not_with_the_folder(tmp_path, monkeypatch):
    monkeypatch.setenv(VARIABLE, f"{tmp_path / 'a'}:{tmp_path / 'b'}")
    looked = Looked.from_text(Looked(("x/\udcff.debug", str(tmp_path / "near")), "", "").to_text())
    assert looked.stamp_now() == ""
    for folder in "ab":
        (tmp_path / folder / "x").mkdir(parents=True)
    file = tmp_path / "a" / "x" / "\udcff.debug"
    file.write_bytes(b"one")
    first = looked.stamp_now()
    assert first
    file.rename(tmp_path / "b" / "x" / "\udcff.debug")
    assert looked.stamp_now() == first
    os.utime(tmp_path / "b" / "x" / "\udcff.debug", ns=(1, 1))
    assert looked.stamp_now() not in ("", first)
    (tmp_path / "near").mkdir()
    (tmp_path / "b" / "x" / "\udcff.debug").unlink()
    assert looked.stamp_now() == ""

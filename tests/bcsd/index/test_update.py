"""Adding, updating, removing: only what changed is worked on, and a stopped run goes on."""

import os
import shutil

import pytest
from tests.bcsd.test_members import archive

from weft.bcsd.index import into, update
from weft.bcsd.index.update import Change, add, contents, remove
from weft.cli.bcsd.index.files import record
from weft.cli.main import main
from weft.errors import InputError


@pytest.fixture
def worked(monkeypatch):
    """The files that were really extracted and embedded."""
    seen = []
    real = into.embed_each

    def watched(paths, *rest):
        seen.extend(paths)
        return real(paths, *rest)

    monkeypatch.setattr(into, "embed_each", watched)
    return seen


def test_only_the_changed_file_of_many_is_worked_on(
    make_rows, copied, options, worked, built, files, tmp_path
):
    folder = tmp_path / "in"
    shutil.copytree(built / "in", folder)
    assert {c.status for c in add([str(folder)], copied, options)} == {"added"}
    assert len(worked) == 4
    worked.clear()
    assert {c.status for c in add([str(folder)], copied, options)} == {"unchanged"}
    assert worked == []
    changed = folder / "gcc-O0-x86_64.so"
    shutil.copy(files / "gcc-O3-x86_64.so", changed)
    (folder / "gcc-O2-aarch64.so").unlink()
    shutil.copy(files / "gcc-Os-x86_64.so", folder / "new.so")
    changes = update.update([str(folder)], copied, options)
    assert worked == [str(changed), str(folder / "new.so")]
    assert {change.binary.rpartition("/")[2]: change.status for change in changes} == {
        "gcc-O0-x86_64.so": "updated",
        "gcc-O2-aarch64.so": "removed",
        "gcc-O2-x86_64.so": "unchanged",
        "clang-O2-x86_64.so": "unchanged",
        "new.so": "added",
    }
    held = {file.binary: file for file in contents(copied)}
    assert len(held) == 8
    assert held[str(changed)].functions == 18
    assert len(contents(copied, [str(folder)])) == 4


def test_an_archive_is_updated_and_removed_like_a_folder(copied, options, files, tmp_path, worked):
    objects = [
        (f"{n}.o", (files / f"gcc-O2-{name}.o").read_bytes()) for n, name in enumerate(("x86_64", "aarch64"))
    ]
    place = tmp_path / "libs.a"
    place.write_bytes(archive(*objects))
    assert [change.status for change in add([str(place)], copied, options)] == ["added"] * 2
    assert [change.status for change in add([f"{tmp_path}/./libs.a"], copied, options)] == ["unchanged"] * 2
    assert len(contents(copied, [str(place)])) == 2
    place.write_bytes(archive(objects[0], ("new.o", objects[1][1])))
    changes = update.update([str(place)], copied, options)
    assert {change.binary.removeprefix(str(place)): change.status for change in changes} == {
        "(0.o)": "unchanged",
        "(1.o)": "removed",
        "(new.o)": "added",
    }
    place.write_bytes(archive(objects[0]))
    changes = update.update([], copied, options)
    assert [change.status for change in changes if change.binary.startswith(str(place))] == [
        "removed",
        "unchanged",
    ]
    assert [change.status for change in remove([str(place)], copied)] == ["removed"]
    assert contents(copied, [str(place)]) == []


@pytest.mark.parametrize("kept", [True, False])
def test_update_without_paths_adds_what_is_new_in_an_archive(copied, options, files, tmp_path, kept):
    one, two = (files / f"gcc-O2-{name}.o" for name in ("x86_64", "aarch64"))
    place = tmp_path / "libs.a"
    place.write_bytes(archive(("one.o", one.read_bytes())))
    add([str(place)], copied, options)
    members = [("one.o", one.read_bytes())] * kept + [("two.o", two.read_bytes())]
    place.write_bytes(archive(*members))
    changes = {change.binary: change.status for change in update.update([], copied, options)}
    assert changes[f"{place}(one.o)"] == ("unchanged" if kept else "removed")
    assert changes[f"{place}(two.o)"] == "added"
    assert len(changes) == 4 + 2
    held = {file.binary for file in contents(copied, [str(place)])}
    assert held == {f"{place}({name})" for name, _ in members}


def test_update_without_paths_of_a_damaged_archive_fails_for_what_the_index_holds(
    copied, options, files, tmp_path
):
    place = tmp_path / "libs.a"
    place.write_bytes(archive(("one.o", (files / "gcc-O2-x86_64.o").read_bytes())))
    add([str(place)], copied, options)
    place.write_bytes(place.read_bytes()[:-100])
    changes = {change.binary: change.status for change in update.update([], copied, options)}
    assert {name: status for name, status in changes.items() if status != "unchanged"} == {
        f"{place}(one.o)": "failed"
    }
    assert len(contents(copied, [str(place)])) == 1


@pytest.mark.parametrize("name", ["libr.rlib", "libv.a.1", "objects"])
def test_an_archive_that_is_gone_is_taken_out_however_it_is_called(name, copied, options, files, tmp_path):
    place = tmp_path / name
    place.write_bytes(archive(("a.o", (files / "gcc-O2-x86_64.o").read_bytes())))
    add([str(place)], copied, options)
    place.unlink()
    assert [file.binary for file in contents(copied, [str(place)])] == [f"{place}(a.o)"]
    assert [change.status for change in remove([str(place)], copied)] == ["removed"]


def test_all_files_are_below_the_root(copied):
    assert contents(copied, [os.sep]) == contents(copied) != []


def test_a_file_beside_is_no_member_however_it_is_called(copied, options, files, tmp_path):
    for name in ("tool", "tool(1)"):
        shutil.copy(files / "gcc-O2-x86_64.so", tmp_path / name)
    add([str(tmp_path)], copied, options)
    for gone in (False, True):
        if gone:
            for name in ("tool", "tool(1)"):
                (tmp_path / name).unlink()
        assert [f.binary for f in contents(copied, [str(tmp_path / "tool")])] == [str(tmp_path / "tool")]
    remove([str(tmp_path / "tool")], copied)
    assert contents(copied, [str(tmp_path / "tool")]) == []
    assert [f.binary for f in contents(copied, [str(tmp_path)])] == [str(tmp_path / "tool(1)")]


def test_update_without_paths_looks_at_every_file_of_the_index(copied, options, worked):
    changes = update.update([], copied, options)
    assert [change.status for change in changes] == ["unchanged"] * 4
    assert worked == []


def test_a_file_that_fails_is_listed_and_the_others_go_in(built, copied, options, tmp_path):
    folder = tmp_path / "mixed"
    folder.mkdir()
    good = built / "in" / "gcc-O2-x86_64.so"
    shutil.copy(good, folder / "good.so")
    (folder / "bad.so").write_bytes(good.read_bytes()[:64])
    changes = {c.binary.rpartition("/")[2]: c for c in add([str(folder)], copied, options)}
    assert changes["good.so"].status == "added"
    assert changes["bad.so"].status == "failed"
    assert "bad.so" in str(changes["bad.so"].error)
    assert len(contents(copied)) == 5


def test_a_folder_without_binaries_is_listed_and_the_others_go_in(files, options, tmp_path, capsys):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    (tmp_path / "b" / "notes.txt").write_text("text")
    good, index = files / "gcc-O2-x86_64.so", tmp_path / "index"
    command = ["bcsd", "index", "add", "--index", str(index), "--model", options.model, "--precision", "fp32"]
    empty = [str(tmp_path / "a"), str(tmp_path / "b")]
    assert main([*command, *empty]) == 3  # nothing remains: the error of the first
    assert not index.exists()
    assert "a: no binary among 0 files" in capsys.readouterr().err
    assert main([*command, *empty, str(good)]) == 9
    captured = capsys.readouterr()
    assert "2 failed, 1 added" in captured.out
    assert f"failed: {tmp_path / 'a'}: no binary among 0 files\n" in captured.err
    assert f"failed: {tmp_path / 'b'}: no binary among 1 files\n" in captured.err
    assert [file.binary for file in contents(index)] == [str(good)]


@pytest.mark.parametrize("stands", [False, True])
def test_where_every_file_fails_no_new_index_is_left(stands, files, options, tmp_path, capsys):
    bad, index = [tmp_path / "bad.so", tmp_path / "notes.txt"], tmp_path / "index"
    bad[0].write_bytes((files / "gcc-O2-x86_64.so").read_bytes()[:64])
    bad[1].write_text("no binary")
    if stands:
        index.mkdir()
    command = ["bcsd", "index", "add", "--index", str(index), "--model", options.model, "--precision", "fp32"]
    for failing, code in ((bad[:1], 3), (bad, 9)):
        assert main([*command, *map(str, failing)]) == code
        assert all(f"failed: {path}" in capsys.readouterr().err for path in failing[:1])
        assert index.exists() == stands
        assert not stands or {path.name for path in index.iterdir()} <= {"writer.lock"}
    assert main([*command, str(files / "gcc-O2-x86_64.so")]) == 0
    assert main([*command, *map(str, bad)]) == 9
    assert len(contents(index)) == 1


def test_an_index_without_files_stays_where_every_file_fails(copied, options, tmp_path):
    remove([file.binary for file in contents(copied)], copied)
    (tmp_path / "notes.txt").write_text("no binary")
    assert [c.status for c in add([str(tmp_path / "notes.txt")], copied, options)] == ["failed"]
    assert contents(copied) == []


def test_a_run_that_ends_early_keeps_what_was_committed_and_leaves_no_empty_index(
    built, options, monkeypatch, tmp_path
):
    def stopped(paths, how, scratch):
        yield from real(paths[:commits], how, scratch)
        raise KeyboardInterrupt

    real = into.embed_each
    monkeypatch.setattr(into, "embed_each", stopped)
    monkeypatch.setattr(into, "_ROWS_PER_COMMIT", 1)
    for commits in (0, 1):
        with pytest.raises(KeyboardInterrupt):
            add([str(built / "in")], tmp_path / "index", options)
        assert (tmp_path / "index").exists() == bool(commits)
    assert len(contents(tmp_path / "index")) == 1


def test_remove_takes_folders_and_files_that_are_gone_and_refuses_others(built, copied):
    gone = remove([str(built / "in" / "gcc-O2-x86_64.so")], copied)
    assert [change.status for change in gone] == ["removed"]
    with pytest.raises(InputError, match=r"/nowhere: not in the index \(3 files are"):
        remove(["/nowhere"], copied)
    assert len(remove([str(built / "in")], copied)) == 3
    assert contents(copied) == []


def test_a_folder_is_not_the_one_whose_name_begins_alike(built, copied, options, tmp_path):
    for name in ("lib", "lib64"):
        (tmp_path / name).mkdir()
        shutil.copy(built / "in" / "gcc-O2-x86_64.so", tmp_path / name / "a.so")
        add([str(tmp_path / name)], copied, options)
    assert [file.binary for file in contents(copied, [str(tmp_path / "lib")])] == [
        str(tmp_path / "lib" / "a.so")
    ]
    assert len(remove([str(tmp_path / "lib")], copied)) == 1
    assert len(contents(copied, [str(tmp_path / "lib64")])) == 1


def test_update_refuses_a_path_that_is_nowhere(copied, options):
    with pytest.raises(InputError, match="neither on the disk nor in the index"):
        update.update(["/nowhere/at/all"], copied, options)


@pytest.fixture
def kept(built, copied, options, tmp_path):
    """The index, with one more folder in it."""
    folder = tmp_path / "kept"
    shutil.copytree(built / "in", folder)
    add([str(folder)], copied, options)
    return folder


def test_update_keeps_what_a_folder_held_that_nobody_can_read(kept, copied, options):
    kept.rename(kept.with_name("elsewhere"))
    kept.symlink_to(kept)  # a loop: not gone, and not readable either, even for root
    for paths in ([], [str(kept)]):
        changes = [c for c in update.update(paths, copied, options) if c.binary.startswith(str(kept))]
        assert {change.status for change in changes} == {"failed"}
        assert {c.binary for c in changes} >= {
            str(kept / p.name) for p in kept.with_name("elsewhere").iterdir()
        }
        assert len(contents(copied, [str(kept)])) == 4
    # Gone for good is something else.
    kept.unlink()
    changes = update.update([str(kept)], copied, options)
    assert [change.status for change in changes] == ["removed"] * 4


def test_a_folder_that_cannot_be_listed_is_reported(kept, copied, options, monkeypatch, capsys):
    locked = kept / "locked"
    locked.mkdir()
    scandir = os.scandir

    def refuse(path):
        if path == str(locked):
            raise PermissionError(13, "Permission denied", str(locked))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    for work in (add, update.update):
        statuses = {change.binary: change.status for change in work([str(kept)], copied, options)}
        assert statuses.pop(str(locked)) == "failed"
        assert set(statuses.values()) == {"unchanged"}
    command = ["bcsd", "index", "add", str(kept), "--index", str(copied), "--model", options.model]
    assert main([*command, "--precision", "fp32"]) == 9
    assert f"failed: {locked}" in capsys.readouterr().err


def test_a_path_that_is_no_text_is_one_file(copied, options, files, tmp_path, worked):
    folder = tmp_path / "in"
    folder.mkdir()
    place = os.fsdecode(os.fsencode(folder) + b"/caf\xe9.so")
    shutil.copy(files / "gcc-O2-x86_64.so", place)
    changes = add([str(folder)], copied, options)
    assert [change.status for change in changes] == ["added"]
    failed = Change(place, "failed", 0, InputError("odd", where=place))
    told = record([*changes, failed], copied)
    assert told["files"][0]["binary"] == told["failures"][0]["binary"] == f"{folder}/caf\\xe9.so"
    assert told["failures"][0]["error"] == f"{folder}/caf\\xe9.so: odd"
    held = len(contents(copied))
    assert [change.status for change in add([str(folder)], copied, options)] == ["unchanged"]
    assert {change.status for change in update.update([], copied, options)} == {"unchanged"}
    shutil.copy(files / "gcc-O3-x86_64.so", place)
    assert [change.status for change in update.update([str(folder)], copied, options)] == ["updated"]
    assert len(contents(copied)) == held
    os.unlink(place)
    assert [change.status for change in update.update([str(folder)], copied, options)] == ["removed"]
    assert len(contents(copied)) == held - 1

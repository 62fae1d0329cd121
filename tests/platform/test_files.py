"""A file or folder is whole under its name or not there; what stood before survives every failure."""

from __future__ import annotations

import errno
import os
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from weft.errors import OutputError
from weft.platform import files


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def fail(place: Path, error: Exception) -> None:
    with files.writer(place) as file:
        file.write("new")
        raise error


def test_writes_text_bytes_json_and_streams(tmp_path: Path) -> None:
    files.write_text(tmp_path / "text", "ä\r\nb")
    files.write_bytes(tmp_path / "bytes", b"\x00\xff")
    files.write_json(tmp_path / "json", {"a": [1]}, indent=None)
    with files.writer(tmp_path / "lines") as file:
        file.writelines(f"{n}\n" for n in range(3))
    assert (tmp_path / "text").read_bytes() == "ä\r\nb".encode()
    assert (tmp_path / "bytes").read_bytes() == b"\x00\xff"
    assert (tmp_path / "json").read_text() == '{"a": [1]}\n'
    assert (tmp_path / "lines").read_text() == "0\n1\n2\n"
    assert names(tmp_path) == ["bytes", "json", "lines", "text"]


def test_file_and_folder_reach_the_disk_before_and_after_the_rename(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[str] = []
    real_replace, real_sync = os.replace, os.fsync

    def replace(old: Path, new: Path) -> None:
        steps.append("rename")
        real_replace(old, new)

    def sync(handle: int) -> None:
        steps.append("folder" if stat.S_ISDIR(os.fstat(handle).st_mode) else "file")
        real_sync(handle)

    monkeypatch.setattr(os, "replace", replace)
    monkeypatch.setattr(os, "fsync", sync)
    files.write_text(tmp_path / "text", "new")
    assert steps == ["file", "rename", "folder"]


def test_of_several_files_the_one_that_tells_of_the_others_appears_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    appeared: list[str] = []
    real_replace = os.replace

    def replace(old: Path, new: Path) -> None:
        appeared.append(Path(new).name)
        real_replace(old, new)

    monkeypatch.setattr(os, "replace", replace)
    with files.replaced_files(tmp_path, ("weights", "words", "about")) as part:
        for name in ("about", "weights"):
            (part / name).write_text(name)
    assert appeared == ["weights", "about"]
    assert names(tmp_path) == ["about", "weights"]


def test_a_folder_reaches_the_disk_from_the_inside_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[int] = []
    real_rename, real_sync = os.rename, os.fsync

    def rename(old: Path, new: Path) -> None:
        steps.append(0)
        real_rename(old, new)

    def sync(handle: int) -> None:
        steps.append(os.fstat(handle).st_ino)
        real_sync(handle)

    monkeypatch.setattr(os, "rename", rename)
    monkeypatch.setattr(os, "fsync", sync)
    out = tmp_path / "out"
    with files.replaced_folder(out) as part:
        (part / "deep").mkdir()
        (part / "deep" / "a").write_text("1")
    a, deep, folder, place = (
        path.stat().st_ino for path in (out / "deep" / "a", out / "deep", out, tmp_path)
    )
    assert steps == [a, deep, folder, 0, place]


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EIO])
def test_failure_leaves_the_old_file_and_nothing_else(tmp_path: Path, code: int) -> None:
    place = tmp_path / "report"
    place.write_text("old")
    with pytest.raises(OutputError) as caught:
        fail(place, OSError(code, "as the disk says it"))
    assert str(place) in str(caught.value)
    assert os.strerror(code) in str(caught.value)
    assert place.read_text() == "old"
    assert names(tmp_path) == ["report"]


def test_any_other_error_passes_and_leaves_the_old_file(tmp_path: Path) -> None:
    place = tmp_path / "report"
    place.write_text("old")
    for error in (KeyError("x"), FileNotFoundError(errno.ENOENT, "", str(tmp_path / "elsewhere" / "input"))):
        with pytest.raises(type(error)):
            fail(place, error)
    assert place.read_text() == "old"
    assert names(tmp_path) == ["report"]


def test_a_device_is_written_to_and_stays_one() -> None:
    files.write_text("/dev/null", "x")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="this machine has no such device")
def test_full_device_is_one_error() -> None:
    with pytest.raises(OutputError, match=r"^/dev/full: cannot be written: No space left on device \(free"):
        files.write_text("/dev/full", "x" * 10_000)


def test_a_limit_on_the_size_of_files_is_the_same_error(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("old")
    script = (
        "import resource, signal, sys; from weft.platform import files\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "files.write_text(sys.argv[1], 'x' * 5000)"
    )
    done = subprocess.run([sys.executable, "-c", script, tmp_path / "f"], capture_output=True, text=True)
    assert "OutputError" in done.stderr.splitlines()[-1]
    assert "File too large" in done.stderr
    assert (tmp_path / "f").read_text() == "old"
    assert names(tmp_path) == ["f"]


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("folder", "Is a directory (it is a folder: name a file)"),
        ("missing/file", "No such file or directory (make its folder first)"),
        ("file/below", "Not a directory (what should be its folder is a file)"),
        ("n" * 300, "File name too long (name a shorter one)"),
    ],
)
@pytest.mark.parametrize("write", [lambda path: files.write_text(path, "x"), files.check_output])
def test_places_that_cannot_be_written(
    tmp_path: Path, place: str, message: str, write: Callable[[Path], None]
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("old")
    with pytest.raises(OutputError) as caught:
        write(tmp_path / place)
    assert str(caught.value) == f"{tmp_path / place}: cannot be written: {message}"
    assert caught.value.exit_code == 8
    assert names(tmp_path) == ["file", "folder"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    for write in (lambda: files.write_text(tmp_path / "f", "x"), lambda: files.check_output(tmp_path / "f")):
        with pytest.raises(OutputError, match="Permission denied"):
            write()


def test_mode_and_link_survive(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("old")
    (tmp_path / "real").chmod(0o640)
    (tmp_path / "link").symlink_to("real")
    files.write_text(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"
    assert stat.S_IMODE((tmp_path / "real").stat().st_mode) == 0o640
    with files.replaced(tmp_path / "private") as part:
        os.close(os.open(part, os.O_CREAT | os.O_WRONLY, 0o600))
    (tmp_path / "plain").write_text("")
    assert (tmp_path / "private").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_a_pipe_is_written_to_directly(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()
    files.write_text(pipe, "through")
    reader.join()
    assert read == ["through"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@pytest.mark.parametrize("name", [b"n\xe9.parquet", b"f\xe9/n.parquet"])
def test_a_name_that_is_no_text_where_a_library_needs_one(tmp_path: Path, name: bytes) -> None:
    place = tmp_path / os.fsdecode(name)
    place.parent.mkdir(exist_ok=True)
    before = names(place.parent)
    told = "its name, or a folder's above, is not UTF-8"
    with pytest.raises(OutputError, match=told), files.replaced(place) as part:
        str(part).encode()
    with pytest.raises(UnicodeEncodeError):
        files.write_text(place, "a text that is none: \udce9")
    assert names(place.parent) == before
    files.write_text(place, "any other is written")


def test_a_body_that_leaves_no_file_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("old")
    with files.replaced(tmp_path / "f") as part:
        part.write_text("half")
        part.unlink()
    assert (tmp_path / "f").read_text() == "old"


KILLED = """
import os, signal, sys
from weft.platform import files
with files.writer(sys.argv[1]) as file:
    file.write("half")
    file.flush()
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_leftovers_of_a_killed_run_go_at_the_next_write(tmp_path: Path) -> None:
    place = tmp_path / "f"
    place.write_text("old")
    for name in ("f", "other"):
        done = subprocess.run([sys.executable, "-c", KILLED, tmp_path / name])
        assert done.returncode == -signal.SIGKILL
    assert names(tmp_path) == [".other.0.part", "f"]  # the second run removed what the first left
    assert place.read_text() == "old"
    files.write_text(place, "new")
    assert names(tmp_path) == ["f"]


def test_a_living_writer_is_left_alone(tmp_path: Path) -> None:
    place = tmp_path / "f"
    with files.writer(place) as slow:
        slow.write("slow")
        script = "import sys; from weft.platform import files; files.write_text(sys.argv[1], 'quick')"
        subprocess.run([sys.executable, "-c", script, place], check=True)
        files.write_text(place, "mine")
        assert place.read_text() == "mine"
    assert place.read_text() == "slow"
    assert names(tmp_path) == ["f"]


def test_folder_appears_whole(tmp_path: Path) -> None:
    place = tmp_path / "out"
    with files.replaced_folder(place) as part:
        (part / "deep").mkdir()
        (part / "deep" / "a").write_text("1")
        assert not place.exists()
    assert (place / "deep" / "a").read_text() == "1"
    assert names(tmp_path) == ["out"]


@pytest.mark.parametrize("exchange", [True, False])
def test_folder_is_swapped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exchange: bool) -> None:
    if not exchange:
        monkeypatch.setattr(files, "_exchange", lambda one, other: False)
    place = tmp_path / "out"
    place.mkdir()
    (place / "old").write_text("1")
    with files.replaced_folder(place) as part:
        (part / "new").write_text("2")
    assert names(place) == ["new"]
    with pytest.raises(OutputError, match="No space left"), files.replaced_folder(place) as part:
        raise OSError(errno.ENOSPC, "")
    assert names(place) == ["new"]
    assert names(tmp_path) == ["out"]


def test_folder_that_must_be_new(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="File exists"), files.replaced_folder(tmp_path / "file"):
        pass
    (tmp_path / "out").mkdir()
    with pytest.raises(OutputError, match="File exists"), files.replaced_folder(tmp_path / "out", new=True):
        pass


def test_a_swap_killed_half_way_is_taken_back(tmp_path: Path) -> None:
    script = """
import os, signal, sys
from pathlib import Path
from weft.platform import files
files._exchange = lambda one, other: False
rename = os.rename
def second(old, new):
    if os.path.exists(sys.argv[1]):
        return rename(old, new)
    os.kill(os.getpid(), signal.SIGKILL)
os.rename = second
with files.replaced_folder(sys.argv[1]) as part:
    (part / "new").write_text("2")
"""
    place = tmp_path / "out"
    place.mkdir()
    (place / "old").write_text("1")
    done = subprocess.run([sys.executable, "-c", script, place])
    assert done.returncode == -signal.SIGKILL
    assert names(tmp_path) == [".out.0.part"]
    files.write_text(tmp_path / "other", "x")
    assert names(tmp_path) == ["other", "out"]
    assert names(place) == ["old"]


def test_scratch_lies_beside_the_result_and_goes(tmp_path: Path) -> None:
    with files.scratch(tmp_path / "out") as folder:
        assert folder.parent == tmp_path
        files.write_text(tmp_path / "out", "x")
        assert folder.is_dir()
    assert names(tmp_path) == ["out"]
    for elsewhere in (None, "/dev/null"):
        with files.scratch(elsewhere) as folder:
            assert folder.is_dir()
            assert folder.parent != Path("/dev")
        assert not folder.exists()


def test_append_is_all_or_nothing(tmp_path: Path) -> None:
    log = tmp_path / "log"
    files.append_text(log, "one\n")
    files.append_text(log, "two\n")
    script = (
        "import resource, signal, sys; from weft.platform import files\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10))\n"
        "files.append_text(sys.argv[1], 'three\\n')"
    )
    done = subprocess.run([sys.executable, "-c", script, log], capture_output=True, text=True)
    assert "OutputError" in done.stderr
    assert log.read_text() == "one\ntwo\n"


def test_make_folder(tmp_path: Path) -> None:
    assert files.make_folder(tmp_path / "a" / "b").is_dir()
    files.make_folder(tmp_path / "a" / "b")
    (tmp_path / "file").write_text("")
    for place in ("file", "file/below"):
        with pytest.raises(OutputError, match="Not a directory"):
            files.make_folder(tmp_path / place)

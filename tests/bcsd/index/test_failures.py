"""Every way to break an index ends in one clear error, and nothing that was committed is lost."""

import errno
import os
import random
import shutil
import subprocess
import sys
from dataclasses import replace

import pyarrow as pa
import pytest

from weft.bcsd.index import into, update
from weft.bcsd.index.failures import as_store_error
from weft.bcsd.index.lock import writer_lock
from weft.bcsd.index.store import FunctionStore
from weft.bcsd.index.update import add, check_model, contents
from weft.bcsd.use.search.searcher import Searcher
from weft.errors import InputError, OutputError, StoreError


def one_line(error):
    assert "\n" not in str(error.value)
    return str(error.value)


def test_no_index_no_such_index_and_a_folder_of_other_things(options, tmp_path):
    with pytest.raises(InputError, match="no such index") as error:
        contents(tmp_path / "none")
    assert "index add" in one_line(error)
    assert not (tmp_path / "none").exists()
    with pytest.raises(StoreError, match="not an index") as error:
        contents(tmp_path)
    assert "index add" in one_line(error)
    (tmp_path / "thesis.txt").write_text("text")
    for other in (tmp_path, tmp_path / "thesis.txt"):
        with pytest.raises(StoreError, match="not an index") as error:
            contents(other)
        assert "index add" not in one_line(error)
    with pytest.raises(StoreError, match="not an index, and not empty"):
        add([sys.executable], tmp_path, options)
    assert [p.name for p in tmp_path.iterdir()] == ["thesis.txt"]


def test_another_version_of_the_model(copied, make_model, options, tmp_path):
    other = make_model(tmp_path / "other", seed=1)
    with pytest.raises(StoreError, match=r"made with version [0-9a-f]{16} of model .* this is abc") as error:
        check_model(copied, "abc")
    assert "make the index anew" in one_line(error)
    with pytest.raises(StoreError, match="made with version"):
        update.update([], copied, replace(options, model=other))
    assert len(contents(copied)) == 4


@pytest.mark.parametrize("text", ["", "{", "[]", '{"schema": 1}', '{"schema": 1, "model": 3}'])
def test_a_damaged_description(copied, text):
    (copied / "index.json").write_text(text)
    with pytest.raises(StoreError, match=r"index\.json(, line 1, column \d)?: "):
        contents(copied)


def test_another_schema(copied):
    (copied / "index.json").write_text('{"schema": 9}')
    with pytest.raises(StoreError, match="index schema 9; this version reads 1"):
        contents(copied)


def read_all(folder):
    store = FunctionStore.open(folder)
    ids = store.vectors().ids
    return store.files(), store.take(ids.tolist())


def harm(victim, damage):
    content = bytearray(victim.read_bytes())
    if damage == "remove":
        victim.unlink()
    elif damage == "truncate":
        victim.write_bytes(content[: len(content) // 2])
    else:
        for _ in range(300):
            content[random.randrange(len(content))] ^= 0xFF
        victim.write_bytes(content)


def test_damaged_tables(copied, tmp_path):
    place = "functions.lance"
    random.seed(3)
    newest = min((copied / place / "_versions").glob("*.manifest")).name
    untouched = read_all(copied)[0]
    for number, (part, damage) in enumerate(
        [
            ("data/*", "truncate"),
            ("data/*", "remove"),
            ("data/*", "flip"),
            (f"_versions/{newest}", "truncate"),
            (f"_versions/{newest}", "flip"),
        ]
    ):
        folder = tmp_path / str(number)
        shutil.copytree(copied, folder)
        for victim in (folder / place).glob(part):
            harm(victim, damage)
        with pytest.raises(StoreError, match="damaged") as error:
            read_all(folder)
        assert ".rs:" not in one_line(error)
    assert read_all(copied)[0] == untouched


@pytest.mark.parametrize("name", ["PanicException", "RustPanic"])
def test_a_panic_of_the_engine_is_a_damaged_table(tmp_path, name):
    panic = type(name, (BaseException,), {})
    with pytest.raises(StoreError, match="damaged: rust future panicked"), as_store_error(tmp_path, "read"):
        raise panic("rust future panicked: unknown error")
    with pytest.raises(KeyboardInterrupt), as_store_error(tmp_path, "read"):
        raise KeyboardInterrupt


def test_a_vector_that_is_none(make_rows, tmp_path):
    rows = make_rows("/a", 3)
    column = rows.schema.get_field_index("embedding")
    vectors = [[value * 1.5 for value in row] for row in rows["embedding"].to_pylist()]
    wrong = rows.set_column(
        column, rows.schema.field(column), pa.array(vectors, rows.schema.field(column).type)
    )
    store = FunctionStore.open_or_create(tmp_path, 16, "v")
    store.replace(wrong)
    with pytest.raises(StoreError, match="not of length 1"):
        store.vectors()


def test_a_table_that_is_gone_is_named_and_can_be_made_again(copied, built, options):
    shutil.rmtree(copied / "functions.lance")
    with pytest.raises(StoreError, match="it has no table"):
        contents(copied)
    with pytest.raises(StoreError, match="it has no table"):
        update.update([], copied, options)
    assert [c.status for c in add([str(built / "in" / "gcc-O2-x86_64.so")], copied, options)] == ["added"]
    shutil.rmtree(copied / "functions.lance" / "_versions")
    with pytest.raises(StoreError, match="no version is left"):
        add([str(built / "in" / "gcc-O2-x86_64.so")], copied, options)


def test_an_empty_index(copied, options, built):
    update.remove([str(built / "in")], copied)
    with pytest.raises(InputError, match="the index is empty"):
        Searcher(FunctionStore.open(copied), weights=None)


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), "the disk is full"),
        (
            RuntimeError("lance error: LanceError(IO): No space left on device (os error 28), /a/b.rs:1:2"),
            "full",
        ),
        (PermissionError(errno.EACCES, "Permission denied"), "cannot be written: permission denied"),
        (RuntimeError("lance error: odd, /build/x-1/writer.rs:258:9"), "is damaged: lance error: odd "),
    ],
)
def test_errors_of_the_engine_are_put_into_words(error, message, tmp_path):
    with pytest.raises((OutputError, StoreError), match=message), as_store_error(tmp_path, "written"):
        raise error


def test_a_full_disk_keeps_what_was_committed(copied, built, options, files, monkeypatch, tmp_path):
    real = FunctionStore.replace

    def full(self, rows, gone=()):
        if "gcc-O3-x86_64.so" in rows["binary"][0].as_py():
            with as_store_error(self.folder, "written"):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(self, rows, gone)

    monkeypatch.setattr(FunctionStore, "replace", full)
    monkeypatch.setattr(into, "_ROWS_PER_COMMIT", 1)
    wanted = [str(files / "gcc-O1-x86_64.so"), str(files / "gcc-O3-x86_64.so")]
    with pytest.raises(OutputError, match="the disk is full") as error:
        add(wanted, copied, options)
    assert "what was committed is kept" in one_line(error)
    assert len(contents(copied)) == 5
    monkeypatch.undo()
    assert [change.status for change in add(wanted, copied, options)] == ["unchanged", "added"]


def test_two_writers(copied, built, options):
    code = (
        "import sys, pathlib; from weft.bcsd.index.lock import writer_lock\n"
        "with writer_lock(pathlib.Path(sys.argv[1])): print('held', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", code, str(copied)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout.readline() == "held\n"
        with pytest.raises(StoreError, match=f"process {other.pid} is writing to it") as error:
            add([str(built / "in")], copied, options)
        assert "one writer at a time" in one_line(error)
        assert len(contents(copied)) == 4
        other.kill()
    # The lock went with its process.
    with writer_lock(copied):
        pass

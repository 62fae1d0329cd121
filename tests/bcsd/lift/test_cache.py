"""What was lifted before is not lifted again, and nothing in the cache can do worse than be lifted again."""

import os
import sqlite3
from dataclasses import replace

import numpy as np
import pytest

from weft.bcsd.lift import cache as cache_module
from weft.bcsd.lift.apart.bounded import BoundedLifter
from weft.bcsd.lift.cache import LiftCache, cache_folder
from weft.bcsd.lift.choose import ImageLifter
from weft.bcsd.use.extract_files import build_table

NAME = "gcc-O2-x86_64.so"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The cache's folder, empty."""
    place = tmp_path / "cache"
    monkeypatch.setenv("WEFT_CACHE", str(place))
    return place


@pytest.fixture
def sample(functions_of):
    image, functions = functions_of(NAME)
    return image, [function for function in functions.values() if len(function.blocks) >= 5][:4]


@pytest.fixture
def asked(monkeypatch):
    """How often the lifting process was asked."""
    times = []
    real = BoundedLifter._ask

    def ask(self, message):
        times.append(message[:1])
        return real(self, message)

    monkeypatch.setattr(BoundedLifter, "_ask", ask)
    return times


def lift(sample, **options):
    image, functions = sample
    with ImageLifter(image, "pcode", **options) as lifter:
        found = [lifter.features(function) for function in functions]
    return [features.tolist() for features in found], lifter.remarks


def test_a_function_is_lifted_once(folder, sample, asked):
    first, _ = lift(sample)
    assert len(asked) == 4
    again, remarks = lift(sample)
    assert (again, remarks, len(asked)) == (first, (), 4)
    assert lift(sample, cache=False)[0] == first
    assert len(asked) == 8


def test_a_function_that_was_not_there_is_added(folder, sample, asked):
    image, functions = sample
    lift((image, functions[:2]))
    lift(sample)
    assert len(asked) == 4


def test_without_a_folder_there_is_no_cache(monkeypatch, sample, asked, tmp_path):
    monkeypatch.setenv("WEFT_CACHE", "")
    lift(sample)
    lift(sample)
    assert len(asked) == 8
    monkeypatch.delenv("WEFT_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "weft"


def test_what_features_depend_on_is_part_of_the_key(folder, functions_of):
    around = b"version 1, mapped here"
    cache = LiftCache(folder, around)
    cache.put(b"code", np.array([1, 2], np.uint16).tobytes())
    assert cache.get(b"code") is None, "kept when it is closed"
    cache.close()
    assert LiftCache(folder, around).get(b"code") is not None
    assert LiftCache(folder, b"version 2, mapped here").get(b"code") is None
    assert LiftCache(folder, around).get(b"cod") is None


@pytest.mark.parametrize("value", [b"\1", b"\2\0\1\0", b"\1\0\1\0", "text", 7, bytes(1 << 18)])
def test_values_that_no_lifter_gives_are_lifted_again(folder, sample, asked, value):
    first, _ = lift(sample)
    with sqlite3.connect(folder / "lifted.sqlite") as base:
        base.execute("UPDATE features SET value = ?, used = 'x'", (value,))
    assert lift(sample)[0] == first
    assert len(asked) == 8
    assert lift(sample)[0] == first
    assert len(asked) == 8


def _other_table(place):
    with sqlite3.connect(place) as base:
        base.execute("DROP TABLE features")
        base.execute("CREATE TABLE features (key, used, value)")


def _trigger(place):
    with sqlite3.connect(place) as base:
        base.execute("CREATE TRIGGER t AFTER INSERT ON features BEGIN DELETE FROM features; END")


def _noise(place):
    place.write_bytes(b"SQLite format 3\0" + os.urandom(8000))


def _link(place):
    place.rename(place.with_name("elsewhere"))
    place.symlink_to(place.with_name("elsewhere"))


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        (_other_table, "it holds something else"),
        (_trigger, "it holds something else"),
        (_noise, "is not used: "),
        (lambda place: place.write_text("not a database at all " * 100), "file is not a database"),
        (lambda place: place.chmod(0o666), "can be written by others"),
        (lambda place: place.parent.chmod(0o777), "can be written by others"),
        (_link, "can be written by others"),
    ],
)
def test_a_cache_that_may_be_anyones_is_refused(folder, sample, asked, harm, said):
    first, _ = lift(sample)
    harm(folder / "lifted.sqlite")
    again, remarks = lift(sample)
    assert again == first
    assert len(asked) == 8
    assert said in remarks[0]


def test_damage_inside_is_refused_when_it_is_met(folder, sample, asked):
    first, _ = lift(sample)
    place = folder / "lifted.sqlite"
    content = bytearray(place.read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)
    place.write_bytes(content)
    again, remarks = lift(sample)
    assert again == first
    assert "is not used" in remarks[0]


def test_the_oldest_goes_where_there_is_too_much(folder, monkeypatch):
    monkeypatch.setattr(cache_module, "LARGEST", 300 << 10)
    value = np.arange(5000, dtype=np.uint16).tobytes()
    ticks = iter(range(10**18, 10**18 + 10**6))
    monkeypatch.setattr(cache_module.time, "time_ns", lambda: next(ticks))
    for file in range(40):
        cache = LiftCache(folder, b"around")
        cache.put(f"{file} first".encode(), value)
        cache.put(f"{file} second".encode(), value)
        for kept in range(file):
            cache.get(f"{kept} first".encode())
        cache.close()
        assert (folder / "lifted.sqlite").stat().st_size < 1.2 * (300 << 10)
    cache = LiftCache(folder, b"around")
    there = [cache.get(f"{file} first".encode()) is not None for file in range(40)]
    assert there == sorted(there)
    assert there[-1]
    assert not there[0]


def test_a_folder_that_cannot_be_made_is_no_failure(tmp_path, monkeypatch, sample):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("WEFT_CACHE", str(tmp_path / "file" / "cache"))
    assert lift(sample)[1] == ()


def test_a_writer_that_is_stopped_leaves_what_was_there(folder, sample, monkeypatch):
    first, _ = lift(sample)

    def full(base):
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(cache_module, "_let_go", full)
    cache = LiftCache(folder, b"other")
    cache.put(b"code", b"\1\0")
    cache.close()
    monkeypatch.undo()
    assert LiftCache(folder, b"other").get(b"code") is None
    monkeypatch.setenv("WEFT_CACHE", str(folder))
    assert lift(sample)[0] == first


def test_a_table_is_the_same_from_the_cache(folder, files, asked):
    def table(**options):
        builder, counts = build_table(str(files / NAME), min_blocks=5, **options)
        return next(builder.tables()), replace(counts)

    before = table(cache=False)
    times = len(asked)
    assert table() == before
    assert table() == before
    assert len(asked) == 2 * times

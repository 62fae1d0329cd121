"""Numbers out of their range are refused by functions as by commands, before any file is read."""

import math
import re
import shutil
from pathlib import Path

import pyarrow as pa
import pytest

from weft.bcsd.components.identify import identify
from weft.bcsd.index.update import add, contents, remove, update
from weft.bcsd.matching.files import match
from weft.bcsd.use.embed_files import Embedding, embed_files
from weft.bcsd.use.extract_files import Extraction, extract, find_binaries
from weft.bcsd.use.search import Searcher, search_file
from weft.cli.main import main
from weft.errors import ConfigError, InputError
from weft.platform.processes import Limits


def search(**given):
    return search_file("none", None, "none", Embedding(), **given)


def searcher(**given):
    return next(Searcher.search(Searcher.__new__(Searcher), pa.table({}), **given))


@pytest.mark.parametrize(
    ("call", "given", "said"),
    [
        (match, {"a": "none", "b": "none", "floor": 80}, "floor is 80; it must be in [0, 1]"),
        (match, {"a": "none", "b": "none", "floor": math.nan}, "floor is nan; it must be in [0, 1]"),
        (match, {"a": "none", "b": "none", "min_blocks": -1}, "min_blocks is -1; it must be at least 0"),
        (search, {"count": -3}, "count is -3; it must be at least 1"),
        (search, {"count": 0}, "count is 0; it must be at least 1"),
        (search, {"min_blocks": -1}, "min_blocks is -1; it must be at least 0"),
        (searcher, {"count": -3}, "count is -3; it must be at least 1"),
        (searcher, {"min_blocks": -1}, "min_blocks is -1; it must be at least 0"),
        (
            identify,
            {"path": "none", "index": "none", "min_blocks": 0},
            "min_blocks is 0; it must be at least 1",
        ),
        (Embedding, {"workers": 0}, "workers is 0; it must be at least 1"),
        (Embedding, {"min_blocks": -1}, "min_blocks is -1; it must be at least 0"),
        (Limits, {"seconds": math.nan}, "seconds is nan; it must be at least 0"),
        (Limits, {"mebibytes": 0}, "mebibytes is 0; it must be at least 1"),
        (Extraction, {"workers": "2"}, "workers is '2'; it must be at least 1"),
        (match, {"a": "none", "b": "none", "floor": "x"}, "floor is 'x'; it must be in [0, 1]"),
        (Extraction, {"workers": -2}, "workers is -2; it must be at least 1"),
        (Extraction, {"min_blocks": -1}, "min_blocks is -1; it must be at least 0"),
    ],
)
def test_the_argument_is_named(call, given, said):
    with pytest.raises(ConfigError, match=re.escape(said)):
        call(**given)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["match", "a", "b", "--floor", "80"], "--floor is 80.0; it must be in [0, 1]"),
        (["match", "a", "b", "--min-blocks", "-1"], "--min-blocks is -1; it must be at least 0"),
        (["search", "a", "--index", "i", "--hits", "0"], "--hits is 0; it must be at least 1"),
    ],
)
def test_a_command_names_its_option(words, said, capsys):
    assert main(["bcsd", *words]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("one", ["a_O2", Path("a_O2")])
def test_one_path_in_place_of_a_list_is_refused(one, tmp_path):
    index = tmp_path / "index"
    for call in (
        lambda: find_binaries(one),
        lambda: extract(one, None),
        lambda: add(one, index, Embedding()),
        lambda: update(one, index, Embedding()),
        lambda: remove(one, index),
        lambda: contents(index, one),
    ):
        with pytest.raises(
            InputError, match=re.escape("one path in place of a list of paths (give ['a_O2'])")
        ):
            call()
    assert not index.exists()


@pytest.mark.parametrize("write", [extract, embed_files])
def test_a_table_is_not_written_over_a_binary(write, files, tmp_path):
    place, link = tmp_path / "gcc.so", tmp_path / "table.parquet"
    shutil.copy(files / "gcc-O2-x86_64.so", place)
    link.symlink_to(place)
    for output in (place, str(link)):
        with pytest.raises(ConfigError, match="the output is the input"):
            write([tmp_path], output)
    assert place.read_bytes()[:4] == b"\x7fELF"


def test_paths_are_texts_or_paths_and_may_come_one_by_one(files, tmp_path):
    """Of what gives its paths once, none was left for the second look."""
    place, index = tmp_path / "gcc.so", tmp_path / "index"
    shutil.copy(files / "gcc-O2-x86_64.so", place)
    assert [report.path for report in extract([place], str(tmp_path / "table.parquet"))] == [str(place)]
    assert [report.path for report in embed_files([place], str(tmp_path / "rows.parquet"))] == [str(place)]
    assert [change.status for change in add([place], str(index), Embedding())] == ["added"]
    shutil.copy(place, tmp_path / "other.so")
    changes = update(iter([tmp_path]), str(index), Embedding())
    assert sorted(change.status for change in changes) == ["added", "unchanged"]
    assert len(contents(str(index), iter([place]))) == 1
    found = search_file(place, "factorial", index)
    assert next(iter(found.answers)).hits[0].score == 1.0
    assert [change.status for change in remove(iter([place]), str(index))] == ["removed"]

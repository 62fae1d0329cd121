"""Indices that become one hold what one index of all the files holds."""

import json
import shutil
from dataclasses import replace

import pytest

from weft.bcsd.index import update
from weft.bcsd.index.description import PACKAGES, read_description, write_description
from weft.bcsd.index.merge import merge
from weft.bcsd.index.store import FunctionStore
from weft.cli.main import main
from weft.errors import InputError, StoreError


@pytest.fixture
def halves(built, options, tmp_path):
    """Two indices, each of two of the four files of `built`."""
    files = sorted((built / "in").iterdir())
    for name, part in (("a", files[:2]), ("b", files[2:])):
        update.add(part, tmp_path / name, options)
    return tmp_path / "a", tmp_path / "b"


def rows(index):
    table = FunctionStore.open(index).rows().drop_columns(["_rowid"])
    return table.sort_by([("binary", "ascending"), ("ordinal", "ascending")])


def test_two_indices_are_one_of_all_the_files(built, halves, tmp_path):
    whole = tmp_path / "whole"
    changes = merge(halves, whole)
    assert [change.status for change in changes] == ["added"] * 4
    assert update.contents(whole) == update.contents(built / "index")
    assert read_description(whole) == read_description(built / "index")
    assert rows(whole).equals(rows(built / "index"))
    assert [change.status for change in merge(halves, whole)] == ["unchanged"] * 4
    assert [change.status for change in merge([built / "index"], halves[0])] == ["unchanged"] * 2 + [
        "added"
    ] * 2
    assert rows(halves[0]).equals(rows(whole))


def test_a_file_of_other_content_stays_as_it_is(built, halves, options, tmp_path, capsys):
    file, other = sorted((built / "in").iterdir())[:2]
    moved = tmp_path / "in"
    shutil.copytree(built / "in", moved)
    update.add([moved / file.name], tmp_path / "first", options)
    shutil.copy(other, moved / file.name)
    update.add([moved / file.name, moved / other.name], tmp_path / "second", options)
    before = rows(tmp_path / "first")
    command = ["bcsd", "index", "merge", tmp_path / "second", "--index", tmp_path / "first", "--json"]
    assert main(list(map(str, command))) == 9
    said = json.loads(capsys.readouterr().out)
    assert [one["binary"] for one in said["files"]] == [str(moved / other.name)]
    (failed,) = said["failures"]
    assert failed["exit_code"] == 6
    assert "the index holds it with other content" in failed["error"]
    held = rows(tmp_path / "first")
    assert held.num_rows > before.num_rows
    mine = [name == str(moved / file.name) for name in held["binary"].to_pylist()]
    assert held.filter(mine).equals(before)


def test_indices_that_do_not_fit_are_refused_before_anything_is_made(halves, tmp_path):
    a, b = halves
    write_description(b, replace(read_description(b), model="other name", lifter="other"))
    with pytest.raises(StoreError, match=r"made with lifter 'other', and .* with '.*make it anew"):
        merge(halves, tmp_path / "whole")
    assert not (tmp_path / "whole").exists()
    with pytest.raises(StoreError, match="made with lifter"):
        merge([b], a)
    with pytest.raises(InputError, match="cannot be merged with itself"):
        merge([a], tmp_path / "." / "a")
    with pytest.raises(InputError, match="no such index"):
        merge([tmp_path / "none"], a)
    write_description(b, replace(read_description(a), model="other name"))
    assert len(merge([b], a)) == 2


def test_the_packages_of_both_are_noted(halves, tmp_path):
    for place, name in zip(halves, ("zlib1g-dev", "libpng-dev"), strict=True):
        (place / PACKAGES).write_text(json.dumps({"schema": 1, "packages": {name: {"functions": 1}}}))
    merge(halves, tmp_path / "whole")
    assert set(json.loads((tmp_path / "whole" / PACKAGES).read_text())["packages"]) == {
        "zlib1g-dev",
        "libpng-dev",
    }

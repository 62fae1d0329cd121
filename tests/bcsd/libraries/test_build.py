"""An index of packages: named by library and version, whole packages, resumable, failures listed."""

import json

import pytest

from weft.bcsd.index.description import PACKAGES
from weft.bcsd.index.store import FunctionStore
from weft.bcsd.index.update import contents, remove
from weft.bcsd.libraries.build import Sources, build
from weft.bcsd.use.embed_files import Embedding
from weft.cli.main import main
from weft.errors import InputError, StoreError

OPTIONS = Embedding(precision="fp32")


def packages(deb, library):
    return [
        str(deb("libtiny-dev", "1.0-1", library("-O1"), source="tiny")),
        str(deb("libtiny-dev", "2.0-1", library("-O2"), source="tiny")),
        str(deb("libnone-dev", "1", {"./usr/include/x.h": b""})),
    ]


def test_every_function_knows_its_library_and_version(deb, library, tmp_path, capsys):
    index, work = tmp_path / "index", tmp_path / "work"
    broken = tmp_path / "broken.deb"
    broken.write_bytes(b"!<arch>\n")
    asked = [*packages(deb, library), str(broken)]
    told = []
    done = build(asked, index, Sources(work), OPTIONS, told.append)
    assert told == done
    assert {one.asked: one.status for one in done} == dict(
        zip(asked, ["added", "added", "empty", "failed"], strict=True)
    )
    rows = FunctionStore.open(index).libraries().to_pylist()
    assert {(row["library"], row["version"], row["package"]) for row in rows} == {
        ("tiny", "1.0-1", "libtiny-dev"),
        ("tiny", "2.0-1", "libtiny-dev"),
    }
    assert len(rows) == sum(one.functions for one in done) == 6
    assert all(row["binary"].endswith("libtiny.a(a.o)") for row in rows)
    assert set(json.loads((index / PACKAGES).read_text())["packages"]) == {
        "libtiny-dev_1.0-1_amd64",
        "libtiny-dev_2.0-1_amd64",
    }
    again = build(asked[:2], index, Sources(work), OPTIONS)
    assert [one.status for one in again] == ["unchanged"] * 2
    # What was taken out of the index is put in again.
    remove([row["binary"] for row in rows if row["version"] == "1.0-1"], index)
    again = {one.asked: one.status for one in build(asked[:2], index, Sources(work), OPTIONS)}
    assert again == {asked[0]: "added", asked[1]: "unchanged"}
    assert len(FunctionStore.open(index)) == 6
    # A run that was killed between a commit and its record does the package again, and doubles nothing.
    (index / PACKAGES).unlink()
    assert [one.status for one in build(asked[:1], index, Sources(work), OPTIONS)] == ["added"]
    assert len(FunctionStore.open(index)) == 6
    assert len(contents(index)) == 2
    # The command says which library a hit is of, and what failed.
    command = [
        "bcsd",
        "index",
        "build",
        asked[0],
        str(broken),
        "--index",
        str(index),
        "--downloads",
        str(work),
    ]
    assert main([*command, "--precision", "fp32", "--json"]) == 9
    printed = capsys.readouterr()
    assert [one["status"] for one in json.loads(printed.out)["packages"]] == ["unchanged", "failed"]
    assert "broken.deb" in printed.err


def test_a_package_by_two_spellings_is_put_in_once(deb, library, tmp_path):
    index = tmp_path / "index"
    here = deb("libtiny-dev", "1.0-1", library())
    asked = [str(here), f"{here.parent}/./{here.name}"]
    done = build(asked, index, Sources(tmp_path / "work"), OPTIONS)
    assert [(one.asked, one.status, one.functions) for one in done] == [
        (asked[0], "added", 3),
        (asked[1], "unchanged", 3),
    ]
    assert len(FunctionStore.open(index)) == 3


def test_an_archive_without_objects_is_no_failure_and_a_damaged_one_is(deb, library, tmp_path):
    files = library("-O2") | {
        "./usr/lib/libpthread.a": b"!<arch>\n",
        "./usr/lib/libm.a": b"/* GNU ld script\n*/\nGROUP ( /usr/lib/libm-2.36.a )\n",
        "./usr/lib/libbad.a": b"!<arch>\n" + b"x" * 100,
    }
    (one,) = build([str(deb("libtiny-dev", "1.0-1", files))], tmp_path / "index", Sources(tmp_path), OPTIONS)
    assert (one.status, one.functions) == ("added", 3)
    assert [str(error.where).rpartition("/")[2] for error in one.failures] == ["libbad.a"]


def test_where_every_package_fails_no_new_index_is_left(deb, library, tmp_path, capsys):
    index, broken = tmp_path / "index", [tmp_path / "a.deb", tmp_path / "b.deb"]
    for path in broken:
        path.write_bytes(b"!<arch>\n")
    command = ["bcsd", "index", "build", "--index", str(index), "--precision", "fp32", *map(str, broken)]
    assert main(command) == 9
    assert capsys.readouterr().err.count("failed: ") == 2
    assert not index.exists()
    assert main([*command, packages(deb, library)[2]]) == 9
    assert contents(index) == []  # of one that holds nothing there is nothing to mend


def test_a_name_that_is_none_is_refused_before_anything_is_made(tmp_path):
    with pytest.raises(InputError, match="neither a package"):
        build(["--option"], tmp_path / "index", Sources(tmp_path / "work"), OPTIONS)
    assert not (tmp_path / "index").exists()


def test_an_index_of_files_names_no_libraries(files, tmp_path):
    from weft.bcsd.index import update

    update.add([str(files / "gcc-O2-x86_64.so")], tmp_path / "index", OPTIONS)
    assert FunctionStore.open(tmp_path / "index").libraries()["library"].null_count > 0
    with pytest.raises(StoreError, match="not an index"):
        build(["x.deb"], files, Sources(tmp_path / "work"), OPTIONS)

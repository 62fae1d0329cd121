"""Names of stripped files from where stripping put them."""

import lzma

import pytest
from tests.bcsd.stripped import compile_apart, run

from weft.bcsd.disassemble.native import NativeDisassembler
from weft.bcsd.read import open_image
from weft.bcsd.read.debug.elf import build_id
from weft.bcsd.read.debug.look import VARIABLE
from weft.bcsd.use.extract_files import find_binaries
from weft.cli.main import main
from weft.errors import InputError

FROM = "names of functions are from its debug file lib.debug"
OTHER = "its debug file lib.debug is damaged or of another build: names in it are not read"
NAMES = {"hidden", "shown"}


@pytest.fixture
def split(tmp_path, monkeypatch):
    """Compiles ``whole.so``, and the same as ``lib.so``, stripped, and ``lib.debug``."""
    monkeypatch.setenv(VARIABLE, str(tmp_path / "none"))

    def made(*options, number=1):
        folder = tmp_path / f"{number}{len(options)}"
        compile_apart(folder, *options, number=number)
        return folder

    return made


def functions(path):
    """The functions of a file, and the remarks on it."""
    image = open_image(path)
    return {
        f.name: (f.address, f.size, f.flags) for f in NativeDisassembler().functions(image)
    }, image.remarks


@pytest.mark.parametrize("named", ["-Wl,--build-id=sha1", "-Wl,--build-id=none"])
def test_names_are_those_of_the_file_before_it_was_stripped(split, named):
    folder = split(named)
    whole, remarks = functions(folder / "whole.so")
    assert set(whole) == NAMES
    assert remarks == []
    assert functions(folder / "lib.so") == (whole, [FROM])
    (folder / ".debug").mkdir()
    (folder / "lib.debug").rename(folder / ".debug" / "lib.debug")
    assert functions(folder / "lib.so") == (whole, [FROM])
    (folder / ".debug" / "lib.debug").unlink()
    found, remarks = functions(folder / "lib.so")
    assert len(found) == 2
    assert "hidden" not in found
    assert remarks == []


@pytest.mark.parametrize("how", ["build ID", "place"])
def test_folders_of_debug_files_are_named(split, tmp_path, monkeypatch, how):
    folder = split("-Wl,--build-id=0x0123456789")
    place = tmp_path / "files" / ".build-id" / "01" / "23456789.debug"
    if how == "place":
        place = tmp_path / "files" / folder.relative_to("/") / "lib.debug"
    place.parent.mkdir(parents=True)
    (folder / "lib.debug").rename(place)
    assert not functions(folder / "lib.so")[1]
    monkeypatch.setenv(VARIABLE, f"{tmp_path / 'none'}:{tmp_path / 'files'}")
    found, (remark,) = functions(folder / "lib.so")
    assert set(found) == NAMES
    assert remark.endswith(" lib.debug" if how == "place" else " .build-id/01/23456789.debug")


@pytest.mark.parametrize("named", ["-Wl,--build-id=sha1", "-Wl,--build-id=none"])
def test_a_debug_file_of_another_build_or_a_damaged_one_is_not_believed(split, named, capsys):
    folder, other = split(named), split(named, number=100_000)
    whole = (folder / "lib.debug").read_bytes()
    for content in ((other / "lib.debug").read_bytes(), whole[: len(whole) // 2], b"nothing", whole[:70]):
        (folder / "lib.debug").write_bytes(content)
        found, remarks = functions(folder / "lib.so")
        assert "hidden" not in found
        assert remarks == [OTHER]
    assert main(["bcsd", "show", str(folder / "lib.so"), "--json"]) == 0
    assert OTHER in capsys.readouterr().err


def test_debug_files_in_a_folder_are_no_binaries_of_their_own(split, tmp_path):
    folder = split("-Wl,--build-id=sha1")
    assert find_binaries([folder]) == [f"{folder}/lib.so", f"{folder}/whole.so"]
    # One that is named is said to be one, and what only begins as a binary is listed as failed.
    assert find_binaries([folder / "lib.debug"]) == [f"{folder}/lib.debug"]
    (folder / "odd").write_bytes(b"\x7fELF")
    assert f"{folder}/odd" in find_binaries([folder])
    (tmp_path / "alone").mkdir()
    (folder / "lib.debug").rename(tmp_path / "alone" / "lib.debug")
    with pytest.raises(InputError, match="no binary among 1 files"):
        find_binaries([tmp_path / "alone"])


def test_nothing_is_looked_for_where_nobody_wants_it(split, monkeypatch):
    folder = split("-Wl,--build-id=sha1")
    monkeypatch.setenv(VARIABLE, "")
    found, remarks = functions(folder / "lib.so")
    assert "hidden" not in found
    assert remarks == []


def test_a_link_leads_to_no_other_folder_and_not_to_the_file_itself(split):
    folder = split("-Wl,--build-id=none")
    (folder / "sub").mkdir()
    content = (folder / "lib.so").read_bytes()
    for name in (b"../a.deb\0", b"lib.so\0\0\0"):
        (folder / "sub" / "lib.so").write_bytes(content.replace(b"lib.debug", name))
        (folder / "lib.debug").replace(folder / "a.deb") if b"/" in name else None
        found, remarks = functions(folder / "sub" / "lib.so")
        assert "hidden" not in found
        assert remarks == []


def test_names_packed_into_the_file_are_read(split):
    folder = split("-Wl,--build-id=none")
    (folder / "packed").write_bytes(lzma.compress((folder / "lib.debug").read_bytes()))
    (folder / "lib.debug").unlink()
    run(folder, "objcopy", "--add-section", ".gnu_debugdata=packed", "lib.so")
    assert functions(folder / "lib.so") == (functions(folder / "whole.so")[0], [])
    content = (folder / "lib.so").read_bytes()
    (folder / "lib.so").write_bytes(content.replace(b"\xfd7zXZ\0", b"\xfd7zXZ\1"))
    found, (remark,) = functions(folder / "lib.so")
    assert "hidden" not in found
    assert ".gnu_debugdata" in remark


def test_a_build_id_is_found_among_other_notes():
    note = b"\4\0\0\0\3\0\0\0\1\0\0\0ABC\0abc\0"
    own = b"\4\0\0\0\2\0\0\0\3\0\0\0GNU\0\x12\x34"
    assert build_id([(0, 99)], memoryview(note + own), big_endian=False) == b"\x12\x34"
    assert build_id([(0, len(note))], memoryview(note + own), big_endian=False) == b""

"""Names of Windows programs that GNU tools made: from the file of their debug link, and beside a PDB file.

The expected addresses are those that nm prints of the program before it was stripped.
"""

import lzma
import struct
import zlib
from pathlib import Path

import pytest

from weft.bcsd.disassemble.native import NativeDisassembler
from weft.bcsd.read import open_image
from weft.bcsd.read.debug.coff import debug_link, holds_debug_alone, read_coff, read_debug_file
from weft.bcsd.read.debug.look import VARIABLE, UnfitError

PACKED = Path(__file__).parent / "debug_files"
LINKED = {"hidden": (0x0, 49), "a_function_with_a_long_name": (0x40, 45), "shown": (0x70, 39)}
FROM = ["names of functions are from its debug file linked.debug"]
OTHER = ["its debug file linked.debug is damaged or of another build: names in it are not read"]


def unpacked(name):
    return lzma.decompress((PACKED / f"{name}.xz").read_bytes())


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setenv(VARIABLE, str(tmp_path / "none"))
    (tmp_path / "in").mkdir()
    for name in ("linked.dll", "linked.debug"):
        (tmp_path / "in" / name).write_bytes(unpacked(name))
    return tmp_path / "in"


def functions(path):
    image = open_image(path)
    base = image.code[0].start
    return {f.name: (f.address - base, f.size) for f in NativeDisassembler().functions(image)}, image.remarks


def test_names_are_those_of_the_file_of_the_link(place, tmp_path, monkeypatch):
    assert functions(place / "linked.dll") == (LINKED, FROM)
    assert open_image(place / "linked.dll").looked.used == "linked.debug"
    (place / ".debug").mkdir()
    (place / "linked.debug").rename(place / ".debug" / "linked.debug")
    assert functions(place / "linked.dll") == (LINKED, FROM)
    there = tmp_path / "debug" / str(place).lstrip("/")
    there.mkdir(parents=True)
    (place / ".debug" / "linked.debug").rename(there / "linked.debug")
    found, remarks = functions(place / "linked.dll")
    assert "shown" in found
    assert "hidden" not in found
    assert remarks == []
    monkeypatch.setenv(VARIABLE, str(tmp_path / "debug"))
    assert functions(place / "linked.dll") == (LINKED, FROM)


def test_one_of_another_build_is_not_believed(place):
    content = bytearray((place / "linked.debug").read_bytes())
    content[-1] ^= 1
    for other in (bytes(content), content[:300], b"MZ"):
        (place / "linked.debug").write_bytes(other)
        found, remarks = functions(place / "linked.dll")
        assert "hidden" not in found
        assert remarks == OTHER


def test_a_debug_file_is_told_from_a_program(place):
    debug, program = (memoryview((place / name).read_bytes()) for name in ("linked.debug", "linked.dll"))
    assert holds_debug_alone(debug)
    assert not holds_debug_alone(program)
    assert debug_link(program).startswith(b"linked.debug\0")
    assert debug_link(debug) == b""


def test_names_on_i386_lose_what_stands_in_front(place):
    content = memoryview((place / "linked.debug").read_bytes())
    names = {symbol.name for symbol in read_debug_file(content, zlib.crc32(content), b"a_")}
    assert {"hidden", "function_with_a_long_name", "shown"} <= names


def test_any_damage_of_headers_is_told_or_harmless(place):
    whole = (place / "linked.debug").read_bytes()
    for at in range(0, 0x400):
        content = bytearray(whole)
        content[at] ^= 0xFF
        damaged = memoryview(content)
        holds_debug_alone(damaged)
        debug_link(damaged)
        if read_coff(damaged) is None:
            with pytest.raises(UnfitError):
                read_debug_file(damaged, zlib.crc32(damaged), b"")
        else:
            read_debug_file(damaged, zlib.crc32(damaged), b"")
    for length in range(0, 0x400, 7):
        assert read_coff(memoryview(whole[:length])) is None


def with_coff(content, symbols):
    """A PE file with a COFF table of functions in its first section, at these offsets."""
    content = bytearray(content)
    at = int.from_bytes(content[0x3C:0x40], "little")
    struct.pack_into("<II", content, at + 12, len(content), len(symbols))
    for name, offset in symbols.items():
        content += struct.pack("<8sIhHBB", name.encode(), offset, 1, 0x20, 3, 0)
    return bytes(content + struct.pack("<I", 4))


def test_a_file_that_kept_its_coff_table_has_what_a_pdb_file_adds(tmp_path, monkeypatch):
    monkeypatch.setenv(VARIABLE, str(tmp_path / "none"))
    program, pdb = tmp_path / "named.dll", tmp_path / "named.pdb"
    program.write_bytes(unpacked("named-x86_64.dll"))
    pdb.write_bytes(unpacked("named-x86_64.pdb"))
    whole, _ = functions(program)
    program.write_bytes(with_coff(unpacked("named-x86_64.dll"), {"hidden": 0x30, "own": 0x60}))
    found, remarks = functions(program)
    # A function keeps the names of both.
    assert set(found.values()) == set(whole.values())
    assert remarks == ["names of functions are from its debug file named.pdb"]
    image = open_image(program)
    first = image.code[0].start
    assert {s.name for s in image.symbols if s.address == first + 0x60} == {"own", "standard"}
    assert [s.size for s in image.symbols if s.name == "hidden"] == [36]
    pdb.unlink()
    found, remarks = functions(program)
    assert {"hidden", "own", "shown"} <= set(found)
    assert remarks == []

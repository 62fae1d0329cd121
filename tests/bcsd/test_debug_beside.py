"""Names of programs for Windows and of Apple from the files beside them, made by clang, lld and dsymutil.

The expected addresses and sizes are those that llvm-pdbutil and llvm-nm print of them.
"""

import json
import lzma
import shutil
import struct
from pathlib import Path

import pytest

from weft.bcsd.disassemble.native import NativeDisassembler
from weft.bcsd.read import open_image
from weft.bcsd.read.debug.dsym import read_dsym
from weft.bcsd.read.debug.look import VARIABLE, UnfitError
from weft.bcsd.use.extract_files import build_table, find_binaries
from weft.cli.main import main
from weft.errors import InputError

PACKED = Path(__file__).parent / "debug_files"
C_NAMES = ["shown", "hidden", "standard", "fast", "_low", "entry"]
CPP_NAMES = [
    "?use@outer@@YAHH@Z",
    "outer::`anonymous namespace'::quiet",
    "?use@outer@@YAHF@Z",
]
X86_64 = {
    **dict(zip(C_NAMES, [(0x0, 45), (0x30, 36), (0x60, 31), (0x80, 31), (0xA0, 9), (0xB0, 61)], strict=True)),
    **dict(zip(CPP_NAMES, [(0xF0, 17), (0x110, 16), (0x120, 20)], strict=True)),
    "?get@?$Box@F@outer@@QEAAFF@Z": (0x140, 29),
}
AARCH64 = {
    **dict(
        zip(C_NAMES, [(0x0, 52), (0x34, 52), (0x68, 32), (0x88, 32), (0xA8, 16), (0xB8, 64)], strict=True)
    ),
    **dict(zip(CPP_NAMES, [(0xF8, 20), (0x10C, 20), (0x120, 24)], strict=True)),
    "?get@?$Box@F@outer@@QEAAFF@Z": (0x138, 44),
}
I386 = {
    **dict(
        zip(C_NAMES, [(0x0, 41), (0x30, 32), (0x50, 30), (0x70, 21), (0x90, 10), (0xA0, 47)], strict=True)
    ),
    **dict(zip(CPP_NAMES, [(0xD0, 13), (0xE0, 16), (0xF0, 14)], strict=True)),
    "?get@?$Box@F@outer@@QAEFF@Z": (0x100, 27),
}
WINDOWS = {"x86_64": X86_64, "aarch64": AARCH64, "i686": I386}
APPLE = {
    "shown": (0x2E0, 64),
    "_ZL6hiddenPii": (0x320, 52),
    "standard": (0x354, 36),
    "fast": (0x378, 36),
    "_low": (0x39C, 16),
    "entry": (0x3AC, 68),
    "_ZN5outer3BoxIsE3getEs": (0x3F0, 52),
    "_ZN5outer12_GLOBAL__N_15quietEi": (0x424, 20),
    "_ZN5outer3useEi": (0x438, 24),
    "_ZN5outer3useEs": (0x450, 24),
}
OTHER = "names in it are not read"


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with all of them, unpacked."""
    monkeypatch.setenv(VARIABLE, str(tmp_path / "none"))
    folder = tmp_path / "here"
    inside = folder / "named.dylib.dSYM" / "Contents" / "Resources" / "DWARF"
    inside.mkdir(parents=True)
    for packed in PACKED.iterdir():
        target = inside / "named.dylib" if "dSYM" in packed.name else folder / packed.stem
        target.write_bytes(lzma.decompress(packed.read_bytes()))
    return folder


def functions(path, base=0):
    """The functions of a file, and the remarks on it."""
    image = open_image(path)
    found = {f.name: (f.address - base, f.size) for f in NativeDisassembler().functions(image)}
    return found, image.remarks


def windows(path):
    """Their addresses counted from the section's begin."""
    return functions(path, open_image(path).code[0].start)


@pytest.mark.parametrize("machine", WINDOWS)
def test_functions_are_those_of_the_pdb_file(place, machine):
    found, remarks = windows(place / f"named-{machine}.dll")
    assert found == WINDOWS[machine]
    assert remarks == [f"names of functions are from its debug file named-{machine}.pdb"]
    (place / f"named-{machine}.pdb").unlink()
    found, remarks = windows(place / f"named-{machine}.dll")
    assert {name for name in found if not name.startswith("sub_")} == {"shown"}
    assert remarks == []


def test_a_pdb_file_is_found_by_the_name_in_the_program_by_its_own_and_in_a_store(
    place, tmp_path, monkeypatch
):
    (place / "named-x86_64.dll").rename(place / "other.dll")
    assert windows(place / "other.dll")[0] == X86_64
    (place / "named-x86_64.pdb").rename(place / "other.pdb")
    found, remarks = windows(place / "other.dll")
    assert found == X86_64
    assert remarks == ["names of functions are from its debug file other.pdb"]
    content = (place / "other.dll").read_bytes()
    guid = content[content.index(b"RSDS") + 4 :][:16]
    key = "{:08X}{:04X}{:04X}".format(*struct.unpack_from("<IHH", guid)) + guid[8:].hex().upper() + "1"
    stored = tmp_path / "store" / "named-x86_64.pdb" / key / "named-x86_64.pdb"
    stored.parent.mkdir(parents=True)
    (place / "other.pdb").rename(stored)
    assert "hidden" not in windows(place / "other.dll")[0]
    monkeypatch.setenv(VARIABLE, f"{tmp_path / 'none'}:{tmp_path / 'store'}")
    assert windows(place / "other.dll")[0] == X86_64
    monkeypatch.setenv(VARIABLE, "")
    assert "hidden" not in windows(place / "other.dll")[0]


def test_one_beside_that_is_another_s_does_not_hide_one_that_fits(place):
    shutil.copy(place / "named-x86_64.pdb", place / "other.pdb")
    shutil.copy(place / "named-i686.pdb", place / "named-x86_64.pdb")
    (place / "named-x86_64.dll").rename(place / "other.dll")
    found, remarks = windows(place / "other.dll")
    assert found == X86_64
    assert remarks == ["names of functions are from its debug file other.pdb"]


def test_the_path_in_a_program_is_that_of_another_machine(place):
    content = (place / "named-x86_64.dll").read_bytes()
    for path in (b"C:\\w\\a.pdb", b"..\\..\\a.pdb", b"/w/../a.pdb", b"\\\\w\\a.pdb"):
        named = b"named-x86_64.pdb"
        (place / "b.dll").write_bytes(content.replace(named, path.ljust(len(named), b"\0")))
        shutil.copy(place / "named-x86_64.pdb", place / "a.pdb")
        assert windows(place / "b.dll")[1] == ["names of functions are from its debug file a.pdb"]
        (place / "a.pdb").unlink()
        assert windows(place / "b.dll")[1] == []


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (lambda whole: whole[:20_000], "is cut short (of 73728 bytes 20000 are there)"),
        (lambda whole: b"", "is empty"),
        (lambda whole: b"BSJB" + whole, "is a portable PDB of .NET, which holds no names of machine code"),
        (lambda whole: b"Microsoft MSFZ" + whole, "is a compressed PDB (MSFZ), which is not read"),
    ],
)
def test_a_pdb_file_that_cannot_be_read_is_told_of(place, content, what, capsys):
    pdb = place / "named-x86_64.pdb"
    pdb.write_bytes(content(pdb.read_bytes()))
    found, remarks = windows(place / "named-x86_64.dll")
    said = f"its debug file named-x86_64.pdb {what}: {OTHER}"
    assert "hidden" not in found
    assert remarks == [said]
    assert main(["bcsd", "show", str(place / "named-x86_64.dll"), "--json"]) == 0
    assert said in capsys.readouterr().err


def test_a_pdb_file_of_another_build_or_of_the_time_before_guids_is_not_believed(place):
    content = (place / "named-x86_64.dll").read_bytes()
    said = f"its debug file named-x86_64.pdb is of another build: {OTHER}"
    at = content.index(b"RSDS")
    for place_of, value in ((at + 4, 77), (at + 20, 9)):
        changed = bytearray(content)
        changed[place_of] = value
        (place / "named-x86_64.dll").write_bytes(changed)
        assert windows(place / "named-x86_64.dll")[1] == [said]
    (place / "named-x86_64.dll").write_bytes(content.replace(b"RSDS", b"NB10"))
    assert windows(place / "named-x86_64.dll")[1] == [said]
    old = b"Microsoft C/C++ program database 2.00\r\n\x1aJG\0\0"
    (place / "named-x86_64.pdb").write_bytes(old)
    (remark,) = windows(place / "named-x86_64.dll")[1]
    assert (
        remark
        == f"its debug file named-x86_64.pdb is a PDB of the old form (2.0), which is not read: {OTHER}"
    )


def test_functions_are_those_of_the_dsym(place):
    found, remarks = functions(place / "named.dylib")
    assert found == APPLE
    assert remarks == ["names of functions are from its debug file named.dylib.dSYM"]
    shutil.rmtree(place / "named.dylib.dSYM")
    found, remarks = functions(place / "named.dylib")
    assert sorted(found.values()) == sorted(APPLE.values())
    assert all(name.startswith("sub_") for name in found)
    assert remarks == []


def test_a_dsym_is_found_beside_the_bundle_and_in_a_folder_of_debug_files(place, tmp_path, monkeypatch):
    inside = place / "Named.framework" / "Versions" / "A"
    inside.mkdir(parents=True)
    (place / "named.dylib").rename(inside / "named.dylib")
    (place / "named.dylib.dSYM").rename(place / "Named.framework.dSYM")
    found, remarks = functions(inside / "named.dylib")
    assert found == APPLE
    assert remarks == ["names of functions are from its debug file Named.framework.dSYM"]
    (place / "Named.framework.dSYM").rename(tmp_path / "named.dylib.dSYM")
    assert "hidden" not in functions(inside / "named.dylib")[0]
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    assert functions(inside / "named.dylib")[0] == APPLE


def test_slices_of_a_fat_file_have_the_names_of_the_same_slices(place):
    """A fat file, and its fat debug file, each of whose first slice is another's."""
    dwarf = place / "named.dylib.dSYM" / "Contents" / "Resources" / "DWARF" / "named.dylib"

    def widen(path):
        content = path.read_bytes()
        uuid = content.index(struct.pack("<II", 0x1B, 24)) + 8
        other = content[:uuid] + bytes(16) + content[uuid + 16 :]
        first, second = 0x4000, 0x4000 + -(-len(other) // 0x4000) * 0x4000
        head = struct.pack(">2I", 0xCAFEBABE, 2)
        head += struct.pack(">5I", 0x0100000C, 0, first, len(other), 14)
        head += struct.pack(">5I", 0x0100000C, 2, second, len(content), 14)
        path.write_bytes((head.ljust(first, b"\0") + other).ljust(second, b"\0") + content)

    widen(dwarf)
    assert functions(place / "named.dylib")[0] == APPLE
    widen(place / "named.dylib")
    for name in ("named.dylib(aarch64)", "named.dylib(aarch64:2)"):
        found, remarks = functions(place / name)
        assert found == APPLE
        assert remarks == ["names of functions are from its debug file named.dylib.dSYM"]
    found = find_binaries([place])
    assert f"{place}/named.dylib(aarch64:2)" in found
    assert not [name for name in found if "dSYM" in name]


def test_a_dsym_of_another_build_or_a_damaged_one_is_not_believed(place):
    dwarf = place / "named.dylib.dSYM" / "Contents" / "Resources" / "DWARF" / "named.dylib"
    whole = dwarf.read_bytes()
    uuid = whole.index(struct.pack("<II", 0x1B, 24)) + 8
    for content, what in (
        (whole[:uuid] + b"\0" + whole[uuid + 1 :], "is of another build"),
        (whole[:4200], "is cut short"),
        (whole[:100], "is damaged"),
        (b"nothing", "is damaged"),
        (whole[:16] + b"\xff" * 4 + whole[20:], "is damaged"),
        (whole.replace(struct.pack("<II", 0x1B, 24), struct.pack("<II", 0x1B, 4)), "is damaged"),
    ):
        dwarf.write_bytes(content)
        found, remarks = functions(place / "named.dylib")
        assert all(name.startswith("sub_") for name in found)
        assert remarks == [f"its debug file named.dylib.dSYM {what}: {OTHER}"]
    with pytest.raises(UnfitError):
        read_dsym(memoryview(whole), bytes(16))


def test_a_file_with_all_its_names_has_no_remark_on_its_debug_file(place):
    """The debug file's table, put behind the stripped file in place of its own."""
    dwarf = place / "named.dylib.dSYM" / "Contents" / "Resources" / "DWARF" / "named.dylib"
    from_debug, content = dwarf.read_bytes(), bytearray((place / "named.dylib").read_bytes())

    def table(data):
        at = data.index(struct.pack("<II", 2, 24)) + 8
        return at, struct.unpack_from("<4I", data, at)

    _, (symbols, count, names, size) = table(from_debug)
    at, _ = table(content)
    assert count == 11
    struct.pack_into("<4I", content, at, len(content), count, len(content) + 16 * count, size)
    content += from_debug[symbols : symbols + 16 * count] + from_debug[names : names + size]
    (place / "named.dylib").write_bytes(content)
    found, remarks = functions(place / "named.dylib")
    assert found == APPLE
    assert remarks == []


def test_debug_files_in_a_folder_are_no_binaries_of_their_own(place):
    names = ["linked.dll", "named-aarch64.dll", "named-i686.dll", "named-x86_64.dll", "named.dylib"]
    assert find_binaries([place]) == [f"{place}/{name}" for name in names]
    inside = place / "named.dylib.dSYM" / "Contents" / "Resources" / "DWARF" / "named.dylib"
    with pytest.raises(InputError, match=r"debug information of a Mach-O file \(dSYM\), without its code"):
        open_image(inside)
    with pytest.raises(InputError, match=r"debug information of Windows \(PDB\)"):
        open_image(place / "named-x86_64.pdb")
    with pytest.raises(InputError, match="debug information of a PE file, without its code"):
        open_image(place / "linked.debug")


def test_what_is_shown_and_what_tables_hold_are_these_names(place, capsys):
    assert main(["bcsd", "show", str(place / "named-x86_64.dll"), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)["functions"]
    assert {f["name"] for f in shown} == set(X86_64)
    assert "int __cdecl outer::use(int)" in {f.get("demangled") for f in shown}
    for name, names in (("named-i686.dll", I386), ("named.dylib", APPLE)):
        builder, counts = build_table(str(place / name), lifter="none", cache=False)
        assert {row for table in builder.tables() for row in table.column("name").to_pylist()} == set(names)
        assert counts.remarks[0].startswith("names of functions are from its debug file named")

"""Objects read like linked files; archives and fat files are the files in them; a file cut short says so."""

import struct
import subprocess

import lief
import pytest

from weft.bcsd.architectures.arm64.relocations import ARM64
from weft.bcsd.disassemble.native import NativeDisassembler
from weft.bcsd.matching.side import SideRequest, read_side
from weft.bcsd.read import open_image
from weft.bcsd.read.image import Symbol
from weft.bcsd.read.members import file_of, holds_code, list_members, members_of, split_member
from weft.bcsd.select import parse_selector
from weft.bcsd.show import Request, look
from weft.bcsd.use.extract_files import build_table, find_binaries, hash_file, is_gone
from weft.cli.main import main
from weft.errors import InputError
from weft.platform.processes import Limits


def archive(*members, magic=b"!<arch>\n"):
    """A System V archive; names of more than 15 letters stand in a table of their own."""
    table = b"".join(name.encode() + b"/\n" for name, _ in members if len(name) > 15)
    parts = [(b"//", table)] if table else []
    for name, content in members:
        at = table.find(name.encode() + b"/\n")
        parts.append((f"/{at}" if len(name) > 15 else f"{name}/", content))
    out = magic
    for name, content in parts:
        label = name if isinstance(name, bytes) else name.encode()
        out += label.ljust(16) + b"0".ljust(12) + b"0".ljust(6) * 2 + b"644".ljust(8)
        out += str(len(content)).encode().ljust(10) + b"`\n" + content + b"\n" * (len(content) & 1)
    return out


@pytest.fixture
def library(files, tmp_path):
    x86, arm = ((files / f"gcc-O2-{name}.o").read_bytes() for name in ("x86_64", "aarch64"))
    place = tmp_path / "libsample.a"
    long = "a_rather_long_name.o"
    place.write_bytes(archive(("s.o", x86), (long, arm), ("s.o", arm), ("README", b"odd")))
    return place


def test_an_object_has_the_functions_of_the_linked_file(functions_of):
    for architecture in ("x86_64", "aarch64"):
        _, linked = functions_of(f"gcc-O2-{architecture}.so")
        image, found = functions_of(f"gcc-O2-{architecture}.o")
        assert image.architecture == architecture
        named = {name for name in linked if not name.startswith(("sub_", "_"))}
        assert named - set(found) <= {"entry.cold"}
        for name in named & set(found):
            assert len(found[name].blocks) == len(linked[name].blocks), name
            assert found[name].edges == linked[name].edges, name
            assert found[name].imports == linked[name].imports, name
        dense = found["dense"]
        assert "cfg_incomplete" not in dense.flags
        callees = {found[name].address: name for name in found}
        kept = {name for name in (callees.get(target) for target in found["entry"].callees) if name}
        assert kept == {f.name for f in linked.values() if f.address in linked["entry"].callees} & set(found)


def test_members_are_files(library, functions_of):
    paths = members_of(str(library))
    assert [path.removeprefix(str(library)) for path in paths] == [
        "(s.o)", "(a_rather_long_name.o)", "(s.o:2)", "(README)",
    ]  # fmt: skip
    # What is no binary is passed over.
    assert find_binaries([str(library)]) == paths[:3]
    assert find_binaries([str(library.parent)]) == sorted(paths[:3])
    assert [open_image(path).architecture for path in paths[:3]] == ["x86_64", "aarch64", "aarch64"]
    _, expected = functions_of("gcc-O2-x86_64.o")
    _, counts = build_table(paths[0])
    assert counts.functions == len(expected)
    assert hash_file(paths[0]) != hash_file(paths[1]) == hash_file(paths[2])
    assert parse_selector(f"{paths[2]}:dense") == (paths[2], "dense")
    assert not is_gone(paths[0])
    assert is_gone(str(library) + "x(s.o)")
    assert split_member(str(library)) == (str(library), None)


def test_a_member_cut_short_is_one_and_the_others_go_through(library, files, tmp_path):
    odd = tmp_path / "odd.a"
    whole = (files / "gcc-O2-x86_64.o").read_bytes()
    odd.write_bytes(archive(("cut.o", whole[:56]), ("s.o", whole)))
    assert find_binaries([str(odd)]) == [f"{odd}(cut.o)", f"{odd}(s.o)"]


def test_an_object_of_more_sections_than_a_header_counts_has_code(files):
    content = bytearray((files / "gcc-O2-x86_64.o").read_bytes())
    assert holds_code(memoryview(bytes(content)))
    table = int.from_bytes(content[40:48], "little")
    content[table + 32 : table + 40] = content[60:62] + bytes(6)
    content[60:62] = bytes(2)
    assert holds_code(memoryview(bytes(content)))
    # A size of no section, and a count of as many as there are numbers, take no time.
    content[58:60] = bytes(2)
    content[table + 32 : table + 40] = b"\xff" * 8
    assert holds_code(memoryview(bytes(content)))


def test_one_file_by_two_spellings_is_one(library, files):
    here = files / "gcc-O2-x86_64.so"
    assert find_binaries([str(here), f"{files}/../{files.name}/{here.name}"]) == [str(here)]
    twice = find_binaries([str(library), f"{library.parent}/./{library.name}"])
    assert len(twice) == 3


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("/gone/libz.a(adler32.o)", "/gone/libz.a"),
        ("/gone/z.lib(a(1).obj)", "/gone/z.lib"),
        ("/gone/libr.rlib(a.o)", "/gone/libr.rlib"),
        ("/gone/libv.a.1(a.o:2)", "/gone/libv.a.1"),
        ("/gone/tool(aarch64)", "/gone/tool"),
        ("/gone/tool(x86_64:2)", "/gone/tool"),
        ("/gone/tool(1)", "/gone/tool(1)"),
        ("/gone/tool", "/gone/tool"),
    ],
)
def test_the_file_of_a_name_is_told_by_its_spelling(name, place):
    assert file_of(name) == place


def test_what_is_wrong_with_an_archive_is_said(library, tmp_path):
    with pytest.raises(InputError, match=r"no member 'none.o'"):
        open_image(f"{library}(none.o)")
    with pytest.raises(InputError, match=r"an archive, no binary \(name a member, as in .*s.o"):
        open_image(str(library))
    texts = tmp_path / "texts.a"
    texts.write_bytes(archive(("README", b"nothing"), ("BC", b"BC\xc0\xde" + bytes(60))))
    assert find_binaries([str(texts)]) == [str(texts)]
    with pytest.raises(InputError, match=r"without machine code in any of its 2 members \(code of link-time"):
        open_image(str(texts))
    short = tmp_path / "short.a"
    short.write_bytes(library.read_bytes()[:2000])
    with pytest.raises(InputError, match="cut short: its last member ends at byte"):
        members_of(str(short))
    thin = tmp_path / "thin.a"
    thin.write_bytes(archive(("s.o", b""), magic=b"!<thin>\n"))
    with pytest.raises(InputError, match="thin archive"):
        members_of(str(thin))
    # In a run over several files each is reported, and the rest goes on.
    assert find_binaries([str(short), str(thin)]) == [str(short), str(thin)]
    output = tmp_path / "out.parquet"
    assert main(["bcsd", "extract", str(library), str(short), "-o", str(output), "--quiet"]) == 9


def test_an_archive_within_an_archive_is_told_and_not_lost(library, tmp_path, capsys):
    outer = tmp_path / "outer.a"
    outer.write_bytes(archive(("s.o", open_members(library)), ("inner.a", library.read_bytes())))
    nested = f"{outer}(inner.a)"
    assert find_binaries([str(outer)]) == [f"{outer}(s.o)", nested]
    with pytest.raises(InputError, match="an archive within another file") as caught:
        open_image(nested)
    assert "ar x" in str(caught.value)
    content = library.read_bytes()
    head = struct.pack(">2I", 0xCAFEBABE, 1) + struct.pack(">5I", 0x01000007, 3, 4096, len(content), 12)
    universal = tmp_path / "universal.a"
    universal.write_bytes(head.ljust(4096, b"\0") + content)
    with pytest.raises(InputError, match=r"an archive within another file.*lipo -thin"):
        open_image(universal)
    asked = [
        "bcsd",
        "extract",
        str(outer),
        "-o",
        str(tmp_path / "o.parquet"),
        "--workers",
        "1",
        "--lifter",
        "none",
    ]
    assert main(asked) == 9
    assert f"failed: {nested}" in capsys.readouterr().err


def open_members(library):
    """The bytes of the archive's first member."""
    first = list_members(memoryview(library.read_bytes()), str(library))[0]
    return library.read_bytes()[first.start : first.start + first.size]


def test_members_whose_code_comes_with_linking_are_told_and_not_lost(files, tmp_path, capsys):
    (tmp_path / "code.c").write_text("int one(int x) { return x + 1; }")
    subprocess.run(["gcc", "-O2", "-flto", "-c", "code.c", "-o", "late.o"], cwd=tmp_path, check=True)
    subprocess.run(["gcc", "-c", "-x", "c", "/dev/null", "-o", "none.o"], cwd=tmp_path, check=True)
    late, none, bitcode = (
        (tmp_path / "late.o").read_bytes(),
        (tmp_path / "none.o").read_bytes(),
        b"BC\xc0\xde" * 9,
    )
    mixed, all_late = tmp_path / "mixed.a", tmp_path / "late.a"
    code = (files / "gcc-O2-x86_64.o").read_bytes()
    mixed.write_bytes(archive(("late.o", late), ("code.o", code), ("bit.o", bitcode), ("none.o", none)))
    all_late.write_bytes(archive(("late.o", late), ("bit.o", bitcode)))
    names = [f"{mixed}({name}.o)" for name in ("late", "code", "bit")]
    assert find_binaries([str(mixed)]) == names
    assert find_binaries([str(all_late)]) == [str(all_late)]
    output = str(tmp_path / "f.parquet")
    assert main(["bcsd", "extract", str(mixed), "-o", output, "--lifter", "none", "--quiet"]) == 9
    said = capsys.readouterr().err
    assert (
        f"failed: {names[0]}: no code in the file; code of link-time optimisation comes with linking" in said
    )
    assert f"failed: {names[2]}: not an ELF, PE or Mach-O file: bitcode of LLVM" in said
    with pytest.raises(InputError, match=r"name a member, as in .*code\.o"):
        open_image(mixed)


def test_every_slice_of_a_fat_file_is_a_file(files, tmp_path):
    slice_ = (files / "clang-O2-x86_64.dylib").read_bytes()
    arm = bytearray(slice_)
    arm[4:8] = struct.pack("<I", 0x0100000C)
    head = struct.pack(">II", 0xCAFEBABE, 2)
    for cpu, number in ((0x01000007, 1), (0x0100000C, 2)):
        head += struct.pack(">5I", cpu, 3, 65536 * number, len(slice_), 12)
    fat = tmp_path / "fat.dylib"
    fat.write_bytes(head.ljust(65536, b"\0") + slice_.ljust(65536, b"\0") + bytes(arm))
    paths = find_binaries([str(fat)])
    assert paths == [f"{fat}(x86_64)", f"{fat}(aarch64)"]
    whole = {f.name for f in NativeDisassembler().functions(open_image(files / "clang-O2-x86_64.dylib"))}
    assert {f.name for f in NativeDisassembler().functions(open_image(paths[0]))} == whole
    assert open_image(paths[1]).architecture == "aarch64"
    whole_side, in_fat = (read_side(SideRequest(str(p))) for p in (files / "clang-O2-x86_64.dylib", paths[0]))
    assert in_fat.base == whole_side.base
    # The file itself is its first slice, and says so.
    assert open_image(fat).architecture == "x86_64"
    assert open_image(fat).remarks == [f"its slice x86_64 was read; another is named as in '{fat}(aarch64)'"]
    assert read_side(SideRequest(str(fat))).base == whole_side.base
    # A Java class has the same magic, and a version where the number of slices stands.
    assert list_members(memoryview(b"\xca\xfe\xba\xbe\0\0\0\x34" + bytes(100)), "x") == []


@pytest.mark.parametrize("count", [1, 2])
def test_a_fat_file_of_64_bits_is_read(count, files, tmp_path):
    slice_ = (files / "clang-O2-x86_64.dylib").read_bytes()
    head = struct.pack(">II", 0xCAFEBABF, count)
    for number in range(count):
        head += struct.pack(">2I2Q2I", 0x01000007, 3, 65536 * (number + 1), len(slice_), 12, 0)
    fat = tmp_path / "fat.dylib"
    fat.write_bytes(head.ljust(65536, b"\0") + slice_.ljust(65536, b"\0") * count)
    whole = [f.name for f in NativeDisassembler().functions(open_image(files / "clang-O2-x86_64.dylib"))]
    assert [f.name for f in NativeDisassembler().functions(open_image(fat))] == whole
    assert len(open_image(fat).remarks) == count - 1
    assert find_binaries([str(tmp_path)]) == (
        [str(fat)] if count == 1 else [f"{fat}(x86_64)", f"{fat}(x86_64:2)"]
    )


def test_mach_o_symbols_count_where_they_are_defined_and_objects_are_refused(files, tmp_path):
    content = bytearray((files / "clang-O2-x86_64.dylib").read_bytes())
    at, symbols = 32, 0
    while not symbols:
        command, length = struct.unpack_from("<II", content, at)
        if command == 2:
            symbols, count = struct.unpack_from("<II", content, at + 8)
        at += length
    undefined = [place for place in range(symbols, symbols + 16 * count, 16) if content[place + 4] == 1]
    for place in undefined:
        struct.pack_into("<Q", content, place + 8, 0x571)  # as a variable of that size has
    odd = tmp_path / "odd.dylib"
    odd.write_bytes(content)
    assert undefined
    assert open_image(odd).symbols == open_image(files / "clang-O2-x86_64.dylib").symbols
    content[12:16] = struct.pack("<I", 1)
    odd.write_bytes(content)
    with pytest.raises(InputError, match=r"an object of Mach-O, whose relocations cannot be read \(link it"):
        open_image(odd)


def test_an_encrypted_mach_o_file_is_refused(files, tmp_path):
    content = bytearray((files / "clang-O2-x86_64.dylib").read_bytes())
    count, size = struct.unpack_from("<2I", content, 16)
    struct.pack_into("<2I", content, 16, count + 1, size + 24)
    for key in (0, 1):
        struct.pack_into("<6I", content, 32 + size, 0x2C, 24, 0x560, 0xB35, key, 0)
        place = tmp_path / f"{key}.dylib"
        place.write_bytes(content)
    assert len(open_image(tmp_path / "0.dylib").symbols) > 0
    with pytest.raises(InputError, match=r"code that is encrypted, as its headers say.*decrypt it first"):
        open_image(place)


def test_relocations_of_aarch64_code_are_little_endian_in_any_object():
    call = struct.pack("<I", 0x94000000)
    for big in (False, True):
        assert ARM64[283].apply(call, 0x1010, 0, 0x1000, big_endian=big) == struct.pack("<I", 0x94000004)
    assert ARM64[257].apply(bytes(8), 0x1010, 0, 0, big_endian=True) == struct.pack(">Q", 0x1010)


def exports_without_names(content):
    """A PE file whose exports have numbers alone."""
    binary = lief.PE.parse(bytes(content))
    place = binary.rva_to_offset(binary.data_directory(lief.PE.DataDirectory.TYPES.EXPORT_TABLE).rva)
    content[place + 24 : place + 28] = bytes(4)


def test_exports_by_number_are_entries(files, tmp_path):
    content = bytearray((files / "clang-O2-x86_64.dll").read_bytes())
    named = open_image(files / "clang-O2-x86_64.dll")
    exports_without_names(content)
    place = tmp_path / "numbers.dll"
    place.write_bytes(content)
    image = open_image(place)
    assert image.symbols == []
    assert named.symbols
    assert {symbol.address for symbol in named.symbols} <= set(image.entries)
    assert image.entries == sorted(image.entries)


def test_the_coff_table_of_a_pe_file_names_functions(files, tmp_path):
    content = bytearray((files / "clang-O2-x86_64.dll").read_bytes())
    before = open_image(files / "clang-O2-x86_64.dll")
    text = before.code[0]
    function, variable = 0x20, 0
    rows = [
        (b"hidden", 0x10, 1, function),
        (b"odd", 0x20, 1, variable),
        (b"outside", 0x10, 0, function),
        (b"nowhere", 0x10, 99, function),
        (b"beyond", 1 << 30, 1, function),
    ]
    header = struct.unpack_from("<I", content, 60)[0] + 4
    struct.pack_into("<II", content, header + 8, len(content), len(rows))
    for name, value, section, kind in rows:
        content += name.ljust(8, b"\0") + struct.pack("<IhHBB", value, section, kind, 3, 0)
    place = tmp_path / "named.dll"
    place.write_bytes(content + struct.pack("<I", 4))
    added = [symbol for symbol in open_image(place).symbols if symbol not in before.symbols]
    assert added == [Symbol("hidden", text.start + 0x10, 0)]


def test_a_file_cut_short_says_so(files, tmp_path):
    for name in ("gcc-O2-x86_64.so", "clang-O2-x86_64.dll", "clang-O2-x86_64.dylib"):
        assert open_image(files / name).remarks == []
        content = (files / name).read_bytes()
        place = tmp_path / name
        place.write_bytes(content[: int(len(content) * 0.9)])
        image = open_image(place)
        assert image.remarks[0].startswith("cut short: its headers tell of "), name


@pytest.mark.parametrize(
    "name",
    ["gcc-O2-x86_64.so", "gcc-O2-x86_64.o", "clang-O2-mips", "clang-O2-x86_64.dll", "clang-O2-x86_64.dylib"],
)
@pytest.mark.parametrize("share", [0.06, 0.25, 0.5, 0.9])
def test_a_file_cut_short_says_so_when_nothing_is_found(name, share, files, tmp_path):
    content = (files / name).read_bytes()
    place = tmp_path / name
    place.write_bytes(content[: int(len(content) * share)])
    for read in (
        lambda: build_table(str(place), lifter="none")[1].remarks,
        lambda: read_side(SideRequest(str(place), lifter="none")).remarks,
        lambda: look(Request(str(place), None, "native"), Limits()).remarks,
    ):
        try:
            said = "; ".join(read())
        except InputError as error:
            said = error.what
        assert "cut short: its headers tell of " in said


def test_an_object_of_more_sections_than_its_header_counts_says_so(files, tmp_path):
    content = bytearray((files / "gcc-O2-x86_64.o").read_bytes())
    (place,) = struct.unpack_from("<Q", content, 40)
    content[60:62] = bytes(2)
    struct.pack_into("<Q", content, place + 32, 70_010)
    path = tmp_path / "large.o"
    path.write_bytes(content)
    with pytest.raises(
        InputError, match=r"an object of 70,010 sections, more than are read \(link it first\)"
    ):
        open_image(path)


def test_names_of_members_are_text_however_short(files, tmp_path):
    place = tmp_path / "letters.a"
    content = (files / "gcc-O2-x86_64.o").read_bytes()
    place.write_bytes(archive(("ü.o", content), ("a_rather_long_näme.o", content)))
    assert members_of(str(place)) == [f"{place}(ü.o)", f"{place}(a_rather_long_näme.o)"]

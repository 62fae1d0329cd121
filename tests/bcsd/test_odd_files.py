"""Files as nobody expects them: tables that lie, sizes that lead out, files that change, archives in archives."""

import os
import random
import shutil
import struct
import subprocess

import pytest

from weft.bcsd import show
from weft.bcsd.difference import version
from weft.bcsd.disassemble.bounds import Bounds, Frontier
from weft.bcsd.disassemble.native import NativeDisassembler
from weft.bcsd.matching import side
from weft.bcsd.read import open_image
from weft.bcsd.read.image import Image, Region
from weft.bcsd.use import extract_files
from weft.errors import InputError

WHOLE = "gcc-O2-x86_64.so"


def functions(path):
    """The functions of a file, and the remarks on it."""
    image = open_image(path)
    return {f.name: (f.address, f.size) for f in NativeDisassembler().functions(image)}, image.remarks


class Headers:
    """An ELF file of 64 bits whose headers are changed."""

    def __init__(self, content):
        self.content = bytearray(content)
        self.table, self.count, self.names = struct.unpack_from("<Q12xHHH", self.content, 40)[0], 0, 0
        self.count, self.names = struct.unpack_from("<HH", self.content, 60)

    def section(self, name):
        """Where its header stands."""
        (names,) = struct.unpack_from("<Q", self.content, self.table + 64 * self.names + 24)
        for at in range(self.table, self.table + 64 * self.count, 64):
            (place,) = struct.unpack_from("<I", self.content, at)
            if self.content[names + place :].startswith(name.encode() + b"\0"):
                return at
        raise KeyError(name)

    def symbol(self, value):
        """Where the symbol of a function of this address stands in the full table."""
        start, size = struct.unpack_from("<QQ", self.content, self.section(".symtab") + 24)
        for at in range(start, start + size, 24):
            if self.content[at + 4] & 15 == 2 and struct.unpack_from("<Q", self.content, at + 8)[0] == value:
                return at
        raise KeyError(value)

    def put(self, at, value):
        """Write a word of 64 bits."""
        struct.pack_into("<Q", self.content, at, value)


@pytest.fixture
def changed(files, tmp_path):
    """What to do to the headers of a sound file → that file's path."""

    def make(change, name=WHOLE):
        headers = Headers((files / name).read_bytes())
        change(headers)
        (tmp_path / "odd.so").write_bytes(headers.content)
        return tmp_path / "odd.so"

    return make


def moved(field, value):
    """Another address (16), offset (24) or size (32) of the code."""
    return lambda headers: headers.put(headers.section(".text") + field, value)


def overlapping(headers):
    """Read-only data that are code and lie in the middle of the code."""
    text, data = headers.section(".text"), headers.section(".rodata")
    address, offset, size = struct.unpack_from("<3Q", headers.content, text + 16)
    headers.put(data + 8, 6)
    for field, value in ((16, address + 32), (24, offset + 32), (32, size // 2)):
        headers.put(data + field, value)


@pytest.mark.parametrize("name", [WHOLE, "gcc-O2-x86_64-stripped.so"])
@pytest.mark.parametrize(
    ("change", "section"),
    [
        (moved(24, 1 << 40), ".text"),
        (moved(24, 64), ".text"),
        (moved(32, (1 << 63) - 1), ".text"),
        (moved(16, (1 << 64) - 4096), ".text"),
        (overlapping, ".rodata"),
    ],
)
def test_a_table_of_sections_that_is_not_of_what_is_loaded_is_not_believed(
    changed, files, change, section, name
):
    found, remarks = functions(changed(change, name))
    assert remarks == [
        f"its table of sections is not of what is loaded ({section}): it is read as if it had none"
    ]
    whole, sound = functions(files / name)
    assert sound == []
    assert found == whole


@pytest.mark.parametrize("size", [1 << 31, (1 << 64) - 1])
def test_a_symbol_whose_size_leads_out_of_its_section_has_none(changed, files, size):
    whole, _ = functions(files / WHOLE)
    address, _ = sorted(whole.values())[len(whole) // 2]
    path = changed(lambda headers: headers.put(headers.symbol(address) + 16, size))
    assert functions(path)[0] == whole


def test_an_object_with_a_section_beyond_its_end_is_cut_short(changed):
    for field, value in ((24, 1 << 40), (32, 1 << 62)):
        path = changed(moved(field, value), "gcc-O2-x86_64.o")
        try:
            _, (said,) = functions(path)
        except InputError as error:
            said = str(error)
        assert "cut short: its headers tell of" in said


def test_gaps_are_the_bytes_that_nothing_covers():
    rng = random.Random(11)
    for _ in range(200):
        starts = sorted(rng.sample(range(0, 200, 20), rng.randrange(1, 5)))
        data = memoryview(bytes(20))
        regions = [Region("", start, data[: rng.choice((7, 20))], 20, True, False) for start in starts]
        image = Image("", "elf", "x86_64", False, True, regions, regions)
        spans = [(start, start + rng.randrange(1, 30)) for start in rng.choices(range(220), k=6)]
        image.stub_ranges = spans[:2]
        frontier = Frontier(image, [Bounds(*span) for span in spans[2:4]])
        for start, end in spans[4:]:
            frontier.close(start, end)
        covered = {place for start, end in spans for place in range(start, end)}
        code = {place for region in regions for place in range(region.start, region.end)}
        gaps = frontier.gaps()
        assert [place for start, end in gaps for place in range(start, end)] == sorted(code - covered)
        assert all(start < end for start, end in gaps)


READERS = {
    "show": (show, lambda path: show._look(show.Request(path, None, "auto"))),
    "extract": (extract_files, lambda path: extract_files.build_table(path, lifter="none", cache=False)),
    "match": (side, lambda path: side.read_side(side.SideRequest(path, lifter="none"))),
    "diff": (version, lambda path: version.read_version(version.VersionRequest(path))),
}


@pytest.mark.parametrize("how", ["replaced", "written", "gone"])
@pytest.mark.parametrize("reader", READERS)
def test_a_file_that_changes_while_it_is_read_is_told_of(files, tmp_path, monkeypatch, reader, how):
    """It was kept under the hash of what came later, so that an index never read it again."""
    module, read = READERS[reader]
    path = tmp_path / "tool.so"
    shutil.copy(files / WHOLE, path)
    real = module.open_image

    def opened(place):
        image = real(place)
        if how == "written":
            os.utime(path, ns=(1, 1))
        else:
            path.rename(tmp_path / "before.so")
        if how == "replaced":
            shutil.copy(files / "gcc-O0-x86_64.so", path)
        return image

    read(str(path))
    monkeypatch.setattr(module, "open_image", opened)
    with pytest.raises(InputError, match=r"changed while it was read|is not there|no such file"):
        read(str(path))


def test_an_archive_of_archives_names_a_member_that_can_be_read(files, tmp_path):
    object_file = files / "gcc-O2-x86_64.o"
    for archive, members in (
        ("inner.a", [object_file]),
        ("one.a", ["inner.a"]),
        ("two.a", ["inner.a", object_file]),
    ):
        subprocess.run(["ar", "rc", archive, *map(str, members)], cwd=tmp_path, check=True)
    with pytest.raises(InputError) as caught:
        open_image(tmp_path / "two.a")
    assert str(caught.value).endswith(
        f"an archive, no binary (name a member, as in '{tmp_path}/two.a({object_file.name})')"
    )
    with pytest.raises(
        InputError, match=r"one\.a\(inner\.a\): an archive within another file, which is not read"
    ):
        open_image(tmp_path / "one.a")

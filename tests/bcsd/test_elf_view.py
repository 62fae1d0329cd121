"""ELF files read without lief: what is read is what lief reads, and what is not plainly sound is left to it."""

from __future__ import annotations

import random
import struct
import subprocess
import sys
from types import SimpleNamespace
from typing import cast

import pytest

from weft.bcsd.read import open_image
from weft.bcsd.read.elf import _code_elsewhere
from weft.bcsd.read.elf_lief import lief_view, parse_elf
from weft.bcsd.read.elf_view import CODE, NO_BITS, Section, View, plain_view
from weft.bcsd.read.names import printable
from weft.errors import InputError

PLAIN = (
    "gcc-O2-x86_64.so",
    "gcc-O2-x86_64-stripped.so",
    "gcc-O2-aarch64.so",
    "clang-O0-aarch64.so",
    "odd-x86_64.so",
)
LEFT = ("gcc-O2-x86_64.o", "clang-O2-mips", "clang-O2-x86_64.dll")


def facts(view: View) -> dict[str, object]:
    """Everything in a view, names as they are shown."""
    return {
        "head": (view.machine, view.bits, view.big_endian, view.type, view.entry, view.tables_end),
        "segments": view.segments,
        "sections": [section._replace(name=printable(section.name)) for section in view.sections],
        "symbols": [symbol._replace(name=printable(symbol.name)) for symbol in view.symbols],
        "relocations": sorted(
            (place._replace(name=printable(place.name)) for place in view.relocations), key=repr
        ),
        "tags": {tag: value for tag, value in view.tags.items() if tag},
    }


@pytest.mark.parametrize("name", PLAIN)
def test_a_sound_file_is_what_lief_reads(files, name):
    path = files / name
    plain, parsed = plain_view(memoryview(path.read_bytes())), parse_elf(str(path))
    assert plain is not None
    assert parsed is not None
    found, expected = facts(plain), facts(lief_view(parsed))
    assert found == expected


@pytest.mark.parametrize("name", LEFT)
def test_objects_and_what_is_seldom_met_are_left_to_lief(files, name):
    assert plain_view(memoryview((files / name).read_bytes())) is None


def test_a_cut_file_is_left_to_lief(files):
    whole = (files / PLAIN[0]).read_bytes()
    for length in (0, 3, 16, 52, 64, 100, len(whole) // 2, len(whole) - 1):
        assert plain_view(memoryview(whole[:length])) is None


def test_names_without_an_end_are_left_to_lief(files):
    whole = bytearray((files / PLAIN[0]).read_bytes())
    view = plain_view(memoryview(bytes(whole)))
    assert view is not None
    strings = next(section for section in view.sections if section.name == b".dynstr")
    whole[strings.offset : strings.offset + strings.size] = b"a" * strings.size
    assert plain_view(memoryview(bytes(whole))) is None


def test_packed_relative_relocations_are_pointers(tmp_path):
    code = "static int one(int x) { return x + 1; } int (*table[2])(int) = {one, one};"
    (tmp_path / "code.c").write_text(f"{code} int *get(void) {{ return (int *)table; }}")
    bare = ("-fno-asynchronous-unwind-tables", "-nostdlib", "-s")
    pointers: dict[str, int] = {}
    for name in ("norelro", "pack-relative-relocs"):
        command = ["gcc", "-O2", "-shared", "-fPIC", *bare, f"-Wl,-z,{name}", "-o", f"{name}.so", "code.c"]
        subprocess.run(command, cwd=tmp_path, check=True)
        image = open_image(tmp_path / f"{name}.so")
        pointers[name] = len(image.pointers)
        assert len(image.entries) == 1
    assert pointers["pack-relative-relocs"] == pointers["norelro"] >= 2


def test_bytes_that_changed_raise_nothing(files):
    whole = (files / PLAIN[2]).read_bytes()
    draw = random.Random(5)
    for _ in range(400):
        changed = bytearray(whole)
        for _ in range(draw.randint(1, 8)):
            place = draw.choice((draw.randrange(64), draw.randrange(len(changed)), len(changed) - 1))
            changed[place] = draw.randrange(256)
        plain_view(memoryview(bytes(changed)))


def test_a_sound_file_is_read_without_loading_lief(files):
    lines = ("import sys", "from weft.bcsd.read import open_image", f"open_image({str(files / PLAIN[0])!r})")
    script = "; ".join((*lines, "print('lief' in sys.modules)"))
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_a_file_of_debug_information_says_where_its_code_is(tmp_path, files):
    """As ``objcopy --only-keep-debug`` writes it: code keeps its headers and loses its bytes."""
    content = bytearray((files / "gcc-O2-x86_64.so").read_bytes())
    segments, sections = struct.unpack_from("<QQ", content, 32)
    segment_size, segment_count, section_size, section_count = struct.unpack_from("<4H", content, 54)
    for place in range(segments, segments + segment_count * segment_size, segment_size):
        if content[place + 4] & 1:
            struct.pack_into("<Q", content, place + 32, 0)
    for place in range(sections, sections + section_count * section_size, section_size):
        if content[place + 8] & CODE:
            struct.pack_into("<I", content, place + 4, NO_BITS)
    bare = tmp_path / "lib.debug"
    bare.write_bytes(content)
    with pytest.raises(
        InputError, match=r"no code in the file; it holds debug information alone.*eu-unstrip"
    ):
        open_image(bare)


def test_an_object_of_link_time_optimisation_says_when_its_code_comes():
    view = cast("View", SimpleNamespace(sections=[Section(b".gnu.lto_.decls", 1, 0, 0, 0, 9)]))
    assert _code_elsewhere(view) == "code of link-time optimisation comes with linking"
    assert _code_elsewhere(cast("View", SimpleNamespace(sections=[]))) is None

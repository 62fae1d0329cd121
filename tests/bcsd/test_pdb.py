"""PDB files made byte by byte: what no compiler at hand writes, and what is damaged."""

import random
import struct

import pytest

from weft.bcsd.read.debug.look import UnfitError
from weft.bcsd.read.debug.pdb import Link, read_pdb
from weft.bcsd.read.image import Symbol

MARK = b"Microsoft C/C++ MSF 7.00\r\n\x1aDS\0\0\0"
GUID = bytes(range(16))
BLOCK = 512
TEXT, DATA = 0x1000, 0x3000
FUNCTION, CODE = 2, 1


def symbol(kind, body):
    body += bytes(-(len(body) + 4) % 4)
    return struct.pack("<HH", len(body) + 2, kind) + body


def public(name, offset, flags=FUNCTION, section=1):
    return symbol(0x110E, struct.pack("<IIH", flags, offset, section) + name + b"\0")


def procedure(name, offset, size, *, kind=0x1110, section=1, end=0):
    body = struct.pack("<8IHB", 0, end, 0, size, 0, 0, 0, offset, section, 0)
    return symbol(kind, body + name + b"\0")


def sections(*starts):
    return b"".join(
        b".sect\0\0\0" + struct.pack("<4I", 0x800, start, 0x800, 0) + bytes(16) for start in starts
    )


def container(streams, size=BLOCK):
    """An MSF file of these streams; None for one that was deleted."""
    blocks = [b"", b"", b""]
    lists = []
    for stream in streams:
        content = stream or b""
        numbers = []
        # Backwards, so that no stream lies in one piece.
        for at in reversed(range(0, len(content), size)):
            numbers.insert(0, len(blocks))
            blocks.append(content[at : at + size])
        lists.append(numbers)
    directory = struct.pack("<I", len(streams))
    directory += b"".join(struct.pack("<I", 0xFFFFFFFF if s is None else len(s)) for s in streams)
    directory += b"".join(struct.pack(f"<{len(numbers)}I", *numbers) for numbers in lists)
    numbers = []
    for at in range(0, len(directory), size):
        numbers.append(len(blocks))
        blocks.append(directory[at : at + size])
    listed = len(blocks)
    blocks.append(struct.pack(f"<{len(numbers)}I", *numbers))
    blocks[0] = MARK + struct.pack("<6I", size, 1, len(blocks), len(directory), 0, listed)
    return b"".join(block.ljust(size, b"\0") for block in blocks)


def made(publics=b"", modules=(), **changes):
    """A PDB file.

    Args:
        publics: The public symbols.
        modules: The symbols of each module.
        changes: ``guid``, ``age``, ``version`` (of the DBI stream), ``further`` (numbers of streams), ``headers`` (of
            sections), ``streams`` (that come first, in place of these), ``moved`` (where code went, and headers of
            sections before).
    """
    streams = [b"", b"", None, b"", b"", publics, changes.get("headers", sections(TEXT, DATA))]
    listed = b""
    for symbols in modules:
        content = struct.pack("<I", 4) + symbols
        entry = bytes(34) + struct.pack("<HI", len(streams), len(content)) + bytes(24) + b"a.obj\0lib\0"
        listed += entry + bytes(-len(entry) % 4)
        streams.append(content + b"lines")
    numbers = changes.get("further", (0xFFFF,) * 5 + (6,))
    if "moved" in changes:
        numbers = (*numbers[:4], len(streams), numbers[5], *(0xFFFF,) * 4, len(streams) + 1)
        streams += changes["moved"]
    further = struct.pack(f"<{len(numbers)}H", *numbers)
    streams[1] = struct.pack("<3I", 20000404, 0, 7) + changes.get("guid", GUID)
    head = struct.pack(
        "<iII4HHH5iIiiHHI",
        *(-1, changes.get("version", 19990903), changes.get("age", 1)),
        *(0xFFFF, 0, 0xFFFF, 0, 5, 0),
        *(len(listed), 4, 4, 4, 4, 0, len(further), 8, 0, 0, 0),
    )
    streams[3] = head + listed + b"map " * 4 + b"editing " + further
    for number, content in changes.get("streams", {}).items():
        streams[number] = content
    return container(streams, changes.get("size", BLOCK))


def read(content, front=b""):
    return read_pdb(memoryview(content), Link("a.pdb", GUID, 1, front))


def refused(content):
    with pytest.raises(UnfitError) as caught:
        read(content)
    return str(caught.value)


SOUND = made(
    public(b"_shown", 16) + public(b"?use@@YAHH@Z", 64) + public(b"_table", 0, 0, section=2),
    [procedure(b"shown", 16, 40) + procedure(b"use", 64, 7), procedure(b"quiet", 96, 9, kind=0x110F)],
)


@pytest.mark.parametrize("size", [512, 4096, 32768])
def test_a_function_has_its_public_names_and_one_of_its_file_alone_that_of_the_source(size):
    content = made(
        public(b"_shown", 16) + public(b"?use@@YAHH@Z", 64),
        [procedure(b"shown", 16, 40) + procedure(b"use", 64, 7), procedure(b"quiet", 96, 9, kind=0x110F)],
        size=size,
    )
    assert read(content) == [
        Symbol("shown", TEXT + 16, 40),
        Symbol("?use@@YAHH@Z", TEXT + 64, 7),
        Symbol("quiet", TEXT + 96, 9),
    ]


@pytest.mark.parametrize(
    ("linked", "source"),
    [
        (b"_f", b"f"),
        (b"_f@8", b"f"),
        (b"@f@8", b"f"),
        (b"f@@16", b"f"),
        (b"_f", b"_f"),
        (b"f@8", b"f@8"),
    ],
)
def test_what_compilers_put_around_names_in_c_goes(linked, source):
    assert read(made(public(linked, 0), [procedure(source, 0, 5)])) == [Symbol(source.decode(), TEXT, 5)]


def test_without_symbols_of_modules_names_are_the_public_ones():
    publics = public(b"_f", 0) + public(b"_g@8", 8) + public(b"?h@@YAXXZ", 16) + public(b"\xff", 24)
    assert [s.name for s in read(made(publics), b"_")] == ["f", "g@8", "?h@@YAXXZ", "\\xff"]
    assert [s.name for s in read(made(publics))] == ["_f", "_g@8", "?h@@YAXXZ", "\\xff"]


def test_one_place_with_several_names_has_them_all():
    publics = public(b"?a@@YAXXZ", 0) + public(b"?b@@YAXXZ", 0) + public(b"?a@@YAXXZ", 0)
    modules = [procedure(b"a", 0, 5), procedure(b"b", 0, 6), procedure(b"own", 0, 5, kind=0x1146)]
    found = read(made(publics, modules))
    assert {s.name for s in found} == {"?a@@YAXXZ", "?b@@YAXXZ", "own"}
    assert len(found) == 3
    assert {s.size for s in found} == {6}


def test_data_is_no_function_and_a_label_is_one_at_most():
    publics = public(b"data", 0, 0) + public(b"label", 8, CODE) + public(b"both", 16, CODE | FUNCTION)
    found = read(made(publics + symbol(0x1125, b"other kind")))
    assert found == [Symbol("label", TEXT + 8, 0, typed=False), Symbol("both", TEXT + 16, 0)]


def test_symbols_of_no_section_are_passed_over_and_each_section_has_its_place():
    publics = b"".join(public(f"f{n}".encode(), 4, section=n) for n in range(5))
    assert read(made(publics)) == [Symbol("f1", TEXT + 4, 0), Symbol("f2", DATA + 4, 0)]
    assert len(read(made(publics, headers=sections(1, 2, 3)))) == 3


def test_what_stands_in_a_function_is_passed_over_up_to_its_end():
    inner = symbol(0x1111, bytes(20))
    end = symbol(6, b"")
    one = procedure(b"one", 0, 5)
    length = len(one) + len(inner)
    # An end that lies before the symbol, or beyond the last one, leads nowhere.
    for where, names in ((4 + length, ["one", "two"]), (1, ["one", "two"]), (9999, ["one"])):
        symbols = procedure(b"one", 0, 5, end=where) + inner + end + procedure(b"two", 8, 5)
        assert [s.name for s in read(made(modules=[symbols]))] == names


def omap(*pairs):
    return b"".join(struct.pack("<2I", before, after) for before, after in pairs)


#: Sections before, of which the first begins elsewhere than now.
BEFORE = sections(0x2000, 0x8000)


def moved(table, publics=b"", modules=(), headers=BEFORE):
    return made(publics, modules, moved=[table, headers])


def test_functions_are_where_their_code_went_and_keep_the_size_of_one_piece():
    names = [
        (b"same", 0, 16),
        (b"far", 0x10, 0x20),
        (b"split", 0x30, 0x20),
        (b"gone", 0x50, 8),
        (b"on", 0x58, 8),
    ]
    table = omap((0x2000, 0x1000), (0x2010, 0x5000), (0x2018, 0x5008), (0x2030, 0x1010), (0x2040, 0x7000))
    table += omap((0x2050, 0), (0x2054, 0), (0x2058, 0x1020))
    modules = [b"".join(procedure(*each) for each in names)]
    publics = public(b"_far", 0x10) + public(b"_gone", 0x50)
    assert read(moved(table, publics, modules)) == [
        Symbol("same", 0x1000, 16),
        Symbol("far", 0x5000, 0x20),
        Symbol("split", 0x1010, 0),
        Symbol("on", 0x1020, 8),
    ]


def test_a_place_follows_the_last_pair_at_or_before_it():
    rng = random.Random(3)
    pairs = sorted(
        (rng.randrange(0x2000, 0x2400), rng.choice((0, rng.randrange(1, 9999)))) for _ in range(60)
    )
    found = {
        s.name: s
        for s in read(moved(omap(*pairs), b"".join(public(f"f{n}".encode(), n) for n in range(0x400))))
    }
    for n in range(0x400):
        before = [pair for pair in pairs if pair[0] <= 0x2000 + n]
        if not before or not before[-1][1]:
            assert f"f{n}" not in found
        else:
            assert found[f"f{n}"].address == before[-1][1] + 0x2000 + n - before[-1][0]


def test_a_function_with_a_hole_or_another_between_has_no_size():
    one = [procedure(b"one", 0, 0x20)]
    for table, size in (
        (omap((0x2000, 0x3000)), 0x20),
        (omap((0x2000, 0x3000), (0x2020, 0x9000)), 0x20),
        (omap((0x2000, 0x3000), (0x201F, 0x9000)), 0),
        (omap((0x2000, 0x3000), (0x2008, 0), (0x2010, 0x3010)), 0),
        (omap((0x2000, 0x3000), (0x2008, 0x300C)), 0),
    ):
        assert read(moved(table, modules=one)) == [Symbol("one", 0x3000, size)]


def test_without_pairs_nothing_moved():
    publics = public(b"f", 16)
    assert read(moved(b"", publics)) == [Symbol("f", TEXT + 16, 0)]
    assert read(made(publics, further=(0xFFFF,) * 5 + (6,))) == [Symbol("f", TEXT + 16, 0)]


@pytest.mark.parametrize(
    "content",
    [
        moved(omap((0x2000, 1))[:7]),
        moved(omap((0x2000, 0x1000), (0x1000, 0x1000))),
        made(further=(0xFFFF,) * 4 + (6, 6)),
        made(further=(0xFFFF,) * 4 + (99, 6)),
    ],
)
def test_a_table_that_is_cut_or_in_disorder_or_without_the_sections_before_is_damage(content):
    assert refused(content) == "is damaged"


@pytest.mark.parametrize("changes", [{"guid": bytes(16)}, {"age": 2}])
def test_guid_and_age_have_to_agree(changes):
    assert refused(made(public(b"f", 0), **changes)) == "is of another build"


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"Microsoft MSFZ Container\r\n\x1aALD\0\0", "is a compressed PDB (MSFZ), which is not read"),
        (
            b"Microsoft C/C++ program database 2.00\r\n\x1aJG\0\0",
            "is a PDB of the old form (2.0), which is not read",
        ),
        (b"BSJB\1\0\1\0", "is a portable PDB of .NET, which holds no names of machine code"),
        (b"MZ", "is no PDB"),
        (MARK, "is damaged"),
        (made(version=19970606), "is a PDB of an old form, which is not read"),
        (
            made(streams={1: struct.pack("<3I", 19970604, 0, 7) + GUID}),
            "is a PDB of an old form, which is not read",
        ),
    ],
)
def test_what_is_not_read_is_called_by_its_name(content, what):
    assert refused(content) == what


def test_a_file_without_names_has_none():
    assert read(made()) == []
    assert read(made(streams={3: b""})) == []


@pytest.mark.parametrize(
    "content",
    [
        made(streams={1: b"short"}),
        made(streams={3: b"short"}),
        made(further=(0xFFFF,) * 6),
        made(further=(0xFFFF,) * 5 + (99,)),
        made(streams={5: b"\x09\0\x0e\x11"}),
        made(streams={5: b"\0\0\0\0"}),
        made(streams={5: symbol(0x110E, b"abc")}),
        made(modules=[b"\1"]),
        made(modules=[symbol(0x1110, b"short")]),
        made(modules=[b"abcd"], streams={7: b"\1\0\0\0abcd"}),
        made(modules=[b"abcd" * 9], streams={7: b"\4\0\0\0"}),
        SOUND.replace(b"a.obj\0lib\0\0\0", b"a.obj.lib..."),
        container([]),
    ],
)
def test_what_does_not_fit_together_is_damaged(content):
    assert refused(content) == "is damaged"


def test_streams_that_share_blocks_do_not_multiply_the_work():
    """A list of 200 modules that all lie in one stream of 200 kB."""
    body = b"".join(procedure(b"f", n * 16, 5) for n in range(4000))
    entry = bytes(34) + struct.pack("<HI", 7, len(body) + 4) + bytes(24) + b"a.obj\0lib\0\0\0"
    for modules in (1, 200):
        listed = entry * modules
        head = struct.pack("<iII4HHH", -1, 19990903, 1, 0xFFFF, 0, 0xFFFF, 0, 5, 0)
        head += struct.pack("<5iIiiHHI", len(listed), 0, 0, 0, 0, 0, 12, 0, 0, 0, 0)
        content = made(modules=[body], streams={3: head + listed + struct.pack("<6H", *(0xFFFF,) * 5, 6)})
        if modules == 1:
            assert len(read(content)) == 4000
        else:
            assert refused(content) == "is damaged"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *((0, value) for value in (0, 1, 256, 513, 1 << 20, 0xFFFFFFFF)),
        *((3, value) for value in (0, 3, 4, 1 << 16, 0xFFFFFFFF)),
        *((5, value) for value in (0xFFFFFFFF, len(SOUND) // 512)),
    ],
)
def test_a_superblock_that_lies_is_damage(field, value):
    content = bytearray(SOUND)
    struct.pack_into("<I", content, len(MARK) + 4 * field, value)
    assert refused(content) in ("is damaged", "is of another build")


def test_a_file_that_is_cut_says_so():
    for length in range(len(MARK) + 24, len(SOUND), 97):
        said = f"is cut short (of {len(SOUND)} bytes {length} are there)"
        assert refused(SOUND[:length]) == said


def test_any_damage_is_one_remark():
    random_one = random.Random(1)
    told = set()
    for _ in range(1500):
        content = bytearray(SOUND)
        for _ in range(random_one.choice((1, 3, 20))):
            at = random_one.randrange(len(content) // 4) * 4
            content[at : at + 4] = struct.pack(
                "<I", random_one.choice((0, 1, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF))
            )
        try:
            read(content)
        except UnfitError as error:
            told.add(str(error).partition(" (")[0])
    assert {"is damaged", "is of another build", "is no PDB", "is cut short"} <= told

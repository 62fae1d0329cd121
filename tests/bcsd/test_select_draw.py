"""Naming one function, and drawing it."""

import re
import shutil
import weakref
from dataclasses import fields, replace
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.bcsd.test_members import archive

from weft.bcsd import show
from weft.bcsd.difference.view.show import _is as is_called
from weft.bcsd.disassemble.interface import Block, Edge, EdgeKind, Function
from weft.bcsd.disassemble.native import NativeDisassembler
from weft.bcsd.draw import DRAWN_BLOCKS, to_dot, to_svg
from weft.bcsd.read.elf import printable
from weft.bcsd.select import find_function, may_mean, parse_selector
from weft.errors import InputError, MissingExtraError


def test_selectors_split_after_the_file(tmp_path):
    plain = tmp_path / "lib.so"
    odd = tmp_path / "lib:with@signs.so"
    for path in (plain, odd):
        path.write_bytes(b"x")
    assert parse_selector(str(plain)) == (str(plain), None)
    assert parse_selector(f"{plain}:main") == (str(plain), "main")
    assert parse_selector(f"{plain}@0x40") == (str(plain), "0x40")
    assert parse_selector(f"{plain}@4f") == (str(plain), "0x4f")
    assert parse_selector(f"{plain}:4f") == (str(plain), "4f")
    assert parse_selector(str(odd)) == (str(odd), None)
    assert parse_selector(f"{odd}:f") == (str(odd), "f")
    with pytest.raises(InputError, match="no such file"):
        parse_selector(str(tmp_path / "none:main"))
    round_and_round = tmp_path / "loop.so"
    round_and_round.symlink_to(round_and_round)
    with pytest.raises(InputError, match=r"loop\.so: cannot be read: .*links"):
        parse_selector(str(round_and_round))
    with pytest.raises(InputError, match="no file is named"):
        parse_selector("")
    with pytest.raises(InputError, match=r"lib\.so: no function is named behind the '@'"):
        parse_selector(f"{plain}@")


def test_a_function_whose_name_holds_separators_is_named_by_it(tmp_path):
    plain, library, missing = tmp_path / "prog", tmp_path / "lib.a", f"{tmp_path}/lib.a(none.o)"
    plain.write_bytes(b"x")
    library.write_bytes(archive(("a.o", b"x"), ("a.o", b"y")))
    for name in ("ns::foo(int)", "ns::~foo()", "f(int)::g", "memcpy@GLIBC_2.2", "x:y"):
        for path in (str(plain), f"{library}(a.o)", f"{library}(a.o:2)", missing):
            assert parse_selector(f"{path}:{name}") == (path, name)
    assert parse_selector(f"{library}(a.o):dup(int)") == (f"{library}(a.o)", "dup(int)")
    assert parse_selector(f"{library}(a.o:2)") == (f"{library}(a.o:2)", None)
    assert parse_selector(missing) == (missing, None)


def test_readable_names_find_functions_and_are_refused_where_they_are_several():
    def named(address, name, *aliases):
        return Function(name, address, 4, [(address, 4, "nop", "")], [Block(0, 1)], [], aliases=aliases)

    listed = [named(0, "_Z3dupi"), named(4, "_Z3dupi.1"), named(8, "real", "_ZN2ns1fEi"), named(12, "a::b")]
    assert find_function(listed, "dup(int)", "f") == 0
    assert find_function(listed, "ns::f(int)", "f") == 2
    # A name that stands there as it is wins over a readable one.
    assert find_function([*listed, named(16, "_ZN1a1bE")], "a::b", "f") == 3
    twice = [*listed, named(16, "_Z3dupi")]
    with pytest.raises(
        InputError, match=r"2 functions named 'dup\(int\)' \(name one by address: 0x0, 0x10\)"
    ):
        find_function(twice, "dup(int)", "f", {"_Z3dupi": "dup(int)"})
    with pytest.raises(InputError, match="2 functions named"):
        find_function(twice, "dup(int)", "f")


def test_names_of_other_letters_are_asked_for_as_they_are_written():
    def named(address, name, *aliases):
        aliases = tuple(printable(alias) for alias in aliases)
        return Function(
            printable(name), address, 4, [(address, 4, "nop", "")], [Block(0, 1)], [], aliases=aliases
        )

    listed = [
        named(0, "é"),
        named(4, "real", "über"),
        named(8, "_ZN5grün7Größe2éEPii"),
        named(12, b"\xe9\xff"),
    ]
    assert [function.name for function in listed[::3]] == [r"\xe9", r"\xe9\xff"]
    for number, name in enumerate(("é", "über", "grün::Größe::é(int*, int)", r"\xe9\xff")):
        assert find_function(listed, name, "f") == number
    assert find_function(listed, r"\xe9", "f") == 0
    with pytest.raises(InputError, match=r"no function 'übex' \(near: .xfcber, "):
        find_function(listed, "übex", "f")
    version: Any = SimpleNamespace(codes=listed, shown=lambda row: listed[row].name)
    assert [is_called(version, 0, name) for name in ("é", r"\xe9", "ü")] == [True, True, False]


def test_functions_are_found_by_name_alias_and_address(functions_of):
    _, functions = functions_of("odd-x86_64.so")
    listed = list(functions.values())
    assert listed[find_function(listed, "alias_two", "f")].name == "alias_one"
    assert listed[find_function(listed, "falls", "f")].name == "falls"
    address = functions["falls"].address
    assert listed[find_function(listed, hex(address), "f")].name == "falls"
    assert listed[find_function(listed, f"{address:x}", "f")].name == "falls"
    with pytest.raises(InputError, match=r"near: .*to_entry"):
        find_function(listed, "to_entri", "f")
    twice = [listed[0], listed[0]]
    with pytest.raises(InputError, match=r"2 functions named .*name one by address: 0x"):
        find_function(twice, listed[0].name, "f")


def test_any_address_inside_names_the_function(functions_of):
    _, functions = functions_of("odd-x86_64.so")
    listed = sorted(functions.values(), key=lambda function: function.address)
    for number, function in enumerate(listed):
        for inside in (function.address + 1, function.address + function.size - 1):
            found = find_function(listed, hex(inside), "f")
            assert listed[found].address <= inside < listed[found].address + listed[found].size
            if listed[number + 1 :] and inside < listed[number + 1].address:
                assert found == number
    last = listed[-1]
    with pytest.raises(InputError, match=rf"no function at .*around it: {last.name} at {last.address:#x}"):
        find_function(listed, hex(last.address + last.size), "f")
    with pytest.raises(InputError, match=rf"around it: {listed[0].name}"):
        find_function(listed, "0x0", "f")
    # Without 0x a name might be meant: only a first address counts.
    with pytest.raises(InputError, match="no function"):
        find_function(listed, f"{last.address + 1:x}", "f")


@settings(deadline=None, max_examples=100)
@given(st.binary(max_size=40))
def test_any_name_is_shown_safely(raw):
    for name in (raw, raw.decode("utf-8", "surrogateescape")):
        shown = printable(name)
        assert shown.isascii()
        assert shown.isprintable() or shown == ""
        assert "\x1b" not in shown


def drawn(blocks, name="f"):
    instructions = [(4 * i, 4, "nop", "") for i in range(blocks)]
    return Function(
        name,
        0,
        4 * blocks,
        instructions,
        [Block(i, i + 1) for i in range(blocks)],
        [Edge(i, i + 1, EdgeKind.FALL_THROUGH) for i in range(blocks - 1)],
    )


def test_dot_has_a_box_per_block_and_an_arrow_per_edge(functions_of):
    _, functions = functions_of("gcc-O2-x86_64.so")
    dense = functions["dense"]
    dot = to_dot(dense)
    assert len(re.findall(r"^  b\d+ \[label=", dot, re.MULTILINE)) == len(dense.blocks)
    assert len(re.findall(r" -> ", dot)) == len(dense.edges)
    hostile = to_dot(drawn(2, name='x"]; evil [label="\\'))
    assert 'label="x\\"]; evil [label=\\"\\\\ at 0x0"' in hostile


@pytest.mark.skipif(shutil.which("dot") is None, reason="graphviz' dot is not installed")
def test_svg_is_drawn(functions_of):
    _, functions = functions_of("gcc-O2-aarch64.so")
    svg = to_svg(functions["weigh"])
    assert svg.count('class="node"') == len(functions["weigh"].blocks)
    assert svg.count('class="edge"') == len(functions["weigh"].edges)


def test_without_dot_or_with_too_many_blocks_it_says_so(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(MissingExtraError, match=r"`dot` is not installed \(apt install graphviz"):
        to_svg(drawn(2))
    with pytest.raises(InputError, match="too many to draw"):
        to_svg(drawn(DRAWN_BLOCKS + 1))


def test_what_may_be_meant_is_what_is_found(functions_of):
    _, found = functions_of("gcc-O2-x86_64.so")
    functions = list(found.values())
    one = functions[len(functions) // 2]
    for wanted in (one.name, f"{one.address:x}", f"{one.address:#x}", f"{one.address + one.size - 1:#x}"):
        index = find_function(functions, wanted, "made")
        assert may_mean(functions[index], wanted)
        assert sum(may_mean(function, wanted) for function in functions) == 1
    assert not any(may_mean(function, "nothing_of_the_kind") for function in functions)
    assert may_mean(replace(one, name="_ZN1a1bEv"), "a::b()")


def test_a_shown_file_keeps_no_instructions_but_of_what_is_asked_for(files, monkeypatch):
    held = []

    class Watched(Function):
        """One that can be watched."""

    class Watching(NativeDisassembler):
        def functions(self, image):
            for function in super().functions(image):
                watched = Watched(**{field.name: getattr(function, field.name) for field in fields(Function)})
                held.append(weakref.ref(watched))
                yield watched

    monkeypatch.setattr(show, "choose_disassembler", lambda name: Watching())
    path = str(files / "gcc-O2-x86_64.so")
    most = []
    line = show._line

    def counting(*given):
        most.append(sum(one() is not None for one in held))
        return line(*given)

    monkeypatch.setattr(show, "_line", counting)
    listed = show._look(show.Request(path, None, "auto")).found
    assert isinstance(listed, list)
    assert len(listed) == len(held) > 10
    assert max(most) <= 2
    chosen = show._look(show.Request(path, hex(listed[5].address + 1), "auto")).found
    assert isinstance(chosen, show.Detail)
    assert chosen.function.address == listed[5].address

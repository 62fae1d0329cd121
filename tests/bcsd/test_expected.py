"""Real binaries against tables that a person can check: functions, blocks, edges by kind, and what is not there."""

import json
from collections import Counter
from pathlib import Path

import pytest

from weft.bcsd.disassemble.interface import EdgeKind, ReferenceKind

EXPECTED = sorted((Path(__file__).parent / "expected").glob("*.json"))


@pytest.mark.parametrize("path", EXPECTED, ids=lambda path: path.stem)
def test_functions_blocks_and_edges_are_those_of_the_table(path, functions_of):
    table = json.loads(path.read_text())
    image, functions = functions_of(table["file"])
    assert image.architecture == table["architecture"]
    assert list(functions) == list(table["functions"])
    for name, expected in table["functions"].items():
        function = functions[name]
        kinds = Counter(edge.kind.name.lower() for edge in function.edges)
        assert (name, function.address) == (name, expected["address"])
        assert (name, len(function.blocks), kinds) == (name, expected["blocks"], expected["edges"])
        assert [str(flag) for flag in function.flags] == expected["flags"], name
        assert list(function.aliases) == expected.get("aliases", []), name
    assert not set(table["absent"]) & set(functions)


def test_every_switch_of_both_architectures_has_all_its_cases(functions_of):
    for path in EXPECTED:
        if ("x86_64.so" not in path.name and "aarch64" not in path.name) or "odd" in path.name:
            continue
        _, functions = functions_of(path.stem)
        dense = functions["dense"]
        switches = [edge for edge in dense.edges if edge.kind == EdgeKind.SWITCH]
        # Eighteen cases; the default may be shared, but no two cases of this source are the same code.
        assert len({edge.target for edge in switches}) >= 17, path.stem
        assert len({edge.source for edge in switches}) == 1, path.stem


def test_stripping_changes_names_and_nothing_else(functions_of):
    for architecture in ("x86_64", "aarch64"):
        _, whole = functions_of(f"gcc-O2-{architecture}.so")
        _, bare = functions_of(f"gcc-O2-{architecture}-stripped.so")
        by_address = {function.address: function for function in bare.values()}
        assert sorted(by_address) == sorted(function.address for function in whole.values())
        for function in whole.values():
            other = by_address[function.address]
            assert (other.size, other.blocks, other.edges) == (function.size, function.blocks, function.edges)
            assert other.references == function.references
            assert other.digest == function.digest


def test_nothing_follows_a_call_that_never_returns(functions_of):
    for name in ("gcc-O0-x86_64.so", "gcc-O2-aarch64.so", "clang-O2-x86_64.dylib"):
        _, functions = functions_of(name)
        checked, failing = functions["checked"], functions["fail_with"]
        calls = [i for i, r in checked.references.items() if r.target == failing.address]
        blocks = [b for b, block in enumerate(checked.blocks) if block.end - 1 in calls]
        assert blocks, name
        assert not [edge for edge in checked.edges if edge.source in blocks], name


def test_a_jump_to_the_entry_is_an_edge_to_block_zero(functions_of):
    _, functions = functions_of("odd-x86_64.so")
    assert (0, 0, EdgeKind.TAKEN) in functions["to_entry"].edges


def test_calls_are_internal_external_or_to_self(functions_of):
    for name in ("gcc-O0-x86_64.so", "gcc-O0-aarch64.so"):
        _, functions = functions_of(name)
        kinds = {r.kind for r in functions["factorial"].references.values()}
        # The file's own export is reached through a stub, and is still an internal call.
        assert kinds & {ReferenceKind.CALL_SELF, ReferenceKind.CALL_INTERNAL}, name
        assert ReferenceKind.CALL_EXTERNAL not in kinds, name
        entry = functions["entry"]
        assert functions["visible"].address in entry.callees
        assert functions["say"].imports == ("puts",)
        assert functions["fail_with"].imports == ("abort", "puts")


def test_tail_calls_are_no_edges(functions_of):
    _, functions = functions_of("gcc-O2-x86_64.so")
    sibling = functions["sibling"]
    assert sibling.edges == []
    assert {r.kind for r in sibling.references.values()} >= {ReferenceKind.TAIL_INTERNAL}
    assert "thunk" in sibling.flags
    forward = functions["forward"]
    assert forward.edges == []
    assert "cfg_incomplete" not in forward.flags


def test_without_section_headers_the_unwind_table_is_enough(files, tmp_path):
    from weft.bcsd.disassemble.native import NativeDisassembler
    from weft.bcsd.read import open_image

    original = files / "gcc-O2-x86_64-stripped.so"
    content = bytearray(original.read_bytes())
    content[0x28:0x30] = bytes(8)  # e_shoff
    content[0x3C:0x40] = bytes(4)  # e_shnum, e_shstrndx
    bare = tmp_path / "no-sections.so"
    bare.write_bytes(content)
    found = {f.address for f in NativeDisassembler().functions(open_image(bare))}
    wanted = {f.address for f in NativeDisassembler().functions(open_image(original))}
    assert wanted <= found

"""Rename scripts, run against small fakes of the two programs: nothing that a person named is touched."""

from __future__ import annotations

import ast
import struct
import sys
from dataclasses import replace
from types import ModuleType, SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

from weft.bcsd.matching.side import SideRequest, read_side
from weft.bcsd.report.rename import rename_script
from weft.errors import InputError

LOADED_AT = 0x100000


class NameRefusedError(Exception):
    """What Ghidra throws at a name that is taken or holds odd characters."""


@pytest.fixture
def sure(matching):
    return replace(matching, confidence=np.linspace(0.5, 1.0, len(matching.rows)))


def renamed(side, names):
    index = side.table.schema.get_field_index("name")
    return replace(side, table=side.table.set_column(index, side.table.schema.field(index), pa.array(names)))


class Named:
    """A function as both programs know it."""

    def __init__(self, name=None):
        self.name = name
        self.comment = None
        self.refuses = False

    # Ghidra's half.
    def getSymbol(self):  # noqa: N802 - Ghidra's name
        return SimpleNamespace(getSource=lambda: "DEFAULT" if self.name is None else "USER_DEFINED")

    def setName(self, name, source):  # noqa: N802 - Ghidra's name
        assert source == "ANALYSIS"
        if self.refuses:
            raise NameRefusedError(name)
        self.name = name

    def getComment(self):  # noqa: N802 - Ghidra's name
        return self.comment

    def setComment(self, text):  # noqa: N802 - Ghidra's name
        self.comment = text


class Address(int):
    def add(self, offset):
        return Address(self + offset)


def run_ghidra(script, functions, sha256, monkeypatch):
    module = ModuleType("ghidra.program.model.symbol")
    module.SourceType = SimpleNamespace(DEFAULT="DEFAULT", ANALYSIS="ANALYSIS")
    errors = ModuleType("ghidra.util.exception")
    errors.DuplicateNameException = errors.InvalidInputException = NameRefusedError
    for name in ("ghidra", "ghidra.program", "ghidra.program.model", "ghidra.util"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    for fake in (module, errors):
        monkeypatch.setitem(sys.modules, fake.__name__, fake)
    program = SimpleNamespace(
        getExecutableSHA256=lambda: sha256.upper(),
        getImageBase=lambda: Address(LOADED_AT),
        getFunctionManager=lambda: SimpleNamespace(getFunctionAt=functions.get),
    )
    exec(compile(script, "weft_rename_ghidra.py", "exec"), {"currentProgram": program})


def run_ida(script, functions, sha256, monkeypatch):
    def get_func(address):
        return SimpleNamespace(start_ea=address) if address in functions else None

    def set_name(address, name, flags):
        assert flags == 0x1901
        if functions[address].refuses:
            return False
        functions[address].name = name
        return True

    def set_comment(function, text, repeatable):
        functions[function.start_ea].comment = text

    fakes = {
        "ida_bytes": {
            "get_full_flags": lambda address: address,
            "has_user_name": lambda flags: functions[flags].name is not None,
        },
        "ida_funcs": {
            "get_func": get_func,
            "get_func_cmt": lambda function, repeatable: functions[function.start_ea].comment,
            "set_func_cmt": set_comment,
        },
        "ida_nalt": {
            "retrieve_input_file_sha256": lambda: bytes.fromhex(sha256),
            "get_imagebase": lambda: LOADED_AT,
        },
        "ida_name": {
            "set_name": set_name,
            "SN_NOCHECK": 1,
            "SN_NOWARN": 0x100,
            "SN_FORCE": 0x800,
            "SN_NODUMMY": 0x1000,
        },
    }
    for name, members in fakes.items():
        module = ModuleType(name)
        vars(module).update(members)
        monkeypatch.setitem(sys.modules, name, module)
    exec(compile(script, "weft_rename_ida.py", "exec"), {})


RUNNERS = {"ghidra": run_ghidra, "ida": run_ida}


@pytest.mark.parametrize("tool", RUNNERS)
def test_names_go_where_they_belong_and_nowhere_else(sure, tool, monkeypatch, capsys):
    functions = {LOADED_AT + address - sure.b.base: Named() for address in sure.b.addresses}
    mine = LOADED_AT + sure.b.addresses[int(sure.columns[-1])] - sure.b.base
    functions[mine].name = "my_own_name"
    missing = LOADED_AT + sure.b.addresses[int(sure.columns[-2])] - sure.b.base
    del functions[missing]
    commented = LOADED_AT + sure.b.addresses[int(sure.columns[-3])] - sure.b.base
    functions[commented].comment = "mine too"
    refusing = functions[LOADED_AT + sure.b.addresses[int(sure.columns[-4])] - sure.b.base]
    refusing.refuses = True
    RUNNERS[tool](rename_script(sure, tool, 0.8), functions, sure.b.sha256, monkeypatch)
    assert functions[mine].name == "my_own_name"
    assert functions[commented].comment == "mine too"
    for number, (i, j) in enumerate(zip(sure.rows, sure.columns, strict=True)):
        function = functions.get(LOADED_AT + sure.b.addresses[j] - sure.b.base)
        if function is None or function is refusing or function.name == "my_own_name":
            continue
        expected = sure.a.names[i] if sure.confidence[number] >= 0.8 else None
        assert function.name == expected
    assert refusing.name is refusing.comment is None
    assert "1 kept their name, 1 not found, 1 names refused" in capsys.readouterr().out


@pytest.mark.parametrize("tool", RUNNERS)
def test_another_file_is_left_alone(sure, tool, monkeypatch, capsys):
    functions = {LOADED_AT + address - sure.b.base: Named() for address in sure.b.addresses}
    RUNNERS[tool](rename_script(sure, tool, 0.0), functions, "00" * 32, monkeypatch)
    assert all(function.name is None for function in functions.values())
    assert "nothing was renamed" in capsys.readouterr().out


@pytest.mark.parametrize("tool", RUNNERS)
def test_hostile_names_stay_inside_their_literal(sure, tool, monkeypatch):
    evil = "x');import os\nos.abort()#\\\"'''\u2028 y"
    hostile = replace(sure, a=renamed(sure.a, [f"{evil}{row}" for row in range(len(sure.a))]))
    script = rename_script(hostile, tool, 0.0)
    script.encode("ascii")
    assert not [node for node in ast.walk(ast.parse(script)) if getattr(node, "attr", "") == "abort"]
    functions = {LOADED_AT + address - sure.b.base: Named() for address in sure.b.addresses}
    RUNNERS[tool](script, functions, sure.b.sha256, monkeypatch)
    names = [function.name for function in functions.values() if function.name]
    assert names
    assert all(name.isascii() and not set(name) & set(" \n'\"\\;#") for name in names)


def test_made_up_names_are_not_carried_over(sure):
    half = [name if row % 2 else f"sub_{row:x}" for row, name in enumerate(sure.a.names)]
    script = rename_script(replace(sure, a=renamed(sure.a, half)), "ida", 0.0)
    assert "sub_" not in script.partition("ENTRIES")[2].partition("\n")[0]
    nothing = renamed(sure.a, [f"sub_{row:x}" for row in range(len(sure.a))])
    with pytest.raises(InputError, match="no function of it has a name to carry over"):
        rename_script(replace(sure, a=nothing), "ida", 0.0)


def test_no_function_is_named_after_start_up_code(sure):
    names = ["_fini", "frame_dummy", "_start", "_init"]
    half = [names[row] if row < len(names) else name for row, name in enumerate(sure.a.names)]
    named = replace(sure, a=renamed(sure.a, half), confidence=np.ones(len(sure.rows)))
    entries = rename_script(named, "ghidra", 0.0).partition("ENTRIES")[2].partition("\n")[0]
    assert set(sure.rows.tolist()) & set(range(len(names)))
    assert not [name for name in names if f'"{name}"' in entries]
    rest = [half[row] for row in sure.rows.tolist() if row >= len(names)]
    assert rest
    assert all(f'"{name}"' in entries for name in rest)


def test_an_object_has_no_addresses_that_other_programs_know(sure, files):
    side = read_side(SideRequest(str(files / "gcc-O2-x86_64.o")))
    assert side.base is None
    with pytest.raises(InputError, match=r"gcc-O2-x86_64.o: an object, .* \(link it first"):
        rename_script(replace(sure, b=side), "ghidra", 0.0)


def test_firmware_counts_from_its_lowest_segment_wherever_that_stands_in_the_file(tmp_path):
    place, code = 0x8000000, bytes.fromhex("554889e55dc3")
    head = b"\x7fELF" + bytes((2, 1, 1)) + bytes(9)
    head += struct.pack("<HHIQQQIHHHHHH", 2, 62, 1, place, 64, 0, 0, 64, 56, 1, 0, 0, 0)
    head += struct.pack("<IIQQQQQQ", 1, 5, 0x1000, place, place, len(code), len(code), 0x1000)
    path = tmp_path / "firmware"
    path.write_bytes(head.ljust(0x1000, b"\0") + code)
    assert read_side(SideRequest(str(path))).base == place

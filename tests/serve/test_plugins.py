"""The plug-ins of disassemblers: in GDB for real, in Ghidra and IDA against small fakes of their interfaces."""

from __future__ import annotations

import runpy
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import lief
import pytest

from tests.serve.conftest import FILES, Service

EXAMPLES = Path(__file__).parents[2] / "examples" / "serve"
PROGRAM = FILES / "gcc-O2-x86_64.so"
CHECKSUM, LOADED_AT = 0x920, 0x100000


@pytest.fixture
def asked(service: Service, monkeypatch: pytest.MonkeyPatch) -> Service:
    monkeypatch.setenv("WEFT_URL", service.url)
    monkeypatch.delenv("WEFT_TOKEN", raising=False)
    return service


@pytest.mark.skipif(shutil.which("gdb") is None, reason="no GDB here")
def test_gdb_asks_about_a_stripped_program_and_names_it(asked: Service, tmp_path: Path):
    stripped = tmp_path / "stripped"
    program = lief.parse(str(FILES / "gcc-O2-fixed-x86_64"))
    address = next(symbol.value for symbol in program.symbols if symbol.name == "checksum")
    program.strip()
    program.write(str(stripped))
    command = ["gdb", "-nx", "-batch", "-ex", f"source {EXAMPLES / 'weft_gdb.py'}"]
    for line in ("info symbol {}", "weft ask *{}", "weft rename *{}", "info symbol {}", "weft ask *0x1"):
        command += ["-ex", line.format(hex(address))]
    done = subprocess.run([*command, str(stripped)], capture_output=True, text=True, check=False, timeout=250)
    said = done.stdout + done.stderr
    assert f"No symbol matches {address:#x}" in said
    assert "checksum in " in said, said
    if "nothing was renamed" not in said:
        assert "checksum in section .text" in said, said
    assert "no function at 0x1" in said


class Address(int):
    def subtract(self, other: int) -> int:
        return self - other


def test_ghidra_names_the_function_under_the_cursor(asked: Service, monkeypatch: pytest.MonkeyPatch):
    model = ModuleType("ghidra.program.model.symbol")
    model.SourceType = SimpleNamespace(ANALYSIS="ANALYSIS")  # type: ignore[attr-defined]
    errors = ModuleType("ghidra.util.exception")
    for name in ("DuplicateNameException", "InvalidInputException", "CancelledException"):
        setattr(errors, name, type(name, (Exception,), {}))
    for name in ("ghidra", "ghidra.program", "ghidra.program.model", "ghidra.util"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    for fake in (model, errors):
        monkeypatch.setitem(sys.modules, fake.__name__, fake)
    told: dict[str, object] = {}
    function = SimpleNamespace(
        getEntryPoint=lambda: Address(LOADED_AT + CHECKSUM),
        setName=lambda name, source: told.update(name=name, source=source),
        setComment=lambda text: told.update(comment=text),
    )
    program = SimpleNamespace(
        getFunctionManager=lambda: SimpleNamespace(
            getFunctionContaining=lambda at: function if at >= LOADED_AT else None
        ),
        getImageBase=lambda: LOADED_AT,
        getExecutablePath=lambda: str(PROGRAM),
    )
    script = compile((EXAMPLES / "weft_ghidra.py").read_text(), "weft_ghidra.py", "exec")
    globals_ = {
        "currentProgram": program,
        "currentAddress": LOADED_AT + CHECKSUM + 4,
        "askChoice": lambda title, question, lines, first: first,
    }
    exec(script, globals_)
    assert (told["name"], told["source"]) == ("checksum", "ANALYSIS")
    assert str(told["comment"]).startswith("weft: confidence ")
    told.clear()
    exec(script, {**globals_, "currentAddress": 0})
    assert told == {}


def test_ida_names_the_function_under_the_cursor(asked: Service, monkeypatch: pytest.MonkeyPatch):
    named: dict[int, str] = {}

    class Choose:
        CH_MODAL = 1

        def __init__(self, title: str, columns: list[list[object]], flags: int) -> None:
            assert len(columns) == 3

        def Show(self, modal: bool) -> int:  # noqa: N802 - IDA's name
            assert len(self.OnGetLine(0)) == 3  # type: ignore[attr-defined]
            return 0 if self.OnGetSize() else -1  # type: ignore[attr-defined]

    function = SimpleNamespace(start_ea=LOADED_AT + CHECKSUM)
    fakes = {
        "ida_funcs": {"get_func": lambda at: function, "set_func_cmt": lambda *given: True},
        "ida_kernwin": {"Choose": Choose, "get_screen_ea": lambda: LOADED_AT + CHECKSUM + 4},
        "ida_nalt": {"get_input_file_path": lambda: str(PROGRAM), "get_imagebase": lambda: LOADED_AT},
        "ida_name": {
            "set_name": lambda at, name, flags: not named.update({at: name}),
            **dict.fromkeys(("SN_NOCHECK", "SN_FORCE", "SN_NODUMMY", "SN_NOWARN"), 0),
        },
    }
    for name, members in fakes.items():
        module = ModuleType(name)
        vars(module).update(members)
        monkeypatch.setitem(sys.modules, name, module)
    runpy.run_path(str(EXAMPLES / "weft_ida.py"))
    assert named == {LOADED_AT + CHECKSUM: "checksum"}


@pytest.mark.parametrize("script", ["weft_ghidra.py", "weft_ida.py"])
def test_a_file_says_where_it_wants_to_be_loaded(script: str):
    source = (EXAMPLES / script).read_text()
    begin = source.index("def lowest")
    found: dict[str, object] = {}
    exec("import struct\n" + source[begin : source.index("def search")], found)
    for path in sorted(FILES.iterdir()):
        parsed = lief.parse(str(path))
        if isinstance(parsed, (lief.ELF.Binary, lief.PE.Binary)) and not path.name.endswith(".o"):
            assert found["lowest"](path.read_bytes()) == parsed.imagebase, path.name  # type: ignore[operator]


def test_the_plug_ins_need_the_standard_library_alone():
    known = set(sys.stdlib_module_names) | {"gdb", "ghidra", "urllib2"}
    for path in EXAMPLES.glob("weft_*.py"):
        for line in path.read_text().splitlines():
            words = line.split()
            if len(words) > 1 and words[0] in ("import", "from"):
                name = words[1].split(".")[0]
                assert name in known or name.startswith("ida_"), (path.name, line)

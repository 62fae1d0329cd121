"""Committed files of every processor, lifted: what one function computes is the same wherever it was compiled."""

import hashlib
import os
import signal
from dataclasses import replace
from functools import lru_cache
from importlib.metadata import version

import numpy as np
import pytest

from weft.bcsd.lift.apart import process as process_module
from weft.bcsd.lift.apart.bounded import BoundedLifter, LiftLimits
from weft.bcsd.lift.apart.wire import pack_code, pack_surroundings, unpack_code, unpack_surroundings
from weft.bcsd.lift.choose import ImageLifter, lifter_named
from weft.bcsd.lift.code import CodeBlock, FunctionCode
from weft.bcsd.lift.decode.translate import without_exchange
from weft.bcsd.lift.gather import code_of, surroundings_of
from weft.bcsd.lift.interface import OperationEdge
from weft.bcsd.lift.pcode import PcodeLifter
from weft.errors import ConfigError, InputError

NATIVE = "gcc-O2-x86_64.so"
OTHERS = (
    "gcc-O0-x86_64.so",
    "clang-O2-x86_64.so",
    "gcc-O2-aarch64.so",
    "clang-O2-i386",
    "clang-O2-arm",
    "clang-O2-thumb",
    "clang-O2-mips",
    "clang-O2-mipsel",
)


@pytest.fixture(scope="module")
def lifted(functions_of):
    """Name of a committed file → the lifted functions of at least five blocks, by name."""
    lifter = PcodeLifter()

    @lru_cache
    def lift(name):
        image, functions = functions_of(name)
        around = surroundings_of(image)
        return {
            function.name: lifter.lift(code_of(image, function), around)
            for function in functions.values()
            if len(function.blocks) >= 5
        }

    return lift


@pytest.mark.parametrize("name", OTHERS)
def test_the_same_function_is_the_nearest_on_every_processor(lifted, name):
    here, there = lifted(NATIVE), lifted(name)
    shared = sorted(here.keys() & there.keys())
    assert len(shared) >= 3
    bags = [[set(side[function].features) for function in shared] for side in (here, there)]
    likeness = np.array([[len(a & b) / max(1, len(a | b)) for b in bags[1]] for a in bags[0]])
    right = (likeness.argmax(axis=1) == np.arange(len(shared))).mean()
    # One of them jumps through a table that only x86-64 and AArch64 files tell of.
    assert right >= 0.6, dict(zip(shared, likeness.argmax(axis=1), strict=True))


#: Of the features that the committed files gave when they were counted and fitted to; where one changes,
#: ``LIFTER_VERSION`` is raised, and all that was fitted to them is fitted again.
DIGESTS = {
    "gcc-O2-x86_64.so": "7a327f70c3291485",
    "gcc-O0-x86_64.so": "950a46be1539f0b7",
    "clang-O2-x86_64.so": "22bbb467a3f24feb",
    "gcc-O2-aarch64.so": "0e47dd85e87dd399",
    "clang-O2-i386": "00fd2c8b0f348979",
    "clang-O2-arm": "bada589ca5d60b72",
    "clang-O2-thumb": "2769e3d489c2f35b",
    "clang-O2-mips": "4633902d4e1095cd",
    "clang-O2-mipsel": "4633902d4e1095cd",
}


@pytest.mark.skipif(version("pypcode") != "3.3.3", reason="another version of SLEIGH has other operations")
@pytest.mark.parametrize("name", DIGESTS)
def test_features_are_what_they_were(lifted, name):
    features = sorted((function, found.features) for function, found in lifted(name).items())
    assert hashlib.sha256(repr(features).encode()).hexdigest()[:16] == DIGESTS[name]


@pytest.mark.parametrize("name", [NATIVE, *OTHERS])
def test_every_instruction_is_understood(lifted, name):
    assert sum(function.opaque for function in lifted(name).values()) == 0


def _one(functions_of, name=NATIVE):
    image, functions = functions_of(name)
    function = max(functions.values(), key=lambda f: len(f.blocks))
    return code_of(image, function), surroundings_of(image)


def test_features_do_not_depend_on_where_the_file_is(functions_of):
    code, around = _one(functions_of)
    moved = 0x5000
    elsewhere = code._replace(
        address=code.address + moved,
        end=code.end + moved,
        blocks=tuple(block._replace(address=block.address + moved) for block in code.blocks),
    )
    there = replace(
        around,
        mapped=tuple((start + moved, end + moved) for start, end in around.mapped),
        tables=tuple((start + moved, end + moved) for start, end in around.tables),
        slots=tuple(slot + moved for slot in around.slots),
    )
    lifter = PcodeLifter()
    assert lifter.lift(code, around).features == lifter.lift(elsewhere, there).features


def test_the_graph_holds_every_kind_of_edge(functions_of):
    image, functions = functions_of(NATIVE)
    lifter, around = PcodeLifter(), surroundings_of(image)
    kinds, operations = set(), set()
    for function in functions.values():
        lifted = lifter.lift(code_of(image, function), around, graph=True)
        kinds |= {kind for _, _, kind in lifted.edges}
        operations |= set(lifted.operations)
        ends = {end for source, target, _ in lifted.edges for end in (source, target)}
        assert ends <= set(range(len(lifted.operations)))
    assert kinds == set(OperationEdge)
    assert {"RETURN", "BRANCH", "LOAD4", "STORE4", "CALL", "ADD"} <= operations


def test_what_goes_over_the_wire_comes_back(functions_of):
    code, around = _one(functions_of)
    assert unpack_code(pack_code(code)) == code
    assert unpack_surroundings(pack_surroundings(around)) == around


def test_lifting_in_a_process_gives_the_same(functions_of, lifted):
    image, functions = functions_of(NATIVE)
    lifter = ImageLifter(image, "pcode")
    for name, known in list(lifted(NATIVE).items())[:5]:
        found = lifter.features(functions[name])
        assert found is not None
        assert tuple(found.tolist()) == known.features
    assert lifter.remarks == ()


def test_no_lifter_has_no_features(functions_of):
    image, functions = functions_of(NATIVE)
    lifter = ImageLifter(image, "none")
    assert lifter.name == ""
    assert lifter.features(next(iter(functions.values()))) is None


def test_an_unknown_lifter_is_refused():
    with pytest.raises(ConfigError, match="no lifter 'vex'"):
        lifter_named("vex")


def test_an_unknown_processor_is_refused(functions_of):
    code, around = _one(functions_of)
    with pytest.raises(InputError, match="no lifting for x86_64, 64 bits, big-endian"):
        PcodeLifter().lift(code, replace(around, big_endian=True))


def test_a_function_that_takes_too_long_is_counted_and_the_rest_goes_on(functions_of):
    image, functions = functions_of(NATIVE)
    function = next(f for f in functions.values() if len(f.blocks) >= 5)
    code, around = code_of(image, function), surroundings_of(image)
    # Each block leads to each other one: a second's work, fifty times what there is, however fast the machine.
    everywhere = tuple(range(2500))
    dense = tuple(CodeBlock(0x1000 + 4 * n, b"\x48\xff\xc0\x90", (3, 1), everywhere) for n in everywhere)
    endless = FunctionCode(0x1000, 0x1000 + 4 * len(dense), dense)
    bounded = BoundedLifter(around, LiftLimits(seconds=0.02, deaths=5))
    assert bounded.features(endless) is None
    assert (bounded.failed, bounded.deaths) == (1, 1)
    assert BoundedLifter(around).features(code) is not None


def test_a_process_that_waits_for_ever_is_given_up(functions_of, monkeypatch):
    code, around = _one(functions_of)
    bounded = BoundedLifter(around, LiftLimits(seconds=0.02, deaths=5))
    monkeypatch.setattr(process_module, "_PATIENCE", 10.0)
    process = process_module.lift_process(bounded._limits.mebibytes)
    os.kill(process._process.pid, signal.SIGSTOP)
    assert bounded.features(code) is None
    assert bounded.deaths == 1
    assert not process.alive


def test_the_process_imports_nothing_from_the_folder_of_the_run(tmp_path, monkeypatch):
    (tmp_path / "socket.py").write_text("raise SystemExit")
    monkeypatch.chdir(tmp_path)
    process_module.LiftProcess(4096).stop()  # a LimitError where it does not begin


def test_the_clock_is_not_what_counts(functions_of, monkeypatch):
    """A process that gets the processor a hundredth of the time has a hundred times as long."""
    code, around = _one(functions_of)
    bounded = BoundedLifter(around, LiftLimits(seconds=0.001))
    real = process_module.LiftProcess._busy
    monkeypatch.setattr(process_module.LiftProcess, "_busy", lambda self: real(self) / 1e6)
    monkeypatch.setattr(process_module, "_PATIENCE", 1e6)
    assert bounded.features(code) is not None


@pytest.mark.parametrize(
    ("code", "thumb", "expected"),
    [
        ("00f000e8", True, "00f000f8"),
        ("00f000f8", True, "00f000f8"),
        ("7047", True, "7047"),
        ("000000fa", False, "000000eb"),
        ("000000eb", False, "000000eb"),
    ],
)
def test_calls_into_the_other_state_are_plain_calls(code, thumb, expected):
    assert without_exchange(bytes.fromhex(code), thumb, False).hex() == expected


@pytest.mark.parametrize("name", [NATIVE, *OTHERS[2:]])
def test_mutated_code_neither_kills_nor_hangs(functions_of, name):
    draw = np.random.default_rng(7)
    code, around = _one(functions_of, name)
    bounded = BoundedLifter(around, LiftLimits(seconds=10.0))
    for _ in range(4):
        blocks = []
        for block in code.blocks:
            data = np.frombuffer(block.data, np.uint8).copy()
            chosen = draw.random(len(data)) < 0.2
            data[chosen] = draw.integers(0, 256, int(chosen.sum()), dtype=np.uint8)
            blocks.append(block._replace(data=data.tobytes()))
        bounded.features(code._replace(blocks=tuple(blocks)))
    assert bounded.lifted + bounded.failed == 4
    assert bounded.features(code) is not None

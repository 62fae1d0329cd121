"""Start-up code is paired with start-up code, or sure of nothing; it is known by names, or by the places it has."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from weft.bcsd.matching.match import match
from weft.bcsd.matching.rule import rule_of
from weft.bcsd.matching.side import SideRequest, read_side
from weft.bcsd.read import open_image
from weft.bcsd.read.runtime import is_runtime, is_stub
from weft.bcsd.use.embedder import Embedder
from weft.bcsd.use.store import find

FILES = Path(__file__).parent / "files"
STATIC = """
int data;
__attribute__((section(".init"))) void first(void) { data = 1; }
__attribute__((section(".fini"))) void last(void) { data = 2; }
void _start(void) { data = 3; }
static __attribute__((constructor)) void one(void) { data = 4; }
static __attribute__((constructor)) void two(void) { data = 5; }
static __attribute__((destructor)) void three(void) { data = 6; }
"""


@pytest.fixture(scope="module")
def matched():
    """Two builds of a program, matched as they are, and with one that does not say where it is entered."""
    folder = find("bcsd-small")
    embedder = Embedder.load(folder)
    rule, _ = rule_of(folder, embedder.version)
    a, b = (read_side(SideRequest(str(FILES / f"words-{level}"))) for level in ("O0", "O2"))
    return match(a, b, embedder, rule), match(a, replace(b, begins=()), embedder, rule)


def named(side, names):
    index = side.table.schema.get_field_index("name")
    return replace(side, table=side.table.set_column(index, side.table.schema.field(index), pa.array(names)))


def test_start_up_code_and_something_else_are_sure_of_nothing(matched):
    known, unknown = matched
    assert known.a.stubs
    assert not unknown.b.stubs
    pairs = known.pairs
    stubs = [
        i in known.a.stubs and j in known.b.stubs
        for i, j in zip(pairs.rows.tolist(), pairs.columns.tolist(), strict=True)
    ]
    assert sum(pairs.confidence[stubs] > 0.8) >= 3
    apart = np.isin(unknown.pairs.rows, sorted(known.a.stubs))
    assert apart.any()
    assert not unknown.pairs.confidence[apart].any()
    assert unknown.pairs.confidence[~apart].all()
    assert not set(unknown.rows.tolist()) & known.a.stubs


def test_a_name_says_that_a_function_is_start_up_code_or_is_none(matched):
    side = matched[0].a
    assert len(side.stubs) >= 5
    stub = min(side.stubs)
    other = min(set(range(len(side))) - side.stubs)
    names = list(side.names)
    names[stub], names[other] = "shown_to_the_loader", "_fini"
    assert named(side, names).stubs == side.stubs - {stub} | {other}


def test_what_start_up_code_calls_is_none_unless_it_calls_nothing_and_stands_beside_it(matched):
    side = matched[0].a
    entered = {row for row, address in enumerate(side.addresses) if address in side.begins}
    assert entered < side.stubs <= side.start_up
    assert all(not side.calls[row] for row in side.stubs - entered)


@pytest.mark.parametrize("name", ["_init", "_fini", "_start", "__start", "frame_dummy", "register_tm_clones"])
def test_names_of_start_up_code(name):
    assert is_stub(name)
    assert is_runtime(name)


@pytest.mark.parametrize(
    "name", ["init", "_initialise", "my_init", "main", "start", "_finish", "__aarch64_cas4"]
)
def test_names_of_other_functions(name):
    assert not is_stub(name)


def test_a_static_program_says_by_its_sections_what_enters_it(tmp_path):
    (tmp_path / "static.c").write_text(STATIC)
    made = ("gcc", "-O1", "-static", "-nostdlib", "-no-pie", "-fno-pie", "-o", "static", "static.c")
    subprocess.run(made, cwd=tmp_path, check=True, capture_output=True)
    image = open_image(str(tmp_path / "static"))
    address = {symbol.name: symbol.address for symbol in image.symbols}
    assert image.begins == sorted(address[name] for name in ("first", "last", "_start", "one", "three"))

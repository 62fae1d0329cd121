"""Small files: few calls say little, start-up code agrees in all programs, and likeness tells the rest.

`files` holds programs of ``benchmarks/bcsd_small_files``, made by ``gcc -O0|-O2 -s -Wl,-z,noseparate-code`` (12.2).
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from weft.bcsd.matching.in_common import in_common
from weft.bcsd.matching.match import match
from weft.bcsd.matching.pairs.relation import (
    CALLS,
    RELATED,
    agreeing_calls,
    agreements,
    call_agreement,
    relation,
)
from weft.bcsd.matching.rule import load_rule, rule_of, save_rule
from weft.bcsd.matching.side import SideRequest, read_side
from weft.bcsd.use.embedder import Embedder
from weft.bcsd.use.store import find
from weft.cli.bcsd.match import describe
from weft.platform.confidence import Logistic

FILES = Path(__file__).parent / "files"
TOLD = Logistic(-10.0, (24.0,))


@pytest.fixture(scope="module")
def read():
    return lambda name: read_side(SideRequest(str(FILES / name)))


@pytest.fixture(scope="module")
def shipped():
    folder = find("bcsd-small")
    embedder = Embedder.load(folder)
    return embedder, rule_of(folder, embedder.version)[0]


def test_long_pairs_count_more_for_the_likeness_of_files(side_of):
    side = side_of("gcc-O2-x86_64.so")
    rows = np.arange(len(side))
    lengths = np.log1p(side.num_instructions)
    likeness = np.linspace(0, 1, len(side))
    expected = float(likeness @ lengths / lengths.sum())
    found = relation(side, side, rows, rows, likeness, TOLD)
    assert found == pytest.approx(1 / (1 + np.exp(10 - 24 * expected)))
    nothing = relation(side, side, rows[:0], rows[:0], likeness[:0], TOLD)
    assert nothing == pytest.approx(1 / (1 + np.exp(10)))


def test_unlike_pairs_agree_less_and_like_ones_no_more_than_their_calls(side_of):
    side = side_of("gcc-O2-x86_64.so")
    rows = np.arange(len(side))
    by_calls = min(call_agreement(side, side, rows, rows), RELATED)
    like, probable = agreements(side, side, rows, rows, np.ones(len(side)), TOLD)
    assert like == pytest.approx(np.full(len(side), by_calls))
    assert probable == pytest.approx(1, abs=1e-3)
    unlike, probable = agreements(side, side, rows, rows, np.full(len(side), 0.2), TOLD)
    assert probable is not None
    agreeing, paired = agreeing_calls(side, side, rows, rows)
    expected = (agreeing + CALLS * RELATED * probable) / (paired + CALLS)
    assert unlike == pytest.approx(np.full(len(side), expected))
    assert expected < by_calls
    # Calls of another pairing do not agree: likeness is no excuse for them.
    wrong, _ = agreements(side, side, rows, rows[::-1], np.ones(len(side)), TOLD)
    assert wrong.max() <= min(call_agreement(side, side, rows, rows[::-1]), RELATED)
    same, unknown = agreements(side, side, rows, rows, np.full(len(side), 0.2), None)
    assert same == pytest.approx(np.full(len(side), by_calls))
    assert unknown is None


def test_start_up_code_is_judged_by_its_calls_and_says_nothing_of_the_rest(side_of):
    side = side_of("gcc-O2-x86_64.so")
    entered = replace(side, begins=(side.addresses[0],))
    start = sorted(entered.start_up)
    assert start
    rows = np.arange(len(side))
    likeness = np.where(np.isin(rows, start), 1.0, 0.2)
    found, probable = agreements(entered, entered, rows, rows, likeness, TOLD)
    assert found[start] == pytest.approx(np.full(len(start), RELATED))
    others = np.setdiff1d(rows, start)
    assert probable == pytest.approx(relation(side, side, others, others, likeness[others], TOLD))
    assert found[others].max() < RELATED


def test_start_up_code_is_known_by_no_name(side_of):
    side = side_of("gcc-O2-x86_64.so")
    named = side.table.set_column(side.table.schema.get_field_index("name"), "name", [["_start"] * len(side)])
    assert replace(side, table=named, begins=()).start_up == set()
    assert replace(side, table=named, begins=()).runtime == set(range(len(side)))


def test_a_rule_keeps_what_is_known_of_likeness(tmp_path, shipped):
    _, rule = shipped
    assert rule.related is not None
    save_rule(rule, tmp_path / "match.json")
    assert load_rule(tmp_path / "match.json") == rule


def test_functions_of_another_small_program_are_not_sure(shipped, read):
    embedder, rule = shipped
    a, b = read("sheet-O0"), read("words-O0")
    before = match(a, b, embedder, replace(rule, related=None))
    after = match(a, b, embedder, rule)
    assert sure(before, a) >= 4
    assert sure(after, a) == 0
    assert after.pairs.related == pytest.approx(0, abs=0.1)
    # Start-up code is what it was.
    assert sum(row in a.start_up for row in after.rows.tolist()) == sum(
        row in a.start_up for row in before.rows.tolist()
    )
    assert in_common(before).unrelated is None
    assert in_common(before).said() == ""
    assert in_common(after).unrelated is True
    assert "next to nothing in common" in describe(after)


def test_another_build_of_a_small_program_is_as_sure_as_before(shipped, read):
    embedder, rule = shipped
    a, b = read("words-O0"), read("words-O2")
    before = match(a, b, embedder, replace(rule, related=None))
    after = match(a, b, embedder, rule)
    np.testing.assert_array_equal(after.columns, before.columns)
    np.testing.assert_allclose(after.confidence, before.confidence, atol=0.1)
    assert sure(after, a) == sure(before, a) >= 3
    assert in_common(after).unrelated is not True


@pytest.mark.parametrize(
    "other", ["gcc-O0-x86_64.so", "clang-O3-aarch64.so", "clang-O2-i386", "clang-O2-mips"]
)
def test_builds_for_another_processor_are_nearly_as_sure_as_before(shipped, side_of, other):
    embedder, rule = shipped
    a, b = side_of("gcc-O2-x86_64.so"), side_of(other)
    before = match(a, b, embedder, replace(rule, related=None))
    after = match(a, b, embedder, rule)
    np.testing.assert_array_equal(after.columns, before.columns)
    assert sure(after, a) >= 0.9 * sure(before, a)
    assert in_common(after).unrelated is not True


def sure(matching, side):
    """Matches at least .8 sure that are not start-up code."""
    pairs = zip(matching.rows.tolist(), matching.confidence.tolist(), strict=True)
    return sum(confidence >= 0.8 and row not in side.start_up for row, confidence in pairs)

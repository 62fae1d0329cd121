"""What two files share: by the instructions of their pairs, and said where it is what unrelated programs share."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from weft.bcsd.matching.in_common import COUNTED, FEWEST, LONG, PART, InCommon, in_common, shared
from weft.bcsd.matching.rule import FEATURES
from weft.bcsd.matching.side import START_UP
from weft.bcsd.report.page import report_page
from weft.cli.bcsd.match import describe


def side(sizes, runtime=()):
    counts = np.array(sizes, dtype=np.int64)
    held = SimpleNamespace(num_instructions=counts, runtime=set(runtime))
    return type("Made", (SimpleNamespace,), {"__len__": lambda self: len(sizes)})(**vars(held))


@pytest.mark.parametrize(("functions", "unrelated"), [(FEWEST, True), (FEWEST - 1, None)])
def test_start_up_code_alone_is_little(functions, unrelated):
    a, b = side([5, 5, *[100] * (functions - 2)], {0}), side([6, 4, *[200] * functions])
    found = shared(a, b, np.array([0, 1]), np.array([0, 1]), np.array([1.0, 0.5]))
    assert found.share == pytest.approx((5 + 0.5 * 4) / a.num_instructions.sum())
    assert (found.pairs, found.runtime, found.unrelated) == (2, 1, unrelated)
    assert bool(found.said()) == bool(unrelated)


def test_one_large_pair_of_many_functions_is_not_little():
    a, b = side([500, *[10] * 30]), side([450, *[10] * 90])
    found = shared(a, b, np.array([0]), np.array([0]), np.array([0.9]))
    assert found.unrelated is False
    assert found.said() == ""


@pytest.mark.parametrize(
    ("judged", "share", "sure", "related", "unrelated", "said"),
    [
        (False, 0.6, 0.0, 0.05, True, "no more alike than those of unrelated programs"),
        (
            False,
            0.6,
            0.0,
            0.5,
            None,
            "too few functions to tell whether the two files have anything in common",
        ),
        (False, 0.6, 0.0, 0.95, False, ""),
        (False, 0.6, 0.05, 0.05, None, "too few functions to tell"),
        (False, 0.6, 0.0, None, None, ""),
        (True, 0.6, 0.0, 0.05, True, "no more alike than those of unrelated programs"),
        (True, 0.6, 0.05, 0.05, False, ""),
        (True, 0.02, 0.0, 0.5, True, "2.0 % of the smaller one's code"),
    ],
)
def test_likeness_tells_where_the_share_does_not(judged, share, sure, related, unrelated, said):
    found = InCommon(share, 9, 6, judged=judged, sure=sure, related=related)
    assert found.unrelated is unrelated
    assert said in found.said()
    assert bool(found.said()) == bool(said)


@pytest.mark.parametrize(
    ("share", "related", "apart", "unrelated"),
    [
        (0.012, 0.07, PART, None),
        (0.012, 0.07, PART - 1, True),
        (0.1, 0.05, 14, None),
        (0.1, 0.05, 0, True),
        (0.6, 0.9, 40, False),
    ],
)
def test_a_part_of_a_library_is_no_unrelated_file(share, related, apart, unrelated):
    found = InCommon(share, 20, 6, judged=True, related=related, apart=apart)
    assert found.unrelated is unrelated
    assert found.part is (unrelated is None)
    assert ("a part of the other" in found.said()) is found.part
    assert ("weft bcsd search" in found.said()) is found.part
    assert ("next to nothing" in found.said()) is (unrelated is True)


def test_pairs_that_tell_of_a_part_are_long_counted_and_no_start_up_code():
    a, b = side([50, LONG, 50, 50, 50, *[300] * 40], {2}), side([50, LONG, LONG - 1, 50, 50, *[300] * 40])
    b.runtime.add(4)
    a.start_up, b.start_up = set(), set()
    paired = np.arange(6)
    # Two count: what is left is start-up code in A, in B, short, or less sure.
    columns, sure = np.array([0, 1, 3, 2, 4, 5]), np.array([0.3, COUNTED, 0.9, 0.9, 0.9, COUNTED - 0.01])
    pairs = SimpleNamespace(
        rows=paired,
        columns=columns,
        confidence=sure,
        features=np.zeros((6, len(FEATURES))),
        related=0.02,
    )
    assert in_common(SimpleNamespace(a=a, b=b, pairs=pairs, calibrated=True)).apart == 2


def test_builds_of_one_source_are_not_unrelated_and_a_rule_of_another_model_tells_nothing(
    matching, monkeypatch
):
    monkeypatch.setattr("weft.bcsd.matching.in_common.FEWEST", 10)
    calibrated = replace(matching, calibrated=True)
    assert in_common(calibrated).unrelated is False
    assert in_common(calibrated).share > 0.3
    assert in_common(replace(matching, calibrated=False)).unrelated is None


def test_it_is_said_in_the_text_and_on_the_page(matching, monkeypatch):
    little = InCommon(0.003, 7, 6, judged=True)
    assert little.said() == (
        "the two files have next to nothing in common: 7 pairs, 6 of them start-up code that every program has, 0.3 % "
        "of the smaller one's code, as unrelated programs have"
    )
    assert (
        InCommon(0.0, 0, 0, judged=True)
        .said()
        .startswith("the two files have next to nothing in common: no pair,")
    )
    assert "next to nothing" not in describe(matching)
    monkeypatch.setattr("weft.bcsd.matching.in_common.in_common", lambda _: little)
    monkeypatch.setattr("weft.bcsd.report.page.in_common", lambda _: little)
    assert little.said() in describe(matching)
    assert "7 pairs, 6 of them start-up code" in report_page(matching, "m", True)


def test_start_up_code_is_known_without_names(matching):
    found = matching.a
    assert not found.runtime
    caller = next(
        row for row, called in enumerate(found.calls) if called and found.num_instructions[row] <= START_UP
    )
    entered = replace(found, begins=(found.addresses[caller],))
    short = {row for row in found.calls[caller] if found.num_instructions[row] <= START_UP}
    assert entered.runtime == {caller, *short}
    longest = int(found.num_instructions.argmax())
    assert found.num_instructions[longest] > START_UP
    assert not replace(found, begins=(found.addresses[longest],)).runtime

"""Bounded workers: whatever one item does, the others get their answer, in order."""

import os
import time

import pytest

from weft.bcsd.workers import Limits, run_bounded
from weft.errors import InputError, LimitError


def misbehave(item):
    if item == "hang":
        time.sleep(60)
    if item == "die":
        os._exit(3)
    if item == "crash":
        os.abort()
    if item == "eat":
        return len(bytearray(8 << 30))
    if item == "refuse":
        raise InputError("not wanted", where="item")
    if item == "break":
        raise RuntimeError("a parser's own fault")
    return item.upper()


def test_every_kind_of_failure_is_one_outcome_and_the_rest_goes_on():
    items = ["a", "hang", "b", "die", "crash", "c", "eat", "refuse", "break", "d"]
    outcomes = list(run_bounded(misbehave, items, workers=2, limits=Limits(seconds=2.0, mebibytes=2048)))
    assert [outcome.item for outcome in outcomes] == items
    by_item = {outcome.item: outcome for outcome in outcomes}
    assert [by_item[item].value for item in "abcd"] == ["A", "B", "C", "D"]
    assert isinstance(by_item["hang"].error, LimitError)
    assert str(by_item["hang"].error) == "hang: took more than 2 s"
    assert "died (exit code 3)" in str(by_item["die"].error)
    assert "died (SIGABRT)" in str(by_item["crash"].error)
    assert isinstance(by_item["eat"].error, LimitError)
    assert "2048 MiB" in str(by_item["eat"].error)
    assert str(by_item["refuse"].error) == "item: not wanted"
    assert "RuntimeError: a parser's own fault" in str(by_item["break"].error)


def test_stopping_early_leaves_no_process():
    import multiprocessing

    generator = run_bounded(misbehave, ["a", "b", "hang"], workers=2, limits=Limits(seconds=60))
    assert next(generator).value == "A"
    generator.close()
    assert not multiprocessing.active_children()


@pytest.mark.parametrize("workers", [1, 3])
def test_nothing_to_do_is_nothing(workers):
    assert list(run_bounded(misbehave, [], workers=workers, limits=Limits())) == []

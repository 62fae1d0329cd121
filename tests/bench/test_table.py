"""Rows, their ratios and their JSON; the measures on cases whose answer is known."""

from __future__ import annotations

import json
import math

import pytest
import torch

from weft.bench import attention
from weft.bench.measure import can_measure_memory, extra_memory, medians, saved_for_backward
from weft.bench.table import Row
from weft.cli import bench as command
from weft.errors import ConfigError, OutputError


def test_ratio_and_verdict():
    lower = Row("a", "b", "fp32", "ms", 2.0, 4.0, target=0.5)
    higher = Row("a", "b", "fp32", "functions/s", 2.0, 4.0, better="higher", target=0.6)
    assert (lower.ratio, lower.ok) == (0.5, True)
    assert (higher.ratio, higher.ok) == (0.5, False)
    assert Row("a", "b", "fp32", "ms", 1.0, 2.0).ok is None
    assert math.isnan(Row("a", "b", "fp32", "ms", 1.0, 0.0).ratio)


def test_json_has_the_documented_keys():
    record = json.loads(json.dumps(Row("a", "b", "fp32", "ms", 1.0, 2.0, target=1.0).record()))
    assert set(record) == {
        "name", "variant", "dtype", "unit", "ours", "baseline", "ratio", "better", "target", "ok"
    }  # fmt: skip


def test_what_is_not_finite_is_null_and_neither_met_nor_missed():
    for row in (
        Row("a", "b", "-", "s", 0.0, 0.0, target=1.0),
        Row("a", "b", "-", "s", math.inf, 2.0, target=1.0),
    ):
        record = json.loads(json.dumps(row.record(), allow_nan=False))
        assert (record["ratio"], record["ok"], row.ok) == (None, None, None)
    assert Row("a", "b", "-", "s", math.nan, 2.0).record()["ours"] is None


def test_the_table_shows_what_is_missed_and_what_is_met():
    missed = Row("speed", "of light", "fp32", "ms", 3.0, 2.0, target=1.0)
    met = Row("files", "a second", "fp32", "files/s", 3.0, 2.0, better="higher", target=1.0)
    head, *lines = command.listing([missed, met]).splitlines()
    assert head.split() == ["name", "variant", "dtype", "unit", "ours", "baseline", "ratio", "target"]
    assert lines[0].split()[-3:] == ["≤", "1", "MISSED"]
    assert lines[1].split()[-4:] == ["1.5", "≥", "1", "ok"]


def test_medians_are_interleaved():
    calls: list[str] = []
    medians(lambda: calls.append("ours"), lambda: calls.append("baseline"), repeats=3, warmup=1)
    assert calls == ["ours", "baseline"] * 4


def test_saved_for_backward_counts_what_autograd_keeps():
    x = torch.randn(256, 1024, requires_grad=True)
    assert saved_for_backward(lambda: x.exp().sum(), (x,)) == 1.0
    assert saved_for_backward(lambda: x.sum(), (x,)) == 0.0


@pytest.mark.skipif(not can_measure_memory(), reason="needs Linux's /proc")
def test_extra_memory_sees_a_large_temporary():
    assert 60 < extra_memory(lambda: torch.ones(16, 2**20).sum()) < 90


def test_the_literal_forms_equal_ours():
    """A ratio means something only where both sides compute the same."""
    shape = attention._Shape(2, 3, 16, 8)
    for leaves, ours, literal in (attention._quasi_inputs("fp32", shape),):
        torch.testing.assert_close(ours()[:, :, :14], literal()[:, :, :14], rtol=0, atol=1e-5)
        assert len(leaves) == 7


def test_the_command_refuses_what_it_cannot_do(tmp_path):
    with pytest.raises(ConfigError, match="threads is 0"):
        command.run(["gnn", "--threads", "0"])
    with pytest.raises(OutputError, match="make its folder first"):
        command.run(["gnn", "-o", str(tmp_path / "none" / "rows.json")])
    with pytest.raises(ConfigError, match="invalid choice: 'nothing'"):
        command.run(["nothing"])

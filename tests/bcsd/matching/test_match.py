"""Matching two builds: known partners found, one to one, the same every time; scores and flags as documented."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pytest
from scipy import sparse

from weft.bcsd.matching import match as module
from weft.bcsd.matching.match import HIGHEST_SCORE, match, see
from weft.bcsd.matching.pairs.pairing import _anchors, pair
from weft.bcsd.matching.pairs.relation import RELATED, call_agreement
from weft.bcsd.matching.pairs.seen import Scores, score
from weft.bcsd.matching.record import COLUMNS, match_records, matching_csv, matching_record
from weft.bcsd.matching.rule import DEFAULT_RULE, FEATURES
from weft.bcsd.matching.side import SideRequest, read_side
from weft.bcsd.use.embedder import Embedder
from weft.errors import InputError, LimitError

RULE = replace(DEFAULT_RULE, floor=0.0)


@pytest.fixture(scope="module")
def embedder(lexical_model):
    return Embedder.load(lexical_model)


def test_the_same_source_functions_find_each_other(matching):
    a, b = matching.a, matching.b
    partner = {a.names[i]: b.names[j] for i, j in zip(matching.rows, matching.columns, strict=True)}
    named = set(a.names) & set(b.names)
    right = sum(partner.get(name) == name for name in named)
    assert len(named) >= 14
    assert right >= 0.7 * len(named)


def test_names_decide_nothing(side_of, embedder, matching):
    def nameless(side):
        column = pa.array([f"sub_{row}" for row in range(len(side))])
        index = side.table.schema.get_field_index("name")
        return replace(side, table=side.table.set_column(index, side.table.schema.field(index), column))

    a, b = nameless(matching.a), nameless(matching.b)
    again = match(a, b, embedder, RULE)
    np.testing.assert_array_equal(again.columns, matching.columns)
    np.testing.assert_array_equal(again.scores, matching.scores)


def test_it_is_one_to_one_and_the_rest_is_listed(matching):
    for side, taken, alone in (
        (matching.a, matching.rows, matching.unmatched_a()),
        (matching.b, matching.columns, matching.unmatched_b()),
    ):
        assert sorted([*taken.tolist(), *alone]) == list(range(len(side)))


def test_the_same_files_give_the_same_bytes(matching, embedder):
    again = match(matching.a, matching.b, embedder, RULE)
    first, second = (json.dumps(matching_record(found, "m", True)) for found in (matching, again))
    assert first == second


def test_a_file_matches_itself_and_only_equal_bytes_score_one(side_of, embedder):
    side = side_of("gcc-O2-x86_64.so")
    found = match(side, side, embedder, RULE)
    np.testing.assert_array_equal(found.rows, found.columns)
    assert (found.scores == 1.0).all()
    assert (found.ranks == 1).all()
    other = replace(side, table=_other_digests(side.table))
    shifted = match(side, other, embedder, RULE)
    assert (shifted.scores <= HIGHEST_SCORE).all()
    assert (shifted.scores > 0.99).all()
    assert all(r["evidence"]["same_tokens"] for r in matching_record(shifted, "m", True)["matches"])


def _other_digests(table):
    index = table.schema.get_field_index("digest")
    digests = pa.array([f"x{row}" for row in range(table.num_rows)])
    return table.set_column(index, table.schema.field(index), digests)


class Caller(NamedTuple):
    """As much of a side as pairing looks at."""

    table: pa.Table
    calls: list
    num_instructions: np.ndarray
    imports: list
    constants: list
    strings: list
    stubs = frozenset()

    def __len__(self):
        return self.table.num_rows

    @property
    def callers(self):
        return [[row for row, called in enumerate(self.calls) if each in called] for each in range(len(self))]

    @property
    def architecture(self):
        return "x86_64"


def test_the_call_graph_overrules_scores_that_are_nearly_equal():
    def side(name, calls):
        nothing = [[] for _ in calls]
        table = pa.table({"token_digest": [f"{name}{row}" for row in range(len(calls))]})
        return Caller(table, calls, np.full(len(calls), 20), nothing, nothing, nothing)

    # 0 and 1 look a little more like each other than like themselves; whom they call tells them apart.
    calls = [[2], [3], [], []]
    scores = np.full((4, 4), 0.1, dtype=np.float32)
    scores[[0, 1, 2, 3], [0, 1, 2, 3]] = [0.6, 0.6, 0.9, 0.9]
    scores[[0, 1], [1, 0]] = 0.61
    sides = side("a", calls), side("b", calls)
    deaf = pair(Scores(scores, scores), *sides, RULE, rounds=0)
    assert deaf.columns.tolist() == [1, 0, 2, 3]
    found = pair(Scores(scores, scores), *sides, RULE)
    assert found.columns.tolist() == [0, 1, 2, 3]
    assert found.evidence["callees"][0, 0] > 0


def test_records_have_the_documented_form(matching):
    record = json.loads(json.dumps(matching_record(matching, "m", False)))
    assert list(record) == [
        "schema", "model", "calibrated", "a", "b", "in_common", "matches", "unmatched_a", "unmatched_b",
    ]  # fmt: skip
    assert record["calibrated"] is False
    confidences = [found["confidence"] for found in record["matches"]]
    assert confidences == sorted(confidences, reverse=True)
    for found in record["matches"]:
        assert list(found) == ["a", "b", "score", "rank", "confidence", "flags", "evidence"]
        for half in ("a", "b"):
            assert list(found[half]) == ["name", "address", "size", "blocks"]
            assert isinstance(found[half]["address"], int)
        assert 0 < found["confidence"] <= 1
        assert ("tiny" in found["flags"]) == (min(found["a"]["blocks"], found["b"]["blocks"]) < 5)
    callers = [found["evidence"] for found in record["matches"] if "callees" in found["evidence"]]
    assert callers
    assert set(callers[0]["callees"]["shared"][0]) == {"a", "b"}
    assert 0 < callers[0]["callees"]["agreement"] <= 1


def test_csv_has_a_line_for_every_function(matching):
    floor = float(np.median(matching.confidence))
    kept = matching.confidence >= floor
    fewer = replace(
        matching,
        **{f.name: getattr(matching, f.name)[kept] for f in dataclasses.fields(matching)
           if f.name in ("rows", "columns", "scores", "ranks", "confidence")},
    )  # fmt: skip
    head, *lines = matching_csv(fewer).splitlines()
    assert head == ",".join(COLUMNS)
    alone = len(fewer.unmatched_a()) + len(fewer.unmatched_b())
    assert alone > 0
    assert len(lines) == int(kept.sum()) + alone
    assert all(line.count(",") == len(COLUMNS) - 1 for line in lines)
    # As those of `search --csv`.
    flags = [";".join(record["flags"]) for record in match_records(fewer)]
    assert any(";" in several for several in flags)
    assert [line.rsplit(",", 1)[1] for line in lines[: len(flags)]] == flags


def test_csv_has_the_same_columns_where_names_are_mangled(matching):
    readable = {name: f"{name}()" for name in matching.a.names}
    mangled = replace(matching, a=replace(matching.a, readable=readable))
    assert matching_csv(mangled) == matching_csv(matching)


def test_the_floor_leaves_pairs_unmatched(matching, embedder):
    strict = match(matching.a, matching.b, embedder, RULE, floor=1.0)
    assert len(strict.rows) == 0
    assert len(strict.unmatched_a()) == len(matching.a)


def test_too_many_functions_are_refused(matching, embedder, monkeypatch):
    monkeypatch.setattr(module, "MOST_CELLS", 10)
    with pytest.raises(LimitError, match=r"more pairs than 10 .*--min-blocks 5"):
        match(matching.a, matching.b, embedder, RULE)


def test_sides_are_read_in_table_order(side_of):
    side = side_of("gcc-O2-x86_64.so")
    assert side.addresses == sorted(side.addresses)
    assert [function.address for function in side.functions] == side.addresses
    assert len(side.constants) == len(side.strings) == len(side)
    for caller, callees in enumerate(side.calls):
        assert all(caller in side.callers[callee] for callee in callees)
    with pytest.raises(InputError, match="no function of at least 1000 blocks found, of 18 functions"):
        read_side(SideRequest(side.path, min_blocks=1000))


def test_neighbours_tell_twins_apart(side_of):
    """Where scores say nothing, the call graph places what hangs on an anchor."""
    a = side_of("gcc-O2-x86_64.so")
    nothing = np.zeros((len(a), len(a)), dtype=np.float32)
    scores = Scores(nothing, nothing)
    settled = pair(scores, a, a, replace(RULE, evidence=(0.0,) * 6))
    helped = pair(scores, a, a, RULE)
    assert (helped.rows == helped.columns).sum() >= (settled.rows == settled.columns).sum()
    assert "callees" in helped.evidence


def test_a_pair_is_judged_without_its_anchor(side_of):
    """Where scores and evidence are worth nothing, no pair is above its rivals, anchored or not."""
    a = side_of("gcc-O2-x86_64.so")
    nothing = np.zeros((len(a), len(a)), dtype=np.float32)
    found = pair(Scores(nothing, nothing), a, a, replace(RULE, evidence=(0.0,) * 6))
    assert (found.rows == found.columns).sum() > 5
    assert not found.features[:, :2].any()


class Sized(NamedTuple):
    num_instructions: np.ndarray

    def __len__(self):
        return len(self.num_instructions)


def test_anchors_have_no_rival_and_are_not_short():
    a, b = Sized(np.array([20, 20, 7, 8])), Sized(np.array([20, 20, 20, 7, 8]))
    # The second function has two of equal tokens in B; the third has one, and is short.
    pairs = np.array([(0, 0), (1, 1), (1, 2), (2, 3), (3, 4)]).T
    same = sparse.csr_array((np.ones(5), tuple(pairs)), shape=(4, 5))
    rows, columns = _anchors(a, b, same)
    assert (rows.tolist(), columns.tolist()) == ([0, 3], [0, 4])
    rows, columns = _anchors(b, a, sparse.csr_array(same.T))
    assert (rows.tolist(), columns.tolist()) == ([0, 4], [0, 3])


def test_calls_agree_where_partners_call_each_other(side_of):
    side = side_of("gcc-O2-x86_64.so")
    calls = sum(map(len, side.calls))
    everything = np.arange(len(side))
    assert calls >= 5
    assert call_agreement(side, side, everything, everything) == (calls + 1) / (calls + 2)
    caller = next(row for row, called in enumerate(side.calls) if called)
    alone = np.array([caller, side.calls[caller][0]])
    assert call_agreement(side, side, alone, alone[::-1]) <= 0.5
    assert call_agreement(side, side, everything[:0], everything[:0]) == 0.5


def test_features_are_what_they_are_called(side_of, embedder):
    a, b = side_of("gcc-O2-x86_64.so"), side_of("clang-O2-x86_64.so")
    scores = score(see(a, embedder), see(b, embedder), embedder.weights)
    pairs = pair(scores, a, b, RULE)
    named = dict(zip(FEATURES, pairs.features.T, strict=True))
    assert list(named) == list(FEATURES)
    assert (named["lead"] * named["deficit"] == 0).all()
    assert named["lead"].min() >= 0 >= named["deficit"].max()
    shorter = np.minimum(a.num_instructions[pairs.rows], b.num_instructions[pairs.columns])
    np.testing.assert_allclose(2 ** named["size"], shorter)
    np.testing.assert_array_equal(
        named["nearest"] == 1,
        [
            scores.corrected[i].argmax() == j and scores.corrected[:, j].argmax() == i
            for i, j in zip(pairs.rows, pairs.columns, strict=True)
        ],
    )
    np.testing.assert_allclose(named["likeness"], scores.plain[pairs.rows, pairs.columns])
    assert np.ptp(named["agreement"]) == 0
    assert 0 < named["agreement"][0] <= RELATED
    assert not named["handed"].any()
    callers = [
        [len(side.callers[row]) for row in rows] for side, rows in ((a, pairs.rows), (b, pairs.columns))
    ]
    np.testing.assert_array_equal(named["called"] == 1, np.sum(callers, axis=0) > 0)
    np.testing.assert_allclose(named["uneven"], np.abs(np.log2(np.divide(*(np.add(callers, 1))))))
    for kind in ("callers", "place"):
        np.testing.assert_allclose(named[kind], pairs.evidence[kind].toarray()[pairs.rows, pairs.columns])
        assert named[kind].any()
    assert not named["foreign"].any()
    other = side_of("gcc-O2-aarch64.so")
    scores = score(see(a, embedder), see(other, embedder), embedder.weights)
    assert pair(scores, a, other, RULE).features[:, FEATURES.index("foreign")].all()

"""Matching two builds: known partners found, one to one, the same every time; scores and flags as documented."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from weft.bcsd.match import match as module
from weft.bcsd.match.fit import fit_rule
from weft.bcsd.match.match import HIGHEST_SCORE, match, score_sides
from weft.bcsd.match.pairing import pair
from weft.bcsd.match.record import COLUMNS, matching_csv, matching_record
from weft.bcsd.match.rule import DEFAULT_RULE, Rule, load_rule, rule_of, save_rule
from weft.bcsd.match.side import SideRequest, read_side
from weft.bcsd.match.trial import Trial, known_side, packages_of, strangers
from weft.bcsd.use.embedder import Embedder
from weft.errors import CheckpointError, ConfigError, InputError, LimitError

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


def test_records_have_the_documented_form(matching):
    record = json.loads(json.dumps(matching_record(matching, "m", False)))
    assert list(record) == [
        "schema", "model", "calibrated", "a", "b", "matches", "unmatched_a", "unmatched_b",
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
    scores = np.zeros((len(a), len(a)), dtype=np.float32)
    settled = pair(scores, a, a, replace(RULE, evidence=(0.0, 0.0, 0.0, 0.0, 0.0)))
    helped = pair(scores, a, a, RULE)
    assert (helped.rows == helped.columns).sum() >= (settled.rows == settled.columns).sum()
    assert "callees" in helped.evidence


def trial(side_of, embedder, first, second):
    a, b = side_of(first), side_of(second)
    return Trial("XO", a, b, score_sides(a, b, embedder), a.names, b.names)


def test_a_fitted_rule_is_calibrated_on_what_it_saw(side_of, embedder):
    known = [
        trial(side_of, embedder, "gcc-O0-x86_64.so", "gcc-O3-x86_64.so"),
        trial(side_of, embedder, "gcc-O2-x86_64.so", "clang-O2-x86_64.so"),
    ]
    rule = fit_rule(known, version="v")
    assert rule.model == "v"
    assert rule.score > 0
    assert min(rule.evidence) >= 0
    for one in known:
        pairs = pair(one.scores, one.a, one.b, rule)
        judged, right = one.judge(pairs)
        assert right[judged].mean() >= 0.6
    sure, truth = [], []
    for one in known:
        pairs = pair(one.scores, one.a, one.b, rule)
        judged, right = one.judge(pairs)
        sure += pairs.confidence[judged].tolist()
        truth += right[judged].tolist()
    # A logistic regression with an intercept is right on average.
    assert np.mean(sure) == pytest.approx(np.mean(truth), abs=0.05)
    with_strangers = fit_rule(known, unrelated=[replace(known[0], names_a=[""] * len(known[0].a))])
    assert with_strangers.intercept != rule.intercept


def test_rules_survive_the_disk_and_know_their_model(tmp_path):
    rule = replace(DEFAULT_RULE, model="abc")
    save_rule(rule, tmp_path / "match.json")
    assert load_rule(tmp_path / "match.json") == rule
    assert rule_of(tmp_path, "abc") == (rule, True)
    assert rule_of(tmp_path, "other") == (rule, False)
    assert rule_of(tmp_path / "none", "abc") == (DEFAULT_RULE, False)
    for text in ("{", "[]", '{"score": 1}', '{"odd": 1}'):
        (tmp_path / "match.json").write_text(text)
        with pytest.raises(CheckpointError):
            rule_of(tmp_path, "abc")
    with pytest.raises(CheckpointError, match="cannot save"):
        save_rule(rule, tmp_path / "none" / "match.json")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"evidence": (1.0,)}, "evidence has 1 numbers; it must have 5"),
        ({"score": -1.0}, "at least 0"),
        ({"floor": 1.5}, "floor is 1.5"),
        ({"intercept": float("nan")}, "not finite"),
    ],
)
def test_rules_refuse_what_breaks_them(change, message):
    with pytest.raises(ConfigError, match=message):
        Rule(**{**dataclasses.asdict(DEFAULT_RULE), **change})


def test_only_packages_of_the_wanted_role_are_used(tmp_path):
    for package, role in (("expat", "valid"), ("zlib", "test")):
        folder = tmp_path / "builds" / package / "gcc-O0-x86_64"
        folder.mkdir(parents=True)
        (folder / "report.json").write_text(json.dumps({"report": {"role": role}}))
    assert [folder.name for folder in packages_of(tmp_path, "valid")] == ["expat"]
    with pytest.raises(InputError, match="role 'test'; only 'valid'"):
        known_side(tmp_path / "builds" / "zlib" / "gcc-O0-x86_64", "valid")
    with pytest.raises(InputError, match="no finished build"):
        known_side(tmp_path / "builds" / "zlib" / "gcc-O1-x86_64", "valid")


def test_strangers_pair_different_packages(side_of, embedder):
    side = side_of("gcc-O2-x86_64.so")
    known = []
    for package in ("one", "two"):
        placed = replace(side, path=f"/w/builds/{package}/gcc-O0-x86_64/stripped.so")
        known.append(Trial("XO", placed, placed, score_sides(side, side, embedder), side.names, side.names))
    found = strangers(known, embedder)
    assert [(t.a.path.split("/")[3], t.b.path.split("/")[3]) for t in found] == [
        ("one", "two"),
        ("two", "one"),
    ]
    assert not found[0].judge(pair(found[0].scores, found[0].a, found[0].b, RULE))[0].any()
    assert strangers(known[:1], embedder) == []

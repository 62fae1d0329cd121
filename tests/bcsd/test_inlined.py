"""What callees add to a function: who they are, what they bring, and where it is compared."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from weft.bcsd.represent.inlined import DEPTH, MOST, ONLY, SMALL, CallGraph, added_operations, added_tokens
from weft.bcsd.represent.lexical import LEVELS, Lexical, count_tokens
from weft.bcsd.represent.operations import FEATURES, operation_idf, operation_rows
from weft.bcsd.represent.rows import SHARE, Rows, blend
from weft.bcsd.table import INLINED, read_table, write_tables
from weft.bcsd.use.embedded import embed_table, lexical_of
from weft.bcsd.use.embedder import Embedder
from weft.bcsd.use.extract_files import build_table


def graph(calls: list[list[int]], lengths: list[int]) -> CallGraph:
    addresses = [100 * number for number in range(len(calls))]
    callees = [[100 * callee for callee in called] for called in calls]
    return CallGraph(addresses, callees, np.array(lengths))


def test_a_chain_is_followed_so_far_and_round_a_loop_once() -> None:
    chain = graph([[1], [2], [3], [4], [0]], [10] * 5)
    assert chain.inlined(0) == [1, 2, 3][:DEPTH]
    assert graph([[0, 1], [0, 1]], [10, 10]).inlined(0) == [1]
    assert graph([[7], []], [10, 10]).inlined(0) == []


def test_large_callees_come_only_to_their_only_caller() -> None:
    calls = [[2, 3, 4], [2, 4], [], [], []]
    lengths = [10, 10, SMALL + 1, SMALL + 1, SMALL]
    assert graph(calls, lengths).inlined(0) == [3, 4]
    assert graph(calls, lengths).inlined(1) == [4]
    assert graph([[1], []], [10, ONLY + 1]).inlined(0) == []


def test_all_callees_together_are_bounded_the_nearest_first() -> None:
    number = MOST // SMALL
    near = [[*range(1, number + 3)], *[[number + 3]] * (number + 2), []]
    lengths = [1] + [SMALL] * (number + 2) + [1]
    assert graph(near, lengths).inlined(0) == list(range(1, number + 1))


def test_what_callees_add_is_what_functions_joined_have() -> None:
    draw = np.random.default_rng(0)
    lengths = [5, 9, 3, 7]
    tokens = [draw.integers(10, 40, (length, 5)).astype(np.uint16) for length in lengths]
    function = np.repeat(np.arange(4), lengths)
    counts = count_tokens(np.concatenate(tokens), function, 4)
    inlined = [[1, 3], [], [0]]
    width = counts.get_shape()[1]

    def features(members: list[int]) -> set[int]:
        held = Counter(np.concatenate([tokens[member] for member in members]).reshape(-1).tolist())
        return {token + level * width for token in held for level, k in enumerate(LEVELS) if held[token] >= k}

    found = added_tokens(counts, range(3), inlined)
    for number, callees in enumerate(inlined):
        assert found[number].tolist() == sorted(features([number, *callees]) - features([number]))
    operations = [np.array([3, 5], np.uint16), np.array([5, 9], np.uint16), None, np.array([1], np.uint16)]
    found = added_operations(operations, range(3), [[1, 2, 3], [2], [0]])
    assert [None if one is None else one.tolist() for one in found] == [[1, 9], [], None]


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 99))
def test_a_blend_equals_its_equation(seed: int) -> None:
    draw = np.random.default_rng(seed)
    whole = draw.random((5, 8)) * (draw.random((5, 8)) < 0.7)
    mine = draw.random((5, 8)) < 0.5
    own, added = np.where(mine, whole, 0), np.where(mine, 0, whole)
    found = blend(sparse.csr_matrix(own), sparse.csr_matrix(added)).toarray()
    for row in range(5):
        if not own[row].any():
            assert not found[row].any()
            continue
        alone, joined = own[row] / np.linalg.norm(own[row]), whole[row] / np.linalg.norm(whole[row])
        expected = (1 - SHARE) * alone + SHARE * joined
        np.testing.assert_allclose(found[row], expected / np.linalg.norm(expected), atol=1e-6)


def test_pairs_are_compared_with_callees_where_both_sides_are_known() -> None:
    own = np.eye(3, 4, dtype=np.float32)
    blended = np.full((3, 4), 0.5, np.float32)
    rows = Rows(sparse.csr_matrix(own), sparse.csr_matrix(blended), np.array([True, False, True]))
    found = rows.products(rows[[0, 1]])
    np.testing.assert_allclose(found, [[1, 0], [0, 1], [1, 0]])
    np.testing.assert_allclose(rows.products(Rows.alone(sparse.csr_matrix(own))), np.eye(3))
    np.testing.assert_allclose(rows[[0, 2]].products(rows[[0, 2]]), np.ones((2, 2)))
    assert rows[1].products(rows).shape == (1, 3)


@pytest.fixture(scope="module")
def whole(files) -> pa.Table:
    builder, _ = build_table(str(files / "gcc-O0-x86_64.so"))
    return pa.concat_tables(builder.tables())


def test_small_functions_without_a_row_are_inlined_all_the_same(files, whole) -> None:
    builder, counts = build_table(str(files / "gcc-O0-x86_64.so"), min_blocks=5)
    large = pa.concat_tables(builder.tables())
    assert counts.left_out
    assert large.equals(whole.filter(np.array(whole["num_blocks"]) >= 5))
    assert any(large[INLINED[0]].to_pylist())
    assert any(large[INLINED[1]].to_pylist())


def test_of_an_object_it_is_not_known_what_callees_add(files) -> None:
    builder, _ = build_table(str(files / "gcc-O2-x86_64.o"))
    table = pa.concat_tables(builder.tables())
    assert all(table[name].null_count == table.num_rows for name in INLINED)
    assert not operation_rows(table).known.any()
    assert not Lexical.fit(table).rows(table).known.any()


def test_operations_are_blended_with_those_of_callees(whole) -> None:
    rows = operation_rows(whole)
    assert rows.known.all()
    own, added = np.zeros((2, len(whole), FEATURES), np.float32)
    for number, (mine, theirs) in enumerate(
        zip(whole["operations"].to_pylist(), whole[INLINED[0]].to_pylist(), strict=True)
    ):
        own[number, mine] = operation_idf()[mine]
        added[number, theirs] = operation_idf()[theirs]
    expected = blend(sparse.csr_matrix(own), sparse.csr_matrix(added))
    np.testing.assert_allclose(rows.blended.toarray(), expected.toarray(), atol=1e-6)


def test_embedded_rows_are_blended_as_extracted_ones(whole, lexical_model) -> None:
    embedder = Embedder.load(lexical_model)
    expected, found = embedder.lexical.rows(whole), lexical_of(embed_table(whole, embedder))
    for wanted, got in ((expected.own, found.own), (expected.blended, found.blended)):
        np.testing.assert_allclose(got.toarray()[:, : wanted.shape[1]], wanted.toarray(), atol=2e-3)
    assert (expected.blended != expected.own).nnz
    without = lexical_of(embed_table(whole, embedder, callees=False))
    assert not without.known.any()


def test_a_table_of_before_has_nothing_of_callees(whole, tmp_path) -> None:
    write_tables([whole], tmp_path / "now.parquet", whole.schema)
    assert read_table(tmp_path / "now.parquet").equals(whole)
    old = whole.drop_columns(list(INLINED))
    metadata = {key: value for key, value in whole.schema.metadata.items() if key != b"weft.inlined"}
    pq.write_table(old.replace_schema_metadata(metadata), tmp_path / "old.parquet")
    found = read_table(tmp_path / "old.parquet")
    assert found.column_names == whole.column_names
    assert all(found[name].null_count == found.num_rows for name in INLINED)
    some = read_table(tmp_path / "old.parquet", ["operations", INLINED[0]])
    assert some.column_names == ["operations", INLINED[0]]
    other = whole.replace_schema_metadata({**metadata, b"weft.inlined": b"0"})
    pq.write_table(other, tmp_path / "other.parquet")
    assert read_table(tmp_path / "other.parquet")[INLINED[1]].null_count == whole.num_rows

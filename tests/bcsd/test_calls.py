"""What functions call, and how well two functions' calls agree: against loops that read like the definitions."""

import numpy as np
import pyarrow as pa
from scipy import sparse

from weft.bcsd.represent.calls import CALLS, IMPORTS, Calls, called, calls_of, number_of, with_calls
from weft.bcsd.represent.sketch import DIMENSION, sketches
from weft.bcsd.use.score import ScoreWeights, without_hubs
from weft.bcsd.use.search.agreement import TEMPERATURE, agreement, with_agreement, without_hubs_among
from weft.bcsd.use.search.candidates import judged


def test_small_functions_are_looked_through_and_kept():
    # 1 → 2 (small) → 3 (small) → 4; 4 is large: what it calls is its own.
    reached, named = called(
        [1, 2, 3, 4, 5], [[2, 99], [3], [4, 1], [5], []], [["a"], [], ["b"], ["c"], []], [9, 2, 4, 5, 9]
    )
    assert [some.tolist() for some in reached] == [[2, 3, 4], [1, 3, 4], [1, 4], [5], []]
    numbers = {name: number_of(name) for name in "abc"}
    assert [set(some.tolist()) for some in named] == [
        {numbers["a"], numbers["b"]},
        {numbers["b"]},
        {numbers["b"]},
        {numbers["c"]},
        set(),
    ]


def test_calls_around_a_circle_end():
    reached, _ = called([1, 2], [[2, 1], [1]], [[], []], [1, 1])
    assert [some.tolist() for some in reached] == [[2], [1]]


def table(binaries, addresses, callees, imports, blocks):
    return pa.table(
        {
            "binary": binaries,
            "address": pa.array(addresses, pa.uint64()),
            "callees": pa.array(callees, pa.list_(pa.uint64())),
            "imports": pa.array(imports, pa.list_(pa.string())),
            "num_blocks": pa.array(blocks, pa.int32()),
        }
    )


def test_files_of_a_table_are_apart():
    functions = with_calls(
        table(["y", "x", "y", "x"], [1, 1, 2, 2], [[], [2], [1], [1]], [[], ["f"], [], []], [9, 9, 9, 9])
    )
    assert functions[CALLS].to_pylist() == [[], [2], [1], [1]]
    assert functions[IMPORTS].to_pylist() == [[], [number_of("f")], [], []]
    calls = calls_of(functions)
    assert calls.callees.toarray().tolist() == [[0, 0, 0, 0], [0, 0, 0, 1], [1, 0, 0, 0], [0, 1, 0, 0]]
    assert calls.among(np.array([3, 1])).callees.toarray().tolist() == [[0, 1], [1, 0]]
    assert np.diff(calls.imports.indptr).tolist() == [0, 1, 0, 0]
    assert with_calls(functions) is functions


def test_a_table_that_does_not_say_has_none():
    functions = table(["x"], [1], [[]], [[]], [9])
    assert calls_of(functions) is None
    nulls = functions.append_column(CALLS, pa.nulls(1, pa.list_(pa.uint64())))
    assert calls_of(nulls.append_column(IMPORTS, pa.nulls(1, pa.list_(pa.uint32())))) is None


def random_calls(random, count, names=5):
    edges = (random.random((count, count)) < 0.2).astype(np.float32)
    np.fill_diagonal(edges, 0)
    imports = (random.random((count, names)) < 0.3).astype(np.float32)
    return Calls(sparse.csr_matrix(edges), sparse.csr_matrix(imports))


def random_scores(random, queries, base):
    """Each query has some candidates; one of them has score 0, one query none."""
    ends, columns = [0], []
    for query in range(queries):
        some = [] if query == 3 else random.permutation(base)[:6].tolist()
        columns += sorted(some)
        ends.append(len(columns))
    data = random.random(len(columns)).astype(np.float32) * 0.1
    data[1] = 0
    return sparse.csr_matrix((data, np.array(columns), np.array(ends)), shape=(queries, base))


def test_agreement_equals_a_loop():
    random = np.random.default_rng(0)
    queries, base = random_calls(random, 8), random_calls(random, 10)
    scores = random_scores(random, 8, 10)
    entry = {
        (row, int(column)): scores.data[place]
        for row in range(8)
        for place in range(scores.indptr[row], scores.indptr[row + 1])
        for column in [scores.indices[place]]
    }

    def likely(n, m):
        if (n, m) not in entry:
            return 0.0
        power = np.exp(entry[n, m] / TEMPERATURE)
        forth = power / sum(np.exp(s / TEMPERATURE) for (i, _), s in entry.items() if i == n)
        back = power / sum(np.exp(s / TEMPERATURE) for (_, j), s in entry.items() if j == m)
        both = np.sqrt(forth * back)
        return both if both >= 0.01 else 0.0

    one, other = queries.callees.toarray(), base.callees.toarray()
    named, there = queries.imports.toarray(), base.imports.toarray()
    expected = []
    for i, j in entry:
        total = 0.0
        for x, y, extra in ((one, other, True), (one.T, other.T, False)):
            common = sum(likely(n, m) for n in np.flatnonzero(x[i]) for m in np.flatnonzero(y[j]))
            size = x[i].sum() + y[j].sum()
            if extra:
                common += (named[i] * there[j]).sum()
                size += named[i].sum() + there[j].sum()
            total += 2 * common / max(size, 1)
        expected.append(total)
    found = agreement(scores, queries, base)
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert found.max() > 0.3
    assert found.min() >= 0
    assert found.max() <= 2


def test_hubs_among_candidates_are_those_of_all_where_all_are_candidates():
    random = np.random.default_rng(1)
    scores = random.random((7, 9)).astype(np.float32)
    weights = ScoreWeights(hubness=1.5, neighbours=3)
    whole = sparse.csr_matrix((scores.ravel(), np.tile(np.arange(9), 7), np.arange(0, 64, 9)), shape=(7, 9))
    np.testing.assert_allclose(
        without_hubs_among(whole, weights).reshape(7, 9), without_hubs(scores, weights), atol=1e-6
    )
    calls = random_calls(random, 7), random_calls(random, 9)
    with_calls_too = ScoreWeights(hubness=1.5, neighbours=3, calls=0.1)
    np.testing.assert_allclose(
        judged(whole, *calls, with_calls_too)[0].reshape(7, 9),
        with_agreement(without_hubs(scores, weights), *calls, with_calls_too),
        atol=1e-5,
    )
    assert not judged(whole, None, calls[1], with_calls_too)[1].any()


def test_a_caller_of_the_right_function_is_found_among_twins():
    # Two candidates are equally near to query 0; only one calls what query 1 surely is.
    scores = np.array([[0.6, 0.6, 0.0], [0.0, 0.0, 0.9]], np.float32)
    empty = sparse.csr_matrix((3, 4), dtype=np.float32)
    queries = Calls(sparse.csr_matrix(np.array([[0, 1], [0, 0]], np.float32)), empty[:2])
    base = Calls(sparse.csr_matrix(np.array([[0, 0, 0], [0, 0, 1], [0, 0, 0]], np.float32)), empty)
    better = with_agreement(scores, queries, base, ScoreWeights(calls=0.1))
    assert better[0].argmax() == 1
    assert better[0, 1] - better[0, 0] > 0.05


def test_sketches_keep_products():
    random = np.random.default_rng(2)
    rows = sparse.random(60, 1 << 16, density=60 / (1 << 16), random_state=3, format="csr", dtype=np.float32)
    rows = rows + 0.5 * sparse.vstack([rows[:1]] * 60)
    rows = sparse.diags(1 / np.sqrt(rows.multiply(rows).sum(axis=1).A1)) @ rows
    found = sketches(rows.tocsr())
    assert found.shape == (60, DIMENSION)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, atol=1e-5)
    errors = (found @ found.T - (rows @ rows.T).toarray())[~np.eye(60, dtype=bool)]
    assert errors.std() < 1.5 / np.sqrt(DIMENSION)
    assert abs(errors.mean()) < 0.05
    assert not sketches(sparse.csr_matrix((2, 1 << 16), dtype=np.float32)).any()
    order = random.permutation(60)
    np.testing.assert_array_equal(sketches(rows.tocsr()[order]), found[order])

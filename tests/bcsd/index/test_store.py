"""The table of an index: whole commits, no row twice, the same sample, near enough neighbours."""

import numpy as np
import pyarrow as pa
import pytest

from weft.bcsd.index.store import FunctionStore
from weft.bcsd.use.embedded import embeddings_of, lexical_of


def test_a_file_is_replaced_whole_and_the_others_stay(make_rows, tmp_path):
    store = FunctionStore.open_or_create(tmp_path, 16, "v")
    store.replace(pa.concat_tables([make_rows("/a", 30), make_rows("/it's b", 20, seed=1)]))
    store.replace(make_rows("/c", 10, seed=2))
    store.replace(make_rows("/it's b", 7, seed=3), ["/it's b"])
    assert {path: file.functions for path, file in store.files().items()} == {
        "/a": 30,
        "/c": 10,
        "/it's b": 7,
    }
    assert store.files()["/it's b"].sha256 == f"{3:064x}"
    store.replace(make_rows("/it's b", 25, seed=4), ["/it's b"])
    store.remove(["/a"])
    store.remove([])
    store.tidy()
    assert len(FunctionStore.open(tmp_path)) == len(store) == 35
    assert "/a" not in store.files()


def test_rows_come_back_as_they_went_in(make_rows, tmp_path):
    rows = make_rows("/a", 12)
    store = FunctionStore.open_or_create(tmp_path, 16, "v")
    store.replace(rows)
    ids, embeddings, blocks, _ = store.vectors()
    order = np.argsort(ids)
    np.testing.assert_array_equal(embeddings[order], embeddings_of(rows))
    np.testing.assert_array_equal(blocks[order], rows["num_blocks"].to_numpy())
    taken = store.take([int(ids[order[4]])])
    assert taken["name"].to_pylist() == ["f4"]
    assert (lexical_of(taken).own != lexical_of(rows.slice(4, 1)).own).nnz == 0


def test_an_open_store_stays_at_its_version(make_rows, tmp_path):
    writer = FunctionStore.open_or_create(tmp_path, 16, "v")
    writer.replace(make_rows("/a", 5))
    reader = FunctionStore.open(tmp_path)
    writer.replace(make_rows("/b", 5, seed=1))
    writer.tidy()
    assert (len(reader), len(writer)) == (5, 10)
    assert len(reader.vectors()[0]) == 5


def test_the_sample_does_not_depend_on_how_the_rows_came_in(make_rows, tmp_path):
    parts = [make_rows(f"/{number}", 40, seed=number) for number in range(4)]
    samples = []
    for name, order in (("one", [0, 1, 2, 3]), ("two", [3, 1, 0, 2])):
        store = FunctionStore.open_or_create(tmp_path / name, 16, "v")
        for number in order:
            store.replace(parts[number])
        drawn = store.take(store.sample(20, 5))
        assert min(drawn["num_blocks"].to_pylist()) >= 5
        samples.append(sorted(drawn["token_digest"].to_pylist()))
    assert samples[0] == samples[1]
    assert len(set(samples[0])) == 20


@pytest.mark.filterwarnings("ignore:.*KMeans.*")
def test_the_approximate_index_finds_most_of_the_nearest(make_rows, tmp_path):
    centres = np.random.default_rng(9).standard_normal((60, 16))
    store = FunctionStore.open_or_create(tmp_path, 16, "v")
    store.replace(make_rows("/a", 3000, centres=centres))
    store.tidy(exact_rows=1000)
    assert store.has_neighbours
    store.replace(make_rows("/b", 500, seed=1, centres=centres))
    store.tidy(exact_rows=1000)
    ids, embeddings, blocks, _ = store.vectors()
    found = 0
    for query in embeddings[:40]:
        scores = np.where(blocks >= 5, embeddings @ query, -1)
        exact = set(ids[np.argsort(-scores)[:10]].tolist())
        found += len(exact & set(store.nearest(query, 10, 5)))
    assert found / 400 >= 0.95


@pytest.mark.filterwarnings("ignore:.*KMeans.*")
def test_lists_that_have_grown_four_times_too_long_are_made_anew(make_rows, tmp_path):
    store = FunctionStore.open_or_create(tmp_path, 16, "v")
    assert store.lists == 0
    counts = []
    for name, rows in (("/a", 800), ("/b", 800), ("/c", 1600)):
        store.replace(make_rows(name, rows, seed=rows))
        store.tidy(exact_rows=500)
        counts.append(FunctionStore.open(tmp_path).lists)
    assert counts == [20, 20, 80]
    assert len(store.nearest(store.vectors()[1][0], 10, 0)) == 10


@pytest.mark.filterwarnings("ignore:.*KMeans.*")
def test_functions_of_a_rare_size_are_found_among_many_that_are_nearer(make_rows, tmp_path):
    store = FunctionStore.open_or_create(tmp_path, 16, "v")
    rows = make_rows("/a", 2000)
    blocks = np.where(np.arange(2000) % 100, 3, 70).astype(np.int32)
    column = rows.schema.get_field_index("num_blocks")
    store.replace(rows.set_column(column, rows.schema.field(column), pa.array(blocks)))
    store.tidy(exact_rows=1000)
    ids, embeddings, sizes, _ = store.vectors()
    large = set(ids[sizes >= 70].tolist())
    assert len(large) == 20
    for query in embeddings[:5]:
        assert set(store.nearest(query, 10, 70)) <= large
        assert len(store.nearest(query, 10, 70)) == 10


def test_columns_that_nobody_looks_at_are_left_out(make_rows, tmp_path):
    store = FunctionStore.open_or_create(tmp_path, 16, "v")
    store.replace(make_rows("/a", 30))
    ids = store.vectors().ids.tolist()
    whole = store.take(reversed(ids))
    some = store.take(ids[5:], ("embedding", "num_blocks"))
    assert whole["_rowid"].to_pylist() == sorted(ids)
    assert set(whole.column_names) - set(some.column_names) == {"embedding", "num_blocks"}
    for name in some.column_names:
        assert some[name].to_pylist() == [
            whole[name].to_pylist()[whole["_rowid"].to_pylist().index(i)] for i in sorted(ids[5:])
        ]


def test_a_small_sample_of_many_is_of_the_smallest_draws(make_rows, tmp_path):
    store = FunctionStore.open_or_create(tmp_path, 16, "v")
    for number in range(3):
        store.replace(make_rows(f"/{number}", 120, seed=number))
    whole = store.take(store.vectors().ids.tolist())
    large = whole.filter(pa.array(whole["num_blocks"].to_numpy() >= 5))
    smallest = np.unique(large["draw"].to_numpy())[:10]
    drawn = store.take(store.sample(10, 5))
    assert len(large) > 80
    assert sorted(drawn["draw"].to_pylist()) == smallest.tolist()

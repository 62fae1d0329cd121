"""Lists in one column: they come back as they went in, from indices that have the column and from those that do not."""

import numpy as np
import pyarrow as pa
import pytest

from weft.bcsd.index.packed import LISTS, PACKED, pack, to_read, unpack
from weft.bcsd.index.store import FunctionStore
from weft.bcsd.use.embedded import embedded_schema

SCHEMA = embedded_schema(16, "v")


def lists(kind, *values):
    return pa.array(
        [None if one is None else np.array(one, kind) for one in values], pa.list_(pa.from_numpy_dtype(kind))
    )


@pytest.fixture
def some():
    """Three rows: with everything, with nothing, with empty lists and null ones."""
    full, null = [[3, 1, 60000], [], [7]], [[1, 2], None, []]
    columns = {name: lists(kind, *(null if "inlined" in name else full)) for name, kind in LISTS.items()}
    return pa.table(columns)


def test_lists_come_back(some):
    column = pa.chunked_array([pack(some)])
    for first, count in ((0, 3), (1, 1), (2, 1)):
        for name, held in unpack(column.slice(first, count)).items():
            assert held.type == SCHEMA.field(name).type
            assert held.to_pylist() == some[name].slice(first, count).to_pylist(), name
    assert [len(held) for held in unpack(column.slice(0, 0)).values()] == [0] * len(LISTS)
    assert unpack(pa.chunked_array([], pa.large_binary())).keys() == LISTS.keys()


def test_a_row_that_is_none_is_told(some):
    good = pack(some).to_pylist()
    for bad in (good[0][:-2], good[0] + b"ab", good[0][:8]):
        with pytest.raises(ValueError, match="a packed row has"):
            unpack(pa.chunked_array([pa.array([good[1], bad], pa.large_binary())]))


def test_the_packed_column_is_read_for_all_its_lists_or_not():
    there = ["name", *LISTS, PACKED]
    assert to_read(there, there) == [PACKED, "name"]
    assert to_read(["name", "lexical_tokens"], there) == ["name", "lexical_tokens"]
    assert to_read(there[:-1], there[:-1]) == there[:-1]


def test_an_index_from_before_is_read_and_written_as_it_is(make_rows, tmp_path):
    rows = make_rows("/a", 12)
    store = FunctionStore.open_or_create(tmp_path / "new", 16, "v")
    store.replace(rows)
    (tmp_path / "old").mkdir()
    old = FunctionStore.open_or_create(tmp_path / "old", 16, "v")
    old._table.drop_columns([PACKED])
    old = FunctionStore.open(tmp_path / "old")
    old.replace(rows)
    assert PACKED not in old._table.schema.names
    first, second = (each.take(each.sample(1 << 10, 0)).sort_by("address") for each in (store, old))
    assert PACKED not in first.column_names
    for name in rows.column_names:
        assert first[name].to_pylist() == second[name].to_pylist() == rows[name].to_pylist(), name
    assert store.rows().column_names == old.rows().column_names

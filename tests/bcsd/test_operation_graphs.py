"""Graphs of operations: arrays, files beside a table, and what is wrong with them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from weft.bcsd.lift.apart.bounded import BoundedLifter
from weft.bcsd.lift.apart.wire import pack_graph, unpack_graph
from weft.bcsd.lift.gather import code_of, surroundings_of
from weft.bcsd.lift.interface import OperationEdge
from weft.bcsd.lift.pcode import PcodeLifter
from weft.bcsd.represent.arrays import FunctionArrays
from weft.bcsd.represent.graphs import LEVELS, OperationGraphs, graphs_of, read_graphs, write_graphs
from weft.errors import InputError

NATIVE = "gcc-O3-x86_64.so"


def test_the_process_gives_the_graph_that_the_lifter_gives(functions_of) -> None:
    image, functions = functions_of(NATIVE)
    around = surroundings_of(image)
    bounded, lifter = BoundedLifter(around), PcodeLifter()
    for function in list(functions.values())[:12]:
        code = code_of(image, function)
        found = lifter.lift(code, around, graph=True)
        graph = bounded.graph(code)
        assert graph is not None
        assert [tuple(row) for row in graph[0].tolist()] == list(found.codes)
        assert [tuple(row) for row in graph[1].tolist()] == [tuple(map(int, edge)) for edge in found.edges]
        assert len(found.codes) == len(found.operations)
        codes, edges = unpack_graph(pack_graph(found))
        assert len(codes) == 6 * len(found.codes)
        assert len(edges) == 12 * len(found.edges)


def test_constants_keep_their_number_and_later_operands_their_place(functions_of) -> None:
    image, functions = functions_of(NATIVE)
    around, lifter = surroundings_of(image), PcodeLifter()
    names: set[str] = set()
    for function in functions.values():
        found = lifter.lift(code_of(image, function), around, graph=True)
        names |= set(found.operations)
        for source, target, kind in found.edges:
            if kind == OperationEdge.LATER:
                assert not found.operations[source].startswith(("ADD", "MULT", "AND", "OR", "XOR", "PHI"))
                assert source != target
    assert {"1", "@", "PHI"} <= names
    assert not any(name.startswith(("ZEXT", "SEXT", "SUBPIECE")) for name in names)


def one(operations: int, edges: list[tuple[int, int, int]], seed: int = 0):
    """Codes by chance, and these edges."""
    draw = np.random.default_rng(seed)
    codes = draw.integers(0, 1 << 16, (operations, LEVELS)).astype(np.uint16)
    return codes, np.array(edges, np.uint32).reshape(-1, 3)


def three() -> OperationGraphs:
    ring = [(i, (i + 1) % 40, 0) for i in range(40)] + [(i, (i + 7) % 40, 1) for i in range(40)]
    return OperationGraphs.collect([one(40, ring), None, one(3, [(0, 1, 0), (1, 2, 4)], 1)])


def test_graphs_are_cut_and_counted() -> None:
    whole = three()
    assert whole.num_nodes.tolist() == [40, 0, 3]
    assert whole.cut == 0
    cut = OperationGraphs.collect(
        [one(40, [(0, 1, 0), (1, 39, 2), (3, 10, 1)]), one(5, [(4, 0, 0)])], largest=11
    )
    assert cut.num_nodes.tolist() == [11, 5]
    assert cut.operations.tolist() == [40, 5]
    assert cut.cut == 1
    assert cut.edges.tolist() == [[0, 1], [3, 10], [4, 0]]
    assert cut.kinds.tolist() == [0, 1, 0]
    assert cut.first_edge.tolist() == [0, 2, 3]


def test_some_are_taken_in_any_order() -> None:
    graphs = three()
    taken = graphs.take(np.array([2, -1, 0, 2]))
    assert taken.num_nodes.tolist() == [3, 0, 40, 3]
    np.testing.assert_array_equal(taken.codes[:3], graphs.codes[40:])
    np.testing.assert_array_equal(taken.codes[3:43], graphs.codes[:40])
    assert taken.edges[:2].tolist() == [[0, 1], [1, 2]]
    assert taken.first_edge.tolist() == [0, 2, 2, 82, 84]
    assert taken.operations.tolist() == [3, 0, 40, 3]


def test_shuffled_edges_end_elsewhere_in_the_same_function() -> None:
    graphs = three()
    shuffled = graphs.shuffled(0)
    own = slice(0, 80)
    assert (shuffled.edges[own] != graphs.edges[own]).any(axis=1).mean() > 0.9
    np.testing.assert_array_equal(shuffled.edges[:, 0], graphs.edges[:, 0])
    np.testing.assert_array_equal(shuffled.kinds, graphs.kinds)
    # As often at each operation as before, and never in another function.
    np.testing.assert_array_equal(np.sort(shuffled.edges[own, 1]), np.sort(graphs.edges[own, 1]))
    assert sorted(shuffled.edges[80:, 1].tolist()) == sorted(graphs.edges[80:, 1].tolist())
    np.testing.assert_array_equal(shuffled.edges, graphs.shuffled(0).edges)
    assert (shuffled.edges != graphs.shuffled(1).edges).any()


def test_what_is_written_is_read(tmp_path) -> None:
    address = np.array([64, 16, 128], np.uint64)
    write_graphs(tmp_path / "a.npz", "lifter", address, three())
    lifter, there, graphs = read_graphs(tmp_path / "a.npz")
    assert lifter == "lifter"
    assert there.tolist() == [64, 16, 128]
    for name in ("codes", "first_node", "edges", "kinds", "first_edge", "operations"):
        np.testing.assert_array_equal(getattr(graphs, name), getattr(three(), name))


def table(*rows: tuple[str, int]) -> pa.Table:
    binary, address = zip(*rows, strict=True)
    return pa.table({"binary_sha256": list(binary), "address": pa.array(address, pa.uint64())})


def test_a_tables_functions_get_their_own_graphs(tmp_path) -> None:
    write_graphs(tmp_path / "a.npz", "lifter", np.array([64, 16, 128], np.uint64), three())
    few = OperationGraphs.collect([one(2, [(0, 1, 3)], 5)])
    write_graphs(tmp_path / "b.npz", "lifter", np.array([64], np.uint64), few)
    graphs = graphs_of(tmp_path, table(("b", 64), ("a", 128), ("a", 99), ("a", 16), ("a", 64), ("b", 65)))
    assert graphs.num_nodes.tolist() == [2, 3, 0, 0, 40, 0]
    np.testing.assert_array_equal(graphs.codes[:2], few.codes)
    np.testing.assert_array_equal(graphs.codes[5:], three().codes[:40])


def test_every_wrong_file_is_one_error(tmp_path) -> None:
    address = np.array([64, 16, 128], np.uint64)
    place = tmp_path / "a.npz"
    with pytest.raises(InputError, match="no such file"):
        graphs_of(tmp_path, table(("a", 64)))
    with pytest.raises(InputError, match="no column 'address'"):
        graphs_of(tmp_path, table(("a", 64)).drop_columns(["address"]))
    write_graphs(place, "lifter", address, three())
    content = place.read_bytes()
    for damaged in (b"", b"no zip", content[: len(content) // 2], content[:-30]):
        place.write_bytes(damaged)
        with pytest.raises(InputError, match="graphs of operations"):
            read_graphs(place)
    np.savez(place, version=np.int64(1))
    with pytest.raises(InputError, match="no file of graphs"):
        read_graphs(place)
    np.save(tmp_path / "alone.npy", np.zeros(3))
    with pytest.raises(InputError, match="no file of graphs"):
        read_graphs(tmp_path / "alone.npy")
    np.savez(place, version=np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(InputError, match="no file of graphs"):
        read_graphs(place)


@pytest.mark.parametrize(
    "change",
    [
        {"edges": np.full((82, 2), 40, np.uint16)},
        {"edges": np.zeros((82, 3), np.uint16)},
        {"kinds": np.full(82, len(OperationEdge), np.uint8)},
        {"kinds": np.zeros(81, np.uint8)},
        {"first_node": np.array([0, 41, 40, 43])},
        {"first_node": np.array([0, 40, 43])},
        {"first_edge": np.array([0, 80, 80, 90])},
        {"codes": np.zeros((43, LEVELS), np.float32)},
        {"operations": np.zeros(2, np.int64)},
    ],
)
def test_arrays_that_do_not_fit_are_refused(tmp_path, change) -> None:
    write_graphs(tmp_path / "a.npz", "lifter", np.array([1, 2, 3], np.uint64), replace(three(), **change))
    with pytest.raises(InputError, match="damaged"):
        read_graphs(tmp_path / "a.npz")


def test_other_versions_and_other_lifters_are_told(tmp_path, monkeypatch) -> None:
    address = np.array([1, 2, 3], np.uint64)
    write_graphs(tmp_path / "a.npz", "one", address, three())
    write_graphs(tmp_path / "b.npz", "two", address, three())
    with pytest.raises(InputError, match="other lifters"):
        graphs_of(tmp_path, table(("a", 1), ("b", 1)))
    monkeypatch.setattr("weft.bcsd.represent.graphs.GRAPHS_VERSION", 2)
    with pytest.raises(InputError, match="graphs of version 1"):
        read_graphs(tmp_path / "a.npz")


def test_as_many_graphs_as_functions(labelled) -> None:
    some = labelled.filter(pc.field("role") == "valid").slice(0, 2)
    with pytest.raises(InputError, match="3 graphs of operations for 2 functions"):
        FunctionArrays.from_table(some, three())

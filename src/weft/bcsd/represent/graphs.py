"""Graphs of the operations of functions as flat arrays, and the files beside a table that hold them."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from weft.bcsd.lift.interface import OperationEdge
from weft.bcsd.represent.arrays import spans
from weft.errors import InputError
from weft.platform.files import replaced

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Raised whenever the same function would have another graph, or its file another form.
GRAPHS_VERSION = 1
#: Codes of an operation: its name, with its operands' names, with theirs.
LEVELS = 3
#: Values of a code.
CODES = 1 << 16
#: Operations of a function that are kept, effects first.
LARGEST = 1024
_NAMES = ("version", "lifter", "address", "operations", "codes", "first_node", "edges", "kinds", "first_edge")

OneGraph = tuple["NDArray[np.uint16]", "NDArray[np.uint32]"]


@dataclass(frozen=True, eq=False)
class OperationGraphs:
    """The graphs of some functions, one after another; a function that has none has no operations.

    Args:
        codes: ``(operations, LEVELS)`` uint16, of all functions: see :class:`weft.bcsd.lift.interface.Lifted`.
        first_node: ``(functions + 1,)``.
        edges: ``(edges, 2)`` uint16: the first, counted within its function, depends on the second.
        kinds: ``(edges,)`` uint8, of :class:`weft.bcsd.lift.interface.OperationEdge`.
        first_edge: ``(functions + 1,)``.
        operations: ``(functions,)``, how many each had before it was cut to :data:`LARGEST`.
    """

    codes: NDArray[np.uint16]
    first_node: NDArray[np.int64]
    edges: NDArray[np.uint16]
    kinds: NDArray[np.uint8]
    first_edge: NDArray[np.int64]
    operations: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.first_node) - 1

    @property
    def num_nodes(self) -> NDArray[np.int64]:
        """Operations of each function that are kept."""
        return np.diff(self.first_node)

    @property
    def cut(self) -> int:
        """Functions of which operations are left out."""
        return int((self.operations > self.num_nodes).sum())

    @classmethod
    def collect(cls, graphs: Sequence[OneGraph | None], largest: int = LARGEST) -> OperationGraphs:
        """Put graphs together.

        Args:
            graphs: Codes and edges of each function, as :meth:`BoundedLifter.graph` gives them; None has none.
            largest: Operations that are kept of each.
        """
        nothing = np.zeros((0, LEVELS), np.uint16), np.zeros((0, 3), np.uint32)
        codes: list[NDArray[np.uint16]] = [nothing[0]]
        edges: list[NDArray[np.uint32]] = [nothing[1]]
        sizes: list[int] = []
        for graph in graphs:
            own, between = graph or nothing
            sizes.append(len(own))
            codes.append(own[:largest])
            edges.append(between[(between[:, :2] < largest).all(axis=1)])
        joined = np.concatenate(edges)
        return cls(
            codes=np.concatenate(codes),
            first_node=np.cumsum([len(part) for part in codes], dtype=np.int64),
            edges=joined[:, :2].astype(np.uint16),
            kinds=joined[:, 2].astype(np.uint8),
            first_edge=np.cumsum([len(part) for part in edges], dtype=np.int64),
            operations=np.array(sizes, np.int64),
        )

    def take(self, rows: NDArray[np.int64]) -> OperationGraphs:
        """The graphs of some functions, in that order; −1 is one without."""
        there = np.flatnonzero(rows >= 0)
        nodes, edges, sizes = (np.zeros(len(rows), np.int64) for _ in range(3))
        nodes[there], sizes[there] = self.num_nodes[rows[there]], self.operations[rows[there]]
        edges[there] = np.diff(self.first_edge)[rows[there]]
        node_rows, edge_rows = (spans(first, rows[there]) for first in (self.first_node, self.first_edge))
        return OperationGraphs(
            self.codes[node_rows],
            np.concatenate([[0], np.cumsum(nodes)]),
            self.edges[edge_rows],
            self.kinds[edge_rows],
            np.concatenate([[0], np.cumsum(edges)]),
            sizes,
        )

    def shuffled(self, seed: int) -> OperationGraphs:
        """A control: every edge ends somewhere else in its function, as often at each operation as before.

        Args:
            seed: Of the order.
        """
        draw = np.random.default_rng(seed)
        owner = np.repeat(np.arange(len(self)), np.diff(self.first_edge))
        # Sorted by function, and by chance within each.
        order = np.lexsort((draw.random(len(owner)), owner))
        edges = np.stack([self.edges[:, 0], self.edges[order, 1]], axis=1)
        return replace(self, edges=edges)


def write_graphs(path: Path, lifter: str, address: NDArray[np.uint64], graphs: OperationGraphs) -> None:
    """Write the graphs of one binary: NumPy arrays in a zip file, which appears under its name when it is whole.

    Args:
        path: The file, ``.npz``.
        lifter: Name of the lifter.
        address: ``(functions,)``, of each function.
        graphs: Theirs.

    Raises:
        OutputError: The place cannot be written.
    """
    arrays: dict[str, Any] = {name: getattr(graphs, name) for name in _NAMES[3:]}
    with replaced(path) as part, open(part, "wb") as file:
        np.savez_compressed(
            file, version=np.int64(GRAPHS_VERSION), lifter=np.array(lifter), address=address, **arrays
        )


def read_graphs(path: str | os.PathLike[str]) -> tuple[str, NDArray[np.uint64], OperationGraphs]:
    """The lifter's name, the functions' addresses, and their graphs, as :func:`write_graphs` wrote them.

    Raises:
        InputError: It is missing, no such file, damaged, or of another version.
    """
    place = os.fspath(path)
    try:
        with open(place, "rb") as stream:
            file: Any = np.load(stream, allow_pickle=False)
            held: dict[str, Any] = {name: file[name] for name in _NAMES}
    except FileNotFoundError as error:
        raise InputError("no such file", where=place) from error
    except (OSError, ValueError, EOFError, LookupError, zipfile.BadZipFile) as error:
        raise InputError("no file of graphs of operations", where=place) from error
    version = held["version"].tolist()
    if version != GRAPHS_VERSION:
        raise InputError(
            f"graphs of version {version}", where=place, hint=f"this version reads {GRAPHS_VERSION}"
        )
    graphs = OperationGraphs(**{name: held[name] for name in _NAMES[3:]})
    if not _sound(held["address"], graphs):
        raise InputError("a damaged file of graphs of operations", where=place)
    return str(held["lifter"]), held["address"], graphs


def graphs_of(folder: Path, functions: pa.Table) -> OperationGraphs:
    """The graphs of a table's functions, in its order; a function that could not be lifted has none.

    Args:
        folder: With a file ``SHA256.npz`` for each binary.
        functions: With the columns ``binary_sha256`` and ``address``.

    Raises:
        InputError: A binary has no file, a file cannot be read, or two are of different lifters.
    """
    columns = [name for name in ("binary_sha256", "address") if name not in functions.column_names]
    if columns:
        raise InputError(f"the table of functions has no column {columns[0]!r}")
    binary, which = np.unique(
        np.asarray(functions.column("binary_sha256").to_pylist(), dtype=str), return_inverse=True
    )
    address = np.asarray(functions.column("address"), dtype=np.uint64)
    parts: list[OperationGraphs] = []
    row = np.full(functions.num_rows, -1, np.int64)
    lifters: set[str] = set()
    before = 0
    for number, digest in enumerate(binary):
        place = folder / f"{digest}.npz"
        lifter, there, graphs = read_graphs(place)
        lifters.add(lifter)
        if len(lifters) > 1:
            raise InputError(f"graphs of other lifters than the files before: {lifter}", where=str(place))
        wanted = np.flatnonzero(which == number)
        order = np.argsort(there, kind="stable")
        at = order[np.minimum(np.searchsorted(there[order], address[wanted]), len(there) - 1)]
        found = there[at] == address[wanted]
        row[wanted[found]] = at[found] + before
        parts.append(graphs)
        before += len(graphs)
    return _joined(parts).take(row)


def _joined(parts: Sequence[OperationGraphs]) -> OperationGraphs:
    def firsts(name: str) -> NDArray[np.int64]:
        lengths = np.concatenate([np.diff(getattr(part, name)) for part in parts])
        return np.concatenate([[0], np.cumsum(lengths)])

    def rows(name: str) -> Any:
        return np.concatenate([getattr(part, name) for part in parts])

    return OperationGraphs(
        rows("codes"),
        firsts("first_node"),
        rows("edges"),
        rows("kinds"),
        firsts("first_edge"),
        rows("operations"),
    )


def _sound(address: NDArray[Any], graphs: OperationGraphs) -> bool:
    """Whether arrays of a file fit together: types, shapes, offsets, ends of edges, kinds."""
    expected = (
        (address, np.uint64, (-1,)),
        (graphs.codes, np.uint16, (-1, LEVELS)),
        (graphs.first_node, np.int64, (-1,)),
        (graphs.edges, np.uint16, (-1, 2)),
        (graphs.kinds, np.uint8, (-1,)),
        (graphs.first_edge, np.int64, (-1,)),
        (graphs.operations, np.int64, (-1,)),
    )
    for array, kind, shape in expected:
        same = array.ndim == len(shape) and all(b in (-1, a) for a, b in zip(array.shape, shape, strict=True))
        if array.dtype != kind or not same:
            return False
    functions = len(address)
    for first, rows in ((graphs.first_node, len(graphs.codes)), (graphs.first_edge, len(graphs.edges))):
        ends = len(first) == functions + 1 and first[0] == 0 and first[-1] == rows
        if not ends or (np.diff(first) < 0).any():
            return False
    if not functions or len(graphs.operations) != functions or len(graphs.kinds) != len(graphs.edges):
        return False
    largest = np.repeat(graphs.num_nodes, np.diff(graphs.first_edge))
    within = bool((graphs.edges.astype(np.int64) < largest[:, None]).all())
    return within and bool((graphs.kinds < len(OperationEdge)).all())

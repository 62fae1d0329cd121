"""What a function calls that another build of it may call too: functions of its file, and imports by their names."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from scipy import sparse

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: The columns of tables: addresses of functions, and numbers of names; null where it is not known what is called.
CALLS, IMPORTS = "calls", "called_imports"
#: Raised whenever the same functions and calls would give other columns.
CALLS_VERSION = 1
#: A function of fewer blocks is looked through: what it calls, its callers call too. So many, one after another.
SMALL, THROUGH = 5, 3
#: Functions that one calls, at most: the nearest.
MOST = 256
#: Numbers of names are below this.
NAMES = 1 << 32


def number_of(name: str) -> int:
    """A number for the name of an import, the same everywhere; two names in four billion share one."""
    return zlib.crc32(name.encode("utf-8", "surrogatepass"))


def called(
    addresses: Sequence[int],
    callees: Sequence[Sequence[int]],
    imports: Sequence[Sequence[str]],
    blocks: Sequence[int],
) -> tuple[list[NDArray[np.uint64]], list[NDArray[np.uint32]]]:
    """What each function of a file calls, by itself or by small functions.

    A compiler inlines the small ones or does not; so both what stands in between and what lies behind is kept.

    Args:
        addresses: Of the functions.
        callees: Addresses that each calls; others than those of ``addresses`` lead nowhere.
        imports: Names of imports that each calls.
        blocks: Of each.

    Returns:
        Addresses of functions, and numbers of the names of imports, sorted, of each function.
    """
    place = {address: number for number, address in enumerate(addresses)}
    calls = [[place[address] for address in some if address in place] for some in callees]
    reached: list[NDArray[np.uint64]] = []
    named: list[NDArray[np.uint32]] = []
    for function in range(len(addresses)):
        seen, names, front = {function}, set(imports[function]), [function]
        for _ in range(1 + THROUGH):
            found = [callee for caller in front for callee in calls[caller]]
            found = [callee for callee in dict.fromkeys(found) if callee not in seen][: MOST + 1 - len(seen)]
            seen.update(found)
            front = [callee for callee in found if blocks[callee] < SMALL]
            for callee in front:
                names.update(imports[callee])
        seen.remove(function)
        reached.append(np.array(sorted(addresses[callee] for callee in seen), np.uint64))
        named.append(np.array(sorted({number_of(name) for name in names}), np.uint32))
    return reached, named


def with_calls(functions: pa.Table) -> pa.Table:
    """The table with the columns, worked out from ``callees`` and ``imports`` where it has none.

    Args:
        functions: All functions of some files, which the column ``binary`` names. Other columns that are needed:
            ``address``, ``callees``, ``imports``, ``num_blocks``.
    """
    held = CALLS in functions.column_names and IMPORTS in functions.column_names
    if held and functions.column(CALLS).null_count < functions.num_rows:
        return functions
    addresses, callees, imports, blocks = (
        functions.column(name).to_pylist() for name in ("address", "callees", "imports", "num_blocks")
    )
    files: dict[str, list[int]] = {}
    for row, binary in enumerate(functions.column("binary").to_pylist()):
        files.setdefault(binary, []).append(row)
    reached: list[NDArray[np.uint64] | None] = [None] * functions.num_rows
    named: list[NDArray[np.uint32] | None] = [None] * functions.num_rows
    for rows in files.values():
        some = called(*([column[row] for row in rows] for column in (addresses, callees, imports, blocks)))
        for row, functions_called, names in zip(rows, *some, strict=True):
            reached[row], named[row] = functions_called, names
    functions = functions.drop_columns([name for name in (CALLS, IMPORTS) if name in functions.column_names])
    functions = functions.append_column(CALLS, pa.array(reached, pa.list_(pa.uint64())))
    return functions.append_column(IMPORTS, pa.array(named, pa.list_(pa.uint32())))


@dataclass(frozen=True, eq=False)
class Calls:
    """The calls among some functions.

    Args:
        callees: ``(functions, functions)``, 1 where the first calls the second.
        imports: ``(functions, NAMES)``, 1 where a function calls an import.
    """

    callees: sparse.csr_matrix
    imports: sparse.csr_matrix

    def among(self, chosen: NDArray[np.integer]) -> Calls:
        """The calls among some of the functions, in that order."""
        callees: Any = self.callees[chosen]
        imports: Any = self.imports[chosen]
        return Calls(callees[:, chosen].tocsr(), imports)


def calls_of(functions: pa.Table) -> Calls | None:
    """The calls among the rows of a table; None where it does not say.

    Args:
        functions: With the columns ``binary``, ``address``, :data:`CALLS` and :data:`IMPORTS`.
    """
    if not {CALLS, IMPORTS} <= set(functions.column_names):
        return None
    if functions.column(CALLS).null_count == functions.num_rows:
        return None
    rows = functions.num_rows
    names = functions.column("binary").to_pylist()
    place = {
        key: row for row, key in enumerate(zip(names, functions.column("address").to_pylist(), strict=True))
    }
    callers: list[int] = []
    callees: list[int] = []
    for row, (binary, called_by_it) in enumerate(
        zip(names, functions.column(CALLS).to_pylist(), strict=True)
    ):
        for address in called_by_it or ():
            callee = place.get((binary, address))
            if callee is not None and callee != row:
                callers.append(row)
                callees.append(callee)
    edges = sparse.csr_matrix((np.ones(len(callers), np.float32), (callers, callees)), shape=(rows, rows))
    numbers = functions.column(IMPORTS).to_pylist()
    ends = np.concatenate([[0], np.cumsum([len(some or ()) for some in numbers])]).astype(np.int64)
    flat = np.array([number for some in numbers for number in some or ()], np.int64)
    imports = sparse.csr_matrix((np.ones(len(flat), np.float32), flat, ends), shape=(rows, NAMES))
    return Calls(edges, imports)

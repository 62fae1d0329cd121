"""What a function's callees would bring if a compiler inlined them: features that they have and it has not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from weft.bcsd.represent.lexical import at_least

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Raised whenever the same functions and calls would give other columns.
INLINED_VERSION = 1
#: Instructions of a callee, at most, and of one with no other caller; chosen on validation packages, as those below.
SMALL, ONLY = 250, 1000
#: Calls that are followed one after another, and instructions of all callees together, at most.
DEPTH, MOST = 3, 2000
#: Functions worked on together.
_CHUNK = 2048


class CallGraph:
    """Who calls whom in one file.

    Args:
        addresses: Of the functions.
        callees: Addresses that each calls; others than those of ``addresses`` lead nowhere.
        instructions: ``(functions,)``.
    """

    def __init__(
        self, addresses: Sequence[int], callees: Sequence[Sequence[int]], instructions: NDArray[np.int64]
    ) -> None:
        place = {address: number for number, address in enumerate(addresses)}
        self.calls = [
            sorted({place[address] for address in called if address in place} - {caller})
            for caller, called in enumerate(callees)
        ]
        self.instructions = instructions
        callers = np.bincount(
            np.array([callee for called in self.calls for callee in called], np.int64),
            minlength=len(addresses),
        )
        self._inlined = (instructions <= SMALL) | ((callers <= 1) & (instructions <= ONLY))

    def inlined(self, function: int) -> list[int]:
        """The functions that a compiler may have put into this one, nearest first, itself not among them."""
        found: list[int] = []
        seen, left = {function}, MOST
        reached = [function]
        for _ in range(DEPTH):
            calls = [callee for caller in reached for callee in self.calls[caller]]
            reached = []
            for callee in calls:
                if callee not in seen and self._inlined[callee] and self.instructions[callee] <= left:
                    seen.add(callee)
                    reached.append(callee)
                    left -= int(self.instructions[callee])
            found += reached
        return found


def added_tokens(
    counts: sparse.csr_matrix, functions: Sequence[int], inlined: Sequence[Sequence[int]]
) -> list[NDArray[np.uint16]]:
    """Lexical features (a token that stands so often) that functions have together with their callees and not alone.

    Args:
        counts: How often each token stands, ``(all functions, vocabulary)``.
        functions: Of whom.
        inlined: Of each of these, its callees.
    """
    found: list[NDArray[np.uint16]] = []
    for first in range(0, len(functions), _CHUNK):
        some, theirs = functions[first : first + _CHUNK], inlined[first : first + _CHUNK]
        own: Any = counts[list(some)]
        together: Any = own + _members(theirs, counts.get_shape()[0]) @ counts
        more: Any = at_least(together.tocsr()) - at_least(own)
        more.eliminate_zeros()
        more.sort_indices()
        found += np.split(more.indices.astype(np.uint16), more.indptr[1:-1])
    return found


def added_operations(
    operations: Sequence[NDArray[np.uint16] | None],
    functions: Sequence[int],
    inlined: Sequence[Sequence[int]],
) -> list[NDArray[np.uint16] | None]:
    """Operations that a function's callees have and it has not; None where it was not lifted itself.

    Args:
        operations: Of all functions.
        functions: Of whom.
        inlined: Of each of these, its callees.
    """
    found: list[NDArray[np.uint16] | None] = []
    for function, callees in zip(functions, inlined, strict=True):
        own = operations[function]
        theirs = [held for callee in callees if (held := operations[callee]) is not None]
        if own is None:
            found.append(None)
        elif theirs:
            found.append(np.setdiff1d(np.unique(np.concatenate(theirs)), own, assume_unique=True))
        else:
            found.append(np.zeros(0, np.uint16))
    return found


def _members(inlined: Sequence[Sequence[int]], functions: int) -> sparse.csr_matrix:
    ends = np.concatenate([[0], np.cumsum([len(callees) for callees in inlined])]).astype(np.int64)
    columns = np.array([callee for callees in inlined for callee in callees], np.int64)
    return sparse.csr_matrix((np.ones(len(columns)), columns, ends), shape=(len(inlined), functions))

"""How much of a piece of code stands in held-out code: vendored copies and near-copies."""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

_WINDOW = 12
_BASE = np.uint64(1_000_003)
_POWERS = _BASE ** np.arange(_WINDOW, dtype=np.uint64)


class Overlap:
    """The windows of twelve tokens of all units added so far."""

    def __init__(self) -> None:
        self._added: list[NDArray[np.uint64]] = []
        self._known = np.empty(0, dtype=np.uint64)

    def add(self, ids: NDArray[np.int64]) -> None:
        """Remember a held-out unit."""
        self._added.append(_windows(ids))

    def share(self, ids: NDArray[np.int64]) -> float:
        """The share of a unit's windows that were added; 0 for a unit shorter than a window."""
        if self._added:
            self._known = np.unique(np.concatenate([self._known, *self._added]))
            self._added.clear()
        windows = _windows(ids)
        if len(windows) == 0 or len(self._known) == 0:
            return 0.0
        index = np.searchsorted(self._known, windows)
        return float((self._known[np.minimum(index, len(self._known) - 1)] == windows).mean())


def _windows(ids: NDArray[np.int64]) -> NDArray[np.uint64]:
    """A hash of every window; unsigned arithmetic wraps, as meant."""
    if len(ids) < _WINDOW:
        return np.empty(0, dtype=np.uint64)
    return (sliding_window_view(ids.astype(np.uint64) + np.uint64(1), _WINDOW) * _POWERS).sum(
        axis=1, dtype=np.uint64
    )

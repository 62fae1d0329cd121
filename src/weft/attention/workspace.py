"""Memory that chunk after chunk of an attention writes over."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence

import torch
from torch import Tensor

from weft.attention.chunks import CHUNK_BYTES


class Workspace(threading.local):
    """Buffers that one chunk after the other writes over; each thread has its own, and keeps them on a CPU.

    A temporary of a megabyte goes back to the system when it is freed, and its successor costs a page fault
    every 4 KiB: on a virtual machine more time than the matrix product that fills it (docs/log.md). What
    is taken is valid until the same name is taken again.
    """

    def __init__(self) -> None:
        self._kept: dict[tuple[str, torch.dtype], Tensor] = {}

    def take(self, name: str, shape: Sequence[int], dtype: torch.dtype, device: torch.device) -> Tensor:
        """An uninitialised tensor; on a GPU a fresh one, for its allocator keeps memory itself."""
        if device.type != "cpu":
            return torch.empty(shape, dtype=dtype, device=device)
        size = math.prod(shape)
        kept = self._kept.get((name, dtype))
        if kept is None or kept.numel() < size:
            # Tensors made in inference mode could not be written to outside of it.
            with torch.inference_mode(False):
                kept = torch.empty(
                    max(size, CHUNK_BYTES["cpu"] // dtype.itemsize), dtype=dtype, device=device
                )
            self._kept[name, dtype] = kept
        return kept[:size].view(shape)

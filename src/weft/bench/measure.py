"""Interleaved timing, peak memory and bytes saved for the backward."""

from __future__ import annotations

import ctypes
import gc
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor

Run = Callable[[], object]


def medians(ours: Run, baseline: Run, repeats: int, warmup: int = 2) -> tuple[float, float]:
    """Median milliseconds of processor time of both, run in turn so that a slow spell hits both.

    Processor time of this process, all threads, and not the wall clock: what else the machine does moves
    it less. With one thread on an idle machine the two are the same.
    """
    for _ in range(warmup):
        ours()
        baseline()
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(repeats):
        for run, kept in ((ours, times[0]), (baseline, times[1])):
            start = time.process_time()
            run()
            kept.append((time.process_time() - start) * 1e3)
    return statistics.median(times[0]), statistics.median(times[1])


def extra_memory(run: Run) -> float:
    """MiB of resident memory that ``run`` needed at its peak, above what was there before (Linux).

    The second of two runs counts, so that one-time buffers of the libraries do not.
    """
    run()
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")
    before = _status("VmRSS")
    run()
    return (_status("VmHWM") - before) / 1024


def can_measure_memory() -> bool:
    """Whether this system tells peak resident memory."""
    return sys.platform == "linux" and Path("/proc/self/clear_refs").exists()


def saved_for_backward(forward: Run, inputs: tuple[Tensor, ...]) -> float:
    """MiB that the forward keeps for its backward, the inputs themselves not counted."""
    known = {tensor.untyped_storage().data_ptr() for tensor in inputs}
    sizes: dict[int, int] = {}

    def note(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in known:
            sizes[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        output = forward()
    del output
    return sum(sizes.values()) / 2**20


def _status(field: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1])
    raise OSError(f"/proc/self/status has no {field}")

"""Two functions of two files explained, from paths: what the command and the service share."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch

from weft.bcsd.explain.occlusion import Explanation, explain
from weft.bcsd.matching.side import SideRequest, read_sides, with_processor
from weft.bcsd.read.open import check_kind
from weft.bcsd.select import find_function
from weft.bcsd.use.embedder import Embedder
from weft.bcsd.use.store import find
from weft.platform.processes import Limits


def explain_files(
    chosen: Sequence[tuple[str, str]],
    *,
    model: str | Path,
    disassembler: str,
    limits: Limits,
    device: torch.device | str = "cpu",
) -> Explanation:
    """Say which parts of two functions carry their similarity.

    Args:
        chosen: Two files, each with one of its functions by name or address.
        model: A shipped model or a folder.
        disassembler: Its name.
        limits: On reading each file.
        device: Where to compute.

    Raises:
        InputError: A file or a function cannot be found or used.
        LimitError: A file took too long or too much memory.
        CheckpointError: The model cannot be loaded.
    """
    for path, _ in chosen:
        check_kind(path)
    folder = find(model)
    requests = [SideRequest(path, disassembler, listings=True, lifter="none") for path, _ in chosen]
    sides = read_sides(requests, workers=2, limits=limits)
    rows = [
        find_function(side.functions, function, path, side.readable)
        for side, (path, function) in zip(sides, chosen, strict=True)
    ]
    embedder = Embedder.load(folder, device=device)
    one, other = (with_processor(side, embedder.trained) for side in sides)
    return explain(one, rows[0], other, rows[1], embedder)

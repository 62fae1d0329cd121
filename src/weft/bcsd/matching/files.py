"""Two files matched, from paths to pairs: what the command and the package's front door share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import torch

from weft.bcsd.matching.match import Matching
from weft.bcsd.matching.match import match as match_sides
from weft.bcsd.matching.record import match_records
from weft.bcsd.matching.rule import rule_of
from weft.bcsd.matching.side import SideRequest, read_sides, with_processor
from weft.bcsd.read.open import check_kind
from weft.bcsd.use.embedder import Embedder
from weft.bcsd.use.store import DEFAULT_MODEL, find
from weft.platform.machine import device_named
from weft.platform.processes import Limits
from weft.platform.ranges import at_least, share

_LIMITS = Limits()


@dataclass(frozen=True, eq=False)
class FileMatch:
    """The pairs of two files.

    Args:
        matching: Both sides and their pairs.
        model: The version of the model.
        calibrated: Whether confidences are probabilities.
    """

    matching: Matching
    model: str
    calibrated: bool

    def __repr__(self) -> str:
        found = self.matching
        return f"<{len(found.rows)} pairs of {found.a.path} and {found.b.path}>"

    def __len__(self) -> int:
        return len(self.matching.rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """The pairs, the surest first, as ``weft bcsd match --json`` prints them."""
        return match_records(self.matching)

    def __getitem__(self, place: int) -> dict[str, Any]:
        """One of the pairs, by its place in that order; a negative one counts from the end."""
        return self._records[place]

    @cached_property
    def _records(self) -> list[dict[str, Any]]:
        return list(self)


def match(
    a: str | Path,
    b: str | Path,
    *,
    model: str | Path = DEFAULT_MODEL,
    disassembler: str = "auto",
    min_blocks: int = 0,
    floor: float | None = None,
    listings: bool = False,
    device: torch.device | str = "cpu",
    limits: Limits = _LIMITS,
    lifter: str = "auto",
    cache: bool = True,
) -> FileMatch:
    """Pair the functions of two binaries, one to one.

    Args:
        a: The file whose names are known, if one has them.
        b: The other one.
        model: A shipped model or a folder.
        disassembler: ``auto``, ``native``, ``angr`` or ``smda``.
        min_blocks: Functions with fewer blocks are left out.
        floor: Pairs less sure than this are left unmatched; the model's own where None.
        listings: Keep what a report shows of each function.
        device: Where to compute.
        limits: On time and memory of reading each file.
        lifter: ``auto``, ``pcode`` or ``none``: whether what functions compute is compared too.
        cache: Whether what was lifted before is looked up, and what is new kept.

    Returns:
        The pairs. As a loop gives them, records as ``weft bcsd match --json`` has them, the surest first: ``{"a":
        {"name", "address", "size", "blocks"}, "b", "score", "rank", "confidence", "flags", "evidence"}``.

    Raises:
        ConfigError: ``floor`` is no probability, or ``min_blocks`` below 0.
        InputError: A file cannot be used.
        LimitError: It took too long or too much memory.
        CheckpointError: The model cannot be loaded.
    """
    share(floor=floor)
    at_least(0, min_blocks=min_blocks)
    for path in (a, b):
        check_kind(str(path))
    folder = find(model)
    requests = [SideRequest(str(path), disassembler, min_blocks, listings, lifter, cache) for path in (a, b)]
    one, other = read_sides(requests, workers=2, limits=limits)
    embedder = Embedder.load(folder, device=device_named(str(device)), precision="auto")
    one, other = (with_processor(side, embedder.trained) for side in (one, other))
    rule, calibrated = rule_of(folder, embedder.version)
    return FileMatch(match_sides(one, other, embedder, rule, floor), embedder.version, calibrated)

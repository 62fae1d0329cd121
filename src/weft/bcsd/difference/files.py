"""Two versions of a file compared, from paths to entries: what the command and the package's front door share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from weft.bcsd.difference.compare import Difference, compare, lifted
from weft.bcsd.difference.pairing import Pairing
from weft.bcsd.difference.record import entry_records
from weft.bcsd.difference.version import read_versions
from weft.bcsd.read.open import check_kind
from weft.bcsd.use.named import DEFAULT_MODEL, find
from weft.platform.processes import Limits

_LIMITS = Limits(3600.0, 8192)


@dataclass(frozen=True, eq=False)
class FileDifference:
    """What changed from one file to the other.

    Args:
        difference: Both versions and what became of each function.
    """

    difference: Difference

    def __repr__(self) -> str:
        old, new = self.difference.old, self.difference.new
        return f"<{old.side.path} ({len(old)} functions) and {new.side.path} ({len(new)})>"

    def __len__(self) -> int:
        return len(self.difference.entries)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """The functions, as ``weft bcsd diff --json`` lists them."""
        return entry_records(self.difference, self.difference.entries)


def diff(
    a: str | Path,
    b: str | Path,
    *,
    model: str | Path = DEFAULT_MODEL,
    disassembler: str = "auto",
    device: Any = "cpu",
    limits: Limits = _LIMITS,
    lifter: str = "auto",
) -> FileDifference:
    """What changed from one version of a binary to the next.

    Args:
        a: The old version.
        b: The new version.
        model: Pairs functions that names, content and calls do not; a shipped model or a folder.
        disassembler: ``auto``, ``native``, ``angr`` or ``smda``.
        device: Where the model computes: ``auto``, ``cpu``, ``cuda``, …
        limits: On time and memory of each file.
        lifter: ``auto``, ``pcode`` or ``none``: whether what functions compute tells changes from what is none.

    Returns:
        What became of each function. As a loop gives them, records as ``weft bcsd diff --json`` has them, changed ones
        first: ``{"status", "old": {"name", "address", "size", "blocks"} or None, "new"}``, of changed ones ``kinds``,
        ``amount``, ``notes`` and ``blocks`` as well, of the same ones ``differs_by``.

    Raises:
        InputError: A file cannot be used, or they are for different processors.
        LimitError: It took too long or too much memory.
        CheckpointError: The model cannot be loaded.
        MissingExtraError: The lifter is asked for and not installed.
    """
    from weft.bcsd.lift.choose import lifter_named

    lifter_named(lifter)
    for path in (a, b):
        check_kind(str(path))
    folder = find(model)  # whether or not it will be asked
    old, new = read_versions(str(a), str(b), disassembler, limits)

    def by_model(pairing: Pairing) -> None:
        from weft.bcsd.matching.rule import rule_of
        from weft.bcsd.use.embedder import Embedder
        from weft.platform.machine import device_named

        embedder = Embedder.load(folder, device=device_named(str(device)), precision="auto")
        rule, _ = rule_of(folder, embedder.version)
        pairing.by_model(embedder, rule, lifted)

    return FileDifference(compare(old, new, by_model, limits, lifter))

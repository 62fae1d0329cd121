"""`weft bench bcsd-peers`: one-to-one matching beside QBinDiff and MCRIT's MinHash, on the test packages, in one run.

Reads the builds in the folder that ``WEFT_BCSD_WORK`` names (`weft bcsd dataset build … --work`); without it there
are no rows. Needs the extra ``peers``.

Every program gets the two stripped files of a setting and says which function is which. A function counts as found if
it is paired with its partner; asked for are those of at least five blocks that both files hold. QBinDiff is given the
functions, blocks, calls, constants and strings that our disassembler finds (it has none of its own); MCRIT
disassembles by smda, so what smda does not find it cannot pair. A tie of MinHash counts as the share that chance
would give.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Protocol

import numpy as np

from weft.bcsd.matching.match import TINY_BLOCKS
from weft.bcsd.matching.rule import rule_of
from weft.bcsd.matching.trial import FURTHER, SETTINGS, Trial, built, packages_of, trials
from weft.bcsd.use.embedder import Embedder
from weft.bcsd.use.store import find
from weft.bench.bcsd.extraction.known import dataset_work
from weft.bench.bcsd.match import MODEL, judge
from weft.bench.bcsd.peers.mcrit_pairs import MinHashes
from weft.bench.bcsd.peers.qbindiff_pairs import QBinDiffs
from weft.bench.table import Row


class Peer(Protocol):
    """Another program.

    Args:
        name: What it and its settings are called.
    """

    name: str

    def partners(self, a: Path, b: Path) -> Mapping[int, Mapping[int, float]]:
        """Of each function of A, by address, its partners in B, each with the chance that it is chosen."""
        ...


def rows(quick: bool = False) -> Iterator[Row]:
    """Every row of the table; ``quick`` asks about the two smallest packages in the first two settings.

    Raises:
        MissingExtraError: A peer is not installed.
    """
    work = dataset_work()
    if work is None:
        return
    peers: list[Peer] = [QBinDiffs(), QBinDiffs(structure=True), MinHashes()]
    folder = find(MODEL)
    embedder = Embedder.load(folder, precision="auto")
    rule, _ = rule_of(folder, embedder.version)
    packages = packages_of(work, "test")
    settings = {**SETTINGS, **built(packages, FURTHER)}
    if quick:
        settings = dict(list(settings.items())[:2])
        packages = [folder for folder in packages if folder.name in ("bzip2", "lz4")]
    for setting, builds in settings.items():
        ours: list[float] = []
        theirs: dict[str, list[float]] = {peer.name: [] for peer in peers}
        for package in packages:
            files = [package / build / "stripped.so" for build in builds]
            for trial in trials([package], {setting: builds}, embedder, "test"):
                ours += judge(trial, rule).matched.tolist()
                for peer in peers:
                    theirs[peer.name] += found(trial, peer.partners(files[0], files[1]))
        for name, share in theirs.items():
            variant = f"{setting}, {len(ours)} functions ≥ {TINY_BLOCKS} blocks"
            yield Row(
                f"bcsd match: found / by {name}",
                variant,
                "–",
                "share",
                float(np.mean(ours)),
                float(np.mean(share)),
                "higher",
            )


def found(trial: Trial, partners: Mapping[int, Mapping[int, float]]) -> list[float]:
    """Of each function that is asked for, the chance that a peer pairs it with its partner."""
    rows, columns = trial.truth()
    a, b = trial.a.side, trial.b.side
    large = (a.num_blocks[rows] >= TINY_BLOCKS) & (b.num_blocks[columns] >= TINY_BLOCKS)
    return [
        partners.get(a.addresses[row], {}).get(b.addresses[column], 0.0)
        for row, column in zip(rows[large], columns[large], strict=True)
    ]

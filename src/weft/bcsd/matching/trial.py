"""Pairs of builds whose right answers are known: what a matching rule is fitted to, and measured on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow.parquet as pq

from weft.bcsd.matching.match import Embeds, see
from weft.bcsd.matching.pairs.inlined import Inlining
from weft.bcsd.matching.pairs.pairing import Pairs, pair
from weft.bcsd.matching.pairs.seen import Scores, Seen, score
from weft.bcsd.matching.rule import Rule
from weft.bcsd.matching.side import Side, SideRequest, read_side
from weft.bcsd.use.score import ScoreWeights
from weft.errors import InputError
from weft.platform.reading import read_object

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Build of A and build of B: the settings of the evaluation.
SETTINGS = {
    "XO -O0→-O3": ("gcc-O0-x86_64", "gcc-O3-x86_64"),
    "XO -O1→-O3": ("gcc-O1-x86_64", "gcc-O3-x86_64"),
    "XC": ("gcc-O2-x86_64", "clang-O2-x86_64"),
    "XA": ("gcc-O2-x86_64", "gcc-O2-aarch64"),
    "XM": ("gcc-O0-x86_64", "clang-O3-aarch64"),
}
#: To processors beside those of the evaluation, where a data set has them.
FURTHER = {
    "x86-64→i386": ("gcc-O2-x86_64", "gcc-O2-i386"),
    "x86-64→ARM32": ("gcc-O2-x86_64", "gcc-O2-arm"),
    "x86-64→MIPS32": ("gcc-O2-x86_64", "gcc-O2-mips"),
}


@dataclass(frozen=True)
class Known:
    """A stripped build, and what each of its functions really is.

    Args:
        package: Its package.
        side: The file.
        names: ``package/symbol`` of each function; empty where it has none of its own.
        seen: The functions as scores see them.
    """

    package: str
    side: Side
    names: Sequence[str]
    seen: Seen

    def keep(self, rows: NDArray[np.int64]) -> Known:
        """The same build with only these functions."""
        kept: list[int] = rows.tolist()
        names = [self.names[row] for row in kept]
        seen = Seen(self.seen.vectors[rows], self.seen.words[rows], self.seen.operations[rows])
        return Known(self.package, self.side.keep(kept), names, seen)


@dataclass(frozen=True)
class Trial:
    """Two builds, and the scores of their functions.

    Args:
        setting: Which of :data:`SETTINGS`, or another name.
        a: Build A.
        b: Build B.
        scores: Of all pairs of their functions.
        weights: Of the hybrid score.
    """

    setting: str
    a: Known
    b: Known
    scores: Scores
    weights: ScoreWeights

    def pair(self, rule: Rule) -> Pairs:
        """Match them."""
        return pair(self.scores, self.a.side, self.b.side, rule, inlining=self._inlining)

    @cached_property
    def _inlining(self) -> Inlining:
        return Inlining(self.a.side, self.b.side, (self.a.seen, self.b.seen), self.weights)

    def truth(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Rows of A and of B that are the same function."""
        where = {name: row for row, name in enumerate(self.b.names) if name}
        found = [(row, where[name]) for row, name in enumerate(self.a.names) if name in where]
        rows, columns = np.array(found, dtype=np.int64).reshape(-1, 2).T
        return rows, columns

    def judge(self, pairs: Pairs) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Whether each pair can be judged (both functions are known), and whether it is right."""
        names = [(self.a.names[i], self.b.names[j]) for i, j in zip(pairs.rows, pairs.columns, strict=True)]
        known = np.array([bool(first and second) for first, second in names], dtype=bool)
        right = np.array([first == second for first, second in names], dtype=bool)
        return known, known & right


def trials(
    folders: Iterable[Path], settings: dict[str, tuple[str, str]], embedder: Embeds, role: str
) -> Iterator[Trial]:
    """The trials of packages that a data set build left.

    Args:
        folders: One folder per package, holding a folder per build.
        settings: Which builds to compare.
        embedder: Gives the scores.
        role: What the packages must be: nothing is fitted to a package of another role.

    Raises:
        InputError: A build is missing, or of another role.
    """
    for folder in folders:
        built: dict[str, Known] = {}
        for setting, builds in settings.items():
            for build in builds:
                if build not in built:
                    built[build] = known_build(folder / build, embedder, role)
            a, b = (built[build] for build in builds)
            yield Trial(setting, a, b, score(a.seen, b.seen, embedder.weights), embedder.weights)


def built(folders: Sequence[Path], settings: dict[str, tuple[str, str]]) -> dict[str, tuple[str, str]]:
    """The settings whose builds all packages have."""
    return {
        name: builds
        for name, builds in settings.items()
        if all((folder / build / "report.json").is_file() for folder in folders for build in builds)
    }


def with_fewer(trial: Trial, weights: ScoreWeights) -> Trial:
    """The trial where each file has lost another third of the functions that both hold.

    So look two versions of a program, or two programs that share a library: half of what is left has a partner.
    """
    rows, columns = trial.truth()
    draw = np.random.default_rng(0).random(len(rows))
    a = trial.a.keep(np.setdiff1d(np.arange(len(trial.a.names)), rows[draw < 1 / 3]))
    b = trial.b.keep(np.setdiff1d(np.arange(len(trial.b.names)), columns[draw >= 2 / 3]))
    return Trial(f"{trial.setting}, fewer", a, b, score(a.seen, b.seen, weights), weights)


def strangers(known: Sequence[Trial], weights: ScoreWeights, most: int | None = None) -> list[Trial]:
    """Each file A against the files B of other packages in the same setting: nothing in them is right.

    Args:
        known: Trials of two builds of a package.
        weights: Of the hybrid score.
        most: With how many other packages each is paired, in turn those that come after it; None for all.
    """
    names = list(dict.fromkeys(trial.a.package for trial in known))
    place = {name: number for number, name in enumerate(names)}
    least = len(names) if most is None else most
    return [
        Trial("unrelated", first.a, second.b, score(first.a.seen, second.b.seen, weights), weights)
        for first in known
        for second in known
        if first.setting == second.setting
        and 0 < (place[second.a.package] - place[first.a.package]) % len(names) <= least
    ]


def packages_of(work: Path, role: str) -> list[Path]:
    """The folders of the packages of one role, as ``weft bcsd dataset build`` leaves them below ``work``."""
    roles = {
        folder: {_role(report) for report in folder.glob("*/report.json")}
        for folder in sorted((work / "builds").glob("*"))
    }
    return [folder for folder, found in roles.items() if found == {role}]


def _role(report: Path) -> str:
    return read_object(report)["report"]["role"]


def known_build(folder: Path, embedder: Embeds, role: str) -> Known:
    """One stripped build, ``…/package/build``, with the symbol of each of its functions.

    Raises:
        InputError: It is missing, or of another role.
    """
    report = folder / "report.json"
    if not report.is_file():
        raise InputError("no finished build", where=str(folder), hint="weft bcsd dataset build")
    found = _role(report)
    if found != role:
        raise InputError(f"a package of role {found!r}; only {role!r} may be used here", where=str(folder))
    labelled = pq.read_table(folder / "functions.parquet", columns=["address", "name"]).to_pydict()
    package = folder.parent.name
    symbols = dict(zip(labelled["address"], labelled["name"], strict=True))
    side = read_side(SideRequest(str(folder / "stripped.so")))
    names = [f"{package}/{symbols[address]}" if address in symbols else "" for address in side.addresses]
    return Known(package, side, names, see(side, embedder))

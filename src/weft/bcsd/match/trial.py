"""Pairs of builds whose right answers are known: what a matching rule is fitted to, and measured on."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow.parquet as pq

from weft.bcsd.match.match import Embeds, score_sides
from weft.bcsd.match.pairing import Pairs
from weft.bcsd.match.side import Side, SideRequest, read_side
from weft.errors import InputError

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


@dataclass(frozen=True)
class Trial:
    """Two stripped builds, their scores, and what each function really is.

    Args:
        setting: Which of :data:`SETTINGS`, or another name.
        a: File A.
        b: File B.
        scores: Hybrid scores, ``(functions of A, functions of B)``.
        names_a: The symbol of each function of A; empty where it has none of its own.
        names_b: Of B.
    """

    setting: str
    a: Side
    b: Side
    scores: NDArray[np.float32]
    names_a: Sequence[str]
    names_b: Sequence[str]

    def truth(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Rows of A and of B that are the same function."""
        where = {name: row for row, name in enumerate(self.names_b) if name}
        found = [(row, where[name]) for row, name in enumerate(self.names_a) if name in where]
        rows, columns = np.array(found, dtype=np.int64).reshape(-1, 2).T
        return rows, columns

    def judge(self, pairs: Pairs) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Whether each pair can be judged (both functions are known), and whether it is right."""
        names = [(self.names_a[i], self.names_b[j]) for i, j in zip(pairs.rows, pairs.columns, strict=True)]
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
        sides: dict[str, tuple[Side, list[str]]] = {}
        for setting, builds in settings.items():
            for build in builds:
                if build not in sides:
                    sides[build] = known_side(folder / build, role)
            (a, names_a), (b, names_b) = (sides[build] for build in builds)
            yield Trial(setting, a, b, score_sides(a, b, embedder), names_a, names_b)


def packages_of(work: Path, role: str) -> list[Path]:
    """The folders of the packages of one role, as ``weft bcsd dataset build`` leaves them below ``work``."""
    roles = {
        folder: {_role(report) for report in folder.glob("*/report.json")}
        for folder in sorted((work / "builds").glob("*"))
    }
    return [folder for folder, found in roles.items() if found == {role}]


def strangers(known: Sequence[Trial], embedder: Embeds) -> list[Trial]:
    """Trials of different packages, each file A against the next package's file B: nothing in them is right."""
    packages = sorted({Path(trial.a.path).parents[1] for trial in known})
    found: list[Trial] = []
    for number, package in enumerate(packages):
        other = packages[(number + 1) % len(packages)]
        if other == package:
            continue
        first = [trial.a for trial in known if Path(trial.a.path).parents[1] == package]
        second = [trial.b for trial in known if Path(trial.b.path).parents[1] == other]
        a, b = first[number % len(first)], second[number % len(second)]
        found.append(Trial("unrelated", a, b, score_sides(a, b, embedder), [""] * len(a), [""] * len(b)))
    return found


def _role(report: Path) -> str:
    return json.loads(report.read_text(encoding="utf-8"))["report"]["role"]


def known_side(folder: Path, role: str) -> tuple[Side, list[str]]:
    """One stripped build, and the symbol of each of its functions.

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
    names = dict(zip(labelled["address"], labelled["name"], strict=True))
    side = read_side(SideRequest(str(folder / "stripped.so")))
    return side, [names.get(address, "") for address in side.addresses]

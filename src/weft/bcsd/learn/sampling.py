"""Which functions form a batch: groups in two builds each, half of them out of one pair of binaries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from weft.errors import ConfigError, InputError
from weft.platform.ranges import require

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class SamplingConfig:
    """How batches are drawn.

    Args:
        groups: Groups (source functions) of a batch, over all processes.
        hard: Share of the groups that comes from one package, in one pair of its builds: every other
            function of those binaries is a negative, as in use.
        steps_per_epoch: Batches that count as an epoch.
        min_blocks: Functions with fewer basic blocks are left out: too many of them are alike.

    Raises:
        ConfigError: A field breaks its rule.
    """

    groups: int = 128
    hard: float = 0.5
    steps_per_epoch: int = 100
    min_blocks: int = 3

    def __post_init__(self) -> None:
        for name in ("groups", "steps_per_epoch", "min_blocks"):
            whole = type(getattr(self, name)) is int and getattr(self, name) >= 1
            require(self, name, whole, "an integer of at least 1")
        require(self, "hard", 0 <= self.hard <= 1, "in [0, 1]")


class GroupPlan:
    """A plan whose batches hold every group in two different builds.

    Members of a pair are drawn from all builds alike, so about half of the pairs cross architectures. Rows
    that the data set marks as duplicates of another group are never drawn: they would be false negatives.

    Args:
        functions: Rows with the columns ``group``, ``package``, ``build``, ``duplicate``, ``num_blocks``.
        config: How batches are drawn.
        seed: Of the draws.
        rank: This process; the processes draw different groups.
        world_size: Number of processes; each draws its share of the groups.

    Raises:
        ConfigError: Groups that the processes cannot share.
        InputError: Too few groups with two builds.
    """

    def __init__(
        self,
        functions: pa.Table,
        config: SamplingConfig,
        *,
        seed: int = 0,
        rank: int = 0,
        world_size: int = 1,
    ) -> None:
        if config.groups % world_size:
            raise ConfigError(f"{config.groups} groups cannot be shared by {world_size} processes")
        self.config = config
        self.seed = seed
        self.rank = rank
        self.share = config.groups // world_size
        group, package, build = (_codes(functions, name) for name in ("group", "package", "build"))
        usable = ~column(functions, "duplicate") & (column(functions, "num_blocks") >= config.min_blocks)
        rows = np.flatnonzero(usable)
        rows = rows[np.lexsort((build[rows], group[rows]))]
        _, first, counts = np.unique(group[rows], return_index=True, return_counts=True)
        enough = counts >= 2
        self._rows = rows
        self._first = first[enough]
        self._count = counts[enough]
        if len(self._first) < config.groups:
            raise InputError(f"{len(self._first)} groups in two builds; a batch needs {config.groups}")
        package_of = package[rows[self._first]]
        builds = int(build.max()) + 1
        # Row of each (group, build), −1 where the group is not in the build.
        self._table = np.full((len(self._first), builds), -1, np.int64)
        for number, (begin, count) in enumerate(zip(self._first, self._count, strict=True)):
            members = rows[begin : begin + count]
            self._table[number, build[members]] = members
        self._packages = [np.flatnonzero(package_of == code) for code in np.unique(package_of)]
        self._builds = [np.flatnonzero((self._table[members] >= 0).any(axis=0)) for members in self._packages]
        sizes = np.array([len(members) for members in self._packages], dtype=np.float64)
        self._chance = sizes / sizes.sum()

    def __len__(self) -> int:
        return self.config.steps_per_epoch

    def epoch(self, epoch: int) -> list[list[int]]:
        """This process's batches of one epoch, as rows; rows 2i and 2i + 1 of a batch are one group."""
        draw = np.random.default_rng((self.seed, epoch, self.rank))
        return [self._batch(draw) for _ in range(len(self))]

    def _batch(self, draw: np.random.Generator) -> list[int]:
        hard, pairs = self._hard(draw, round(self.config.hard * self.share))
        others = draw.choice(
            len(self._first), size=min(self.share + len(hard), len(self._first)), replace=False
        )
        others = others[~np.isin(others, hard)][: self.share - len(hard)]
        for group in others:
            picked = draw.choice(self._count[group], size=2, replace=False)
            pairs += self._rows[self._first[group] + picked].tolist()
        return pairs

    def _hard(self, draw: np.random.Generator, wanted: int) -> tuple[NDArray[np.int64], list[int]]:
        """Groups of one package, all in the same two of its builds."""
        package = draw.choice(len(self._packages), p=self._chance)
        members = self._packages[package]
        first, second = draw.choice(self._builds[package], size=2, replace=False)
        present = members[(self._table[members, first] >= 0) & (self._table[members, second] >= 0)]
        chosen = draw.permutation(present)[:wanted]
        return chosen, self._table[chosen][:, [first, second]].reshape(-1).tolist()


def column(functions: pa.Table, name: str) -> NDArray[Any]:
    """A column of plain values as an array."""
    return functions.column(name).combine_chunks().to_numpy(zero_copy_only=False)


def _codes(functions: pa.Table, name: str) -> NDArray[np.int64]:
    """The values of a column of strings as integers, in the order of the strings."""
    return np.unique(column(functions, name).astype(str), return_inverse=True)[1]

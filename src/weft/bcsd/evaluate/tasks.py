"""Retrieval tasks: which function is asked for, in which pool, and what is right."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from weft.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

SETTINGS: dict[str, tuple[str, str]] = {
    "XO O0-O3": ("gcc-O0-x86_64", "gcc-O3-x86_64"),
    "XO O1-O3": ("gcc-O1-x86_64", "gcc-O3-x86_64"),
    "XO O2-O3": ("gcc-O2-x86_64", "gcc-O3-x86_64"),
    "XC": ("gcc-O2-x86_64", "clang-O2-x86_64"),
    "XA": ("gcc-O2-x86_64", "gcc-O2-aarch64"),
    "XM": ("gcc-O0-x86_64", "clang-O3-aarch64"),
    "x86-64→i386": ("gcc-O2-x86_64", "gcc-O2-i386"),
    "x86-64→ARM32": ("gcc-O2-x86_64", "gcc-O2-arm"),
    "x86-64→MIPS32": ("gcc-O2-x86_64", "gcc-O2-mips"),
    "x86-64→RISC-V": ("gcc-O2-x86_64", "gcc-O2-riscv64"),
    "x86-64→PPC64": ("gcc-O2-x86_64", "gcc-O2-ppc64"),
}
"""Query build and base build: across levels, compilers, architectures, all of them, and to further processors."""
HEADLINE = ("XO O0-O3", "XO O1-O3", "XC", "XA", "XM")
"""The settings of the headline; between -O2 and -O3 next to nothing changes."""

COLUMNS = (
    "tokens",
    "blocks",
    "edges",
    "package",
    "role",
    "group",
    "build",
    "duplicate",
    "num_blocks",
    "num_instructions",
    "token_digest",
    "operations",
    "inlined_operations",
    "inlined_tokens",
    "binary",
    "address",
    "callees",
    "imports",
    "calls",
    "called_imports",
)
"""What training and evaluation read of a data set."""


@dataclass(frozen=True, eq=False)
class Task:
    """One setting on some packages.

    Args:
        setting: Its name.
        queries: ``(queries,)``, rows of the table.
        base: ``(pool,)``, rows of the table.
        right: ``(queries,)``, for each query the column of ``base`` that is right.
    """

    setting: str
    queries: NDArray[np.int64]
    base: NDArray[np.int64]
    right: NDArray[np.int64]


class Labels:
    """The columns of a data set that say what a row is.

    Args:
        functions: With the columns that :func:`weft.bcsd.dataset.assemble.assemble` writes.

    Raises:
        InputError: A column is missing.
    """

    def __init__(self, functions: pa.Table) -> None:
        names = ("role", "group", "build", "token_digest", "package")
        missing = [name for name in (*names, "duplicate") if name not in functions.column_names]
        if missing:
            raise InputError(f"no column {missing[0]!r}", hint="is it a table that `weft bcsd dataset` made?")
        self.role, self.group, self.build, self.digest, self.package = (
            np.asarray(functions.column(name).to_pylist(), dtype=object) for name in names
        )
        self.duplicate = np.asarray(functions.column("duplicate").to_pylist(), dtype=bool)
        self.blocks = np.asarray(functions.column("num_blocks"), dtype=np.int64)
        self.instructions = np.asarray(functions.column("num_instructions"), dtype=np.int64)

    def holds(self, setting: str) -> bool:
        """Whether both builds of a setting are there."""
        return set(SETTINGS[setting]) <= set(self.build)

    def tasks(self, role: str, min_blocks: int = 5) -> list[Task]:
        """Those of the headline settings that a role has functions for, in both builds; of all settings where of none.

        Args:
            role: ``"test"`` or ``"valid"``.
            min_blocks: On both sides.
        """
        for settings in (HEADLINE, SETTINGS):
            found: list[Task] = []
            for setting in settings:
                with suppress(InputError):
                    found.append(self.task(setting, role, min_blocks))
            if found:
                return found
        return []

    def task(
        self,
        setting: str,
        role: str,
        min_blocks: int = 5,
        extra: Collection[str] = (),
        packages: Collection[str] = (),
    ) -> Task:
        """Build a task: queries of one build, a pool of another, both of functions of that size.

        Rows whose tokens equal those of another function's row are in neither: nothing could tell them apart.

        Args:
            setting: A key of :data:`SETTINGS`.
            role: ``"test"`` or ``"valid"``.
            min_blocks: On both sides.
            extra: Roles whose functions fill up the pool where they are not asked for.
            packages: Only their functions are asked for; those of all packages of the role where none is named.

        Raises:
            InputError: No function is in both builds.
        """
        usable = ~self.duplicate & (self.blocks >= min_blocks)
        asked = self.role == role
        if packages:
            asked &= np.isin(self.package, list(packages))
        query_build, base_build = SETTINGS[setting]
        base = np.flatnonzero(usable & (asked | np.isin(self.role, list(extra))) & (self.build == base_build))
        _, first = np.unique(self.digest[base].astype(str), return_index=True)
        base = base[np.sort(first)]
        place = {group: column for column, group in enumerate(self.group[base])}
        queries = np.flatnonzero(usable & asked & (self.build == query_build))
        queries = queries[[group in place for group in self.group[queries]]]
        if not len(queries):
            size = f" of at least {min_blocks} blocks" if min_blocks > 1 else ""
            raise InputError(f"no function of role {role!r}{size} is in both {query_build} and {base_build}")
        right = np.array([place[group] for group in self.group[queries]])
        return Task(setting, queries, base, right)

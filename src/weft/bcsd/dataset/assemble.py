"""From builds to one table: project-disjoint, without duplicates between groups, with a manifest."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from weft.bcsd.dataset.build import BuildReport, part_path
from weft.bcsd.dataset.config import DatasetConfig
from weft.bcsd.lift.version import available_lifter
from weft.bcsd.represent import NORMALISER_VERSION, load_vocabulary
from weft.bcsd.table import SCHEMA_VERSION, schema, with_later, write_tables
from weft.platform.files import write_json

MANIFEST_VERSION = 1
#: Two functions of this many blocks with the same tokens are the same code, not two short functions.
_TELLING_BLOCKS = 3
_ROLES = ("test", "valid", "train")


@dataclass(frozen=True)
class Assembly:
    """What was kept and what was not.

    Args:
        rows: In the table.
        groups: By role.
        duplicates: Rows marked as the same code as a row of an earlier group of the same role.
        leaked: Groups left out because a test or validation package holds the same code or name.
        small: Groups left out because too few of their builds are kept.
    """

    rows: int
    groups: dict[str, int]
    duplicates: int
    leaked: int
    small: int


def assemble(config: DatasetConfig, reports: list[BuildReport], work: Path, output: Path) -> Assembly:
    """Write the table and, beside it, the manifest.

    Roles are handled in the order test, valid, train: a group whose name or code an earlier role holds is
    left out, so that no vendored copy crosses the split. Within a role a row whose tokens equal those of an
    earlier group of the table is kept and marked ``duplicate``: it must be neither a negative nor in a pool.

    Args:
        config: Of the data set.
        reports: Of its builds.
        work: Where the builds' rows lie.
        output: The Parquet file; the manifest is ``<output>.manifest.json``.

    Returns:
        The counts.
    """
    good = [report for report in reports if not report.error]
    order = sorted(good, key=lambda report: (_ROLES.index(report.role), report.package, report.build))
    keys = _Keys(config.min_blocks)
    for report in order:
        columns = ["group", "name", "token_digest", "num_blocks"]
        keys.add(report.role, pq.read_table(part_path(work, report.package, report.build), columns=columns))
    leaked, small = keys.decide(config.min_builds)
    left_out = leaked | small
    keys.own(left_out)
    rows = duplicates = 0
    groups: dict[str, set[str]] = {role: set() for role in _ROLES}

    def tables() -> Iterator[pa.Table]:
        nonlocal rows, duplicates
        for report in order:
            table = pq.read_table(part_path(work, report.package, report.build))
            names = table.column("group").to_pylist()
            blocks = table.column("num_blocks").to_pylist()
            kept = [
                row
                for row, (name, count) in enumerate(zip(names, blocks, strict=True))
                if name not in left_out and count >= config.min_blocks
            ]
            table = table.take(pa.array(kept, pa.int64()))
            marks = keys.duplicates(report.role, table)
            table = with_later(table)
            table = table.append_column(pa.field("duplicate", pa.bool_()), pa.array(marks, pa.bool_()))
            groups[report.role].update(table.column("group").to_pylist())
            rows += table.num_rows
            duplicates += sum(marks)
            yield table.select(full.names).cast(full)

    full = dataset_schema()
    write_tables(tables(), output, full)
    assembly = Assembly(
        rows, {role: len(found) for role, found in groups.items()}, duplicates, len(leaked), len(small)
    )
    _write_manifest(config, reports, assembly, output)
    return assembly


def dataset_schema() -> pa.Schema:
    """The schema of extraction and the columns that a data set adds."""
    base = schema(lifter=available_lifter())
    for name in ("package", "role", "group", "build", "compiler", "level"):
        base = base.append(pa.field(name, pa.string()))
    return base.append(pa.field("duplicate", pa.bool_()))


class _Keys:
    """Which group has which names and which code, over all builds.

    Args:
        min_blocks: Rows with fewer blocks do not come into the table.
    """

    def __init__(self, min_blocks: int) -> None:
        self.min_blocks = min_blocks
        self.role_of: dict[str, str] = {}
        self.names: dict[str, set[str]] = {role: set() for role in _ROLES}
        self.holders: dict[tuple[str, str], dict[str, None]] = defaultdict(dict)
        self.owner: dict[tuple[str, str], str] = {}
        self.telling: dict[str, set[str]] = {role: set() for role in _ROLES}
        self.by_group: dict[str, set[str]] = defaultdict(set)
        self.name_of: dict[str, str] = {}
        self.builds: dict[str, int] = defaultdict(int)

    def add(self, role: str, table: pa.Table) -> None:
        columns = [table.column(name).to_pylist() for name in ("group", "name", "token_digest", "num_blocks")]
        for group, name, digest, blocks in zip(*columns, strict=True):
            self.role_of[group] = role
            self.name_of[group] = name
            if blocks >= self.min_blocks:
                self.builds[group] += 1
                self.holders[role, digest][group] = None
            if blocks >= _TELLING_BLOCKS:
                self.names[role].add(name)
                self.telling[role].add(digest)
                self.by_group[group].add(digest)

    def decide(self, min_builds: int) -> tuple[set[str], set[str]]:
        """Groups that an earlier role holds, and groups with too few builds."""
        leaked: set[str] = set()
        small: set[str] = set()
        for group, role in self.role_of.items():
            if self.builds[group] < min_builds:
                small.add(group)
                continue
            for earlier in _ROLES[: _ROLES.index(role)]:
                same_name = group in self.by_group and self.name_of[group] in self.names[earlier]
                if same_name or not self.telling[earlier].isdisjoint(self.by_group.get(group, ())):
                    leaked.add(group)
        return leaked, small

    def own(self, left_out: set[str]) -> None:
        """Give each code to the first group of its role that comes into the table."""
        for key, groups in self.holders.items():
            first = next((group for group in groups if group not in left_out), None)
            if first is not None:
                self.owner[key] = first

    def duplicates(self, role: str, table: pa.Table) -> list[bool]:
        digests = table.column("token_digest").to_pylist()
        groups = table.column("group").to_pylist()
        return [self.owner[role, digest] != group for digest, group in zip(digests, groups, strict=True)]


def _write_manifest(
    config: DatasetConfig, reports: list[BuildReport], assembly: Assembly, output: Path
) -> None:
    manifest: dict[str, Any] = {
        "manifest": MANIFEST_VERSION,
        "schema": SCHEMA_VERSION,
        "normaliser": NORMALISER_VERSION,
        "vocabulary": load_vocabulary().digest,
        "matrix": {"compilers": config.compilers, "levels": config.levels, "targets": config.targets},
        "assembly": asdict(assembly),
        "packages": [asdict(package) for package in config.packages],
        "builds": [asdict(report) for report in reports],
    }
    write_json(output.with_name(output.name + ".manifest.json"), manifest)

"""Running the matrix: package by package, build by build, each remembered, so that a stopped run goes on."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from weft.bcsd.dataset.compile import compile_build, compile_flags, compiler_version, driver
from weft.bcsd.dataset.config import DatasetConfig, Package, Variant
from weft.bcsd.dataset.label import label_build
from weft.bcsd.dataset.source import Tree, fetch
from weft.bcsd.extract import hash_file
from weft.bcsd.represent import NORMALISER_VERSION, load_vocabulary
from weft.bcsd.table import SCHEMA_VERSION
from weft.errors import WeftError

_EXTRACTOR_VERSION = 1


@dataclass(frozen=True)
class BuildReport:
    """What became of one build; ``error`` is empty where it went well."""

    package: str
    role: str
    build: str
    version: str
    source_sha256: str
    compiler: str
    flags: tuple[str, ...]
    functions: int = 0
    symbols: int = 0
    derived: int = 0
    ambiguous: int = 0
    missed: int = 0
    library_sha256: str = ""
    seconds: float = 0.0
    error: str = ""


def build_all(
    config: DatasetConfig,
    work: Path,
    progress: Callable[[BuildReport, bool], None] = lambda report, fresh: None,
) -> list[BuildReport]:
    """Make every build that is not there yet.

    Args:
        config: What to build.
        work: Where trees and builds live.
        progress: Called after each build, with whether it was made now.

    Returns:
        One report per build, in order. A package that cannot be fetched has one failed report per build.

    A finished build is kept as long as its configuration, its source, its compiler and the versions of the
    extraction stay the same; a failed one is tried again.
    """
    reports: list[BuildReport] = []
    for package in config.packages:
        try:
            tree = fetch(package, work / "source")
        except WeftError as error:
            failed = [_failure(package, variant, None, str(error)) for variant in config.variants]
            for report in failed:
                progress(report, True)
            reports += failed
            continue
        for variant in config.variants:
            report, fresh = _one(package, variant, tree, work, config.jobs)
            reports.append(report)
            progress(report, fresh)
    return reports


def part_path(work: Path, package: str, build: str) -> Path:
    """Where the rows of one build lie."""
    return work / "builds" / package / build / "functions.parquet"


def known_builds(config: DatasetConfig, work: Path) -> list[BuildReport]:
    """The reports of every finished build of the configuration's packages, in order."""
    found: list[BuildReport] = []
    for package in config.packages:
        for variant in config.variants:
            part = part_path(work, package.name, str(variant))
            record = part.parent / "report.json"
            if record.is_file() and part.is_file():
                found.append(_report(json.loads(record.read_text(encoding="utf-8"))["report"]))
    return found


def _one(package: Package, variant: Variant, tree: Tree, work: Path, jobs: int) -> tuple[BuildReport, bool]:
    part = part_path(work, package.name, str(variant))
    folder = part.parent
    record = folder / "report.json"
    key = _key(package, variant, tree)
    if record.is_file() and part.is_file():
        known = json.loads(record.read_text(encoding="utf-8"))
        if known.get("key") == key:
            return _report(known["report"]), False
    begun = time.monotonic()
    try:
        library, stripped = compile_build(package, variant, tree.path, work / "source", folder, jobs=jobs)
        labelled = label_build(package, variant, library, stripped)
    except WeftError as error:
        part.unlink(missing_ok=True)
        return _failure(package, variant, tree, str(error)), True
    pq.write_table(labelled.table, part, compression="zstd")
    report = BuildReport(
        **_identity(package, variant, tree),
        functions=labelled.table.num_rows,
        symbols=labelled.symbols,
        derived=labelled.derived,
        ambiguous=labelled.ambiguous,
        missed=labelled.missed,
        library_sha256=hash_file(str(library)),
        seconds=round(time.monotonic() - begun, 2),
    )
    partial = record.with_suffix(".part")
    partial.write_text(json.dumps({"key": key, "report": asdict(report)}, indent=1), encoding="utf-8")
    os.replace(partial, record)
    return report, True


def _report(record: dict[str, Any]) -> BuildReport:
    return BuildReport(**{**record, "flags": tuple(record["flags"])})


def _identity(package: Package, variant: Variant, tree: Tree | None) -> dict[str, Any]:
    return {
        "package": package.name,
        "role": package.role,
        "build": str(variant),
        "version": tree.version if tree else "",
        "source_sha256": tree.digest if tree else "",
        "compiler": compiler_version(driver(variant)) if tree else "",
        "flags": compile_flags(package, variant),
    }


def _failure(package: Package, variant: Variant, tree: Tree | None, error: str) -> BuildReport:
    return BuildReport(**_identity(package, variant, tree), error=error)


def _key(package: Package, variant: Variant, tree: Tree) -> str:
    """Whatever the rows of a build depend on."""
    parts = (
        asdict(package),
        str(variant),
        tree.digest,
        compiler_version(driver(variant)),
        compile_flags(package, variant),
        (SCHEMA_VERSION, NORMALISER_VERSION, load_vocabulary().digest, _EXTRACTOR_VERSION),
    )
    return hashlib.sha256(repr(parts).encode()).hexdigest()

"""Running the matrix: package by package, build by build, each remembered, so that a stopped run goes on."""

from __future__ import annotations

import hashlib
import resource
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from weft.bcsd.dataset.compile import (
    LIBRARY,
    STRIPPED,
    compile_build,
    compile_flags,
    compiler_version,
    driver,
)
from weft.bcsd.dataset.config import DatasetConfig, Package, Variant
from weft.bcsd.dataset.label import label_build
from weft.bcsd.dataset.source import Tree, fetch, one_at_a_time
from weft.bcsd.disassemble.native import EXTRACTOR_VERSION
from weft.bcsd.lift.version import available_lifter
from weft.bcsd.represent import NORMALISER_VERSION, load_vocabulary
from weft.bcsd.represent.inlined import INLINED_VERSION
from weft.bcsd.table import SCHEMA_VERSION, write_tables
from weft.bcsd.use.extract_files import hash_file
from weft.errors import WeftError
from weft.platform.files import make_folder, write_json
from weft.platform.reading import read_object

_OTHERWISE = (
    "it was built by other settings than the configuration's; `weft bcsd dataset build` makes it anew"
)


@dataclass(frozen=True)
class BuildReport:
    """What became of one build; ``error`` is empty where it went well.

    ``seconds`` are of the clock, ``cpu_seconds`` of the processor, compilers included.
    """

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
    cpu_seconds: float = 0.0
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

    A finished build is kept as long as its configuration, its source and its compiler stay the same; its rows
    are made anew when the extraction's versions change. A failed build is tried again.
    """
    # The compilers run in folders of their own.
    work = work.resolve()
    reports: list[BuildReport] = []
    for package in config.packages:
        try:
            tree = fetch(package, work / "source")
        except WeftError as error:
            failed = [_failure(package, variant, None, str(error)) for variant in config.variants_of(package)]
            for report in failed:
                progress(report, True)
            reports += failed
            continue
        for variant in config.variants_of(package):
            report, fresh = _one(package, variant, tree, work, config)
            reports.append(report)
            progress(report, fresh)
    return reports


def part_path(work: Path, package: str, build: str) -> Path:
    """Where the rows of one build lie."""
    return work / "builds" / package / build / "functions.parquet"


def known_builds(config: DatasetConfig, work: Path) -> list[BuildReport]:
    """The reports of every finished build of the configuration's packages, in order.

    A build that was made by other settings than the configuration's has an error: its rows are not what is asked for.
    """
    found: list[BuildReport] = []
    for package in config.packages:
        for variant in config.variants_of(package):
            part = part_path(work, package.name, str(variant))
            record = part.parent / "report.json"
            if record.is_file() and part.is_file():
                document = read_object(record)
                report = _report(document["report"])
                key = _compile_key(package, variant, report.source_sha256, report.compiler)
                found.append(report if document["compiled"] == key else replace(report, error=_OTHERWISE))
    return found


def _one(
    package: Package, variant: Variant, tree: Tree, work: Path, config: DatasetConfig
) -> tuple[BuildReport, bool]:
    part = part_path(work, package.name, str(variant))
    make_folder(part.parent)
    # A second run in the same folder waits, and then finds the build finished.
    with one_at_a_time(part.with_name("lock")):
        return _one_alone(package, variant, tree, work, part, config)


def _one_alone(
    package: Package, variant: Variant, tree: Tree, work: Path, part: Path, config: DatasetConfig
) -> tuple[BuildReport, bool]:
    folder = part.parent
    record = folder / "report.json"
    known = read_object(record) if record.is_file() else {}
    try:
        compiler = compiler_version(driver(variant))
    except WeftError as error:
        return _failure(package, variant, None, str(error)), True
    compiled, labelled = _compile_key(package, variant, tree.digest, compiler), _label_key(config)
    library, stripped = folder / LIBRARY, folder / STRIPPED
    reusable = known.get("compiled") == compiled and library.is_file() and stripped.is_file()
    # Rows with operations serve where none are asked for.
    enough = known.get("labelled") in (labelled, _label_key(replace(config, operations=True)))
    if reusable and enough and part.is_file():
        return _report(known["report"]), False
    begun, spent = time.monotonic(), _processor_time()
    try:
        if not reusable:
            record.unlink(missing_ok=True)
            compile_build(package, variant, tree.path, work / "source", folder, jobs=config.jobs)
        looked_at = library if config.symbols else stripped
        rows = label_build(package, variant, library, looked_at, "auto" if config.operations else "none")
    except WeftError as error:
        part.unlink(missing_ok=True)
        return _failure(package, variant, tree, str(error)), True
    write_tables([rows.table], part, rows.table.schema)
    report = BuildReport(
        **_identity(package, variant, tree),
        functions=rows.table.num_rows,
        symbols=rows.symbols,
        derived=rows.derived,
        ambiguous=rows.ambiguous,
        missed=rows.missed,
        library_sha256=hash_file(str(library)),
        seconds=round(time.monotonic() - begun, 2),
        cpu_seconds=round(_processor_time() - spent, 2),
    )
    document = {"compiled": compiled, "labelled": labelled, "report": asdict(report)}
    write_json(record, document)
    return report, True


def _processor_time() -> float:
    """Of this process and of those it has waited for."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


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


def _compile_key(package: Package, variant: Variant, source: str, compiler: str) -> str:
    """Whatever the compiled files of a build depend on; source and compiler as its report has them."""
    parts = (
        {name: value for name, value in asdict(package).items() if name != "builds"},
        str(variant),
        source,
        compiler,
        compile_flags(package, variant),
    )
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def _label_key(config: DatasetConfig) -> str:
    """Whatever else the rows depend on: rows are made anew when the extraction changes, files are not."""
    versions = f"{SCHEMA_VERSION}.{NORMALISER_VERSION}.{EXTRACTOR_VERSION}.{load_vocabulary().digest[:16]}"
    lifter = available_lifter() if config.operations else "none"
    return f"{versions}.{lifter}.{INLINED_VERSION}{'.symbols' if config.symbols else ''}"

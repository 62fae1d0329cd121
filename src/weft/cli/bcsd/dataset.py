"""``weft bcsd dataset``: build labelled functions from source packages; join them; count them."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from weft.cli.options import Parser, add_json, add_out, add_quiet, add_work
from weft.cli.outputs import check_outputs

if TYPE_CHECKING:
    from weft.bcsd.dataset.build import BuildReport
    from weft.bcsd.dataset.config import DatasetConfig


_WHAT = {
    "build": "Fetch and compile the packages that are not built yet, then join all that are built.",
    "join": "Join the packages that are built to one table of labelled functions.",
    "stats": "Count a data set: groups, builds, packages, sizes.",
}


def parser(action: str) -> Parser:
    """The arguments of ``weft bcsd dataset build``, ``join`` or ``stats``."""
    result = Parser(f"bcsd dataset {action}", _WHAT[action])
    if action == "stats":
        result.add_argument("data", type=Path, metavar="DATA", help="the table")
        add_json(result)
        return result
    result.add_argument(
        "config",
        type=Path,
        nargs="+",
        metavar="CONFIG",
        help="a YAML file of packages; of several, the first says how",
    )
    add_work(result)
    add_out(result, "FILE", "the table", default="functions.parquet in the work folder")
    if action == "build":
        result.add_argument("--jobs", type=int, metavar="N", help="compilations at a time (the file's)")
    only = (
        "build these packages only, join all that are built" if action == "build" else "these packages only"
    )
    result.add_argument("--only", metavar="NAME,…", help=f"{only} (all)")
    result.add_argument("--builds", metavar="NAME,…", help="these builds, as gcc-O2-mips (CONFIG's)")
    add_json(result)
    add_quiet(result)
    return result


def run(argv: list[str], action: str) -> int:
    """Run it; exit code 9 when some builds failed."""
    arguments = parser(action).parse_args(argv)
    from weft.bcsd.dataset.assemble import assemble
    from weft.bcsd.dataset.build import build_all, known_builds
    from weft.bcsd.dataset.stats import dataset_stats
    from weft.bcsd.use.spared import check_suffix
    from weft.errors import InputError, PartialFailure
    from weft.platform.files import make_folder

    if action == "stats":
        stats = dataset_stats(arguments.data)
        print(json.dumps(stats) if arguments.json else describe(stats))
        return 0
    output = arguments.out or arguments.work / "functions.parquet"
    config, chosen = _configs(arguments)
    make_folder(arguments.work)
    for package in chosen.packages:
        if not chosen.variants_of(package):
            said = f"{package.name}: left out, none of its builds ({', '.join(package.builds)}) is asked for"
            print(said, file=sys.stderr)
    check_outputs([output, output.with_name(f"{output.name}.manifest.json")], arguments.config)
    check_suffix(output)
    failed: list[BuildReport] = []
    if action == "build":
        reports = build_all(chosen, arguments.work, quiet if arguments.quiet or arguments.json else tell)
        failed = [report for report in reports if report.error]
    else:
        config = chosen
    known = known_builds(config, arguments.work)
    told = {(report.package, report.build) for report in failed}
    failed += [report for report in known if report.error and (report.package, report.build) not in told]
    reports = [report for report in known if not report.error] + failed
    if all(report.error for report in reports):
        reason = failed[0].error if failed else "nothing is built"
        raise InputError(f"no build succeeded: {reason}", where=str(arguments.config[0]))
    assembly = assemble(config, reports, arguments.work, output)
    if arguments.json:
        print(json.dumps({"output": str(output), **asdict(assembly), "failed": [asdict(r) for r in failed]}))
    else:
        groups = ", ".join(f"{count} {role}" for role, count in assembly.groups.items())
        print(
            f"{output}: {assembly.rows} functions in groups: {groups}; {assembly.duplicates} marked as duplicates, "
            f"{assembly.leaked} groups left out as copies across the split, {assembly.small} with too few builds"
        )
    for report in failed:
        print(f"failed: {report.package} {report.build}: {report.error}", file=sys.stderr)
    return PartialFailure.exit_code if failed else 0


def _configs(arguments: argparse.Namespace) -> tuple[DatasetConfig, DatasetConfig]:
    """What the files and options ask for: all packages, and those of ``--only``."""
    from weft.bcsd.dataset.config import DatasetConfig
    from weft.errors import ConfigError
    from weft.platform.settings import read_settings

    first, *others = (read_settings(DatasetConfig, path) for path in arguments.config)
    config = first.beside(others)
    if arguments.builds is not None:
        config = config.only(arguments.builds.split(","))
    if getattr(arguments, "jobs", None) is not None:
        config = replace(config, jobs=arguments.jobs)
    names = {package.name for package in config.packages}
    wanted = names if arguments.only is None else set(arguments.only.split(","))
    unknown = sorted(wanted - names)
    if unknown:
        raise ConfigError(f"--only: no package {unknown[0]!r}", where=str(arguments.config[0]))
    return config, replace(config, packages=tuple(p for p in config.packages if p.name in wanted))


def tell(report: BuildReport, fresh: bool) -> None:
    """One line per build on the error stream."""
    state = report.error or f"{report.functions} functions, {report.missed} missed, {report.seconds:.1f} s"
    print(
        f"{report.package} {report.build}: {state}{'' if fresh else ' (kept)'}", file=sys.stderr, flush=True
    )


def quiet(report: BuildReport, fresh: bool) -> None:
    """Say nothing."""


def describe(stats: dict[str, Any]) -> str:
    """The counts for a person."""
    lines = [
        f"{stats['rows']} functions, {stats['groups']} groups ({stats['groups_4_builds']} with at least 4 builds, "
        f"{stats['groups_5_blocks']} of at least 5 blocks), {stats['duplicates']} duplicates, "
        f"{stats['cfg_incomplete']} with an unresolved jump",
        f"{stats['groups_4_distinct']} groups have at least 4 builds that are no duplicates; training shares "
        f"{stats['across_split']['names']} names and {stats['across_split']['codes']} codes of at least 3 blocks with "
        "validation and test",
        "",
        f"{'role':<8}{'packages':>9}{'rows':>9}{'groups':>8}{'≥4 builds':>11}{'≥5 blocks':>11}",
    ]
    for role, side in stats["roles"].items():
        lines.append(
            f"{role:<8}{side['packages']:>9}{side['rows']:>9}{side['groups']:>8}"
            f"{side['groups_4_builds']:>11}{side['groups_5_blocks']:>11}"
        )
    lines += ["", f"{'package':<18}{'role':<7}{'builds':>7}{'groups':>8}{'≥5 blocks':>11}"]
    for name, package in stats["packages"].items():
        lines.append(
            f"{name:<18}{package['role']:<7}{package['builds']:>7}{package['groups']:>8}"
            f"{package['groups_5_blocks']:>11}"
        )
    lines.append("")
    for key in ("instructions", "blocks", "edges"):
        lines.append(f"{key}: " + ", ".join(f"{name} {value:g}" for name, value in stats[key].items()))
    lines.append("share of functions (≥ 5 blocks) longer than a budget of instructions:")
    for level, shares in stats["truncated"].items():
        lines.append(
            f"  {level}: " + ", ".join(f"{share:.1%} > {budget}" for budget, share in shares.items())
        )
    return "\n".join(lines)

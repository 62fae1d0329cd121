"""``weft bcsd calibrate``: fit what a model's scores and the evidence beside them are worth."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from weft.cli.options import Parser, add_json, add_machine, add_out, add_work, device_of
from weft.cli.outputs import check_outputs
from weft.errors import ConfigError


def parser() -> Parser:
    """The arguments of ``weft bcsd calibrate``."""
    result = Parser(
        "bcsd calibrate",
        "Fit the matching rule of a model, or how sure searches with it are, to the validation packages of a data set.",
    )
    result.add_argument("model", metavar="NAME|DIR", help="a shipped model or a folder")
    add_work(result)
    result.add_argument(
        "--search",
        type=Path,
        metavar="DATA",
        help="fit how sure searches are instead, to the validation packages of this joined data set",
    )
    result.add_argument(
        "--confidence",
        action="store_true",
        help="fit how sure matches are, and leave the rest of the model's rule as it is",
    )
    beside = "match.json or search.json in the model's folder; of a shipped model nowhere, so name one"
    add_out(result, "FILE", "what was fitted", default=beside)
    add_json(result)
    add_machine(result)
    return result


def run(argv: list[str]) -> int:
    """Run ``weft bcsd calibrate``."""
    arguments = parser().parse_args(argv)
    if arguments.search is not None and arguments.confidence:
        raise ConfigError("--search and --confidence are two things: one of them at a time")
    if arguments.search is not None:
        return _search(arguments)
    from weft.bcsd.matching.fit import STRANGERS, Lessons, fit_rule, held_out_error, refit
    from weft.bcsd.matching.pairs.evidence import KINDS
    from weft.bcsd.matching.rule import RULE_FILE, rule_of, save_rule
    from weft.bcsd.matching.trial import packages_of, strangers, trials, with_fewer
    from weft.bcsd.use.embedder import Embedder
    from weft.bcsd.use.store import find

    folder = find(arguments.model)
    output = _output(arguments, folder / RULE_FILE)
    packages = packages_of(arguments.work, "valid")
    if not packages:
        raise ConfigError("no validation package is built", where=str(arguments.work), hint="--work DIR")
    embedder = Embedder.load(folder, device=device_of(arguments), precision="auto")
    rule, fitted = rule_of(folder, embedder.version)
    if arguments.confidence and not fitted:
        raise ConfigError("it has no rule of its own yet", where=str(folder), hint="leave out --confidence")
    if len(packages) < 2:
        name = packages[0].name
        print(
            f"fitted on {name} alone: what files of different packages look like is not known",
            file=sys.stderr,
        )
    settings = _settings(packages, arguments.work)
    known = list(trials(packages, settings, embedder, "valid"))
    fewer = [with_fewer(trial, embedder.weights) for trial in known]
    lessons = Lessons(known, fewer, strangers(known, embedder.weights, STRANGERS))
    rule = refit(lessons, rule) if arguments.confidence else fit_rule(lessons, embedder.version)
    save_rule(rule, output)
    if arguments.json:
        print(json.dumps(asdict(rule)))
    elif not arguments.quiet:
        worth = ", ".join(f"{kind} {weight:.2f}" for kind, weight in zip(KINDS, rule.evidence, strict=True))
        names = ", ".join(package.name for package in packages)
        print(f"{output}: fitted on {names}: score {rule.score:.2f}, {worth}, floor {rule.floor}")
        if len(packages) > 1:
            error = held_out_error(lessons, rule)
            print(
                f"calibration error of a package's matches, the confidence fitted without it: {error:.3f} (mean)"
            )
    return 0


def _settings(packages: Sequence[Path], work: Path) -> dict[str, tuple[str, str]]:
    """The pairs of builds that a rule can be fitted to; what is lacking is told."""
    from weft.bcsd.matching.trial import FURTHER, SETTINGS, built

    settings = {**built(packages, SETTINGS), **built(packages, FURTHER)}
    if not settings:
        needed = "; ".join(" and ".join(builds) for builds in SETTINGS.values())
        what = "the validation packages have no two builds in common that a rule is fitted to"
        raise ConfigError(what, where=str(work), hint=f"any of: {needed}")
    lacking = [name for name in SETTINGS if name not in settings]
    if lacking:
        said = f"fitted to {', '.join(settings)} alone: the validation packages lack a build of {', '.join(lacking)}"
        print(said, file=sys.stderr)
    return settings


def _search(arguments: argparse.Namespace) -> int:
    from weft.bcsd.presence.calibrate import SURE, calibrate_search
    from weft.bcsd.presence.model import FILE_NAME
    from weft.bcsd.use.embedder import Embedder
    from weft.bcsd.use.store import find

    folder = find(arguments.model)
    output = _output(arguments, folder / FILE_NAME)
    embedder = Embedder.load(folder, device=device_of(arguments), precision="auto")
    found = calibrate_search(arguments.search, embedder, output)
    if arguments.json:
        print(json.dumps(asdict(found)))
    elif not arguments.quiet:
        print(
            f"{output}: of hits at least {SURE} sure {found.precision:.3f} are right, {found.recall:.3f} of what is "
            f"there is found so, calibration error {found.error:.3f}, on what it was fitted to"
        )
    return 0


def _output(arguments: argparse.Namespace, beside: Path) -> Path:
    """Where what is fitted goes; what comes with the package is left as it was installed."""
    from weft.platform.models import shipped_models

    folder = beside.parent
    if arguments.out is None and folder.resolve() in {
        path.resolve() for path in shipped_models("bcsd").values()
    }:
        what = f"{folder.name} is shipped with weft: its {beside.name} is not replaced unasked"
        hint = f"-o FILE; or, to use what is fitted, calibrate a copy of its folder: cp -r {folder} DIR"
        raise ConfigError(what, hint=hint)
    output = arguments.out or beside
    check_outputs([output], [] if arguments.search is None else [arguments.search])
    return output

"""``weft TOOL train``: one form for every tool; its ``learn.setup.Setup`` says what can be set."""

from __future__ import annotations

import json
import math
import sys
from importlib import import_module
from pathlib import Path

from weft.cli.options import Parser, add_json, add_machine, add_out
from weft.errors import ConfigError, PartialFailure, counted


def parser(tool: str) -> Parser:
    """The arguments of ``weft TOOL train``."""
    result = Parser(
        f"{tool} train",
        "Train a model by a YAML file; run again, it goes on where it stopped. Every field of the file can be given "
        "as a flag: --train.steps 2000. Several processes: torchrun --nproc-per-node 2 -m weft "
        f"{tool} train CONFIG. An example is examples/{tool}/train.yaml.",
        usage=f"weft {tool} train CONFIG [--FIELD VALUE ...] [-o MODEL] [--device DEVICE] [--threads N] [--quiet] "
        "[--json]",
    )
    result.add_argument("config", nargs="?", type=Path, metavar="CONFIG", help="the YAML file")
    result.add_argument("--fields", action="store_true", help="list the fields with what they mean, and end")
    add_out(result, "MODEL", "folder of the model", default="the file's out")
    add_json(result)
    add_machine(result, device=None)
    return result


def run(argv: list[str], tool: str) -> int:
    """Run ``weft TOOL train``."""
    parser(tool).parse_known_args(argv)  # help, and what is wrong with the command itself, without the fields
    from weft.platform.settings import leaves, listing, read_settings

    kind = import_module(f"weft.{tool}.learn.setup").Setup
    arguments, flags = parser(tool).parse_known_args(_joined(argv, {f"--{name}" for name, _ in leaves(kind)}))
    if arguments.fields:
        listed = list(listing(kind))
        if arguments.json:
            print(
                json.dumps([dict(zip(("name", "type", "meaning"), field, strict=True)) for field in listed])
            )
            return 0
        for name, what, meaning in listed:
            print(f"{name:<36} {what:<36} {meaning}")
        return 0
    if arguments.config is None:
        raise ConfigError(
            "which settings?", hint=f"weft {tool} train CONFIG: examples/{tool}/train.yaml is one"
        )
    given = {"out": arguments.out, "train.device": arguments.device, "train.threads": arguments.threads}
    flags += [f"--{name}={value}" for name, value in given.items() if value is not None]
    setup = read_settings(kind, arguments.config, flags)
    from weft.train import run_setup
    from weft.train.distributed import World

    def tell(line: str) -> None:
        print(f"weft {tool} train: {line}", file=sys.stderr)

    outcome = run_setup(setup, quiet=arguments.quiet, tell=None if arguments.quiet else tell)
    if not World.launched().first:
        return 0
    if arguments.json:
        results = {name: value if math.isfinite(value) else None for name, value in outcome.results.items()}
        steps = {"steps": outcome.history.step, "stopped": outcome.history.stopped}
        print(json.dumps({"out": str(setup.out), **steps, "results": results}))
    else:
        early = ", ended early" if outcome.history.stopped == "early" else ""
        print(f"{setup.out}: {counted(outcome.history.step, 'step')}{early}")
        for name, value in outcome.results.items():
            print(f"  {name:<24} {f'{value:.4g}' if math.isfinite(value) else '–'}")
    for line in outcome.problems:
        tell(line)
    if outcome.problems:
        raise PartialFailure("some rows could not be used; the model was trained on the others")
    return 0


def _joined(argv: list[str], fields: set[str]) -> list[str]:
    """Each field and its value as one word: one that stands before CONFIG would leave its value in that place."""
    words: list[str] = []
    rest = iter(argv)
    for word in rest:
        value = next(rest, None) if word in fields else None
        words.append(word if value is None else f"{word}={value}")
    return words

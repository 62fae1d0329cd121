"""Options that commands share: each has one spelling, one metavar and one meaning everywhere."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from weft.errors import ConfigError
from weft.platform import ranges

if TYPE_CHECKING:
    import torch

    from weft.platform.processes import Limits

DISASSEMBLERS = "auto, native, angr, smda"
_LEAST_MEMORY = 256


_UNKNOWN = "unrecognized arguments: "


class Parser(argparse.ArgumentParser):
    """Arguments of a command; what is wrong with them is one error, like all else.

    Args:
        command: The words that name it.
        description: What it does.
        further: What to do with one more of what it takes.
        options: Of ``argparse.ArgumentParser``.
    """

    def __init__(self, command: str, description: str, *, further: str = "", **options: Any) -> None:
        super().__init__(prog=f"weft {command}", description=description, allow_abbrev=False, **options)
        self._further = further
        self.register("type", Path, _path)

    def parse_args(  # pyright: ignore[reportIncompatibleMethodOverride] - the base has three signatures
        self, args: Iterable[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> argparse.Namespace:
        """Parse arguments; what may be left out or repeated (``[QUESTION]``, ``FILE...``) may stand behind options too.

        Raises:
            ConfigError: Some are wrong.
        """
        given = None if args is None else list(args)
        found, left = self.parse_known_args(given, namespace or argparse.Namespace())
        # By itself argparse takes what stands before the first option for all that there is of these.
        return self.parse_intermixed_args(given) if left else found

    def error(self, message: str) -> NoReturn:
        """Refuse the arguments.

        Raises:
            ConfigError: Always.
        """
        hint = f"{self.prog} --help"
        if message.startswith(_UNKNOWN):
            unknown = message.removeprefix(_UNKNOWN).split(" ")[0].split("=")[0]
            near = get_close_matches(unknown[:60], self._option_string_actions, n=1)
            if near:
                hint = f"did you mean {near[0]}?"
            elif not unknown.startswith("-"):
                hint = self._beyond()
        raise ConfigError(message if len(message) < 300 else message[:300] + "…", hint=hint)

    def _beyond(self) -> str:
        """The way out where more is named than a command takes."""
        taken = [str(each.metavar) for each in self._actions if not each.option_strings]
        if not taken:
            return f"it takes options alone: {self.prog} --help"
        further = self._further or "what has spaces needs quotation marks"
        return f"it takes {' and '.join(taken)} and no more; {further}"


def _path(name: str) -> Path:
    """A path that is an argument; that of an empty name, as of a variable that is not set, is the folder one is in."""
    if not name:
        raise argparse.ArgumentTypeError("the name is empty (. is the folder that you are in)")
    return Path(name)


def add_json(parser: Parser) -> None:
    """Data for programs."""
    parser.add_argument("--json", action="store_true", help="print JSON")


def add_quiet(parser: Parser) -> None:
    """Silence."""
    parser.add_argument("--quiet", action="store_true", help="no progress, no summary")


def add_out(parser: Parser, metavar: str, what: str, *, default: str | None = None) -> None:
    """Where the result goes: needed, but for a default that is told."""
    told = what if default is None else f"{what} ({default})"
    parser.add_argument("-o", "--out", type=Path, required=default is None, metavar=metavar, help=told)


def add_machine(
    parser: Parser, device: str | None = "auto", threads: str = "threads of the CPU (all)"
) -> None:
    """Where it runs and what it says."""
    parser.add_argument(
        "--device", default=device, metavar="DEVICE", help="auto, cpu, cuda, cuda:1, … (auto)"
    )
    add_threads(parser, threads)
    add_quiet(parser)


def add_threads(parser: Parser, what: str = "threads of the CPU (all)") -> None:
    """How much of the processor."""
    parser.add_argument("--threads", type=int, metavar="N", help=what)


def add_model(parser: Parser, default: str | None, told: str = "baselines alone") -> None:
    """Which model; ``told`` is what happens without one where there is no default."""
    told = default or told
    parser.add_argument(
        "--model", default=default, metavar="NAME|DIR", help=f"a shipped model or a folder ({told})"
    )


def add_precision(parser: Any, default: str, *, int8: bool = False) -> None:
    """In which arithmetic a model computes."""
    parser.add_argument(
        "--precision",
        choices=("auto", "fp32", "bf16", "int8") if int8 else ("auto", "fp32", "bf16"),
        default=default,
        help="of the arithmetic: fp32 is the same everywhere; the others are faster on processors that have them "
        f"and move answers a little; auto is the fastest that there is ({default})",
    )


def add_work(parser: Parser) -> None:
    """Where a data set of packages is built."""
    parser.add_argument(
        "--work", type=Path, default=Path("bcsd-data"), metavar="DIR", help="where it is built (bcsd-data)"
    )


def add_shapes(parser: Parser) -> None:
    """In which of two forms for programs the answer is printed."""
    shape = parser.add_mutually_exclusive_group()
    shape.add_argument("--json", action="store_true", help="print JSON")
    shape.add_argument("--csv", action="store_true", help="print CSV")


def add_html(parser: Any, what: str) -> None:
    """A page to look at."""
    parser.add_argument("--html", type=_page, metavar="FILE", help=f"write {what}")


def _page(given: str) -> Path:
    if given == "-":
        raise argparse.ArgumentTypeError("a page is a file: '-' names none")
    return Path(given)


def add_paths(parser: Parser, nargs: str = "+") -> None:
    """Binaries."""
    parser.add_argument(
        "paths", nargs=nargs, metavar="FILE|DIR", help="binaries, or folders to search for them"
    )


def add_selector(parser: Parser) -> None:
    """A file, or one of its functions."""
    parser.add_argument(
        "selector", metavar="FILE[:FUNCTION|@ADDRESS]", help="a binary, or one function of it"
    )


def add_min_blocks(parser: Parser, default: int, *, one: bool = False) -> None:
    """Which functions are too small; where ``one`` can be named, it never is."""
    but = ", but for one that is named" if one else ""
    parser.add_argument(
        "--min-blocks",
        type=int,
        default=default,
        metavar="N",
        help=f"leave out functions with fewer blocks{but} ({default})",
    )


def add_store(parser: Parser) -> None:
    """A store of facts."""
    parser.add_argument("store", type=Path, metavar="STORE", help="made by weft kg extract")


def add_only(parser: Parser) -> None:
    """What a tree states and what a model inferred, apart."""
    parser.add_argument(
        "--only",
        choices=("stated", "inferred"),
        help="facts that the syntax states, or those that a model inferred (both)",
    )


def add_seed(parser: Any, what: str) -> None:
    """Facts and names that are known before."""
    parser.add_argument("--seed", nargs="+", type=Path, default=[], metavar="FILE", help=what)


def add_text_column(parser: Any) -> None:
    """Where the text of a record stands."""
    parser.add_argument(
        "--text-column", default="text", metavar="NAME", help="key of the text in JSON lines (text)"
    )


def add_near(parser: Any) -> None:
    """How names of entities are linked to words."""
    parser.add_argument(
        "--near", type=float, default=0.5, metavar="J", help="3-gram Jaccard similarity of near names (0.5)"
    )
    parser.add_argument("--exact", action="store_true", help="no near names")


def add_beams(parser: Parser, default: int) -> None:
    """How widely a tail is spelled."""
    parser.add_argument(
        "--beams", type=int, default=default, metavar="N", help=f"hypotheses of a tail ({default})"
    )


def add_index(parser: Parser) -> None:
    """Which index of functions."""
    parser.add_argument("--index", type=Path, required=True, metavar="DIR", help="the index")


def add_workers(parser: Parser) -> None:
    """How many processes."""
    parser.add_argument("--workers", type=int, metavar="N", help="processes (one per core)")


def add_ray(parser: Parser) -> None:
    """A cluster."""
    parser.add_argument(
        "--ray", metavar="ADDRESS", help="work on a Ray cluster: its address, or local to start one here"
    )


def add_reading(parser: Parser) -> None:
    """Which disassembler, within which limits."""
    parser.add_argument("--disassembler", default="auto", metavar="NAME", help=f"{DISASSEMBLERS} (auto)")
    add_limits(parser, "file")


def add_limits(parser: Parser, each: str) -> None:
    """What one file or document may take."""
    parser.add_argument(
        "--timeout", type=float, default=3600.0, metavar="S", help=f"seconds per {each} (3600)"
    )
    parser.add_argument(
        "--memory", type=int, default=8192, metavar="MIB", help=f"address space per {each} (8192)"
    )


def add_lifter(parser: Parser) -> None:
    """Whether functions are lifted to what they compute."""
    parser.add_argument(
        "--lifter", default="auto", metavar="NAME", help="auto, pcode, or none: compare tokens alone (auto)"
    )


def add_cache(parser: Parser) -> None:
    """Whether what was lifted before is known."""
    parser.add_argument(
        "--no-cache",
        dest="cache",
        action="store_false",
        help="lift every function, those too that were lifted before; keep nothing for the next time",
    )


def limits_of(arguments: argparse.Namespace) -> Limits:
    """The limits that the arguments name.

    Raises:
        ConfigError: No time, or too little memory.
    """
    from weft.platform.processes import Limits

    if not arguments.timeout > 0:
        raise ConfigError(f"--timeout is {arguments.timeout}; it must be above 0")
    at_least(_LEAST_MEMORY, memory=arguments.memory)
    return Limits(arguments.timeout, arguments.memory)


def workers_of(arguments: argparse.Namespace) -> int:
    """How many processes the arguments name.

    Raises:
        ConfigError: Fewer than one.
    """
    workers = arguments.workers
    at_least(1, workers=1 if workers is None else workers)
    return len(os.sched_getaffinity(0)) if workers is None else workers


def at_least(least: int, **values: float | None) -> None:
    """Check numbers that options gave; None was not given.

    Raises:
        ConfigError: One is smaller.
    """
    ranges.at_least(least, **_spelled(values))


def share(**values: float | None) -> None:
    """Check probabilities that options gave; None was not given.

    Raises:
        ConfigError: One lies outside [0, 1].
    """
    ranges.share(**_spelled(values))


def _spelled(values: dict[str, float | None]) -> dict[str, float | None]:
    """The values by the options as a person types them."""
    return {f"--{name.replace('_', '-')}": value for name, value in values.items()}


def device_of(arguments: argparse.Namespace) -> torch.device:
    """The device that the arguments name, with the CPU's threads set.

    Raises:
        ConfigError: Fewer than one thread, or no such device.
    """
    from weft.platform.machine import device_named, use_threads

    use_threads(arguments.threads)
    return device_named(arguments.device)

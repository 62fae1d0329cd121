"""``weft kg extract``: a corpus into a store, document by document."""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from weft.cli.kg.endpoint import add_endpoint, endpoint_of, report_tally
from weft.cli.kg.met import say_met, say_unused
from weft.cli.options import (
    Parser,
    add_beams,
    add_json,
    add_limits,
    add_machine,
    add_model,
    add_near,
    add_out,
    add_precision,
    add_ray,
    add_seed,
    add_text_column,
    add_workers,
    at_least,
    limits_of,
    share,
)
from weft.cli.patience import PATIENCE, reminding
from weft.errors import ConfigError, PartialFailure, counted

if TYPE_CHECKING:
    from weft.kg.extraction.corpus import Report
    from weft.kg.storage.graph import Graph


WORTH = (
    "relations by words were never trained: of their facts about one in ten is right, so look at the sentences; "
    "types, said in a schema file, help (docs/kg.md)"
)

_FLAGS = {
    "model": "--model",
    "precision": "--target-precision",
    "seeds": "--seed",
    "beams": "--beams",
    "floor": "--least-confidence",
    "endpoint": "--llm",
    "text_column": "--text-column",
    "arithmetic": "--precision",
}
"""What fields of :class:`weft.kg.extraction.extract.Extraction` are called here."""


def parser() -> Parser:
    """The arguments of ``weft kg extract``."""
    result = Parser(
        "kg extract",
        "Read the facts of a corpus into a store. Documents that the store holds already, unchanged and "
        "read by the same model, are skipped; a run that was stopped goes on.",
        further="name a folder of them, or call it again with the same STORE for each",
    )
    result.add_argument(
        "corpus",
        type=Path,
        metavar="CORPUS",
        help="Python source or text (plain, Markdown, HTML, PDF, Word, mail, JSONL), file or folder; Re-DocRED JSON",
    )
    add_model(result, None, "by what CORPUS holds: kg-text-small for texts alone, else kg-python-small")
    add_out(result, "STORE", "the store; made where it is not there")
    result.add_argument(
        "--target-precision",
        type=float,
        metavar="P",
        help="keep as many facts as together are right this often; stays until it is changed, nothing is read again; "
        "0 keeps all",
    )
    result.add_argument(
        "--name", metavar="NAME", help="the corpus's name, which opens every document's (its folder's)"
    )
    result.add_argument(
        "--prune", action="store_true", help="take out documents that the corpus does not hold any more"
    )
    text = result.add_argument_group("text, with a model of text")
    add_seed(
        text, "seed triples whose entities are looked for; not needed where documents bring their mentions"
    )
    add_near(text)
    add_text_column(text)
    text.add_argument(
        "--relation",
        action="append",
        metavar="NAME",
        help="a relation that the model has not learnt, as NAME: DEFINITION, with the words head and tail in it, or a "
        "schema file of such; may be repeated",
    )
    add_precision(text, "fp32", int8=True)
    add_workers(result)
    add_limits(result, "document, where several processes read")
    add_ray(result)
    add_beams(result, 4)
    result.add_argument(
        "--least-confidence",
        type=float,
        default=0.5,
        metavar="P",
        help="least confidence of a fact that a model of code infers (0.5)",
    )
    add_endpoint(result)
    add_json(result)
    add_machine(result, threads="threads of the CPU in each process, for a model of code (1)")
    return result


def run(argv: list[str]) -> int:
    """Run ``weft kg extract``; exit code 9 where documents could not be read."""
    arguments = parser().parse_args(argv)
    at_least(1, threads=arguments.threads)
    share(
        near=arguments.near,
        least_confidence=arguments.least_confidence,
        target_precision=arguments.target_precision,
    )
    _check_threads(arguments)
    from weft.kg.extraction.extract import Extraction, extract
    from weft.kg.storage.graph import Graph

    workers = arguments.workers
    options = Extraction(
        model=arguments.model,
        name=arguments.name,
        precision=arguments.target_precision,
        prune=arguments.prune,
        seeds=tuple(arguments.seed),
        near=None if arguments.exact else arguments.near,
        beams=arguments.beams,
        floor=arguments.least_confidence,
        endpoint=endpoint_of(arguments),
        workers=os.cpu_count() or 1 if workers is None and arguments.ray is None else workers,
        ray=arguments.ray,
        limits=limits_of(arguments),
        device=arguments.device,
        threads=arguments.threads or 1,
        arithmetic=arguments.precision,
        asked=tuple(arguments.relation or ()),
        text_column=arguments.text_column,
    )
    progress = _Progress(arguments.quiet)
    waiting = partial(_waiting, arguments.corpus, progress)
    with _as_flags(arguments.exact), reminding(waiting, PATIENCE, quiet=arguments.quiet) as heard:
        progress.heard = heard
        report = extract(arguments.corpus, arguments.out, options, progress)
    if arguments.relation and not arguments.quiet:
        print(WORTH, file=sys.stderr)
    for document, message in report.failed:
        print(f"not read: {document}: {message}", file=sys.stderr)
    say_unused(report.unused)
    if report.moved:
        print(
            "a corpus of this name was read from another place before: documents of the same names took the place of "
            "its own; --name keeps two corpora apart",
            file=sys.stderr,
        )
    say_met(report.others, report.foreign)
    if report.tally is not None:
        report_tally(report.tally)
        if report.unanswered:
            print(
                f"the endpoint was silent on questions of {counted(report.unanswered, 'document')}: the model's own "
                "spelling stands there, and the next run with --llm asks again",
                file=sys.stderr,
            )
    graph = Graph.load(arguments.out)
    if arguments.json:
        kept = {"kept": len(graph), "target_precision": graph.manifest.precision}
        print(json.dumps({**report.record(), **kept}, ensure_ascii=False))
    elif not arguments.quiet:
        _print(report, graph)
    if report.failed:
        raise PartialFailure(f"{counted(len(report.failed), 'document')} could not be read")
    return 0


@contextmanager
def _as_flags(exact: bool) -> Generator[None]:
    """Let an error that names a field of ``Extraction`` name the flag instead."""
    flags = {**_FLAGS, "near": "--exact" if exact else "--near"}

    def worded(text: str) -> str:
        return re.sub(r"\bExtraction\.(\w+)", lambda found: flags.get(found[1], found[0]), text)

    try:
        yield
    except ConfigError as error:
        hint = None if error.hint is None else worded(error.hint)
        raise ConfigError(worded(error.what), where=error.where, hint=hint) from error


def _check_threads(arguments: argparse.Namespace) -> None:
    if (arguments.threads or 1) == 1:
        return
    from weft.kg.extraction.model import model_for, reads_text
    from weft.platform.models import find_model

    if reads_text(find_model("kg", arguments.model or model_for(arguments.corpus))):
        raise ConfigError(
            f"--threads {arguments.threads} is for a model of code; one of text reads on a single thread, so that the "
            "same text gives the same facts",
            hint="--workers has several processes read",
        )


def _print(report: Report, graph: Graph) -> None:
    done = report.read + report.empty
    they = "it" if report.replaced == 1 else "they"
    again = (
        f"{report.replaced} of them again, because {they} changed or the model did, "
        if report.replaced
        else ""
    )
    print(
        f"documents: {done} read ({again}{report.empty} without a fact), "
        f"{report.unchanged} unchanged, {len(report.failed)} failed"
    )
    if report.gone:
        them = "it" if len(report.gone) == 1 else "them"
        what = "taken out" if report.removed else f"no longer in the corpus; --prune takes {them} out"
        print(f"{counted(len(report.gone), 'document')} {what}: {', '.join(report.gone[:5])}")
    if report.held:
        they = "it may be" if len(report.held) == 1 else "they may be"
        print(
            f"{counted(len(report.held), 'document')} kept as before, for {they} in what cannot be read: "
            f"{', '.join(report.held[:5])}"
        )
    precision = graph.manifest.precision
    rule = "" if precision is None else f" (a target precision of {precision:g})"
    places = counted(graph.num_places, "place")
    print(f"the store: {counted(len(graph), 'fact')} kept{rule}, stated at {places} in all")


def _waiting(corpus: Path, progress: _Progress) -> str:
    return (
        f"weft kg extract: reading {corpus}, {counted(progress.done, 'document')} so far; long texts take minutes, and "
        "of a document nothing is kept before all of it is read"
    )


class _Progress:
    """A line of progress, at most once a second.

    Attributes:
        done: Documents so far.
        heard: Called where a line was printed.
    """

    def __init__(self, quiet: bool) -> None:
        self.done = 0
        self.heard: Callable[[], None] = lambda: None
        self._quiet = quiet
        self._next = time.monotonic() + 1

    def __call__(self, report: Report) -> None:
        self.done = report.read + report.empty + len(report.failed)
        if self._quiet or time.monotonic() < self._next:
            return
        self._next = time.monotonic() + 1
        told = f"{counted(self.done, 'document')}, {counted(report.facts, 'place')} with facts"
        print(told, file=sys.stderr)
        self.heard()

"""``weft kg extract``: a corpus into a store, document by document."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from weft.cli.kg.endpoint import add_endpoint, endpoint_of, report_tally
from weft.cli.options import (
    Parser,
    add_beams,
    add_json,
    add_machine,
    add_model,
    add_near,
    add_out,
    add_ray,
    add_workers,
    at_least,
    device_of,
)
from weft.errors import ConfigError, PartialFailure

if TYPE_CHECKING:
    from collections.abc import Iterable

    from weft.kg.extract.corpus import Loader, Report, Source


def parser() -> Parser:
    """The arguments of ``weft kg extract``."""
    result = Parser(
        "kg extract",
        "Read the facts of a corpus into a store. Documents that the store holds already, unchanged and "
        "read by the same model, are skipped; a run that was stopped goes on.",
    )
    result.add_argument(
        "corpus",
        type=Path,
        metavar="CORPUS",
        help="Python source or text: a folder or a file; Re-DocRED JSON",
    )
    add_model(result, "kg-python-small")
    add_out(result, "STORE", "the store; made where it is not there")
    result.add_argument(
        "--target-precision",
        type=float,
        metavar="P",
        help="keep as many facts as together are right this often; may be changed later, nothing is read again",
    )
    result.add_argument(
        "--name", metavar="NAME", help="the corpus's name, which opens every document's (its folder's)"
    )
    result.add_argument(
        "--prune", action="store_true", help="take out documents that the corpus does not hold any more"
    )
    text = result.add_argument_group("text, with a model of text")
    text.add_argument(
        "--seed",
        nargs="+",
        type=Path,
        default=[],
        metavar="FILE",
        help="seed triples whose entities are looked for; not needed where documents bring their mentions",
    )
    add_near(text)
    add_workers(result)
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
    add_machine(result)
    return result


def run(argv: list[str]) -> int:
    """Run ``weft kg extract``; exit code 9 where documents could not be read."""
    arguments = parser().parse_args(argv)
    at_least(1, beams=arguments.beams)
    from weft.kg.extract.corpus import extract_corpus
    from weft.kg.store.graph import Graph

    corpus = arguments.name or arguments.corpus.resolve().name
    failures: list[tuple[str, str]] = []
    sources, loader = _corpus(arguments, corpus, failures)
    readings = None
    if arguments.ray is not None:
        from weft.kg.extract.cluster import ClusterReadings
        from weft.platform.cluster import Cluster

        readings = ClusterReadings(loader, Cluster(arguments.ray, arguments.workers))
    report = extract_corpus(
        sources,
        arguments.out,
        loader,
        corpus=corpus,
        model=arguments.model,
        workers=os.cpu_count() or 1 if arguments.workers is None else arguments.workers,
        readings=readings,
        precision=arguments.target_precision,
        prune=arguments.prune,
        complete=getattr(sources, "complete", None),
        say=_Progress(arguments.quiet),
    )
    report.failed += failures
    for document, message in report.failed:
        print(f"not read: {document}: {message}", file=sys.stderr)
    if report.tally is not None:
        report_tally(report.tally)
        if report.unanswered:
            print(
                f"the endpoint was silent on questions of {report.unanswered} documents: the model's own spelling "
                "stands there, and the next run with --llm asks again",
                file=sys.stderr,
            )
    graph = Graph.load(arguments.out)
    if arguments.json:
        print(json.dumps({**report.record(), "kept": len(graph)}, ensure_ascii=False))
    else:
        _print(report, graph.num_places, len(graph))
    if report.failed:
        raise PartialFailure(f"{len(report.failed)} documents could not be read")
    return 0


def _corpus(
    arguments: argparse.Namespace, corpus: str, failures: list[tuple[str, str]]
) -> tuple[Iterable[Source], Loader]:
    """The documents and what loads their reader, by the kind of the model; fills ``failures`` as they are read."""
    from weft.kg.extract.model import model_kind
    from weft.kg.model.leafy_chain import KIND as CODE_KIND
    from weft.platform.models import find_model

    folder, device = find_model("kg", arguments.model), str(device_of(arguments))
    # One thread in each process, unless asked for: as fast with several, and the same to the last bit.
    threads, endpoint = arguments.threads or 1, endpoint_of(arguments)
    if model_kind(folder) == CODE_KIND:
        from weft.kg.extract.code import CodeCorpus, CodeLoader
        from weft.kg.extract.model import model_language

        loader = CodeLoader(folder, arguments.beams, device, threads, endpoint, arguments.least_confidence)
        return CodeCorpus(arguments.corpus, corpus, model_language(folder)), loader
    if endpoint is not None:
        raise ConfigError(
            "--llm combines the tokens of tails, and a model of text spells none",
            hint="its tails are entities of the text; leave --llm out",
        )
    from weft.kg.extract.text import TextLoader, text_sources

    near = None if arguments.exact else arguments.near
    text = TextLoader(folder, tuple(arguments.seed), near, device, threads)
    return text_sources(arguments.corpus, corpus, failures), text


def _print(report: Report, places: int, kept: int) -> None:
    done = report.read + report.empty
    print(
        f"documents: {done} read ({report.replaced} of them anew, {report.empty} without a fact), "
        f"{report.unchanged} unchanged, {len(report.failed)} failed"
    )
    if report.gone:
        what = "taken out" if report.removed else "no longer in the corpus; --prune takes them out"
        print(f"{len(report.gone)} documents {what}: {', '.join(report.gone[:5])}")
    print(f"the store: {kept} facts kept, stated at {places} places in all")


class _Progress:
    """A line of progress, at most once a second."""

    def __init__(self, quiet: bool) -> None:
        self._quiet = quiet
        self._next = time.monotonic() + 1

    def __call__(self, report: Report) -> None:
        if self._quiet or time.monotonic() < self._next:
            return
        self._next = time.monotonic() + 1
        done = report.read + report.empty + len(report.failed)
        print(f"{done} documents, {report.facts} places with facts", file=sys.stderr)

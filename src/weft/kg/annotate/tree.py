"""All files of a tree: their missing annotations, in several processes; a broken file is listed and left."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import NamedTuple

import torch

from weft.errors import InputError
from weft.kg.annotate.oldest import Version, oldest_python
from weft.kg.annotate.plan import Candidate, Missing, missing, settled
from weft.kg.evaluate.confidence import Confidence
from weft.kg.extraction.code import CodeCorpus
from weft.kg.extraction.facts import Extractor
from weft.kg.extraction.inferred import Inferred
from weft.kg.languages import find_language
from weft.kg.languages.unit import Open
from weft.platform.processes import Limits, Outcome, run_here, run_loaded

_PLAIN = 0.9
"""Confidence of a return type that is plain from the code, for a model that was not asked about that."""
_PLAIN_ATTRIBUTE = 0.93
"""Likewise of an attribute: so many of 327 were right in packages that are for fits alone (docs/results.md)."""


@dataclass
class Annotated:
    """A file with its missing annotations.

    Args:
        path: Where it lies.
        below: The same, below its tree.
        text: Its source.
        missing: In the order of the text.
        encoding: What it is written in.
    """

    path: Path
    below: str
    text: str
    missing: list[Missing]
    encoding: str = "utf-8"

    def chosen(self, least: float) -> list[tuple[Missing, Candidate]]:
        """What is sure enough to be written."""
        pairs = [(item, item.best(least)) for item in self.missing]
        return [(item, best) for item, best in pairs if best is not None]


@dataclass
class Findings:
    """What a tree lacks.

    Args:
        files: Those that could be read.
        failed: The others, and why.
        oldest: The oldest Python that the tree says it runs on, where it says so.
    """

    files: list[Annotated] = field(default_factory=list)
    failed: list[tuple[str, str]] = field(default_factory=list)
    oldest: Version | None = None


def find_missing(
    place: Path,
    model: Path,
    *,
    workers: int = 1,
    beams: int = 4,
    every: bool = True,
    say: Callable[[int, int], None] = lambda done, files: None,
) -> Findings:
    """The missing annotations of a Python tree, or of one file, with candidates.

    Args:
        place: A folder or a file.
        model: A model's folder.
        workers: Processes.
        beams: Hypotheses of each answer.
        every: Whether the model is asked also where a type is plain, for what comes behind that.
        say: Called after each file with how many are done, and how many there are.

    Raises:
        InputError: There is no such place, or no Python in it.
        CheckpointError: The model is damaged.
    """
    corpus = CodeCorpus(place, "", find_language("python"), stated=False)
    found = Findings(oldest=oldest_python(place))
    confidence = Confidence.load(model)
    plain = _PLAIN
    if confidence is not None and "plain" in confidence.unstated:
        plain = confidence("plain", 1.0, unstated=True)
    # Files are read while the model answers for those before them.
    given: deque[_Given] = deque()
    jobs = _jobs(corpus, every, given, found.failed)
    assert corpus.tree is not None
    workers = min(workers, len(corpus.paths))
    for outcome in _answers(model, jobs, workers, beams):
        file = given.popleft()
        if outcome.value is None:
            found.failed.append((str(file.path), outcome.error.what if outcome.error else ""))
        else:
            lacking = missing(
                file.below, outcome.item.text, corpus.tree, file.asked, outcome.value, plain, _PLAIN_ATTRIBUTE
            )
            shown = file.path.name if place.is_file() else file.below
            found.files.append(Annotated(file.path, shown, outcome.item.text, lacking, file.encoding))
        say(len(found.files) + len(found.failed), len(corpus.paths))
    # In the order of the files, whatever was found out first.
    order = {str(path): number for number, path in enumerate(corpus.paths.values())}
    found.failed.sort(key=lambda pair: order[pair[0]])
    found.failed += [(str(place / folder.removeprefix("/")), why) for folder, why in corpus.unread.items()]
    return found


class _Given(NamedTuple):
    """A file that was handed to a model, with all its questions by place."""

    path: Path
    below: str
    encoding: str
    asked: list[Open]


class _Job(NamedTuple):
    text: str
    where: str
    asked: list[Open]

    def __str__(self) -> str:
        return self.where


def _jobs(
    corpus: CodeCorpus, every: bool, given: deque[_Given], failed: list[tuple[str, str]]
) -> Iterator[_Job]:
    """What the model is asked, file by file; each file is put behind those given, or listed as failed."""
    tree = corpus.tree
    assert tree is not None
    for source in corpus:
        path = corpus.paths[source.document]
        if source.failure or source.asked is None or not isinstance(source.content, bytes):
            failed.append((str(path), source.failure))
            continue
        file, text = corpus.parsed(source.document, source.content)
        below, asked = corpus.below(source.document), list(source.asked)
        by_place = sorted([*asked, *tree.open_attributes(below, file)], key=lambda item: item.start)
        given.append(_Given(path, below, corpus.spoken.encoding(source.content), by_place))
        if not every:
            bound = corpus.spoken.known(file)
            asked = [item for item in asked if not settled(below, tree, item, bound)]
        yield _Job(text, str(path), asked)


def _answers(
    model: Path, jobs: Iterator[_Job], workers: int, beams: int
) -> Iterator[Outcome[_Job, list[Inferred]]]:
    load = partial(_loaded, model, beams)
    if workers == 1:
        return run_here(load(), jobs)
    return run_loaded(load, jobs, workers=workers, limits=Limits(), preload=__name__)


def _loaded(model: Path, beams: int) -> Callable[[_Job], list[Inferred]]:
    torch.set_num_threads(1)
    return partial(_answer, Extractor.load(model), beams)


def _answer(extractor: Extractor, beams: int, job: _Job) -> list[Inferred]:
    try:
        # What is plain needs no model, unless a checker refuses it: then the model's answers stand behind it.
        return extractor.inferred(job.text, job.where, job.asked, beams=beams)
    except RecursionError as error:
        raise InputError("too large or too deep", where=job.where) from error

"""A corpus into a store, document by document: what is there already is skipped, what is finished is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple, Protocol

from weft.errors import InputError
from weft.kg.combine.tally import Tally
from weft.kg.languages.unit import Open
from weft.kg.schema import Relation, Schema
from weft.kg.storage.layout import Evidence, Spelling, Status
from weft.kg.storage.writer import Writer, create_store, open_writer
from weft.platform.processes import Limits, Outcome, get_ready, run_here, run_loaded
from weft.platform.ranges import at_least, share


class Source(NamedTuple):
    """A document before it is read.

    Args:
        document: Its name in the store.
        digest: SHA-256 of its content, in hex: while it stays the same, the document is not read again.
        content: What a reader takes.
        context: Hash of what other documents say of it: when it changes, the document is read again.
        asked: What a model is to answer; whatever it can where None.
        failure: Why it cannot be read; empty of one that can.
    """

    document: str
    digest: str
    content: object
    context: str = ""
    asked: tuple[Open, ...] | None = None
    failure: str = ""

    def __str__(self) -> str:
        return self.document


class Found(NamedTuple):
    """What a model found in a document.

    Args:
        evidence: Facts.
        tally: What became of the questions to an endpoint; None where none was to be asked.
        unused: What of the document cannot be used, by reason; nothing where None.
    """

    evidence: list[Evidence]
    tally: Tally | None = None
    unused: Mapping[str, Sequence[str]] | None = None


class Reader(Protocol):
    """A model that reads documents.

    Attributes:
        schema: The relations that it speaks of.
        version: Hash of all that decides what it answers.
        spelling: How names of its entities fold.
        asked: Relations of the schema that it was asked for by their words; a store takes them in.
    """

    schema: Schema
    version: str
    spelling: Spelling
    asked: tuple[Relation, ...]

    def read(self, source: Source) -> Found:
        """The facts of a document; none where there are none.

        Raises:
            InputError: The document cannot be used.
        """
        ...


class Loader(Protocol):
    """Makes a reader in whichever process is to read; sent there by pickle."""

    def __call__(self) -> Reader:
        """Load the model."""
        ...


class Reading(NamedTuple):
    """What became of a document.

    Args:
        status: In the store.
        evidence: Facts.
        message: Why it could not be read.
        tally: What became of the questions to an endpoint.
        again: Whether the next run may have more luck, and asks again.
        unused: What of the document cannot be used, by reason; nothing where None.
    """

    status: Status
    evidence: list[Evidence]
    message: str = ""
    tally: Tally | None = None
    again: bool = False
    unused: Mapping[str, Sequence[str]] | None = None


class Readings(Protocol):
    """Reads documents somewhere: in processes of this machine, on a cluster."""

    def __call__(self, sources: Iterator[Source], reader: Reader) -> Iterator[Outcome[Source, Reading]]:
        """What became of each document, once, in any order.

        Args:
            sources: The documents.
            reader: The model, loaded in this process.
        """
        ...


@dataclass
class Report:
    """What a run did.

    Args:
        read: Documents with facts.
        empty: Documents without a fact.
        unchanged: Documents that the store held already, but for those that could not be read.
        replaced: Documents that the store held in another state, among those read now.
        facts: Places with facts, added now.
        failed: Documents that could not be read, now or before, and why.
        gone: Documents of this corpus in the store that the corpus does not hold any more.
        removed: Whether those were taken out.
        held: Likewise such that stay, because the corpus may hold them in what of it cannot be read.
        moved: Whether the corpus of this name was read from another place before.
        unused: What of documents that are read and of the seed files cannot be used, by reason.
        tally: What became of the questions to an endpoint.
        unanswered: Documents for some questions of which it had no answer: the next run reads them again.
        others: Files of the corpus's folder that are of no kind that is read, by suffix.
        foreign: Documents that seem to be in another language than English, which the shipped model of text reads,
            and the code of that language.
    """

    read: int = 0
    empty: int = 0
    unchanged: int = 0
    replaced: int = 0
    facts: int = 0
    failed: list[tuple[str, str]] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    removed: bool = False
    held: list[str] = field(default_factory=list)
    moved: bool = False
    unused: dict[str, list[str]] = field(default_factory=dict)
    tally: Tally | None = None
    unanswered: int = 0
    others: dict[str, int] = field(default_factory=dict)
    foreign: list[tuple[str, str]] = field(default_factory=list)

    def record(self) -> dict[str, object]:
        """As JSON."""
        return {**vars(self), "tally": None if self.tally is None else vars(self.tally)}

    def note(self, document: str, reading: Reading) -> None:
        """Count what became of a document."""
        self.read += reading.status == "read"
        self.empty += reading.status == "empty"
        self.facts += len(reading.evidence)
        if reading.status == "failed":
            self.failed.append((document, reading.message))
        add_listed(self.unused, reading.unused or {})
        if reading.tally is not None:
            self.tally = self.tally or Tally()
            self.tally.add(reading.tally)
            self.unanswered += reading.tally.unanswered > 0


def add_listed(listed: dict[str, list[str]], others: Mapping[str, Sequence[str]]) -> None:
    """Add what is listed by reason to a list of such."""
    for reason, items in others.items():
        listed.setdefault(reason, []).extend(items)


def extract_corpus(
    sources: Iterable[Source],
    store: Path,
    loader: Loader,
    *,
    corpus: str,
    model: str,
    workers: int = 1,
    readings: Readings | None = None,
    precision: float | None = None,
    prune: bool = False,
    complete: Callable[[str, list[Evidence]], list[Evidence]] | None = None,
    may_hold: Callable[[str], bool] = lambda _: False,
    place: Path | None = None,
    say: Callable[[Report], None] = lambda _: None,
) -> Report:
    """Read a corpus into a store; made where absent.

    Every document is committed by itself, as soon as it is read: a run that is killed loses no finished
    document, and the next one goes on with the others. One that was read and now cannot be stays as it was read last.

    Args:
        sources: The documents.
        store: The store's folder.
        loader: Loads the model.
        corpus: The name of the corpus.
        model: The name of the model, for the record.
        workers: Processes; 1 reads in this one.
        readings: Reads the documents instead of these processes.
        precision: See :meth:`weft.kg.storage.writer.Writer.keep`; 0 keeps all, None leaves the store's own.
        prune: Whether to take out documents that the corpus does not hold any more.
        complete: Adds to what a reader found in a document what is known here.
        may_hold: Whether the corpus may hold a document that is not among the sources, because not all of it can be
            read; such a document stays in the store. Asked after the last source.
        place: Where the corpus lies: a store remembers it, so that two corpora of one name are told.
        say: Called after each document.

    Raises:
        StoreError: It is no store, is damaged or has another schema, or another process writes to it.
        OutputError: The store cannot be written.
        InputError: Two documents of one name.
        WeftError: The model cannot be loaded in a process, or the cluster failed.
    """
    share(precision=precision)
    readings = readings or Processes(loader, workers)
    reader = loader()
    create_store(store, reader.schema, reader.spelling)
    report = Report()
    with open_writer(store) as writer:
        writer.add_relations(reader.asked)
        writer.check_schema(reader.schema)
        report.moved = place is not None and writer.place(corpus, place)
        seen: set[str] = set()
        waiting = _changed(sources, writer, reader.version, seen, report)
        for number, outcome in enumerate(readings(waiting, reader)):
            source, reading = outcome.item, _reading(outcome)
            if number == 0:
                writer.begin_run(model, reader.version)
            if complete is not None and reading.status != "failed":
                reading = _completed(complete, source.document, reading)
            known = writer.documents.get(source.document)
            if reading.status != "failed" or known is None or known.status == "failed":
                report.replaced += known is not None and reading.status != "failed"
                writer.put(
                    source.document,
                    corpus,
                    source.digest,
                    _version(reader, reading),
                    reading.evidence,
                    reading.status,
                    reading.message,
                    source.context,
                )
            report.note(source.document, reading)
            say(report)
        for row in sorted(writer.documents.values(), key=lambda row: row.document):
            if row.corpus == corpus and row.document not in seen:
                (report.held if may_hold(row.document) else report.gone).append(row.document)
        report.removed = prune
        for document in report.gone if prune else ():
            writer.remove(document)
        if precision is not None:
            writer.keep(precision or None)
        writer.finish()
    return report


def _reading(outcome: Outcome[Source, Reading]) -> Reading:
    """A document that ended its process, or broke its reader, has failed for now."""
    if outcome.value is not None:
        return outcome.value
    return Reading("failed", [], "" if outcome.error is None else outcome.error.what, again=True)


def _completed(
    complete: Callable[[str, list[Evidence]], list[Evidence]], document: str, reading: Reading
) -> Reading:
    """A document with what is known here; one that was changed under the run, and cannot be read, has failed."""
    try:
        evidence = complete(document, reading.evidence)
    except InputError as error:
        return Reading("failed", [], error.what, tally=reading.tally, again=True)
    return reading._replace(evidence=evidence, status="read" if evidence else "empty")


def _version(reader: Reader, reading: Reading) -> str:
    """The model that a document is of; another one where the next run is to ask again."""
    silent = reading.tally is not None and reading.tally.unanswered > 0
    return f"{reader.version}-unanswered" if silent or reading.again else reader.version


def _changed(
    sources: Iterable[Source], writer: Writer, version: str, seen: set[str], report: Report
) -> Iterator[Source]:
    """The documents that the store does not hold as they are, read by this model."""
    for source in sources:
        if source.document in seen:
            raise InputError("two documents of one name", where=source.document)
        seen.add(source.document)
        row = writer.documents.get(source.document)
        if row is None or (row.sha256, row.model, row.context) != (source.digest, version, source.context):
            yield source
            continue
        if row.status == "failed":
            report.failed.append((row.document, row.message))
        else:
            report.unchanged += 1


@dataclass(frozen=True)
class Processes:
    """Reads documents in this process, or in several, each within limits.

    Args:
        loader: Loads the model in each.
        workers: How many; 1 is this one.
        limits: Of time and memory for a document, where there are several.

    Raises:
        ConfigError: No process.
    """

    loader: Loader
    workers: int
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        at_least(1, workers=self.workers)

    def __call__(self, sources: Iterator[Source], reader: Reader) -> Iterator[Outcome[Source, Reading]]:
        """Read documents, each given back as soon as it is finished."""
        if self.workers > 1:  # before files are parsed, which is done in a process as well
            get_ready(type(self.loader).__module__)
        first = list(islice(sources, 2))
        found = chain(first, sources)
        if self.workers == 1 or len(first) == 1:
            return run_here(partial(reading_of, reader), found)
        return run_loaded(
            partial(loaded, self.loader),
            found,
            workers=self.workers,
            limits=self.limits,
            preload=type(self.loader).__module__,
            ordered=False,
        )


def loaded(loader: Loader) -> Callable[[Source], Reading]:
    """What reads a document, made in the process that is to read."""
    return partial(reading_of, loader())


def reading_of(reader: Reader, source: Source) -> Reading:
    """Read a document; what it cannot be read for becomes a message, and the run goes on."""
    if source.failure:
        return Reading("failed", [], source.failure)
    try:
        evidence, tally, unused = reader.read(source)
    except InputError as error:
        return Reading("failed", [], error.what)
    except (RecursionError, MemoryError) as error:
        return Reading("failed", [], f"too large or too deep to be read ({type(error).__name__})")
    return Reading("read" if evidence else "empty", evidence, tally=tally, unused=unused)

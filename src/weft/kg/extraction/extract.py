"""A corpus into a store: the model is found, the corpus read as the model's kind asks for it, and what it says kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from weft.encoder.answering.precision import Precision, check_precision
from weft.errors import ConfigError, InputError
from weft.kg.combine.endpoint import Endpoint
from weft.kg.extraction.cluster import ClusterReadings
from weft.kg.extraction.code import CodeCorpus, CodeLoader
from weft.kg.extraction.corpus import (
    Loader,
    Processes,
    Readings,
    Report,
    Source,
    add_listed,
    extract_corpus,
)
from weft.kg.extraction.model import TEXT_MODEL, model_for, model_language, reads_text
from weft.kg.extraction.text import Met, TextLoader, text_sources
from weft.kg.read.corpus import TEXT, not_there, plain_name
from weft.platform.machine import device_named
from weft.platform.models import find_model
from weft.platform.processes import Limits
from weft.platform.processes.cluster import Cluster
from weft.platform.ranges import at_least, share


@dataclass(frozen=True)
class Extraction:
    """How to extract.

    Args:
        model: A shipped model or a folder; by what the corpus holds where None, see
            :func:`weft.kg.extraction.model.model_for`.
        name: The corpus's name, which opens every document's; its folder's where None.
        precision: Keep as many facts as together are right this often, all where 0; the store's own rule where None.
        prune: Whether to take out documents that the corpus does not hold any more.
        seeds: For a model of text: a file or files of seed triples whose entities are looked for.
        near: For a model of text: least 3-gram Jaccard similarity of near names; None for exact names alone.
        beams: For a model of code: hypotheses of each tail.
        floor: For a model of code: least confidence of an inferred fact.
        endpoint: For a model of code: combines the likely tokens of each tail.
        workers: Processes; on a cluster all of its processors where None.
        limits: Of time and memory for a document, where several processes read.
        ray: Address of a Ray cluster to read on.
        device: Where to compute.
        threads: For a model of code: of torch in each process. A model of text computes on one in each, so that the
            same text gives the same bytes.
        arithmetic: For a model of text: of its layers; a store keeps facts of one arithmetic.
        asked: For a model of text: a relation, or relations, that training never saw, each ``NAME: DEFINITION`` or a
            schema file.
        text_column: For a model of text: the key of the text in JSON lines.

    Raises:
        ConfigError: A share outside [0, 1], no beam, process or thread, or an arithmetic that there is not.
    """

    model: str | Path | None = None
    name: str | None = None
    precision: float | None = None
    prune: bool = False
    seeds: str | Path | Sequence[str | Path] = ()
    near: float | None = 0.5
    beams: int = 4
    floor: float = 0.5
    endpoint: Endpoint | None = None
    workers: int | None = 1
    limits: Limits = field(default_factory=Limits)
    ray: str | None = None
    device: str = "cpu"
    threads: int = 1
    arithmetic: Precision = "fp32"
    asked: str | Sequence[str] = ()
    text_column: str = TEXT

    def __post_init__(self) -> None:
        share(precision=self.precision, near=self.near, floor=self.floor)
        at_least(1, beams=self.beams, workers=self.workers, threads=self.threads)
        check_precision("arithmetic", self.arithmetic)


_DEFAULT = Extraction()


def extract(
    corpus: str | Path,
    store: str | Path,
    options: Extraction = _DEFAULT,
    progress: Callable[[Report], None] = lambda report: None,
) -> Report:
    """Read the facts of a corpus into a store, document by document.

    Documents that the store holds already, unchanged and read by the same model, are skipped; a run that was stopped
    goes on.

    Args:
        corpus: Source code or text: a folder or a file; Re-DocRED JSON.
        store: The store's folder; made where absent.
        options: How.
        progress: Called after each document.

    Returns:
        What was done. A document that could not be read is in its ``failed``.

    Raises:
        InputError: No such corpus, or nothing in it that the model reads.
        CheckpointError: No such model, or a damaged one.
        StoreError: It is no store, is damaged or has another schema, or another process writes to it.
        OutputError: The store cannot be written.
        ConfigError: An option that the model's kind does not take, or an impossible one.
        WeftError: A process died.
    """
    if not str(corpus):
        raise InputError("no corpus is named", hint="'.' is the folder that you are in")
    if not Path(corpus).exists():  # before a store is made, or refused for the relations of another model
        raise not_there(Path(corpus))
    options = replace(options, device=str(device_named(options.device)))
    name = options.name or plain_name(Path(corpus).resolve().name)
    met = Met()
    model = options.model or model_for(Path(corpus))
    folder = find_model("kg", model)
    sources, loader = _sources(Path(corpus), name, folder, options, met)
    if options.ray is not None:
        readings: Readings = ClusterReadings(loader, Cluster(options.ray, options.workers))
    else:
        # The driver of an accelerator reserves address space that it does not use.
        limits = options.limits if options.device == "cpu" else replace(options.limits, mebibytes=None)
        readings = Processes(loader, 1 if options.workers is None else options.workers, limits)
    code = sources if isinstance(sources, CodeCorpus) else None
    report = extract_corpus(
        sources,
        Path(store),
        loader,
        corpus=name,
        model=str(model),
        readings=readings,
        precision=options.precision,
        prune=options.prune,
        complete=None if code is None else code.complete,
        may_hold=met.may_hold if code is None else code.may_hold,
        # Whoever names a corpus has told it from others.
        place=Path(corpus).resolve() if options.name is None else None,
        say=progress,
    )
    report.held = [
        document for document in report.held if document not in met.unread
    ]  # those are listed as failed
    report.failed += met.failures if code is None else code.unread.items()
    # Several processes finish in any order.
    add_listed(met.unused, {reason: sorted(items) for reason, items in report.unused.items()})
    report.unused = met.unused
    report.others = dict(met.others if code is None else code.others)
    if folder == find_model("kg", TEXT_MODEL):
        report.foreign = met.foreign
    return report


def _sources(
    place: Path, name: str, folder: Path, options: Extraction, met: Met
) -> tuple[Iterable[Source], Loader]:
    """The documents and what loads their reader, by the kind of the model; fills ``met`` as they are read."""
    if not reads_text(folder):
        if options.arithmetic not in ("fp32", "auto"):
            raise ConfigError(
                f"Extraction.arithmetic {options.arithmetic}: a model of code computes in fp32 alone",
                hint="leave Extraction.arithmetic out",
            )
        if options.seeds:
            raise ConfigError(
                "Extraction.seeds is for a model of text; this one reads source code",
                where=str(folder),
                hint=f"Extraction.model {TEXT_MODEL} reads the texts of a folder that holds code, too",
            )
        if options.asked:
            raise ConfigError("relations by words are for a model of text; this one reads source code")
        if options.text_column != TEXT:
            raise ConfigError("Extraction.text_column is for texts; this model reads source code")
        if options.near != _DEFAULT.near:
            raise ConfigError("Extraction.near is for a model of text; this one reads source code")
        loader = CodeLoader(
            folder, options.beams, options.device, options.threads, options.endpoint, options.floor
        )
        return CodeCorpus(place, name, model_language(folder)), loader
    if options.endpoint is not None:
        raise ConfigError(
            "Extraction.endpoint combines the tokens of tails, and a model of text spells none",
            hint="its tails are entities of the text; leave Extraction.endpoint out",
        )
    if options.beams != _DEFAULT.beams:
        raise ConfigError(
            "Extraction.beams is for a model of code; one of text spells no tails", hint="leave it out"
        )
    if options.floor != _DEFAULT.floor:
        raise ConfigError(
            "Extraction.floor is for a model of code; a store keeps all that one of text states",
            hint="Extraction.precision 0.9 keeps the surest; `weft kg facts --at-least` prints them",
        )
    seeds = (options.seeds,) if isinstance(options.seeds, str | Path) else options.seeds
    asked = (options.asked,) if isinstance(options.asked, str) else options.asked
    text = TextLoader(
        folder, tuple(map(Path, seeds)), options.near, options.device, options.arithmetic, tuple(asked)
    )
    met.unused = text.unused_seed()
    return text_sources(place, name, met, options.text_column), text

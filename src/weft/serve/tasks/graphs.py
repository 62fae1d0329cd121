"""Tasks on graphs: the work of ``weft kg show`` and ``weft kg facts``."""

from __future__ import annotations

import shutil
from functools import lru_cache
from pathlib import Path
from typing import Any

from weft.errors import InputError, StoreError
from weft.kg.extraction.chosen import chosen_facts
from weft.kg.extraction.extract import Extraction
from weft.kg.extraction.extract import extract as extract_corpus
from weft.kg.extraction.facts import Extractor
from weft.kg.storage.entity_record import entity_record, surest_facts
from weft.kg.storage.graph import Graph
from weft.kg.storage.layout import Only
from weft.kg.storage.manifest import read_manifest
from weft.platform.files import scratch
from weft.platform.models import find_model
from weft.platform.processes import Limits
from weft.platform.processes.crew import Tell
from weft.serve.tasks.task import Task

_CORPUS = "uploads"
"""Opens the names of documents that were sent."""


def warm(task: Task, tell: Tell) -> None:
    """Load what questions need."""
    if task.served.store is not None:
        _ = _graph(task, None).by_facts


def entities(task: Task, tell: Tell) -> dict[str, Any]:
    """Entities whose names begin with, hold, or come near what was typed; the most frequent where nothing was."""
    graph = _graph(task, None)
    typed, limit = task.request["q"], task.request["limit"]
    found = _named(graph, typed, limit) if typed else graph.by_facts[:limit]
    listed = [{"entity": name, "kind": graph.kind(name), "facts": graph.count(name)} for name in found]
    return {"schema": 1, "entities": listed}


def facts(task: Task, tell: Tell) -> dict[str, Any]:
    """What the store knows of an entity."""
    graph = _graph(task, task.request["only"])
    entity = graph.entity(task.request["entity"])
    return entity_record(graph, entity, surest_facts(graph, entity, task.request["limit"]))


def extract(task: Task, tell: Tell) -> list[dict[str, Any]]:
    """Facts of a source file."""
    request = task.request
    tell({"what": "reading facts", "done": 0, "total": 0})
    extractor = _extractor(task.served.kg)
    for name in request["relations"]:
        extractor.language.schema.id_of(name)
    found = extractor.facts(task.file().path)
    shown = chosen_facts(
        found, request["relations"], request["at_least"], request["target_precision"], request["limit"]
    )
    return [fact.record() for fact in shown]


def keep(task: Task, tell: Tell) -> dict[str, Any]:
    """Put the facts of a source file into the store."""
    store, file = task.served.store, task.file()
    if store is None:
        raise StoreError("no store is served")
    tell({"what": "reading facts", "done": 0, "total": 0})
    with scratch(None) as folder:
        document = folder / _CORPUS / file.name
        document.parent.mkdir()
        shutil.copyfile(file.path, document)
        limits = Limits(task.served.limits.seconds, task.served.limits.mebibytes)
        options = Extraction(task.served.kg, _CORPUS, floor=task.request["least_confidence"], limits=limits)
        report = extract_corpus(document.parent, store, options)
    if report.failed:
        raise InputError(report.failed[0][1], where=file.name)
    # What others sent is no part of this corpus of one file, and still in the store.
    report.gone.clear()
    report.held.clear()
    graph = Graph.load(store)
    return {**report.record(), "kept": len(graph), "target_precision": graph.manifest.precision}


def _graph(task: Task, only: Only | None) -> Graph:
    store = task.served.store
    if store is None:
        raise StoreError("no store is served")
    return _loaded(store, only, read_manifest(store).generation)


@lru_cache(maxsize=3)
def _loaded(store: Path, only: Only | None, generation: int) -> Graph:
    return Graph.load(store, only)


@lru_cache(maxsize=1)
def _extractor(model: str) -> Extractor:
    return Extractor.load(find_model("kg", model))


def _named(graph: Graph, typed: str, limit: int) -> list[str]:
    exact = graph.find(typed)
    small = typed.casefold()
    first, inside = list[str](), list[str]()
    for name in graph.entities:
        folded = name.casefold()
        if folded.startswith(small):
            first.append(name)
        elif small in folded:
            inside.append(name)
    sure = [exact] if exact is not None else []
    found = dict.fromkeys([*sure, *graph.ending(typed), *first, *inside])
    return list(found)[:limit] or graph.near(typed, limit)

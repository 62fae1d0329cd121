"""`weft bench kg-store`: a synthetic store of a million facts, and an extraction that is killed twenty times."""

from __future__ import annotations

import multiprocessing
import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from weft.bench.kg.store_corpus import LineLoader, synthetic_sources
from weft.bench.kg.store_kill import kill_and_resume
from weft.bench.table import Row
from weft.kg.extraction.corpus import extract_corpus
from weft.kg.storage.graph import Graph
from weft.kg.storage.query.sparql import ask, open_index
from weft.kg.storage.rdf import ENTITY, iri

Figures = dict[str, float]
_LOOKUPS = 200


def rows(quick: bool = False) -> Iterator[Row]:
    """Every row of the table; ``quick`` takes a store of 20,000 facts and two kills.

    Baselines are the bounds that were set. Times are processor time of the one process that does the work:
    what else the machine does moves it less than the clock; the RDF index, which several threads build, is
    measured by both. Memory is that process's peak.
    """
    documents, lines, kills = (10, 2_050, 2) if quick else (500, 2_050, 20)
    with tempfile.TemporaryDirectory(prefix="weft-bench-") as folder:
        store = Path(folder) / "store"
        written = _apart(_write, store, documents, lines)
        loaded = _apart(_load, store)
        index = _apart(_index, store)
        asked = _apart(_ask, store, _names(Graph.load(store)))
    facts = f"{loaded['facts']:,.0f} synthetic facts, {loaded['entities']:,.0f} entities"
    bound = {"dtype": "–", "target": 1.0}
    yield Row("kg-store: write, all commits", facts, "–", "s", written["seconds"], written["seconds"])
    yield Row(
        "kg-store: load from Parquet / bound", facts, unit="s", ours=loaded["seconds"], baseline=90, **bound
    )
    yield Row(
        "kg-store: memory after load / bound",
        facts,
        unit="MiB",
        ours=loaded["mebibytes"],
        baseline=4096,
        **bound,
    )
    for name, key in (("median", "median"), ("largest entity", "largest")):
        what = f"{facts}; {loaded['degree']:,.0f} facts" if key == "largest" else facts
        label = f"kg-store: entity lookup, {name} / bound"
        yield Row(label, what, unit="ms", ours=loaded[key], baseline=50, **bound)
    statements = f"{facts}, {index['statements']:,.0f} RDF statements"
    for name, key in (("processor time", "seconds"), ("by the clock", "clock")):
        yield Row(
            f"kg-store: SPARQL index built, {name} / bound",
            statements,
            unit="s",
            ours=index[key],
            baseline=90,
            **bound,
        )
    yield Row(
        "kg-store: memory of that / bound",
        statements,
        unit="MiB",
        ours=index["mebibytes"],
        baseline=4096,
        **bound,
    )
    yield Row(
        "kg-store: entity lookup in SPARQL / bound",
        statements,
        unit="ms",
        ours=asked["median"],
        baseline=50,
        **bound,
    )
    yield Row(
        "kg-store: memory of that / bound",
        statements,
        unit="MiB",
        ours=asked["mebibytes"],
        baseline=4096,
        **bound,
    )
    yield from killed(kills)


def killed(kills: int) -> Iterator[Row]:
    """An extraction, killed at random moments: what was lost, doubled, read again, and is different at the end."""
    for workers in (1, 2):
        with tempfile.TemporaryDirectory(prefix="weft-bench-") as folder:
            found = kill_and_resume(Path(folder), kills, documents=15 * kills, workers=workers, seed=workers)
        variant = f"{found.documents} documents, {workers} processes, {found.during} kills in the middle"
        wrong = {"lost": found.lost, "doubled": found.doubled, "read again": found.again}
        for name, count in wrong.items():
            label = f"kg-store: killed {kills} times, {name}"
            yield Row(label, variant, "–", "documents", count, found.documents, target=0.0)
        label = "kg-store: killed, N-Triples that differ"
        yield Row(label, variant, "–", "stores", float(not found.identical), 1, target=0.0)


def _apart(work: Callable[..., Figures], *arguments: object) -> Figures:
    """The figures of a process of its own, so that its memory is its own."""
    context = multiprocessing.get_context("spawn")
    with context.Pool(1) as pool:
        return pool.apply(_measured, (work, *arguments))


def _measured(work: Callable[..., Figures], *arguments: object) -> Figures:
    figures = work(*arguments)
    return {**figures, "mebibytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


def _write(store: Path, documents: int, lines: int) -> Figures:
    start = time.process_time()
    extract_corpus(
        synthetic_sources(documents, lines), store, LineLoader(), corpus="synthetic", model="lines"
    )
    return {"seconds": time.process_time() - start}


def _load(store: Path) -> Figures:
    start = time.process_time()
    graph = Graph.load(store)
    # The first lookup makes what the later ones use: it is part of loading.
    graph.facts(graph.entity("entity 1"), 1)
    seconds = time.process_time() - start
    names, degree = _names(graph), {"entities": float(len(graph.entities)), "facts": float(len(graph))}
    largest = max(names, key=graph.count)
    times = [_look_up(graph, name) for name in names]
    return {
        **degree,
        "seconds": seconds,
        "median": float(np.median(times)),
        "largest": max(_look_up(graph, largest) for _ in range(3)),
        "degree": float(graph.count(largest)),
    }


def _names(graph: Graph) -> list[str]:
    """Entities as facts speak of them, frequent ones often; the most frequent one among them."""
    chosen = np.random.default_rng(1).choice(len(graph), _LOOKUPS, replace=False)
    return [*(graph.fact(int(row)).head for row in chosen), graph.entity("entity 0")]


def _look_up(graph: Graph, name: str) -> float:
    """Milliseconds to the thirty surest facts of an entity with their evidence, as ``weft kg show`` prints them."""
    start = time.process_time()
    for fact in graph.facts(graph.entity(name), 30):
        graph.places(fact.row)
    return (time.process_time() - start) * 1e3


def _index(store: Path) -> Figures:
    start, begun = time.process_time(), time.perf_counter()
    with open_index(store) as index:
        seconds, clock = time.process_time() - start, time.perf_counter() - begun
        return {"seconds": seconds, "clock": clock, "statements": float(len(index))}


def _ask(store: Path, names: list[str]) -> Figures:
    times: list[float] = []
    with open_index(store) as index:
        for name in names:
            query = f"""SELECT ?relation ?tail ?confidence {{
                ?a rdf:subject <{iri(ENTITY, name)}> ; rdf:predicate ?relation ; rdf:object ?tail ;
                   weft:confidence ?confidence }}"""
            start = time.process_time()
            ask(index, query)
            times.append((time.process_time() - start) * 1e3)
    return {"median": float(np.median(times))}

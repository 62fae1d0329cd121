"""Extraction, killed at random moments and started again until it is through.

As a program, ``python -m weft.bench.kg.store_kill DOCUMENTS STORE WORKERS SECONDS``, it is what is killed.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from weft.bench.kg.store_corpus import LineLoader, read_sources, write_sources
from weft.errors import WeftError
from weft.kg.extraction.corpus import extract_corpus
from weft.kg.storage.graph import Graph
from weft.kg.storage.manifest import FILE as MANIFEST
from weft.kg.storage.manifest import read_manifest
from weft.kg.storage.rdf import ntriples


@dataclass(frozen=True)
class Killed:
    """What became of a store whose writer was killed.

    Args:
        kills: How often.
        during: How many of the kills found some documents committed and others not.
        documents: In the corpus.
        lost: Documents that a reader saw committed after a kill, and not after a later one or at the end.
        doubled: Documents with more than one row, or evidence twice.
        again: Documents read again although they were committed.
        identical: Whether the end is, byte for byte in N-Triples, that of a run that nobody killed.
    """

    kills: int
    during: int
    documents: int
    lost: int
    doubled: int
    again: int
    identical: bool


def kill_and_resume(
    folder: Path, kills: int, *, documents: int, workers: int = 1, seconds: float = 0.02, seed: int = 0
) -> Killed:
    """Kill an extraction at random moments, look at the store after each kill, and let the last run end.

    Args:
        folder: For the corpus and the stores.
        kills: How often.
        documents: Size of the corpus.
        workers: Processes of the extraction.
        seconds: Time to read a document.
        seed: Of the moments.
    """
    chance = random.Random(seed)
    corpus, store, whole = folder / "corpus", folder / "store", folder / "whole"
    write_sources(corpus, documents, 20)
    committed: dict[str, int] = {}
    lost = doubled = again = during = 0
    for number in range(kills + 1):
        last = number == kills
        process = _start(corpus, store, workers, seconds, quiet=not last)
        if not last:
            # From the first commits of this run on; where in a commit, the clock decides.
            _wait_for_commits(
                store, process, len(committed) + chance.randrange(1, max(2, documents // kills))
            )
            time.sleep(chance.random() * 0.1)
            process.send_signal(signal.SIGKILL)
        code = process.wait()
        if last and code:
            raise WeftError(f"the last extraction ended with exit code {code}")
        graph = Graph.load(store) if (store / MANIFEST).exists() else None
        now = {} if graph is None else _revisions(graph)
        during += 0 < len(now) < documents and not last
        lost += len(committed.keys() - now.keys())
        again += sum(now.get(name, revision) != revision for name, revision in committed.items())
        doubled += 0 if graph is None else _doubled(graph)
        committed = now
    lost += documents - len(committed)
    extract_corpus(read_sources(corpus), whole, LineLoader(), corpus="corpus", model="lines")
    same = b"".join(ntriples(Graph.load(store))) == b"".join(ntriples(Graph.load(whole)))
    return Killed(kills, during, documents, lost, doubled, again, same)


def _start(corpus: Path, store: Path, workers: int, seconds: float, quiet: bool) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", __name__, str(corpus), str(store), str(workers), str(seconds)]
    # A killed process pool leaves semaphores behind, of which Python's own tracker tells as it removes them.
    errors = subprocess.DEVNULL if quiet else None
    return subprocess.Popen(command, env={**os.environ, "OMP_NUM_THREADS": "1"}, stderr=errors)


def _wait_for_commits(store: Path, process: subprocess.Popen[bytes], wanted: int) -> None:
    """Until the store holds so many documents, or the run is over."""
    while process.poll() is None:
        if (store / MANIFEST).exists() and read_manifest(store).revision >= wanted:
            return
        time.sleep(0.02)


def _revisions(graph: Graph) -> dict[str, int]:
    columns = (graph.documents[name].to_pylist() for name in ("document", "revision"))
    return dict(zip(*columns, strict=True))


def _doubled(graph: Graph) -> int:
    names = graph.documents["document"].to_pylist()
    places = graph.evidence.select(["document", "head", "relation", "tail", "start"]).to_pylist()
    rows = [tuple(place.values()) for place in places]
    return len(names) - len(set(names)) + len(rows) - len(set(rows))


def main(arguments: list[str]) -> None:
    """Extract; what :func:`kill_and_resume` starts and kills."""
    corpus, store, workers, seconds = arguments
    loader = LineLoader(seconds=float(seconds))
    extract_corpus(
        read_sources(Path(corpus)), Path(store), loader, corpus="corpus", model="lines", workers=int(workers)
    )


if __name__ == "__main__":
    main(sys.argv[1:])

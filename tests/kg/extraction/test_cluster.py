"""Extraction on a Ray cluster of two nodes, both on this machine: the same graph as without it, byte for byte."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from weft.bench.kg.store_corpus import LineLoader, source
from weft.errors import InputError
from weft.kg.extraction.cluster import ClusterReadings
from weft.kg.extraction.corpus import Report, Source, extract_corpus
from weft.kg.storage.graph import Graph
from weft.kg.storage.rdf import ntriples
from weft.platform.processes import Outcome
from weft.platform.processes.cluster import Cluster


def corpus(count: int) -> list[Source]:
    good = [source(f"c/{n:02}", f"Ada\trelation_1\tBo {n % 7}\t0.{n % 9 + 1}") for n in range(count)]
    return [*good, source("c/empty", ""), source("c/wrong", "not a fact")]


def extract(store: Path, found: list[Source], **options: Any) -> Report:
    return extract_corpus(found, store, LineLoader(), corpus="c", model="lines", **options)


def lines(store: Path) -> bytes:
    return b"".join(ntriples(Graph.load(store)))


class Here(Cluster):
    """A cluster without one, whose only actor cannot read one of the documents at all."""

    def __init__(self) -> None:
        pass

    def run(self, load: Any, items: Any, block: int = 1) -> Iterator[Outcome[Any, Any]]:
        read = load()
        for item in items:
            broken = InputError("broke the reader") if item.document == "c/03" else None
            yield Outcome(item, None if broken else read(item), broken, 0.0)


def test_a_document_that_breaks_the_reader_is_listed_and_the_rest_is_committed(tmp_path: Path) -> None:
    report = extract(tmp_path / "s", corpus(10), readings=ClusterReadings(LineLoader(), Here()))
    assert (report.read, report.empty) == (9, 1)
    assert report.failed == [("c/03", "broke the reader"), ("c/wrong", "line 1 has 1 fields, not 4")]
    assert len(Graph.load(tmp_path / "s").evidence) == 9


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_two_nodes_give_the_same_graph(tmp_path: Path) -> None:
    pytest.importorskip("ray", reason="needs the extra `scale`")
    import ray
    from ray.cluster_utils import Cluster as Nodes

    alone = extract(tmp_path / "alone", corpus(20))
    # One processor on each node: two actors of one processor each cannot both be on one node.
    try:
        nodes = Nodes(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
        nodes.add_node(num_cpus=1)
    except Exception as error:  # noqa: BLE001 - Ray gives a node 30 s to start and raises nothing narrower
        pytest.skip(f"Ray starts no two nodes here: {error}")
    try:
        ray.init(address=nodes.address, log_to_driver=False)
        assert sum(node["Alive"] for node in ray.nodes()) == 2
        there = ClusterReadings(LineLoader(), Cluster(str(nodes.address)))
        two = extract(tmp_path / "two", corpus(20), readings=there)
        again = extract(tmp_path / "two", corpus(20), readings=there)
    finally:
        ray.shutdown()
        nodes.shutdown()
    assert replace(two, failed=[]) == replace(alone, failed=[])
    assert two.failed == alone.failed == [("c/wrong", "line 1 has 1 fields, not 4")]
    assert (again.unchanged, again.read) == (22, 0)
    assert lines(tmp_path / "two") == lines(tmp_path / "alone")
    revisions = Graph.load(tmp_path / "two").documents["revision"].to_pylist()
    assert len(revisions) == len(set(revisions)) == 22

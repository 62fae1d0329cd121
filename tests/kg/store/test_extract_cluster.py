"""Extraction on a Ray cluster of two nodes, both on this machine: the same graph as without it, byte for byte."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from weft.bench.kg_store_corpus import LineLoader, source
from weft.errors import ConfigError, WeftError
from weft.kg import extract_cluster
from weft.kg.extract_cluster import Cluster, ReadOnNode
from weft.kg.extract_corpus import Report, Source, extract_corpus
from weft.kg.store.graph import Graph
from weft.kg.store.rdf import ntriples


def corpus(count: int) -> list[Source]:
    good = [source(f"c/{n:02}", f"Ada\trelation_1\tBo {n % 7}\t0.{n % 9 + 1}") for n in range(count)]
    return [*good, source("c/empty", ""), source("c/wrong", "not a fact")]


def extract(store: Path, found: list[Source], **options: Any) -> Report:
    return extract_corpus(found, store, LineLoader(), corpus="c", model="lines", **options)


def lines(store: Path) -> bytes:
    return b"".join(ntriples(Graph.load(store)))


def test_an_actor_reports_a_document_that_fails_and_goes_on() -> None:
    pickled = [pickle.dumps(item) for item in corpus(1)]
    answer = ReadOnNode(LineLoader())({"number": [4, 5, 6], "source": pickled})
    readings = [pickle.loads(reading) for reading in answer["reading"]]  # noqa: S301 - pickled two lines above
    assert answer["number"] == [4, 5, 6]
    assert [reading.status for reading in readings] == ["read", "empty", "failed"]
    assert readings[2].message == "line 1 has 1 fields, not 4"


class Told(Cluster):
    """A cluster without one: answers as it is told."""

    def __init__(self, repeat: int, answered: int) -> None:
        self._ray = SimpleNamespace(exceptions=SimpleNamespace(RayError=ConnectionError))
        self._repeat, self._answered = repeat, answered

    def _rows(self, wave: dict[int, Source]) -> Iterator[dict[str, Any]]:
        actor = ReadOnNode(LineLoader())
        for number, item in list(wave.items())[: self._answered] * self._repeat:
            answer = actor({"number": [number], "source": [pickle.dumps(item)]})
            yield {"number": answer["number"][0], "reading": answer["reading"][0]}


def test_a_document_that_is_read_twice_is_committed_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extract_cluster, "_WAVE", 5)
    report = extract(tmp_path / "s", corpus(10), readings=Told(repeat=2, answered=5))
    assert (report.read, report.empty, report.replaced, len(report.failed)) == (10, 1, 0, 1)
    assert len(Graph.load(tmp_path / "s").evidence) == 10


def test_documents_without_an_answer_are_an_error_and_the_rest_is_kept(tmp_path: Path) -> None:
    with pytest.raises(WeftError, match="gave 9 documents no answer"):
        extract(tmp_path / "s", corpus(10), readings=Told(repeat=1, answered=3))
    again = extract(tmp_path / "s", corpus(10))
    assert (again.unchanged, again.read) == (3, 7)


@pytest.mark.parametrize("address", ["127.0.0.1:1", "ray://127.0.0.1:1", "127.0.0.1:99999999"])
def test_no_cluster_at_an_address_is_said_at_once(address: str) -> None:
    pytest.importorskip("ray", reason="needs the extra `scale`")
    with pytest.raises(ConfigError, match=f"no Ray cluster at '{address}'"):
        Cluster(LineLoader(), address)


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
        there = Cluster(LineLoader(), str(nodes.address))
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

"""`weft bench kg`: compact chains against dense ones, one pass against many, what distances cost, throughput."""

from __future__ import annotations

import sysconfig
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import torch
from torch import Tensor

from weft.bench.measure import can_measure_memory, extra_memory, medians
from weft.bench.table import Row
from weft.kg.config import graphmert, weft_kg
from weft.kg.dataset.chunks import Chunk
from weft.kg.extraction.facts import Extractor, Question
from weft.kg.model.decode import Queries, spell
from weft.kg.model.leafy_chain import LeafyChainModel
from weft.kg.represent.batch import ChainBatch
from weft.kg.represent.dense import compact_batch, dense_batch, random_graphs

_VOCABULARY = 30522
_RELATIONS = 30
_QUERIES = 20
_ASKED, _CHUNKS = 10, 32


def rows(quick: bool = False) -> Iterator[Row]:
    """Every row of the table; ``quick`` runs few repetitions on fewer layers, for a look, not for a claim."""
    torch.manual_seed(0)
    layers, repeats = (2, 3) if quick else (12, 7)
    yield from forms(layers, repeats)
    yield from passes(repeats)
    yield from throughput(repeats)


def forms(layers: int, repeats: int) -> Iterator[Row]:
    """The compact form against the dense form of the same tree: exactness, a training step, its memory."""
    graphs = random_graphs(2, _VOCABULARY, _RELATIONS)
    dense = dense_batch(graphs)
    compact, nodes = compact_batch(graphs)
    model = LeafyChainModel(graphmert(_VOCABULARY, _RELATIONS, num_hidden_layers=layers)).eval()
    variant = f"{layers}×512, B=2, {compact.input_ids.shape[1]} of 1024 tokens"
    with torch.no_grad():
        gap = _largest_gap(model(compact), model(dense), nodes)
    yield Row("kg: compact against dense, real nodes", variant, "fp32", "max abs", gap, 1.0, target=2e-5)

    def step(batch: ChainBatch) -> None:
        model.zero_grad(set_to_none=True)
        model(batch).square().mean().backward()

    ours, baseline = medians(lambda: step(compact), lambda: step(dense), repeats, warmup=1)
    yield Row("kg: training step, compact / dense", variant, "fp32", "ms", ours, baseline, target=1 / 8)
    if can_measure_memory():
        memory = extra_memory(lambda: step(compact)), extra_memory(lambda: step(dense))
        yield Row("kg: memory of a step, compact / dense", variant, "fp32", "MiB", *memory, target=0.2)
    conditioner = model.encoder.conditioner
    if conditioner is not None:
        triples = compact.triples()

        def prepare() -> None:
            conditioner.prepare([triples, compact.distances()])

        share, whole = medians(prepare, lambda: step(compact), repeats, warmup=1)
        yield Row("kg: distances and decay / step", variant, "fp32", "ms", share, whole, target=0.02)


def passes(repeats: int) -> Iterator[Row]:
    """Spelling the tails of twenty queries in one pass, one way, against one pass per query."""
    model = LeafyChainModel(weft_kg(8192, _RELATIONS, hidden_size=256, layers=4, heads=4)).eval()
    roots = torch.randint(10, 8192, (1, 128))
    queries = Queries(
        roots,
        torch.ones(1, _QUERIES, dtype=torch.bool),
        torch.randint(1, _RELATIONS, (1, _QUERIES)),
        torch.randint(0, 128, (1, _QUERIES)),
        torch.ones(1, _QUERIES, dtype=torch.int64),
    )

    def one(number: int) -> Queries:
        part = slice(number, number + 1)
        return Queries(
            roots,
            queries.there[:, part],
            queries.relation[:, part],
            queries.head_start[:, part],
            queries.head_length[:, part],
        )

    def many() -> None:
        for number in range(_QUERIES):
            spell(model, one(number), beams=1)

    ours, baseline = medians(lambda: spell(model, queries, beams=1), many, max(2, repeats // 2), warmup=1)
    variant = f"{_QUERIES} queries, 4×256, greedy"
    yield Row("kg: extraction, one pass / one per query", variant, "fp32", "ms", ours, baseline, target=1 / 6)


def throughput(repeats: int) -> Iterator[Row]:
    """The shipped model on real source, ten questions a chunk: chunks a second on two cores.

    Twice what one thread does in a second of processor time: chunks are read apart, one process on each core.
    """
    extractor = Extractor.load(Path(str(files("weft"))) / "weights" / "kg-python-small")
    part = _asked_chunks(extractor)
    for beams in (1, 4):
        spent, _ = medians(
            lambda beams=beams: extractor.answers(part, beams, first_only=True),
            lambda: None,
            repeats,
            warmup=1,
        )
        variant = f"kg-python-small, {len(part)} chunks of the standard library, {_ASKED} questions each, {beams} beams"
        rate = 2000 * len(part) / spent
        yield Row("kg: extraction on two cores", variant, "fp32", "chunks/s", rate, 1.0, "higher", 40.0)


def _asked_chunks(extractor: Extractor) -> list[tuple[Chunk, list[Question]]]:
    """Chunks of one module with as many questions each as are wanted."""
    path = Path(sysconfig.get_path("stdlib")) / "tarfile.py"
    asked = extractor.asked(path.read_text(encoding="utf-8"), str(path))
    return [(chunk, found[:_ASKED]) for chunk, found in asked if len(found) >= _ASKED][:_CHUNKS]


def _largest_gap(compact: Tensor, dense: Tensor, nodes: Tensor) -> float:
    """The largest difference of the two forms on real nodes."""
    picked = dense.gather(1, nodes.clamp(min=0)[..., None].expand_as(compact))
    return float((compact - picked)[nodes >= 0].abs().max())

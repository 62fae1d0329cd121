"""The performance tables of the model contract and of the encoder document, on a GPU, beside their figures.

    PYTHONPATH=src python benchmarks/gpu.py [--json FILE] [--quick]

Prints two Markdown tables: every line of the two documents with the figure they give, measured in fp32
and bf16; and the paths of `attend` against each other. Times are medians over CUDA events after warm-up;
memory is the allocator's peak above what was allocated before: gradients count, the parameters and what the optimiser
keeps of them do not. Whether a figure is met is said of times alone. Without a GPU it says so and exits with 2.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from functools import partial
from pathlib import Path as File

import torch

from weft.attention import Decay, Path, Prefix, Quasi, Terms, attend
from weft.condition.gat import GATEncoder
from weft.documents.bcs_model import BCSModel
from weft.documents.graph_prefix import BERTWithGraphPrefix
from weft.documents.roberta import RoBERTaConfig, RoBERTaModel
from weft.encoder.config import EncoderConfig
from weft.graph.graph import Graph, GraphBatch
from weft.objective.losses import masked_language_modeling_loss, nt_xent_loss
from weft.platform.files import write_json

DEVICE = "cuda"
DTYPES = {"fp32": None, "bf16": torch.bfloat16}
Row = dict[str, object]


def measure(
    run: Callable[[], object], repeats: int, free: Callable[[], object] = lambda: None
) -> tuple[float, float]:
    """Median milliseconds and peak extra MiB; ``free`` lets go of what the warm-up left and a run makes anew."""
    for _ in range(5):
        run()
    free()
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    times = []
    for _ in range(repeats):
        start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        run()
        stop.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(stop))
    return statistics.median(times), (torch.cuda.max_memory_allocated() - before) / 2**20


def precision(name: str):
    """Autocast for bf16; plain fp32 otherwise."""
    dtype = DTYPES[name]
    return nullcontext() if dtype is None else torch.autocast(DEVICE, dtype)


def graphs(count: int, nodes: int, width: int) -> GraphBatch:
    """Random sparse graphs: a chain with as many extra edges as nodes, like control flow."""
    result = []
    for seed in range(count):
        generator = torch.Generator().manual_seed(seed)
        chain = torch.stack([torch.arange(nodes - 1), torch.arange(1, nodes)])
        extra = torch.randint(0, nodes, (2, nodes // 2), generator=generator)
        x = torch.randn(nodes, width, generator=generator)
        result.append(Graph(nodes, torch.cat([chain, extra], 1), x=x))
    return GraphBatch.from_graphs(result).to(DEVICE)


def contract(name: str, repeats: int) -> Iterator[Row]:
    """The table of the model contract: batch 16, 512 tokens, 100 nodes a graph."""
    config = EncoderConfig(vocab_size=30522)
    batch, length = 16, 512
    graph = graphs(batch, 100, 768)
    model = BCSModel(
        {"input_dim": 768, "hidden_dim": 256, "output_dim": 256, "num_layers": 3, "heads": 4},
        {"bert_model_name": config, "graph_dim": 256},
    ).to(DEVICE)
    ids = torch.randint(5, 30000, (batch, length), device=DEVICE)
    seen = torch.ones(batch, length, dtype=torch.bool, device=DEVICE)
    masked = torch.rand(batch, length, device=DEVICE) < 0.15
    labels = ids.clone()
    inputs = {"input_ids": ids, "attention_mask": seen, "graph": graph, "mlm_mask": masked}
    groups = torch.arange(batch, device=DEVICE) // 2
    gnn: GATEncoder = model.gnn
    bert: BERTWithGraphPrefix = model.bert
    summary = torch.randn(batch, 256, device=DEVICE)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)

    def loss() -> torch.Tensor:
        with precision(name):
            out = model(inputs)
            mlm = masked_language_modeling_loss(out["mlm_logits"].float(), labels[masked])
            return mlm + 0.5 * nt_xent_loss(out["embeddings"].float(), groups)

    def no_grad(run: Callable[[], object]) -> Callable[[], object]:
        def inner() -> None:
            with torch.no_grad(), precision(name):
                run()

        return inner

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        loss().backward()
        optimizer.step()

    def forward_backward() -> None:
        optimizer.zero_grad(set_to_none=True)
        loss().backward()

    free = partial(optimizer.zero_grad, set_to_none=True)
    model.eval()
    lines = [
        (
            "GNN forward (B=16, 100 nodes)",
            10,
            200,
            no_grad(lambda: gnn(graph.x, graph.edge_index, graph.batch)),
        ),
        ("BERT forward (B=16, L=512)", 50, 1024, no_grad(lambda: bert(ids, seen, summary))),
        ("combined forward", 100, 2048, no_grad(lambda: model(inputs))),
    ]
    for what, ms, mib, run in lines:
        yield row("contract", what, name, ms, mib, *measure(run, repeats))
    model.train()
    forward_ms, _ = measure(loss, repeats)
    both_ms, both_mib = measure(forward_backward, repeats, free)
    yield row("contract", "backward pass", name, 150, 4096, both_ms - forward_ms, both_mib)
    yield row("contract", "full training step", name, 250, 4096, *measure(step, repeats, free))


def encoder_document(name: str, repeats: int) -> Iterator[Row]:
    """The table of the encoder document: 12 layers, 512 wide, 8 heads, 2048, vocabulary 30,522."""
    model = RoBERTaModel(RoBERTaConfig.graphmert()).to(DEVICE)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)

    def call(batch: int) -> Callable[[], torch.Tensor]:
        ids = torch.randint(5, 30000, (batch, 128), device=DEVICE)
        seen = torch.ones(batch, 128, dtype=torch.bool, device=DEVICE)
        positions = torch.arange(128, device=DEVICE).expand(batch, -1)
        types = torch.zeros_like(ids)

        def run() -> torch.Tensor:
            with precision(name):
                hidden, pooled = model(ids, seen, positions, types)
            return hidden.float().mean() + pooled.float().mean()

        return run

    def inference(run: Callable[[], torch.Tensor]) -> Callable[[], object]:
        def inner() -> None:
            with torch.no_grad():
                run()

        return inner

    def train(run: Callable[[], torch.Tensor]) -> Callable[[], object]:
        def inner() -> None:
            optimizer.zero_grad(set_to_none=True)
            run().backward()

        return inner

    model.eval()
    yield row(
        "encoder", "inference, one sequence of 128", name, 5, None, *measure(inference(call(1)), repeats)
    )
    ms, mib = measure(inference(call(32)), repeats)
    yield row("encoder", "inference, batch of 32", name, 20, 500, ms, mib)
    yield throughput("inference tokens/s, batch of 32", name, 5000, 32 * 128 / ms * 1e3)
    model.train()
    free = partial(optimizer.zero_grad, set_to_none=True)
    ms, mib = measure(train(call(32)), repeats, free)
    yield row("encoder", "training, batch of 32 (forward + backward)", name, 40, 500, ms, mib)
    yield throughput("training tokens/s, batch of 32", name, 25000, 32 * 128 / ms * 1e3)


def paths(name: str, repeats: int) -> Iterator[Row]:
    """Forward and backward of every path and kind of term, and each against the reference."""
    dtype = DTYPES[name] or torch.float32
    for batch, heads, length, width in ((16, 12, 512, 64), (4, 8, 1024, 64)):
        full = (batch, heads, length, width)

        def leaf(*shape: int, dtype: torch.dtype = dtype) -> torch.Tensor:
            return torch.randn(*shape, device=DEVICE, dtype=dtype).requires_grad_()

        query, key, value = leaf(*full), leaf(*full), leaf(*full)
        prefix = Prefix(leaf(batch, heads, 1, width), leaf(batch, heads, 1, width))
        factor = (torch.rand(batch, heads, length, length, device=DEVICE) * 0.9 + 0.1).requires_grad_()
        gates = [torch.rand(*full[:3], device=DEVICE).requires_grad_() for _ in range(2)]
        terms = {
            "plain": Terms(),
            "prefix": Terms(prefix=prefix),
            "decay on weights": Terms(decay=Decay(factor, "weights")),
            "decay on scores": Terms(decay=Decay(factor, "scores")),
            "quasi": Terms(quasi=Quasi(leaf(*full), leaf(*full), gates[0], gates[1], 1 / length)),
        }
        seen = torch.ones(batch, length, dtype=torch.bool, device=DEVICE)
        seen[::2, -length // 8 :] = False
        for kind, term in terms.items():
            base = None
            for path in ("reference", "sdpa", "chunked", "flex"):
                if kind == "quasi" and path in ("sdpa", "flex"):
                    continue
                if kind == "decay on scores" and path == "sdpa":
                    continue
                ms, mib = measure(partial(forward_backward, query, key, value, seen, term, path), repeats)
                base = base or ms
                yield {
                    "table": "paths",
                    "what": f"{kind}, B={batch} H={heads} L={length}",
                    "path": path,
                    "dtype": name,
                    "ms": ms,
                    "MiB": mib,
                    "against reference": ms / base,
                }


def forward_backward(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, seen: torch.Tensor, terms: Terms, path: Path
) -> None:
    """One forward and backward of ``attend``."""
    attend(query, key, value, key_mask=seen, terms=terms, path=path)[0].sum().backward()


def row(table: str, what: str, name: str, ms: float, mib: float | None, got_ms: float, got_mib: float) -> Row:
    """One line beside its document's figures; that of memory is shown and not judged."""
    return {
        "table": table,
        "what": what,
        "dtype": name,
        "ms": got_ms,
        "document ms": ms,
        "MiB": got_mib,
        "document MiB": mib,
        "ms ok": got_ms < ms,
    }


def throughput(what: str, name: str, document: float, got: float) -> Row:
    """One throughput line."""
    return {
        "table": "throughput",
        "what": what,
        "dtype": name,
        "tokens/s": got,
        "document": document,
        "ok": got > document,
    }


def show(rows: list[Row]) -> None:
    """Print the rows as Markdown, one table for each kind."""
    for table in dict.fromkeys(r["table"] for r in rows):
        ours = [{k: v for k, v in r.items() if k != "table"} for r in rows if r["table"] == table]
        heads = list(ours[0])
        print(f"\n### {table}\n\n| {' | '.join(heads)} |\n|{'---|' * len(heads)}")
        for r in ours:
            cells = (f"{v:.3g}" if isinstance(v, float) else "–" if v is None else str(v) for v in r.values())
            print(f"| {' | '.join(cells)} |")


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="The performance tables of the two documents, on a GPU.")
    parser.add_argument("--json", type=File)
    parser.add_argument("--quick", action="store_true")
    arguments = parser.parse_args()
    if not torch.cuda.is_available():
        print("no CUDA device: not measured", file=sys.stderr)
        return 2
    torch.manual_seed(0)
    repeats = 5 if arguments.quick else 20
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, float32 matmul precision highest")
    rows: list[Row] = []
    for name in DTYPES:
        for table in (contract, encoder_document, paths):
            rows += table(name, repeats)
            if arguments.json:
                write_json(arguments.json, rows)
    show(rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())

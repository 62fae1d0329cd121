"""Train `kg-python-small`, its decisive ablation and the table of controls, on one GPU, in minutes.

    PYTHONPATH=src python recipes/kg_python_small.py --data DATASET --out FOLDER --minutes 9

DATASET is what `weft kg build` made. The final model comes first and is saved as it goes, so that a run
that is cut off leaves a usable one; the controls follow, several processes side by side, the first seed of
all before the second of any. Every result is one JSON line in FOLDER/results.jsonl, written as it comes.

The model is written in parts of at most 15 MiB (`model.safetensors.0`, `.1`, …); join them with `cat`.
"""

from __future__ import annotations

import argparse
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import torch

from weft.errors import NonFiniteError, WeftError
from weft.kg.config import graphmert
from weft.kg.evaluate.baselines import baseline_scores
from weft.kg.evaluate.scores import answer, evaluate
from weft.kg.evaluate.views import make_views
from weft.kg.model.leafy_chain import LeafyChainModel, LossWeights
from weft.kg.model.training import named_config, train_model
from weft.kg.represent.batch import ChainBatch
from weft.kg.represent.dataset import Corpus, Dataset, load_dataset
from weft.kg.represent.dense import compact_batch, dense_batch, random_graphs
from weft.kg.represent.sampling import SamplingConfig
from weft.train import TrainConfig
from weft.train.batching import to_device

PART = 15 * 2**20
SMALL = {"hidden_size": 256, "layers": 4, "heads": 4}
FINAL = {"hidden_size": 320, "layers": 8, "heads": 5, "intermediate_size": 1152}
CONTROLS: dict[str, dict[str, Any]] = {
    "weft-kg": {},
    "relation embedding instead of H-GAT": {"fusion": "embedding"},
    "relation ids shuffled": {"shuffle": True},
    "decay on weights": {"decay": "weights"},
    "no copy path": {"copy_path": False},
    "no positions": {"position": "none"},
    "decay on logits": {"decay": "scores"},
    "absolute positions": {"position": "absolute"},
    "relation as words": {"fusion": "words"},
    "no positions, decay on weights": {"position": "none", "decay": "weights"},
    "graphmert": {"name": "graphmert"},
    "graphmert-official": {"name": "graphmert-official"},
}


class Lines:
    """Appends JSON lines; several threads may call it."""

    def __init__(self, path: Path) -> None:
        self.path, self.lock, self.start = path, threading.Lock(), time.monotonic()

    def write(self, **record: object) -> None:
        """Append one record, and print the short of it."""
        record["at_second"] = round(time.monotonic() - self.start, 1)
        with self.lock, self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")
        print(
            json.dumps({key: value for key, value in record.items() if key not in ("pairs", "views")})[:600],
            flush=True,
        )


def build(dataset: Dataset, sizes: dict[str, int], control: dict[str, Any]) -> LeafyChainModel:
    """A model with the choices of one control."""
    choices = {key: value for key, value in control.items() if key not in ("name", "shuffle")}
    return LeafyChainModel(named_config(control.get("name", "weft-kg"), dataset, **sizes, **choices))


def save_in_parts(model: LeafyChainModel, dataset: Dataset, out: Path) -> None:
    """The checkpoint in half precision, its weights cut into parts."""
    with tempfile.TemporaryDirectory() as folder:
        model.save(folder, dataset.tokenizer, dtype=torch.float16)
        data = (Path(folder) / "model.safetensors").read_bytes()
        for number in range(0, len(data), PART):
            (out / f"model.safetensors.{number // PART}").write_bytes(data[number : number + PART])
        for name in ("config.json", "tokenizer.json"):
            (out / name).write_bytes((Path(folder) / name).read_bytes())


def step_seconds(
    model: LeafyChainModel, corpus: Corpus, sampling: SamplingConfig, precision: str, steps: int
) -> float:
    """Seconds per training step, measured on a copy that is thrown away.

    The difference of a short and a long run: what comes before the first step does not count.
    """
    copy = LeafyChainModel(model.config)
    some = corpus.chunks_of(0).cpu()
    some = some[torch.randperm(len(some))[: 50 * sampling.batch_size]]
    times = []
    # The first run warms the device up.
    for length in (3, steps // 4 + 1, steps):
        config = TrainConfig(
            steps=length, precision=precision, log_every=steps, eval_every=10**9, restore_best=False
        )
        begin = time.monotonic()
        train_model(copy, corpus, sampling, config, chunks=some, quiet=True)
        times.append(time.monotonic() - begin)
    exact = (times[2] - times[1]) / (steps - steps // 4 - 1)
    # Noise must not promise more steps than there is time for.
    return max(exact, 0.6 * times[2] / steps)


def train_for(
    dataset: Dataset,
    corpus: Corpus,
    control: dict[str, Any],
    seconds: float,
    arguments: argparse.Namespace,
    lines: Lines,
    out: Path | None,
) -> LeafyChainModel:
    """Train at full size for a time; the number of steps is fixed beforehand from the speed."""
    rate, begin = arguments.learning_rate, time.monotonic()
    chunks = training_chunks(dataset.corpus)
    while True:
        torch.manual_seed(arguments.seed)
        model = build(dataset, arguments.sizes, control)
        sampling = SamplingConfig(
            batch_size=arguments.batch_size,
            hide_share=0.6,
            shuffle_relations=control.get("shuffle", False),
            seed=arguments.seed,
        )
        speed = step_seconds(model, corpus, sampling, arguments.precision, 4 if arguments.quick else 80)
        left = seconds - (time.monotonic() - begin)
        steps = arguments.steps or max(int(left / speed * 0.94), 8)
        lines.write(
            event="plan",
            control=control,
            steps=steps,
            seconds_per_step=round(speed, 5),
            learning_rate=rate,
            parameters=sum(p.numel() for p in model.parameters()),
        )
        config = TrainConfig(
            steps=steps,
            batch_size=arguments.batch_size,
            learning_rate=rate,
            betas=(0.9, 0.98),
            weight_decay=0.02,
            warmup=0.05,
            final_rate=0.02,
            precision=arguments.precision,
            seed=arguments.seed,
            log_every=50,
            eval_every=max(steps // 5, 1),
            restore_best=False,
        )

        def keep(module: LeafyChainModel, values: Any) -> None:
            lines.write(
                event="validation",
                control=control,
                **{name: round(value, 4) for name, value in values.items()},
            )
            if out is not None:
                save_in_parts(module, dataset, out)

        try:
            train_model(
                model,
                corpus,
                sampling,
                config,
                weights=LossWeights(),
                chunks=chunks,
                quiet=True,
                on_evaluation=keep,
            )
            return model
        except NonFiniteError as error:
            lines.write(event="diverged", error=str(error), learning_rate=rate)
            rate /= 2


def training_chunks(corpus: Corpus) -> torch.Tensor:
    """The training part with the split tree's own chunks twice: they resemble the held-out ones most.

    They stand before those of the extra trees, and they alone have types from the stubs.
    """
    training, stubbed = corpus.chunks_of(0), corpus.chunk[corpus.origin == 1]
    own = training[training <= stubbed.max()] if len(stubbed) else training[:0]
    return torch.cat([training, own])


def report(
    model: LeafyChainModel, dataset: Dataset, corpus: Corpus, limit: int, batch: int, shuffle: bool = False
) -> dict[str, Any]:
    """Scores of every view of the test part."""
    views = make_views(dataset, "test", limit)
    with torch.autocast(corpus.ids.device.type, torch.bfloat16, enabled=corpus.ids.is_cuda):
        scores = evaluate(
            model, corpus, views, dataset.schema.names, batch_size=batch, shuffle_relations=shuffle
        )
    return {name: value.record() for name, value in scores.items()}


def final(
    dataset: Dataset, corpus: Corpus, arguments: argparse.Namespace, lines: Lines, seconds: float
) -> None:
    """The shipped model: train, save, score, and what calibration needs."""
    control = CONTROLS[arguments.final]
    model = train_for(dataset, corpus, control, seconds, arguments, lines, arguments.out)
    save_in_parts(model, dataset, arguments.out)
    lines.write(
        event="final",
        control=arguments.final,
        views=report(model, dataset, corpus, arguments.limit, arguments.eval_batch),
    )
    pairs = {}
    with torch.autocast(corpus.ids.device.type, torch.bfloat16, enabled=corpus.ids.is_cuda):
        for name, view in make_views(dataset, "valid", arguments.limit).items():
            rankings = answer(model, corpus, view, batch_size=arguments.eval_batch)
            relations = corpus.relation[view.triple.to(corpus.ids.device)].tolist()
            pairs[name] = [
                [relation, round(ranking[0][1], 5), int(ranking[0][0] in gold)]
                for relation, ranking, gold in zip(relations, rankings, view.gold, strict=True)
                if ranking
            ]
    lines.write(event="calibration", pairs=pairs)


def ablation(
    dataset: Dataset, corpus: Corpus, arguments: argparse.Namespace, lines: Lines, seconds: float
) -> None:
    """One control at the final model's size and budget."""
    control = CONTROLS[arguments.ablation]
    model = train_for(dataset, corpus, control, seconds, arguments, lines, None)
    views = report(
        model, dataset, corpus, arguments.limit, arguments.eval_batch, control.get("shuffle", False)
    )
    lines.write(event="ablation", control=arguments.ablation, views=views)


def small_run(
    dataset: Dataset, corpus: Corpus, arguments: argparse.Namespace, name: str, seed: int
) -> dict[str, Any]:
    """One control at the small budget."""
    control = CONTROLS[name]
    torch.manual_seed(seed)
    model = build(
        dataset, {**SMALL, **({"hidden_size": 64, "layers": 2} if arguments.quick else {})}, control
    )
    config = TrainConfig(
        steps=arguments.control_steps,
        batch_size=64,
        learning_rate=1e-3,
        betas=(0.9, 0.98),
        precision=arguments.precision,
        seed=seed,
        log_every=100,
        eval_every=10**9,
        restore_best=False,
    )
    sampling = SamplingConfig(
        batch_size=64,
        leaf_columns=96 if control.get("name") else 64,
        shuffle_relations=control.get("shuffle", False),
        seed=seed,
    )
    begin = time.monotonic()
    train_model(model, corpus, sampling, config, quiet=True)
    trained = time.monotonic()
    views = report(
        model, dataset, corpus, arguments.control_limit, arguments.eval_batch, control.get("shuffle", False)
    )
    return {
        "event": "control",
        "control": name,
        "seed": seed,
        "steps": arguments.control_steps,
        "parameters": sum(p.numel() for p in model.parameters()),
        "train_seconds": round(trained - begin, 1),
        "eval_seconds": round(time.monotonic() - trained, 1),
        "views": views,
    }


def work(dataset: Dataset, corpus: Corpus, arguments: argparse.Namespace) -> None:
    """A worker: one JSON task a line in, one JSON result a line out."""
    for line in sys.stdin:
        task = json.loads(line)
        try:
            result = small_run(dataset, corpus, arguments, task["control"], task["seed"])
        except (RuntimeError, WeftError) as error:
            result = {"event": "failed", **task, "error": str(error)[:500]}
        print("RESULT " + json.dumps(result), flush=True)


def controls(arguments: argparse.Namespace, lines: Lines, deadline: float) -> None:
    """All controls, several processes on one device, until the deadline."""
    tasks: queue.Queue[dict[str, Any]] = queue.Queue()
    for seed in range(arguments.seeds):
        for name in arguments.controls or CONTROLS:
            tasks.put({"control": name, "seed": seed})
    workers = [Worker(arguments) for _ in range(arguments.workers)]

    def serve(worker: Worker) -> None:
        while time.monotonic() < deadline:
            try:
                task = tasks.get_nowait()
            except queue.Empty:
                return
            result = worker.run(task, deadline)
            if result is None:
                return
            lines.write(**result)

    threads = [threading.Thread(target=serve, args=(worker,)) for worker in workers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for worker in workers:
        worker.stop()


class Worker:
    """A process that trains one control after another."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        command = [sys.executable, __file__, *arguments.passed, "--what", "worker"]
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
        self.results: queue.Queue[str | None] = queue.Queue()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.startswith("RESULT "):
                self.results.put(line[7:])
        self.results.put(None)

    def run(self, task: dict[str, Any], deadline: float) -> dict[str, Any] | None:
        """The result of a task; None where the worker died or the time is over."""
        assert self.process.stdin is not None
        try:
            print(json.dumps(task), file=self.process.stdin, flush=True)
            line = self.results.get(timeout=max(deadline - time.monotonic(), 0.1))
        except (queue.Empty, BrokenPipeError):
            return None
        return None if line is None else json.loads(line)

    def stop(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.wait()


def baselines(dataset: Dataset, limit: int, lines: Lines) -> None:
    """Scores without a model."""
    for name, scores in baseline_scores(dataset, make_views(dataset, "test", limit)).items():
        lines.write(
            event="baseline", baseline=name, views={view: value.record() for view, value in scores.items()}
        )


def speed(arguments: argparse.Namespace, lines: Lines) -> None:
    """Tokens per second of the 12 × 512 model: dense and compact, float32 and bfloat16, training and extraction."""
    layers, size = (2, 64) if arguments.quick else (12, 512)
    device = torch.device(arguments.device)
    config = graphmert(30522, 30, num_hidden_layers=layers, hidden_size=size, intermediate_size=4 * size)
    graphs = random_graphs(2 if arguments.quick else 16, 30522, 30)
    model = LeafyChainModel(config).to(device)
    tokens = sum(len(graph.compact().input_ids) for graph in graphs)
    for form, batch in (("compact", compact_batch(graphs)[0]), ("dense", dense_batch(graphs))):
        batch = to_device(batch, device)
        for dtype in ("fp32", "bf16"):
            for what in ("training", "extraction"):
                try:
                    seconds = pass_seconds(model, batch, dtype, what == "training", device)
                except RuntimeError as error:
                    lines.write(event="failed", form=form, dtype=dtype, what=what, error=str(error)[:300])
                    continue
                memory = torch.cuda.max_memory_allocated() / 2**20 if device.type == "cuda" else None
                lines.write(
                    event="speed",
                    model=f"graphmert {layers}×{size}",
                    form=form,
                    dtype=dtype,
                    what=what,
                    real_tokens_per_second=round(tokens / seconds),
                    peak_mebibytes=memory,
                )


def pass_seconds(
    model: LeafyChainModel, batch: ChainBatch, dtype: str, training: bool, device: torch.device
) -> float:
    """Median seconds of one pass; a training pass has its backward."""
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats()
    times = []
    model.train(training)
    for _ in range(8):
        begin = time.monotonic()
        with (
            torch.set_grad_enabled(training),
            torch.autocast(device.type, torch.bfloat16, enabled=dtype == "bf16"),
        ):
            hidden = model(batch)
        if training:
            model.zero_grad(set_to_none=True)
            hidden.float().square().mean().backward()
        if device.type == "cuda":
            torch.cuda.synchronize()
        times.append(time.monotonic() - begin)
    return sorted(times[2:])[3]


def parse(argv: list[str]) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=9.0)
    parser.add_argument(
        "--what", choices=("all", "final", "ablation", "controls", "speed", "worker"), default="all"
    )
    parser.add_argument("--final", default="weft-kg", choices=CONTROLS)
    parser.add_argument("--ablation", default="relation embedding instead of H-GAT", choices=CONTROLS)
    parser.add_argument("--controls", nargs="*", choices=CONTROLS)
    parser.add_argument("--share", type=float, default=0.58, help="share of the time for the final model")
    parser.add_argument("--steps", type=int, help="steps of the final model instead of its time")
    parser.add_argument("--batch-size", type=int, default=384)
    parser.add_argument("--learning-rate", type=float, default=6e-4)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--control-steps", type=int, default=500)
    parser.add_argument("--limit", type=int, default=4000, help="queries of each view for the final model")
    parser.add_argument("--control-limit", type=int, default=600, help="queries of each view for a control")
    parser.add_argument("--eval-batch", type=int, default=128)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--precision", choices=("bf16", "fp32"))
    parser.add_argument("--quick", action="store_true", help="tiny models, to try the script on a CPU")
    arguments = parser.parse_args(argv)
    arguments.precision = arguments.precision or ("bf16" if arguments.device == "cuda" else "fp32")
    arguments.sizes = {"hidden_size": 64, "layers": 2, "heads": 2} if arguments.quick else FINAL
    arguments.passed = argv
    return arguments


def main(argv: list[str]) -> int:
    """Run what was asked for."""
    begin = time.monotonic()
    arguments = parse(argv)
    torch.set_num_threads(1)
    torch.set_float32_matmul_precision("high")
    dataset = load_dataset(arguments.data)
    corpus = dataset.corpus.to(arguments.device)
    if arguments.what == "worker":
        work(dataset, corpus, arguments)
        return 0
    arguments.out.mkdir(parents=True, exist_ok=True)
    lines = Lines(arguments.out / "results.jsonl")
    lines.start = begin
    end = begin + 60 * arguments.minutes
    device = torch.cuda.get_device_name() if arguments.device == "cuda" else "CPU"
    lines.write(
        event="start",
        device=device,
        torch=torch.__version__,
        chunks=len(corpus.ids),
        triples=len(corpus.relation),
        load_seconds=round(time.monotonic() - begin, 1),
    )
    counting = threading.Thread(target=baselines, args=(dataset, arguments.limit, lines))
    if arguments.what in ("all", "final"):
        share = arguments.share if arguments.what == "all" else 0.9
        final(dataset, corpus, arguments, lines, (end - time.monotonic()) * share)
    if arguments.what == "ablation":
        ablation(dataset, corpus, arguments, lines, (end - time.monotonic()) * 0.93)
    if arguments.what in ("all", "speed"):
        speed(arguments, lines)
    if arguments.what in ("all", "controls"):
        counting.start()
        controls(arguments, lines, end - 8)
        counting.join(timeout=max(end - time.monotonic(), 1))
    lines.write(event="end")
    return 0


if __name__ == "__main__":
    code = main(sys.argv[1:])
    sys.stdout.flush()
    # Daemon threads may hold a worker's pipe; nothing is left to clean up.
    os._exit(code)

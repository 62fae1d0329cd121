"""Train ``absa-small`` and measure it against its baselines: one command, one budget of minutes.

    python recipes/absa_small.py --data DATA --start MINILM --out OUT --minutes 8

``--data`` holds ``sentihood/`` and, for its rows of the table, ``semeval2014/``; ``--start`` is a BERT
checkpoint's directory. Jobs run side by side in worker processes that share one accelerator, the most
important first. Every finished job appends one line to ``OUT/results.jsonl``, so that a run that is cut
short still gives data; a job that would not fit into the remaining time is not begun.

Plans: ``screen`` compares settings on a fixed 15 % of SentiHood train; ``table`` trains every model with
three seeds and evaluates on dev (settings from ``--settings``, or the defaults below); ``short`` is the
table with fewer epochs and seeds, for one processor core and an hour; ``all`` screens
with 40 % of the time, takes the best setting, and goes on with the table. The shipped model is seed 0 of
the table's first row, with its temperature fitted on dev.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import queue
import sys
import time
import traceback
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

ASPECTS_HELD_OUT = (
    "price",
    "safety",
    "transit-location",
    "general",
    "dining",
    "green-nature",
    "live",
    "multicultural",
    "nightlife",
    "quiet",
    "shopping",
    "touristy",
)


@dataclass(frozen=True)
class Job:
    """One training with its evaluation.

    Args:
        name: What it is called in the results; with ``seed`` it is unique.
        seed: Of every random draw.
        corpus: ``"sentihood"`` or ``"semeval"``.
        held: ``"holdout"`` (15 % of SentiHood train, or SemEval's 15 % for choices) or ``"report"``
            (SentiHood dev, or SemEval's 15 % for testing).
        frequent: Train on the four frequent SentiHood aspects only.
        left_out: An aspect that training does not see; then only this aspect is evaluated.
        options: Of ``ModelOptions``.
        train: Of ``TrainConfig``.
        learning: Of ``Learning``; ``augmentation`` of ``Augmentation``.
        teacher: Name and seed of the job whose model teaches, ``name/seed``.
        begin: Name and seed of the job whose model this one goes on from.
        save: Keep the model under ``OUT/models``.
        ship: Also write it as the shipped model.
        deletion: Questions on which explanations are tested by deletion.
    """

    name: str
    seed: int = 0
    corpus: str = "sentihood"
    held: str = "report"
    frequent: bool = False
    left_out: str | None = None
    options: dict[str, Any] = field(default_factory=dict)
    train: dict[str, Any] = field(default_factory=dict)
    learning: dict[str, Any] = field(default_factory=dict)
    teacher: str | None = None
    begin: str | None = None
    save: bool = False
    ship: bool = False
    deletion: int = 0

    @property
    def key(self) -> str:
        """Name and seed."""
        return f"{self.name}/{self.seed}"


ABSA = Job(
    "weft-absa",
    options={"target_layers": 2, "frozen_layers": 2, "similarity_layers": 4, "aspect_dropout": 0.2},
    train={"epochs": 16, "batch_size": 32, "learning_rate": 3e-4, "layer_decay": 0.8},
    learning={"augmentation": {"concatenate": 0.5, "swap": 0.5}},
)
PAIR = Job(
    "pair",
    frequent=True,
    options={"kind": "pair"},
    train={"epochs": 8, "batch_size": 12, "learning_rate": 1e-4, "layer_decay": 0.9},
)
QUASI = {"epochs": 8, "batch_size": 12, "learning_rate": 1e-4, "layer_decay": 0.9}


def changed(job: Job, name: str, **changes: Any) -> Job:
    """The job with another name; dictionaries are merged into the job's own."""
    merged = {
        key: {**getattr(job, key), **value} if isinstance(value, dict) else value
        for key, value in changes.items()
    }
    return replace(job, name=name, **merged)


def screening() -> list[Job]:
    """Settings compared on the fixed split of train."""
    base = replace(ABSA, held="holdout")
    augment = base.learning["augmentation"]
    return [
        changed(base, "base"),
        changed(base, "target_layers=0", options={"target_layers": 0}),
        changed(base, "target_layers=4", options={"target_layers": 4}),
        changed(base, "frozen=3", options={"frozen_layers": 3}),
        changed(base, "rate=1.5e-4", train={"learning_rate": 1.5e-4}),
        changed(base, "rate=6e-4", train={"learning_rate": 6e-4}),
        changed(base, "blocks=2", options={"pooler_blocks": 2}),
        changed(base, "smoothing=0.1", learning={"label_smoothing": 0.1}),
        changed(base, "concatenate=0.7", learning={"augmentation": {**augment, "concatenate": 0.7}}),
        changed(base, "balance=0.3", learning={"class_balance": 0.3}),
        changed(base, "epochs=28", train={"epochs": 28}),
        changed(base, "layer_decay=0.65", train={"layer_decay": 0.65}),
        changed(replace(PAIR, held="holdout"), "pair"),
        changed(replace(PAIR, held="holdout"), "pair rate=2e-4", train={"learning_rate": 2e-4}),
    ]


def table(absa: Job) -> list[Job]:
    """Everything that the results table needs, the most important first."""
    absa = replace(absa, name="weft-absa", held="report")
    plain = {"augmentation": {"concatenate": 0.0, "swap": 0.0}}
    qacg = Job("qacg", frequent=True, options={"kind": "qacg"}, train=QUASI)
    official = Job("qacg-official", frequent=True, options={"kind": "qacg-official"}, train=QUASI)
    equal = changed(absa, "weft-absa, 8 epochs, 4 aspects", frequent=True, train={"epochs": 8})
    augment = absa.learning.get("augmentation", {})
    jobs = [replace(absa, seed=seed, save=True, ship=seed == 0) for seed in range(3)]
    jobs += [replace(PAIR, seed=seed, save=True, deletion=150 * (seed == 0)) for seed in range(3)]
    jobs += [
        replace(job, seed=seed, deletion=150 * (seed == 0))
        for job in (qacg, official, equal)
        for seed in range(3)
    ]
    jobs += [changed(absa, f"without {aspect}", left_out=aspect) for aspect in ASPECTS_HELD_OUT]
    semeval = replace(
        absa,
        name="semeval weft-absa",
        corpus="semeval",
        options={**absa.options, "target_layers": 0},
        learning={},
    )
    pair = replace(PAIR, name="semeval pair", corpus="semeval", frequent=False)
    for seed in range(3):
        jobs += [replace(semeval, seed=seed), replace(pair, seed=seed)]
    jobs += [
        changed(absa, "distilled from pair", frequent=True, learning={"distillation": 0.5}, teacher="pair/0"),
        changed(absa, "distilled from itself", learning={"distillation": 0.5}, teacher="weft-absa/1"),
    ]
    for seed in range(3):
        jobs += [
            replace(job, seed=seed)
            for job in (
                changed(
                    absa,
                    "no target mark, no distance",
                    options={"target_mark": False, "target_distance": False},
                ),
                changed(absa, "no distance", options={"target_distance": False}),
                changed(absa, "target layers 0", options={"target_layers": 0}),
                changed(absa, "no augmentation", learning=plain),
                changed(absa, "no concatenation", learning={"augmentation": {**augment, "concatenate": 0.0}}),
                changed(absa, "no aspect dropout", options={"aspect_dropout": 0.0, "similarity_layers": -1}),
                changed(official, "qacg-official, context id alone", options={"text_pair": False}),
                changed(official, "cg", options={"kind": "cg"}),
                changed(qacg, "qacg, gate pooling", options={"pooling": "gate"}),
            )
        ]
    return jobs


def short(absa: Job) -> list[Job]:
    """What one processor core can do in an hour: the same models, fewer epochs, fewer seeds."""
    absa = changed(absa, "weft-absa", train={"epochs": 8})
    one = {"epochs": 1}
    qacg = Job("qacg, 1 epoch", frequent=True, options={"kind": "qacg"}, train={**QUASI, **one})
    official = changed(qacg, "qacg-official, 1 epoch", options={"kind": "qacg-official"})
    equal = changed(absa, "weft-absa, 1 epoch, 4 aspects", frequent=True, train=one)
    pair = changed(PAIR, "pair, 1 epoch", train=one)
    left_out = [changed(absa, f"without {name}", left_out=name, train=one) for name in ASPECTS_HELD_OUT]
    longer = changed(
        absa,
        "weft-absa, 8 + 7 epochs",
        begin="weft-absa/0",
        train={"epochs": 7, "learning_rate": 2e-4},
        seed=7,
        save=True,
        ship=True,
    )
    return [
        replace(absa, save=True),
        longer,
        *left_out[:2],
        *(equal, qacg, pair, official),
        *left_out[2:],
        *(replace(job, seed=seed) for seed in (1, 2) for job in (equal, qacg, pair, official)),
        *(replace(absa, seed=seed) for seed in (1, 2)),
    ]


def work(tasks: Any, done: Any, data: Path, start: Path, out: Path, quick: bool) -> None:
    """A worker process: loads the start once, then trains what it is given."""
    import torch

    from weft.absa.represent.vocabulary import prune_vocabulary
    from weft.encoder.checkpoint.pretrained import load_pretrained

    torch.set_num_threads(1)
    torch.backends.cuda.matmul.allow_tf32 = True
    begun = prune_vocabulary(load_pretrained(start))
    while (job := tasks.get()) is not None:
        started = time.monotonic()
        record: dict[str, Any] = {"job": asdict(job)}
        try:
            record |= run(job, begun, data, out, quick)
        except Exception:  # noqa: BLE001 - one job that fails must not take the others with it
            record["error"] = traceback.format_exc()
        record["seconds"] = round(time.monotonic() - started, 1)
        done.put((job.key, record))


def run(job: Job, start: Any, data: Path, out: Path, quick: bool) -> dict[str, Any]:
    """Train and evaluate one job."""
    import torch

    from weft.absa.config import ModelOptions
    from weft.absa.evaluate.metrics import aspect_aucs
    from weft.absa.evaluate.report import report, score
    from weft.absa.explain.attribution import Method
    from weft.absa.explain.deletion import deletion_scores
    from weft.absa.learn.augment import Augmentation
    from weft.absa.learn.training import Learning, train
    from weft.absa.read.sentihood import TARGETS
    from weft.absa.use.store import load, save
    from weft.attention.attend import cpu_multiplies_bf16
    from weft.train.config import TrainConfig

    corpus, held = corpora(job, data, quick)
    learning = dict(job.learning)
    augmentation = dict(learning.pop("augmentation", {}))
    if job.corpus == "sentihood":
        augmentation["placeholders"] = TARGETS
    settings = {"schedule": "linear", "warmup": 0.1, **job.train, "seed": job.seed}
    if quick:
        settings["epochs"] = 1
    device = "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cpu" and cpu_multiplies_bf16():
        settings["precision"] = "bf16"
    trained = train(
        corpus,
        start,
        ModelOptions(**job.options),
        TrainConfig(**settings, metric="score", mode="max", restore_best=False, device=device, keep=1),
        learning=Learning(Augmentation(**augmentation), **learning),
        # On a CPU an evaluation costs a fifth of an epoch, and it decides nothing: the last weights count.
        dev=held if device == "cuda" else None,
        directory=out / "runs" / job.key,
        teacher=None if job.teacher is None else load(out / "models" / job.teacher),
        begin=None if job.begin is None else load(out / "models" / job.begin),
        targets=TARGETS if job.corpus == "sentihood" else (),
    )
    final: dict[str, Any] = report(trained.asker, held)
    if job.left_out is not None:
        final = {
            "left_out": job.left_out,
            "aspect_auc": next(iter(aspect_aucs(score(trained.asker, held)).values())),
        }
    if job.deletion:
        methods: tuple[Method, ...] = ("gradient", "attention", "random")
        if job.options.get("kind", "").startswith("qacg"):
            methods = (*methods, "quasi")
        final["deletion"] = deletion_scores(trained.asker, held, methods, limit=job.deletion)
    if job.save:
        save(out / "models" / job.key, trained.asker)
    if job.ship:
        shipped = trained.asker.calibrated(final["temperature"])
        save(out / "absa-small", shipped, int8=True)
        final["int8"] = report(load(out / "absa-small").to(device), held)
    return {"epochs": trained.history.evaluations, "final": final}


def corpora(job: Job, data: Path, quick: bool) -> tuple[Any, Any]:
    """The sentences to train on and those to evaluate on."""
    from weft.absa.learn.training import split
    from weft.absa.read.semeval import read_semeval
    from weft.absa.read.sentihood import ALL_ASPECTS, FREQUENT_ASPECTS, read_sentihood

    if job.corpus == "semeval":
        rest, test = split(read_semeval(data / "semeval2014/Restaurants_Train.xml"), 0.15, seed=0)
        rest, choice = split(rest, 0.15 / 0.85, seed=1)
        train, held = rest, test if job.held == "report" else choice
    else:
        asked = FREQUENT_ASPECTS if job.frequent else ALL_ASPECTS
        train = read_sentihood(data / "sentihood/sentihood-train.json", asked)
        if job.held == "holdout":
            train, held = split(train, 0.15, seed=7)
        else:
            held = read_sentihood(data / "sentihood/sentihood-dev.json", ALL_ASPECTS)
        held = held.only(FREQUENT_ASPECTS if job.left_out is None else (job.left_out,))
        if job.left_out is not None:
            train = train.only(set(train.aspects) - {job.left_out})
    if quick:
        train, held = train.subset(range(48)), held.subset(range(60))
    return train, held


def execute(jobs: list[Job], deadline: float, workers: int, arguments: argparse.Namespace) -> dict[str, Any]:
    """Run the jobs that fit, side by side; returns the final results by job."""
    context = multiprocessing.get_context("spawn")
    tasks, done = context.Queue(), context.Queue()
    places = (tasks, done, arguments.data, arguments.start, arguments.out, arguments.quick)
    pool = [context.Process(target=work, args=places, daemon=True) for _ in range(min(workers, len(jobs)))]
    for process in pool:
        process.start()
    finished = results(arguments.out / "results.jsonl")
    waiting, running = [job for job in jobs if not finished.get(job.key)], 0
    longest = 0.0
    begun: dict[str, float] = {}
    while True:
        while running < len(pool) and (job := ready(waiting, finished)) is not None:
            if time.monotonic() + longest * share(job, jobs) > deadline:
                print(f"no time left for {job.key}", flush=True)
                waiting.remove(job)
                continue
            waiting.remove(job)
            tasks.put(job)
            begun[job.key] = time.monotonic()
            running += 1
        if not running or time.monotonic() > deadline:
            break
        try:
            key, record = done.get(timeout=2)
        except queue.Empty:
            continue
        with (arguments.out / "results.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")
        running -= 1
        final, seconds = record.get("final"), record["seconds"]
        finished[key] = final
        if final is None:
            print(f"{key} failed after {seconds} s: {record['error'].splitlines()[-1]}", flush=True)
            continue
        longest = max(longest, seconds)
        shown = {name: round(value, 4) for name, value in final.items() if isinstance(value, float)}
        print(f"{key} {seconds} s {json.dumps(shown)}", flush=True)
    for process in pool:
        process.terminate()
    return finished


def results(path: Path) -> dict[str, Any]:
    """The final results of earlier runs, by job: a run that was cut short goes on where it stopped."""
    if not path.exists():
        return {}
    records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return {f"{record['job']['name']}/{record['job']['seed']}": record.get("final") for record in records}


def ready(waiting: list[Job], finished: dict[str, Any]) -> Job | None:
    """The first waiting job whose teacher and beginning, if it has any, are trained."""
    for job in waiting:
        if all(finished.get(needed) for needed in (job.teacher, job.begin) if needed is not None):
            return job
    return None


def share(job: Job, jobs: list[Job]) -> float:
    """The job's length against the longest, by epochs."""
    most = max(other.train.get("epochs", 1) for other in jobs)
    return 0.9 * job.train.get("epochs", 1) / most


def best_setting(finished: dict[str, Any]) -> Job:
    """The screened setting with the smallest calibrated negative log-likelihood on the holdout."""
    scores = {key: final["nll"] for key, final in finished.items() if final and not key.startswith("pair")}
    if not scores:
        return ABSA
    name = min(scores, key=scores.__getitem__).rsplit("/", 1)[0]
    print(f"chosen on the holdout: {name} ({scores[name + '/0']:.4f})", flush=True)
    return next(job for job in screening() if job.name == name)


def main() -> int:
    """Parse, screen, train, measure."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--start", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--plan", choices=("screen", "table", "short", "all"), default="all")
    parser.add_argument("--settings", type=json.loads, help="changes to the default setting, as JSON")
    parser.add_argument("--only", help="run only jobs whose name or name/seed begins with one of these")
    parser.add_argument("--workers", type=int, default=max(1, min(8, (os.cpu_count() or 2) // 2)))
    parser.add_argument("--quick", action="store_true", help="a few sentences and one epoch: a smoke test")
    arguments = parser.parse_args()
    begun = time.monotonic()
    deadline = begun + 60 * arguments.minutes
    arguments.out.mkdir(parents=True, exist_ok=True)
    setting = changed(ABSA, ABSA.name, **(arguments.settings or {}))
    chosen = [name for name in (arguments.only or "").split(",") if name]
    if arguments.plan in ("screen", "all"):
        last = deadline if arguments.plan == "screen" else begun + 0.4 * (deadline - begun)
        setting = best_setting(execute(wanted(screening(), chosen), last, arguments.workers, arguments))
    if arguments.plan in ("table", "all"):
        execute(wanted(table(setting), chosen), deadline, arguments.workers, arguments)
    if arguments.plan == "short":
        execute(wanted(short(setting), chosen), deadline, arguments.workers, arguments)
    print(f"{time.monotonic() - begun:.0f} s; results in {arguments.out / 'results.jsonl'}", flush=True)
    return 0


def wanted(jobs: list[Job], names: list[str]) -> list[Job]:
    """The jobs whose keys begin with one of these; all without any."""
    return [job for job in jobs if not names or any(job.key.startswith(name) for name in names)]


if __name__ == "__main__":
    sys.exit(main())

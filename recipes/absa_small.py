"""Train ``absa-small`` and measure it against its baselines: one command, one budget of minutes.

    python recipes/absa_small.py --data DATA --start MINILM --out OUT --minutes 8

``--data`` holds ``sentihood/`` and, for its rows of the table, ``semeval2014/``; ``--start`` is a BERT
checkpoint's directory. Jobs run side by side in worker processes that share one accelerator, the most
important first. Every finished job appends one line to ``OUT/results.jsonl``, so that a run that is cut
short still gives data; a job that would not fit into the remaining time is not begun.

Plans: ``screen`` compares settings on a fixed 15 % of SentiHood train; ``table`` trains every model with
three seeds and evaluates on dev (settings from ``--settings``, or the defaults of ``absa_jobs.py``);
``all`` screens with 40 % of the time, takes the best setting, and goes on with the table. For one processor
core there are ``holdout`` and ``semeval``, which choose settings, ``shipped`` and ``longer``, which make the
shipped model, and ``equal``, which compares all kinds of model at one small budget. The temperature of the shipped
model is fitted on dev.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import queue
import signal
import sys
import time
import traceback
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from absa_jobs import ABSA, Job, changed, equal, holdout, longer, screening, semeval, shipped, table

from weft.platform.files import append_text
from weft.train.identity import digests

GLOSSES = Path(__file__).parents[1] / "examples/absa/sentihood-glosses.txt"
PLANS = ("screen", "table", "all", "holdout", "semeval", "shipped", "longer", "equal")


def work(tasks: Any, done: Any, data: Path, start: Path, out: Path, quick: bool) -> None:
    """A worker process: loads the start once, then trains what it is given."""
    import torch

    from weft.absa.represent.vocabulary import prune_vocabulary
    from weft.encoder.checkpoint.pretrained import load_pretrained
    from weft.errors import Interrupted

    torch.set_num_threads(1)
    torch.backends.cuda.matmul.allow_tf32 = True
    begun = prune_vocabulary(load_pretrained(start))
    beside = {"quick": quick, "start": start_digest(start)}
    while (job := tasks.get()) is not None:
        started, processor = time.monotonic(), time.process_time()
        record: dict[str, Any] = {"job": asdict(job), **beside}
        try:
            record |= run(job, begun, data, out, beside)
        except Interrupted:
            return  # its checkpoint lets the next call go on
        except Exception:  # noqa: BLE001 - one job that fails must not take the others with it
            record["error"] = traceback.format_exc()
        record["seconds"] = round(time.monotonic() - started, 1)
        record["processor_seconds"] = round(time.process_time() - processor, 1)
        done.put((job.key, record))


def run(job: Job, start: Any, data: Path, out: Path, beside: dict[str, Any]) -> dict[str, Any]:
    """Train and evaluate one job; ``beside`` is what its result depends on, too."""
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
    from weft.attention.operation import cpu_multiplies_bf16
    from weft.train.config import TrainConfig

    quick = beside["quick"]
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
        identity=digests({"job": asdict(job), **beside}, out),
        teacher=[load(out / "models" / name) for name in job.teacher],
        begin=None if job.begin is None else load(out / "models" / job.begin),
        targets=TARGETS if job.corpus == "sentihood" else (),
    )
    final: dict[str, Any] = report(trained.asker, held)
    if job.left_out:
        for what, asked in (("aspect_auc", held), ("aspect_auc by gloss", glossed(held))):
            aucs = aspect_aucs(score(trained.asker, asked))
            final |= {f"{what} {held.aspects[number]}": auc for number, auc in aucs.items()}
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


def glossed(corpus: Any) -> Any:
    """The same questions, each aspect with its gloss of ``examples/absa/sentihood-glosses.txt``."""
    lines = GLOSSES.read_text(encoding="utf-8").splitlines()
    named = {line.split(":")[0]: line for line in lines}
    return replace(
        corpus,
        sentences=tuple(
            replace(s, contexts=tuple(replace(c, aspect=named[c.aspect]) for c in s.contexts))
            for s in corpus.sentences
        ),
    )


def corpora(job: Job, data: Path, quick: bool) -> tuple[Any, Any]:
    """The sentences to train on and those to evaluate on."""
    from weft.absa.learn.training import split
    from weft.absa.read.semeval import CATEGORIES, read_semeval
    from weft.absa.read.sentihood import ALL_ASPECTS, FREQUENT_ASPECTS, read_sentihood

    if job.corpus == "semeval":
        rest, test = split(
            read_semeval(data / "semeval2014/Restaurants_Train.xml", terms=job.terms), 0.15, seed=0
        )
        train, choice = split(rest, 0.15 / 0.85, seed=1)
        if job.held == "final":
            train = rest
        held = (choice if job.held == "holdout" else test).only(CATEGORIES)
    else:
        asked = FREQUENT_ASPECTS if job.frequent else ALL_ASPECTS
        train = read_sentihood(data / "sentihood/sentihood-train.json", asked)
        if job.held == "holdout":
            train, held = split(train, 0.15, seed=7)
        else:
            held = read_sentihood(data / "sentihood/sentihood-dev.json", ALL_ASPECTS)
        held = held.only(job.left_out or FREQUENT_ASPECTS)
        if job.left_out:
            train = train.only(set(train.aspects) - set(job.left_out))
    if quick:
        train, held = train.subset(range(48)), held.subset(range(60))
    return train, held


def execute(jobs: list[Job], deadline: float, workers: int, arguments: argparse.Namespace) -> dict[str, Any]:
    """Run the jobs that fit, side by side; returns the final results by job.

    Raises:
        SystemExit: A worker that died.
    """
    context = multiprocessing.get_context("spawn")
    tasks, done = context.Queue(), context.Queue()
    places = (tasks, done, arguments.data, arguments.start, arguments.out, arguments.quick)
    pool = [context.Process(target=work, args=places, daemon=True) for _ in range(min(workers, len(jobs)))]
    for process in pool:
        process.start()
    beside = {"quick": arguments.quick, "start": start_digest(arguments.start)}
    finished = results(arguments.out / "results.jsonl", jobs, beside)
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
            if dead := [process.exitcode for process in pool if not process.is_alive()]:
                sys.exit(
                    f"a worker ended with {dead[0]} (of memory?); what is finished is kept: call it again"
                )
            continue
        append_text(arguments.out / "results.jsonl", json.dumps(record) + "\n")
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
    for job in waiting:
        print(f"{job.key} was not begun: it waits for {needs(job)} or for time", flush=True)
    return finished


def start_digest(start: Path) -> str:
    """Of what the start holds."""
    return digests({"start": start}, Path())["start"]


def results(path: Path, jobs: list[Job], beside: dict[str, Any]) -> dict[str, Any]:
    """The final results of earlier runs, by job: a run that was cut short goes on where it stopped.

    A record counts for a job of ``jobs`` where it is of the same job, setting by setting, from the same start and as
    ``--quick`` or not; those of other plans may be what a job begins with.
    """
    if not path.exists():
        return {}
    asked = {job.key: json.loads(json.dumps(asdict(job))) for job in jobs}
    found: dict[str, Any] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        key = f"{record['job']['name']}/{record['job']['seed']}"
        same = all(record.get(name) == value for name, value in beside.items())
        if same and asked.get(key, record["job"]) == record["job"]:
            found[key] = record.get("final")
    return found


def needs(job: Job) -> list[str]:
    """The jobs whose models this one begins with or learns from."""
    return [name for name in (*job.teacher, job.begin) if name is not None]


def ready(waiting: list[Job], finished: dict[str, Any]) -> Job | None:
    """The first waiting job whose teacher and beginning, if it has any, are trained."""
    for job in waiting:
        if all(finished.get(needed) for needed in needs(job)):
            return job
    return None


def share(job: Job, jobs: list[Job]) -> float:
    """The job's length against the longest, by epochs."""
    most = max(other.train.get("epochs", 1) for other in jobs)
    return 0.9 * job.train.get("epochs", 1) / most


def best_setting(finished: dict[str, Any]) -> Job:
    """The screened setting with the smallest calibrated negative log-likelihood on the holdout."""
    tried = [job for job in screening() if job.options.get("kind") != "pair" and finished.get(job.key)]
    if not tried:
        return ABSA
    best = min(tried, key=lambda job: finished[job.key]["nll"])
    print(f"chosen on the holdout: {best.name} ({finished[best.key]['nll']:.4f})", flush=True)
    return best


def main() -> int:
    """Parse, screen, train, measure."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--start", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--plan", choices=PLANS, default="all")
    parser.add_argument("--settings", type=json.loads, help="changes to the default setting, as JSON")
    parser.add_argument(
        "--only", help="run only jobs whose name or name/seed begins with one of these, split by ;"
    )
    parser.add_argument("--workers", type=int, default=max(1, min(8, (os.cpu_count() or 2) // 2)))
    parser.add_argument("--quick", action="store_true", help="a few sentences and one epoch: a smoke test")
    arguments = parser.parse_args()
    # Only an exit takes the workers along.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    begun = time.monotonic()
    deadline = begun + 60 * arguments.minutes
    arguments.out.mkdir(parents=True, exist_ok=True)
    setting = changed(ABSA, ABSA.name, **(arguments.settings or {}))
    chosen = [name for name in (arguments.only or "").split(";") if name]
    missing = 0

    def done(jobs: list[Job], until: float) -> dict[str, Any]:
        nonlocal missing
        asked = wanted(jobs, chosen)
        finished = execute(asked, until, arguments.workers, arguments)
        missing += sum(not finished.get(job.key) for job in asked)
        return finished

    if arguments.plan in ("screen", "all"):
        last = deadline if arguments.plan == "screen" else begun + 0.4 * (deadline - begun)
        setting = best_setting(done(screening(), last))
    if arguments.plan in ("table", "all"):
        done(table(setting), deadline)
    for plan in (shipped, longer, equal, holdout, semeval):
        if arguments.plan == plan.__name__:
            done(plan(setting), deadline)
    print(f"{time.monotonic() - begun:.0f} s; results in {arguments.out / 'results.jsonl'}", flush=True)
    if missing:
        print(f"jobs without a result: {missing}", flush=True)
    return 1 if missing else 0


def wanted(jobs: list[Job], names: list[str]) -> list[Job]:
    """The jobs whose keys begin with one of these; all without any."""
    return [job for job in jobs if not names or any(job.key.startswith(name) for name in names)]


if __name__ == "__main__":
    sys.exit(main())

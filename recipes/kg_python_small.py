"""Train `kg-python-small`: facts about Python source, in an hour of one CPU core.

    python recipes/kg_python_small.py --data DATASET --out FOLDER --minutes 48

DATASET is what `weft kg build` made. Training has two parts: first all trees, each chunk of the extra ones
once; then the split tree alone, whose held-out modules the model is judged by, for as many steps as the
first part's speed leaves time for. The plan is kept in FOLDER/plan.json; a run that was cut off goes on
where it stopped, with the same settings alone. FOLDER/model holds the newest weights in half precision,
FOLDER/results.jsonl every result.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from kept import settings_of
from kg_kept import identity_on
from torch import Tensor

from weft.kg.evaluate.baselines import baseline_scores
from weft.kg.evaluate.scores import evaluate
from weft.kg.evaluate.views import make_views
from weft.kg.learn.code import course, named_config
from weft.kg.model.leafy_chain import LeafyChainModel
from weft.kg.represent.dataset import Corpus, Dataset, load_dataset
from weft.kg.represent.sampling import SamplingConfig
from weft.platform.files import append_text, write_json
from weft.train import TrainConfig

SIZES = {"hidden_size": 256, "layers": 4, "heads": 4, "intermediate_size": 768}
RATE = 1.1e-3
HANDOVER = 0.45
"""Share of the rate at which the first part ends and the second begins."""


def write(path: Path, **record: object) -> None:
    """Append one JSON line, and print the short of it."""
    append_text(path, json.dumps(record) + "\n")
    print(json.dumps(record)[:400], flush=True)


def training_chunks(corpus: Corpus) -> tuple[Tensor, Tensor]:
    """Training chunks of the split tree and of the extra trees: those that teach most for their length.

    The split tree's chunks stand before the others, and they alone have types from the stubs.
    """
    training = corpus.chunks_of(0)
    triples = corpus.first_triple[training + 1] - corpus.first_triple[training]
    last = corpus.chunk[corpus.origin == 1].max()
    return training[(training <= last) & (triples > 0)], training[(training > last) & (triples >= 3)]


def sampling(arguments: argparse.Namespace, part: int) -> SamplingConfig:
    """What a batch holds."""
    return SamplingConfig(
        batch_size=arguments.batch_size,
        hide_share=0.8,
        hidden_queries=2,
        mlm_share=0.25,
        seed=arguments.seed + part,
    )


def schedule(part: int, steps: int, arguments: argparse.Namespace) -> TrainConfig:
    """How one part is trained: the rate falls through both as through one."""
    return TrainConfig(
        steps=steps,
        batch_size=arguments.batch_size,
        learning_rate=RATE * (HANDOVER if part else 1.0),
        warmup=0.03 if part else 0.08,
        final_rate=0.01 if part else HANDOVER,
        betas=(0.9, 0.98),
        weight_decay=0.02,
        precision="bf16",
        seed=arguments.seed + part,
        threads=1,
        log_every=20,
        eval_every=max(steps // 5, 1),
        save_every=max(steps // 5, 1),
        keep=1,
        restore_best=False,
    )


def planned(path: Path, arguments: argparse.Namespace) -> dict[str, Any]:
    """The plan of a run that was cut off, or a new one.

    Raises:
        SystemExit: The run was begun with other settings.
    """
    settings = settings_of(arguments, without=("limit",))
    if not path.exists():
        return {"settings": settings, "end": time.time() + 60 * arguments.minutes}
    plan = json.loads(path.read_text(encoding="utf-8"))
    theirs = plan.get("settings", {})
    names = sorted(name for name in {**settings, **theirs} if settings.get(name) != theirs.get(name))
    if names:
        told = ", ".join(f"{name} {theirs.get(name)!r}, not {settings.get(name)!r}" for name in names)
        raise SystemExit(f"{path}: begun with {told}; name another --out")
    return plan


def train(dataset: Dataset, arguments: argparse.Namespace, results: Path) -> LeafyChainModel:
    """Both parts; the second has as many steps as the first's speed leaves time for."""
    corpus, kept = dataset.corpus, arguments.out / "plan.json"
    plan, decides = planned(kept, arguments), identity_on(arguments, ("limit",))
    torch.manual_seed(arguments.seed)
    choices = {"dropout": 0.0, "relation_dropout": 0.1, "fusion": arguments.fusion}
    model = LeafyChainModel(named_config("weft-kg", dataset, **SIZES, **choices))
    own, extra = training_chunks(corpus)
    missing = max(arguments.first_steps * arguments.batch_size - len(own), 0)
    order = torch.randperm(len(extra), generator=torch.Generator().manual_seed(arguments.seed))
    mixed = torch.cat([own, extra[order[:missing]]])
    for part, (name, chunks) in enumerate((("first", mixed), ("second", own))):
        steps = plan.setdefault(name, arguments.first_steps)
        write_json(kept, plan)
        write(results, event="plan", part=name, steps=steps, chunks=len(chunks))
        begin = time.time()

        def keep(module: LeafyChainModel, values: Mapping[str, float], part: str = name) -> None:
            write(results, event="validation", part=part, **{key: round(v, 4) for key, v in values.items()})
            module.save(arguments.out / "model", dataset.tokenizer, dtype=torch.float16)

        drawn, plan_of_rate = sampling(arguments, part), schedule(part, steps, arguments)
        lessons = course(model, corpus, drawn, plan_of_rate, chunks=chunks, on_evaluation=keep)
        history = lessons.run(arguments.out / name, identity=decides).history
        if part == 0 and "second" not in plan:
            speed = max(len(history.losses), 1) / (time.time() - begin)
            # A margin, for the machine may be busier later.
            left = int(0.9 * speed * (plan["end"] - time.time()))
            plan["second"] = arguments.second_steps or max(left, 1)
    model.save(arguments.out / "model", dataset.tokenizer, dtype=torch.float16)
    return model


def main(argv: list[str]) -> int:
    """Train, then score the held-out modules and the baselines."""
    parser = argparse.ArgumentParser(description="Train kg-python-small on one CPU core.")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=48.0, help="of training")
    parser.add_argument("--first-steps", type=int, default=1000, help="steps of the first part")
    parser.add_argument("--second-steps", type=int, help="of the second, instead of what time is left")
    parser.add_argument("--batch-size", type=int, default=48)
    parser.add_argument("--fusion", choices=("residual", "hgat", "embedding"), default="residual")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--limit", type=int, default=1500, help="queries of each view")
    arguments = parser.parse_args(argv)
    torch.set_num_threads(1)
    arguments.out.mkdir(parents=True, exist_ok=True)
    results = arguments.out / "results.jsonl"
    dataset = load_dataset(arguments.data)
    model = train(dataset, arguments, results)
    views = make_views(dataset, "test", arguments.limit)
    for name, scores in baseline_scores(dataset, views).items():
        write(results, event="baseline", name=name, views={view: s.record() for view, s in scores.items()})
    scores = evaluate(model, dataset.corpus, views, dataset.schema.names)
    write(results, event="final", views={view: value.record() for view, value in scores.items()})
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

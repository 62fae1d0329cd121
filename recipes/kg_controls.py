"""The controls of `weft kg`: what each choice of the model is worth, at a small, equal budget.

    python recipes/kg_controls.py --data DATASET --out FOLDER [--steps 500] [--seeds 3]

Each is one change of `weft-kg` with H-GAT as published; the residual that `weft-kg` has by now is one of them.
Every configuration trains for the same number of steps of the same batches at the same size, on the chunks of
the split tree, with the settings of `kg_python_small.py`; the first seed of all comes before the second of any.
FOLDER/results.jsonl gets one line for each; those that it already holds are not done again, and a file that was
measured with other settings is refused. `summary.py` makes a table of them.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

import torch
from kept import kept_records, settings_of
from kg_python_small import training_chunks

from weft.kg.evaluate.scores import evaluate
from weft.kg.evaluate.views import make_views
from weft.kg.learn.code import course, named_config
from weft.kg.model.leafy_chain import LeafyChainModel
from weft.kg.represent.dataset import Dataset, load_dataset
from weft.kg.represent.sampling import SamplingConfig
from weft.platform.files import append_text
from weft.train import TrainConfig

CONTROLS: dict[str, dict[str, Any]] = {
    "H-GAT": {},
    "H-GAT with residual": {"fusion": "residual"},
    "relation embedding instead of H-GAT": {"fusion": "embedding"},
    "relation ids shuffled": {"shuffle": True},
    "no copy path": {"copy_path": False},
    "decay on logits": {"decay": "scores"},
    "decay on weights": {"decay": "weights"},
    "no positions": {"position": "none"},
    "absolute positions": {"position": "absolute"},
    "relation as words": {"fusion": "words"},
    "no positions, decay on weights": {"position": "none", "decay": "weights"},
    "graphmert": {"name": "graphmert"},
    "graphmert-official": {"name": "graphmert-official"},
}


def measure(dataset: Dataset, name: str, seed: int, arguments: argparse.Namespace) -> dict[str, Any]:
    """Train and score one configuration."""
    control = dict(CONTROLS[name])
    config, shuffle = control.pop("name", "weft-kg"), control.pop("shuffle", False)
    torch.manual_seed(seed)
    heads = max(arguments.hidden_size // 64, 1)
    if config == "weft-kg":
        control = {
            "intermediate_size": 3 * arguments.hidden_size,
            "dropout": 0.0,
            "relation_dropout": 0.1,
            "fusion": "hgat",
        } | control
    model = LeafyChainModel(
        named_config(
            config,
            dataset,
            hidden_size=arguments.hidden_size,
            layers=arguments.layers,
            heads=heads,
            **control,
        )
    )
    training = TrainConfig(
        steps=arguments.steps,
        batch_size=arguments.batch_size,
        learning_rate=1e-3,
        betas=(0.9, 0.98),
        precision="bf16",
        device=arguments.device,
        threads=1,
        seed=seed,
        log_every=100,
        eval_every=10**9,
        warmup=0.08,
        restore_best=False,
    )
    sampling = SamplingConfig(
        batch_size=arguments.batch_size,
        # Masked tails take all their slots: without more columns they would see fewer triples.
        leaf_columns=96 if config != "weft-kg" else 64,
        # The named configurations mask and hide as published.
        hide_share=0.8 if config == "weft-kg" else None,
        hidden_queries=2,
        mlm_share=0.25 if config == "weft-kg" else None,
        shuffle_relations=shuffle,
        seed=seed,
    )
    corpus = dataset.corpus.to(arguments.device)
    own, _ = training_chunks(dataset.corpus)
    begin = time.monotonic()
    course(model, corpus, sampling, training, chunks=own).run()
    seconds = time.monotonic() - begin
    if arguments.keep:
        model.save(arguments.out / f"{name.replace(' ', '-')}-{seed}", dataset.tokenizer, dtype=torch.float16)
    views = make_views(dataset, "test", arguments.limit)
    scores = evaluate(model, corpus, views, dataset.schema.names, shuffle_relations=shuffle)
    return {
        "control": name,
        "seed": seed,
        "steps": arguments.steps,
        "batch_size": arguments.batch_size,
        "size": [arguments.layers, arguments.hidden_size],
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "train_seconds": round(seconds, 1),
        "views": {view: score.record() for view, score in scores.items()},
    }


def main(argv: list[str]) -> int:
    """Measure what is not measured yet."""
    parser = argparse.ArgumentParser(description="Measure the controls of weft kg.")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--controls", nargs="*", choices=CONTROLS, default=list(CONTROLS))
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--hidden-size", type=int, default=256)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--limit", type=int, default=600, help="queries of each view")
    parser.add_argument("--keep", action="store_true", help="keep the models, FOLDER/CONTROL-SEED")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    arguments = parser.parse_args(argv)
    torch.set_num_threads(1)
    arguments.out.mkdir(parents=True, exist_ok=True)
    results = arguments.out / "results.jsonl"
    settings = settings_of(arguments, without=("controls", "seeds", "keep"))
    done = {(record["control"], record["seed"]) for record in kept_records(results, settings)}
    dataset = load_dataset(arguments.data)
    for seed in range(arguments.seeds):
        for name in arguments.controls:
            if (name, seed) in done:
                continue
            record = {**measure(dataset, name, seed, arguments), "settings": settings}
            append_text(results, json.dumps(record) + "\n")
            shown = {
                view: (score["precision_at_1"], score["hit_at_10"]) for view, score in record["views"].items()
            }
            print(name, seed, record["train_seconds"], shown, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""The controls of `weft bcsd`: what each part of the model is worth, at a small, equal budget.

    python recipes/bcsd_controls.py --data functions.parquet --out FOLDER [--steps 300] [--seeds 3]

Every configuration trains for the same number of steps on the same groups at the same size; the first seed of
all comes before the second of any. FOLDER/results.jsonl gets one line for each, with Recall@1 by plain cosine
on the test packages, for all queries and for those of more than 128 instructions; those that it already holds
are not done again, and a run that was cut off goes on where it stopped. A file, or a run, of other settings or data
is refused. `summary.py` makes tables of them.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch
from kept import identity, kept_records, settings_of

from weft.bcsd.evaluate.report import Vectors
from weft.bcsd.evaluate.tasks import COLUMNS, HEADLINE, Labels
from weft.bcsd.learn.sampling import SamplingConfig
from weft.bcsd.learn.setup import fit_lexical
from weft.bcsd.learn.training import Learning, course
from weft.bcsd.model.config import ModelConfig
from weft.bcsd.model.function_model import FunctionModel
from weft.bcsd.represent.lexical import Lexical
from weft.bcsd.table import read_table
from weft.bcsd.use.embedder import Embedder
from weft.objective.metrics import ranks
from weft.platform.files import append_text
from weft.train import TrainConfig
from weft.train.identity import digests

CONTROLS: dict[str, dict[str, Any]] = {
    "full": {},
    "no graph": {"prefix": "none", "branches": "sequence"},
    "graphs shuffled in training": {"shuffle": True},
    "no token set": {"token_set": False},
    "no graph, no token set": {"prefix": "none", "branches": "sequence", "token_set": False},
    "jTrans' idea: no graph, no token set, jump targets are positions": {
        "prefix": "none",
        "branches": "sequence",
        "token_set": False,
        "share_jump_positions": True,
    },
    "no prefix, summary beside": {"prefix": "none"},
    "prefix, no summary beside": {"branches": "sequence"},
    "register prefix, no graph": {"prefix": "register", "branches": "sequence"},
    "blocks without edges": {"edges": False},
    "graph alone": {"prefix": "none", "branches": "graph", "token_set": False},
    "token sets in the blocks": {"block_tokens": True},
    "token sets in the blocks, shuffled": {"block_tokens": True, "shuffle": True},
    "decay over block distances": {"block_decay": "weights"},
}
LONG = 128
SELECTING = ("controls", "seeds")
"""Options that say which runs there are, not what one is."""


def measure(
    functions: pa.Table, lexical: Lexical, name: str, seed: int, arguments: argparse.Namespace
) -> dict[str, Any]:
    """Train and score one configuration."""
    choices = dict(CONTROLS[name])
    learning = Learning(shuffle_graphs=choices.pop("shuffle", False))
    shape = replace(ModelConfig(intermediate_size=256), **choices)
    torch.manual_seed(seed)
    model = FunctionModel(shape)
    model.weigh_tokens(torch.from_numpy(lexical.weights))
    config = TrainConfig(
        steps=arguments.steps,
        batch_size=2 * arguments.groups,
        learning_rate=1.3e-3,
        betas=(0.9, 0.98),
        weight_decay=0.02,
        precision="bf16",
        threads=1,
        seed=seed,
        device=arguments.device,
        save_every=50,
        keep=1,
    )
    begin = time.process_time()
    place = arguments.out / f"{list(CONTROLS).index(name)}-{seed}"
    training = functions.filter(pc.field("role") == "train")
    sampling = SamplingConfig(groups=arguments.groups)
    decides = identity(arguments, SELECTING) | digests({"control": CONTROLS[name]}, arguments.out)
    history = course(model, training, sampling, learning, config).run(place, identity=decides).history
    return {
        "control": name,
        "seed": seed,
        "steps": arguments.steps,
        "groups": arguments.groups,
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        # Of the last, uninterrupted part.
        "steps_timed": len(history.losses),
        "processor_seconds": round(time.process_time() - begin),
        "recall_1": score(functions, Embedder(model, lexical)),
        "settings": settings_of(arguments, SELECTING),
    }


def score(functions: pa.Table, embedder: Embedder) -> dict[str, dict[str, list[float]]]:
    """Hits (1 or 0) of every query of each setting, which source function each is of, and both of the long ones."""
    labels = Labels(functions)
    tasks = [labels.task(setting, "test") for setting in HEADLINE]
    number = np.unique(labels.group.astype(str), return_inverse=True)[1]
    vectors = Vectors(functions, tasks, embedder, embedder.lexical)
    found: dict[str, dict[str, list[float]]] = {}
    for task in tasks:
        queries, base = vectors.learned(task)
        hits = (ranks(queries @ base.T, task.right).realistic == 1).astype(float)
        long = labels.instructions[task.queries] > LONG
        of = number[task.queries]
        found[task.setting] = {"all": hits.tolist(), "long": hits[long].tolist()}
        found[task.setting] |= {"group": of.tolist(), "group, long": of[long].tolist()}
    return found


def main(argv: list[str]) -> int:
    """Measure what is not measured yet."""
    parser = argparse.ArgumentParser(description="Measure the controls of weft bcsd.")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--controls", nargs="*", choices=CONTROLS, default=list(CONTROLS))
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--groups", type=int, default=64)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    arguments = parser.parse_args(argv)
    torch.set_num_threads(1)
    arguments.out.mkdir(parents=True, exist_ok=True)
    results = arguments.out / "results.jsonl"
    known = kept_records(results, settings_of(arguments, SELECTING))
    done = {(record["control"], record["seed"]) for record in known}
    functions = read_table(arguments.data, list(COLUMNS))
    lexical = fit_lexical(functions.filter(pc.field("role") == "train"))
    for seed in range(arguments.seeds):
        for name in arguments.controls:
            if (name, seed) in done:
                continue
            record = measure(functions, lexical, name, seed, arguments)
            append_text(results, json.dumps(record) + "\n")
            shown = {
                part: [round(float(np.mean(record["recall_1"][s][part])), 3) for s in HEADLINE]
                for part in ("all", "long")
            }
            print(name, seed, record["processor_seconds"], shown, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

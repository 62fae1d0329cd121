"""A graph network over a function's operations, trained, with its controls: does it tell more than the bag of them?

    python recipes/bcsd_graphs.py DATA --work DIR --out GRAPHS
    python recipes/bcsd_operations_graph.py --data DATA --graphs GRAPHS --out FOLDER [--steps 600] [--seeds 3]
    python recipes/bcsd_operations_graph.py --data DATA --graphs GRAPHS --out FOLDER --role test

Every control trains for the same number of steps on the same groups; the first seed of all comes before the second of
any. FOLDER/results.jsonl gets one line for each control, seed and role: for every setting which queries were answered
rightly, and which of them have more than 128 instructions,

  * by the cosine of what was trained (``alone``: corrected for hubs), and by the bag of operations, untrained;
  * by the shipped score (bcsd-small, tokens, operations, callees) with what was trained as one more cosine, at every
    weight of :data:`WEIGHTS`, 0 being the shipped score as it is. The weight is chosen on the validation packages.

What is trained reads the graph alone (``graph alone``), or the graph and a learned table of the set of operations that
begins as the bag (``learned bag``), or it is bcsd-small with another graph in its prefix and beside it (``prefix``):
then it takes the place of the shipped model in the score. The parts that read the graph begin anew in all of these, the
others where bcsd-small ended. What was trained is kept in FOLDER: ``--role test`` trains nothing; the other options are
those of the training. A file, or a run, of other settings or data is refused.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch
from kept import identity, kept_records, settings_of
from numpy.typing import NDArray

from weft.bcsd.evaluate.report import Vectors
from weft.bcsd.evaluate.tasks import COLUMNS, HEADLINE, SETTINGS, Labels, Task
from weft.bcsd.learn.sampling import SamplingConfig
from weft.bcsd.learn.training import Learning, course
from weft.bcsd.model.config import ModelConfig
from weft.bcsd.model.function_model import FunctionModel
from weft.bcsd.represent.arrays import FunctionArrays
from weft.bcsd.represent.graphs import OperationGraphs, graphs_of
from weft.bcsd.represent.operations import operation_idf
from weft.bcsd.table import read_table
from weft.bcsd.use.embedder import Embedder
from weft.bcsd.use.score import without_hubs
from weft.bcsd.use.store import load, save
from weft.objective.metrics import ranks
from weft.platform.files import append_text, binary_writer
from weft.train import TrainConfig
from weft.train.identity import digests

ALONE = {"branches": "graph", "prefix": "none", "token_set": False, "intermediate_size": 256}
BESIDE = ALONE | {"operation_set": 1 << 15}
OPERATIONS = {"graph": "operations", "max_blocks": 1024}
CONTROLS: dict[str, dict[str, Any]] = {
    "graph alone: operations": ALONE | OPERATIONS,
    "graph alone: operations, edges shuffled": ALONE | OPERATIONS | {"shuffle": True},
    "graph alone: operations, no edges": ALONE | OPERATIONS | {"edges": False},
    "graph alone: control flow": ALONE,
    "learned bag: operations": BESIDE | OPERATIONS,
    "learned bag: no graph": BESIDE | {"branches": "set"},
    "prefix: operations": OPERATIONS,
    "prefix: operations, edges shuffled": OPERATIONS | {"shuffle": True},
    "prefix: operations, no edges": OPERATIONS | {"edges": False},
    "prefix: control flow": {},
    "prefix: no graph": {"prefix": "none", "branches": "sequence"},
}
SHIPPED = "bcsd-small"
#: Shares of the trained cosine beside the shipped score.
WEIGHTS = (0.0, 0.02, 0.05, 0.1, 0.2)
LONG = 128
SELECTING = ("controls", "seeds", "role")
"""Options that say which runs there are and what they are asked, not what one is."""
#: Parts of the model that begin anew where the others begin as they were shipped.
FRESH = ("graph.", "operations.", "block_", "from_graph.", "encoder.conditioner.")


class Data:
    """A data set with its graphs.

    Args:
        path: What `weft bcsd dataset build` made.
        folder: What ``bcsd_graphs.py`` made of it.
        roles: Whose rows are wanted.
        min_blocks: Smaller functions are left out.
    """

    def __init__(self, path: Path, folder: Path, roles: tuple[str, ...], min_blocks: int) -> None:
        columns = [*COLUMNS, "binary_sha256", "address"]
        functions = read_table(path, columns).select(columns)
        wanted = pc.field("role").isin(roles) & (pc.field("num_blocks") >= min_blocks)
        self.functions = functions.filter(wanted).combine_chunks()
        self.graphs = graphs_of(folder, self.functions)


def train(
    data: Data, name: str, seed: int, arguments: argparse.Namespace
) -> tuple[FunctionModel, dict[str, Any]]:
    """Train one control."""
    choices = dict(CONTROLS[name])
    graphs = data.graphs.shuffled(seed) if choices.pop("shuffle", False) else data.graphs
    begun = load(SHIPPED)
    torch.manual_seed(seed)
    if name.startswith("prefix"):
        model = FunctionModel(replace(begun.network.config, **choices))
        kept = {n: t for n, t in begun.network.state_dict().items() if not n.startswith(FRESH)}
        model.load_state_dict({n: t for n, t in kept.items() if n in model.state_dict()}, strict=False)
    else:
        model = FunctionModel(replace(ModelConfig(), **choices))
        model.weigh_operations(torch.from_numpy(operation_idf()))
    config = TrainConfig(
        steps=arguments.steps,
        batch_size=2 * arguments.groups,
        learning_rate=arguments.rate,
        betas=(0.9, 0.98),
        weight_decay=0.02,
        precision="bf16",
        threads=1,
        seed=seed,
        device="cpu",
        save_every=100,
        keep=1,
    )
    learning = Learning(beside=arguments.beside, mlm_weight=0.0)
    begin = time.process_time()
    place = arguments.out / "runs" / f"{list(CONTROLS).index(name)}-{seed}"
    sampling = SamplingConfig(groups=arguments.groups)
    # The graphs are made of the data set, and are too many to be read through.
    decides = identity(arguments, (*SELECTING, "data", "graphs", "headline")) | digests(
        {
            "control": CONTROLS[name],
            "training": arguments.training or arguments.data,
            "begun": begun.version,
        },
        arguments.out,
    )
    lessons = course(model, data.functions, sampling, learning, config, graphs=graphs)
    history = lessons.run(place, identity=decides).history
    save(place / "model", model, begun.lexical, begun.weights)
    return model, {
        "steps": arguments.steps,
        "groups": arguments.groups,
        "parameters": sum(p.numel() for p in model.parameters()),
        "processor_seconds": round(time.process_time() - begin),
        "steps_timed": len(history.losses),
        "loss": float(np.mean(history.losses[-20:])) if history.losses else None,
    }


class Judge:
    """The tasks of a role, and the shipped score of each.

    Args:
        data: Rows of that role.
        role: ``valid`` or ``test``.
        folder: Where the shipped model's embeddings are kept, by its version and by what they are of.
        digest: Of the data set.
        settings: What is asked.
    """

    def __init__(self, data: Data, role: str, folder: Path, digest: str, settings: Sequence[str]) -> None:
        self.data = data
        labels = Labels(data.functions)
        self.tasks: list[Task] = [labels.task(name, role) for name in settings if labels.holds(name)]
        self.long = {task.setting: labels.instructions[task.queries] > LONG for task in self.tasks}
        number = np.unique(labels.group.astype(str), return_inverse=True)[1]
        self.group = {task.setting: number[task.queries].tolist() for task in self.tasks}
        self.embedder = Embedder.load(SHIPPED, precision="auto")
        self.vectors = Vectors(data.functions, self.tasks, None, self.embedder.lexical)
        self.rows = self.vectors.rows
        taken = data.functions.take(pa.array(self.rows))
        self.graphs = data.graphs.take(self.rows)
        self.arrays = FunctionArrays.from_table(taken, self.graphs)
        rows = hashlib.sha256(digest.encode() + np.asarray(self.rows, np.int64).tobytes()).hexdigest()[:16]
        place = folder / f"{SHIPPED}-{self.embedder.version}-{role}-{rows}.npy"
        if place.exists():
            self.shipped = np.load(place, allow_pickle=False)
        else:
            self.shipped = self.embedder.embed(self.arrays)
            with binary_writer(place) as file:
                np.save(file, self.shipped, allow_pickle=False)

    def scores(self, task: Task, embeddings: NDArray[np.float32]) -> NDArray[np.float32]:
        """The score that is shipped, before the correction for hubs, with these embeddings."""
        self.vectors.embeddings = embeddings
        return self.vectors.combined(task, self.embedder.weights)

    def cosine(self, task: Task, embeddings: NDArray[np.float32]) -> NDArray[np.float32]:
        """Of every query and every function of the pool."""
        asked, there = (np.searchsorted(self.rows, rows) for rows in (task.queries, task.base))
        return embeddings[asked] @ embeddings[there].T

    def beside(
        self, before: NDArray[np.float32], learned: NDArray[np.float32], weight: float
    ) -> NDArray[np.float32]:
        """A score with one more cosine of this weight beside those that it is made of."""
        return (before + np.float32(weight) * learned).astype(np.float32)

    def judge(self, model: FunctionModel, seed: int, *, shuffle: bool, instead: bool) -> dict[str, Any]:
        """Which queries are answered rightly: setting → system → 0 or 1; which are long; each one's source function.

        Args:
            model: What was trained.
            seed: Of its shuffled edges.
            shuffle: Whether it sees those.
            instead: Whether it takes the place of the shipped model in the score, and is not beside it.
        """
        graphs: OperationGraphs = self.graphs.shuffled(seed) if shuffle else self.graphs
        # The shipped model's own precision where it is compared with it.
        embedder = Embedder(model, self.embedder.lexical, precision="auto" if instead else "fp32")
        embeddings = embedder.embed(replace(self.arrays, graphs=graphs))
        found: dict[str, Any] = {}
        for task in self.tasks:
            learned = self.cosine(task, embeddings)
            weights = self.embedder.weights
            bag = self.vectors.tfidf(task, self.vectors.operations.own)
            systems = {
                "cosine": learned,
                "alone": without_hubs(learned, weights),
                "bag": without_hubs(bag, weights),
            }
            if instead:
                systems["0.0"] = without_hubs(self.scores(task, self.shipped), self.embedder.weights)
                systems["instead"] = without_hubs(self.scores(task, embeddings), self.embedder.weights)
            else:
                before = self.scores(task, self.shipped)
                for weight in WEIGHTS:
                    systems[str(weight)] = without_hubs(
                        self.beside(before, learned, weight), self.embedder.weights
                    )
            found[task.setting] = {
                system: (ranks(scores, task.right).realistic == 1).astype(int).tolist()
                for system, scores in systems.items()
            }
            found[task.setting]["long"] = self.long[task.setting].astype(int).tolist()
            found[task.setting]["group"] = self.group[task.setting]
        return found


def show(record: dict[str, Any]) -> str:
    """The means of a record: each system's recall@1 in every setting, all queries and long ones."""
    lines = [f"{record['control']} seed {record['seed']} {record['role']} {record['trained']}"]
    hits: dict[str, Any] = record["hits"]
    for system in [name for name in next(iter(hits.values())) if name not in ("long", "group")]:
        parts: list[str] = []
        for which in ("all", "long"):
            figures = {
                name: np.mean(np.array(own[system])[np.array(own["long"]) >= (which == "long")])
                for name, own in hits.items()
            }
            headline = np.mean([figures[name] for name in HEADLINE])
            parts.append(
                f"{which} {headline:.4f} " + " ".join(f"{figure:.3f}" for figure in figures.values())
            )
        lines.append(f"  {system:8}" + " | ".join(parts))
    return "\n".join(lines)


def main(argv: list[str]) -> int:
    """Train and judge what is not done yet."""
    parser = argparse.ArgumentParser(description="Measure a graph network over operations and its controls.")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--training", type=Path, help="where the training packages are, if not in DATA")
    parser.add_argument("--graphs", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--controls", nargs="*", choices=CONTROLS, default=list(CONTROLS))
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--groups", type=int, default=64)
    parser.add_argument("--rate", type=float, default=1.3e-3)
    parser.add_argument("--beside", type=float, default=1.0)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--headline", action="store_true", help="without the further processors")
    parser.add_argument("--role", choices=("valid", "test"), default="valid")
    arguments = parser.parse_args(argv)
    torch.set_num_threads(1)
    arguments.out.mkdir(parents=True, exist_ok=True)
    results = arguments.out / "results.jsonl"
    settings = settings_of(arguments, SELECTING)
    done = {(r["control"], r["seed"], r["role"]) for r in kept_records(results, settings)}
    judge = Judge(
        Data(arguments.data, arguments.graphs, (arguments.role,), 5),
        arguments.role,
        arguments.out,
        digests({"data": arguments.data}, arguments.out)["data"],
        HEADLINE if arguments.headline else tuple(SETTINGS),
    )
    training = None
    for seed in range(arguments.seeds):
        for name in arguments.controls:
            if (name, seed, arguments.role) in done:
                continue
            kept = arguments.out / "runs" / f"{list(CONTROLS).index(name)}-{seed}" / "model"
            if arguments.role == "test":
                model, trained = load(kept).network, {}
            else:
                training = training or Data(
                    arguments.training or arguments.data, arguments.graphs, ("train",), 3
                )
                model, trained = train(training, name, seed, arguments)
            hits = judge.judge(
                model, seed, shuffle="shuffle" in CONTROLS[name], instead=name.startswith("prefix")
            )
            record = {"control": name, "seed": seed, "role": arguments.role, "trained": trained, "hits": hits}
            record["settings"] = settings
            append_text(results, json.dumps(record) + "\n")
            print(show(record), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Read facts out of text: train on Re-DocRED and measure on its held-out documents.

    weft kg build dev_revised.json --language redocred --split SPLIT --vocabulary MINILM -o DATASET
    python recipes/kg_redocred.py --data DATASET --start MINILM --out OUT --seeds 0 1 2

Rows: a model that starts from a BERT directory with the graph, without it, and with the distances of the chain
alone; one from scratch with the graph and without; and one whose facts have random relations. SPLIT is
examples/kg/redocred_split.json. OUT/results.jsonl gets one line a run, OUT/NAME the model; runs that it already holds
are not done again, and a file that was measured with other settings is refused. Roots are encoded once for all runs, by
the layers that stay as they are. `seconds` is null of a run that was cut off and went on.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from kept import kept_records, settings_of
from kg_kept import identity_on

from weft.kg.evaluate.texts import ask_texts, baseline_text_scores, calibrate_texts, score_texts
from weft.kg.learn.text import (
    WITHOUT_GRAPH,
    course,
    from_pretrained,
    from_scratch,
    with_frozen_states,
)
from weft.kg.model.entity_graph import EntityGraphModel
from weft.kg.represent.passages import TextDataset, load_text_dataset
from weft.platform.files import append_text
from weft.train import TrainConfig
from weft.train.snapshot import seed_everything

SHARED = 5
SELECTING = ("rows", "seeds")
"""Options that say which runs there are, not what one is."""
STILL = {"moving_roots": False, "pair_layers": 0, "encoder_rate": 0.15}


@dataclass(frozen=True)
class Row:
    """One row of the table.

    Args:
        name: What it is called.
        pretrained: Whether it starts from the BERT directory.
        choices: Fields of ``EntityGraphConfig``.
        rate: Learning rate.
        shuffled: Whether relations are random in training.
    """

    name: str
    pretrained: bool
    choices: dict[str, Any] = field(default_factory=dict)
    rate: float = 1.5e-3
    shuffled: bool = False


ROWS = (
    Row("start", True, STILL),
    Row("start-no-graph", True, {**STILL, **WITHOUT_GRAPH}),
    Row("start-distances", True, {**STILL, **WITHOUT_GRAPH, "distances": True}),
    Row("scratch", False, {"pair_layers": 0}, 1e-3),
    Row("scratch-no-graph", False, dict(WITHOUT_GRAPH), 1e-3),
    Row("start-shuffled", True, STILL, shuffled=True),
)


def train(
    row: Row, dataset: TextDataset, arguments: argparse.Namespace, seed: int
) -> tuple[EntityGraphModel, bool]:
    """Train one model, and whether from its first step on: a run that was cut off goes on where it stopped."""
    seed_everything(seed)
    if row.pretrained:
        model = from_pretrained(dataset, arguments.start, shared_layers=SHARED, **row.choices)
    else:
        model = from_scratch(dataset, **row.choices)
    config = TrainConfig(
        epochs=arguments.epochs,
        batch_size=4,
        learning_rate=row.rate,
        weight_decay=0.05,
        warmup=0.08,
        schedule="linear",
        precision="bf16",
        restore_best=False,
        seed=seed,
        threads=arguments.threads,
    )
    directory = arguments.out / f"{row.name}-{seed}" / "run"
    decides = identity_on(arguments, SELECTING, row=row)
    lessons = course(model, dataset, config, shuffle_relations=row.shuffled)
    return model, lessons.run(directory, identity=decides).history.first_step == 0


def main(argv: list[str]) -> int:
    """Train and score every row with every seed."""
    parser = argparse.ArgumentParser(description="Train and score models of Re-DocRED.")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--start", type=Path, required=True, help="a BERT directory")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument(
        "--rows", nargs="*", default=[row.name for row in ROWS], choices=[row.name for row in ROWS]
    )
    parser.add_argument("--seeds", nargs="*", type=int, default=[0, 1, 2])
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--documents", type=int, help="train on the first so many documents (all)")
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args(argv)
    torch.set_num_threads(arguments.threads)
    arguments.out.mkdir(parents=True, exist_ok=True)
    results = arguments.out / "results.jsonl"
    settings = settings_of(arguments, without=SELECTING)
    done = {(record["name"], record.get("seed")) for record in kept_records(results, settings)}
    dataset = fewer(load_text_dataset(arguments.data), arguments.documents)
    for name, score in baseline_text_scores(dataset, "test").items():
        if (name, None) not in done:
            write(results, name=name, test=score.record(), settings=settings)
    rows = [row for row in ROWS if row.name in arguments.rows]
    runs = [(row, seed) for seed in arguments.seeds for row in rows if (row.name, seed) not in done]
    if not runs:
        return 0
    started = replace(dataset, passages=tuple(encoded(dataset, arguments.start)))
    for row, seed in runs:
        begin, data = time.process_time(), started if row.pretrained else dataset
        model, whole = train(row, data, arguments, seed)
        spent = time.process_time() - begin
        with torch.autocast("cpu", torch.bfloat16):
            asked = ask_texts(model, data, "test")
        confidence = calibrate_texts(data, asked.valid)
        folder = arguments.out / f"{row.name}-{seed}"
        model.save(folder, dataset.tokenizer.tokenizer, dtype=torch.float16)
        dataset.schema.save(folder / "schema.json")
        confidence.save(folder)
        # After the model: a run with a line is not done again.
        write(
            results,
            name=row.name,
            seed=seed,
            documents=len(dataset.documents_of("train")),
            epochs=arguments.epochs,
            seconds=round(spent, 1) if whole else None,
            test=score_texts(data, asked, confidence).record(),
            settings=settings,
        )
    return 0


def fewer(dataset: TextDataset, documents: int | None) -> TextDataset:
    """The data set with the first so many training documents; the others belong to no part."""
    kept = set(dataset.documents_of("train")[:documents])
    parts = (
        name if name != "train" or number in kept else "left out" for number, name in enumerate(dataset.parts)
    )
    return replace(dataset, parts=tuple(parts))


def encoded(dataset: TextDataset, start: Path) -> list[Any]:
    """All passages with their roots after the layers that stay."""
    model = from_pretrained(dataset, start, shared_layers=SHARED, **STILL)
    with torch.autocast("cpu", torch.bfloat16):
        return with_frozen_states(model, dataset.passages)


def write(path: Path, **record: object) -> None:
    """Append one JSON line, and print it."""
    append_text(path, json.dumps(record) + "\n")
    print(json.dumps(record), flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Train a model that reads raw English text, nothing given: mentions, entities, facts.

    weft kg build dev_revised.json --language redocred --split SPLIT --vocabulary MINILM -o DATASET
    python recipes/kg_text_small.py --data DATASET --corpus dev_revised.json --start MINILM --out OUT

SPLIT is examples/kg/redocred_split.json. First the embeddings and the lower five layers learn to find mentions; then
these stay as they are, and leaves, pairs and relations are learnt above them on given mentions; then confidences are
fitted on what the model reads out of the raw documents of the validation part. OUT/model is the model, matrices in
eight bits. It goes on where it was stopped.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

import torch

from weft.kg.evaluate.judge import calibrated
from weft.kg.extraction.entities import EntityExtractor
from weft.kg.learn.text import course, from_pretrained
from weft.kg.mentions.find import find_spans, score_mentions
from weft.kg.mentions.training import train_mentions
from weft.kg.model.entity_graph import EntityGraphModel
from weft.kg.represent.passages import load_text_dataset
from weft.train import TrainConfig
from weft.train.snapshot import seed_everything

SHARED = 5


def main(argv: list[str]) -> int:
    """Train, calibrate, save."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, metavar="DATASET")
    parser.add_argument(
        "--corpus", type=Path, required=True, metavar="FILE", help="Re-DocRED, for the calibration"
    )
    parser.add_argument("--split", type=Path, default=Path("examples/kg/redocred_split.json"), metavar="FILE")
    parser.add_argument("--start", type=Path, required=True, metavar="DIR", help="a BERT directory")
    parser.add_argument("--out", type=Path, required=True, metavar="OUT")
    parser.add_argument("--mention-epochs", type=int, default=6)
    parser.add_argument("--relation-epochs", type=int, default=12)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args(argv)
    torch.set_num_threads(1)
    dataset = load_text_dataset(arguments.data)
    seed_everything(arguments.seed)
    model = from_pretrained(
        dataset, arguments.start, shared_layers=SHARED, moving_roots=False, pair_layers=0, finds_mentions=True
    )
    begun = time.process_time()
    valid = dataset.passages_of("valid")

    def mentions(found: EntityGraphModel) -> dict[str, float]:
        score = score_mentions(find_spans(found, valid), valid, dataset.types[1:])
        return {"loss": 1 - score.f1, "typed_f1": score.typed_f1}

    shared = {
        "batch_size": 4,
        "learning_rate": 1.5e-3,
        "schedule": "linear",
        "precision": "bf16",
        "seed": arguments.seed,
    }
    train_mentions(
        model,
        dataset.passages_of("train"),
        TrainConfig(
            epochs=arguments.mention_epochs,
            weight_decay=0.01,
            warmup=0.1,
            restore_best=False,
            threads=1,
            **shared,
        ),
        evaluate=mentions,
        directory=arguments.out / "mentions",
        quiet=True,
    )
    seed_everything(arguments.seed)
    config = TrainConfig(
        epochs=arguments.relation_epochs,
        weight_decay=0.05,
        warmup=0.08,
        restore_best=False,
        threads=1,
        **shared,
    )
    course(model, dataset, config).run(arguments.out / "relations")
    folder = arguments.out / "model"
    model.save(folder, dataset.tokenizer.tokenizer, int8=True)
    dataset.schema.save(folder / "schema.json")
    extractor = calibrated(EntityExtractor.load(folder), arguments.corpus, arguments.split)
    if extractor.confidence is not None:
        extractor.confidence.save(folder)
    print(json.dumps({"model": str(folder), "seconds": round(time.process_time() - begun)}))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

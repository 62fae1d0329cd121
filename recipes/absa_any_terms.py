"""Train the tagger of ``absa-any``, which finds what a text judges, and measure it: one command.

    python recipes/absa_any_terms.py --data DATA --model OUT/model --out OUT2

The tagger stands on the model's frozen layers; nothing else of the model changes. ``DATA/absa/mabsa`` is measured on
and never trained on. Measured figures go to ``OUT2/results.json``.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from random import Random
from typing import Any

from absa_any import COLLECTION, LONG, MEASURED, plain

from weft.absa.read.mams import read_mams
from weft.absa.read.quadruples import read_acos, read_mabsa
from weft.absa.read.reviews import Reviews
from weft.absa.read.three_lines import read_three_lines


def texts(data: Path, without: set[str], seed: int) -> list[Any]:
    """The marked texts, none of which is measured on; tweets mark names alone and are left out."""
    from weft.absa.learn.terms import marked

    others = data / "absa/absadatasets"
    quadruples = [
        read_acos(others / "acos-laptop_quad_train.tsv.jsonl", "laptops"),
        read_acos(others / "acos-rest16_quad_train.tsv.jsonl", "restaurants"),
    ]
    terms: list[Reviews] = [read_mams(data / "absa/mams/ATSA-train.xml")]
    for domain, file in COLLECTION.items():
        if domain not in {"tweets", *without}:
            terms.append(read_three_lines(others / f"{file}-train.seg", domain))
    measured = {plain(r.text) for p in (data / "absa/mabsa").glob("*-dev.txt") for r in read_mabsa(p).reviews}
    found = [text for source in quadruples for text in marked(source.reviews, opinions=True)]
    found += [text for source in terms for text in marked(source.reviews)]
    kept = [text for text in found if plain(text.text) not in measured and len(text.text) < LONG]
    Random(seed).shuffle(kept)
    return kept


def measure(asker: Any, data: Path) -> dict[str, Any]:
    """F1 of terms, and of terms with their polarity, on M-ABSA dev, by domain."""
    from weft.absa.evaluate.terms import term_scores
    from weft.absa.find.finder import Finder

    results: dict[str, Any] = {}
    for domain in MEASURED:
        scores = term_scores(Finder(asker), read_mabsa(data / f"absa/mabsa/{domain}-dev.txt").reviews)
        results[domain] = {name: round(value, 4) for name, value in scores.items()}
    return results


def run(arguments: argparse.Namespace) -> dict[str, Any]:
    """Train, store, measure."""
    import torch

    from weft.absa.learn.terms import train_tagger, with_tagger
    from weft.absa.use.store import load, save
    from weft.train.config import TrainConfig

    torch.set_num_threads(arguments.threads)
    asker = load(arguments.model)
    found = texts(arguments.data, set(arguments.without), arguments.seed)
    print(f"{len(found)} texts", flush=True)
    settings = {
        "steps": arguments.steps,
        "batch_size": 24,
        "learning_rate": 3e-4,
        "schedule": "linear",
        "warmup": 0.06,
        "save_every": 100,
    }
    settings |= json.loads(arguments.train)
    config = TrainConfig(
        **settings,
        seed=arguments.seed,
        device="cpu",
        restore_best=False,
        keep=1,
        threads=arguments.threads,
    )
    temperature, threshold = asker.config.temperature, asker.config.threshold
    asker = with_tagger(asker, arguments.layers).calibrated(temperature, threshold)
    if arguments.tagger is None:
        train_tagger(asker, found, config, arguments.out / "run")
    else:
        take_tagger(asker, load(arguments.tagger))
    save(arguments.out / "model", asker, int8=True)
    results = measure(load(arguments.out / "model"), arguments.data)
    (arguments.out / "results.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    return results


def take_tagger(asker: Any, other: Any) -> None:
    """Another model's tagger, where both have frozen the same layers."""
    import torch

    mine, theirs = asker.module.state_dict(), other.module.state_dict()
    depth = asker.config.options.frozen_layers
    shared = ("encoder.embeddings.", *(f"encoder.layers.{number}." for number in range(depth)))
    unlike = [n for n in mine if n.startswith(shared) and not torch.equal(mine[n], theirs[n])]
    if unlike:
        raise SystemExit(f"the tagger was trained on other frozen layers: {unlike[0]} differs")
    asker.module.terms.load_state_dict(other.module.terms.state_dict())


def main() -> None:
    """Parse, train, measure, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--model", required=True, help="the model that gets a tagger")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument(
        "--tagger", help="a model whose tagger is taken over, trained on the same frozen layers"
    )
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--steps", type=int, default=1000, help="batches of 24 texts")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--without", action="append", default=[], help="a domain to leave out")
    parser.add_argument("--train", default="{}", help="of TrainConfig, JSON")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    print(json.dumps(run(arguments), indent=1))


if __name__ == "__main__":
    main()

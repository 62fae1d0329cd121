"""Quasi-attention, CG-BERT's softmax and the sentence pair on SentiHood, each at its best rate, at one equal budget.

    python recipes/absa_quasi_trial.py --data DATA --start MINILM --out OUT

Every run is ``--steps`` batches of five sentences (some 25 questions) of 85 % of train, of those of at most 100
characters (seven of ten), the same ones for every kind of model. The rate is the one of two whose model has the
smallest calibrated negative log-likelihood on the other 15 %; then two more seeds of it. Dev is asked by the runs at
the chosen rate alone, threshold 0.5. ``qacg, open`` begins with ``quasi_start: "open"``, ``qacg, half`` with
``"half"``, see ``absa_quasi.py``. One line of ``OUT/trial.jsonl`` for each run; a call that was stopped goes on where
it stood. ``--rate 2e-4`` leaves the choice out; then the first seed of every kind comes before the second.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import torch
from kept import identity, kept_records, settings_of
from summary import SENTIHOOD

from weft.absa.config import ModelOptions
from weft.absa.evaluate.report import report
from weft.absa.learn.training import Learning, split, train
from weft.absa.read.sentihood import FREQUENT_ASPECTS, TARGETS, read_sentihood
from weft.absa.represent.vocabulary import prune_vocabulary
from weft.absa.use.store import load, save
from weft.encoder.checkpoint.pretrained import load_pretrained
from weft.platform.files import append_text
from weft.train.config import TrainConfig

RATES = (1e-4, 2e-4)
KINDS: dict[str, tuple[dict[str, Any], int]] = {
    "pair": ({"kind": "pair"}, 3),
    "qacg, half": ({"kind": "qacg", "quasi_start": "half"}, 3),
    "qacg, open": ({"kind": "qacg", "quasi_start": "open"}, 3),
    "qacg-official": ({"kind": "qacg-official", "pooling": "cls"}, 3),
    "cg": ({"kind": "cg", "pooling": "cls"}, 1),
    "qacg": ({"kind": "qacg"}, 3),
}
"""Options and seeds of each."""

MEASURES = (*SENTIHOOD, "nll")


class Trial:
    """The runs, each done once."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.arguments = arguments
        path = arguments.data / "sentihood/sentihood-train.json"
        train, self.holdout = split(read_sentihood(path, FREQUENT_ASPECTS), 0.15, seed=7)
        self.train = train.subset([i for i, s in enumerate(train.sentences) if len(s.text) <= 100])
        self.dev = read_sentihood(arguments.data / "sentihood/sentihood-dev.json", FREQUENT_ASPECTS)
        if arguments.quick:
            self.holdout, self.dev = self.holdout.subset(range(8)), self.dev.subset(range(8))
        self.kinds = arguments.kind or list(KINDS)
        self.seeds = {kind: min(KINDS[kind][1], arguments.seeds) for kind in KINDS}
        self.start = prune_vocabulary(load_pretrained(arguments.start))
        self.path = arguments.out / "trial.jsonl"
        self.settings = settings_of(arguments, ("data", "rate", "kind", "seeds"))
        records = kept_records(self.path, self.settings)
        self.done = {(r["kind"], r["rate"], r["seed"], r["part"]): r for r in records}

    def asked(self, kind: str, rate: float, seed: int, part: str) -> dict[str, Any]:
        """A run's figures on a part, trained where it is not yet."""
        key = (kind, rate, seed, part)
        if key not in self.done:
            begun = time.process_time()
            asker = self._trained(kind, rate, seed)
            trained = time.process_time() - begun
            found = report(asker, self.dev if part == "dev" else self.holdout)
            record = dict(zip(("kind", "rate", "seed", "part"), key, strict=True))
            record |= {
                "settings": self.settings,
                "training_seconds": round(trained),
                **{name: found[name] for name in MEASURES},
            }
            append_text(self.path, json.dumps(record) + "\n")
            shown = {name: round(found[name], 4) for name in MEASURES}
            print(*key, round(trained), "s", json.dumps(shown), flush=True)
            self.done[key] = record
        return self.done[key]

    def _trained(self, kind: str, rate: float, seed: int) -> Any:
        model = self.arguments.out / "models" / f"{kind} {rate:g} {seed}"
        kept = model.with_name(f"{model.name}.jsonl")
        if not kept_records(kept, self.settings):
            config = TrainConfig(
                steps=self.arguments.steps,
                batch_size=5,
                learning_rate=rate,
                layer_decay=0.85,
                schedule="linear",
                warmup=0.1,
                precision="bf16",
                restore_best=False,
                seed=seed,
                keep=1,
                save_every=100,
                threads=1,
            )
            trained = train(
                self.train,
                self.start,
                ModelOptions(**KINDS[kind][0]),
                config,
                learning=Learning(blank_texts=0),
                targets=TARGETS,
                directory=self.arguments.out / "runs" / model.name,
                identity=identity(self.arguments, ("data", "rate", "kind", "seeds")),
            )
            save(model, trained.asker)
            append_text(kept, json.dumps({"settings": self.settings}) + "\n")
        return load(model).compute_in("bf16")

    def run(self) -> None:
        """Rates, then seeds, kind by kind."""
        if self.arguments.rate is not None:
            every = [(seed, kind) for kind in self.kinds for seed in range(self.seeds[kind])]
            for seed, kind in sorted(every, key=lambda one: one[0]):
                self.asked(kind, self.arguments.rate, seed, "dev")
            return
        for kind in self.kinds:
            seeds = self.seeds[kind]
            if kind == "qacg":
                # What the start alone is worth: at the rate of the open one.
                rate = self.best("qacg, open")
            else:
                for rate in RATES:
                    self.asked(kind, rate, 0, "holdout")
                rate = self.best(kind)
            print(f"{kind}: rate {rate:g}", flush=True)
            for seed in range(seeds):
                self.asked(kind, rate, seed, "dev")

    def best(self, kind: str) -> float:
        """The rate that was given, or the one with the smallest negative log-likelihood on the holdout."""
        if self.arguments.rate is not None:
            return float(self.arguments.rate)
        return min(RATES, key=lambda rate: self.asked(kind, rate, 0, "holdout")["nll"])


def main() -> None:
    """Parse, run, print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--start", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=220)
    parser.add_argument("--rate", type=float, help="of all kinds, in place of the better one of two")
    parser.add_argument("--kind", action="append", choices=list(KINDS), help="only this; may be repeated")
    parser.add_argument("--seeds", type=int, default=3, help="at most so many of each kind (3)")
    parser.add_argument("--quick", action="store_true", help="a few sentences: a smoke test")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    trial = Trial(arguments)
    trial.run()
    for kind in trial.kinds:
        seeds = trial.seeds[kind]
        rate = trial.best("qacg, open" if kind == "qacg" else kind)
        rows = [trial.asked(kind, rate, seed, "dev") for seed in range(seeds)]
        cells: list[str] = []
        for name in MEASURES:
            values = torch.tensor([row[name] for row in rows], dtype=torch.float64) * (
                1 if name == "nll" else 100
            )
            digits = 4 if name == "nll" else 1
            spread = f" ± {values.std():.{digits}f}" if seeds > 1 else ""
            cells.append(f"{values.mean():.{digits}f}{spread}")
        # A model that was there already took none.
        seconds = max(r["training_seconds"] for r in trial.done.values() if r["kind"] == kind)
        print(f"| {kind}, rate {rate:g} | " + " | ".join(cells) + f" | {seconds:.0f} |")


if __name__ == "__main__":
    main()

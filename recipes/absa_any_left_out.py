"""``absa-any``'s recipe at a small budget: three seeds, each domain left out whole, and a sentence-pair model.

    python recipes/absa_any_left_out.py --data DATA --start MINILM --out OUT

Every run begins with MiniLM and takes ``--steps`` batches with the settings of ``absa-any``'s own trainings. A domain
that is left out is left out whole: its reviews, and the made and told sentences about such things. The pair model
(``pair``) reads text and "target - aspect" as a sentence pair, on the same batches. No run is chosen by anything; every
threshold is .5. ``OUT/NAME SEED/measures.jsonl`` for each run; a call that was stopped goes on where it stood.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import absa_any
import numpy as np
from kept import kept_records, settings_of

from weft.absa.evaluate.metrics import aspect_auc
from weft.absa.evaluate.opinions import opinions_report, under
from weft.absa.evaluate.report import score
from weft.absa.read.labelled import Columns, read_labelled
from weft.absa.read.reviews import POLARITIES
from weft.absa.read.sentihood import FREQUENT_ASPECTS, read_sentihood
from weft.absa.use.store import load
from weft.platform.files import append_text

SETTINGS = (
    *("--share", "0.4", "--places", "1", "--made", "0.35", "--kinds", "0.6", "--pairs", "0.3", "--told", "2"),
    *("--without", "t-shirts", "--blank", "0", "--precision", "bf16"),
)
OPEN: dict[str, Any] = {"target_layers": 3}
PAIR: dict[str, Any] = {"kind": "pair", "open_aspects": False}
RATES = {"pair": 2e-4}
"""Learning rates that are not the recipe's: the pair's is the one that the trial of quasi-attention chose for it."""
LEFT_OUT: dict[str, tuple[str, tuple[str, ...], str]] = {
    "laptops": (
        "laptops",
        ("device", "monitor", "printer", "e-reader", "smartwatch", "VR headset"),
        "laptop",
    ),
    "restaurants": (
        "restaurants",
        ("eat", "bar", "café", "food truck", "bakery", "cocktail bar", "ice cream parlour"),
        "restaurant",
    ),
    "courses": ("courses", ("course", "school", "university", "language school"), "coursera"),
    "places": ("places", ("city", "flat", "house"), "sentihood"),
}
"""By the run's name: the source, the kinds of made and told sentences, and what is measured of it."""
SHOWN = ("found", "precision", "aspect_auc", "sentiment", "ece")
QUESTIONS = {"fourth": "questions-fourth.csv", "fifth": "questions-fifth.csv"}
NEVER = ("hotel", "phone", "food", "sight")
TOGETHER = "hotel, phone, food"
COLUMNS = ("everyday", "aspect AUC", "two targets: right / both", "negation", "neutral", "calibration error")


def given(name: str, seed: int, arguments: argparse.Namespace) -> list[str]:
    """The recipe's arguments for a run."""
    source, kinds, _ = LEFT_OUT.get(name, ("", (), ""))
    options, train = PAIR if name == "pair" else OPEN, {"precision": "bf16", "log_every": 20}
    if name in RATES:
        train["learning_rate"] = RATES[name]
    return [
        *("--data", str(arguments.data), "--start", str(arguments.start), "--seed", str(seed)),
        *("--out", str(arguments.out / f"{name} {seed}"), "--steps", str(arguments.steps), *SETTINGS),
        *("--options", json.dumps(options), "--train", json.dumps(train)),
        *(("--without", source) if source else ()),
        *(part for kind in kinds for part in ("--without-kind", kind)),
    ]


def measured(asker: Any, data: Path) -> dict[str, Any]:
    """Own questions by set and kind, and SentiHood's aspects one by one."""
    found: dict[str, Any] = {}
    for name, file in QUESTIONS.items():
        path = absa_any.QUESTIONS.with_name(file)
        own = replace(read_labelled(str(path), Columns(target="target")), polarities=POLARITIES)
        kinds = absa_any.kinds_of(path)
        for kind in dict.fromkeys(kinds.values()):
            part = own.subset([i for i, sentence in enumerate(own.sentences) if kinds[sentence.text] == kind])
            answers = under(np.concatenate(asker.answer(part.sentences)), asker.classes_, POLARITIES)
            found[f"{name} {kind}"] = opinions_report(part, answers, asker.config.threshold)
    dev = read_sentihood(data / "sentihood/sentihood-dev.json", FREQUENT_ASPECTS)
    dev = replace(dev, polarities=asker.classes_)
    found["places"] = {name: aspect_auc(score(asker, dev.only((name,)))) for name in FREQUENT_ASPECTS}
    return found


def measures(name: str, seed: int, arguments: argparse.Namespace) -> dict[str, Any]:
    """A run's figures; it is trained where it is not yet."""
    folder = arguments.out / f"{name} {seed}"
    path, asked = folder / "measures.jsonl", given(name, seed, arguments)
    settings = settings_of(absa_any.parsed(asked), ("data",))
    for record in kept_records(path, settings):
        return record
    folder.mkdir(parents=True, exist_ok=True)
    # A training that has ended is read from its last checkpoint, which is refused under other settings.
    found = absa_any.run(absa_any.parsed(asked))
    found |= measured(load(folder / "model").compute_in("bf16"), arguments.data)
    append_text(path, json.dumps({"settings": settings, **found}) + "\n")
    return found


def cell(rows: Sequence[dict[str, Any]], part: str, names: Sequence[str] = SHOWN) -> str:
    """Figures of a part: of one run, or mean ± standard deviation over several."""
    values = np.array([[row[part].get(name, np.nan) for name in names] for row in rows])
    return " / ".join(spread(column) for column in values.T)


def spread(values: Any) -> str:
    """The mean of some runs' figures, with their standard deviation where there are several."""
    mean = f"{values.mean():.3f}".lstrip("0")
    return mean if len(values) < 2 else f"{mean} ± " + f"{values.std(ddof=1):.3f}".lstrip("0")


def questions_row(rows: Sequence[dict[str, Any]], name: str) -> list[str]:
    """The cells of own questions."""
    return [
        cell(rows, f"{name} everyday", ("accuracy", "macro_f1")),
        cell(rows, f"{name} everyday", ("aspect_auc",)),
        cell(rows, f"{name} two-targets", ("accuracy", "all_right")),
        cell(rows, f"{name} negation", ("accuracy",)),
        cell(rows, f"{name} neutral", ("accuracy",)),
        cell(rows, f"{name} everyday", ("ece",)),
    ]


def tables(runs: dict[str, list[dict[str, Any]]]) -> None:
    """What the runs say, as Markdown."""
    domains = tuple(part for _, _, part in LEFT_OUT.values())[:3]
    heads = (*NEVER, TOGETHER, *domains)
    for row in (row for rows in runs.values() for row in rows):
        row[TOGETHER] = {name: float(np.mean([row[part][name] for part in NEVER[:3]])) for name in SHOWN}
    print(
        f"\nfound / precision / aspect AUC / sentiment / calibration error\n\n| run | {' | '.join(heads)} |"
    )
    print("|---" * (len(heads) + 1) + "|")
    for name, rows in runs.items():
        print(f"| {name}, {len(rows)} | " + " | ".join(cell(rows, part) for part in heads) + " |")
    heads = ("strict", "macro_f1", "aspect_auc", "sentiment_accuracy", "ece")
    print(f"\n| SentiHood dev | {' | '.join((*heads, *FREQUENT_ASPECTS, 'mean of the four'))} |")
    print("|---" * (len(heads) + 6) + "|")
    for name, rows in runs.items():
        cells = [cell(rows, "sentihood", (part,)) for part in heads]
        cells += [cell(rows, "places", (part,)) for part in FREQUENT_ASPECTS]
        mean = np.array([np.mean([row["places"][part] for part in FREQUENT_ASPECTS]) for row in rows])
        print(f"| {name}, {len(rows)} | {' | '.join((*cells, spread(mean)))} |")
    for part in QUESTIONS:
        print(f"\n| {part} set | {' | '.join(COLUMNS)} | seconds |")
        print("|---" * (len(COLUMNS) + 2) + "|")
        for name, rows in runs.items():
            known = [row["processor_seconds"] for row in rows if row["processor_seconds"] is not None]
            seconds = f"{np.mean(known):.0f}" if known else "–"
            print(f"| {name}, {len(rows)} | {' | '.join(questions_row(rows, part))} | {seconds} |")


def main() -> None:
    """Parse, run, print the tables."""
    names = ("everything", *LEFT_OUT, "pair")
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--start", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=350)
    parser.add_argument("--seeds", type=int, default=3, help="of the runs with everything")
    parser.add_argument("--left-out-seeds", type=int, default=1, help="of the others")
    parser.add_argument("--run", action="append", choices=names, help="only this; may be repeated")
    arguments = parser.parse_args()
    chosen = arguments.run or names
    counts = {name: arguments.seeds if name == "everything" else arguments.left_out_seeds for name in chosen}
    every = [(seed, name) for name, count in counts.items() for seed in range(count)]
    runs: dict[str, list[dict[str, Any]]] = {name: [] for name in counts}
    for seed, name in sorted(every, key=lambda one: one[0]):
        runs[name].append(measures(name, seed, arguments))
    tables(runs)


if __name__ == "__main__":
    main()

"""Fit what `kg-python-small` says second: the order of its candidates, and how sure it is of the first.

    python recipes/kg_code_ranking.py ask --out FOLDER
    python recipes/kg_code_ranking.py fit --out FOLDER

The first asks the model for the annotations that were taken away from the packages of the fit (`FITTED` and
`FITTED_TOO` of `weft/bench/kg/unseen.py`), and keeps the features of the candidates; packages that were asked before
are left out. The second fits the ranking, and the confidences on what a ranking fitted without a package says of that
package; it prints what each package gets so, and writes `ranking.json` and `calibration.json` to FOLDER. The packages
that are measured are read by neither.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from weft.bench.kg.annotate import questions_of
from weft.bench.kg.unseen import FITTED, FITTED_TOO
from weft.kg.evaluate.confidence import Confidence
from weft.kg.extraction.facts import Extractor
from weft.kg.languages.python import LANGUAGE
from weft.kg.model.ranking import Ranking, candidates, features, fit
from weft.platform.confidence import threshold_at
from weft.platform.files import write_text
from weft.platform.models import find_model

MODEL = "kg-python-small"
RELATIONS = ("has_type", "returns")
FILES = {**dict.fromkeys(FITTED, 25), **dict.fromkeys(FITTED_TOO, 12)}
"""Most files of each package."""


def ask(arguments: argparse.Namespace) -> None:
    """Write the features of the candidates of every package, a line for each question."""
    torch.set_num_threads(1)
    loaded = Extractor.load(find_model("kg", arguments.model))
    raw = replace(loaded, confidence=None, ranking=None)
    for name in FILES:
        target = arguments.out / f"{name}.jsonl"
        if target.exists():
            continue
        lines = []
        for file in questions_of(name, FILES[name]):
            known = LANGUAGE.known(LANGUAGE.parse(file.text, file.path))
            for found in raw.inferred(file.text, file.path, list(file.asked)):
                item, gold = found.asked, file.asked[found.asked]
                names, rows = candidates(
                    item, found.candidates, known, LANGUAGE, lambda text: len(raw.tokenizer.tail(text))
                )
                place = names.index(gold) if gold in names else None
                record = {
                    "package": name,
                    "relation": item.relation,
                    "right": place,
                    "plain": item.plain and item.plain == gold,
                    "rows": [[round(value, 5) for value in row] for row in rows],
                }
                lines.append(json.dumps(record))
        write_text(target, "\n".join(lines) + "\n")
        print(name, len(lines), flush=True)


def ranked(ranking: Ranking, record: dict[str, Any]) -> tuple[float, bool]:
    """The probability of the first candidate, and whether it is right."""
    numbers = list(map(str, range(len(record["rows"]))))
    first, probability = ranking(record["relation"], numbers, record["rows"])[0]
    return probability, int(first) == record["right"]


def fitted(records: Sequence[dict[str, Any]]) -> Ranking:
    """The ranking of some questions."""
    weights = {}
    for relation in RELATIONS:
        of = [record for record in records if record["relation"] == relation]
        sizes = Counter(record["package"] for record in of)
        items = [(record["rows"], record["right"]) for record in of]
        weights[relation] = fit(items, [sizes[record["package"]] for record in of])
    return Ranking(features(LANGUAGE), weights)


def transferred(known: Confidence, answers: dict[str, list[tuple[str, float, bool]]]) -> None:
    """Print how right the surest answers are that are right for .9 by confidences of all other packages."""
    sure: dict[str, list[tuple[float, bool]]] = {relation: [] for relation in RELATIONS}
    for name, own in answers.items():
        others = [item for other, items in answers.items() if other != name for item in items]
        fitted_on = known.with_unstated(others)
        for relation, probability, right in own:
            sure[relation].append((fitted_on(relation, probability, unstated=True), right))
    for relation, pairs in sure.items():
        least = threshold_at([confidence for confidence, _ in pairs], 0.9)
        kept = [right for confidence, right in pairs if confidence >= least]
        print(f"{relation}: asked for .9 {len(kept)} of {len(pairs)} kept, {np.mean(kept):.3f} right")


def fit_all(arguments: argparse.Namespace) -> None:
    """Fit, print what each package gets from the others, write."""
    torch.set_num_threads(1)
    records = [
        json.loads(line)
        for name in FILES
        for line in (arguments.out / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    answers: list[tuple[str, float, bool]] = []
    by_package: dict[str, list[tuple[str, float, bool]]] = {}
    print(f"{'left out':16}{'relation':10}{'questions':>10}{'before':>8}{'after':>8}{'among':>8}")
    totals: dict[str, list[tuple[bool, bool]]] = {relation: [] for relation in RELATIONS}
    for name in FILES:
        others = fitted([record for record in records if record["package"] != name])
        for relation in RELATIONS:
            own = [item for item in records if (item["package"], item["relation"]) == (name, relation)]
            said = [ranked(others, record) for record in own]
            by_package.setdefault(name, []).extend((relation, *pair) for pair in said)
            pairs = [(item["right"] == 0, good) for item, (_, good) in zip(own, said, strict=True)]
            totals[relation] += pairs
            before, after = np.mean(pairs, axis=0)
            among = np.mean([item["right"] is not None for item in own])
            print(f"{name:16}{relation:10}{len(own):10}{before:8.3f}{after:8.3f}{among:8.3f}")
    for relation, pairs in totals.items():
        before, after = np.mean(pairs, axis=0)
        print(f"{'all':16}{relation:10}{len(pairs):10}{before:8.3f}{after:8.3f}")
    known = Confidence.load(find_model("kg", arguments.model))
    assert known is not None
    transferred(known, by_package)
    answers += [item for items in by_package.values() for item in items]
    answers += [("plain", 1.0, record["plain"]) for record in records if record["plain"] != ""]
    known.with_unstated(answers).save(arguments.out)
    fitted(records).save(arguments.out)


def main(argv: list[str]) -> int:
    """Ask or fit."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(required=True)
    for name, run in (("ask", ask), ("fit", fit_all)):
        command = commands.add_parser(name)
        command.add_argument("--model", default=MODEL)
        command.add_argument("--out", type=Path, required=True)
        command.set_defaults(run=run)
    arguments = parser.parse_args(argv)
    arguments.out.mkdir(parents=True, exist_ok=True)
    arguments.run(arguments)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

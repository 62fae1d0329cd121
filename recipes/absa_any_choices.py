"""What ``absa-any`` is chosen, calibrated and given its threshold by: not trained on, and no test.

    python recipes/absa_any_choices.py --data DATA --model OUT/model --model absa-any

Parts: ``choices.csv``, ``choices-further.csv`` and ``choices-voices.csv``, questions about things that no training
sentence speaks of (cars, films, banks, …); a fortieth of the told sentences, a twentieth of those about two things, a
tenth of the short texts, of ``voices.jsonl``, ``turns.jsonl`` and ``against.jsonl``; categories of those of MAMS's
validation texts that no source trains on; T-shirts, whole and two in one text; a tenth of the whole reviews. The sum is
that of accuracy and macro-F1 over all parts but the new ones (voices: who says it, when, and whether at all; turns:
where words mislead; against: beside something else); beside it stand the sums of the sentences alone and of the new
parts.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import torch
from absa_any_lessons import Lessons
from absa_any_lists import LISTS, read_aspects, read_names
from absa_any_long import EVERY, FILES, NEW, read_long
from absa_any_made import Maker
from absa_any_sources import held_out
from absa_any_told import Teller, read_both, read_told
from absa_any_typed import typed

from weft.absa.evaluate.opinions import opinions_report, under
from weft.absa.read.labelled import Columns, read_labelled
from weft.absa.read.reviews import POLARITIES, questions
from weft.absa.read.three_lines import read_three_lines
from weft.absa.records import UNKNOWN, Corpus, Sentence
from weft.absa.use.sureness import SHORT, flattened

SHOWN = (
    "questions",
    "found",
    "precision",
    "accuracy",
    "macro_f1",
    "aspect_auc",
    "sentiment",
    "all_right",
    "ece",
)


UNKNOWN_KINDS = {"choices.csv": "", "choices-further.csv": ", further", "choices-voices.csv": ", voices"}
"""Lists of questions about kinds of things that nothing was written about, and what marks their parts."""


def parts(data: Path) -> dict[str, Corpus]:
    """The parts, by name."""
    found: dict[str, Corpus] = {}
    for name, mark in UNKNOWN_KINDS.items():
        whole = replace(read_labelled(str(LISTS / name), Columns(target="target")), polarities=POLARITIES)
        kinds = column(name, "kind")
        for kind in dict.fromkeys(kinds.values()):
            picked = [i for i, s in enumerate(whole.sentences) if kinds[s.text] == kind]
            found[kind + mark] = whole.subset(picked)
    aspects, names = read_aspects(), read_names()
    told = [one for number, one in enumerate(read_told()) if number % 40 == 7]
    both = [one for number, one in enumerate(read_both()) if number % 20 == 7]
    teller, random = Teller(told, both, aspects, names), Random(1)
    found["told"] = Corpus(labelled(teller.one(one, random) for one in told), POLARITIES)
    found["both"] = Corpus(labelled(teller.two(one, random) for one in both for _ in range(2)), POLARITIES)
    found["mams"] = questions(held_out(data), 8, 80)
    shirts = read_three_lines(data / "absa/absadatasets/tshirt-train.seg", "t-shirts").reviews[:120]
    lessons = Lessons(shirts, [], 0, 30, aspects, names, Maker(aspects, names))
    rows = range(len(lessons.sentences))
    drawn = lessons(list(rows), torch.Generator().manual_seed(5))
    found["t-shirts"] = Corpus(tuple(s for s in drawn if len(s.groups()) < 2), POLARITIES)
    found["t-shirts, two"] = Corpus(tuple(s for s in drawn if len(s.groups()) > 1), POLARITIES)
    for name in (*EVERY[len(FILES) :], *FILES):
        reviews = tuple(one.whole() for one in read_long(name) if one.chooses)
        found[name.removesuffix(".jsonl")] = Corpus(labelled(reviews), POLARITIES)
    return found


def kind_of(part: str) -> str:
    """In which sum a part counts."""
    if part.endswith(NEW):
        return "new"
    return "reviews" if f"{part}.jsonl" in FILES else "sentences"


def as_typed(corpus: Corpus) -> Corpus:
    """The same questions about texts as someone may have typed them, always in the same way."""
    found: list[Sentence] = []
    for sentence in corpus.sentences:
        targets = {context.target for context in sentence.contexts if context.target}
        found.append(replace(sentence, text=typed(sentence.text, targets, Random(sentence.text))))
    return replace(corpus, sentences=tuple(found))


def column(name: str, what: str) -> dict[str, str]:
    """What a column of a list says of each text."""
    with (LISTS / name).open(encoding="utf-8", newline="") as file:
        return {row["text"]: row[what] for row in csv.DictReader(file)}


def labelled(drawn: Iterable[Sentence]) -> tuple[Sentence, ...]:
    """The sentences without the questions that have no label."""
    found: list[Sentence] = []
    for sentence in drawn:
        pairs = [p for p in zip(sentence.contexts, sentence.polarities, strict=True) if p[1] != UNKNOWN]
        if pairs:
            contexts, polarities = zip(*pairs, strict=True)
            found.append(replace(sentence, contexts=contexts, polarities=polarities))
    return tuple(found)


def answers(asker: Any, corpus: Corpus) -> Any:
    """Probabilities ``(questions, classes)`` in the order of the corpus's classes."""
    return under(np.concatenate(asker.answer(corpus.sentences)), asker.classes_, corpus.polarities)


def softened(logits: Any, temperature: float) -> Any:
    """Probabilities of logits ``(rows, classes)`` at a temperature."""
    rows = np.exp(logits / temperature)
    return rows / rows.sum(axis=1, keepdims=True)


def length_power(asker: Any, found: dict[str, Corpus], temperature: float) -> tuple[float, float]:
    """How confidence falls with length: the power with the best likelihood of the whole reviews.

    Beside it their calibration error, where each file's power is fitted on the other two.
    """
    from weft.absa.evaluate.temperature import logits_of
    from weft.objective.metrics import expected_calibration_error

    names = [name.removesuffix(".jsonl") for name in FILES]
    grid = [step / 20 for step in range(21)]
    rows: dict[str, tuple[Any, Any, Any]] = {}
    for name in names:
        corpus = found[name]
        pieces = [len(asker.representation.pieces(s.text).ids) for s in corpus.sentences for _ in s.contexts]
        gold = np.array(corpus.gold())
        rows[name] = logits_of(answers(asker, corpus)), np.maximum(1, np.array(pieces) / SHORT), gold

    def shares(name: str, power: float) -> Any:
        logits, longer, _ = rows[name]
        factor = torch.from_numpy(longer**power)[:, None]
        return flattened(torch.from_numpy(logits / temperature), factor).numpy()

    def best(of: list[str]) -> float:
        def loss(power: float) -> float:
            told = [shares(name, power)[range(len(rows[name][2])), rows[name][2]] for name in of]
            return -float(np.log(np.maximum(np.concatenate(told), 1e-9)).mean())

        return min(grid, key=loss)

    left: list[tuple[Any, Any]] = []
    for name in names:
        told = shares(name, best([other for other in names if other != name]))
        left.append((told.max(axis=1), told.argmax(axis=1) == rows[name][2]))
    error = expected_calibration_error(*(np.concatenate(part) for part in zip(*left, strict=True)))
    return best(names), error


def fitted(asker: Any, data: Path) -> tuple[float, float, float]:
    """Temperature, threshold, and the calibration error of the temperature on domains that it was not fitted on.

    Every unknown kind of thing, MAMS and T-shirts are left out in turn; the error is that of all their questions.
    The threshold is the one of .25, .3, … .5 with the best accuracy and macro-F1 together, summed over the domains.
    """
    from weft.absa.evaluate.temperature import logits_of
    from weft.objective.metrics import expected_calibration_error
    from weft.platform.confidence import fit_temperature

    found = parts(data)
    domains = {text: domain for name in UNKNOWN_KINDS for text, domain in column(name, "domain").items()}
    # Where three of four answers are none, as of voices, the best threshold is another one.
    older = {part: corpus for part, corpus in found.items() if kind_of(part) != "new"}
    sentences = [
        sentence for part in older.values() for sentence in part.sentences if sentence.text in domains
    ]
    corpora = {
        name: Corpus(tuple(s for s in sentences if domains[s.text] == name), POLARITIES)
        for name in dict.fromkeys(domains.values())
    } | {name: found[name] for name in ("mams", "t-shirts", "t-shirts, two")}
    told = {name: answers(asker, corpus) for name, corpus in corpora.items()}
    logits = {name: logits_of(rows) for name, rows in told.items()}
    gold = {name: np.array(corpus.gold()) for name, corpus in corpora.items()}
    # A part of many questions counts as much as one of few hundred.
    picked = {name: np.random.default_rng(0).permutation(len(rows))[:300] for name, rows in gold.items()}

    def temperature(names: list[str]) -> float:
        rows = np.concatenate([logits[name][picked[name]] for name in names])
        return fit_temperature(rows, np.concatenate([gold[name][picked[name]] for name in names])).value

    left: list[tuple[Any, Any]] = []
    for name in corpora:
        value = temperature([other for other in corpora if other.split(",")[0] != name.split(",")[0]])
        rows = softened(logits[name][picked[name]], value)
        left.append((rows.max(axis=1), rows.argmax(axis=1) == gold[name][picked[name]]))
    error = expected_calibration_error(*(np.concatenate(part) for part in zip(*left, strict=True)))
    value = temperature(list(corpora))

    def worth(threshold: float) -> float:
        reports = [opinions_report(corpora[name], told[name], threshold) for name in corpora]
        return sum(report["accuracy"] + report["macro_f1"] for report in reports)

    # The threshold is compared with shares at the temperature that the model is stored with.
    told = {name: softened(rows, value) for name, rows in logits.items()}
    threshold = max((round(0.25 + 0.05 * step, 2) for step in range(6)), key=worth)
    return value * asker.config.temperature, threshold, error


def main() -> None:
    """Parse, measure, print."""
    from weft.absa.use.store import load, recalibrate

    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--model", action="append", required=True)
    parser.add_argument(
        "--fit",
        type=Path,
        help="fit the last model's temperature and threshold, store it here and print that",
    )
    parser.add_argument(
        "--typed", action="store_true", help="ask about the texts as people type; fits as they are written"
    )
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    names, found = list(arguments.model), parts(arguments.data)
    if arguments.fit is not None:
        asker = load(names[-1])
        asker.config = replace(asker.config, length_power=0.0)
        temperature, threshold, error = fitted(asker, arguments.data)
        power, whole = length_power(asker, found, temperature / asker.config.temperature)
        recalibrate(names[-1], arguments.fit, temperature, threshold, power)
        print(f"temperature {temperature:.3f}, threshold {threshold}, error on domains left out {error:.3f}")
        print(f"power of the length {power:.2f}, error on whole reviews left out by file {whole:.3f}")
        names[-1] = str(arguments.fit)
    if arguments.typed:
        found = {part: as_typed(corpus) for part, corpus in found.items()}
    print(f"{'':36}" + "".join(f"{name:>11}" for name in SHOWN))
    for name in names:
        asker, sums = load(name), {"new": 0.0, "sentences": 0.0, "reviews": 0.0}
        for part, corpus in found.items():
            values = opinions_report(corpus, answers(asker, corpus), asker.config.threshold)
            sums[kind_of(part)] += values["accuracy"] + values["macro_f1"]
            print(f"{name[-20:]:22}{part:14}" + "".join(f"{values[n]:11.3f}" for n in SHOWN), flush=True)
        total = sums["sentences"] + sums["reviews"]
        told = f"{total:11.3f}; sentences {sums['sentences']:.3f}; new {sums['new']:.3f}"
        print(f"{name[-20:]:22}sum           {told}", flush=True)


if __name__ == "__main__":
    main()

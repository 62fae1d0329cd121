"""How ``weft absa eval`` and ``weft absa calibrate`` print what they measured."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping

from weft.cli.table import table

_MEANING = {
    "strict": "strict accuracy",
    "macro_f1": "aspect macro-F1",
    "aspect_auc": "aspect AUC",
    "sentiment_accuracy": "sentiment accuracy",
    "sentiment_auc": "sentiment AUC",
    "aspect_precision": "aspect precision",
    "aspect_recall": "aspect recall",
    "aspect_f1": "aspect F1",
    "accuracy_4": "4-way polarity accuracy",
    "accuracy_3": "3-way polarity accuracy",
    "accuracy_2": "2-way polarity accuracy",
    "wrong_aspect": "predictions that a wrong aspect changes",
    "wrong_aspect_gold": "… that it would change if all were right",
    "wrong_target": "predictions that a wrong target changes",
    "both_targets": "both targets right, where their gold differs",
    "questions": "questions",
    "accuracy": "right answers",
    "all_none": "floor: right answers of all none",
    "found": "opinions found with the right polarity",
    "precision": "answered opinions that are right",
    "sentiment": "right polarity, where gold is positive or negative",
    "all_right": "texts with all questions right",
    "ece": "calibration error",
    "ece_calibrated": "calibration error, cross-fitted temperature",
    "nll": "negative log-likelihood, cross-fitted temperature",
    "temperature": "temperature",
    "threshold": "decision threshold",
    "chosen": "threshold that the criterion chooses",
    "all_none_strict": "floor: strict accuracy of all none",
    "all_positive_sentiment": "floor: sentiment accuracy of all positive",
}


def print_report(results: Mapping[str, float], as_json: bool, heading: str) -> None:
    """Print the figures, as a table or as JSON; what could not be measured is ``null`` there, – here."""
    finite = {name: value if math.isfinite(value) else None for name, value in results.items()}
    if as_json:
        print(json.dumps(finite, indent=1))
        return
    print(heading)
    shown = ["–" if value is None else f"{value:.4f}" for value in finite.values()]
    print(table(("measure", ">value"), zip(map(_meaning, finite), shown, strict=True)))


def _meaning(name: str) -> str:
    """What a figure is, "before: strict" among them."""
    when, colon, what = name.rpartition(": ")
    return when + colon + _MEANING.get(what, what)

"""What ``weft kg eval`` prints: headers over every column, a row for each system, one scale."""

from __future__ import annotations

import json
import math
from dataclasses import replace

from weft.cli.kg.eval import asked_listing, listing, text_listing
from weft.kg.evaluate.calibrate import AskedScore
from weft.kg.evaluate.scores import Score
from weft.kg.evaluate.texts import TextScore
from weft.kg.evaluate.triples import FactScore
from weft.objective.intervals import Interval


def view(**relations: tuple[int, float, float]) -> Score:
    first = Interval(0.5, 0.4, 0.6)
    return Score(
        queries=100,
        precision_at_1=first,
        hit_at_10=Interval(0.9, 0.8, 1.0),
        mean_average_precision=0.7,
        recall_at_10=0.8,
        best_f1=0.55,
        best_threshold=0.5,
        calibration_error=0.03,
        accepted=0.3,
        accepted_precision=0.9,
        multi_token=0.2,
        macro_precision_at_1=0.4,
        macro_hit_at_10=0.6,
        by_relation=relations,
    )


def test_each_view_has_its_table_and_relations_only_on_request() -> None:
    scores = {"lookup": {"visible": view()}, "model": {"visible": view(calls=(7, 0.25, 0.75))}}
    title, heads, *rows = listing(scores, by_relation=False).splitlines()
    assert title == "visible, 100 queries"
    assert heads.split() == ["system", "P@1", "interval", "Hit@10", "MAP", "F1", "ECE"]
    assert rows[0].split() == ["lookup", "0.500", "0.400–0.600", "0.900", "0.700", "0.550", "0.030"]
    assert len(rows) == 2
    told = listing(scores, by_relation=True).splitlines()
    assert told[-2].split() == ["relation", "queries", "P@1", "Hit@10"]
    assert told[-1].split() == ["calls", "7", "0.250", "0.750"]


def test_the_columns_of_facts_stand_under_their_heads() -> None:
    best = FactScore(10, 0.5, 0.25, 0.3333, 0.3, 0.5)
    found = {"model": TextScore(best, best, best, 0.0123)}
    heads, *rows = text_listing(found).splitlines()
    assert [row.split("  ")[0] for row in rows] == [
        "model, best threshold on validation",
        "model, without",
        "model, asked for precision 0.9",
    ]
    assert heads.rindex("calibration error") + len("calibration error") == len(rows[-1])
    assert rows[-1].split()[-7:] == ["0.500", "0.250", "0.333", "0.300", "0.000", "0.000", "0.012"]


def test_a_threshold_that_is_none_is_null_in_json() -> None:
    every, none = (FactScore(10, 0.5, 0.25, 0.3333, 0.3, threshold) for threshold in (-math.inf, math.inf))
    record = replace(every, seen=none).record()
    assert record["threshold"] is None
    assert json.loads(json.dumps(record, allow_nan=False))["seen"]["threshold"] is None


def test_questions_of_whole_chunks() -> None:
    heads, row = asked_listing({"all": AskedScore(5, 0.8, 0.02, 0.5, 0.9, 0.6)}).splitlines()
    assert heads.startswith("part  questions  right  calibration error")
    assert row.split() == ["all", "5", "0.800", "0.020", "0.900", "0.600"]

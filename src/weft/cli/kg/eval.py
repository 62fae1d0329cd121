"""``weft kg eval``: score a model and the baselines on held-out modules or documents."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from weft.cli.options import Parser, add_beams, add_json, add_machine, add_model, at_least, device_of
from weft.cli.table import table
from weft.errors import ConfigError, counted

if TYPE_CHECKING:
    from weft.kg.evaluate.calibrate import AskedScore
    from weft.kg.evaluate.scores import Score
    from weft.kg.evaluate.texts import TextScore
    from weft.kg.evaluate.triples import FactScore


def parser() -> Parser:
    """The arguments of ``weft kg eval``."""
    result = Parser(
        "kg eval",
        "Score answers to held-out modules in every view, or facts of held-out documents, beside the "
        "baselines.",
    )
    result.add_argument("dataset", type=Path, metavar="DATASET", help="made by weft kg build")
    add_model(result, None)
    result.add_argument(
        "--role", choices=("test", "valid"), default="test", help="whose modules or documents (test)"
    )
    result.add_argument("--limit", type=int, default=1000, metavar="N", help="queries of each view (1000)")
    add_beams(result, 10)
    result.add_argument(
        "--shuffle-relations", action="store_true", help="ask for random relations: a control"
    )
    result.add_argument(
        "--calibrate",
        action="store_true",
        help="learn confidences from the validation part; save them with the model",
    )
    result.add_argument(
        "--asked",
        action="store_true",
        help="instead of the views, all questions of whole chunks, as weft kg facts asks them: how far the model's "
        "confidences can be trusted (at most --limit questions)",
    )
    result.add_argument("--by-relation", action="store_true", help="print every relation")
    add_json(result)
    add_machine(result)
    return result


def run(argv: list[str]) -> int:
    """Run ``weft kg eval``."""
    arguments = parser().parse_args(argv)
    from weft.kg.represent.passages import is_text

    at_least(1, limit=arguments.limit, beams=arguments.beams)
    if arguments.calibrate and arguments.model is None:
        raise ConfigError("--calibrate needs --model")
    if arguments.asked and (arguments.model is None or is_text(arguments.dataset)):
        raise ConfigError("--asked needs --model, and a data set of code")
    return _text(arguments) if is_text(arguments.dataset) else _code(arguments)


def _code(arguments: argparse.Namespace) -> int:
    from weft.kg.evaluate.report import judge_asked, score_code

    options: dict[str, Any] = {
        "role": arguments.role,
        "limit": arguments.limit,
        "beams": arguments.beams,
        "device": device_of(arguments),
        "calibrated": arguments.calibrate,
    }
    if arguments.asked:
        judged = judge_asked(arguments.dataset, arguments.model, **options)
        print(
            json.dumps({n: vars(s) for n, s in judged.items()}) if arguments.json else asked_listing(judged)
        )
        return 0
    found = score_code(
        arguments.dataset, arguments.model, shuffle_relations=arguments.shuffle_relations, **options
    )
    if arguments.json:
        print(json.dumps({name: {v: s.record() for v, s in row.items()} for name, row in found.items()}))
    else:
        print(listing(found, arguments.by_relation))
    return 0


def _text(arguments: argparse.Namespace) -> int:
    from weft.kg.evaluate.report import score_documents

    if arguments.shuffle_relations or arguments.by_relation:
        raise ConfigError(
            "--shuffle-relations and --by-relation are for data sets of code; this is one of text"
        )
    found = score_documents(
        arguments.dataset,
        arguments.model,
        role=arguments.role,
        device=device_of(arguments),
        calibrated=arguments.calibrate,
    )
    if arguments.json:
        print(json.dumps({name: score.record() for name, score in found.items()}))
    else:
        print(text_listing(found))
    return 0


def asked_listing(scores: Mapping[str, AskedScore]) -> str:
    """The table of whole chunks' questions: a row for each part of them."""
    rows = [
        (
            name,
            score.questions,
            *(
                f"{value:.3f}"
                for value in (score.right, score.calibration_error, score.precision, score.recall)
            ),
        )
        for name, score in scores.items()
    ]
    heads = ("part", ">questions", ">right", ">calibration error", ">precision, asked for 0.9", ">recall")
    return table(heads, rows)


def text_listing(scores: Mapping[str, TextScore]) -> str:
    """The table of facts: a row for each threshold of each system."""
    rows: list[tuple[str, ...]] = []
    for name, score in scores.items():
        rows.append(_facts(f"{name}, best threshold on validation", score.best))
        rows.append(_facts(f"{name}, without", score.plain))
        if score.kept is not None:
            asked = _facts(f"{name}, asked for precision 0.9", score.kept)
            rows.append((*asked[:-1], f"{score.calibration_error:.3f}"))
    heads = ("system", ">facts", ">P", ">R", ">F1", ">Ign F1", ">seen", ">unseen", ">calibration error")
    return table(heads, rows)


def _facts(name: str, score: FactScore) -> tuple[str, ...]:
    parts = [part.f1 if part else 0.0 for part in (score.seen, score.unseen)]
    figures = (score.precision, score.recall, score.f1, score.ignoring_f1, *parts)
    return name, str(score.guesses), *(f"{figure:.3f}" for figure in figures), ""


def listing(scores: Mapping[str, Mapping[str, Score]], by_relation: bool) -> str:
    """A table for each view, a row for each system, and for each relation where that is asked for."""
    blocks: list[str] = []
    for view in dict.fromkeys(view for row in scores.values() for view in row):
        found = {name: row[view] for name, row in scores.items() if view in row}
        heads = ("system", ">P@1", ">interval", ">Hit@10", ">MAP", ">F1", ">ECE")
        queries = next(iter(found.values())).queries
        blocks.append(
            f"{view}, {counted(queries, 'query', 'queries')}\n{table(heads, [_row(*item) for item in found.items()])}"
        )
        if by_relation and "model" in found:
            rows = [
                (relation, count, f"{first:.3f}", f"{ten:.3f}")
                for relation, (count, first, ten) in sorted(found["model"].by_relation.items())
            ]
            blocks.append(table(("relation", ">queries", ">P@1", ">Hit@10"), rows))
    return "\n\n".join(blocks)


def _row(name: str, score: Score) -> tuple[str, ...]:
    first = score.precision_at_1
    others = (
        score.hit_at_10.estimate,
        score.mean_average_precision,
        score.best_f1,
        score.calibration_error,
    )
    interval = f"{first.low:.3f}–{first.high:.3f}"
    return name, f"{first.estimate:.3f}", interval, *(f"{value:.3f}" for value in others)

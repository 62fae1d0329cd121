"""``weft kg eval``: score a model and the baselines on held-out modules or documents."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from weft.cli.options import Parser, add_beams, add_json, add_machine, add_model, at_least, device_of
from weft.errors import ConfigError

if TYPE_CHECKING:
    from weft.kg.evaluate.calibrate import Outcome
    from weft.kg.evaluate.confidence import Confidence
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
    from weft.kg.evaluate.baselines import baseline_scores
    from weft.kg.evaluate.calibrate import calibrate, outcomes
    from weft.kg.evaluate.confidence import Confidence
    from weft.kg.evaluate.scores import evaluate
    from weft.kg.evaluate.views import GUESSED, make_views
    from weft.kg.model.leafy_chain import LeafyChainModel
    from weft.kg.represent.dataset import load_dataset
    from weft.platform.models import find_model

    device = device_of(arguments)
    dataset = load_dataset(arguments.dataset)
    views = {} if arguments.asked else make_views(dataset, arguments.role, arguments.limit)
    table: dict[str, Mapping[str, Score]] = dict(baseline_scores(dataset, views)) if views else {}
    if arguments.model is not None:
        folder = find_model("kg", arguments.model)
        model = LeafyChainModel.load(folder).to(device).eval()
        dataset.check_model(folder, model.config.num_relations)
        corpus = dataset.corpus.to(device)
        names = dataset.schema.names
        if arguments.calibrate:
            calibrate(model, dataset, corpus, arguments.limit, arguments.beams).save(folder)
        confidence = Confidence.load(folder)
        if arguments.asked:
            ask = partial(outcomes, model, dataset, corpus, arguments.role, arguments.limit, arguments.beams)
            # Types are few among all questions: they are judged on a draw of their own.
            _print_asked(ask(), ask(views=GUESSED), confidence, arguments.json)
            return 0
        table["model"] = evaluate(
            model,
            corpus,
            views,
            names,
            beams=arguments.beams,
            shuffle_relations=arguments.shuffle_relations,
            confidence=confidence,
        )
    if arguments.json:
        print(
            json.dumps(
                {name: {view: score.record() for view, score in row.items()} for name, row in table.items()}
            )
        )
    else:
        print(listing(table, arguments.by_relation))
    return 0


def _print_asked(
    found: Sequence[Outcome], types: Sequence[Outcome], confidence: Confidence | None, as_json: bool
) -> None:
    from weft.kg.evaluate.calibrate import judge

    parts = {
        "all": list(found),
        "stated": [item for item in found if not item.typed],
        "types": list(types),
    }
    scores = {name: judge(items, confidence) for name, items in parts.items() if items}
    if as_json:
        print(json.dumps({name: vars(score) for name, score in scores.items()}))
        return
    for name, score in scores.items():
        print(
            f"{name:<8}{score.questions:>6} questions, right {score.right:.3f}, calibration error "
            f"{score.calibration_error:.3f}; for precision 0.9: {score.precision:.3f}, recall {score.recall:.3f}"
        )


def _text(arguments: argparse.Namespace) -> int:
    from weft.kg.evaluate.confidence import Confidence
    from weft.kg.evaluate.texts import ask_texts, baseline_text_scores, calibrate_texts, score_texts
    from weft.kg.model.entity_graph import EntityGraphModel
    from weft.kg.represent.passages import load_text_dataset
    from weft.platform.models import find_model

    if arguments.shuffle_relations or arguments.by_relation:
        raise ConfigError(
            "--shuffle-relations and --by-relation are for data sets of code; this is one of text"
        )
    device = device_of(arguments)
    dataset = load_text_dataset(arguments.dataset)
    table = dict(baseline_text_scores(dataset, arguments.role))
    if arguments.model is not None:
        folder = find_model("kg", arguments.model)
        model = EntityGraphModel.load(folder).to(device)
        config = model.config
        dataset.check_model(config.encoder.vocab_size, config.num_relations, config.types, str(folder))
        asked = ask_texts(model, dataset, arguments.role)
        if arguments.calibrate:
            calibrate_texts(dataset, asked.valid).save(folder)
        table["model"] = score_texts(dataset, asked, Confidence.load(folder))
    if arguments.json:
        print(json.dumps({name: score.record() for name, score in table.items()}))
    else:
        print(text_listing(table))
    return 0


def text_listing(table: Mapping[str, TextScore]) -> str:
    """The table of facts: a line for each threshold of each row."""
    lines = [f"{'':<44}{'facts':>7}{'P':>7}{'R':>7}{'F1':>7}{'Ign F1':>8}{'seen':>7}{'unseen':>8}"]
    for name, score in table.items():
        lines += [
            _facts(f"{name}, best threshold on validation", score.best),
            _facts(f"{name}, without", score.plain),
        ]
        if score.kept is not None:
            lines.append(_facts(f"{name}, asked for precision 0.9", score.kept))
            lines.append(f"  calibration error {score.calibration_error:.3f}")
    return "\n".join(lines)


def _facts(name: str, score: FactScore) -> str:
    parts = [part.f1 if part else 0.0 for part in (score.seen, score.unseen)]
    return (
        f"  {name:<42}{score.guesses:>7}{score.precision:>7.3f}{score.recall:>7.3f}{score.f1:>7.3f}"
        f"{score.ignoring_f1:>8.3f}{parts[0]:>7.3f}{parts[1]:>8.3f}"
    )


def listing(table: Mapping[str, Mapping[str, Score]], by_relation: bool) -> str:
    """The table: a block for each view, a line for each row of it."""
    lines: list[str] = []
    for view in dict.fromkeys(view for row in table.values() for view in row):
        queries = next(row[view].queries for row in table.values() if view in row)
        lines.append(
            f"{view} ({queries} queries){'P@1':>16}{'interval':>16}{'Hit@10':>8}{'MAP':>7}{'F1':>7}{'ECE':>7}"
        )
        for name, row in table.items():
            if view in row:
                lines.append(_line(name, row[view]))
                if by_relation and name == "model":
                    lines += [
                        f"    {relation:<22}{count:>6}{first:>8.3f}{ten:>8.3f}"
                        for relation, (count, first, ten) in sorted(row[view].by_relation.items())
                    ]
    return "\n".join(lines)


def _line(name: str, score: Score) -> str:
    first = score.precision_at_1
    interval = f"{first.low:.3f}–{first.high:.3f}"
    return (
        f"  {name:<24}{first.estimate:>8.3f}{interval:>16}{score.hit_at_10.estimate:>8.3f}"
        f"{score.mean_average_precision:>7.3f}{score.best_f1:>7.3f}{score.calibration_error:>7.3f}"
    )

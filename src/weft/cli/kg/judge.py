"""``weft kg judge``: how well a model reads raw text, against documents that people labelled."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from weft.cli.options import Parser, add_json, add_machine, add_precision, at_least, device_of
from weft.cli.table import table
from weft.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from weft.kg.evaluate.judge import Verdict
    from weft.kg.worded.judge import WordsScore


def parser() -> Parser:
    """The arguments of ``weft kg judge``."""
    result = Parser(
        "kg judge",
        "Read labelled documents as if nothing were known of them, and compare: mentions, entities, facts.",
    )
    result.add_argument(
        "files",
        nargs="+",
        type=Path,
        metavar="FILE",
        help="labelled texts (YAML), Re-DocRED or CrossRE (JSON)",
    )
    result.add_argument(
        "--format",
        choices=("texts", "redocred", "crossre"),
        help="of the files (YAML is texts, JSON is Re-DocRED)",
    )
    result.add_argument(
        "--split",
        type=Path,
        metavar="FILE",
        help="a JSON object of parts and the ids of their documents (all)",
    )
    result.add_argument("--part", default="test", metavar="PART", help="which part of the split (test)")
    result.add_argument(
        "--together",
        type=int,
        default=1,
        metavar="N",
        help="read every N documents as one long text (1)",
    )
    result.add_argument(
        "--headings", action="store_true", help="with --together: each document's title as a heading above it"
    )
    result.add_argument(
        "--calibrate",
        action="store_true",
        help="fit the model's confidences on this file's part valid first, and save them with it",
    )
    result.add_argument(
        "--by-words",
        action="store_true",
        help="leave each of the model's relations out in turn and read it by its definition alone: what "
        "weft kg extract --relation is worth (Re-DocRED)",
    )
    result.add_argument(
        "--model",
        required=True,
        metavar="NAME|DIR",
        help="a shipped model or a folder; one that finds mentions",
    )
    add_precision(result, "fp32", int8=True)
    add_json(result)
    add_machine(result)
    return result


def run(argv: list[str]) -> int:
    """Run ``weft kg judge``."""
    arguments = parser().parse_args(argv)
    at_least(1, together=arguments.together)
    if arguments.by_words and arguments.together > 1:
        raise ConfigError("--by-words is judged document by document: leave --together out")
    if arguments.headings and arguments.together == 1:
        raise ConfigError("--headings is for documents that are read together: add --together N")
    from weft.kg.evaluate.judge import calibrated, verdict, words_verdict
    from weft.kg.extraction.entities import EntityExtractor
    from weft.kg.read.funnel import Funnel
    from weft.platform.models import find_model

    folder = find_model("kg", arguments.model)
    extractor = EntityExtractor.load(folder, device_of(arguments), arguments.precision)
    if arguments.calibrate:
        if arguments.split is None:
            raise ConfigError("--calibrate needs --split: confidences are fitted on its part valid")
        extractor = calibrated(extractor, arguments.files[0], arguments.split)
        if extractor.confidence is not None:
            extractor.confidence.save(folder)
    found: dict[str, Verdict] = {}
    funnel = Funnel()
    for path in arguments.files:
        form = arguments.format or ("texts" if path.suffix in (".yaml", ".yml") else "redocred")
        if arguments.by_words:
            if form != "redocred":
                raise ConfigError(
                    "--by-words needs documents with the model's own relations", where=str(path)
                )
            found[str(path)] = words_verdict(extractor, path, arguments.split, arguments.part, funnel)
            continue
        found[str(path)] = verdict(
            extractor,
            path,
            form,
            arguments.split,
            arguments.part,
            funnel,
            arguments.together,
            arguments.headings,
        )
    for reason, items in funnel.listed.items():
        print(f"left out: {len(items)} {reason}, the first: {items[0]}", file=sys.stderr)
    if arguments.json:
        print(json.dumps({name: item.record() for name, item in found.items()}))
    else:
        print("\n\n".join(_listing(name, item) for name, item in found.items()))
    return 0


def _figure(value: float) -> str:
    """Three decimals; a dash where a figure is not defined."""
    return "–" if math.isnan(value) else f"{value:.3f}"


def _words(name: str, scores: Mapping[str, WordsScore]) -> str:
    from weft.kg.worded.judge import SURE

    lines = [name]
    for what, score in scores.items():
        rows: list[tuple[object, ...]] = [
            (relation, item.facts, _figure(item.by_words), _figure(item.trained))
            for relation, item in score.relations.items()
        ]
        rows.append(("mean", "", _figure(score.by_words), _figure(score.trained)))
        lines.append(table((f"left out, {what}", ">facts", ">F1 by words", ">F1 trained"), rows))
        lines.append(
            f"calibration error {_figure(score.calibration_error)}; "
            f"at least {SURE:.2f} sure: {score.sure}, right {_figure(score.surely_right)}"
        )
    return "\n".join(lines)


def _listing(name: str, found: Verdict) -> str:
    if found.words is not None and found.bare_words is not None:
        return _words(name, {"types said": found.words, "words alone": found.bare_words})
    rows: list[tuple[object, ...]] = []
    if found.mentions is not None:
        rows.append(("mentions", *(_figure(value) for value in found.mentions)))
    if found.typed_f1 is not None:
        rows.append(("mentions with their type", "", "", _figure(found.typed_f1)))
    if found.b_cubed is not None:
        rows.append(("entities (B³)", "", "", _figure(found.b_cubed)))
    for facts, where in ((found.facts, ""), (found.chosen, ", best on valid")):
        if facts is not None:
            shown = (_figure(facts.precision), _figure(facts.recall), _figure(facts.f1))
            rows.append((f"facts, at least {facts.threshold:.2f} sure{where}", *shown))
    if (facts := found.facts) is not None:
        rows.append(
            ("facts, at least 0.80 sure", _figure(facts.sure_precision), _figure(facts.sure_recall), "")
        )
    if (texts := found.texts) is not None:
        rows.append(("facts, at least 0.50 sure", _figure(texts.right), _figure(texts.found), ""))
        rows.append(("facts, at least 0.80 sure", _figure(texts.surely_right), "", ""))
    lines = [name, table(("", ">precision", ">recall", ">F1"), rows)]
    if found.across is not None:
        lines.append(f"of the facts at least 0.50 sure {found.across} are between names of two documents")
    if found.facts is not None:
        lines.append(f"calibration error {_figure(found.facts.calibration_error)}")
    return "\n".join(lines)

"""``weft kg facts``: facts of a file with confidences: of Python beside the syntax tree's, of text with sentences."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from weft.cli.kg.endpoint import add_endpoint, endpoint_of, report_tally
from weft.cli.kg.met import say_met, say_unused
from weft.cli.options import (
    Parser,
    add_beams,
    add_html,
    add_json,
    add_machine,
    add_model,
    add_near,
    add_seed,
    add_text_column,
    at_least,
    device_of,
    share,
)
from weft.cli.outputs import check_outputs
from weft.cli.patience import PATIENCE, saying
from weft.cli.table import table
from weft.errors import ConfigError, PartialFailure, counted

if TYPE_CHECKING:
    from weft.kg.extraction.facts import ModelFact
    from weft.kg.extraction.text import Marked
    from weft.kg.storage.layout import Evidence


def parser() -> Parser:
    """The arguments of ``weft kg facts``."""
    result = Parser(
        "kg facts",
        "Read facts out of a file. Of source code: ✓ where the syntax tree states the same, ✗ where it states "
        "another tail, · where it says nothing (types of un-annotated code). Of text: each with its sentence.",
        further="name a folder of texts, or call it again for each",
    )
    result.add_argument("file", type=Path, metavar="FILE", help="Python source; a text, or a folder of texts")
    add_model(result, None, "by FILE: kg-text-small for text, else kg-python-small")
    result.add_argument(
        "--relation", action="append", metavar="NAME", help="only this relation; may be repeated (all)"
    )
    result.add_argument("--at-least", type=float, default=0.0, metavar="P", help="least confidence (0)")
    result.add_argument(
        "--target-precision",
        type=float,
        metavar="P",
        help="as many facts as together are right this often (all)",
    )
    result.add_argument("--limit", type=int, metavar="N", help="print at most N facts, the surest (all)")
    text = result.add_argument_group("text, with a model of text")
    add_seed(text, "seed triples whose entities are looked for")
    add_near(text)
    add_text_column(text)
    add_html(text, "the texts with their mentions marked and the facts beside, as a page")
    add_beams(result, 4)
    add_endpoint(result)
    add_json(result)
    add_machine(result)
    return result


def run(argv: list[str]) -> int:
    """Run ``weft kg facts``."""
    arguments = parser().parse_args(argv)
    at_least(1, limit=arguments.limit)
    share(at_least=arguments.at_least, target_precision=arguments.target_precision, near=arguments.near)
    from weft.kg.extraction.chosen import chosen_facts
    from weft.kg.extraction.facts import Extractor
    from weft.kg.extraction.model import model_for, reads_text
    from weft.platform.models import find_model

    folder = find_model("kg", arguments.model or model_for(arguments.file))
    if reads_text(folder):
        return _of_text(arguments, folder)
    if arguments.html is not None:
        raise ConfigError("--html marks texts; `weft kg show STORE NAME --html` draws code")
    default = parser().get_default
    for name in ("seed", "near", "exact", "text_column"):
        if getattr(arguments, name) != default(name):
            raise ConfigError(
                f"--{name.replace('_', '-')} is for a model of text; this one reads source code",
                where=str(folder),
            )
    extractor = Extractor.load(folder, device_of(arguments))
    for name in arguments.relation or ():
        extractor.language.schema.id_of(name)
    endpoint = endpoint_of(arguments)
    if endpoint is not None:
        extractor = extractor.with_endpoint(endpoint)
    found = extractor.facts(arguments.file, beams=arguments.beams)
    if extractor.combiner is not None:
        report_tally(extractor.combiner.tally)
    asked = chosen_facts(found, arguments.relation or ())
    judged = [fact for fact in asked if fact.agrees is not None]
    right = sum(fact.agrees is True for fact in judged)
    shown = chosen_facts(asked, (), arguments.at_least, arguments.target_precision, arguments.limit)
    if arguments.json:
        print(json.dumps([fact.record() for fact in shown], ensure_ascii=False))
        return 0
    print(listing(shown))
    if not (arguments.quiet and shown):
        print(f"{counted(len(asked), 'fact')}; the syntax tree judges {len(judged)} and agrees with {right}")
    return 0


def _of_text(arguments: argparse.Namespace, folder: Path) -> int:
    from weft.kg.extraction.chosen import chosen_facts
    from weft.kg.extraction.model import TEXT_MODEL
    from weft.kg.extraction.text import Met, TextLoader, marked_documents
    from weft.kg.page.texts import write_texts_page
    from weft.kg.schema import Schema
    from weft.platform.models import find_model

    if endpoint_of(arguments) is not None:
        raise ConfigError("--llm combines the tokens of tails of code; a model of text chooses entities")
    if arguments.beams != parser().get_default("beams"):
        raise ConfigError("--beams is for a model of code; one of text spells no tails", where=str(folder))
    schema = Schema.load(folder / "schema.json")
    for name in arguments.relation or ():
        schema.id_of(name)
    loader = TextLoader(
        folder,
        tuple(arguments.seed),
        None if arguments.exact else arguments.near,
        str(device_of(arguments)),
    )
    check_outputs([arguments.html], [*_texts(arguments.file), *arguments.seed])
    met = Met(unused=loader.unused_seed())
    waiting = f"weft kg facts: reading {arguments.file}; long texts take minutes"
    with saying(lambda: waiting, PATIENCE, quiet=arguments.quiet):
        read = marked_documents(arguments.file, loader, met, arguments.text_column)
    found = [item for document in read for item in document.evidence]
    stands_in = {id(item): document.document.id for document in read for item in document.evidence}
    shown = chosen_facts(
        found, arguments.relation or (), arguments.at_least, arguments.target_precision, arguments.limit
    )
    if arguments.html is not None:
        kept = {id(item) for item in shown}
        write_texts_page([_only(item, kept) for item in read], arguments.file.name, arguments.html)
    if arguments.json:
        names = ("head", "relation", "tail", "confidence", "start", "end", "line", "sentence")
        records = [
            {"document": stands_in[id(fact)], **{name: getattr(fact, name) for name in names}}
            for fact in shown
        ]
        print(json.dumps(records, ensure_ascii=False))
    else:
        print(_listing(shown, stands_in if len(read) > 1 else None))
        if not arguments.quiet:
            part = f"{len(shown)} of " if len(shown) < len(found) else ""
            print(f"{part}{counted(len(found), 'fact')}")
    say_unused(met.unused)
    for document, message in met.failures:
        print(f"not read: {document}: {message}", file=sys.stderr)
    say_met(met.others, met.foreign if folder == find_model("kg", TEXT_MODEL) else ())
    if met.failures:
        raise PartialFailure(f"{counted(len(met.failures), 'document')} could not be read")
    return 0


def _texts(place: Path) -> list[Path]:
    """The files that are read."""
    from weft.kg.read.corpus import paths_below
    from weft.kg.read.prose import SUFFIXES, kind_of

    return [path for path in paths_below(place) if kind_of(path) in SUFFIXES] if place.is_dir() else [place]


def _listing(facts: Sequence[Evidence], documents: Mapping[int, str] | None) -> str:
    """A line for each fact of text, behind its document where there are several."""
    heads = (">line", ">sure", "head", "relation", "tail", "sentence")
    rows = [
        (
            fact.line,
            f"{fact.confidence:.2f}",
            fact.head,
            fact.relation,
            fact.tail,
            " ".join(fact.sentence.split()),
        )
        for fact in facts
    ]
    if documents is None:
        return table(heads, rows)
    return table(
        ("document", *heads), [(documents[id(fact)], *row) for fact, row in zip(facts, rows, strict=True)]
    )


def _only(read: Marked, kept: set[int]) -> Marked:
    """A document with those of its facts that are shown."""
    places = [place for place, item in enumerate(read.evidence) if id(item) in kept]
    return read._replace(
        facts=[read.facts[place] for place in places], evidence=[read.evidence[place] for place in places]
    )


def listing(facts: list[ModelFact]) -> str:
    """A line for each fact."""
    marks = {True: "✓", False: "✗", None: "·"}
    rows = [
        (
            fact.line,
            marks[fact.agrees],
            f"{fact.confidence:.2f}",
            fact.head,
            fact.relation,
            fact.tail,
            ", ".join(fact.stated[:4]) if fact.agrees is False else "",
        )
        for fact in facts
    ]
    return table((">line", "tree", ">sure", "head", "relation", "tail", "the tree says"), rows)

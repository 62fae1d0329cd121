"""``weft absa predict``: one text, or a table of them."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from weft.cli.absa.arguments import (
    FURTHER_TEXTS,
    add_abstain,
    add_answers,
    add_columns,
    add_questions,
    add_sides,
    check_no_columns,
    fields_of,
    load_asker,
)
from weft.cli.absa.progress import asking
from weft.cli.absa.tables import ASKING, add_input_format, telling_long
from weft.cli.options import Parser, add_out
from weft.cli.outputs import check_outputs
from weft.cli.table import table
from weft.errors import ConfigError, InputError, PartialFailure, counted
from weft.platform.reading import lines, name_of

if TYPE_CHECKING:
    from weft.absa.read.table import Format, TableRow
    from weft.absa.records import Problems
    from weft.absa.use.asker import Asker
    from weft.absa.use.predict import Asked, Tally


def parser() -> Parser:
    """The arguments of ``weft absa predict``."""
    result = Parser(
        "absa predict",
        "Say what a text, or a table of texts, feels about aspects of targets.",
        further=FURTHER_TEXTS,
    )
    result.add_argument(
        "input",
        metavar="TEXT|FILE",
        help="a text; a .csv, .tsv, .jsonl, .parquet or .txt file; - for standard input",
    )
    add_questions(result)
    result.add_argument(
        "--aspects",
        type=Path,
        metavar="FILE",
        help="a file with one aspect per line; # begins a comment (a text is asked for its own)",
    )
    add_columns(result)
    add_sides(result)
    add_input_format(result)
    result.add_argument(
        "--threshold",
        type=float,
        metavar="P",
        help="report an opinion where it has more than this share of what it and none have together; 0.5 is the most "
        "probable answer (the model's)",
    )
    add_abstain(result, "the answer's probability")
    add_out(result, "FILE", "a .csv, .jsonl or .parquet file", default="standard output")
    add_answers(result)
    return result


def run(argv: list[str]) -> int:
    """Run the command."""
    arguments = parser().parse_args(argv)
    from weft.absa.checks import check_threshold
    from weft.absa.read.given import is_table
    from weft.absa.read.table import format_of

    aspects = [*arguments.aspect, *_lines(arguments.aspects)]
    tabular = is_table(arguments.input, arguments.input_format)
    read = [arguments.input] if tabular else []
    check_outputs([arguments.out], [*read, *filter(None, [arguments.aspects, arguments.words])])
    if arguments.out is not None:
        format_of(str(arguments.out), to_write=True)
    if arguments.abstain is not None:
        check_threshold("--abstain", arguments.abstain)
    if not aspects and arguments.aspect_column is None:
        return _found(arguments, tabular)
    if arguments.threshold is not None:
        check_threshold("--threshold", arguments.threshold)
    return _table(arguments, aspects) if tabular else _one(arguments, aspects)


def _lines(path: Path | None) -> list[str]:
    if path is None:
        return []
    if not path.exists():
        raise InputError(
            "is not there, and --aspects is a file with one aspect per line",
            where=str(path),
            hint="look at the path's spelling; --aspect takes one in words and may be repeated",
        )
    from weft.absa.read.given import without_comment

    found = [aspect for aspect in map(without_comment, lines(path)) if aspect]
    if not found:
        raise InputError("holds no aspect", where=str(path))
    return found


def _one(arguments: argparse.Namespace, aspects: list[str]) -> int:
    from weft.absa.records import is_blank

    if is_blank(arguments.input):
        raise InputError("the text is empty")
    check_no_columns(arguments, "a text")
    from weft.absa.read.table import TableRow
    from weft.absa.use.predict import Asked, records

    asked = Asked(tuple(aspects), tuple(arguments.target))
    row = TableRow(1, {"text": arguments.input}, side=arguments.side)
    sentence = asked.sentence(row, "the text")
    found = records(load_asker(arguments), [sentence], arguments.threshold, arguments.abstain)
    if arguments.out is not None:
        _write(found, str(arguments.out))
    if arguments.json:
        print(json.dumps(found, ensure_ascii=False, indent=1))
    if arguments.json or arguments.out is not None:
        return 0
    targets = ["target"] if arguments.target else []
    rows = [
        [
            *(record[name] for name in [*targets, "aspect", "polarity"]),
            *(f"{value:.2f}" for value in record["probabilities"].values()),
            record["note"] or "",
        ]
        for record in found
    ]
    print(
        table([*targets, "aspect", "answer", *(f">{name}" for name in found[0]["probabilities"]), ""], rows)
    )
    return 0


def _found(arguments: argparse.Namespace, tabular: bool) -> int:
    """What a text, or a table of texts, judges by itself, where nothing is asked of it."""
    from weft.cli.absa.find import one, several

    for name in ("target", "target_column", "threshold"):
        if getattr(arguments, name) not in (None, []):
            raise ConfigError(
                f"--{name.replace('_', '-')} is about an aspect that is asked",
                hint="--aspect price, for instance",
            )
    return several(arguments, "absa predict") if tabular else one(arguments)


def _write(found: list[dict[str, Any]], output: str) -> None:
    from weft.absa.read.table import TableWriter
    from weft.absa.use.predict import column_types, flat

    rows = found if _nests(output) else [flat(record) for record in found]
    with TableWriter(output, list(rows[0]), column_types(rows[0])) as writer:
        writer.write(rows)


def _table(arguments: argparse.Namespace, aspects: list[str]) -> int:
    from weft.absa.read.labelled import TARGET
    from weft.absa.read.table import read_rows
    from weft.absa.records import Problems
    from weft.absa.use.predict import Asked

    fields = fields_of(arguments)
    asked = Asked(
        tuple(aspects),
        tuple(arguments.target),
        fields.single,
        arguments.target_column,
        arguments.aspect_column,
    )
    form = cast("Format | None", arguments.input_format)
    columns = [*fields.columns, *asked.further]
    rows = read_rows(arguments.input, columns, form, also=[TARGET], left_out=fields.left_out)
    # The first row is read before the model is loaded: a missing file, column or row is told at once.
    first = next(rows)
    if TARGET in first.cells and TARGET not in columns and not asked.targets and not arguments.quiet:
        told = f"the column {TARGET!r} is not read: --target-column {TARGET} asks about it"
        print(f"weft absa predict: {told}", file=sys.stderr)
    problems = Problems()
    given = fields.of(chain([first], rows))
    if not arguments.quiet:
        given = telling_long(given, asked.text_column, arguments.input, "absa predict", ASKING)

    def again() -> Iterator[TableRow]:
        return fields_of(arguments).of(
            read_rows(arguments.input, columns, form, also=[TARGET], left_out=fields.left_out)
        )

    each = max(1, len(asked.targets)) * max(1, len(asked.aspects))
    with asking(arguments.input, again, each, quiet=arguments.quiet) as advance:
        tally = _stream(arguments, load_asker(arguments), given, asked, problems, fields.several, advance)
    for line in [] if arguments.quiet else [*fields.lines(), *tally.lines()]:
        print(f"weft absa predict: {line}", file=sys.stderr)
    if problems.count:
        for line in problems.lines():
            print(f"weft absa predict: {line}", file=sys.stderr)
        raise PartialFailure(f"{counted(problems.count, 'row')} could not be used; the others went through")
    return 0


def _stream(
    arguments: argparse.Namespace,
    asker: Asker,
    rows: Iterator[TableRow],
    asked: Asked,
    problems: Problems,
    several: bool,
    advance: Callable[[int], None],
) -> Tally:
    from weft.absa.read.fields import COLUMN
    from weft.absa.read.table import TableWriter
    from weft.absa.use.predict import Tally, column_types, flat, stream

    tally = Tally()
    names = ["row", *([COLUMN] if several else []), "text", "target", "aspect", "polarity", "target_found"]
    nested = arguments.out is None or _nests(str(arguments.out))
    shares = ["probabilities"] if nested else [f"p_{name}" for name in asker.classes_]
    columns = [*names, *shares, "note"]
    source = name_of(arguments.input)
    with TableWriter(_text(arguments.out), columns, column_types(columns)) as writer:
        chunks = stream(
            asker,
            rows,
            asked,
            problems,
            source=source,
            threshold=arguments.threshold,
            abstain=arguments.abstain,
        )
        for found in chunks:
            writer.write(found if nested else [flat(record) for record in found])
            advance(len(found))
            tally.add(found)
        # Before the output appears: what stood there stays where no row could be used.
        problems.check_used(tally.questions, source)
    return tally


def _nests(output: str) -> bool:
    """Whether a file's records hold their probabilities as one object."""
    from weft.absa.read.table import format_of

    return format_of(output, to_write=True) == "jsonl"


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)

"""``weft absa find``: what a text, or a table of texts, judges, without being asked."""

from __future__ import annotations

import argparse
import json
import sys
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from weft.cli.absa.arguments import (
    FURTHER_TEXTS,
    add_abstain,
    add_answers,
    add_sides,
    check_no_columns,
    fields_of,
    load_asker,
)
from weft.cli.absa.tables import FINDING, add_input_format, telling_long
from weft.cli.options import Parser, add_html, add_out
from weft.cli.outputs import check_outputs
from weft.cli.table import table
from weft.errors import ConfigError, InputError, PartialFailure, counted
from weft.platform.reading import name_of

if TYPE_CHECKING:
    from weft.absa.find.finder import Finder
    from weft.absa.find.groups import Groups
    from weft.absa.find.summary import Summary
    from weft.absa.read.fields import Fields
    from weft.absa.read.table import Format, TableRow, TableWriter

_SHOWN = 30
"""Aspects of a summary that a terminal is shown."""


def parser() -> Parser:
    """The arguments of ``weft absa find``."""
    result = Parser(
        "absa find",
        "Find what a text, or a table of texts, judges: terms, polarity, judging words.",
        further=FURTHER_TEXTS,
    )
    result.add_argument(
        "input",
        metavar="TEXT|FILE",
        help="a text; a .csv, .tsv, .jsonl, .parquet or .txt file; - for standard input",
    )
    result.add_argument(
        "--domain",
        type=Path,
        metavar="FILE",
        help="your categories, a line each: 'battery: charge, power'; each text is also asked about each of them "
        "(common ones, and no questions)",
    )
    result.add_argument("--text-column", metavar="NAME", help="column of the text (text)")
    add_sides(result)
    result.add_argument(
        "--by",
        metavar="COLUMN",
        help="a column to compare by, a branch, a month or stars for instance: what one of them judges otherwise",
    )
    add_abstain(result, "its confidence")
    add_input_format(result)
    add_html(result, "a page: a bar for each aspect, sentences")
    add_out(result, "FILE", "every finding, as .csv, .jsonl or .parquet", default="none is written")
    add_answers(result)
    return result


def run(argv: list[str]) -> int:
    """Run the command."""
    arguments = parser().parse_args(argv)
    from weft.absa.checks import check_threshold
    from weft.absa.read.given import is_table

    if arguments.abstain is not None:
        check_threshold("--abstain", arguments.abstain)

    tabular = is_table(arguments.input, arguments.input_format)
    read = [arguments.input] if tabular else []
    check_outputs(
        (arguments.out, arguments.html), [*read, *filter(None, [arguments.domain, arguments.words])]
    )
    if tabular:
        return several(arguments)
    if arguments.html is not None:
        raise ConfigError("--html is a page about a table", hint="give a file of texts")
    return one(arguments)


def one(arguments: argparse.Namespace) -> int:
    """What one text judges, printed, or written where an output is named."""
    text = arguments.input
    from weft.absa.records import is_blank

    if is_blank(text):
        raise InputError("the text is empty")
    check_no_columns(arguments, "a text")
    from weft.absa.find.records import COLUMNS, TYPES, noted, record
    from weft.absa.read.table import TableWriter

    finder = _finder(arguments)
    found = finder.find([text], arguments.side)[0]
    note = noted(text, finder)
    records = [record(text, finding, note) for finding in found]
    if arguments.out is not None:
        columns = [name for name in COLUMNS if name != "row"]
        with TableWriter(str(arguments.out), columns, TYPES) as writer:
            writer.write(records)
    if arguments.json:
        print(json.dumps(records, ensure_ascii=False, indent=1))
    elif arguments.out is None:
        print(_listed(records, note))
    return 0


def _listed(records: list[dict[str, Any]], note: str | None) -> str:
    if not records:
        return "nothing is judged" + (f"; {note}" if note else "")
    heads = ["term", "category", "answer", ">confidence", "words", ""]
    names = ("term", "category", "polarity", "confidence", "words")
    return table(
        heads, [[*(_shown(entry[name]) for name in names), entry["note"] or ""] for entry in records]
    )


def _shown(value: object) -> str:
    return "–" if value is None else f"{value:.2f}" if isinstance(value, float) else str(value)


def _finder(arguments: argparse.Namespace, faint: bool = False) -> Finder:
    from weft.absa.find.domain import common_categories, read_domain
    from weft.absa.find.finder import Finder

    own = getattr(arguments, "domain", None)
    categories = common_categories() if own is None else read_domain(own)
    return Finder(
        load_asker(arguments), categories, ask=own is not None, faint=faint, abstain=arguments.abstain
    )


def several(arguments: argparse.Namespace, command: str = "absa find") -> int:
    """What a table of texts judges: its summary, printed; every finding and a page where they are named."""
    from weft.absa.find.summary import Summary
    from weft.absa.read.table import read_rows
    from weft.absa.records import Problems

    fields = fields_of(arguments)
    form = cast("Format | None", arguments.input_format)
    rows = read_rows(arguments.input, fields.columns, form, left_out=fields.left_out)
    # The first row is read before the model is loaded: a missing file, column or row is told at once.
    given = fields.of(chain([next(rows)], rows))
    if not arguments.quiet:
        given = telling_long(given, fields.single, arguments.input, command, FINDING)
    problems, summary = Problems(), Summary(fields.by)
    if arguments.out is None:
        _read(arguments, given, fields, problems, summary, None)
    else:
        from weft.absa.find.records import TYPES, columns_of
        from weft.absa.read.table import TableWriter

        with TableWriter(str(arguments.out), columns_of(fields), TYPES) as writer:
            _read(arguments, given, fields, problems, summary, writer)
    html = getattr(arguments, "html", None)
    if html is not None:
        from weft.absa.find.page import page
        from weft.platform.files import write_text

        write_text(html, page(summary))
    if arguments.json:
        print(json.dumps(summary.as_json(), ensure_ascii=False, indent=1))
    elif not arguments.quiet or (html is None and arguments.out is None):
        print(_told(summary))
    for line in [] if arguments.quiet else fields.lines():
        print(f"weft {command}: {line}", file=sys.stderr)
    if problems.count:
        for line in problems.lines():
            print(f"weft {command}: {line}", file=sys.stderr)
        raise PartialFailure(f"{counted(problems.count, 'row')} could not be used; the others went through")
    return 0


def _read(
    arguments: argparse.Namespace,
    rows: Any,
    fields: Fields,
    problems: Any,
    summary: Summary,
    writer: TableWriter | None,
) -> None:
    from weft.absa.find.records import found_in, noted, record
    from weft.absa.read.fields import in_row

    source = name_of(arguments.input)
    given = cast("list[TableRow]", rows)
    finder = _finder(arguments, faint=fields.by is not None)
    for found in found_in(finder, given, fields.single, problems, source):
        for row, text, findings in found:
            note = noted(text, finder)
            summary.add(row.number, text, findings, note, row.group)
            if writer is not None:
                writer.write([in_row(row, record(text, one, note)) for one in findings if not one.faint])
    # Before the output appears: what stood there stays where no row could be used.
    problems.check_used(summary.texts, source)


def _told(summary: Summary) -> str:
    aspects, order = summary.aspects(), summary.polarities()
    rows = [
        [
            aspect.name,
            aspect.total,
            *(aspect.polarities[name] for name in order),
            ", ".join(term for term, _ in aspect.terms.most_common(3)),
            aspect.examples(aspect.polarities.most_common(1)[0][0], 1)[0].line(),
        ]
        for aspect in aspects[:_SHOWN]
    ]
    heads = ["aspect", ">judged", *(f">{name}" for name in order), "as", "for example"]
    lines = [f"{counted(summary.texts, 'text')}, {summary.silent:,} without a judgement"]
    lines += summary.notes()
    if summary.mended:
        lines[-1] += "; --as-written reads them as they stand"
    if rows:
        lines.append(table(heads, rows))
    if len(aspects) > _SHOWN:
        lines.append(f"… and {len(aspects) - _SHOWN:,} rarer aspects")
    if summary.groups is not None:
        lines += ["", *_compared(summary.groups)]
    return "\n".join(lines)


def _compared(groups: Groups) -> list[str]:
    """What stands out in one group, a row each."""
    sizes = ", ".join(f"{name} {groups.texts[name]:,}" for name in groups.names[:_SHOWN])
    more = f", and {len(groups.texts) - _SHOWN:,} more" if len(groups.texts) > _SHOWN else ""
    without = f"; {counted(groups.without, 'text')} without" if groups.without else ""
    lines = [f"by {groups.column}, texts: {sizes or 'none'}{more}{without}"]
    differences = groups.differences()
    if not differences:
        return [*lines, "nothing stands out: what differs may be chance"]
    rows = [one.cells() for one in differences[:_SHOWN]]
    lines.append(table(["aspect", groups.column, "stands out", ">here", ">elsewhere", ">p"], rows))
    if len(differences) > _SHOWN:
        lines.append(f"… and {len(differences) - _SHOWN:,} more")
    return lines

"""Labelled texts on the command line: what ``weft absa eval`` and ``weft absa calibrate`` measure on."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

from weft.cli.absa.arguments import add_columns, check_no_columns
from weft.cli.options import Parser
from weft.errors import ConfigError, InputError, PartialFailure, counted

if TYPE_CHECKING:
    from weft.absa.read.labelled import Columns
    from weft.absa.records import Corpus
    from weft.absa.use.asker import Asker

SETS = {"sentihood": "SentiHood", "semeval": "SemEval", "mabsa": "M-ABSA"}
"""What is no table, by its ``--input-format``."""


def add_labelled(parser: Parser) -> None:
    """Which texts, and what the columns are called."""
    parser.add_argument(
        "input", metavar="FILE", help="SentiHood JSON, SemEval XML, M-ABSA, or a labelled table"
    )
    parser.add_argument(
        "--input-format",
        choices=("sentihood", "semeval", "table", "mabsa"),
        help="what the input is; mabsa is asked about its ten most frequent categories (by its suffix: .json, .xml, "
        "other)",
    )
    add_columns(parser, labelled=True)
    parser.add_argument(
        "--aspect",
        action="append",
        default=[],
        metavar="ASPECT",
        help="SentiHood: an aspect to ask about; may be repeated (the four frequent ones)",
    )
    parser.add_argument(
        "--held-out",
        type=float,
        metavar="SHARE",
        help="only this share of the texts, those that training with the same seed holds out (all)",
    )
    parser.add_argument("--split-seed", type=int, metavar="N", help="of --held-out (0)")


def form_of(arguments: argparse.Namespace) -> str:
    """What the input is: what ``--input-format`` says, else its suffix."""
    if arguments.input_format is not None:
        return arguments.input_format
    suffixes = {".json": "sentihood", ".xml": "semeval"}
    return next((form for end, form in suffixes.items() if arguments.input.endswith(end)), "table")


def read_corpus(arguments: argparse.Namespace) -> Corpus:
    """The labelled sentences that the arguments name.

    Raises:
        ConfigError: A share outside (0, 1), or an option that says nothing about such a file.
        InputError: The file cannot be read or holds nothing usable.
    """
    from weft.absa.learn.setup import DataFiles, DataFormat
    from weft.absa.learn.training import split
    from weft.absa.read.quadruples import read_mabsa
    from weft.absa.read.reviews import questions
    from weft.absa.read.sentihood import FREQUENT_ASPECTS

    share = arguments.held_out
    if share is not None and not 0 < share < 1:
        raise ConfigError(f"--held-out is {share}; it must be in (0, 1)")
    form = form_of(arguments)
    if form != "table":
        check_no_columns(arguments, f"a file of {SETS[form]}")
    if arguments.aspect and form != "sentihood":
        raise ConfigError(
            "--aspect chooses among SentiHood's; other files bring the aspects that are asked",
            hint="leave it out",
        )
    if form == "mabsa":
        found = read_mabsa(Path(arguments.input))
        corpus = replace(questions(found.reviews), problems=found.problems)
        return corpus if share is None else split(corpus, share, arguments.split_seed or 0)[1]
    aspects = tuple(arguments.aspect or FREQUENT_ASPECTS)
    files = DataFiles(
        arguments.input, format=cast("DataFormat", form), columns=_columns(arguments), aspects=aspects
    )
    corpus = files.read(arguments.input)
    return corpus if share is None else split(corpus, share, arguments.split_seed or 0)[1]


def read_by(arguments: argparse.Namespace, corpus: Corpus) -> tuple[Corpus, list[str]]:
    """The texts of a table's corpus once more, apart for each value of the column ``--by``, and the values.

    Args:
        arguments: With the names of the columns.
        corpus: Read by :func:`read_corpus`: all of the table, or what is held out of it.
    """
    from weft.absa.read.labelled import read_grouped

    whole, values = read_grouped(arguments.input, arguments.by, _columns(arguments))
    texts = {sentence.text for sentence in corpus.sentences}
    kept = [number for number, sentence in enumerate(whole.sentences) if sentence.text in texts]
    return whole.subset(kept), [values[number] for number in kept]


def check_split(arguments: argparse.Namespace) -> None:
    """Refuse a seed without a share that it draws.

    Raises:
        ConfigError: It is given alone.
    """
    if arguments.split_seed is not None and arguments.held_out is None:
        raise ConfigError("--split-seed without --held-out", hint="--held-out 0.15, for instance")


def _columns(arguments: argparse.Namespace) -> Columns:
    from weft.absa.read.labelled import Columns

    return Columns(
        arguments.text_column, arguments.aspect_column, arguments.polarity_column, arguments.target_column
    )


def under_classes(corpus: Corpus, asker: Asker, where: str) -> Corpus:
    """The sentences that the model's classes can label.

    Raises:
        InputError: There are none.
    """
    kept = corpus.labelled_as(asker.classes_)
    if not kept.sentences:
        first = next(kept.problems.lines(), None)
        raise InputError("no usable sentence" + (f"; the first: {first}" if first else ""), where=where)
    return kept


def report_problems(corpus: Corpus, command: str) -> None:
    """Name the rows that were left out.

    Raises:
        PartialFailure: There are any.
    """
    if corpus.problems.count:
        for line in corpus.problems.lines():
            print(f"weft absa {command}: {line}", file=sys.stderr)
        raise PartialFailure(
            f"{counted(corpus.problems.count, 'row')} could not be used; the others were measured"
        )

"""Arguments that the ``weft absa`` commands share."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from weft.cli.options import Parser, add_json, add_machine, add_model, add_precision, device_of
from weft.errors import ConfigError, InputError

if TYPE_CHECKING:
    from weft.absa.read.fields import Fields
    from weft.absa.use.asker import Asker

DEFAULT_MODEL = "absa-any"
"""As :data:`weft.absa.use.store.DEFAULT_MODEL`, which takes torch to be imported."""

SIDES = ("pros", "cons")
"""As :data:`weft.absa.records.SIDES`."""

FURTHER_TEXTS = "a text stands in quotation marks; texts can stand in one file, a line each (.txt)"


def add_answers(parser: Parser) -> None:
    """How answers are printed, and which model gives them, in what arithmetic, on what machine."""
    add_json(parser)
    add_model(parser, DEFAULT_MODEL)
    add_precision(parser, "fp32", int8=True)
    add_machine(parser)
    add_reading(parser)


def add_reading(parser: Parser) -> None:
    """How words are read."""
    parser.add_argument(
        "--as-written",
        action="store_true",
        help="read slips of the keyboard, ratings and the signs of lists as they stand",
    )
    parser.add_argument(
        "--words",
        type=Path,
        metavar="FILE",
        help="words that are right as they are, brands and products for instance, a line each; # begins a comment",
    )


def add_abstain(parser: Parser, what: str) -> None:
    """From which share on an answer is given."""
    parser.add_argument(
        "--abstain",
        type=float,
        nargs="?",
        const=0.5,
        metavar="SHARE",
        help=f"answer unsure where {what} is below this (0.5 where none is given)",
    )


def add_questions(parser: Parser, required: bool = False) -> None:
    """What is asked about."""
    parser.add_argument(
        "--aspect",
        action="append",
        default=[],
        required=required,
        metavar="ASPECT",
        help="an aspect in words; may be repeated",
    )
    parser.add_argument(
        "--target", action="append", default=[], metavar="TARGET", help="words of the text; may be repeated"
    )


def add_columns(parser: Parser, labelled: bool = False) -> None:
    """What the columns of a table are called; those of labels have names by default."""
    aspect, text = ("aspect", "text") if labelled else (None, None)
    parser.add_argument("--text-column", default=text, metavar="NAME", help="column of the text (text)")
    usual = "target, where there is one; '' reads none" if labelled else "none"
    parser.add_argument("--target-column", metavar="NAME", help=f"column of each row's own target ({usual})")
    parser.add_argument(
        "--aspect-column",
        default=aspect,
        metavar="NAME",
        help=f"column of each row's own aspect ({aspect or 'none'})",
    )
    if labelled:
        parser.add_argument(
            "--polarity-column", default="polarity", metavar="NAME", help="column of the label (polarity)"
        )


def add_sides(parser: Parser) -> None:
    """What the texts were asked for, where a form asks for what was good and for what was not."""
    parser.add_argument(
        "--pros",
        action="append",
        default=[],
        metavar="COLUMN",
        help="a column of what people liked; may be repeated",
    )
    parser.add_argument(
        "--cons",
        action="append",
        default=[],
        metavar="COLUMN",
        help="a column of what they did not like, or would have otherwise; may be repeated",
    )
    parser.add_argument(
        "--side", choices=SIDES, help="what all texts were asked for: what was good (pros), or was not (cons)"
    )


def fields_of(arguments: argparse.Namespace) -> Fields:
    """The columns of texts that the arguments name; ``text`` is one where no column of a side is named.

    Raises:
        ConfigError: A column is named twice, or one of a side beside a side for all.
    """
    from weft.absa.read import fields

    return fields.fields_of(
        arguments.text_column,
        arguments.side,
        tuple(arguments.pros),
        tuple(arguments.cons),
        getattr(arguments, "by", None),
    )


def check_no_columns(arguments: argparse.Namespace, what: str) -> None:
    """Refuse names of columns where the input has none.

    Args:
        arguments: With the options of :func:`add_columns`, or some of them.
        what: What the input is: ``"a text"``.

    Raises:
        ConfigError: A column is named.
    """
    labelled = hasattr(arguments, "polarity_column")
    defaults: dict[str, str | list[str] | None] = {
        "text_column": "text" if labelled else None,
        "pros": [],
        "cons": [],
        "by": None,
        "target_column": None,
        "aspect_column": "aspect" if labelled else None,
        "polarity_column": "polarity",
    }
    for option, default in defaults.items():
        given = getattr(arguments, option, default)
        if given != default and (option, given) != ("text_column", "text"):
            raise ConfigError(f"--{option.replace('_', '-')} names a column of a table; {what} has none")


def _own_words(arguments: argparse.Namespace) -> list[str]:
    """The lines of the user's list.

    Raises:
        ConfigError: Every word is read as it stands.
        InputError: It is not there, or holds no word.
    """
    path = getattr(arguments, "words", None)
    if path is None:
        return []
    if arguments.as_written:
        raise ConfigError("--words beside --as-written, which reads every word as it stands")
    from weft.absa.read.given import without_comment
    from weft.platform.reading import lines

    found = [word for word in map(without_comment, lines(path)) if any(map(str.isalpha, word))]
    if not found:
        raise InputError("holds no word", where=str(path), hint="a line each")
    return found


def load_asker(arguments: argparse.Namespace) -> Asker:
    """Load the model that the arguments name, on their device and in their precision.

    Raises:
        CheckpointError: No such model, or a damaged one.
        ConfigError: Fewer than one thread, or no such device.
    """
    from weft.absa.use.store import load

    device, words = device_of(arguments), _own_words(arguments)
    asker = load(arguments.model)
    if arguments.as_written:
        asker = asker.as_written()
    if words:
        asker = asker.knowing(words)
    return asker.to(device).compute_in(getattr(arguments, "precision", "fp32"))

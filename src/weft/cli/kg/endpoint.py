"""Arguments of the commands that may ask an endpoint to combine tokens, and what they say of it."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING

from weft.cli.options import Parser

if TYPE_CHECKING:
    from weft.kg.combine.endpoint import Endpoint
    from weft.kg.combine.tally import Tally

_LISTED = 10
"""Refused tails that are printed."""


def add_endpoint(parser: Parser) -> None:
    """Where the endpoint is, what its model is called, how long to wait."""
    group = parser.add_argument_group("an endpoint that combines tokens; nothing is sent anywhere without it")
    group.add_argument(
        "--llm",
        metavar="URL",
        help="let an OpenAI-compatible endpoint (http://…/v1) combine the likely tokens of each tail; its key, if it "
        "needs one, in the environment as WEFT_LLM_KEY",
    )
    group.add_argument(
        "--llm-model", default="default", metavar="NAME", help="the name of its model (default)"
    )
    group.add_argument(
        "--llm-timeout", type=float, default=30.0, metavar="S", help="seconds to wait for it (30)"
    )


def endpoint_of(arguments: argparse.Namespace) -> Endpoint | None:
    """The endpoint that the arguments name; None where they name none.

    Raises:
        ConfigError: A URL that is none, or a time-out that is not positive.
    """
    if arguments.llm is None:
        return None
    from weft.kg.combine.endpoint import Endpoint

    key = os.environ.get("WEFT_LLM_KEY")
    return Endpoint(arguments.llm, arguments.llm_model, arguments.llm_timeout, key)


def report_tally(tally: Tally) -> None:
    """Print what became of the questions, and some of what was refused."""
    counts = ", ".join(f"{count} {reason}" for reason, count in tally.counts.most_common())
    print(f"endpoint: {counts or 'nothing asked'}", file=sys.stderr)
    for item in tally.listed[:_LISTED]:
        print(f"refused: {item}", file=sys.stderr)

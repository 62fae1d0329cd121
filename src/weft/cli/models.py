"""``weft models``: what is shipped, and the card of each model."""

from __future__ import annotations

import json

from weft.cli.options import Parser, add_json
from weft.cli.table import table
from weft.platform.models import describe_models, model_card


def parser() -> Parser:
    """The arguments of ``weft models``."""
    result = Parser("models", "List the shipped models, or print one's card.")
    result.add_argument("name", nargs="?", metavar="NAME", help="print this model's card")
    add_json(result)
    return result


def run(argv: list[str]) -> int:
    """Run ``weft models``."""
    arguments = parser().parse_args(argv)
    if arguments.name is not None:
        card = model_card(arguments.name)
        records = [record for record in describe_models() if record["name"] == arguments.name]
        print(json.dumps({**records[0], "card": card}, indent=1) if arguments.json else card)
    elif arguments.json:
        print(json.dumps(describe_models(), indent=1))
    else:
        rows = [
            (record["name"], f"{record['megabytes']} MB", record["summary"]) for record in describe_models()
        ]
        print(table(("name", ">size", "what it is"), rows))
    return 0

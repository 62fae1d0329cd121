"""``weft kg moves``: which triples' leaves move which tokens of a chunk."""

from __future__ import annotations

import json
from pathlib import Path

from weft.cli.options import Parser, add_json, add_machine, device_of
from weft.cli.table import table
from weft.errors import InputError


def parser() -> Parser:
    """The arguments of ``weft kg moves``."""
    result = Parser("kg moves", "Print how far each triple's leaves move the tokens of a chunk.")
    result.add_argument("dataset", type=Path, metavar="DATASET", help="a folder of weft kg build")
    result.add_argument("--chunk", type=int, default=0, metavar="N", help="which chunk (0)")
    result.add_argument(
        "--model",
        required=True,
        metavar="NAME|DIR",
        help="a shipped model or a folder, of the data set's vocabulary",
    )
    add_json(result)
    add_machine(result)
    return result


def run(argv: list[str]) -> int:
    """Run ``weft kg moves``."""
    arguments = parser().parse_args(argv)
    from weft.kg.evaluate.moves import moves
    from weft.kg.model.leafy_chain import LeafyChainModel
    from weft.kg.represent.dataset import load_dataset
    from weft.platform.models import find_model

    device = device_of(arguments)
    dataset = load_dataset(arguments.dataset)
    if not 0 <= arguments.chunk < len(dataset.corpus.ids):
        raise InputError(
            f"no chunk {arguments.chunk}; there are {len(dataset.corpus.ids)}", where=str(arguments.dataset)
        )
    folder = find_model("kg", arguments.model)
    model = LeafyChainModel.load(folder).to(device).eval()
    dataset.check_model(folder, model.config.num_relations)
    graph, _ = dataset.chain(arguments.chunk, several_per_head=True)
    found = moves(model, graph)
    if arguments.json:
        print(json.dumps(found.record(dataset), ensure_ascii=False))
        return 0
    print(table(("triple", "moves"), found.lines(dataset)))
    return 0

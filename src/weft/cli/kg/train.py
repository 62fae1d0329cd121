"""``weft kg train``: train a model on a data set of code or of text."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from weft.cli.machine import add_machine, device_of
from weft.errors import ConfigError

if TYPE_CHECKING:
    from weft.train import History, TrainConfig

_CODE, _TEXT = (
    {"steps": 2000, "batch_size": 32, "learning_rate": 1e-3},
    {"steps": 375, "batch_size": 4, "learning_rate": 1.5e-3},
)


def parser() -> argparse.ArgumentParser:
    """The arguments of ``weft kg train``."""
    result = argparse.ArgumentParser(
        prog="weft kg train",
        description="Train a leafy chain model on code, or an entity graph model on text; run again, it goes on "
        "where it stopped.",
    )
    result.add_argument("dataset", type=Path, metavar="DATASET", help="made by `weft kg build`")
    result.add_argument(
        "-o", "--output", type=Path, required=True, metavar="MODEL", help="folder of the model"
    )
    result.add_argument(
        "--config", default="weft-kg", help="for code: weft-kg, graphmert or graphmert-official (weft-kg)"
    )
    result.add_argument(
        "--init",
        type=Path,
        metavar="DIR",
        help="for text: start from a BERT directory, whose vocabulary the data set has",
    )
    result.add_argument(
        "--shared-layers",
        type=int,
        default=5,
        metavar="N",
        help="lower layers of --init that stay as they are (5)",
    )
    result.add_argument(
        "--no-graph",
        action="store_true",
        help="for text: the plain encoder without leaves and pair layers: a control",
    )
    result.add_argument(
        "--shuffle-relations", action="store_true", help="give every fact a random relation: a control"
    )
    result.add_argument("--hidden-size", type=int, default=256, metavar="N")
    result.add_argument("--layers", type=int, default=4, metavar="N")
    result.add_argument("--heads", type=int, default=4, metavar="N")
    result.add_argument(
        "--fusion", choices=("hgat", "residual", "embedding", "words", "none"), help="for weft-kg (residual)"
    )
    result.add_argument("--decay", choices=("none", "scores", "weights"), help="for weft-kg (none)")
    result.add_argument("--position", choices=("rotary", "absolute", "none"), help="for weft-kg (rotary)")
    result.add_argument("--steps", type=int, metavar="N", help="updates (2000 for code, 375 for text)")
    result.add_argument(
        "--batch-size",
        type=int,
        metavar="N",
        help="chunks of a batch (32 for code), or passages (4 for text)",
    )
    result.add_argument(
        "--learning-rate", type=float, metavar="RATE", help="highest rate (0.001 for code, 0.0015 for text)"
    )
    result.add_argument("--precision", choices=("fp32", "bf16"), default="fp32")
    result.add_argument(
        "--save-every", type=int, default=200, metavar="N", help="steps between checkpoints (200)"
    )
    result.add_argument(
        "--eval-every", type=int, default=200, metavar="N", help="steps between evaluations (200)"
    )
    result.add_argument("--seed", type=int, default=0, metavar="N")
    result.add_argument("--tensorboard", action="store_true", help="write events for TensorBoard")
    result.add_argument("--half", action="store_true", help="save the model in half precision")
    add_machine(result)
    return result


def run(argv: list[str]) -> int:
    """Run ``weft kg train``."""
    arguments = parser().parse_args(argv)
    from weft.kg.represent.passages import is_text

    text = is_text(arguments.dataset)
    for name, value in (_TEXT if text else _CODE).items():
        if getattr(arguments, name) is None:
            setattr(arguments, name, value)
    history, parameters = _text(arguments) if text else _code(arguments)
    last = history.evaluations[-1] if history.evaluations else {}
    losses = ", ".join(f"{name} {value:.3f}" for name, value in last.items() if name != "step")
    print(f"{arguments.output}: {parameters:,} parameters; {losses}")
    return 0


def _code(arguments: argparse.Namespace) -> tuple[History, int]:
    import torch

    from weft.kg.model.leafy_chain import LeafyChainModel
    from weft.kg.model.training import named_config, train_model
    from weft.kg.represent.dataset import load_dataset
    from weft.kg.represent.sampling import SamplingConfig
    from weft.train.snapshot import seed_everything

    if arguments.init is not None or arguments.no_graph:
        raise ConfigError("--init and --no-graph are for data sets of text; this is one of code")
    config = _config(arguments)
    dataset = load_dataset(arguments.dataset)
    given = {name: getattr(arguments, name) for name in ("fusion", "decay", "position")}
    choices = {name: value for name, value in given.items() if value is not None}
    seed_everything(arguments.seed)
    model = LeafyChainModel(
        named_config(
            arguments.config, dataset, arguments.hidden_size, arguments.layers, arguments.heads, **choices
        )
    )
    sampling = SamplingConfig(
        batch_size=arguments.batch_size,
        shuffle_relations=arguments.shuffle_relations,
        seed=arguments.seed,
    )
    history = train_model(
        model,
        dataset.corpus.to(config.device),
        sampling,
        config,
        directory=arguments.output / "run",
        quiet=arguments.quiet,
    )
    model.save(arguments.output, dataset.tokenizer, dtype=torch.float16 if arguments.half else None)
    return history, sum(parameter.numel() for parameter in model.parameters())


def _text(arguments: argparse.Namespace) -> tuple[History, int]:
    import torch

    from weft.kg.model.entity_training import WITHOUT_GRAPH, from_pretrained, from_scratch, train_entities
    from weft.kg.represent.passages import load_text_dataset
    from weft.train.snapshot import seed_everything

    if arguments.config != "weft-kg" or arguments.fusion or arguments.decay or arguments.position:
        raise ConfigError(
            "--config, --fusion, --decay and --position are for data sets of code; this is one of text"
        )
    config = _config(arguments)
    dataset = load_text_dataset(arguments.dataset)
    choices: dict[str, Any] = dict(WITHOUT_GRAPH) if arguments.no_graph else {}
    seed_everything(arguments.seed)
    if arguments.init is not None:
        model = from_pretrained(dataset, arguments.init, shared_layers=arguments.shared_layers, **choices)
    else:
        sizes = {"hidden_size": arguments.hidden_size, "layers": arguments.layers, "heads": arguments.heads}
        model = from_scratch(dataset, **sizes, **choices)
    history = train_entities(
        model,
        dataset,
        config,
        directory=arguments.output / "run",
        quiet=arguments.quiet,
        shuffle_relations=arguments.shuffle_relations,
    )
    model.save(arguments.output, dataset.tokenizer.tokenizer, dtype=torch.float16 if arguments.half else None)
    dataset.schema.save(arguments.output / "schema.json")
    return history, sum(parameter.numel() for parameter in model.parameters())


def _config(arguments: argparse.Namespace) -> TrainConfig:
    from weft.train import TrainConfig

    return TrainConfig(
        steps=arguments.steps,
        batch_size=arguments.batch_size,
        learning_rate=arguments.learning_rate,
        betas=(0.9, 0.98),
        precision=arguments.precision,
        seed=arguments.seed,
        save_every=arguments.save_every,
        eval_every=arguments.eval_every,
        device=str(device_of(arguments)),
        threads=arguments.threads,
        tensorboard=arguments.tensorboard,
    )

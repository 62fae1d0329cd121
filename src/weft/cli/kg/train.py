"""``weft kg train``: train a leafy chain model on a data set."""

from __future__ import annotations

import argparse
from pathlib import Path

from weft.cli.machine import add_machine, device_of


def parser() -> argparse.ArgumentParser:
    """The arguments of ``weft kg train``."""
    result = argparse.ArgumentParser(
        prog="weft kg train", description="Train a leafy chain model; run again, it goes on where it stopped."
    )
    result.add_argument("dataset", type=Path, metavar="DATASET", help="made by `weft kg build`")
    result.add_argument(
        "-o", "--output", type=Path, required=True, metavar="MODEL", help="folder of the model"
    )
    result.add_argument(
        "--config", default="weft-kg", help="weft-kg, graphmert or graphmert-official (weft-kg)"
    )
    result.add_argument("--hidden-size", type=int, default=256, metavar="N")
    result.add_argument("--layers", type=int, default=4, metavar="N")
    result.add_argument("--heads", type=int, default=4, metavar="N")
    result.add_argument("--fusion", choices=("hgat", "embedding", "words", "none"), help="for weft-kg (hgat)")
    result.add_argument("--decay", choices=("none", "scores", "weights"), help="for weft-kg (none)")
    result.add_argument("--position", choices=("rotary", "absolute", "none"), help="for weft-kg (rotary)")
    result.add_argument("--steps", type=int, default=2000, metavar="N", help="updates (2000)")
    result.add_argument("--batch-size", type=int, default=32, metavar="N", help="chunks of a batch (32)")
    result.add_argument(
        "--learning-rate", type=float, default=1e-3, metavar="RATE", help="highest rate (0.001)"
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
    import torch

    from weft.kg.model.leafy_chain import LeafyChainModel
    from weft.kg.model.training import named_config, train_model
    from weft.kg.represent.dataset import load_dataset
    from weft.kg.represent.sampling import SamplingConfig
    from weft.train import TrainConfig
    from weft.train.snapshot import seed_everything

    device = device_of(arguments)
    dataset = load_dataset(arguments.dataset)
    given = {name: getattr(arguments, name) for name in ("fusion", "decay", "position")}
    choices = {name: value for name, value in given.items() if value is not None}
    seed_everything(arguments.seed)
    model = LeafyChainModel(
        named_config(
            arguments.config, dataset, arguments.hidden_size, arguments.layers, arguments.heads, **choices
        )
    )
    config = TrainConfig(
        steps=arguments.steps,
        batch_size=arguments.batch_size,
        learning_rate=arguments.learning_rate,
        betas=(0.9, 0.98),
        precision=arguments.precision,
        seed=arguments.seed,
        save_every=arguments.save_every,
        eval_every=arguments.eval_every,
        device=str(device),
        threads=arguments.threads,
        tensorboard=arguments.tensorboard,
    )
    sampling = SamplingConfig(batch_size=arguments.batch_size, seed=arguments.seed)
    history = train_model(
        model,
        dataset.corpus.to(device),
        sampling,
        config,
        directory=arguments.output / "run",
        quiet=arguments.quiet,
    )
    model.save(arguments.output, dataset.tokenizer, dtype=torch.float16 if arguments.half else None)
    last = history.evaluations[-1] if history.evaluations else {}
    parameters = sum(parameter.numel() for parameter in model.parameters())
    losses = ", ".join(f"{name} {value:.3f}" for name, value in last.items() if name != "step")
    print(f"{arguments.output}: {parameters:,} parameters; {losses}")
    return 0

"""Train `bcsd-small`: embeddings of functions, in an hour of one or two CPU cores.

    python recipes/bcsd_small.py --data functions.parquet --out FOLDER

DATA is what `weft bcsd dataset build examples/bcsd/dataset.yaml` made. Training has two parts. In the
second the branches learn without the token set as well, three quarters of a batch come out of one pair of
binaries, and the rate falls to nothing. A run that was cut off goes on where it stopped. FOLDER/second holds the
model in half precision, with the idf of the training packages and the score weights tuned on the validation
packages. The test packages are not read here: `weft bcsd eval functions.parquet --model FOLDER/second` does that.

With a GPU (not run): --hidden-size 384 --layers 6 --groups 512 --scale 40.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from weft.bcsd.learn.sampling import SamplingConfig
from weft.bcsd.learn.setup import Setup
from weft.bcsd.learn.training import Learning
from weft.bcsd.model.config import ModelConfig
from weft.train import TrainConfig, run_setup

RATE = 1.3e-3


@dataclass(frozen=True)
class Part:
    """One part of the training.

    Args:
        name: Its folder.
        steps: Updates.
        peak: Share of :data:`RATE` after warm-up.
        final_rate: Share of the peak at the end.
        hard: Share of a batch from one pair of binaries.
        branches: Weight of the loss on the embedding without the token set.
        drop_tokens: Share of the token sets' entries left out.
    """

    name: str
    steps: int
    peak: float
    final_rate: float
    hard: float
    branches: float
    drop_tokens: float


PARTS = (
    Part("first", 559, 1.0, 0.7, 0.5, 0.0, 0.1),
    Part("second", 720, 0.7, 0.01, 0.75, 0.5, 0.2),
)


def setup(number: int, arguments: argparse.Namespace) -> Setup:
    """What one part needs."""
    part = PARTS[number]
    return Setup(
        data=arguments.data,
        out=arguments.out / part.name,
        model=ModelConfig(
            hidden_size=arguments.hidden_size,
            dimension=2 * arguments.hidden_size,
            layers=arguments.layers,
            intermediate_size=2 * arguments.hidden_size,
        ),
        sampling=SamplingConfig(groups=arguments.groups, hard=part.hard),
        learning=Learning(branch_weight=part.branches, drop_tokens=part.drop_tokens),
        train=TrainConfig(
            steps=round(part.steps * arguments.scale),
            batch_size=2 * arguments.groups,
            learning_rate=RATE * part.peak,
            warmup=0.05,
            final_rate=part.final_rate,
            betas=(0.9, 0.98),
            weight_decay=0.02,
            precision="bf16",
            seed=arguments.seed + number,
            threads=1,
            device=arguments.device,
            metric="recall",
            mode="max",
            restore_best=False,
            eval_every=200,
            save_every=50,
            keep=1,
        ),
        begin=arguments.out / PARTS[number - 1].name if number else None,
    )


def main(argv: list[str]) -> int:
    """Train the parts, each from where the one before it ended."""
    parser = argparse.ArgumentParser(description="Train bcsd-small.")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--parts", nargs="*", choices=[part.name for part in PARTS])
    parser.add_argument("--scale", type=float, default=1.0, help="of the steps of every part")
    parser.add_argument("--groups", type=int, default=128)
    parser.add_argument("--hidden-size", type=int, default=128)
    parser.add_argument("--layers", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="auto")
    arguments = parser.parse_args(argv)
    for number, part in enumerate(PARTS):
        if arguments.parts is None or part.name in arguments.parts:
            begin = time.time()
            done = run_setup(setup(number, arguments))
            seconds = f"{time.time() - begin:.0f} s"
            print(part.name, done.history.step, seconds, done.results, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

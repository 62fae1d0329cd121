"""Train `bcsd-small`: embeddings of functions, in an hour of one or two CPU cores.

    python recipes/bcsd_small.py --data functions.parquet --out FOLDER

DATA is what `weft bcsd dataset build examples/bcsd/dataset.yaml` made. Training has two parts. In
the second the branches learn without the token set as well, three quarters of a batch come out of one pair of
binaries, and the rate falls to nothing. A run that was cut off goes
on where it stopped. FOLDER/second holds the model in half precision, with the idf of the training packages
and the score weights tuned on the validation packages. The test packages
are not read here: `weft bcsd eval functions.parquet --model FOLDER/second` does that.

With a GPU (not run): --hidden-size 384 --layers 6 --groups 512 --first-steps 20000 --second-steps 40000.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from weft.bcsd.learn.sampling import SamplingConfig
from weft.bcsd.learn.setup import Setup, run_setup
from weft.bcsd.learn.training import Learning
from weft.bcsd.model.config import ModelConfig
from weft.train import TrainConfig

RATE = 1.3e-3
HANDOVER = 0.7
"""Share of the rate at which the first part ends and the second begins."""


def setup(part: int, arguments: argparse.Namespace) -> Setup:
    """One part: the rate falls through both as through one."""
    name = ("first", "second")[part]
    return Setup(
        data=arguments.data,
        output=arguments.out / name,
        model=ModelConfig(
            hidden_size=arguments.hidden_size,
            dimension=2 * arguments.hidden_size,
            layers=arguments.layers,
            intermediate_size=2 * arguments.hidden_size,
        ),
        sampling=SamplingConfig(groups=arguments.groups, hard=0.75 if part else 0.5),
        learning=Learning(branch_weight=0.5 if part else 0.0, drop_tokens=0.2 if part else 0.1),
        train=TrainConfig(
            steps=(arguments.first_steps, arguments.second_steps)[part],
            batch_size=2 * arguments.groups,
            learning_rate=RATE * (HANDOVER if part else 1.0),
            warmup=0.02 if part else 0.05,
            final_rate=0.01 if part else HANDOVER,
            betas=(0.9, 0.98),
            weight_decay=0.02,
            precision="bf16",
            seed=arguments.seed + part,
            threads=1,
            device=arguments.device,
            metric="recall",
            mode="max",
            restore_best=False,
            eval_every=200,
            save_every=50,
            keep=1,
        ),
        begin=arguments.out / "first" if part else None,
    )


def main(argv: list[str]) -> int:
    """Train one part or both."""
    parser = argparse.ArgumentParser(description="Train bcsd-small.")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--parts", choices=("first", "second", "both"), default="both")
    parser.add_argument("--first-steps", type=int, default=550)
    parser.add_argument("--second-steps", type=int, default=1000)
    parser.add_argument("--groups", type=int, default=128)
    parser.add_argument("--hidden-size", type=int, default=128)
    parser.add_argument("--layers", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="auto")
    arguments = parser.parse_args(argv)
    for part, name in enumerate(("first", "second")):
        if arguments.parts in (name, "both"):
            begin = time.time()
            outcome = run_setup(setup(part, arguments), quiet=True)
            print(
                name,
                outcome.history.step,
                f"{time.time() - begin:.0f} s",
                outcome.weights,
                outcome.validation,
            )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

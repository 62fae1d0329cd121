"""Teach `bcsd-small` further processors and C++, in a quarter of an hour of a core.

    python recipes/bcsd_wide.py --data wide.parquet --begin FOLDER --out OUT

DATA is what `weft bcsd dataset build examples/bcsd/wide.yaml …` made (the file has the whole command), FOLDER what
`recipes/bcsd_small.py` left in its `second`. One part, as its second one: three quarters of a batch come out of one
pair of binaries, the branches learn without the token set as well, the rate falls to nothing. OUT holds the model in
half precision with the idf of the new training packages and the score weights of the model it began from. A run that
was cut off goes on where it stopped. The test packages are not read here.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from weft.bcsd.learn.sampling import SamplingConfig
from weft.bcsd.learn.setup import Setup
from weft.bcsd.learn.training import Learning
from weft.bcsd.use.store import load
from weft.train import TrainConfig, run_setup

STEPS = 650
RATE = 9.1e-4


def setup(arguments: argparse.Namespace) -> Setup:
    """What the training needs."""
    return Setup(
        data=arguments.data,
        out=arguments.out,
        model=load(arguments.begin).network.config,
        sampling=SamplingConfig(groups=arguments.groups, hard=0.75),
        learning=Learning(branch_weight=0.5, drop_tokens=0.2),
        train=TrainConfig(
            steps=arguments.steps,
            batch_size=2 * arguments.groups,
            learning_rate=RATE,
            warmup=0.05,
            final_rate=0.01,
            betas=(0.9, 0.98),
            weight_decay=0.02,
            precision="bf16",
            seed=arguments.seed,
            threads=1,
            device=arguments.device,
            metric="recall",
            mode="max",
            restore_best=False,
            eval_every=arguments.steps,
            save_every=50,
            keep=1,
        ),
        begin=arguments.begin,
        tune=False,
    )


def main(argv: list[str]) -> int:
    """Train."""
    parser = argparse.ArgumentParser(description="Teach bcsd-small further processors and C++.")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--begin", type=Path, required=True, help="a model's folder")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--groups", type=int, default=128)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="auto")
    arguments = parser.parse_args(argv)
    begin = time.time()
    done = run_setup(setup(arguments))
    print(done.history.step, f"{time.time() - begin:.0f} s", done.results, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

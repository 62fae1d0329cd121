"""Training: a config, batches of similar length, one loop, checkpoints that resume exactly.

config  = TrainConfig(epochs=3)
batches = Batches(LengthBuckets(lengths, config.batch_size, seed=config.seed), collate, seed=config.seed)
history = fit(model, batches, loss_step, config, evaluate=evaluate, directory=folder)

A tool describes its training as a :class:`Course`, and :func:`run_setup` runs it.
"""

from weft.train.batching import Batches, BatchSource, LengthBuckets, Plan, pad
from weft.train.config import TrainConfig
from weft.train.course import Course, Outcome, run_setup
from weft.train.loop import History, fit

__all__ = [
    "BatchSource",
    "Batches",
    "Course",
    "History",
    "LengthBuckets",
    "Outcome",
    "Plan",
    "TrainConfig",
    "fit",
    "pad",
    "run_setup",
]


def __dir__() -> list[str]:
    return __all__

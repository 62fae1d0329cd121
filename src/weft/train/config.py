"""How to train: one frozen dataclass, checked when it is made."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, fields
from typing import Any, Literal

from weft.errors import ConfigError
from weft.platform.ranges import is_number, require

Schedule = Literal["cosine", "linear", "constant"]
Precision = Literal["fp32", "bf16"]
Mode = Literal["min", "max"]


@dataclass(frozen=True)
class TrainConfig:
    """What :func:`weft.train.loop.fit` needs to know beside the model, the batches and the loss.

    Exactly one of ``epochs`` and ``steps`` is given. A *step* is one update of the parameters.

    Args:
        epochs: Passes over the batches.
        steps: Updates, over as many epochs as they take.
        batch_size: Examples of one batch over all processes; the batches are made by the caller, who
            reads it here.
        learning_rate: The rate after warm-up, for the top of the model.
        weight_decay: Decoupled decay; never on biases, norms and other tensors of one dimension.
        betas: AdamW's decay rates of the two moments.
        epsilon: AdamW's ε.
        warmup: Share of all steps in which the rate rises linearly from 0.
        schedule: What the rate does after warm-up.
        final_rate: Share of ``learning_rate`` at which ``cosine`` and ``linear`` end.
        layer_decay: Rate of an encoder layer as a share of the rate of the layer above it; 1 is off.
        accumulation: Batches of one step.
        max_grad_norm: Gradients longer than this are shortened to it; None leaves them.
        precision: ``bf16`` computes under autocast with float32 parameters.
        patience: Evaluations without improvement after which training stops; None never stops.
        metric: The entry of the evaluation that decides what is best.
        mode: Whether a lower or a higher ``metric`` is better.
        restore_best: Whether the model ends with the weights of the best evaluation.
        seed: Of every random draw.
        log_every: Steps between log records.
        eval_every: Steps between evaluations; None evaluates at the end of every epoch.
        save_every: Steps between checkpoints; None saves at the end of every epoch.
        keep: Checkpoints that are kept.
        device: ``auto`` is an accelerator if there is one; else a torch device such as ``cpu``.
        threads: Of torch on the CPU; None leaves torch's own choice.
        processes: How many processes must take part; None accepts what the launcher started.
        pin_memory: Copy batches through pinned memory, for an accelerator.
        tensorboard: Write TensorBoard events beside the log.

    Raises:
        ConfigError: A value that breaks its rule: field, value and rule are named.
    """

    epochs: int | None = None
    steps: int | None = None
    batch_size: int = 32
    learning_rate: float = 5e-5
    weight_decay: float = 0.01
    betas: tuple[float, float] = (0.9, 0.999)
    epsilon: float = 1e-8
    warmup: float = 0.06
    schedule: Schedule = "cosine"
    final_rate: float = 0.0
    layer_decay: float = 1.0
    accumulation: int = 1
    max_grad_norm: float | None = 1.0
    precision: Precision = "fp32"
    patience: int | None = None
    metric: str = "loss"
    mode: Mode = "min"
    restore_best: bool = True
    seed: int = 0
    log_every: int = 10
    eval_every: int | None = None
    save_every: int | None = None
    keep: int = 2
    device: str = "auto"
    threads: int | None = None
    processes: int | None = None
    pin_memory: bool = False
    tensorboard: bool = False

    def __post_init__(self) -> None:
        if (self.epochs is None) == (self.steps is None):
            raise ConfigError(
                f"TrainConfig.epochs is {self.epochs} and TrainConfig.steps is {self.steps}; give exactly one",
                hint="a tool has one of them by itself: set that one to null beside the other",
            )
        for name in _COUNTS:
            value = getattr(self, name)
            if value is not None:
                require(self, name, type(value) is int and value >= 1, "an integer of at least 1")
        seeded = type(self.seed) is int and 0 <= self.seed < 1 << 63
        require(self, "seed", seeded, "an integer of at least 0 and below 2^63")
        for name in ("learning_rate", "epsilon"):
            require(self, name, is_number(getattr(self, name)) and getattr(self, name) > 0, "above 0")
        require(self, "weight_decay", is_number(self.weight_decay) and self.weight_decay >= 0, "at least 0")
        betas: object = self.betas
        require(
            self,
            "betas",
            isinstance(betas, tuple | list)
            and len(betas) == 2
            and all(is_number(beta) and 0 <= beta < 1 for beta in betas),
            "two numbers in [0, 1)",
        )
        object.__setattr__(
            self, "betas", tuple(self.betas)
        )  # a list would differ from what a checkpoint says
        require(self, "warmup", is_number(self.warmup) and 0 <= self.warmup < 1, "in [0, 1)")
        require(self, "final_rate", is_number(self.final_rate) and 0 <= self.final_rate <= 1, "in [0, 1]")
        require(self, "layer_decay", is_number(self.layer_decay) and 0 < self.layer_decay <= 1, "in (0, 1]")
        if self.max_grad_norm is not None:
            require(
                self, "max_grad_norm", is_number(self.max_grad_norm) and self.max_grad_norm > 0, "above 0"
            )
        for name, choices in _CHOICES.items():
            require(self, name, getattr(self, name) in choices, f"one of {', '.join(choices)}")
        require(self, "metric", bool(self.metric), "the name of an entry of the evaluation")

    def check_metric(self, given: Collection[str], better: Mode | None = None) -> None:
        """Refuse a ``metric`` that an evaluation does not give, and a ``mode`` that keeps the worst weights.

        Args:
            given: The names of what it gives.
            better: Which of them are better, the lower or the higher; any ``mode`` may be meant where None.

        Raises:
            ConfigError: It is none of them, or ``mode`` is the other one.
        """
        if self.metric not in given:
            raise ConfigError(
                f"TrainConfig.metric is {self.metric!r}; the evaluation gives {', '.join(given) or 'nothing'}"
            )
        if better is not None and self.mode != better:
            which = "lower" if better == "min" else "higher"
            raise ConfigError(
                f"TrainConfig.mode is {self.mode!r}, which would keep the worst weights: of {self.metric!r} the "
                f"{which} is better",
                hint=f"train.mode: {better}, or leave it out",
            )

    def differing(self, other: dict[str, Any]) -> list[str]:
        """The fields in which ``other``, a config as a dictionary, would train another model.

        Fields that only steer logging, saving or the machine are left out.
        """
        mine = {
            field.name: getattr(self, field.name) for field in fields(self) if field.name not in _OPERATIONAL
        }
        # JSON has lists where Python has tuples.
        theirs = {name: tuple(value) if isinstance(value, list) else value for name, value in other.items()}
        return [name for name in mine if name not in theirs or mine[name] != theirs[name]]

    def factor(self, step: int, total: int) -> float:
        """Share of ``learning_rate`` for update ``step`` of ``total``, counted from 0.

        w = ⌈warmup · total⌉        t = (step − w) / (total − w)
        step < w: (step + 1) / (w + 1)
        cosine:   f + (1 − f) · (1 + cos πt) / 2        f = final_rate
        linear:   f + (1 − f) · (1 − t)
        constant: 1
        """
        warm = math.ceil(self.warmup * total)
        if step < warm:
            return (step + 1) / (warm + 1)
        if self.schedule == "constant":
            return 1.0
        done = min(1.0, (step - warm) / max(1, total - warm))
        left = 1 - done if self.schedule == "linear" else (1 + math.cos(math.pi * done)) / 2
        return self.final_rate + (1 - self.final_rate) * left


_COUNTS = (
    "epochs",
    "steps",
    "batch_size",
    "accumulation",
    "patience",
    "log_every",
    "eval_every",
    "save_every",
    "keep",
    "threads",
    "processes",
)
_CHOICES = {
    "schedule": ("cosine", "linear", "constant"),
    "precision": ("fp32", "bf16"),
    "mode": ("min", "max"),
}
_OPERATIONAL = frozenset(
    {"log_every", "save_every", "keep", "device", "threads", "pin_memory", "tensorboard", "processes"}
)

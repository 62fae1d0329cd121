"""One training as a tool describes it, and the one way to run it: fit, finish, report.

A tool's settings are a frozen dataclass with ``out``, ``train`` and ``course()``; the command ``weft TOOL train`` reads
it from YAML and flags and hands it to :func:`run_setup`. All else is here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from torch import nn

from weft.attention.operation import cpu_multiplies_bf16
from weft.encoder.checkpoint.record import check_replaceable
from weft.errors import ConfigError, counted
from weft.platform.machine import device_named
from weft.platform.models import within_memory
from weft.train.batching import BatchSource
from weft.train.config import Mode, TrainConfig
from weft.train.distributed import World
from weft.train.identity import PLACES, identity_of
from weft.train.loop import Evaluate, LossStep, fit
from weft.train.run import History

Model = TypeVar("Model", bound=nn.Module)
Batch = TypeVar("Batch")
Figures = Mapping[str, float]

_MOST = 1 << 20
"""Of anything that settings give the size of: a width, a number of layers, of examples in a batch, of tokens."""
_AMOUNTS = frozenset({"epochs", "steps", "patience", "log_every", "eval_every", "save_every", "seed"})


@dataclass(frozen=True, eq=False)
class Course(Generic[Model, Batch]):
    """One training, ready to run.

    Args:
        model: Trained in place.
        batches: What it is shown.
        loss: See :func:`weft.train.loop.fit`.
        config: How to train.
        evaluate: Likewise; nothing is evaluated without.
        finish: Called once with what training did, in the first process alone: what a tool fits and saves in the end.
            It returns the figures to report.
        problems: Lines about data that could not be used.
        notes: Lines about data that can be used and may not be what was meant, to be read before the training.
        measures: The names of what ``evaluate`` gives, where they are known before: a metric that is none of them is
            refused before the first step, and not after an epoch.
        better: Which of them are better, the lower (``min``) or the higher; the other as ``config.mode``, which would
            keep the worst weights, is refused likewise. Not known where None.
    """

    model: Model
    batches: BatchSource[Batch]
    loss: LossStep[Model, Batch]
    config: TrainConfig
    evaluate: Evaluate[Model] | None = None
    finish: Callable[[History], Figures] = field(default=lambda history: {})
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    measures: tuple[str, ...] = ()
    better: Mode | None = None

    def run(
        self,
        directory: str | Path | None = None,
        *,
        resume: bool | str = True,
        quiet: bool = True,
        identity: Mapping[str, str] | None = None,
        tell: Callable[[str], None] | None = None,
    ) -> Outcome:
        """Train and finish; see :func:`weft.train.loop.fit` for what is saved, resumed and raised.

        ``tell`` is called with how the training ended, before it is finished.
        """
        if self.evaluate is not None and self.measures:
            self.config.check_metric(self.measures, self.better)
        history = fit(
            self.model,
            self.batches,
            self.loss,
            self.config,
            evaluate=self.evaluate,
            directory=directory,
            resume=resume,
            quiet=quiet,
            identity=identity,
        )
        if not World.launched().first:
            return Outcome(history, {}, self.problems)
        if tell is not None:
            tell(_ended(history, self.config))
        return Outcome(history, self.finish(history), self.problems)


@dataclass(frozen=True)
class Outcome:
    """What a training gave.

    Args:
        history: Of its steps.
        results: The figures of its end, by name; empty in all processes but the first.
        problems: Lines about data that could not be used.
    """

    history: History
    results: Figures
    problems: tuple[str, ...]


class Setup(Protocol):
    """What describes a training of a tool: a frozen dataclass with these, and whatever else the tool asks."""

    @property
    def out(self) -> Path:
        """The model's folder; checkpoints and log lie in ``run`` in it."""
        ...

    @property
    def train(self) -> TrainConfig:
        """How to train."""
        ...

    def course(self) -> Course[Any, Any]:
        """Read the data, build the model."""
        ...


def run_setup(setup: Setup, *, quiet: bool = True, tell: Callable[[str], None] | None = None) -> Outcome:
    """Train as a tool's settings say; one that was interrupted goes on where it stopped.

    Args:
        setup: The settings.
        quiet: No progress bar.
        tell: Called in the first process alone: before the first step with each of the course's notes, with what ends
            the training early, and with what makes this machine slow; behind the last one with how it ended.

    Raises:
        ConfigError: A size that nobody means; a folder that holds what the training begins with or learns from, or
            another program's model; a run in that folder that began with other settings or data.
        LimitError: A model that does not fit into this machine's memory.
    """
    _check_sizes(setup)
    _check_out(setup, setup.out)
    check_replaceable(setup.out)
    with within_memory():
        course = setup.course()
    if tell is not None and World.launched().first:
        for line in (*course.notes, *_early(course), *_slow(setup.train)):
            tell(line)
    return course.run(setup.out / "run", quiet=quiet, identity=identity_of(setup), tell=tell)


def _early(course: Course[Any, Any]) -> list[str]:
    """What ends a training before its last step."""
    config = course.config
    if config.patience is None or course.evaluate is None:
        return []
    return [
        f"ends early where {config.metric} is not better in {counted(config.patience, 'evaluation')} (train.patience)"
    ]


def _ended(history: History, config: TrainConfig) -> str:
    """At which step a training ended, why, whose weights stay, and that it is not done yet."""
    done = f"{counted(history.step, 'step')} done"
    if history.stopped == "early":
        done += f": {config.metric} was not better in the last {counted(config.patience or 0, 'evaluation')}"
    if config.restore_best and history.best_step is not None and history.best is not None:
        done += f"; the weights of step {history.best_step} are kept ({config.metric} {history.best:.4g})"
    return f"{done}. Now what is left is fitted, measured and saved"


def _slow(config: TrainConfig) -> list[str]:
    """What is asked of this machine that it does only by a long way round."""
    if config.precision == "bf16" and device_named(config.device).type == "cpu" and not cpu_multiplies_bf16():
        return [
            "this processor has no instructions for bfloat16, and is many times as slow in it: `--train.precision fp32`"
        ]
    return []


def _check_out(settings: Any, out: Path) -> None:
    """Refuse to write a model over the start, the teacher or the data that it is made of."""
    for each in fields(settings):
        value = getattr(settings, each.name)
        if is_dataclass(value):
            _check_out(value, out)
        for given in value if isinstance(value, list | tuple) else (value,):
            if each.name in PLACES and isinstance(given, str | Path) and _same_folder(Path(given), out):
                raise ConfigError(
                    f"out is the folder of {each.name}, which would be written over",
                    where=str(out),
                    hint="choose another folder for the model",
                )


def _same_folder(one: Path, other: Path) -> bool:
    try:
        return one.is_dir() and other.is_dir() and one.samefile(other)
    except (OSError, ValueError):  # too long for a path, or none at all
        return False


def _check_sizes(settings: Any, before: str = "") -> None:
    """Refuse what nobody means, before anything is allocated; how long a run takes is for its user to say."""
    for each in fields(settings):
        value = getattr(settings, each.name)
        if is_dataclass(value):
            _check_sizes(value, f"{before}{each.name}.")
        elif type(value) is int and value > _MOST and each.name not in _AMOUNTS:
            raise ConfigError(f"{before}{each.name} is {value}; it must be at most {_MOST:,}")

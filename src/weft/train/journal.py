"""What a run says while it runs: a JSONL log, a progress bar with the time left, TensorBoard if asked."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import torch
from torch import Tensor

from weft.errors import ConfigError, MissingExtraError, NonFiniteError
from weft.platform.files import append_text, make_folder, write_text
from weft.platform.reading import lines
from weft.train.distributed import World

if TYPE_CHECKING:
    from rich.progress import Progress


RESERVED = frozenset({"step", "epoch", "learning_rate", "grad_norm", "seconds"})
"""Entries of a record that the run itself writes."""

WAY_OUT = "lower the learning rate, lengthen the warm-up, or look for bad values in that batch"
"""Where a number of a training is none."""


class Journal:
    """Collects the losses on the device and reads them only when a record is due.

    Reading a loss waits for the accelerator, so the loop hands over tensors and the journal asks for all
    of them at once; that is also when a loss that is not finite is found, and named by its step.

    Args:
        directory: Of ``log.jsonl`` and the TensorBoard events; None writes neither.
        first_step: Steps already done; later records, of a run that was killed, are dropped.
        total: Steps of the whole run.
        steps_per_epoch: To name the epoch.
        world: Values are averaged over those of its processes that have them; its first process writes.
        quiet: No progress bar; there is none either where standard error is not a terminal.
        tensorboard: Write TensorBoard events.

    Raises:
        InputError: The log of an earlier call cannot be read.
        OutputError: The log cannot be written.
        ConfigError: ``tensorboard`` is asked for, without a directory.
        MissingExtraError: ``tensorboard`` is asked for and not installed.
    """

    def __init__(
        self,
        directory: Path | None,
        *,
        first_step: int,
        total: int,
        steps_per_epoch: int,
        world: World,
        quiet: bool = False,
        tensorboard: bool = False,
    ) -> None:
        self.steps_per_epoch = steps_per_epoch
        self.world = world
        self.losses: list[float] = []
        self._step = first_step
        self._pending: list[dict[str, Tensor]] = []
        self._rate = 0.0
        self._started = time.monotonic()
        if tensorboard and directory is None:
            raise ConfigError("TrainConfig.tensorboard is True, and there is no directory for the events")
        writes = directory is not None and world.first
        self._path = directory / "log.jsonl" if directory is not None and writes else None
        if self._path is not None:
            _cut_log(self._path, first_step)
        self._events = _event_writer(directory) if tensorboard and directory is not None and writes else None
        self._bar = _bar(quiet or not world.first)
        self._task = self._bar.add_task("train", total=total, completed=first_step, loss="")

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()
        if self._events is not None:
            self._events.close()

    def step(self, values: Mapping[str, Tensor], rate: float) -> None:
        """Note one step's values, scalar tensors on the device; ``loss`` is among them."""
        self._pending.append(dict(values))
        self._rate = rate
        self._bar.advance(self._task)

    def flush(self) -> None:
        """Read what was noted, check it, and write one record: the mean over the steps since the last.

        Raises:
            NonFiniteError: A value that is not finite; its name and step are given.
        """
        if not self._pending:
            return
        steps = self._read()
        means: dict[str, float] = {}
        broken: list[tuple[int, str, float]] = []
        for name in dict.fromkeys(name for values in steps for name in values):
            read = [
                (step, values[name]) for step, values in enumerate(steps, self._step + 1) if name in values
            ]
            broken.extend((step, name, number) for step, number in read if not math.isfinite(number))
            means[name] = sum(number for _, number in read) / len(read)
            if name == "loss":
                self.losses.extend(number for _, number in read)
        if broken:
            step, name, number = min(broken, key=lambda entry: entry[0])
            raise NonFiniteError(
                f"{name} is {number} at step {step}",
                where="training",
                hint=WAY_OUT,
            )
        self._step += len(self._pending)
        self._pending.clear()
        self._bar.update(self._task, loss=f"loss {means['loss']:.4g}")
        self.record({**means, "learning_rate": self._rate})

    def _read(self) -> list[dict[str, float]]:
        """The values of each step, asked of the device at once, as means over the processes that have them.

        What one process has and another has not, as of a batch without pairs, must not be awaited by some alone.
        """
        stacked = torch.stack([value.float() for values in self._pending for value in values.values()])
        numbers = iter(stacked.tolist())
        own = [{name: next(numbers) for name in values} for values in self._pending]
        means: list[dict[str, float]] = []
        for together in zip(*self.world.gather(own), strict=True):
            found: dict[str, list[float]] = {}
            for values in together:
                for name, number in values.items():
                    found.setdefault(name, []).append(number)
            means.append({name: sum(given) / len(given) for name, given in found.items()})
        return means

    def record(self, values: Mapping[str, Any]) -> None:
        """Write one record about the step reached; a figure of an evaluation that is not finite is null in the log."""
        seconds = round(time.monotonic() - self._started, 3)
        epoch = (self._step - 1) // self.steps_per_epoch
        if self._path is not None:
            told = {"step": self._step, "epoch": epoch, **values, "seconds": seconds}
            # NaN and infinity are no JSON.
            line = {name: None if _is_endless(value) else value for name, value in told.items()}
            append_text(self._path, json.dumps(line, allow_nan=False) + "\n")
        if self._events is not None:
            for name, value in values.items():
                if isinstance(value, int | float):
                    self._events.add_scalar(name, value, self._step)


def _is_endless(value: object) -> bool:
    return isinstance(value, float) and not math.isfinite(value)


def _cut_log(path: Path, first_step: int) -> None:
    """Drop the records of steps that will be done again, and a line cut off by a kill."""
    make_folder(path.parent)
    kept = [line.strip() for line in lines(path) if _step_of(line) <= first_step] if path.exists() else []
    write_text(path, "".join(line + "\n" for line in kept))


def _step_of(line: str) -> float:
    try:
        return int(json.loads(line)["step"])
    except (ValueError, KeyError, TypeError):
        return math.inf


def _bar(quiet: bool) -> Progress:
    # Whoever answers with a model loads this module as well, and shows no bar.
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    console = Console(stderr=True)
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[loss]}"),
        console=console,
        disable=quiet or not console.is_terminal,
    )


def _event_writer(directory: Path) -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError as error:
        raise MissingExtraError("tensorboard", "tensorboard") from error
    return SummaryWriter(str(directory / "tensorboard"))

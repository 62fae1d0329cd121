"""The training loop: one function, for every model of the house.

It reads from top to bottom: join the processes, take the run up where it stands, then step by step
gradients, update, and what is due (log, evaluation, checkpoint, stop).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from itertools import islice
from pathlib import Path
from typing import Any, Generic, TypeVar

import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from weft.errors import (
    CheckpointError,
    ConfigError,
    InputError,
    Interrupted,
    NonFiniteError,
    counted,
    with_article,
)
from weft.platform.files import make_folder
from weft.platform.machine import use_threads
from weft.platform.processes.lock import locked
from weft.train.batching import BatchSource, to_device
from weft.train.config import TrainConfig
from weft.train.distributed import World, join
from weft.train.journal import RESERVED, WAY_OUT, Journal
from weft.train.optimizer import build_optimizer, set_learning_rate
from weft.train.run import History, Run
from weft.train.snapshot import seed_everything
from weft.train.stop import stop_on_signals

Model = TypeVar("Model", bound=nn.Module)
Batch = TypeVar("Batch")
LossStep = Callable[[Model, Batch], Mapping[str, Tensor]]
Evaluate = Callable[[Model], Mapping[str, float]]


def fit(
    model: Model,
    batches: BatchSource[Batch],
    loss_step: LossStep[Model, Batch],
    config: TrainConfig,
    *,
    evaluate: Evaluate[Model] | None = None,
    directory: str | Path | None = None,
    resume: bool | str = True,
    quiet: bool = False,
    identity: Mapping[str, str] | None = None,
) -> History:
    """Train a model.

        for every step:  g = 1/n · Σ_{n batches} ∇ loss_step(model, batch)["loss"]
                         g = g · min(1, max_grad_norm / ‖g‖)
                         AdamW(g, learning_rate · factor(step))

    A run is fixed by model, batches, config and seed: interrupted and resumed, it gives the same losses
    as in one piece. In several processes (``torchrun``) each is given its share of every batch, gradients
    are averaged, and the first process evaluates and writes.

    Args:
        model: Moved to the config's device, trained in place.
        batches: ``len(batches)`` batches an epoch; see :class:`weft.train.batching.Batches`.
        loss_step: ``loss_step(model, batch) -> {"loss": scalar, …}``; the other entries, scalars or numbers, are
            logged. The batch is already on the device. Means of unequal count (masked tokens) are averaged as
            they are.
        config: How to train.
        evaluate: ``evaluate(model) -> {name: number}``, in ``eval`` mode and without gradients; its
            random draws do not touch those of training. ``config.metric`` names the entry that decides
            which weights are best, and the model ends with those.
        directory: Of checkpoints, the best weights and the log; None keeps nothing on disk.
        resume: Go on from the newest checkpoint in ``directory``, or from the one named; False insists on
            a directory without any.
        quiet: No progress bar.
        identity: What model, batches and loss depend on, see :func:`weft.train.identity.identity_of`: kept in the
            checkpoints, and compared where the run is taken up.

    Returns:
        The losses of this call's steps and all evaluations.

    Raises:
        NonFiniteError: A loss, gradient norm or metric that is not finite; step and name are given.
        Interrupted: SIGINT or SIGTERM came; the step was finished and, with a directory, saved.
        ConfigError: A checkpoint made under another config or with another identity, a metric that ``evaluate``
            does not give, a number of processes other than expected, batches that are cut for another number, a
            loss step that gives no such entries.
        CheckpointError: A damaged checkpoint (the one before it is named), a directory in which another process
            trains.
        OutputError: A directory that cannot be written, a full disk.
        InputError: No batches, fewer than promised, or something else than batches; nothing to train.
    """
    use_threads(config.threads)
    place = None if directory is None else Path(directory)
    world, device = join(config.device, config.processes)
    steps_per_epoch = _steps_per_epoch(batches, config, world)
    total = config.steps if config.steps is not None else (config.epochs or 0) * steps_per_epoch
    seed_everything(config.seed + world.rank)
    model.to(device)
    optimizer = build_optimizer(model, config, device)
    run = Run(
        model, optimizer, config, world, device, place, batches_per_epoch=len(batches), identity=identity
    )
    run.resume(resume)
    step_module = _over_processes(_LossModule(model, loss_step), world, device)
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    precision = torch.autocast(device.type, torch.bfloat16, enabled=config.precision == "bf16")

    with (
        _alone(place, world),
        closing(_groups(batches, config.accumulation, steps_per_epoch, run.step)) as groups,
        Journal(
            place,
            first_step=run.step,
            total=total,
            steps_per_epoch=steps_per_epoch,
            world=world,
            quiet=quiet,
            tensorboard=config.tensorboard,
        ) as journal,
        stop_on_signals() as request,
    ):
        model.train()
        while run.step < total and not run.finished:
            group = next(groups)
            rate = config.learning_rate * config.factor(run.step, total)
            set_learning_rate(optimizer, rate)
            optimizer.zero_grad(set_to_none=True)
            noted: dict[str, list[Tensor]] = {}
            for number, batch in enumerate(group, 1):
                batch = to_device(batch, device, config.pin_memory)
                with _synchronised(step_module, number == len(group)):
                    with _told_by_step(run.step + 1, journal, world), precision:
                        values = step_module(batch)
                    (values["loss"] / len(group)).backward()
                for name, value in values.items():
                    noted.setdefault(name, []).append(value.detach().float())
            # An entry that some batches do not have is the mean of those that have it.
            means = {name: torch.stack(found).mean() for name, found in noted.items()}
            # The norm is looked at in any case: what is not finite must not get into a checkpoint.
            means["grad_norm"] = nn.utils.clip_grad_norm_(parameters, config.max_grad_norm or math.inf)
            optimizer.step()
            run.step += 1
            journal.step(means, rate)

            last = run.step == total
            epoch_ends = last or run.step % steps_per_epoch == 0
            asked = _agreed(request.asked, run.step, config, world, device)
            if asked or last or run.step % config.log_every == 0:
                journal.flush()
            if evaluate is not None and _due(config.eval_every, run.step, epoch_ends, last):
                journal.flush()
                with precision:
                    journal.record(run.evaluate(evaluate))
            if asked or run.finished or last or _due(config.save_every, run.step, epoch_ends, last):
                journal.flush()
                run.finished = run.finished or last
                run.save()
            if asked and not run.finished:
                raise Interrupted(
                    f"stopped after step {run.step} of {total}",
                    hint="run it again to go on" if place else "nothing was saved: no directory was given",
                )
    world.wait()  # the first process has written what the others read
    run.restore_best()
    return run.history(journal.losses)


@contextmanager
def _told_by_step(step: int, journal: Journal, world: World) -> Iterator[None]:
    """Say at which step a model met what is no number; a loss or gradient that was none before is named instead."""
    try:
        yield
    except NonFiniteError as error:
        if world.size == 1:  # the others would not take part
            journal.flush()
        place = f"{error.where}: " if error.where else ""
        raise NonFiniteError(f"{place}{error.what} at step {step}", where="training", hint=WAY_OUT) from error


def _alone(directory: Path | None, world: World) -> AbstractContextManager[None]:
    """Two trainings in one directory would each throw the other's checkpoints and log away."""
    if directory is None or not world.first:
        return nullcontext()
    make_folder(directory)
    hint = "wait for it to end, or choose another directory"
    return locked(directory / "lock", "{} is training in it", hint, CheckpointError)


class _LossModule(nn.Module, Generic[Model, Batch]):
    """Model and loss as one module: what DDP wraps, so that a loss step may call any method of the model."""

    def __init__(self, model: Model, loss_step: LossStep[Model, Batch]) -> None:
        super().__init__()
        self.model = model
        self.loss_step = loss_step

    def forward(self, batch: Batch) -> dict[str, Tensor]:
        """The loss, with its graph, and the other values without theirs."""
        values: object = self.loss_step(self.model, batch)
        if not isinstance(values, Mapping):
            raise ConfigError(
                f"loss_step gave {with_article(type(values).__name__)}",
                hint='it must give {"loss": scalar, …}',
            )
        if "loss" not in values:
            raise ConfigError(
                f"loss_step gave {', '.join(values) or 'nothing'}; one entry must be called 'loss'"
            )
        taken = [name for name in values if name in RESERVED]
        if taken:
            raise ConfigError(
                f"loss_step gave {', '.join(taken)}, which the log has by itself", hint="call it otherwise"
            )
        device = next(self.model.parameters()).device
        found = {name: _scalar(name, value, device) for name, value in values.items()}
        if not found["loss"].requires_grad:
            raise ConfigError(
                "loss_step gave a loss without a gradient: no trainable parameter had a part in it",
                hint="do not detach it, and compute it outside of torch.no_grad()",
            )
        return {name: value if name == "loss" else value.detach() for name, value in found.items()}


def _scalar(name: str, value: object, device: torch.device) -> Tensor:
    """An entry of a loss step: a scalar tensor, or but for the loss itself a plain number."""
    what = "a loss" if name == "loss" else f"an entry {name!r}"
    if isinstance(value, int | float) and name != "loss":
        value = torch.tensor(float(value), device=device)
    if not isinstance(value, Tensor):
        raise ConfigError(
            f"loss_step gave {what} that is {with_article(type(value).__name__)}; it must be a scalar tensor"
        )
    if value.ndim:
        raise ConfigError(f"loss_step gave {what} of shape {tuple(value.shape)}; it must be a scalar")
    return value.to(device)


def _over_processes(module: nn.Module, world: World, device: torch.device) -> nn.Module:
    if world.size == 1:
        return module
    # A batch without graphs, tails or pairs leaves parameters unused: DDP must not wait for them.
    devices = [device] if device.type == "cuda" else None
    return DistributedDataParallel(module, device_ids=devices, find_unused_parameters=True)


def _synchronised(module: nn.Module, last: bool) -> AbstractContextManager[Any]:
    """Average gradients over the processes only with the last batch of a step."""
    return module.no_sync() if isinstance(module, DistributedDataParallel) and not last else nullcontext()


def _groups(
    batches: BatchSource[Batch], accumulation: int, steps_per_epoch: int, step: int
) -> Generator[list[Batch], None, None]:
    """The batches of every step after ``step``, without end; an epoch's last step may have fewer."""
    while True:
        epoch, done = divmod(step, steps_per_epoch)
        stream = batches.epoch(epoch, done * accumulation)
        for number in range(done, steps_per_epoch):
            group = list(islice(stream, accumulation))
            if len(group) < min(accumulation, len(batches) - number * accumulation):
                raise InputError(f"epoch {epoch} ended before its {len(batches)} batches", where="batches")
            yield group
            step += 1


def _steps_per_epoch(batches: BatchSource[Any], config: TrainConfig, world: World) -> int:
    if not callable(getattr(batches, "epoch", None)):
        raise InputError(
            f"{with_article(type(batches).__name__)} has no epoch(epoch, start), by which a run is taken up where it "
            "stopped",
            where="batches",
            hint="weft.train.Batches(LengthBuckets(lengths, batch_size), collate)",
        )
    cut_for = getattr(getattr(batches, "plan", None), "world_size", world.size)
    if cut_for != world.size:
        raise ConfigError(
            f"the batches are cut for {counted(cut_for, 'process', 'processes')}, and {world.size} train",
            hint="make the plan with rank=world.rank, world_size=world.size",
        )
    counts = world.gather(len(batches))
    if len(set(counts)) > 1:
        raise InputError(
            f"the processes have {counts} batches an epoch; they must have equally many", where="batches"
        )
    if counts[0] == 0:
        raise InputError("no batches to train on", where="batches")
    return -(-counts[0] // config.accumulation)


def _due(every: int | None, step: int, epoch_ends: bool, last: bool) -> bool:
    return epoch_ends if every is None else last or step % every == 0


def _agreed(asked: bool, step: int, config: TrainConfig, world: World, device: torch.device) -> bool:
    """Whether to stop: at once when alone; among several, asked of all of them at log steps only."""
    if world.size == 1:
        return asked
    return step % config.log_every == 0 and world.any(asked, device)

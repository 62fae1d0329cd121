"""One training run: where it stands, what was best, how it is saved and taken up again."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor, nn

from weft.errors import CheckpointError, ConfigError, NonFiniteError, with_article
from weft.platform.files import writing_to
from weft.train.checkpoint import Checkpoints, load_tensors, save_tensors
from weft.train.config import TrainConfig
from weft.train.distributed import World
from weft.train.identity import differing as differing_names
from weft.train.snapshot import (
    load_model_tensors,
    load_optimizer_tensors,
    model_tensors,
    optimizer_tensors,
    random_state,
    set_random_state,
)


@dataclass
class History:
    """What a call of :func:`weft.train.loop.fit` did.

    Args:
        first_step: Steps that earlier, interrupted calls had done.
        losses: The loss of every step of this call; ``losses[0]`` is step ``first_step + 1``.
        evaluations: Every evaluation of the run, each with its ``step``.
        best_step: The step of the best evaluation.
        best: Its metric.
        stopped: Whether the run came to its end or stopped early.
        final: The evaluation of the weights that the model ended with, without its step; empty where there was none.
    """

    first_step: int = 0
    losses: list[float] = field(default_factory=list)
    evaluations: list[dict[str, float]] = field(default_factory=list)
    best_step: int | None = None
    best: float | None = None
    stopped: Literal["end", "early"] = "end"
    final: dict[str, float] = field(default_factory=dict)

    @property
    def step(self) -> int:
        """The last step done."""
        return self.first_step + len(self.losses)


class Run:
    """The state of a run beside the loop's own variables.

    Args:
        model: The model.
        optimizer: Its optimiser.
        config: How it is trained.
        world: This process among all.
        device: Where it is trained.
        directory: Of ``checkpoints/`` and ``best-STEP.safetensors``; None keeps the best weights in memory.
        batches_per_epoch: A run cannot be taken up with another number.
        identity: Nor with what differs from this, name by name.
    """

    def __init__(
        self,
        model: nn.Module,
        optimizer: torch.optim.Optimizer,
        config: TrainConfig,
        world: World,
        device: torch.device,
        directory: Path | None,
        *,
        batches_per_epoch: int,
        identity: Mapping[str, str] | None = None,
    ) -> None:
        self.model = model
        self.optimizer = optimizer
        self.config = config
        self.world = world
        self.device = device
        self.directory = directory
        self.batches_per_epoch = batches_per_epoch
        self.identity = dict(identity or {})
        self.checkpoints = None if directory is None else Checkpoints(directory / "checkpoints", config.keep)
        self.step = 0
        self.first_step = 0
        self.finished = False
        self.stale = 0
        self.best: float | None = None
        self.best_step: int | None = None
        self.evaluations: list[dict[str, float]] = []
        self._best_weights: dict[str, Tensor] | None = None

    def evaluate(self, function: Callable[[Any], Mapping[str, float]]) -> dict[str, float]:
        """Evaluate, remember the weights if they are the best, and finish if patience is at its end.

        Raises:
            ConfigError: The function gives no mapping, or not ``config.metric``.
            NonFiniteError: The metric is not finite.
        """
        values: dict[str, float] = {}
        if self.world.first:
            with _undisturbed(self.model, self.device):
                given: object = function(self.model)
                if not isinstance(given, Mapping):
                    raise ConfigError(
                        f"evaluate gave {with_article(type(given).__name__)}",
                        hint="it must give {name: number}",
                    )
                values = {name: float(value) for name, value in given.items()}
        values = self.world.from_first(values)
        metric = self.config.metric
        self.config.check_metric(values)
        value = values[metric]
        if not math.isfinite(value):
            raise NonFiniteError(f"{metric} is {value} at step {self.step}", where="evaluation")
        self.evaluations.append({"step": self.step, **values})
        better = self.best is None or (value < self.best if self.config.mode == "min" else value > self.best)
        if better:
            self.best, self.best_step, self.stale = value, self.step, 0
            self._keep_best()
        else:
            self.stale += 1
            self.finished = self.config.patience is not None and self.stale >= self.config.patience
        return {f"evaluation/{name}": number for name, number in values.items()}

    def save(self) -> None:
        """Write a checkpoint; every process takes part, the first one writes."""
        if self.checkpoints is None:
            return
        states = self.world.gather(random_state(self.device))
        if not self.world.first:
            return
        state = {
            "config": asdict(self.config),
            "batches_per_epoch": self.batches_per_epoch,
            "processes": self.world.size,
            "identity": self.identity,
            "step": self.step,
            "finished": self.finished,
            "stale": self.stale,
            "best": self.best,
            "best_step": self.best_step,
            "evaluations": self.evaluations,
            "random": states,
        }
        tensors = {"model": model_tensors(self.model), "optimizer": optimizer_tensors(self.optimizer)}
        self.checkpoints.save(self.step, tensors, state)
        self._forget_others()

    def resume(self, choice: bool | str) -> None:
        """Take the run up from the newest checkpoint (True) or the one named; False allows none to exist.

        Raises:
            CheckpointError: A damaged or unknown checkpoint, or one that does not fit the model.
            ConfigError: It was made under another config, or there is one and ``choice`` is False.
        """
        if self.checkpoints is None:
            if isinstance(choice, str):
                raise ConfigError(f"resume is {choice!r}, and no directory was given")
            return
        names = self.checkpoints.names()
        if choice is False and names:
            raise ConfigError(
                f"there is a run already, saved as {names[-1]}",
                where=str(self.directory),
                hint="resume it, or choose another directory",
            )
        if not names and not isinstance(choice, str):
            return
        found = self.checkpoints.load(choice if isinstance(choice, str) else None)
        where = str(self.checkpoints.directory / found.name)
        self._check(found.state, where)
        load_model_tensors(self.model, found.tensors["model"], where)
        load_optimizer_tensors(self.optimizer, found.tensors["optimizer"], where)
        set_random_state(found.state["random"][self.world.rank], self.device)
        for name in ("step", "finished", "stale", "best", "best_step", "evaluations"):
            setattr(self, name, found.state[name])
        self.first_step = self.step

    def restore_best(self) -> None:
        """Give the model the weights of the best evaluation."""
        if not self.config.restore_best or self.best_step in (None, self.step):
            return
        if self._best_weights is not None:
            load_model_tensors(self.model, self._best_weights, "best weights")
        elif self.directory is not None and self.best_step is not None:
            path = self._best_at(self.best_step)
            load_model_tensors(self.model, load_tensors(path), str(path))

    def history(self, losses: list[float]) -> History:
        """The run as its caller sees it."""
        stopped = (
            "early" if self.config.patience is not None and self.stale >= self.config.patience else "end"
        )
        ended = self.best_step if self.config.restore_best and self.best_step is not None else self.step
        of_it = next((found for found in reversed(self.evaluations) if found["step"] == ended), {})
        final = {name: value for name, value in of_it.items() if name != "step"}
        return History(self.first_step, losses, self.evaluations, self.best_step, self.best, stopped, final)

    def _keep_best(self) -> None:
        if self.directory is None:
            # On the host: a second copy of the weights must not cost the accelerator its memory.
            self._best_weights = {
                name: tensor.detach().to("cpu", copy=True)
                for name, tensor in model_tensors(self.model).items()
            }
        elif self.world.first:
            save_tensors(self._best_at(self.step), model_tensors(self.model))

    def _best_at(self, step: int) -> Path:
        """Named by its step: a run that is taken up at an earlier checkpoint finds the best one of that time."""
        assert self.directory is not None
        return self.directory / f"best-{step:08d}.safetensors"

    def _forget_others(self) -> None:
        """Remove the best weights that neither this run nor a checkpoint names any more."""
        assert self.directory is not None and self.checkpoints is not None
        named = {self.best_step, *(state.get("best_step") for state in self.checkpoints.states())}
        kept = {self._best_at(step) for step in named if step is not None}
        with writing_to(self.directory):
            for path in set(self.directory.glob("best-*.safetensors")) - kept:
                path.unlink()

    def _check(self, state: Mapping[str, Any], where: str) -> None:
        try:
            differing = self.config.differing(state["config"])
        except (KeyError, TypeError, AttributeError):
            raise CheckpointError("holds no training state", where=where) from None
        for name, mine in (("batches_per_epoch", self.batches_per_epoch), ("processes", self.world.size)):
            if state.get(name) != mine:
                raise ConfigError(
                    f"the run had {state.get(name)} {name}, now there are {mine}",
                    where=where,
                    hint="take it up with the same data and processes, or start in another directory",
                )
        others = differing_names(self.identity, state.get("identity") or {})
        if others:
            raise ConfigError(
                f"the run was started with other settings or data: {', '.join(others)}",
                where=where,
                hint="take it up with the same, or start in another directory",
            )
        if differing:
            changes = ", ".join(
                f"{name} {state['config'].get(name)!r} → {getattr(self.config, name)!r}" for name in differing
            )
            raise ConfigError(
                f"the run was started with another config: {changes}",
                where=where,
                hint="take it up with the same config, or start in another directory",
            )


@contextmanager
def _undisturbed(model: nn.Module, device: torch.device) -> Iterator[None]:
    """In eval mode, without gradients, and with the generators as they were before."""
    state = random_state(device)
    modes = {module: module.training for module in model.modules()}
    model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        for module, training in modes.items():
            module.training = training
        set_random_state(state, device)

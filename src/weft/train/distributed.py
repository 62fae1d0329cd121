"""Several processes that train one model: started by ``torchrun``, joined here.

    torchrun --nproc-per-node 2 program.py

    world = World.launched()                       # before the group exists: who am I, of how many
    plan  = LengthBuckets(..., rank=world.rank, world_size=world.size)
    fit(model, Batches(plan, collate, rank=world.rank), ...)

:func:`weft.train.loop.fit` joins the group. The number of processes is counted over the
group itself: a launcher that quietly starts fewer, or several that never meet, is an error.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist

# Imported before any group exists: its functions take the group of that moment as a default argument, and torch
# imports it by itself later on, which would keep the group and its threads alive to the interpreter's end.
import torch.distributed.nn.functional
from torch import Tensor

from weft.errors import ConfigError
from weft.platform.machine import device_named

_LOOPBACK = "lo0" if sys.platform == "darwin" else "lo"


@dataclass(frozen=True)
class World:
    """This process among all: its rank, their number, its place on its machine.

    Args:
        rank: Index of this process.
        size: Number of processes.
        local_rank: Index of this process on its machine.
    """

    rank: int = 0
    size: int = 1
    local_rank: int = 0

    @staticmethod
    def launched() -> World:
        """What the launcher says in the environment; a single process where it says nothing.

        Raises:
            ConfigError: A variable that is not a number, or a rank outside the world.
        """
        values = {}
        for name, default in (("RANK", "0"), ("WORLD_SIZE", "1"), ("LOCAL_RANK", "0")):
            text = os.environ.get(name, default)
            if not text.isdecimal():
                raise ConfigError(
                    f"the environment's {name} is {text!r}; it must be a number", hint="use torchrun"
                )
            values[name] = int(text)
        world = World(values["RANK"], values["WORLD_SIZE"], values["LOCAL_RANK"])
        if world.rank >= world.size:
            raise ConfigError(f"the environment's RANK {world.rank} is outside its WORLD_SIZE {world.size}")
        return world

    @property
    def first(self) -> bool:
        """Whether this process writes the files and prints."""
        return self.rank == 0

    def device(self, name: str) -> torch.device:
        """The device called ``name``, or for ``auto`` an accelerator if there is one.

        Raises:
            ConfigError: A device that torch does not know or that this machine lacks.
        """
        return device_named(name, self.local_rank)

    def shared(self, examples: int) -> int:
        """The largest number of examples, up to this one, that all processes share alike; one for each at least."""
        return max(self.size, examples - examples % self.size)

    def mean(self, values: Tensor) -> Tensor:
        """The mean over the processes, in every process."""
        if self.size > 1:
            values = values.clone()
            dist.all_reduce(values)
            values /= self.size
        return values

    def any(self, flag: bool, device: torch.device) -> bool:
        """Whether the flag is set in any process; every process gets the same answer."""
        if self.size == 1:
            return flag
        flags = torch.tensor(float(flag), device=device)
        dist.all_reduce(flags)
        return bool(flags.item() > 0)

    def wait(self) -> None:
        """Wait until every process is here."""
        if self.size > 1:
            dist.barrier()

    def gather(self, value: Any) -> list[Any]:
        """The values of all processes, by rank, in every process."""
        values: list[Any] = [value]
        if self.size > 1:
            values = [None] * self.size
            dist.all_gather_object(values, value)
        return values

    def rows(self, values: Tensor) -> Tensor:
        """The rows of all processes, by rank; ``(processes · rows, ...)`` from ``(rows, ...)``.

        For a loss that compares the examples of a batch with each other. Each process then computes the loss of the
        whole batch, and its gradient comes back summed over the processes: the mean over processes that training
        takes is the gradient of the joint batch.

        Args:
            values: As many rows in every process.
        """
        return values if self.size == 1 else _Rows.apply(values, self)

    def from_first(self, value: Any) -> Any:
        """The first process's value, in every process."""
        if self.size == 1:
            return value
        box = [value]
        dist.broadcast_object_list(box, src=0)
        return box[0]


class _Rows(torch.autograd.Function):
    """All processes' rows; the gradient of a process's own rows is the sum of what all processes give them."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, world: World) -> Tensor:
        ctx.world = world
        parts = [torch.empty_like(values) for _ in range(world.size)]
        dist.all_gather(parts, values.contiguous())
        return torch.cat(parts)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:  # pyright: ignore[reportIncompatibleMethodOverride] - torch's form
        total = gradient.contiguous().clone()
        dist.all_reduce(total)
        return total.chunk(ctx.world.size)[ctx.world.rank], None


def join(device: str, processes: int | None = None, minutes: float = 30) -> tuple[World, torch.device]:
    """Join the group of processes that the launcher started; a process alone joins nothing.

    The group stays until the process ends: torch hangs when a group is made a second time over one
    store, so a program that trains twice joins once.

    Args:
        device: The config's device; ``nccl`` is used on CUDA, ``gloo`` elsewhere.
        processes: How many processes must have come; None accepts the launcher's number.
        minutes: How long one process waits for the others.

    Returns:
        The world as counted over the group, and this process's device.

    Raises:
        ConfigError: A number of processes other than the expected.
    """
    world = World.launched()
    own_device = world.device(device)
    if world.size > 1 and not dist.is_initialized():
        _prefer_loopback()
        if own_device.type == "cuda":
            torch.cuda.set_device(own_device)
        backend = "nccl" if own_device.type == "cuda" else "gloo"
        dist.init_process_group(backend, timeout=timedelta(minutes=minutes))
        # A process that ends with its group open is at times aborted ("terminate called without an active
        # exception"): one of gloo's threads asks for the interpreter while that ends. Leaving joins them.
        atexit.register(_leave)
    _count(world, own_device, processes)
    return world, own_device


def _leave() -> None:
    if dist.is_initialized():
        gc.collect()  # DDP modules are cycles, and hold the group
        dist.destroy_process_group()


def _count(world: World, device: torch.device, processes: int | None) -> None:
    met = 1
    if world.size > 1:
        ones = torch.ones((), device=device)
        dist.all_reduce(ones)
        met = int(ones.item())
    if met != world.size:
        raise ConfigError(f"{met} processes met; the launcher said {world.size}")
    if processes is not None and met != processes:
        raise ConfigError(
            f"TrainConfig.processes is {processes}, and {met} took part",
            hint=f"start with: torchrun --nproc-per-node {processes} …",
        )


def _prefer_loopback() -> None:
    """Keep the processes of one machine on its loopback interface.

    gloo otherwise binds to the address that the host's name resolves to, which in a container may be one
    that nothing reaches, and which opens the port to the network.
    """
    if os.environ.get("LOCAL_WORLD_SIZE") == os.environ.get("WORLD_SIZE"):
        os.environ.setdefault("GLOO_SOCKET_IFNAME", _LOOPBACK)

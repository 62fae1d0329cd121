"""Batches of similar length, the same for the same seed and epoch, whatever the number of processes.

Three small pieces: a *plan* says which examples form each batch of an epoch
(:class:`LengthBuckets`, or an application's own), a *collate* function turns examples into tensors,
and :class:`Batches` joins the two into something that can be entered at any position.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import fields, is_dataclass
from typing import Any, Generic, Protocol, TypeVar

import torch
from torch import Tensor

from weft.errors import ConfigError, InputError

Batch = TypeVar("Batch")
BatchOut = TypeVar("BatchOut", covariant=True)


class Plan(Protocol):
    """Which examples form each batch of an epoch."""

    def __len__(self) -> int:
        """Batches of an epoch, the same in every epoch and in every process."""
        ...

    def epoch(self, epoch: int) -> list[list[int]]:
        """This process's batches of one epoch, as indices of examples."""
        ...


class BatchSource(Protocol[BatchOut]):
    """What :func:`weft.train.loop.fit` iterates over."""

    def __len__(self) -> int:
        """Batches of an epoch."""
        ...

    def epoch(self, epoch: int, start: int = 0) -> Iterator[BatchOut]:
        """The batches of one epoch from number ``start`` on; the same batches whatever ``start`` is."""
        ...


class LengthBuckets:
    """A plan whose batches hold examples of similar length, in random order.

    The examples are shuffled and cut into pools of ``pool`` batches; each pool is sorted by length and
    cut into batches; the batches are shuffled. Padding is a few per cent, and an example still meets
    other neighbours in every epoch.

    A batch is cut into equal shares, one for each process: every process sees as many examples in every
    batch, so that the mean of their gradients is the gradient of the whole batch. A last batch that
    would not divide is filled with examples of the epoch's first.

    Args:
        lengths: The length of each example.
        batch_size: Examples of a batch over all processes.
        seed: Of the order.
        rank: This process.
        world_size: Number of processes.
        pool: Batches that are sorted together; 0 sorts nothing.
        shuffle: False keeps the examples in their order and sorts nothing: for evaluation.
        drop_last: Leave out a last batch that is smaller than the others.

    Raises:
        ConfigError: A batch size below 1 or one that the processes cannot share.
        InputError: No examples, or none left once the last batch is dropped.
    """

    def __init__(
        self,
        lengths: Sequence[int],
        batch_size: int,
        *,
        seed: int = 0,
        rank: int = 0,
        world_size: int = 1,
        pool: int = 50,
        shuffle: bool = True,
        drop_last: bool = False,
    ) -> None:
        if batch_size < 1 or batch_size % world_size:
            raise ConfigError(
                f"batch_size is {batch_size}; it must be a positive multiple of the {world_size} processes"
            )
        if not 0 <= rank < world_size:
            raise ConfigError(f"rank is {rank}; it must lie in [0, {world_size})")
        if len(lengths) == 0:
            raise InputError("no examples to make batches of")
        if drop_last and len(lengths) < batch_size:
            raise InputError(
                f"{len(lengths)} examples do not fill one batch of {batch_size}, and the last is dropped"
            )
        self.lengths = torch.as_tensor(lengths, dtype=torch.int64, device="cpu")
        self.batch_size = batch_size
        self.seed = seed
        self.rank = rank
        self.world_size = world_size
        self.pool = pool
        self.shuffle = shuffle
        self.drop_last = drop_last

    def __len__(self) -> int:
        """Batches of an epoch."""
        whole, rest = divmod(len(self.lengths), self.batch_size)
        return whole + (rest > 0 and not self.drop_last)

    def epoch(self, epoch: int) -> list[list[int]]:
        """This process's batches of one epoch, as indices of examples."""
        order = torch.arange(len(self.lengths), device="cpu")
        if self.shuffle:
            generator = seeded(self.seed, epoch)
            order = torch.randperm(len(order), generator=generator, device="cpu")
            if self.drop_last:
                order = order[: len(self) * self.batch_size]
            order = torch.cat(
                [self._by_length(part) for part in order.split(max(1, self.pool * self.batch_size))]
            )
            batches = list(order.split(self.batch_size))
            shuffled = torch.randperm(len(batches), generator=generator, device="cpu")
            batches = [batches[i] for i in shuffled.tolist()]
        else:
            batches = list(order.split(self.batch_size))[: len(self)]
        return [self._share(batch, order) for batch in batches]

    def _by_length(self, part: Tensor) -> Tensor:
        return part[self.lengths[part].argsort(stable=True)] if self.pool else part

    def _share(self, batch: Tensor, order: Tensor) -> list[int]:
        missing = -len(batch) % self.world_size
        if missing:
            batch = torch.cat([batch, order.repeat(missing)[:missing]])
        # Every world_size-th example, so that the shares are of similar length too.
        return batch[self.rank :: self.world_size].tolist()


class Batches(Generic[Batch]):
    """A plan and a collate function: batches that can be entered at any position.

    Every batch has a generator of its own, seeded by (seed, epoch, number of the batch, rank): masks and
    other random draws are the same after a resume without any state to keep.

    Args:
        plan: Which examples form each batch.
        collate: ``collate(indices, generator) -> batch``.
        seed: Of the generators.
        rank: This process; its draws differ from those of the others.
        prefetch: Batches made ahead in a thread; 0 makes each when it is asked for.
    """

    def __init__(
        self,
        plan: Plan,
        collate: Callable[[list[int], torch.Generator], Batch],
        *,
        seed: int = 0,
        rank: int = 0,
        prefetch: int = 0,
    ) -> None:
        self.plan = plan
        self.collate = collate
        self.seed = seed
        self.rank = rank
        self.prefetch = prefetch

    def __len__(self) -> int:
        """Batches of an epoch."""
        return len(self.plan)

    def epoch(self, epoch: int, start: int = 0) -> Iterator[Batch]:
        """The batches of one epoch from number ``start`` on."""
        made = self._make(epoch, start)
        return _ahead(made, self.prefetch) if self.prefetch else made

    def _make(self, epoch: int, start: int) -> Iterator[Batch]:
        for number, indices in enumerate(self.plan.epoch(epoch)[start:], start):
            yield self.collate(indices, seeded(self.seed, epoch, number, self.rank))


def seeded(*numbers: int) -> torch.Generator:
    """A CPU generator whose stream is fixed by the numbers, and differs when any of them does."""
    state = 0
    for number in numbers:
        # splitmix64: neighbouring numbers give unrelated seeds.
        state = (state + number + 0x9E3779B97F4A7C15) & 0xFFFFFFFFFFFFFFFF
        state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & 0xFFFFFFFFFFFFFFFF
        state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) & 0xFFFFFFFFFFFFFFFF
        state ^= state >> 31
    return torch.Generator().manual_seed(state >> 1)


def pad(
    sequences: Sequence[Sequence[int] | Tensor],
    value: int,
    *,
    multiple_of: int = 1,
    length: int | None = None,
) -> tuple[Tensor, Tensor]:
    """Pad sequences of ids to one length.

    Args:
        sequences: Ids; ints or one-dimensional int64 tensors.
        value: The padding id.
        multiple_of: Round the length up to a multiple of this; fixed lengths spare an allocator.
        length: Pad to this length instead.

    Returns:
        ``(ids, attention_mask)``, int64 and bool, both ``(batch, seq)``; True marks the real tokens.

    Raises:
        InputError: No sequences, or one longer than ``length``.
    """
    if not sequences:
        raise InputError("an empty batch: no sequences to pad")
    longest = max(len(sequence) for sequence in sequences)
    if length is None:
        length = max(1, -(-longest // multiple_of) * multiple_of)
    elif longest > length:
        raise InputError(f"a sequence of {longest} ids does not fit into {length}")
    ids = torch.full((len(sequences), length), value, dtype=torch.int64, device="cpu")
    attention_mask = torch.zeros(len(sequences), length, dtype=torch.bool, device="cpu")
    for row, sequence in enumerate(sequences):
        ids[row, : len(sequence)] = torch.as_tensor(sequence, dtype=torch.int64, device="cpu")
        attention_mask[row, : len(sequence)] = True
    return ids, attention_mask


def map_tensors(batch: Any, function: Callable[[Tensor], Tensor]) -> Any:
    """Apply a function to every tensor of a batch of tensors, mappings, sequences and dataclasses."""
    if isinstance(batch, Tensor):
        return function(batch)
    if isinstance(batch, Mapping):
        return {key: map_tensors(value, function) for key, value in batch.items()}
    if isinstance(batch, tuple) and hasattr(batch, "_fields"):
        return type(batch)(*(map_tensors(value, function) for value in batch))
    if isinstance(batch, list | tuple):
        return type(batch)(map_tensors(value, function) for value in batch)
    if is_dataclass(batch) and not isinstance(batch, type):
        # A copy, not a new one: its checks have been made, and on an accelerator they would wait for it.
        changed = copy(batch)
        for entry in fields(batch):
            object.__setattr__(changed, entry.name, map_tensors(getattr(batch, entry.name), function))
        return changed
    return batch


def to_device(batch: Any, device: torch.device, pin_memory: bool = False) -> Any:
    """Copy a batch to a device; through pinned memory the copy overlaps with computation."""
    if device.type == "cpu":
        return batch
    if pin_memory:
        batch = map_tensors(
            batch, lambda tensor: tensor.pin_memory() if tensor.device.type == "cpu" else tensor
        )
    return map_tensors(batch, lambda tensor: tensor.to(device, non_blocking=True))


def _ahead(items: Iterator[Batch], depth: int) -> Iterator[Batch]:
    """Make items in a thread, at most ``depth`` ahead; an error arrives where its item would have."""
    entries: queue.Queue[tuple[list[Batch], BaseException | None]] = queue.Queue(maxsize=depth)
    left = threading.Event()

    def put(made: list[Batch], error: BaseException | None = None) -> None:
        while not left.is_set():
            try:
                return entries.put((made, error), timeout=0.1)
            except queue.Full:
                continue

    def produce() -> None:
        try:
            for item in items:
                put([item])
                if left.is_set():
                    return
            put([])
        except BaseException as error:  # noqa: BLE001 - handed to the consumer, which raises it
            put([], error)

    thread = threading.Thread(target=produce, name="weft-batches", daemon=True)
    thread.start()
    try:
        while True:
            made, error = entries.get()
            if error is not None:
                raise error
            if not made:
                return
            yield made[0]
    finally:
        left.set()
        thread.join()

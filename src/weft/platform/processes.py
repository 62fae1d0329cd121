"""Work on untrusted files in processes that may hang, run out of memory or crash without harm to the run.

``concurrent.futures`` gives up on the whole pool when one process dies; here the process is replaced, the
item is reported, and the rest goes on.
"""

from __future__ import annotations

import multiprocessing
import pickle
import resource
import signal
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any, Generic, TypeVar

from weft.errors import InputError, LimitError, WeftError

Item = TypeVar("Item")
Value = TypeVar("Value")

_MIB = 1 << 20
#: Items of each process that may be finished before an earlier one is: their results wait in memory.
_AHEAD = 64


@dataclass(frozen=True)
class Limits:
    """What one item may take.

    Args:
        seconds: Wall-clock time.
        mebibytes: Address space of the worker process.
    """

    seconds: float = 600.0
    mebibytes: int = 4096


@dataclass(frozen=True)
class Outcome(Generic[Item, Value]):
    """What became of one item: ``value`` or ``error``, and the seconds it took."""

    item: Item
    value: Value | None
    error: WeftError | None
    seconds: float


def run_bounded(
    work: Callable[[Item], Value], items: Sequence[Item], *, workers: int, limits: Limits
) -> Iterator[Outcome[Item, Value]]:
    """Apply ``work`` to every item in bounded processes.

    Args:
        work: A module-level function; its result is sent back by pickle.
        items: What to work on.
        workers: Processes at a time.
        limits: Per item.

    Yields:
        One outcome per item, in the order of ``items``: later ones wait for earlier ones.
    """
    waiting = deque(enumerate(items))
    finished: dict[int, Outcome[Item, Value]] = {}
    crew: list[_Worker] = []
    given = 0
    try:
        while given < len(items):
            while waiting and len(crew) < max(1, workers):
                crew.append(_Worker(work, limits))
            for worker in crew:
                if worker.number is None and waiting and waiting[0][0] < given + _AHEAD * max(1, workers):
                    worker.start(*waiting.popleft())
            _await(crew)
            for worker in list(crew):
                outcome = worker.poll(items)
                if outcome is not None:
                    finished[outcome[0]] = outcome[1]
                if worker.gone:
                    crew.remove(worker)
            while given in finished:
                yield finished.pop(given)
                given += 1
    finally:
        for worker in crew:
            worker.kill()


def _await(crew: list[_Worker]) -> None:
    """Sleep until a worker has something to say, has died, or has reached its time limit."""
    busy = [worker for worker in crew if worker.number is not None]
    handles: list[Any] = [worker.connection for worker in busy] + [worker.process.sentinel for worker in busy]
    patience = min((worker.deadline - time.monotonic() for worker in busy), default=0.0)
    wait(handles, timeout=max(0.0, patience) + 0.01)


class _Worker:
    def __init__(self, work: Callable[[Any], Any], limits: Limits) -> None:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload([work.__module__])
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs, work, limits.mebibytes), daemon=True)
        self.process.start()
        theirs.close()
        self.limits = limits
        self.number: int | None = None
        self.begun = 0.0
        self.gone = False

    @property
    def deadline(self) -> float:
        return self.begun + self.limits.seconds

    def start(self, number: int, item: object) -> None:
        self.number = number
        self.begun = time.monotonic()
        try:
            self.connection.send(item)
        except (BrokenPipeError, OSError):
            # It died between two items: poll() reports it.
            return

    def poll(self, items: Sequence[Any]) -> tuple[int, Outcome[Any, Any]] | None:
        """The outcome of the item at work, if there is one by now."""
        if self.number is None:
            return None
        item = items[self.number]
        seconds = time.monotonic() - self.begun
        value: object = None
        error: WeftError | None = None
        # A process that answered and then died has answered.
        if self.connection.poll() or not self.process.is_alive():
            try:
                value, error = self.connection.recv()
            except (EOFError, OSError):
                error = self._death(item)
        elif seconds >= self.limits.seconds:
            self.kill()
            error = LimitError(f"took more than {self.limits.seconds:g} s", where=str(item))
        else:
            return None
        number, self.number = self.number, None
        return number, Outcome(item, value, error, seconds)

    def _death(self, item: object) -> WeftError:
        self.process.join(timeout=5)
        code = self.process.exitcode or 0
        self.kill()
        name = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        return InputError(f"its worker process died ({name})", where=str(item))

    def kill(self) -> None:
        self.gone = True
        self.process.kill()
        self.process.join()
        self.connection.close()


def _serve(connection: Connection, work: Callable[[Any], Any], mebibytes: int) -> None:
    """The worker's side: take an item, send back ``(value, error)``."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    space = mebibytes * _MIB if most == resource.RLIM_INFINITY else min(mebibytes * _MIB, most)
    resource.setrlimit(resource.RLIMIT_AS, (space, space))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    while True:
        try:
            item = connection.recv()
        except (EOFError, OSError):
            return
        try:
            connection.send_bytes(answered(work, item, f"{mebibytes} MiB"))
        except BrokenPipeError:
            # Whoever asked is gone.
            return


def answered(work: Callable[[Any], Any], item: object, memory: str) -> bytes:
    """``(value, error)`` of one item, pickled: a value that cannot be sent is a failure of its item alone.

    Args:
        work: What to do with it.
        item: The item.
        memory: What there is of it, for the message.
    """
    error: WeftError
    try:
        return pickle.dumps((work(item), None))
    except WeftError as failure:
        error = failure
    except MemoryError:
        error = LimitError(f"needs more than {memory}", where=str(item))
    except Exception as failure:  # noqa: BLE001 - an untrusted file may break a parser in any way; the run goes on
        error = InputError(f"cannot be analysed ({type(failure).__name__}: {failure})", where=str(item))
    return pickle.dumps((None, error))

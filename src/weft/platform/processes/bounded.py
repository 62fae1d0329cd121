"""Work on untrusted files in processes that may hang, run out of memory or crash without harm to the run.

``concurrent.futures`` gives up on the whole pool when one process dies; here the process is replaced, the
item is reported, and the rest goes on.
"""

from __future__ import annotations

import fcntl
import multiprocessing
import os
import pickle
import resource
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from multiprocessing import forkserver, resource_tracker
from multiprocessing.connection import Connection, wait
from pathlib import Path
from threading import Lock
from types import ModuleType
from typing import Any, Generic, TypeVar

from weft.errors import InputError, LimitError, WeftError
from weft.platform.ranges import at_least

Item = TypeVar("Item")
Value = TypeVar("Value")

_MIB = 1 << 20
#: Items of each process that may be finished before an earlier one is: their results wait in memory.
_AHEAD = 64
#: Imported first by the process that makes the others.
_FIRST = "weft.platform.sparing"
#: Seconds of the longest sleep; the system takes no endless one.
_NAP = 3600.0
_starting, _parting = Lock(), Lock()


@dataclass(frozen=True)
class Limits:
    """What one item may take.

    Args:
        seconds: Wall-clock time.
        mebibytes: Address space of the worker process, beyond what it begins with; unbounded where None, as drivers
            of accelerators want it.

    Raises:
        ConfigError: Negative, no number, or no memory.
    """

    seconds: float = 3600.0
    mebibytes: int | None = 8192

    def __post_init__(self) -> None:
        at_least(0, seconds=self.seconds)
        at_least(1, mebibytes=self.mebibytes)


@dataclass(frozen=True)
class Outcome(Generic[Item, Value]):
    """What became of one item: ``value`` or ``error``, and the seconds it took."""

    item: Item
    value: Value | None
    error: WeftError | None
    seconds: float


def run_bounded(
    work: Callable[[Item], Value],
    items: Iterable[Item],
    *,
    workers: int,
    limits: Limits,
    preload: str | None = None,
) -> Iterator[Outcome[Item, Value]]:
    """Apply ``work`` to every item in bounded processes.

    Args:
        work: A module-level function; its result is sent back by pickle.
        items: What to work on; not asked for faster than they are worked on.
        workers: Processes at a time.
        limits: Per item.
        preload: A module that is imported once for all processes; that of ``work`` where None.

    Yields:
        One outcome per item, in the order of ``items``: later ones wait for earlier ones.
    """
    yield from run_loaded(
        partial(_itself, work), items, workers=workers, limits=limits, preload=preload or work.__module__
    )


def run_loaded(
    load: Callable[[], Callable[[Item], Value]],
    items: Iterable[Item],
    *,
    workers: int,
    limits: Limits,
    preload: str,
    ordered: bool = True,
) -> Iterator[Outcome[Item, Value]]:
    """The same, of work that needs something loaded first, such as a model.

    Args:
        load: Called once in each process: gives what is called with each item. Pickled.
        items: See :func:`run_bounded`. Where they are still to be made (an iterator), the first process starts to load
            while the first is made.
        workers: See :func:`run_bounded`.
        limits: See :func:`run_bounded`.
        preload: A module that is imported once for all processes.
        ordered: Whether later items wait for earlier ones; otherwise each comes as soon as it is finished.

    Yields:
        One outcome per item.

    Raises:
        WeftError: What is needed cannot be loaded.
    """
    finished: dict[int, Outcome[Item, Value]] = {}
    crew = [_Worker(load, limits, preload)] if isinstance(items, Iterator) else []
    given, most = 0, max(1, workers)
    try:
        waiting = enumerate(items)
        upcoming = next(waiting, None)
        while upcoming is not None or any(worker.number is not None for worker in crew):
            while upcoming is not None and not (ordered and upcoming[0] >= given + _AHEAD * most):
                idle = next((worker for worker in crew if worker.number is None), None)
                if idle is None and len(crew) == most:
                    break
                if idle is None:
                    crew.append(idle := _Worker(load, limits, preload))
                idle.start(*upcoming)
                upcoming = next(waiting, None)
            _await(crew)
            for worker in list(crew):
                outcome = worker.poll()
                if outcome is not None:
                    finished[outcome[0]] = outcome[1]
                if worker.gone:
                    crew.remove(worker)
            while finished and (given in finished or not ordered):
                yield finished.pop(given if ordered else next(iter(finished)))
                given += 1
    finally:
        for worker in crew:
            worker.kill()


def get_ready(preload: str) -> None:
    """Start to import, beside this process, what all processes will need: the first of them starts the sooner.

    Args:
        preload: As of :func:`run_loaded`, for the first call of it that follows.
    """
    multiprocessing.get_context("forkserver").set_forkserver_preload([_FIRST, preload])
    with uninterrupted():
        pass


def run_here(work: Callable[[Item], Value], items: Iterable[Item]) -> Iterator[Outcome[Item, Value]]:
    """The same in this process, without limits: what one item breaks is its own outcome here as well."""
    for item in items:
        begun = time.monotonic()
        value, error = _attempt(work, item, "the memory of this process")
        yield Outcome(item, value, error, time.monotonic() - begun)


def _itself(work: Callable[[Item], Value]) -> Callable[[Item], Value]:
    return work


@contextmanager
def _script_left_alone(module: str) -> Iterator[None]:
    """Start a process without running the caller's script again in it, unless the work is defined there.

    Otherwise each process would import the script as its main module, and a script without a guard start processes of
    its own.
    """
    with _starting, uninterrupted():
        script = sys.modules["__main__"]
        if module != "__main__":
            sys.modules["__main__"] = ModuleType("__main__")
        try:
            yield
        finally:
            sys.modules["__main__"] = script


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Start a process that Ctrl-C does not reach, from its first moment on; the starting thread gets it afterwards."""
    with _away_from_here():
        resource_tracker.ensure_running()  # first, for it lets interrupts through when it starts
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        with _away_from_here():
            forkserver.ensure_running()
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _away_from_here() -> Iterator[None]:
    """Let what is started import nothing from the folder that the run was started in.

    It is started as ``python -c``, which looks there first: a ``json.py`` among the files of a firmware would be run.
    Workers get the paths of the run itself.
    """
    with _parting:
        before = {name: os.environ[name] for name in ("PYTHONSAFEPATH",) if name in os.environ}
        os.environ["PYTHONSAFEPATH"] = "1"
        try:
            yield
        finally:
            del os.environ["PYTHONSAFEPATH"]
            os.environ.update(before)


def _await(crew: list[_Worker]) -> None:
    """Sleep until a worker has something to say, has died, or has reached its time limit."""
    busy = [worker for worker in crew if worker.number is not None]
    handles: list[Any] = [worker.connection for worker in busy] + [worker.process.sentinel for worker in busy]
    patience = min((worker.deadline - time.monotonic() for worker in busy), default=0.0)
    wait(handles, timeout=min(max(0.0, patience), _NAP) + 0.01)


class _Worker:
    def __init__(self, load: Callable[[], Callable[[Any], Any]], limits: Limits, preload: str) -> None:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload([_FIRST, preload])
        self.connection, theirs = context.Pipe()
        watched, self._lifeline = context.Pipe(duplex=False)
        self.process = context.Process(
            target=_serve, args=(theirs, watched, load, limits.mebibytes), daemon=True
        )
        with _script_left_alone(preload):
            self.process.start()
        theirs.close()
        watched.close()
        self.limits = limits
        self.number: int | None = None
        self.item: Any = None
        self.begun = 0.0
        self.gone = False

    @property
    def deadline(self) -> float:
        return self.begun + self.limits.seconds

    def start(self, number: int, item: object) -> None:
        self.number, self.item = number, item
        self.begun = time.monotonic()
        try:
            self.connection.send(item)
        except (BrokenPipeError, OSError):
            # It died between two items: poll() reports it.
            return

    def poll(self) -> tuple[int, Outcome[Any, Any]] | None:
        """The outcome of the item at work, if there is one by now."""
        if self.number is None:
            return None
        item = self.item
        seconds = time.monotonic() - self.begun
        value: object = None
        error: WeftError | None = None
        # A process that answered and then died has answered.
        if self.connection.poll() or not self.process.is_alive():
            try:
                answer = self.connection.recv()
            except (EOFError, OSError):
                answer = None, self._death(item)
            if isinstance(answer, WeftError):
                raise answer
            value, error = answer
        elif seconds >= self.limits.seconds:
            self.kill()
            error = LimitError(f"took more than {self.limits.seconds:g} s", where=told(item))
        else:
            return None
        number, self.number, self.item = self.number, None, None
        return number, Outcome(item, value, error, seconds)

    def _death(self, item: object) -> WeftError:
        self.process.join(timeout=5)
        code = self.process.exitcode or 0
        self.kill()
        name = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        if code == -signal.SIGBUS:
            name += ": a file was cut short while it was read, or its disk fails"
        return InputError(f"its worker process died ({name})", where=told(item))

    def kill(self) -> None:
        self.gone = True
        self.process.kill()
        self.process.join()
        self.connection.close()
        self._lifeline.close()


def _end_with_the_run(lifeline: Connection) -> None:
    """Let the system end this process as soon as the run is gone, which holds the pipe's other end.

    By a signal, not by a thread that waits: a parser in C may keep all threads from running.
    """
    signal.signal(signal.SIGIO, signal.SIG_DFL)
    handle = lifeline.fileno()
    fcntl.fcntl(handle, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(handle, fcntl.F_SETFL, fcntl.fcntl(handle, fcntl.F_GETFL) | os.O_ASYNC)
    if lifeline.poll():  # gone before that
        sys.exit()


def _serve(
    connection: Connection,
    lifeline: Connection,
    load: Callable[[], Callable[[Any], Any]],
    mebibytes: int | None,
) -> None:
    """The worker's side: take an item, send back ``(value, error)``; where nothing can be loaded, the error alone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _end_with_the_run(lifeline)
    memory = bound_memory(mebibytes)
    work, failure = _attempt(lambda _: load(), "what it works with", memory)
    while True:
        try:
            item = connection.recv()
        except (EOFError, OSError):
            return
        try:
            connection.send_bytes(pickle.dumps(failure) if work is None else answered(work, item, memory))
        except BrokenPipeError:
            # Whoever asked is gone.
            return


def bound_memory(mebibytes: int | None) -> str:
    """Bound this process, which leaves no core dumps from now on either: see :class:`Limits`.

    Where the system gives it less, it has less.

    Returns:
        What it may take, for messages.
    """
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if mebibytes is None:
        return "the memory of this machine"
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    space = _held() + mebibytes * _MIB
    if most != resource.RLIM_INFINITY:
        space = min(space, most)
    resource.setrlimit(resource.RLIMIT_AS, (space, space))
    return f"{mebibytes} MiB"


def _held() -> int:
    """Bytes of address space that this process has: what others have loaded for it is not the work's."""
    try:
        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[0]
    except OSError:  # not Linux
        return 0
    return int(pages) * resource.getpagesize()


def told(item: object) -> str:
    """An item as messages name it: one that is several at once by what they are called."""
    return ", ".join(map(str, item)) if type(item) is tuple else str(item)


def answered(work: Callable[[Any], Any], item: object, memory: str) -> bytes:
    """``(value, error)`` of one item, pickled: a value that cannot be sent is a failure of its item alone.

    Args:
        work: What to do with it.
        item: The item.
        memory: What there is of it, for the message.
    """
    packed, error = _attempt(lambda one: pickle.dumps((work(one), None)), item, memory)
    return pickle.dumps((None, error)) if packed is None else packed


def _attempt(
    work: Callable[[Any], Value], item: object, memory: str
) -> tuple[Value | None, WeftError | None]:
    try:
        return work(item), None
    except WeftError as failure:
        return None, failure
    except MemoryError:
        return None, LimitError(f"needs more than {memory}", where=told(item))
    except Exception as failure:  # noqa: BLE001 - an untrusted file may break a parser in any way; the run goes on
        return None, InputError(f"cannot be analysed ({type(failure).__name__}: {failure})", where=told(item))

"""Workers that live as long as a service: what is slow to load is loaded once, and one that dies is replaced.

:mod:`weft.platform.processes` makes processes for a list of files; these wait for whatever comes. Each is the head of
a process group of its own, so that ending it ends what it started, and it ends itself when the service is gone.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from queue import Empty, LifoQueue
from typing import Any

from weft.errors import InputError, Interrupted, LimitError, WeftError
from weft.platform.processes.bounded import Limits, answered, bound_memory, uninterrupted

Tell = Callable[[Any], None]
"""Takes how far an item is, as often as there is news."""
Perform = Callable[[Any, Tell], Any]
_HEARTBEAT = 0.1
"""Seconds between two looks at whether an item is still wanted."""


class Crew:
    """Processes that perform items, one each at a time.

    Args:
        perform: A module-level function of an item and of what takes its progress; it may start bounded processes of
            its own. What it returns is sent back by pickle.
        size: Processes; each starts when it is first needed.
        limits: Per item; a worker that breaks one is replaced.
    """

    def __init__(self, perform: Perform, size: int, limits: Limits) -> None:
        self._perform, self._limits = perform, limits
        self._places: LifoQueue[_Member | None] = LifoQueue()
        for _ in range(size):
            self._places.put(None)
        self._members: set[_Member] = set()
        self._lock = threading.Lock()
        self._closed = False

    def run(
        self,
        item: Any,
        tell: Tell = lambda news: None,
        wanted: Callable[[], bool] = lambda: True,
        seconds: float | None = None,
    ) -> Any:
        """Perform one item; waits for a free worker, and for the answer.

        Args:
            item: What the worker gets, by pickle.
            tell: Gets its progress.
            wanted: Asked again and again; False ends the work.
            seconds: How long this item may take; as all where None.

        Raises:
            WeftError: What the work raised.
            LimitError: It took too long or too much.
            InputError: The process died.
            Interrupted: It is not wanted any more, or the crew is closed.
        """
        member = self._places.get()
        try:
            if self._closed or not wanted():
                raise Interrupted("stopped before it began")
            if member is None or not member.process.is_alive():
                self._drop(member)
                member = self._hire()
            return member.perform(item, tell, lambda: wanted() and not self._closed, seconds)
        except WeftError as error:
            if self._closed and not isinstance(error, Interrupted):
                raise Interrupted("stopped") from error  # it did not die: close() ended it
            raise
        finally:
            self._give_back(member)

    def close(self) -> None:
        """End all workers, and what they are at; whoever waits for one is told that it was stopped."""
        with self._lock:
            self._closed = True
            members = list(self._members)
        for member in members:
            member.end()
        # Who waits for a member closes its pipes, in which it may be reading; these are nobody's.
        free = 0
        with suppress(Empty):
            while True:
                self._drop(self._places.get_nowait())
                free += 1
        for _ in range(free):
            self._places.put(None)

    def _hire(self) -> _Member:
        with self._lock:
            if self._closed:
                raise Interrupted("stopped before it began")
            member = _Member(self._perform, self._limits)
            self._members.add(member)
        return member

    def _give_back(self, member: _Member | None) -> None:
        with self._lock:
            fit = member is not None and not self._closed and member.process.is_alive()
            if fit:
                self._places.put(member)
        if not fit:
            self._drop(member)
            self._places.put(None)

    def _drop(self, member: _Member | None) -> None:
        if member is not None:
            member.kill()
            with self._lock:
                self._members.discard(member)


class _Member:
    """One process: its pipe, and the pipe whose end tells it that the service is gone."""

    def __init__(self, perform: Perform, limits: Limits) -> None:
        context = multiprocessing.get_context("forkserver")
        self.limits = limits
        self.connection, theirs = context.Pipe()
        watched, self._lifeline = context.Pipe(duplex=False)
        self.process = context.Process(target=_serve, args=(theirs, watched, perform, limits.mebibytes))
        with uninterrupted():
            self.process.start()
        theirs.close()
        watched.close()

    def perform(self, item: Any, tell: Tell, wanted: Callable[[], bool], seconds: float | None = None) -> Any:
        seconds = self.limits.seconds if seconds is None else seconds
        try:
            value, error = self._answer(item, tell, wanted, seconds)
        except BaseException:
            self.kill()  # it may be at the item still, whose answer the next one would be given
            raise
        if error is not None:
            raise error
        return value

    def _answer(
        self, item: Any, tell: Tell, wanted: Callable[[], bool], seconds: float
    ) -> tuple[Any, WeftError | None]:
        deadline = time.monotonic() + seconds
        try:
            self.connection.send(item)
        except OSError:
            raise self._death() from None
        while True:
            wait([self.connection, self.process.sentinel], timeout=_HEARTBEAT)
            # A process that answered and then died has answered.
            while self.connection.poll():
                try:
                    news = self.connection.recv()
                    if news is None:
                        return self.connection.recv()
                except (EOFError, OSError):
                    raise self._death() from None
                tell(news[0])
            if not self.process.is_alive():
                raise self._death()
            if time.monotonic() >= deadline:
                raise LimitError(f"took more than {seconds:g} s")
            if not wanted():
                raise Interrupted("stopped")

    def _death(self) -> InputError:
        self.process.join(timeout=5)
        code = self.process.exitcode or 0
        self.kill()
        name = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        return InputError(f"its worker process died ({name})")

    def kill(self) -> None:
        """End it, and close its pipes: for who holds it."""
        self.end()
        self.connection.close()
        self._lifeline.close()

    def end(self) -> None:
        """End it with all that it started; whoever waits for it sees that."""
        pid = self.process.pid
        if pid is not None and self.process.is_alive():
            try:
                os.killpg(pid, signal.SIGKILL)
            except ProcessLookupError:  # it has not made its group yet
                self.process.kill()
        self.process.join(timeout=10)


def _serve(connection: Connection, lifeline: Connection, perform: Perform, mebibytes: int | None) -> None:
    """The worker's side: take an item, send news as tuples of one, then None and ``(value, error)``."""
    os.setpgid(0, 0)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_the_service, args=(lifeline,), daemon=True).start()
    memory = bound_memory(mebibytes)

    def work(item: Any) -> Any:
        return perform(item, lambda news: connection.send((news,)))

    while True:
        try:
            item = connection.recv()
            answer = answered(work, item, memory)
            connection.send(None)
            connection.send_bytes(answer)
        except (EOFError, OSError):
            return


def _end_with_the_service(lifeline: Connection) -> None:
    with suppress(EOFError, OSError):
        lifeline.recv()
    os.killpg(0, signal.SIGKILL)

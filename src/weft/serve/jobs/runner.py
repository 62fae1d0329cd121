"""Threads that take jobs from the ledger, one after another, and have a crew do them.

They live as long as the service: an error that passes, as a full disk does, only makes them wait.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

from weft.errors import Interrupted, StoreError, WeftError
from weft.platform.processes.crew import Crew
from weft.serve.jobs.ledger import DONE, FAILED, Job, Ledger, passes
from weft.serve.log import write_fault

#: What takes seconds: it does not wait for what takes minutes.
SHORT = ("absa.find", "absa.explain")
Prepare = Callable[[Job], Any]
"""Makes of a job what a worker gets."""
_Found = TypeVar("_Found")
_IDLE = 1.0
_PAUSE = 5.0
"""Seconds after an error before a thread tries again."""


class Runner:
    """The threads.

    Args:
        ledger: Where jobs are.
        crew: Does them.
        short: Does those of :data:`SHORT`, one at a time, apart from all others.
        prepare: See :data:`Prepare`.
        problem: Makes of an error what is kept of it.
        ended: Told the kind and the state of each job that was done or failed; who cancels one knows.
        size: Jobs at a time.
        fault: Told of errors that are no answer to anybody.
    """

    def __init__(
        self,
        ledger: Ledger,
        crew: Crew,
        short: Crew,
        prepare: Prepare,
        problem: Callable[[WeftError], dict[str, Any]],
        ended: Callable[[str, str], None],
        size: int,
        fault: Callable[[Exception], None] = write_fault,
    ) -> None:
        self._ledger, self._prepare = ledger, prepare
        self._crew, self._short = crew, short
        self._problem, self._ended, self._fault = problem, ended, fault
        self._news = threading.Condition()
        self._progress: dict[str, dict[str, Any]] = {}
        self._cancelled: set[str] = set()
        self._stopping = False
        self._threads = [
            threading.Thread(target=self._work, args=(number == size,), name=f"jobs-{number}", daemon=True)
            for number in range(size + 1)
        ]

    def start(self) -> None:
        """Go on with what was accepted."""
        lost = Interrupted("the service died each time that this job was under way")
        self._ledger.resume(self._problem(lost))
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """End; what is under way is done anew after the next start."""
        with self._news:
            self._stopping = True
            self._news.notify_all()
        self._crew.close()
        self._short.close()
        for thread in self._threads:
            if thread.is_alive():
                thread.join(timeout=10)

    def wake(self) -> None:
        """There is a new job."""
        with self._news:
            self._news.notify_all()

    def progress(self, name: str) -> dict[str, Any] | None:
        """How far a job is; None before it says so, and after its end."""
        return self._progress.get(name)

    def cancel(self, name: str) -> bool:
        """End a job; False where it has ended."""
        found = self._ledger.cancel(name)
        with self._news:
            if found and name in self._progress:
                self._cancelled.add(name)
        return found

    def _work(self, short: bool) -> None:
        crew = self._short if short else self._crew
        while not self._stopping:
            try:
                job = self._next(short)
                if job is not None:
                    self._do(job, crew)
            except Exception as error:  # noqa: BLE001 - the thread's edge: without it no job is done any more
                self._fault(error)
                self._pause(_PAUSE)

    def _next(self, short: bool) -> Job | None:
        """A job that is under way from now on; None, after a while, where none waits."""
        with self._news:
            job = self._ledger.claim(SHORT) if short else self._ledger.claim(but=SHORT)
            if job is not None:
                self._progress[job.id] = {"what": "started", "done": 0, "total": 0}
            else:
                self._pause(_IDLE)
            return job

    def _pause(self, seconds: float) -> None:
        with self._news:
            if not self._stopping:
                self._news.wait(seconds)

    def _do(self, job: Job, crew: Crew) -> None:
        def tell(news: dict[str, Any]) -> None:
            self._progress[job.id] = news

        try:
            item = self._again(lambda: self._prepare(job))
            result = crew.run(item, tell, lambda: job.id not in self._cancelled)
            self._keep(job, DONE, lambda: self._ledger.finish(job.id, result))
        except Interrupted as error:
            if not self._stopping:
                self._fail(job, error)
            # Else it stays under way in the ledger, and waits again after the next start.
        except WeftError as error:
            self._fail(job, error)
        except Exception as error:  # noqa: BLE001 - it is this job's, and the thread has others to do
            self._fault(error)
            self._fail(job, WeftError("a fault of weft's own", hint="the log of the service says where"))
        finally:
            with self._news:
                self._progress.pop(job.id, None)
                self._cancelled.discard(job.id)

    def _fail(self, job: Job, error: WeftError) -> None:
        problem = self._problem(error)
        self._keep(job, FAILED, lambda: self._ledger.fail(job.id, problem))

    def _keep(self, job: Job, state: str, change: Callable[[], bool]) -> None:
        if self._again(change):  # else it was cancelled
            self._ended(job.kind, state)

    def _again(self, use: Callable[[], _Found]) -> _Found | None:
        """Use the ledger, again and again where that cannot be done just now; None where the service stops."""
        while not self._stopping:
            try:
                return use()
            except StoreError as error:
                if not passes(error):
                    raise
                self._fault(error)
            self._pause(_PAUSE)
        return None


def wait_for(ended: Callable[[], bool], seconds: float) -> bool:
    """Look again and again whether something has ended; whether it has."""
    until = time.monotonic() + seconds
    pause = 0.01
    while not ended():
        if time.monotonic() >= until:
            return False
        time.sleep(min(pause, 0.25))
        pause *= 1.5
    return True

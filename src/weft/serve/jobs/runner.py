"""Threads that take jobs from the ledger, one after another, and have a crew do them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from weft.errors import Interrupted, WeftError
from weft.platform.processes.crew import Crew
from weft.serve.jobs.ledger import CANCELLED, DONE, FAILED, Job, Ledger

#: What takes seconds: it does not wait for what takes minutes.
SHORT = ("absa.find", "absa.explain")
Prepare = Callable[[Job], Any]
"""Makes of a job what a worker gets."""
_IDLE = 1.0


class Runner:
    """The threads.

    Args:
        ledger: Where jobs are.
        crew: Does them.
        short: Does those of :data:`SHORT`, one at a time, apart from all others.
        prepare: See :data:`Prepare`.
        problem: Makes of an error what is kept of it.
        ended: Told the kind and the state of each job that ended.
        size: Jobs at a time.
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
    ) -> None:
        self._ledger, self._prepare = ledger, prepare
        self._crew, self._short = crew, short
        self._problem, self._ended = problem, ended
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
        with self._news:
            self._cancelled.add(name)
        found = self._ledger.cancel(name)
        if not found or name not in self._progress:
            self._cancelled.discard(name)
        return found

    def _work(self, short: bool) -> None:
        crew = self._short if short else self._crew
        while not self._stopping:
            job = self._ledger.claim(SHORT) if short else self._ledger.claim(but=SHORT)
            if job is None:
                with self._news:
                    if not self._stopping:
                        self._news.wait(_IDLE)
                continue
            self._do(job, crew)

    def _do(self, job: Job, crew: Crew) -> None:
        self._progress[job.id] = {"what": "started", "done": 0, "total": 0}

        def tell(news: dict[str, Any]) -> None:
            self._progress[job.id] = news

        try:
            result = crew.run(self._prepare(job), tell, lambda: job.id not in self._cancelled)
            state = DONE if self._ledger.finish(job.id, result) else CANCELLED
        except Interrupted:
            if self._stopping and job.id not in self._cancelled:
                return  # it stays under way in the ledger, and waits again after the next start
            state = CANCELLED
        except WeftError as error:
            state = FAILED if self._ledger.fail(job.id, self._problem(error)) else CANCELLED
        finally:
            self._progress.pop(job.id, None)
            self._cancelled.discard(job.id)
        self._ended(job.kind, state)


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

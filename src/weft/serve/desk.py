"""What the routes share: the crews, the ledger, the uploads, and how a request becomes a task."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any

from anyio import CapacityLimiter
from starlette.responses import JSONResponse, Response

from weft.bcsd.components.identify import knows_libraries
from weft.bcsd.index.update import in_step
from weft.bcsd.use.embed_files import Embedding
from weft.errors import InputError, StoreError, WeftError
from weft.platform.processes import Limits
from weft.platform.processes.crew import Crew
from weft.platform.processes.lock import locked
from weft.serve.batches import Batches
from weft.serve.guard.measures import Measures
from weft.serve.guard.tokens import Caller
from weft.serve.jobs.files import Files
from weft.serve.jobs.ledger import DONE, ENDED, FAILED, Job, Ledger, Upload
from weft.serve.jobs.runner import Runner, wait_for
from weft.serve.lanes import Lane
from weft.serve.problems import MEDIA, Paths, Refusal, not_here, record
from weft.serve.settings import Settings
from weft.serve.tasks.task import File, Served, Task, perform, remarks_of

_SWEEP = 60.0
_SEARCHES = 64
"""Searches that share a pass over the index."""
_QUERIES = 32
"""Queries in SPARQL that wait: each may take all of its time."""


class Desk:
    """The service without its routes.

    Args:
        settings: What is served.

    Raises:
        StoreError: Another service keeps its state in the same folder, or the list of jobs is damaged.
        OutputError: The folder cannot be written.
    """

    def __init__(self, settings: Settings) -> None:
        bounds = settings.bounds
        self.settings = settings
        self.paths = Paths(
            [settings.data, settings.index, settings.store, settings.token_file, Path(settings.absa)]
        )
        self.ledger = Ledger(settings.data)
        self.files = Files(settings.data / "uploads", self.ledger, bounds)
        self.measures = Measures(self.ledger.counts)
        quick = Limits(bounds.quick_seconds, bounds.mebibytes)
        long = Limits(bounds.job_seconds, bounds.mebibytes)
        self.served = Served(settings.index, settings.store, settings.absa, long)
        self._crews = {
            "bcsd": Crew(perform, settings.workers, quick),
            "kg": Crew(perform, settings.workers, quick),
            "absa": Crew(perform, 1, quick),
        }
        self.texts = Batches(
            lambda requests: self.ask("absa.predict", {"requests": requests}),
            512,
            lambda request: len(request["texts"]) * len(request["aspects"]) * max(1, len(request["targets"])),
        )
        self.searches = Batches(
            lambda asked: self.ask(
                "bcsd.searches",
                {"requests": [request for request, _ in asked]},
                {request["file"]: file for request, file in asked},
            ),
            _SEARCHES,
        )
        #: SPARQL makes a process for each query: no more at a time than there are workers.
        self.queries = Lane(settings.workers + 1, _QUERIES)
        #: Threads that wait for the crews, which answer at once.
        self.lookups = Lane(settings.workers + 1, bounds.connections)
        #: Threads that only wait for jobs, apart from those that work.
        self.patient = CapacityLimiter(bounds.connections)
        self._jobs = Crew(perform, settings.workers, long)
        self._runner = Runner(
            self.ledger,
            self._jobs,
            Crew(perform, 1, long),
            self._prepare,
            lambda error: record(error, self.paths),
            self.measures.job,
            settings.workers,
        )
        self._stopped = threading.Event()
        self._lock: Any = None

    def start(self) -> None:
        """Take the folder, and go on with the jobs that were accepted."""
        self._lock = locked(self.settings.data / "lock", "is kept by {}", "name another --data", StoreError)
        self._lock.__enter__()
        self.files.sweep()
        self._runner.start()
        threading.Thread(target=self._sweep, name="sweep", daemon=True).start()
        warm = [(self._crews[tool], f"{tool}.warm") for tool in ("absa", "bcsd", "kg")]
        warm += [(self._jobs, "jobs.warm")] * self.settings.workers
        for crew, kind in warm:
            threading.Thread(target=self._warm, args=(crew, kind), name=kind, daemon=True).start()

    def stop(self) -> None:
        """End all work; jobs that are under way go on after the next start."""
        self._stopped.set()
        self._runner.stop()
        for crew in self._crews.values():
            crew.close()
        self.ledger.close()
        self._lock.__exit__(None, None, None)

    def ask(self, kind: str, request: dict[str, Any], files: Mapping[str, File] | None = None) -> Any:
        """Answer at once, in the crew of a tool; waits.

        Raises:
            WeftError: It cannot be answered.
        """
        with self.measures.waiting.track_inprogress():
            task = Task(kind, request, self.served, files or {})
            return self._crews[kind.partition(".")[0]].run(task)

    def is_extracted(self, file: File) -> bool:
        """Whether a file was read before, so that a question for one of its functions is answered at once."""
        index = self.settings.index
        if index is None:
            return False
        lifter = in_step(index, Embedding(model=self.served.bcsd)).lifter
        return remarks_of(file, lifter).exists()

    @cached_property
    def names_libraries(self) -> bool:
        """Whether the index says of which library a function is."""
        with suppress(WeftError):
            if self.settings.index is not None:
                return knows_libraries(self.settings.index)
        return False

    def upload(self, caller: Caller, name: str) -> Upload:
        """An upload of the caller.

        Raises:
            Refusal: There is none of that name.
        """
        found = self.ledger.upload(name, caller.name)
        if found is None:
            raise not_here("no such upload")
        return found

    def file(self, caller: Caller, name: str) -> File:
        """Where an upload lies; raises as :meth:`upload` does."""
        found = self.upload(caller, name)
        return File(self.files.path(found), found.name)

    def submit(self, caller: Caller, kind: str, request: dict[str, Any], uploads: list[str]) -> Job:
        """Accept a job: when this returns, it is on the disk.

        Raises:
            Refusal: An upload is not there, or too many jobs wait.
        """
        for name in uploads:
            self.upload(caller, name)
        most = self.settings.bounds.waiting_jobs
        job = self.ledger.add(caller.name, kind, request, uploads, most)
        if job is None:
            raise Refusal(
                429, "jobs", "Too many jobs wait", f"{most} of yours have not ended", Retry_After="30"
            )
        self._runner.wake()
        return job

    def job(self, caller: Caller, name: str) -> Job:
        """A job of the caller.

        Raises:
            Refusal: There is none of that name.
        """
        found = self.ledger.job(name, caller.name)
        if found is None:
            raise not_here("no such job")
        return found

    def progress(self, job: Job) -> dict[str, Any] | None:
        """How far a job is."""
        return None if job.state in ENDED else self._runner.progress(job.id)

    def cancel(self, job: Job) -> bool:
        """End a job; False where it has ended."""
        ended = self._runner.cancel(job.id)
        if ended:
            self.measures.job(job.kind, "cancelled")
        return ended

    def outcome(self, caller: Caller, job: Job, seconds: float) -> bytes | None:
        """The result of a job that ends within some seconds; None where it does not.

        Raises:
            Refusal: It failed: the problem that it failed with.
        """
        if not wait_for(lambda: self.job(caller, job.id).state in ENDED, seconds):
            return None
        return self.result(self.job(caller, job.id))

    def result(self, job: Job) -> bytes:
        """What a job that has ended gave.

        Raises:
            Refusal: It failed, or was cancelled.
        """
        if job.state == FAILED and job.problem is not None:
            raise Failed(job.problem)
        content = self.ledger.result(job.id) if job.state == DONE else None
        if content is None:
            raise Refusal(409, "no-result", "There is no result", f"the job is {job.state}")
        return content

    def _prepare(self, job: Job) -> Task:
        files: dict[str, File] = {}
        for name in job.uploads:
            upload = self.ledger.upload(name, job.owner)
            if upload is None:
                raise InputError("an upload of this job was removed")
            files[name] = File(self.files.path(upload), upload.name)
        return Task(job.kind, job.request, self.served, files)

    def _warm(self, crew: Crew, kind: str) -> None:
        """Load what the first question would wait for; where that fails, the question says why.

        A busy machine may need longer for it than any question may take.
        """
        with suppress(WeftError, OSError):
            crew.run(Task(kind, {}, self.served), seconds=self.settings.bounds.job_seconds)

    def _sweep(self) -> None:
        while not self._stopped.wait(_SWEEP):
            try:
                self.files.sweep()
            except (WeftError, OSError):
                continue  # the next minute is soon enough; a broken list of jobs is told by every request


class Failed(Refusal):
    """A job that failed, as the refusal that its request would have been."""

    def __init__(self, problem: dict[str, Any]) -> None:
        super().__init__(problem["status"], "", problem["title"], problem["detail"])
        self.problem = problem

    def response(self) -> Any:
        """The answer."""
        return JSONResponse(self.problem, self.status, media_type=MEDIA)


def as_json(content: bytes) -> Response:
    """Bytes that are JSON already."""
    return Response(content, media_type="application/json")

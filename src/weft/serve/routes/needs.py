"""What routes need: the desk, the caller, and how answers are described."""

from __future__ import annotations

from typing import Annotated, Any

from anyio import to_thread
from fastapi import Depends, Query, Request
from starlette.responses import JSONResponse, Response

from weft.serve.desk import Desk, as_json
from weft.serve.guard.gate import allowed
from weft.serve.guard.tokens import READ, WRITE, Caller
from weft.serve.jobs.ledger import Job
from weft.serve.problems import MEDIA
from weft.serve.shapes.base import JobRecord

_WHY = {
    400: "The request breaks a rule.",
    401: "No token, or one that is not known.",
    403: "The token does not allow this, or another site's page asks.",
    404: "There is no such thing, or the service was started without it.",
    408: "The body came too slowly.",
    409: "It has no result.",
    413: "Larger, longer or more than the bounds allow.",
    421: "The service has another name.",
    422: "The input cannot be used.",
    429: "Too many requests, or too many jobs or queries that wait.",
    503: "The index or the store cannot be read, or too many connections.",
    507: "The disk is full.",
}
PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {"description": why, "content": {MEDIA: {"schema": {"$ref": "#/components/schemas/Problem"}}}}
    for status, why in _WHY.items()
}
"""The refusals of every route; the schema of :class:`Problem` is put beside them by the application."""


# What is only looked up is asynchronous: the framework would send anything else to a thread, for each request.
async def desk_of(request: Request) -> Desk:
    """The service behind the routes."""
    return request.app.state.desk


async def caller_of(request: Request) -> Caller:
    """Who asks, and may."""
    return allowed(request.state.caller)


async def writer_of(request: Request) -> Caller:
    """Who asks, and may change what all share."""
    return allowed(request.state.caller, WRITE)


async def sender_of(request: Request) -> Caller:
    """Who asks, and may send files and look at jobs of its own: both scopes need that."""
    caller = request.state.caller
    return allowed(caller, WRITE if WRITE in caller.scopes else READ)


AnySender = Annotated[Caller, Depends(sender_of)]
AnyWriter = Annotated[Caller, Depends(writer_of)]
AnyDesk = Annotated[Desk, Depends(desk_of)]
AnyCaller = Annotated[Caller, Depends(caller_of)]
MOST_WAIT = 5.0
"""Seconds after which a request is answered with its job: less than clients commonly wait for an answer."""
Wait = Annotated[
    float,
    Query(
        ge=0,
        le=MOST_WAIT,
        description="Seconds to wait for the answer; after them the answer is the job (202), to be asked for later.",
    ),
]


def described(model: Any, what: str) -> dict[int | str, dict[str, Any]]:
    """How an answer of 200 is described."""
    return {200: {"model": model, "description": what}}


def waited(model: Any, what: str) -> dict[int | str, dict[str, Any]]:
    """How an answer is described that may come as a job."""
    return {**described(model, what), 202: {"model": JobRecord, "description": "It takes longer: the job."}}


def job_record(desk: Desk, job: Job) -> dict[str, Any]:
    """A job as JSON."""
    keep = desk.settings.bounds.keep_seconds
    done = job.state == "done"
    return {
        "id": job.id,
        "kind": job.kind,
        "state": job.state,
        "created": job.created,
        "started": job.started,
        "finished": job.finished,
        "expires": None if job.finished is None else job.finished + keep,
        "progress": desk.progress(job),
        "problem": job.problem,
        "uploads": list(job.uploads),
        "result": f"/v1/jobs/{job.id}/result" if done else None,
    }


async def by_job(
    desk: Desk, caller: Caller, kind: str, request: dict[str, Any], uploads: list[str], wait: float
) -> Response:
    """Submit a job, and answer with its result, or with the job where that takes too long."""
    job = await to_thread.run_sync(desk.submit, caller, kind, request, uploads)
    content = (
        await to_thread.run_sync(desk.outcome, caller, job, wait, limiter=desk.patient) if wait else None
    )
    if content is not None:
        return as_json(content)
    now = await to_thread.run_sync(desk.job, caller, job.id)
    place = f"/v1/jobs/{job.id}"
    return JSONResponse(job_record(desk, now), 202, {"location": place, "retry-after": "1"})

"""``/v1/uploads`` and ``/v1/jobs``: files that are kept for a while, and work that takes long."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Annotated, Any

from anyio import to_thread
from fastapi import APIRouter, Depends, Path, Query, Request, Response
from fastapi.sse import EventSourceResponse, ServerSentEvent

from weft.serve.desk import Desk, as_json
from weft.serve.guard.tokens import Caller
from weft.serve.jobs.ledger import ENDED, Job, Upload
from weft.serve.problems import Refusal
from weft.serve.routes.needs import PROBLEMS, AnyDesk, AnySender, job_record
from weft.serve.shapes.base import JobRecord, Jobs, UploadRecord, Uploads

router = APIRouter(prefix="/v1", tags=["Files and jobs"], responses=PROBLEMS)
Name = Annotated[str, Path(pattern="^[0-9a-f]{24}$")]
_LOOK = 0.25
#: Seconds without an event after which clients and proxies are told that the service is still there.
_SILENCE = 3.0
_BODY = {
    "requestBody": {
        "required": True,
        "content": {
            "application/octet-stream": {"schema": {"type": "string", "format": "binary", "minLength": 1}}
        },
    }
}


def upload_record(desk: Desk, upload: Upload) -> dict[str, Any]:
    """An upload as JSON."""
    keep = desk.settings.bounds.keep_seconds
    told = {name: getattr(upload, name) for name in ("id", "name", "size", "sha256", "created")}
    return {**told, "expires": upload.created + keep}


@router.post("/uploads", status_code=201, response_model=UploadRecord, openapi_extra=_BODY)
async def send(
    request: Request,
    desk: AnyDesk,
    caller: AnySender,
    name: Annotated[
        str, Query(min_length=1, max_length=400, description="What you call it.", examples=["a.so"])
    ],
) -> Any:
    """Send a file as it is; it is kept for a while, never executed, and seen by nobody else."""
    upload = await desk.files.take(caller.name, name, request.stream())
    return upload_record(desk, upload)


@router.get("/uploads", response_model=Uploads)
def uploads(desk: AnyDesk, caller: AnySender) -> Any:
    """Your files, the newest first."""
    return {"uploads": [upload_record(desk, upload) for upload in desk.ledger.uploads(caller.name)]}


@router.get("/uploads/{name}", response_model=UploadRecord)
def upload(name: Name, desk: AnyDesk, caller: AnySender) -> Any:
    """One of your files."""
    return upload_record(desk, desk.upload(caller, name))


@router.delete("/uploads/{name}", status_code=204, response_class=Response)
def remove_upload(name: Name, desk: AnyDesk, caller: AnySender) -> Response:
    """Remove one of your files; not while a job needs it."""
    desk.upload(caller, name)
    if desk.ledger.in_use(name):
        raise Refusal(
            409, "in-use", "It is needed", "a job that has not ended needs this file", "cancel the job"
        )
    desk.files.remove(name)
    return Response(status_code=204)


@router.get("/jobs", response_model=Jobs)
def jobs(desk: AnyDesk, caller: AnySender, limit: Annotated[int, Query(ge=1, le=1000)] = 50) -> Any:
    """Your jobs, the newest first."""
    return {"jobs": [job_record(desk, job) for job in desk.ledger.jobs(caller.name, limit)]}


@router.get("/jobs/{name}", response_model=JobRecord)
def job(name: Name, desk: AnyDesk, caller: AnySender) -> Any:
    """One of your jobs."""
    return job_record(desk, desk.job(caller, name))


@router.delete("/jobs/{name}", status_code=204, response_class=Response)
def cancel(name: Name, desk: AnyDesk, caller: AnySender) -> Response:
    """Cancel a job; one that has ended is forgotten, with its result."""
    found = desk.job(caller, name)
    if not desk.cancel(found):
        desk.ledger.remove_job(name)
    return Response(status_code=204)


@router.get(
    "/jobs/{name}/result",
    response_class=Response,
    responses={
        200: {
            "description": "What the request would have been answered.",
            "content": {"application/json": {}},
        }
    },
)
def result(name: Name, desk: AnyDesk, caller: AnySender) -> Response:
    """What a job gave; why it failed, where it did."""
    return as_json(desk.result(desk.job(caller, name)))


def own_job(name: Name, desk: AnyDesk, caller: AnySender) -> Job:
    """The job that an address names; refused before an answer begins."""
    return desk.job(caller, name)


@router.get("/jobs/{name}/events", response_class=EventSourceResponse)
async def events(
    desk: AnyDesk, caller: AnySender, begun: Annotated[Job, Depends(own_job)]
) -> AsyncIterator[ServerSentEvent]:
    """The job each time that it changes, as server-sent events, until it has ended.

    A comment says that the service is still there where nothing changes for long.
    """
    told: dict[str, Any] | None = None
    said = time.monotonic()
    while True:
        now = await to_thread.run_sync(_look, desk, caller, begun.id)
        if now != told:
            told, said = now, time.monotonic()
            yield ServerSentEvent(data=now, event="job")
        elif time.monotonic() - said > _SILENCE:
            said = time.monotonic()
            yield ServerSentEvent(comment="still there")
        if now["state"] in ENDED:
            return
        await asyncio.sleep(_LOOK)


def _look(desk: Desk, caller: Caller, name: str) -> dict[str, Any]:
    return job_record(desk, desk.job(caller, name))

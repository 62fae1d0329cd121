"""What all shapes share, and the shapes of the service itself."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

UploadId = Annotated[
    str,
    Field(
        pattern="^[0-9a-f]{24}$", description="The `id` of an upload.", examples=["0123456789abcdef01234567"]
    ),
]
JobId = Annotated[str, Field(pattern="^[0-9a-f]{24}$", examples=["fedcba9876543210fedcba98"])]
Moment = Annotated[float, Field(description="Seconds since 1970.")]


class Asked(BaseModel):
    """A request: what it does not know, it refuses."""

    # Strict: "5" is no number and true is none, as the description says.
    model_config = ConfigDict(extra="forbid", strict=True, str_max_length=200_000)


class Told(BaseModel):
    """An answer: nothing stands in it that is not described."""

    model_config = ConfigDict(extra="forbid")


class Problem(BaseModel):
    """What was wrong, and the way out (RFC 9457)."""

    model_config = ConfigDict(extra="allow")

    type: str = Field(examples=["urn:weft:problem:input"])
    title: str
    status: int
    detail: str
    hint: str | None = None
    where: str | None = None
    exit_code: int | None = Field(None, description="What the command would end with.")


class UploadRecord(Told):
    """A file that is kept for a while."""

    id: UploadId
    name: str
    size: int
    sha256: str
    created: Moment
    expires: Moment


class Uploads(Told):
    """Your files."""

    uploads: list[UploadRecord]


class Progress(Told):
    """How far a job is."""

    what: str = Field(examples=["embedding functions"])
    done: int
    total: int = Field(description="0 where nobody knows.")


class JobRecord(Told):
    """Work that takes long."""

    id: JobId
    kind: str = Field(examples=["bcsd.match"])
    state: Literal["queued", "running", "done", "failed", "cancelled"]
    created: Moment
    started: Moment | None
    finished: Moment | None
    expires: Moment | None = Field(description="When its result goes; null before it ended.")
    progress: Progress | None
    problem: Problem | None
    uploads: list[UploadId]
    result: str | None = Field(
        description="Where its result is.", examples=["/v1/jobs/fedcba9876543210fedcba98/result"]
    )


class Jobs(Told):
    """Your jobs, the newest first."""

    jobs: list[JobRecord]


class Health(Told):
    """Whether the service works."""

    status: Literal["ok"]
    version: str


class Model(Told):
    """A shipped model, as `weft models --json` prints it."""

    name: str
    megabytes: float
    summary: str


class Models(Told):
    """What is served."""

    shipped: list[Model]
    absa: str = Field(description="The model that answers about texts.")
    index: str | None = Field(description="The index of functions that is searched.")
    libraries: bool = Field(description="Whether the index says of which library a function is.")
    store: str | None = Field(description="The store of facts that is asked.")
    upload_bytes: int = Field(description="The largest file that is taken.")


Record = dict[str, Any]

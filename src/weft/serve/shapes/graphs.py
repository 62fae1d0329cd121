"""Requests and answers about graphs; the answers are those of ``weft kg … --json``."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, RootModel

from weft.serve.shapes.base import Asked, Told, UploadId


class AskExtract(Asked):
    """Facts of a source file."""

    file: UploadId
    relations: list[str] = Field([], max_length=50, description="Only these; all where there is none.")
    at_least: float = Field(0.0, ge=0, le=1, description="Least confidence.")
    target_precision: float | None = Field(
        None, gt=0, le=1, description="As many facts as together are right this often."
    )
    limit: int | None = Field(None, ge=1, le=1_000_000, description="The surest so many.")


class AskKeep(Asked):
    """A source file whose facts all are to have."""

    file: UploadId
    least_confidence: float = Field(0.5, ge=0, le=1, description="Of a fact that the model infers.")


class Kept(Told):
    """As `weft kg extract --json`."""

    read: int
    empty: int
    unchanged: int
    replaced: int
    facts: int
    failed: list[tuple[str, str]]
    gone: list[str] = Field(description="Always empty: files that were sent before stay in the store.")
    removed: bool
    held: list[str] = Field(description="Always empty, likewise.")
    moved: bool
    unused: dict[str, list[str]]
    tally: None
    unanswered: int
    others: dict[str, int] = Field(description="Files of other kinds, by suffix.")
    foreign: list[tuple[str, str]] = Field(
        description="Documents that seem to be in another language, and its code."
    )
    kept: int = Field(description="Facts of the whole store.")
    target_precision: float | None = Field(
        description="Of the store's rule for what is kept; all is where null."
    )


class Entity(Told):
    """An entity in a list."""

    entity: str
    kind: str
    facts: int


class Entities(Told):
    """Entities of a name."""

    schema_: Literal[1] = Field(alias="schema")
    entities: list[Entity]


class Place(Told):
    """Where a fact is stated."""

    document: str
    line: int
    start: int
    end: int
    chunk: tuple[int, int]
    sentence: str
    confidence: float
    model: str
    head: str
    tail: str
    combined: str
    origin: str


class Fact(Told):
    """A fact and where it is stated."""

    head: str
    relation: str
    tail: str
    confidence: float
    origin: str
    kinds: tuple[str, str]
    values: tuple[str | None, str | None]
    evidence: list[Place]


class EntityFacts(Told):
    """As `weft kg show --json`."""

    entity: str
    kind: str
    also: list[str]
    facts: list[Fact]


class ModelFact(Told):
    """A fact of a source file."""

    head: str
    relation: str
    tail: str
    confidence: float
    line: int
    place: tuple[int, int]
    span: tuple[int, int]
    stated: list[str]
    combined: str
    agrees: bool | None


class ModelFacts(RootModel[list[ModelFact]]):
    """As `weft kg facts --json`."""


class Sparql(Told):
    """SPARQL 1.1 query results; `boolean` of an ASK, `results` of all else."""

    head: dict[str, Any]
    results: dict[str, list[dict[str, dict[str, str]]]] | None = None
    boolean: bool | None = None

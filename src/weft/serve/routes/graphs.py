"""``/v1/kg``: what ``weft kg`` tells of a store, the SPARQL 1.1 protocol, and facts of a source file."""

from __future__ import annotations

import json
from collections.abc import Container
from typing import Annotated, Any, Literal
from urllib.parse import parse_qsl

from fastapi import APIRouter, Query, Request, Response

from weft.errors import InputError, LimitError
from weft.serve.desk import Desk, as_json
from weft.serve.problems import Refusal, not_served
from weft.serve.routes.needs import (
    MOST_WAIT,
    PROBLEMS,
    AnyCaller,
    AnyDesk,
    AnyWriter,
    Wait,
    by_job,
    described,
    waited,
)
from weft.serve.shapes.graphs import AskExtract, AskKeep, Entities, EntityFacts, Kept, ModelFacts

router = APIRouter(prefix="/v1/kg", tags=["Graphs"], responses=PROBLEMS)
_JSON = "application/sparql-results+json"
_FORM, _QUERY = "application/x-www-form-urlencoded", "application/sparql-query"
_ASKS = "SELECT ?s ?p ?o WHERE { ?s ?p ?o } LIMIT 10"
_ANSWERS: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The answer: JSON unless XML, CSV or TSV is accepted; N-Triples of a CONSTRUCT or DESCRIBE.",
        "content": {
            _JSON: {"schema": {"$ref": "#/components/schemas/Sparql"}},
            "application/sparql-results+xml": {"schema": {"type": "string"}},
            "text/csv": {"schema": {"type": "string"}},
            "text/tab-separated-values": {"schema": {"type": "string"}},
            "application/n-triples": {"schema": {"type": "string"}},
            "text/turtle": {"schema": {"type": "string"}},
        },
    },
    406: PROBLEMS[400] | {"description": "No format that is accepted can hold the answer."},
    415: PROBLEMS[400] | {"description": "The body is no query."},
}


def _need_store(desk: Desk) -> None:
    if desk.settings.store is None:
        raise not_served("store of facts", "--store")


@router.get(
    "/entities",
    responses=described(Entities, "Those that begin so first, then those that hold it, or come near."),
)
async def entities(
    desk: AnyDesk,
    caller: AnyCaller,
    q: Annotated[
        str, Query(max_length=400, description="What was typed; the most frequent entities where empty.")
    ] = "",
    limit: Annotated[int, Query(ge=1, le=200)] = 20,
) -> Response:
    """Entities whose names one has typed a part of."""
    _need_store(desk)
    return as_json(await desk.lookups.run(desk.ask, "kg.entities", {"q": q.strip(), "limit": limit}))


@router.get("/facts", responses=described(EntityFacts, "The surest facts."))
async def facts(
    desk: AnyDesk,
    caller: AnyCaller,
    entity: Annotated[
        str,
        Query(min_length=1, max_length=2000, description="A name, an alias, the end of a qualified name."),
    ],
    limit: Annotated[int, Query(ge=1, le=1000)] = 30,
    only: Annotated[Literal["stated", "inferred"] | None, Query(description="Both where not given.")] = None,
) -> Response:
    """What the store knows of an entity, each fact with the sentences that state it, as `weft kg show` tells it."""
    _need_store(desk)
    asked = {"entity": entity, "limit": limit, "only": only}
    return as_json(await desk.lookups.run(desk.ask, "kg.facts", asked))


@router.post("/extract", responses=waited(ModelFacts, "The facts, by line."))
async def extract(asked: AskExtract, desk: AnyDesk, caller: AnyCaller, wait: Wait = MOST_WAIT) -> Response:
    """The facts of a Python file, each with its confidence, as `weft kg facts` tells them."""
    return await by_job(desk, caller, "kg.extract", asked.model_dump(), [asked.file], wait)


@router.post("/documents", responses=waited(Kept, "What was done."))
async def keep(asked: AskKeep, desk: AnyDesk, caller: AnyWriter, wait: Wait = MOST_WAIT) -> Response:
    """Put the facts of a Python file into the store, as `weft kg extract` does; needs the scope `write`.

    A file of the same name that was put in before is replaced.
    """
    _need_store(desk)
    return await by_job(desk, caller, "kg.keep", asked.model_dump(), [asked.file], wait)


@router.get("/sparql", responses=_ANSWERS, response_class=Response)
async def sparql(
    request: Request,
    desk: AnyDesk,
    caller: AnyCaller,
    query: Annotated[str, Query(min_length=1, max_length=100_000, examples=[_ASKS])],
) -> Response:
    """Ask the store in SPARQL 1.1, read only; prefixes `e: r: d: weft: rdf: rdfs: xsd:` are known."""
    return await desk.queries.run(_answer, request, desk, query)


@router.post(
    "/sparql",
    responses=_ANSWERS,
    response_class=Response,
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {
                _FORM: {
                    "schema": {
                        "type": "object",
                        "required": ["query"],
                        "properties": {"query": {"type": "string", "minLength": 1, "example": _ASKS}},
                    }
                },
                _QUERY: {"schema": {"type": "string", "minLength": 1, "example": _ASKS}},
            },
        }
    },
)
async def sparql_post(request: Request, desk: AnyDesk, caller: AnyCaller) -> Response:
    """The same with the query in the body, as a form or as it is."""
    media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media == _QUERY:
        query = (await request.body()).decode("utf-8", "replace")
    elif media == _FORM:
        query = _of_form(await request.body())
    else:
        raise Refusal(415, "media", "The body is no query", f"send {_FORM} or {_QUERY}")
    return await desk.queries.run(_answer, request, desk, query)


def _of_form(body: bytes) -> str:
    try:
        fields = parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=20)
    except ValueError as error:
        raise _malformed("the form has too many fields") from error
    names = {name for name, _ in fields}
    if "update" in names:
        raise Refusal(403, "read-only", "The store is read only", "updates are not taken")
    _only_graph(names)
    values = [value for name, value in fields if name == "query"]
    if len(values) != 1:
        raise _malformed("the form has not one field named query")
    return values[0]


def _only_graph(names: Container[str]) -> None:
    for name in ("default-graph-uri", "named-graph-uri"):
        if name in names:
            raise _malformed(f"there is one graph: leave {name} out")


def _malformed(what: str) -> Refusal:
    return Refusal(400, "protocol", "This is no request of the SPARQL protocol", what)


def _answer(request: Request, desk: Desk, query: str) -> Response:
    from weft.kg.storage.query.results import GRAPHS, RESULTS, ntriples, sparql_json
    from weft.kg.storage.query.sparql import answer, locate_index

    _need_store(desk)
    assert desk.settings.store is not None  # _need_store()
    _only_graph(request.query_params)
    if not query.strip():
        raise InputError("an empty query", where="query")
    accepted = _accepted(request.headers.get("accept", ""))
    bounds = desk.settings.bounds
    try:
        with locate_index(desk.settings.store) as place:
            found = answer(place, query, bounds.query_seconds, bounds.mebibytes)
    except LimitError as error:
        raise LimitError(error.what, where=error.where, hint="ask for less") from error
    if found.graph:
        media = next((media for media in accepted if media in GRAPHS), None)
        if media is None and not _takes(accepted, _JSON, "application/json"):
            media = GRAPHS[0] if _takes(accepted, "*/*", "text/*", "application/*") else None
            if media is None:
                raise _unacceptable()
        if media is not None:
            return Response(
                ntriples(found), media_type=f"{media}; charset=utf-8" if "text" in media else media
            )
    for media in accepted:
        if media in RESULTS and not (found.truth is not None and media.startswith("text/")):
            return Response(RESULTS[media](found), media_type=media)
        if media in (_JSON, "application/json", "*/*", "application/*"):
            break
        if media == "text/*" and found.truth is None:
            return Response(RESULTS["text/csv"](found), media_type="text/csv")
    else:
        raise _unacceptable()
    content = json.dumps(sparql_json(found), ensure_ascii=False).encode("utf-8", "backslashreplace")
    return Response(content, media_type=_JSON)


def _accepted(header: str) -> list[str]:
    """The media types of an Accept header, the most wanted first."""
    wanted: list[tuple[float, str]] = []
    for part in header.split(","):
        media, _, more = part.strip().partition(";")
        share = 1.0
        for setting in more.split(";"):
            name, _, value = setting.strip().partition("=")
            if name == "q":
                try:
                    share = float(value)
                except ValueError:
                    share = 0.0
        if media and share > 0:
            wanted.append((share, media.strip().lower()))
    return [media for _, media in sorted(wanted, key=lambda item: -item[0])] or ["*/*"]


def _takes(accepted: list[str], *media: str) -> bool:
    return any(one in accepted for one in media)


def _unacceptable() -> Refusal:
    return Refusal(
        406, "accept", "No accepted format can hold the answer", "see the description of the service"
    )

"""The application: routes, errors, their description, and the gate around all."""

from __future__ import annotations

import re
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse, Response

from weft import __version__
from weft.errors import WeftError
from weft.serve.desk import Desk
from weft.serve.guard.gate import App, Gate
from weft.serve.guard.tokens import Tokens
from weft.serve.problems import KINDS, MEDIA, Refusal, problem, record
from weft.serve.routes import binaries, graphs, house, texts, work
from weft.serve.routes.house import PAGES
from weft.serve.settings import Settings
from weft.serve.shapes.base import Problem
from weft.serve.shapes.graphs import Sparql

_UPLOADS = "/v1/uploads"
_ABOUT = """Binaries, knowledge graphs and opinions over HTTP, with the answers of the `weft` commands.

Files are sent to `/v1/uploads`, and named by their `id` from then on. What takes long is a job: a request waits for it
as many seconds as `wait` says, and gets the job (202) where that is not enough. Errors are `application/problem+json`.
"""


def create_api(desk: Desk) -> FastAPI:
    """The routes and their description, without the gate.

    Args:
        desk: What answers.
    """
    api = FastAPI(
        title="weft",
        version=__version__,
        description=_ABOUT,
        openapi_url="/v1/openapi.json",
        docs_url=None,  # its page loads scripts of another host
        redoc_url=None,
        redirect_slashes=False,
    )
    api.state.desk = desk
    for router in (house.router, work.router, binaries.router, graphs.router, texts.router, house.pages):
        api.include_router(router)
    api.add_exception_handler(WeftError, _weft_error)
    api.add_exception_handler(Refusal, _refusal)
    api.add_exception_handler(HTTPException, _http_error)
    api.add_exception_handler(RequestValidationError, _invalid)
    api.add_exception_handler(ClientDisconnect, _gone)
    api.add_exception_handler(Exception, _unforeseen)
    described = api.openapi

    def openapi() -> dict[str, Any]:
        if api.openapi_schema is None:
            _complete(described())
        return api.openapi_schema or {}

    api.openapi = openapi
    return api


def create_app(settings: Settings) -> tuple[Desk, App]:
    """The service.

    Args:
        settings: What is served.

    Returns:
        What is to be started before it and stopped after it, and the ASGI application.

    Raises:
        WeftError: The settings cannot be met.
    """
    tokens = None if settings.token_file is None else Tokens.read(settings.token_file)
    desk = Desk(settings)
    bounds = settings.bounds

    def limit_of(method: str, path: str) -> int:
        return bounds.upload_bytes if method == "POST" and path == _UPLOADS else bounds.body_bytes

    gate = Gate(
        create_api(desk), settings, tokens, desk.measures, is_page=PAGES.__contains__, limit_of=limit_of
    )
    return desk, gate


def _complete(schema: dict[str, Any]) -> None:
    """Put in what the routes name: the shape of problems, and of SPARQL's answers; how one says who one is."""
    parts = schema["components"]
    template = "#/components/schemas/{model}"
    for model in (Problem, Sparql):
        parts["schemas"][model.__name__] = model.model_json_schema(ref_template=template)
    for name in ("HTTPValidationError", "ValidationError"):
        parts["schemas"].pop(name, None)
    parts["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    schema["security"] = [{"token": []}, {}]


async def _weft_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, WeftError)
    told = record(error, request.app.state.desk.paths)
    _, status, _ = next(KINDS[base] for base in type(error).__mro__ if base in KINDS)
    return JSONResponse(told, status, media_type=MEDIA)


async def _refusal(request: Request, error: Exception) -> Response:
    assert isinstance(error, Refusal)
    return error.response()


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if isinstance(error.__cause__, Refusal):
        return error.__cause__.response()  # the gate's, while the framework read the body
    if isinstance(error.__cause__, ClientDisconnect):
        return await _gone(request, error.__cause__)
    kind = {404: "not-found", 405: "method"}.get(error.status_code, "http")
    headers = {name.lower(): value for name, value in (error.headers or {}).items()}
    if error.status_code == 405:
        headers["allow"] = ", ".join(_methods(request))
    return problem(error.status_code, kind, str(error.detail), str(error.detail), headers=headers)


def _methods(request: Request) -> list[str]:
    """All methods of an address, by the description; GET and HEAD of a page."""
    for template, methods in request.app.openapi()["paths"].items():
        if re.fullmatch(re.sub(r"\{[^}]*\}", "[^/]+", template), request.url.path):
            return sorted({method.upper() for method in methods} | ({"HEAD"} if "get" in methods else set()))
    return ["GET", "HEAD"]


_EMPTY = ("string_too_short", "string_pattern_mismatch")
"""What is said of a text in which nothing stands."""


async def _invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    if isinstance(error.body, bytes) and error.body:
        # The framework left it as it came: it was not called JSON.
        media = request.headers.get("content-type", "")[:100] or "nothing"
        detail = f"body: it is sent as {media}, and must be as application/json"
        told = {"where": "body", "what": detail.removeprefix("body: ")}
        hint = "send it with the header content-type: application/json (curl --json)"
        return problem(422, "request", "The request is not as described", detail, hint=hint, errors=[told])
    told = [_told(one) for one in error.errors()[:20]]
    first = told[0] if told else {"where": "request", "what": "is not as described"}
    detail = f"{first['where']}: {first['what']}"
    return problem(422, "request", "The request is not as described", detail, errors=told)


def _told(error: dict[str, Any]) -> dict[str, str]:
    """Where a request is not as described, and how; an empty text is counted as everywhere."""
    loc = error["loc"]
    if loc[:2] == ("body", "texts") and len(loc) == 3 and error["type"] in _EMPTY:
        return {"where": f"text {loc[2] + 1}", "what": "the text is empty: leave it out"}
    return {"where": ".".join(str(part) for part in loc)[:200], "what": str(error["msg"])[:300]}


async def _gone(request: Request, error: Exception) -> Response:
    """Nobody reads it: for the log, and the counts, in which who asked and went away is no fault of ours."""
    return Response(status_code=499)


async def _unforeseen(request: Request, error: Exception) -> Response:
    return problem(
        500,
        "fault",
        "A fault of weft's own",
        type(error).__name__,
        hint="its log has the number of this request",
    )

"""What is served, whether it works, what it counted; and the pages."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from importlib.resources import files
from typing import Any

from fastapi import APIRouter, Response

from weft import __version__
from weft.platform.graphs import DRAWING
from weft.platform.models import describe_models
from weft.serve.routes.needs import PROBLEMS, AnyCaller, AnyDesk
from weft.serve.shapes.base import Health, Models

router = APIRouter(tags=["The service"])
pages = APIRouter(include_in_schema=False)
_MEDIA = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
}
_WIDE = "public, max-age=3600"


# What lies in memory is asynchronous: it waits for no thread.
@router.get("/healthz", response_model=Health)
async def health() -> Any:
    """Whether the service works; open to all."""
    return {"status": "ok", "version": __version__}


@router.get(
    "/metrics",
    response_class=Response,
    responses={**PROBLEMS, 200: {"content": {"text/plain": {}}, "description": "Counts."}},
)
def metrics(desk: AnyDesk, caller: AnyCaller) -> Response:
    """What Prometheus reads."""
    return Response(desk.measures.text(), media_type=desk.measures.media)


@router.get("/v1/models", response_model=Models, responses=PROBLEMS)
def models(desk: AnyDesk, caller: AnyCaller) -> Any:
    """What is served, and the models that come with weft."""
    settings = desk.settings
    return {
        "shipped": describe_models(),
        "absa": desk.paths.hidden(settings.absa),
        "upload_bytes": settings.bounds.upload_bytes,
        "index": None if settings.index is None else settings.index.resolve().name,
        "libraries": desk.names_libraries,
        "store": None if settings.store is None else settings.store.resolve().name,
    }


def page_files() -> dict[str, tuple[bytes, str]]:
    """Every file of the pages by its address, with its media type: all are in memory, and no path leads elsewhere."""
    found: dict[str, tuple[bytes, str]] = {}
    waiting = [(files("weft.serve.page"), "/")]
    while waiting:
        folder, address = waiting.pop()
        for file in folder.iterdir():
            suffix = "." + file.name.rpartition(".")[2]
            if file.is_dir():
                waiting.append((file, f"{address}{file.name}/"))
            elif suffix in _MEDIA:
                found[address + file.name] = file.read_bytes(), _MEDIA[suffix]
    found["/base.css"] = files("weft.platform").joinpath("page.css").read_bytes(), _MEDIA[".css"]
    for name in DRAWING:
        found[f"/vendor/{name}"] = files("weft.platform.graphs").joinpath(name).read_bytes(), _MEDIA[".js"]
    found["/"] = found["/index.html"]
    return found


PAGES = page_files()


def _page(address: str) -> Callable[[], Awaitable[Response]]:
    content, media = PAGES[address]
    kept = {"cache-control": "no-cache" if "html" in media else _WIDE}

    async def page() -> Response:
        return Response(content, media_type=media, headers=kept)

    return page


for _address in PAGES:
    pages.add_api_route(_address, _page(_address))

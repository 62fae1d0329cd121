"""``/v1/bcsd``: what ``weft bcsd`` does, on uploads."""

from __future__ import annotations

from anyio import to_thread
from fastapi import APIRouter, Response

from weft.serve.desk import as_json
from weft.serve.problems import not_served
from weft.serve.routes.needs import MOST_WAIT, PROBLEMS, AnyCaller, AnyDesk, Wait, by_job, waited
from weft.serve.shapes.binaries import (
    AskDiff,
    AskExplain,
    AskFunctions,
    AskIdentify,
    AskMatch,
    AskSearch,
    Detail,
    Difference,
    Explanation,
    Found,
    Identified,
    Listing,
    Matching,
)

router = APIRouter(prefix="/v1/bcsd", tags=["Binaries"], responses=PROBLEMS)


@router.post(
    "/functions", responses=waited(Listing | Detail, "The functions, or the one that was asked for.")
)
async def functions(
    asked: AskFunctions, desk: AnyDesk, caller: AnyCaller, wait: Wait = MOST_WAIT
) -> Response:
    """The functions of a file, or one with its blocks, edges and tokens, as `weft bcsd show` tells them."""
    return await by_job(desk, caller, "bcsd.functions", asked.model_dump(), [asked.file], wait)


@router.post("/search", responses=waited(Found, "For each function, those of the index that are most alike."))
async def search(asked: AskSearch, desk: AnyDesk, caller: AnyCaller, wait: Wait = MOST_WAIT) -> Response:
    """The functions of the index that are most alike, as `weft bcsd search` tells them.

    A file is read once. After that, a question for one of its functions is answered at once.
    """
    if desk.settings.index is None:
        raise not_served("index of functions", "--index")
    request = asked.model_dump()
    if asked.function is not None:
        file = await to_thread.run_sync(desk.file, caller, asked.file)
        if await to_thread.run_sync(desk.is_extracted, file):
            return as_json(await desk.searches.answer((request, file)))
    return await by_job(desk, caller, "bcsd.search", request, [asked.file], wait)


@router.post("/match", responses=waited(Matching, "The pairs, the surest first."))
async def match(asked: AskMatch, desk: AnyDesk, caller: AnyCaller, wait: Wait = MOST_WAIT) -> Response:
    """The functions of two files, paired one to one, as `weft bcsd match` tells them."""
    return await by_job(desk, caller, "bcsd.match", asked.model_dump(), [asked.a, asked.b], wait)


@router.post("/diff", responses=waited(Difference, "The functions, the most telling changes first."))
async def diff(asked: AskDiff, desk: AnyDesk, caller: AnyCaller, wait: Wait = MOST_WAIT) -> Response:
    """What changed from one version of a program to the next, as `weft bcsd diff` tells it."""
    return await by_job(desk, caller, "bcsd.diff", asked.model_dump(), [asked.old, asked.new], wait)


@router.post("/identify", responses=waited(Identified, "The libraries, the surest first."))
async def identify(asked: AskIdentify, desk: AnyDesk, caller: AnyCaller, wait: Wait = MOST_WAIT) -> Response:
    """Which libraries of the index a file holds, in which versions, as `weft bcsd identify` tells them."""
    if desk.settings.index is None:
        raise not_served("index of functions", "--index")
    return await by_job(desk, caller, "bcsd.identify", asked.model_dump(), [asked.file], wait)


@router.post("/explain", responses=waited(Explanation, "How far the similarity falls without each part."))
async def explain(asked: AskExplain, desk: AnyDesk, caller: AnyCaller, wait: Wait = MOST_WAIT) -> Response:
    """Which blocks, instructions and tokens carry the match of two functions, as `weft bcsd explain` tells them."""
    return await by_job(desk, caller, "bcsd.explain", asked.model_dump(), [asked.a, asked.b], wait)

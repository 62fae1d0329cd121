"""``/v1/absa``: what ``weft absa`` does."""

from __future__ import annotations

from anyio import to_thread
from fastapi import APIRouter, Response

from weft.serve.desk import as_json
from weft.serve.routes.needs import PROBLEMS, AnyCaller, AnyDesk, Wait, by_job, described, waited
from weft.serve.shapes.texts import (
    AskFind,
    AskPredict,
    AskWords,
    Explanations,
    Findings,
    Opinions,
    TableFindings,
    TableOpinions,
)

router = APIRouter(prefix="/v1/absa", tags=["Texts"], responses=PROBLEMS)


@router.post("/predict", responses=waited(Opinions | TableOpinions, "An opinion for each question."))  # type: ignore[arg-type]
async def predict(asked: AskPredict, desk: AnyDesk, caller: AnyCaller, wait: Wait = 20) -> Response:
    """What texts feel about aspects of targets, as `weft absa predict` tells it; a table is a job."""
    request = asked.model_dump()
    if asked.file is not None:
        return await by_job(desk, caller, "absa.table", request, [asked.file], wait)
    return as_json(await desk.texts.answer(request))


@router.post("/find", responses=waited(Findings | TableFindings, "What each text judges."))  # type: ignore[arg-type]
async def find(asked: AskFind, desk: AnyDesk, caller: AnyCaller, wait: Wait = 20) -> Response:
    """What texts judge without being asked: terms, categories, polarities, words, as `weft absa find` tells it.

    A table is a job.
    """
    request = asked.model_dump()
    if asked.file is not None:
        return await by_job(desk, caller, "absa.find_table", request, [asked.file], wait)
    return as_json(await to_thread.run_sync(desk.ask, "absa.find", request))


@router.post("/explain", responses=described(Explanations, "For each question its words and their weights."))
async def explain(asked: AskWords, desk: AnyDesk, caller: AnyCaller) -> Response:
    """Which words made the answers, as `weft absa explain` tells it."""
    return as_json(await to_thread.run_sync(desk.ask, "absa.explain", asked.model_dump()))

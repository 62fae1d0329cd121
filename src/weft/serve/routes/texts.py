"""``/v1/absa``: what ``weft absa`` does."""

from __future__ import annotations

from fastapi import APIRouter, Response

from weft.serve.desk import Desk, as_json
from weft.serve.guard.tokens import Caller
from weft.serve.routes.needs import MOST_WAIT, PROBLEMS, AnyCaller, AnyDesk, Wait, by_job, waited
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
_OPINIONS = Opinions | TableOpinions | Findings | TableFindings


@router.post("/predict", responses=waited(_OPINIONS, "An opinion for each question, or what is found."))
async def predict(asked: AskPredict, desk: AnyDesk, caller: AnyCaller, wait: Wait = MOST_WAIT) -> Response:
    """What texts feel about aspects of targets, as `weft absa predict` tells it.

    A table, and many long texts, are jobs. Where nothing is asked, what they judge is found, as the command does and
    as `/v1/absa/find` answers.
    """
    if asked.finds:
        return await _found(asked, desk, caller, wait)
    request = asked.model_dump()
    if asked.file is not None:
        return await by_job(desk, caller, "absa.table", request, [asked.file], wait)
    if asked.is_long:
        return await by_job(desk, caller, "absa.texts", request, [], wait)
    return as_json(await desk.texts.answer(request))


@router.post("/find", responses=waited(Findings | TableFindings, "What each text judges."))
async def find(asked: AskFind, desk: AnyDesk, caller: AnyCaller, wait: Wait = MOST_WAIT) -> Response:
    """What texts judge without being asked: terms, categories, polarities, words, as `weft absa find` tells it."""
    return await _found(asked, desk, caller, wait)


async def _found(asked: AskFind, desk: Desk, caller: Caller, wait: float) -> Response:
    request = asked.model_dump(include={*AskFind.model_fields})
    files = [] if asked.file is None else [asked.file]
    return await by_job(desk, caller, "absa.find_table" if files else "absa.find", request, files, wait)


@router.post("/explain", responses=waited(Explanations, "For each question its words and their weights."))
async def explain(asked: AskWords, desk: AnyDesk, caller: AnyCaller, wait: Wait = MOST_WAIT) -> Response:
    """Which words made the answers, as `weft absa explain` tells it."""
    return await by_job(desk, caller, "absa.explain", asked.model_dump(), [], wait)

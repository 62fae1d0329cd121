"""Tasks on texts: the work of ``weft absa predict``, ``find`` and ``explain``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, cast

from weft.absa.explain.attribution import Method, default_method
from weft.absa.explain.attribution import explain as explain_one
from weft.absa.find.domain import common_categories, domain_of
from weft.absa.find.finder import Finder
from weft.absa.find.records import found_in, noted, record
from weft.absa.find.summary import Summary
from weft.absa.read.fields import Fields, fields_of, in_row
from weft.absa.read.table import Format, TableRow, format_of, read_rows
from weft.absa.records import Context, Problems, Sentence
from weft.absa.use.asker import Asker
from weft.absa.use.predict import Asked, records, stream
from weft.absa.use.store import load
from weft.errors import InputError, LimitError
from weft.platform.processes.crew import Tell
from weft.serve.tasks.task import Parts, Task

MOST_ROWS = 100_000


@lru_cache(maxsize=2)
def _loaded(model: str) -> Asker:
    return load(model)


def _way(request: dict[str, Any]) -> tuple[bool, tuple[str, ...]]:
    """How words are read; jobs that a version kept which did not ask this go on after an update."""
    return request.get("as_written", False), tuple(request.get("words", ()))


def _asker(model: str, as_written: bool = False, words: Sequence[str] = ()) -> Asker:
    asker = _loaded(model).as_written() if as_written else _loaded(model)
    return asker.knowing(words) if words else asker


def _finder(task: Task) -> Finder:
    asker = _asker(task.served.absa, *_way(task.request))
    own = task.request.get("domain")
    categories = domain_of(own, "domain") if own else common_categories()
    faint = task.request.get("by") is not None
    return Finder(asker, categories, ask=bool(own), faint=faint, abstain=task.request.get("abstain"))


def warm(task: Task, tell: Tell) -> None:
    """Load what questions need."""
    _asker(task.served.absa)


def predict(task: Task, tell: Tell) -> Parts:
    """The answers of several requests, one pass through the model for all."""
    found = Parts([] for _ in task.request["requests"])
    ways: dict[tuple[bool, tuple[str, ...]], list[tuple[int, dict[str, Any], list[Sentence]]]] = {}
    for part, request in enumerate(task.request["requests"]):
        ways.setdefault(_way(request), []).append((part, request, sentences_of(request)))
    for way, asked in ways.items():
        asker = _asker(task.served.absa, *way)
        answers = asker.hear([sentence for *_, some in asked for sentence in some])
        first = 0
        for part, request, some in asked:
            own = answers[first : first + len(some)]
            first += len(some)
            found[part] = records(asker, some, request["threshold"], request["abstain"], own)
    return found


def texts(task: Task, tell: Tell) -> list[dict[str, Any]]:
    """The answers of one request that is long."""
    request = task.request
    asker, sentences = _asker(task.served.absa, *_way(request)), sentences_of(request)
    found = list[dict[str, Any]]()
    for done, sentence in enumerate(sentences):
        tell({"what": "answering texts", "done": done, "total": len(sentences)})
        found += records(asker, [sentence], request["threshold"], request["abstain"])
    return found


def sentences_of(request: dict[str, Any]) -> list[Sentence]:
    """The texts of a request with its questions.

    Raises:
        InputError: An empty text, or an empty aspect.
    """
    asked, side = Asked(tuple(request["aspects"]), tuple(request["targets"])), request.get("side")
    return [
        asked.sentence(TableRow(number, {"text": text}, side=side), f"text {number}")
        for number, text in enumerate(request["texts"], 1)
    ]


def find(task: Task, tell: Tell) -> list[dict[str, Any]]:
    """What texts judge, without being asked."""
    texts = task.request["texts"]
    tell({"what": "reading texts", "done": 0, "total": 0})
    finder = _finder(task)
    found = finder.find(texts, task.request.get("side"))
    return [
        record(text, finding, note)
        for text, findings in zip(texts, found, strict=True)
        for note in (noted(text, finder),)
        for finding in findings
    ]


def find_table(task: Task, tell: Tell) -> dict[str, Any]:
    """What each row of a table judges, the whole of it, and the rows that could not be used."""
    request, file = task.request, task.file()
    finder = _finder(task)
    fields = _fields(request)
    rows = fields.of(_rows(task, fields.columns, fields.left_out))
    problems, summary, records = Problems(), Summary(fields.by), list[dict[str, Any]]()
    for some in found_in(finder, rows, fields.single, problems, file.name):
        for row, text, findings in some:
            note = noted(text, finder)
            summary.add(row.number, text, findings, note, row.group)
            records += [in_row(row, record(text, one, note)) for one in findings if not one.faint]
        _bounded(records, file.name, "weft absa find FILE")
        tell({"what": "read texts", "done": summary.texts, "total": 0})
    return {"schema": 1, "summary": summary.as_json(), **_told(records, problems)}


def table(task: Task, tell: Tell) -> dict[str, Any]:
    """The answers for each row of a table, and the rows that could not be used."""
    request, file = task.request, task.file()
    asker = _asker(task.served.absa, *_way(request))
    fields = _fields(request)
    asked = Asked(
        tuple(request["aspects"]),
        tuple(request["targets"]),
        fields.single,
        request["target_column"],
        request["aspect_column"],
    )
    problems, found = Problems(), list[dict[str, Any]]()
    for some in stream(
        asker,
        fields.of(_rows(task, [*fields.columns, *asked.further], fields.left_out)),
        asked,
        problems,
        source=file.name,
        threshold=request["threshold"],
        abstain=request["abstain"],
    ):
        found += some
        tell({"what": "answered questions", "done": len(found), "total": 0})
        _bounded(found, file.name, "weft absa predict FILE")
    return {"schema": 1, **_told(found, problems)}


def _fields(request: dict[str, Any]) -> Fields:
    """Which columns hold texts; jobs that a version kept which did not ask this go on after an update."""
    pros, cons = tuple(request.get("pros", ())), tuple(request.get("cons", ()))
    return fields_of(request["text_column"], request.get("side"), pros, cons, request.get("by"))


def _rows(task: Task, columns: list[str], left_out: list[str]) -> Iterator[TableRow]:
    form = cast("Format | None", task.request["format"]) or format_of(task.file().name)
    return read_rows(str(task.file().path), columns, form, left_out=left_out)


def _bounded(found: list[dict[str, Any]], name: str, command: str) -> None:
    if len(found) > MOST_ROWS:
        raise LimitError(f"more than {MOST_ROWS:,} answers", where=name, hint=command)


def _told(found: list[dict[str, Any]], problems: Problems) -> dict[str, Any]:
    return {"records": found, "problems": list(problems.lines()), "unused": problems.count}


def explain(task: Task, tell: Tell) -> list[dict[str, Any]]:
    """Which words made the answers."""
    request = task.request
    if not request["text"].strip():
        raise InputError("the text is empty")
    asker = _asker(request["model"] or task.served.absa, *_way(request))
    method = cast("Method", request["method"] or default_method(asker.config))
    questions = [
        Context(aspect, target) for target in request["targets"] or [None] for aspect in request["aspects"]
    ]
    found = []
    for done, question in enumerate(questions):
        tell({"what": "explaining", "done": done, "total": len(questions)})
        found.append(
            explain_one(asker, request["text"], question, method=method, polarity=request["polarity"])
        )
    return [explanation.record() for explanation in found]

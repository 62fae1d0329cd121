"""Tasks on binaries: the work of ``weft bcsd show``, ``search``, ``match`` and ``explain`` on uploads."""

from __future__ import annotations

import json
import multiprocessing
import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import lru_cache
from multiprocessing import forkserver
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from weft.bcsd.components.identify import identify as identify_file
from weft.bcsd.components.identify import knows_libraries
from weft.bcsd.components.record import identified_record
from weft.bcsd.difference.files import diff as diff_files
from weft.bcsd.difference.record import difference_record
from weft.bcsd.explain.files import explain_files
from weft.bcsd.explain.record import explanation_record
from weft.bcsd.index.store import EXACT_ROWS, TABLE
from weft.bcsd.index.update import in_step, not_compared
from weft.bcsd.matching.files import match as match_files
from weft.bcsd.matching.record import matching_record
from weft.bcsd.presence.model import presence_of
from weft.bcsd.read.demangle import demangle_safely, is_mangled
from weft.bcsd.select import find_function
from weft.bcsd.show import Request, look, look_record
from weft.bcsd.table import with_later
from weft.bcsd.use.embed_files import Embedding, embedder_of
from weft.bcsd.use.embedded import embed_table
from weft.bcsd.use.extract_files import Job, work_on
from weft.bcsd.use.remarks import NOT_FITTED, processor_remarks
from weft.bcsd.use.search.answers import Answer
from weft.bcsd.use.search.doubts import doubts
from weft.bcsd.use.search.record import search_record
from weft.bcsd.use.search.searcher import Searcher
from weft.bcsd.use.store import find
from weft.errors import InputError, StoreError, WeftError
from weft.platform.files import write_json
from weft.platform.processes import Limits, run_bounded
from weft.platform.processes.crew import Tell
from weft.serve.tasks.task import File, Parts, Served, Task, remarks_of

_EXTRACTED = "functions-{}.parquet"
_EMBEDDED_AT_ONCE = 512
#: Bytes that a worker may have for each row of an index that it keeps in memory: one row takes 2 to 3 KiB, and twice
#: that while the table is put together.
_ROW_BYTES = 8192
_BUILD = "an index that `weft bcsd index build` makes does"
_LISTED = ("name", "address", "size", "aliases")


def functions(task: Task, tell: Tell) -> dict[str, Any]:
    """A file's functions, or one with its graph and tokens."""
    request = Request(str(task.file().path), task.request.get("function"), task.request["disassembler"])
    return look_record(look(request, task.served.limits))


def warm(task: Task, tell: Tell) -> None:
    """Load what questions need."""
    if task.served.index is not None:
        served = task.served
        _opened(task.served.index, served.bcsd, _rows_held(served), _stamp(task.served.index))


def warm_readers(task: Task, tell: Tell) -> None:
    """Load what the processes that read untrusted files are forked from."""
    multiprocessing.set_forkserver_preload(["weft.bcsd.matching.side", "weft.bcsd.use.extract_files"])
    forkserver.ensure_running()


def match(task: Task, tell: Tell) -> dict[str, Any]:
    """Two files, one to one."""
    a, b = task.file("a"), task.file("b")
    tell({"what": "reading both files", "done": 0, "total": 2})
    found = match_files(
        a.path,
        b.path,
        model=task.served.bcsd,
        disassembler=task.request["disassembler"],
        min_blocks=task.request["min_blocks"],
        floor=task.request["floor"],
        limits=task.served.limits,
    )
    tell({"what": "writing the pairs", "done": 1, "total": 2})
    matching = found.matching
    named = replace(matching, a=replace(matching.a, path=a.name), b=replace(matching.b, path=b.name))
    return matching_record(named, found.model, found.calibrated)


def diff(task: Task, tell: Tell) -> dict[str, Any]:
    """What changed from one version to the next."""
    old, new = task.file("old"), task.file("new")
    tell({"what": "comparing both versions", "done": 0, "total": 0})
    found = diff_files(
        old.path,
        new.path,
        model=task.served.bcsd,
        disassembler=task.request["disassembler"],
        limits=task.served.limits,
    )
    told = difference_record(found.difference)
    told["old"]["path"], told["new"]["path"] = old.name, new.name
    return told


def explain(task: Task, tell: Tell) -> dict[str, Any]:
    """Which blocks and tokens carry the match of two functions."""
    files = [task.file("a"), task.file("b")]
    chosen = [
        (str(file.path), task.request[f"function_{side}"]) for side, file in zip("ab", files, strict=True)
    ]
    found = explain_files(
        chosen, model=task.served.bcsd, disassembler=task.request["disassembler"], limits=task.served.limits
    )
    halves = [replace(half, path=file.name) for half, file in zip((found.a, found.b), files, strict=True)]
    return explanation_record(replace(found, a=halves[0], b=halves[1]))


def search(task: Task, tell: Tell) -> dict[str, Any]:
    """The functions of the index that are most alike."""
    room, request, file = _room(task), task.request, task.file()
    tell({"what": "reading the file", "done": 0, "total": 0})
    remarks = extracted(file, room.options.lifter, task.served.limits)
    queries = _queries(file, room.options, request["function"], request["min_blocks"], tell)
    found = room.opened.searcher.search(queries.rows, request["hits"], request["min_blocks"])
    answers = list(_counted(room.opened.shown(found), queries.rows.num_rows, tell))
    chance = doubts(answers) if request["function"] is None else ()
    return search_record(answers, file.name, room.head(remarks, queries, chance), readable)


def searches(task: Task, tell: Tell) -> Parts:
    """The same for several requests that each name one function of a file that was read: one pass for all."""
    room, requests = _room(task), task.request["requests"]
    files = [task.files[request["file"]] for request in requests]
    queries = [
        _one(_table_of(file, room.options), file.name, room.options, request["function"])
        for file, request in zip(files, requests, strict=True)
    ]
    groups: dict[tuple[int, int], list[int]] = {}
    for number, request in enumerate(requests):
        groups.setdefault((request["hits"], request["min_blocks"]), []).append(number)
    found: dict[int, dict[str, Any]] = {}
    for (hits, least), numbers in groups.items():
        rows = pa.concat_tables([queries[number].rows for number in numbers])
        answers = room.opened.shown(room.opened.searcher.search(rows, hits, least, apart=True))
        for number, answer in zip(numbers, answers, strict=True):
            remarks = extracted(files[number], room.options.lifter, task.served.limits)
            head = room.head(remarks, queries[number])
            found[number] = search_record([answer], files[number].name, head, readable)
    return Parts(found[number] for number in range(len(requests)))


def identify(task: Task, tell: Tell) -> dict[str, Any]:
    """Which libraries of the index a file holds."""
    index, file = task.served.index, task.file()
    if index is None:
        raise StoreError("no index is served")
    if not knows_libraries(index):
        raise InputError("the index does not say of which library a function is", hint=_BUILD)
    tell({"what": "searching for all functions", "done": 0, "total": 0})
    options = Embedding(model=task.served.bcsd, limits=task.served.limits)
    found = identify_file(str(file.path), index, options, task.request["min_blocks"])
    return identified_record(replace(found, path=file.name))


class _Room(NamedTuple):
    """An index that is open, with what asks it."""

    opened: _Opened
    options: Embedding
    name: str
    remarks: list[str]

    def head(self, remarks: list[str], queries: _Queries, chance: Iterable[str] = ()) -> dict[str, Any]:
        """What an answer begins with."""
        embedder = embedder_of(self.options.model, self.options.precision)
        processor = processor_remarks(queries.architecture, embedder.trained)
        told = [*self.remarks, *remarks, *processor, *chance]
        rows = self.opened.searcher.rows
        return {"index": self.name, "model": embedder.version, "rows": rows, "remarks": told}


def _room(task: Task) -> _Room:
    index = task.served.index
    if index is None:
        raise StoreError("no index is served")
    asked = Embedding(model=task.served.bcsd, limits=task.served.limits)
    options = in_step(index, asked)
    opened = _opened(index, options.model, _rows_held(task.served), _stamp(index))
    remarks = [*([] if opened.fitted else [NOT_FITTED]), *not_compared(index, asked)]
    return _Room(opened, options, index.name, remarks)


def extracted(file: File, lifter: str, limits: Limits) -> list[str]:
    """Read a file into a table beside it, in a bounded process, unless that was done before; its remarks."""
    told = remarks_of(file, lifter)
    if not told.exists():
        table = str(file.path.with_name(_EXTRACTED.format(lifter)))
        job = Job(str(file.path), table, "auto", 0, lifter)
        (outcome,) = run_bounded(work_on, [job], workers=1, limits=limits)
        if outcome.error is not None or outcome.value is None:
            raise outcome.error or WeftError("no answer")
        write_json(told, list(outcome.value.remarks))
    return json.loads(told.read_text(encoding="utf-8"))


def _table_of(file: File, options: Embedding) -> str:
    return str(file.path.with_name(_EXTRACTED.format(options.lifter)))


class _Queries(NamedTuple):
    rows: pa.Table
    architecture: str


def _queries(file: File, options: Embedding, function: str | None, min_blocks: int, tell: Tell) -> _Queries:
    """The embedded functions that are asked for; one alone is kept in mind for the next time."""
    place = _table_of(file, options)
    if function is not None:
        return _one(place, file.name, options, function)
    table = _read(place)
    parts = []
    embedder = embedder_of(options.model, options.precision)
    wanted = table.filter(pc.field("num_blocks") >= min_blocks)
    for first in range(0, wanted.num_rows, _EMBEDDED_AT_ONCE):
        tell({"what": "embedding functions", "done": first, "total": wanted.num_rows})
        some = wanted.slice(first, _EMBEDDED_AT_ONCE)
        parts.append(embed_table(some, embedder, callees=options.callees, calls=options.calls))
    if not parts:
        what = f"no function of at least {min_blocks} blocks found"
        raise InputError(what, where=file.name, hint="lower min_blocks")
    return _Queries(pa.concat_tables(parts), table["architecture"][0].as_py())


@lru_cache(maxsize=4096)
def _one(place: str, name: str, options: Embedding, function: str) -> _Queries:
    table = _read(place)
    row = table.slice(find_function(_listed(place), function, name), 1)
    embedder = embedder_of(options.model, options.precision)
    rows = embed_table(row, embedder, callees=options.callees, calls=options.calls)
    return _Queries(rows, table["architecture"][0].as_py())


class _Listed(NamedTuple):
    name: str
    address: int
    size: int
    aliases: list[str]


@lru_cache(maxsize=8)
def _listed(place: str) -> list[_Listed]:
    return [_Listed(*row.values()) for row in _read(place).select(_LISTED).to_pylist()]


@lru_cache(maxsize=8)
def _read(place: str) -> pa.Table:
    table = with_later(pq.read_table(place))
    if not table.num_rows:
        raise InputError("no function found")
    return table


class _Opened:
    """An index that is open, and how its files are called: without the folders that all are in."""

    def __init__(self, index: Path, model: str, rows: int) -> None:
        embedder = embedder_of(model, "auto")
        presence, self.fitted = presence_of(find(model), embedder.version)
        self.searcher = Searcher.open(
            index, embedder.weights, embedder.version, presence, resident=True, exact_rows=rows
        )
        # Files of packages are named by their place in these, which is nobody's secret.
        own = [binary for binary in self.searcher.store.files() if os.path.isabs(binary)]
        folder = os.path.dirname(own[0]) if len(own) == 1 else os.path.commonpath(own) if own else "/"
        self._root = folder.rstrip("/") + "/"

    def shown(self, answers: Iterable[Answer]) -> Iterator[Answer]:
        """The answers, no file named by the server's own path."""
        for answer in answers:
            yield answer._replace(
                hits=[hit._replace(binary=hit.binary.removeprefix(self._root)) for hit in answer.hits]
            )


@lru_cache(maxsize=1)
def _opened(index: Path, model: str, rows: int, stamp: int) -> _Opened:
    return _Opened(index, model, rows)


def _rows_held(served: Served) -> int:
    """Rows of an index that are kept in memory and all compared, so that searches share the pass over them."""
    return max(EXACT_ROWS, ((served.limits.mebibytes or 0) << 20) // _ROW_BYTES)


def _stamp(index: Path) -> int:
    """Changes with every version of an index."""
    place = index / f"{TABLE}.lance" / "_versions"
    try:
        return place.stat().st_mtime_ns
    except OSError:
        return 0


def _counted(answers: Iterable[Answer], total: int, tell: Tell) -> Iterator[Answer]:
    for done, answer in enumerate(answers):
        if done % 64 == 0:
            tell({"what": "searching", "done": done, "total": total})
        yield answer


def readable(names: Iterable[str]) -> dict[str, str]:
    """The readable forms of mangled names; a bounded process is asked for those alone that are new here."""
    wanted = {name for name in names if is_mangled(name)}
    unknown = wanted - _READABLE.keys()
    if unknown:
        if len(_READABLE) > _NAMES:
            _READABLE.clear()
            unknown = wanted
        found = demangle_safely(unknown)
        _READABLE.update({name: found.get(name, name) for name in unknown})
    return {name: text for name in wanted if (text := _READABLE[name]) != name}


_READABLE: dict[str, str] = {}
_NAMES = 100_000

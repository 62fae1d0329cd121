"""A task on its way to a worker, and the table of all tasks."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from weft.errors import WeftError
from weft.platform.processes import Limits
from weft.platform.processes.crew import Tell

#: The module and the function of each kind of task.
KINDS = {
    "bcsd.functions": ("binaries", "functions"),
    "bcsd.search": ("binaries", "search"),
    "bcsd.searches": ("binaries", "searches"),
    "bcsd.identify": ("binaries", "identify"),
    "bcsd.match": ("binaries", "match"),
    "bcsd.diff": ("binaries", "diff"),
    "bcsd.explain": ("binaries", "explain"),
    "kg.entities": ("graphs", "entities"),
    "kg.facts": ("graphs", "facts"),
    "kg.extract": ("graphs", "extract"),
    "kg.keep": ("graphs", "keep"),
    "absa.predict": ("texts", "predict"),
    "absa.texts": ("texts", "texts"),
    "absa.find": ("texts", "find"),
    "absa.table": ("texts", "table"),
    "absa.find_table": ("texts", "find_table"),
    "absa.explain": ("texts", "explain"),
    "jobs.warm": ("binaries", "warm_readers"),
    "bcsd.warm": ("binaries", "warm"),
    "kg.warm": ("graphs", "warm"),
    "absa.warm": ("texts", "warm"),
}


@dataclass(frozen=True)
class Served:
    """What a service was started with, as far as tasks need it."""

    index: Path | None
    store: Path | None
    absa: str
    limits: Limits
    bcsd: str = "bcsd-small"
    kg: str = "kg-python-small"


class File(NamedTuple):
    """An upload: where it lies, and what its sender calls it."""

    path: Path
    name: str


def remarks_of(file: File, lifter: str) -> Path:
    """Where the remarks lie on a file whose functions were read with a lifter: once they do, it was read."""
    return file.path.with_name(f"remarks-{lifter}.json")


@dataclass(frozen=True)
class Task:
    """What is to be done.

    Args:
        kind: One of :data:`KINDS`.
        request: As it came, checked.
        served: What there is to ask.
        files: The uploads that the request names.
    """

    kind: str
    request: dict[str, Any]
    served: Served
    files: Mapping[str, File] = field(default_factory=dict[str, File])

    def __str__(self) -> str:
        return ", ".join(file.name for file in self.files.values()) or "the request"

    def file(self, field_name: str = "file") -> File:
        """The upload that a field of the request names."""
        return self.files[self.request[field_name]]


class Parts(list[Any]):
    """What several requests are answered that were asked together."""


def perform(task: Task, tell: Tell) -> bytes | list[bytes]:
    """Do it, in a worker process.

    Returns:
        JSON; of :class:`Parts` that of each.

    Raises:
        WeftError: It cannot be done; uploads are called what their senders call them.
    """
    module, name = KINDS[task.kind]
    work: Callable[[Task, Tell], Any] = getattr(import_module(f"weft.serve.tasks.{module}"), name)
    try:
        found = work(task, tell)
        return [_json(part) for part in found] if isinstance(found, Parts) else _json(found)
    except WeftError as error:
        for part in ("what", "where", "hint"):
            text = getattr(error, part)
            for file in task.files.values():
                text = None if text is None else str(text).replace(str(file.path), file.name)
            setattr(error, part, text)
        raise


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, allow_nan=False).encode("utf-8", "backslashreplace")

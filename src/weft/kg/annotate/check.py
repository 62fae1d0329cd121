"""A checker's say: what it infers comes first, what it refuses is taken back and the next candidate tried."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, NamedTuple

from weft.errors import LimitError, MissingExtraError, WeftError
from weft.kg.annotate.plan import Candidate, Missing
from weft.kg.annotate.tree import Annotated, Findings
from weft.kg.annotate.write import annotated

Checker = Literal["pyright", "mypy"]
_ROUNDS = 6
_SECONDS = 900
_REVEALED = re.compile(r'^Type of ".*" is "\((?:.*)\) -> (.*)"$', re.DOTALL)
_PLAIN_WORDS = frozenset(
    ("None", "bool", "bytes", "dict", "float", "frozenset", "int", "list", "set", "str", "tuple")
)
_MYPY = re.compile(r"^(.*?):(\d+)(?::\d+)?: error: (.*)$")


class Complaint(NamedTuple):
    """One error of a checker: the file below its tree, the line, the message."""

    file: str
    line: int
    message: str


def checked(found: Findings, place: Path, checker: Checker, least: float) -> None:
    """Let a checker judge what would be written; changes the candidates.

    With pyright, a return type that it infers without doubt comes before the model's. Then all is written into a
    copy of the tree; where that brings errors that were not there, the annotations behind them give way to their
    next candidates, and in the end to none, until the copy has no error more than the tree.

    Args:
        found: What is missing.
        place: The tree.
        checker: Which checker.
        least: Least confidence of an annotation.

    Raises:
        MissingExtraError: The checker is not installed.
        LimitError: It takes too long.
    """
    if find_spec(checker) is None:
        raise MissingExtraError(checker, "dev")
    with tempfile.TemporaryDirectory(prefix="weft-annotate-") as folder:
        copy = Path(folder) / (place.resolve().name if place.is_dir() else "tree")
        if place.is_dir():
            shutil.copytree(place, copy, symlinks=True, ignore=shutil.ignore_patterns(".git", "__pycache__"))
        else:
            copy.mkdir()
            shutil.copy(place, copy / place.name)
        check = _pyright if checker == "pyright" else _mypy
        before = _counted(check(copy))
        if checker == "pyright":
            _infer(found, copy)
        for turn in range(_ROUNDS):
            written = _write(found, copy, least)
            now = check(copy)
            counts = _counted(now)
            more = [item for item in now if counts[_key(item)] > before[_key(item)]]
            if not more:
                return
            last = turn >= _ROUNDS - 3
            behind = {item for complaint in more for item in _behind(found, complaint, written, least, last)}
            for file in found.files:
                file.missing = [
                    replace(item, candidates=() if last else item.candidates[1:]) if item in behind else item
                    for item in file.missing
                ]
            if turn == _ROUNDS - 2:
                # Two rounds from the end, whatever still brings errors is left as it was.
                for file in found.files:
                    if any(item.file == file.below for item in more):
                        file.missing = [replace(item, candidates=()) for item in file.missing]
        for file in found.files:
            file.missing = [replace(item, candidates=()) for item in file.missing]


def _key(item: Complaint) -> tuple[str, str]:
    # Lines move when imports are added: an error is known again by its file and words.
    return item.file, item.message


def _counted(complaints: Sequence[Complaint]) -> Counter[tuple[str, str]]:
    return Counter(map(_key, complaints))


def _write(found: Findings, copy: Path, least: float) -> dict[str, str]:
    written = {}
    for file in found.files:
        text = annotated(file.text, file.chosen(least), str(file.path))
        (copy / file.below).write_bytes(text.encode(file.encoding, errors="replace"))
        written[file.below] = text
    return written


def _behind(
    found: Findings, complaint: Complaint, written: Mapping[str, str], least: float, all_of_it: bool
) -> set[Missing]:
    """The annotations behind a complaint: those that it names, those of its function, those that it may mean."""
    here = next((file for file in found.files if file.below == complaint.file), None)
    blamed: set[Missing] = set()
    if here is not None:
        chosen = [item for item, _ in here.chosen(least)]
        line = complaint.line - (written[here.below].count("\n") - here.text.count("\n"))
        above = [item for item in chosen if item.line <= line]
        nearest = max((item.line for item in above), default=0)
        mine = {item for item in above if item.line >= nearest - 1}
        blamed = {item for item in chosen if f'"{item.asked.name}"' in complaint.message} or mine
        if all_of_it:
            blamed = set(chosen)
    if not blamed or all_of_it:
        # What is called in another file: the message names the function, the parameter or the type.
        for file in found.files:
            for item, candidate in file.chosen(least):
                owner = item.asked.head.name.rpartition(".")[0].rpartition(".")[2]
                words = {f'"{item.asked.name}"', f'"{owner}"', f'"{candidate.text}"'}
                if any(word in complaint.message for word in words):
                    blamed.add(item)
    return blamed


def _infer(found: Findings, copy: Path) -> None:
    """Ask pyright what it infers of functions that can be named from outside, and put it first."""
    asked: dict[tuple[str, int], tuple[Annotated, int]] = {}
    for file in found.files:
        lines = file.text.count("\n") + 1
        added: list[str] = []
        for number, item in enumerate(file.missing):
            name = _inside(file, item.asked.head.name)
            if item.asked.relation == "returns" and name is not None:
                added.append(f"reveal_type({name})")
                asked[file.below, lines + len(added)] = file, number
        revealing = file.text + "\n" + "\n".join(added) + "\n"
        (copy / file.below).write_bytes(revealing.encode(file.encoding, errors="replace"))
    for item in _pyright(copy, reveal=True):
        place = asked.get((item.file, item.line))
        match = _REVEALED.match(item.message)
        if place is None or match is None or not _PLAIN_WORDS.issuperset(re.findall(r"\w+", match[1])):
            continue
        file, number = place
        old = file.missing[number]
        rest = tuple(candidate for candidate in old.candidates if candidate.text != match[1])
        file.missing[number] = replace(old, candidates=(Candidate(match[1], 1.0, "checker"), *rest))


def _inside(file: Annotated, name: str) -> str | None:
    """The name of a function below its module; None of one within a function."""
    stem = file.below.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    ends = [stem.split(".")[start:] for start in range(stem.count(".") + 1)]
    for parts in ends:
        marker = ".".join(parts) + "."
        if marker in f"{name}.":
            rest = name[name.index(marker) + len(marker) :]
            top = set(
                re.findall(
                    rf"^(?:async\s+)?(?:def|class)\s+({re.escape(rest.split('.')[0])})\b", file.text, re.M
                )
            )
            if top and rest.count(".") <= 1:
                return rest
    return None


def _pyright(copy: Path, reveal: bool = False) -> list[Complaint]:
    said = _run([sys.executable, "-m", "pyright", "--outputjson", str(copy)], copy)
    try:
        found = json.loads(said)["generalDiagnostics"]
    except (ValueError, KeyError, TypeError) as error:
        raise WeftError(f"pyright gave no answer: {said.strip()[:200]}") from error
    wanted = "information" if reveal else "error"
    return [
        Complaint(_below(item["file"], copy), item["range"]["start"]["line"] + 1, item["message"])
        for item in found
        if item["severity"] == wanted
    ]


def _mypy(copy: Path) -> list[Complaint]:
    options = ["--no-error-summary", "--hide-error-context", "--no-incremental", "--check-untyped-defs"]
    said = _run([sys.executable, "-m", "mypy", *options, "--ignore-missing-imports", "."], copy)
    matches = [_MYPY.match(line) for line in said.splitlines()]
    return [Complaint(match[1], int(match[2]), match[3]) for match in matches if match is not None]


def _below(path: str, copy: Path) -> str:
    place = Path(path).resolve()
    return place.relative_to(copy.resolve()).as_posix() if place.is_relative_to(copy.resolve()) else path


def _run(command: list[str], folder: Path) -> str:
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
            errors="replace",
        )
    except subprocess.TimeoutExpired as error:
        raise LimitError(f"{command[2]} took more than {_SECONDS} s", where=str(folder)) from error
    return done.stdout

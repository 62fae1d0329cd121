"""A checker's say: what it infers comes first, what it refuses is taken back and the next candidate tried."""

from __future__ import annotations

import re
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from weft.errors import InputError, MissingExtraError, WeftError
from weft.kg.annotate.copied import copied
from weft.kg.annotate.infer import Complaint, Source, class_of, infer_returns, pyright, run_checker, says_none
from weft.kg.annotate.plan import Candidate, Missing
from weft.kg.annotate.tree import Findings
from weft.kg.annotate.write import annotated
from weft.kg.languages.lines import line_of

Checker = Literal["pyright", "mypy"]
_ROUNDS = 6
_PLAIN_WORDS = frozenset(
    ("None", "bool", "bytes", "dict", "float", "frozenset", "int", "list", "set", "str", "tuple")
)
_CHECKED = (0, 1)
"""How mypy ends where it found nothing, and where it found errors."""
_MYPY = re.compile(r"^(.*?):(\d+)(?::\d+)?: error: (.*)$")


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
        WeftError: It checks nothing.
    """
    if find_spec(checker) is None:
        raise MissingExtraError(checker, "dev")
    with tempfile.TemporaryDirectory(prefix="weft-annotate-") as folder:
        copy = Path(folder) / (place.resolve().name if place.is_dir() else "tree")
        copied(place, copy, [(file.path, file.below) for file in found.files])
        if checker == "mypy":
            _without_broken(found, place, copy)
        check = pyright if checker == "pyright" else _mypy
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


def _without_broken(found: Findings, place: Path, copy: Path) -> None:
    """Take out of a copy the files that cannot be read: mypy checks nothing beside one that cannot be parsed."""
    for path in (Path(path) for path, _ in found.failed):
        if place.is_dir() and path.is_relative_to(place):
            broken = copy / path.relative_to(place)
            if broken.is_file() and broken.parent.resolve().is_relative_to(copy.resolve()):
                broken.unlink()


def _key(item: Complaint) -> tuple[str, str]:
    # Lines move when imports are added: an error is known again by its file and words.
    return item.file, item.message


def _counted(complaints: Sequence[Complaint]) -> Counter[tuple[str, str]]:
    return Counter(map(_key, complaints))


def _write(found: Findings, copy: Path, least: float) -> dict[str, str]:
    written = {}
    for file in found.files:
        try:
            text = annotated(file.text, file.chosen(least), str(file.path), found.oldest)
        except InputError:
            text = file.text  # it is met again where the file is written, and listed
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
        line = complaint.line - (_length(written[here.below]) - _length(here.text))
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
                words = {f'"{item.asked.name}"', f'"{owner}"', f'"{_last(candidate)}"'}
                if any(word in complaint.message for word in words):
                    blamed.add(item)
    return blamed


def _last(candidate: Candidate) -> str:
    """The name of a class without the module by way of which it is written."""
    return candidate.text.rpartition(".")[2]


def _length(text: str) -> int:
    return line_of(text, len(text))


def _infer(found: Findings, copy: Path) -> None:
    """Ask pyright what it infers of functions that can be named from outside, and put it first."""
    sources = {
        file.below: Source(file.text, file.encoding, [item.asked for item in file.missing])
        for file in found.files
    }
    revealed = infer_returns(sources, copy)
    for file in found.files:
        for number, old in enumerate(file.missing):
            said = revealed.get((file.below, old.asked), "")
            if not said:
                continue
            if _PLAIN_WORDS.issuperset(re.findall(r"\w+", said)):
                first = Candidate(said, 1.0, "checker")
            else:
                # Of what the model could write too, the checker's word counts.
                same = [item for item in old.candidates if _last(item) == class_of(said)]
                if not same:
                    continue
                first = replace(same[0], confidence=1.0, evidence="checker")
            rest = tuple(item for item in old.candidates if item.text != first.text)
            optional = says_none(said)
            file.missing[number] = replace(old, optional=optional, candidates=(first, *rest))


def _mypy(copy: Path) -> list[Complaint]:
    """The errors that mypy finds in a tree.

    Where two files have the name of one module, or a folder's name is none of a package, it stops before it checks.
    It is asked once more then, with modules that are named by their way through the folders.

    Raises:
        LimitError: It takes too long.
        WeftError: It stops before it checks.
    """
    options = ["--no-error-summary", "--hide-error-context", "--no-incremental", "--check-untyped-defs"]
    options.append("--ignore-missing-imports")
    said = run_checker("mypy", [*options, "."], copy)
    if said.status not in _CHECKED:
        first = (said.out.strip() or said.err.strip()).partition("\n")[0]
        said = run_checker("mypy", [*options, "--explicit-package-bases", "."], copy)
        if said.status not in _CHECKED:
            raise WeftError(
                f"mypy stopped before it checked: {first}", hint="mend what it names, or take --check pyright"
            )
    matches = [_MYPY.match(line) for line in said.out.splitlines()]
    return [Complaint(match[1], int(match[2]), match[3]) for match in matches if match is not None]

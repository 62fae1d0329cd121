"""What pyright infers of functions without a return annotation, asked with ``reveal_type`` in a copy of a tree."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from weft.errors import LimitError, WeftError
from weft.kg.languages.lines import line_of
from weft.kg.languages.python.facts import last_name, type_name
from weft.kg.languages.python.returns import left_open
from weft.kg.languages.python.units import SourceFile
from weft.kg.languages.unit import Open

_SECONDS = 900
_REVEALED = re.compile(r'^Type of "[^"]*" is "(\(.*)"$', re.DOTALL)
_BRACKETS = re.compile(r"""[()]|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'""")
_ARROW = " -> "
_AWAITED = re.compile(r"^CoroutineType\[Any, Any, (.*)\]$", re.DOTALL)
_NOTHING = frozenset(("Unknown", "NoReturn", "Never", "Self"))


class Complaint(NamedTuple):
    """What a checker says of one place: the file below its tree, the line, the message."""

    file: str
    line: int
    message: str


class Said(NamedTuple):
    """What a checker printed, and the status that it ended with."""

    status: int
    out: str
    err: str


class Source(NamedTuple):
    """A file of the copy.

    Args:
        text: Its source.
        encoding: What it is written in.
        asked: Its open questions; those of returns are asked.
    """

    text: str
    encoding: str
    asked: Sequence[Open]


def infer_returns(files: Mapping[str, Source], copy: Path) -> dict[tuple[str, Open], str]:
    """What pyright infers that functions return, as it writes types; of functions that can be named from outside.

    It is not asked about functions that others are to fill in: of an empty body it says ``None``.

    Args:
        files: By their path below the copy; they are written anew, with lines at their ends.
        copy: The copy of the tree.

    Raises:
        LimitError: It takes too long.
    """
    placed: dict[tuple[str, int], Open] = {}
    for below, source in files.items():
        lines = line_of(source.text, len(source.text))
        added: list[str] = []
        empty = left_open(SourceFile(source.text, below))
        for item in source.asked:
            told = item.relation == "returns" and item.start not in empty
            name = _inside(below, source.text, item.head.name) if told else None
            if name is not None:
                added.append(f"reveal_type({name})")
                placed[below, lines + len(added)] = item
        text = source.text + "\n" + "\n".join(added) + "\n"
        (copy / below).write_bytes(text.encode(source.encoding, errors="replace"))
    found: dict[tuple[str, Open], str] = {}
    for complaint in pyright(copy, reveal=True):
        item = placed.get((complaint.file, complaint.line))
        match = _REVEALED.match(complaint.message)
        said = "" if match is None else _returned(match[1])
        awaited = _AWAITED.match(said)
        said = said if awaited is None else awaited[1]
        if item is not None and _is_expression(said):
            found[complaint.file, item] = said
    return found


def _returned(signature: str) -> str:
    """What stands behind the arrow of ``(parameters) -> returned``: the bracket that closes the first one counts.

    A function that returns a function has two arrows, and a default may be a string with brackets. Empty where the
    brackets do not close, or no arrow follows.
    """
    depth = 0
    for piece in _BRACKETS.finditer(signature):
        depth += {"(": 1, ")": -1}.get(piece[0], 0)
        if depth == 0:
            rest = signature[piece.end() :]
            return rest[len(_ARROW) :] if rest.startswith(_ARROW) else ""
    return ""


def _is_expression(said: str) -> bool:
    """Whether it can stand in an annotation: pyright writes functions and some others in a form of its own."""
    try:
        ast.parse(said, mode="eval")
    except (SyntaxError, ValueError, RecursionError):
        return False
    return True


def class_of(revealed: str) -> str:
    """The one class of a type as pyright writes it, without ``None``; empty where there is none."""
    try:
        name = type_name(ast.parse(revealed, mode="eval").body) or ""
    except (SyntaxError, ValueError, RecursionError):
        return ""
    return "" if name in _NOTHING else name


def says_none(written: str) -> bool:
    """Whether a type may be ``None`` itself; one that only holds it may not."""
    try:
        parts = [ast.parse(written, mode="eval").body]
    except (SyntaxError, ValueError, RecursionError):
        return "None" in re.findall(r"\w+", written)
    for part in parts:
        if isinstance(part, ast.BinOp) and isinstance(part.op, ast.BitOr):
            parts += [part.left, part.right]
        elif (isinstance(part, ast.Constant) and part.value is None) or (
            isinstance(part, ast.Subscript) and last_name(part.value) == "Optional"
        ):
            return True
    return False


def pyright(copy: Path, reveal: bool = False) -> list[Complaint]:
    """The errors that pyright finds in a tree, or what it was asked to reveal.

    Raises:
        LimitError: It takes too long.
        WeftError: It gives no answer, or checks no file.
    """
    said = run_checker("pyright", ["--outputjson", str(copy)], copy)
    try:
        answer = json.loads(said.out)
        found, files = answer["generalDiagnostics"], answer["summary"]["filesAnalyzed"]
    except (ValueError, KeyError, TypeError) as error:
        raise WeftError(f"pyright gave no answer: {said.out.strip()[:200]}") from error
    if not files:
        raise WeftError("pyright checked no file", hint="see what its settings in the tree leave out")
    wanted = "information" if reveal else "error"
    return [
        Complaint(_below(item["file"], copy), item["range"]["start"]["line"] + 1, item["message"])
        for item in found
        if item["severity"] == wanted
    ]


def run_checker(checker: str, options: list[str], folder: Path) -> Said:
    """What a checker prints, and how it ends.

    Args:
        checker: The module that it is; never one of the folder, whatever is called so there.
        options: Its arguments.
        folder: Where it runs.

    Raises:
        LimitError: It takes too long.
    """
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-m", checker, *options],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
            errors="replace",
        )
    except subprocess.TimeoutExpired as error:
        raise LimitError(f"{checker} took more than {_SECONDS} s", where=str(folder)) from error
    return Said(done.returncode, done.stdout, done.stderr)


def _below(path: str, copy: Path) -> str:
    place = Path(path).resolve()
    return place.relative_to(copy.resolve()).as_posix() if place.is_relative_to(copy.resolve()) else path


def _inside(below: str, text: str, name: str) -> str | None:
    """The name of a function below its module; None of one within a function."""
    stem = below.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    ends = [stem.split(".")[start:] for start in range(stem.count(".") + 1)]
    for parts in ends:
        marker = ".".join(parts) + "."
        if marker in f"{name}.":
            rest = name[name.index(marker) + len(marker) :]
            first = re.escape(rest.split(".")[0])
            if re.search(rf"^(?:async\s+)?(?:def|class)\s+{first}\b", text, re.M) and rest.count(".") <= 1:
                return rest
    return None

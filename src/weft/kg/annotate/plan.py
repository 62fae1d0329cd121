"""Which annotations are missing, and what they may be: candidates with their confidence, and where each comes from."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from weft.kg.extraction.inferred import Inferred
from weft.kg.languages.language import SourceTree
from weft.kg.languages.lines import Lines
from weft.kg.languages.python.types.impossible import Impossible
from weft.kg.languages.python.types.signs import modules_at_top, names_at_top
from weft.kg.languages.python.units import SourceFile
from weft.kg.languages.unit import End, Open

Evidence = Literal["syntax", "checker", "model"]
IMPORTS = {
    **dict.fromkeys(
        [
            "AsyncGenerator",
            "AsyncIterable",
            "AsyncIterator",
            "Awaitable",
            "Callable",
            "Collection",
            "Container",
            "Coroutine",
            "Generator",
            "Hashable",
            "ItemsView",
            "Iterable",
            "Iterator",
            "KeysView",
            "Mapping",
            "MutableMapping",
            "MutableSequence",
            "MutableSet",
            "Sequence",
            "Sized",
            "ValuesView",
        ],
        "collections.abc",
    ),
    **dict.fromkeys(("Counter", "OrderedDict", "defaultdict", "deque"), "collections"),
    **dict.fromkeys(("BinaryIO", "IO", "TextIO"), "typing"),
    **dict.fromkeys(("BytesIO", "StringIO"), "io"),
    **dict.fromkeys(("CodeType", "FrameType", "FunctionType", "ModuleType", "TracebackType"), "types"),
    **dict.fromkeys(("date", "datetime", "time", "timedelta", "tzinfo"), "datetime"),
    **dict.fromkeys(("ArgumentParser", "Namespace"), "argparse"),
    **dict.fromkeys(("Match", "Pattern"), "re"),
    **dict.fromkeys(("Path", "PurePath"), "pathlib"),
    "Decimal": "decimal",
    "Enum": "enum",
    "Fraction": "fractions",
    "Logger": "logging",
    "LogRecord": "logging",
    "Thread": "threading",
    "UUID": "uuid",
}
"""Types of the standard library by the name under which a model knows them, and where they are imported from."""
_NAMESAKES = frozenset(("array", "mmap", "netrc", "shlex", "socket"))
"""Modules of the standard library that have a class of their own name, beside those of :data:`IMPORTS`."""
_NEVER = frozenset(("object", "Any", "function", "module", "NoneType", "super", "property", "staticmethod"))
_BUILTIN = frozenset(
    name for name in dir(builtins) if isinstance(getattr(builtins, name), type) and name not in _NEVER
)

_HARMLESS = _BUILTIN | {"None"}
_WORDS = re.compile(r"\w+")
_FRAMEWORKS = frozenset(
    re.findall(
        r"\w+",
        "airflow beartype cyclopts discord fastapi fastmcp faststream litestar mcp ninja prefect pydantic strawberry "
        "typeguard typer",
    )
)
"""Packages whose decorators go by annotations: a route of FastAPI checks what it returns by them."""
_OF_PYTHON = frozenset(("abstractmethod", "classmethod", "property", "staticmethod"))


@dataclass(frozen=True)
class Candidate:
    """What an annotation may be.

    Args:
        text: As it is written, without what a default of None adds.
        confidence: How often such an answer is right.
        evidence: Who says so.
        module: Where it is imported from; empty where the file knows it.
        of_tree: Whether that module is of the annotated tree: imported for the checker alone, so that no circle
            of imports begins.
    """

    text: str
    confidence: float
    evidence: Evidence
    module: str = ""
    of_tree: bool = False


_Position = tuple[int, int]


@dataclass(frozen=True)
class Missing:
    """A parameter, a function or an attribute without annotation.

    Args:
        asked: The question.
        line: Line of its name, from 1.
        column: Characters before its name in the line.
        optional: Whether its default is None, or an attribute is None at times.
        candidates: The likeliest first; none where nothing can be written.
        evaluated: Whether a framework goes by the annotations of its function when the program runs.
    """

    asked: Open
    line: int
    column: int
    optional: bool
    candidates: tuple[Candidate, ...]
    evaluated: bool = False

    def best(self, least: float) -> Candidate | None:
        """The first candidate, where it is sure enough, and does no harm where a framework goes by it."""
        first = self.candidates[0] if self.candidates else None
        if first is None or first.confidence < least:
            return None
        harmless = first.evidence != "model" and set(_WORDS.findall(first.text)) <= _HARMLESS
        return first if harmless or not self.evaluated else None


def missing(
    path: str,
    text: str,
    tree: SourceTree,
    asked: Sequence[Open],
    inferred: Sequence[Inferred],
    plain: float,
    attribute: float = 1.0,
) -> list[Missing]:
    """The missing annotations of a file with their candidates.

    Args:
        path: The file in its tree.
        text: Its source.
        tree: Knows where names come from.
        asked: Its open questions.
        inferred: A model's answers to some of them.
        plain: Confidence of a return type that is plain from the code.
        attribute: Likewise of an attribute's.
    """
    answers = {item.asked: item for item in inferred}
    file = SourceFile(text, path)
    parsed = file.tree
    bound, modules = names_at_top(parsed), modules_at_top(parsed)
    lines, impossible = Lines(text), Impossible(file)
    optional = _defaults_of_none(text, lines, parsed)
    evaluated = _evaluated_headers(parsed)
    result = []
    for item in asked:
        candidates: list[Candidate] = []
        if item.plain:
            sure = attribute if item.head.kind == "attribute" else plain
            candidates += _plain(path, item, sure, tree, bound)
        line = lines.number(item.start)
        for name, confidence in answers[item].candidates if item in answers else ():
            if not impossible(item, name):
                candidates += _candidate(path, item, name, confidence, "model", tree, bound, modules)
        once = {candidate.text: candidate for candidate in reversed(candidates)}
        ordered = sorted(once.values(), key=lambda candidate: candidates.index(candidate))
        column = item.start - lines.starts[line - 1]
        none = item.optional or (line, column) in optional
        read = any(start <= (line, column) < end for start, end in evaluated)
        result.append(Missing(item, line, column, none, tuple(ordered), read))
    return result


def settled(path: str, tree: SourceTree, item: Open, bound: frozenset[str]) -> bool:
    """Whether a plain type can be written: it comes first, whatever a model says.

    Args:
        path: The file in its tree.
        tree: Knows where names come from.
        item: The question.
        bound: Names at the top of the file.
    """
    return bool(item.plain and _plain(path, item, 1.0, tree, bound))


def _plain(
    path: str, item: Open, confidence: float, tree: SourceTree, bound: frozenset[str]
) -> list[Candidate]:
    """The candidate of a plain type, under the name that the file imports it by, if that is another."""
    found = _candidate(path, item, item.plain, confidence, "syntax", tree, bound, {})
    if found or not item.meant:
        return found
    around = _class_around(item)
    same = (name for name in sorted(bound) if tree.type_named(path, name, around).name == item.meant)
    return [
        candidate
        for name in same
        for candidate in _candidate(path, item, name, confidence, "syntax", tree, bound, {})
    ]


def _candidate(
    path: str,
    item: Open,
    name: str,
    confidence: float,
    evidence: Evidence,
    tree: SourceTree,
    bound: frozenset[str],
    modules: Mapping[str, str],
) -> list[Candidate]:
    """A candidate under the name that a file can write; none where it has no such name, or another thing has it."""
    if name == "None":
        return [Candidate(name, confidence, evidence)]
    if not name.isidentifier() or name in _NEVER:
        return []
    found = tree.type_named(path, name, _class_around(item))
    known = found.kind != "unresolved"
    written = found.name if known or name not in IMPORTS else f"{IMPORTS[name]}.{name}"
    if evidence == "syntax" and item.meant not in ("", written):
        return []
    if written == f"builtins.{name}":
        return [Candidate(name, confidence, evidence)] if name in _BUILTIN else []
    if found.kind == "class":
        if name in bound:
            return [Candidate(name, confidence, evidence)]
        module = found.name.rpartition(".")[0]
        # Not where another name is imported for it, nor a class within a class: no module has its name.
        same = found.name == f"{module}.{name}" and found == tree.type_named(path, name)
        return [Candidate(name, confidence, evidence, module, True)] if same else []
    if known and modules.get(name) == found.name:
        reached = _reached(path, item, name, tree, modules)
        return [Candidate(reached, confidence, evidence)] if reached else []
    if name in bound:
        return [Candidate(name, confidence, evidence)] if found.kind == "external" else []
    if name in IMPORTS and not known:
        return [Candidate(name, confidence, evidence, IMPORTS[name])]
    return []


def _reached(path: str, item: Open, name: str, tree: SourceTree, modules: Mapping[str, str]) -> str:
    """``datetime.datetime``: a class by way of the module that a file imports; empty where there is no such way."""
    home = name if name in _NAMESAKES else IMPORTS.get(name, "")
    meant, around = End(home, "external"), _class_around(item)
    ways = (way for way, module in modules.items() if module == home)
    return next((f"{way}.{name}" for way in ways if tree.type_named(path, way, around) == meant), "")


def _class_around(item: Open) -> str:
    """The class in whose body an annotation stands; where there is none, the name of what else is around it."""
    owner = item.head.name.rpartition(".")[0]
    return owner.rpartition(".")[0] if item.head.kind == "parameter" else owner


def _evaluated_headers(parsed: ast.Module) -> list[tuple[_Position, _Position]]:
    """Where the headers of functions stand that are decorated in a file that imports one of :data:`_FRAMEWORKS`."""
    nodes = list(ast.walk(parsed))
    modules = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    modules |= {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom) and not node.level}
    if _FRAMEWORKS.isdisjoint(name.partition(".")[0] for name in modules):
        return []
    return [
        ((node.lineno, node.col_offset), (node.body[0].lineno, node.body[0].col_offset))
        for node in nodes
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and any(not (isinstance(by, ast.Name) and by.id in _OF_PYTHON) for by in node.decorator_list)
    ]


def _defaults_of_none(text: str, lines: Lines, parsed: ast.Module) -> frozenset[tuple[int, int]]:
    """Line and column of the parameters whose default is None."""
    found: set[tuple[int, int]] = set()
    for node in ast.walk(parsed):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        positional = [*node.args.posonlyargs, *node.args.args]
        defaults: list[ast.expr | None] = [None] * (len(positional) - len(node.args.defaults))
        pairs = zip(
            [*positional, *node.args.kwonlyargs],
            [*defaults, *node.args.defaults, *node.args.kw_defaults],
            strict=True,
        )
        for argument, default in pairs:
            if isinstance(default, ast.Constant) and default.value is None:
                start = lines.starts[argument.lineno - 1]
                before = text[start : start + argument.col_offset].encode()[: argument.col_offset]
                found.add((argument.lineno, len(before.decode(errors="ignore"))))
    return frozenset(found)

"""`weft bench kg-stated`: what a tree states against a walk by another parser, its names against another resolver."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import libcst as cst
from libcst.metadata import CodeRange, MetadataWrapper, PositionProvider

from weft.bench.kg.unseen import MEASURED, package
from weft.bench.table import Row
from weft.errors import InputError
from weft.kg.languages.python import LANGUAGE

_Fact = tuple[str, str, int, int]
"""Relation, the tail's last name, line and column of what states it."""
_COMPARED = ("has_parameter", "has_method", "inherits_from", "decorated_by", "imports", "raises")


def rows(quick: bool = False) -> Iterator[Row]:
    """Recall, precision and time; ``quick`` reads three packages."""
    ours: set[tuple[str, _Fact]] = set()
    theirs: set[tuple[str, _Fact]] = set()
    seconds, count = 0.0, 0
    for name in MEASURED[:3] if quick else MEASURED:
        folder = package(name)
        texts = dict(sources(folder))
        start = time.process_time()
        tree = LANGUAGE.tree(folder, texts)
        for path, text in texts.items():
            tree.add(path, LANGUAGE.parse(text, path))
        found = {path: tree.facts(path, LANGUAGE.parse(text, path)) for path, text in texts.items()}
        seconds += time.process_time() - start
        count += len(texts)
        for path, text in texts.items():
            lines = _Lines(text)
            ours |= {
                (f"{name}/{path}", (fact.relation, _last(fact.tail.name), *lines.place(fact.start)))
                for fact in found[path]
                if fact.relation in _COMPARED
            }
            walk = _Walk()
            MetadataWrapper(cst.parse_module(text)).visit(walk)
            theirs |= {(f"{name}/{path}", fact) for fact in walk.found}
    variant = f"{count} files, {len(theirs)} facts of {len(_COMPARED)} relations with their places"
    # A name may be another where it is defined than where it is imported: places are compared with relations.
    places = (
        {(path, (fact[0], *fact[2:])) for path, fact in ours},
        {(path, (fact[0], *fact[2:])) for path, fact in theirs},
    )
    recall = len(places[0] & places[1]) / len(places[1])
    precision = len(places[0] & places[1]) / len(places[0])
    yield Row("kg: stated facts, recall", variant, "–", "share", recall, 1.0, "higher", 1.0)
    yield Row("kg: stated facts, precision", variant, "–", "share", precision, 1.0, "higher", 1.0)
    yield Row(
        "kg: stated graph of 400 files, one core",
        f"{count} files",
        "–",
        "s",
        400 * seconds / count,
        1.0,
        "lower",
        20.0,
    )


class _Walk(cst.CSTVisitor):
    METADATA_DEPENDENCIES = (PositionProvider,)

    def __init__(self) -> None:
        super().__init__()
        self.found: set[_Fact] = set()
        self.within: list[str] = []

    def _add(self, relation: str, node: cst.CSTNode, name: str) -> None:
        start = _start(self.get_metadata(PositionProvider, node))
        self.found.add((relation, name, start.line, start.column))

    def visit_ClassDef(self, node: cst.ClassDef) -> None:  # noqa: N802 - libcst calls it
        for base in node.bases:
            named = base.value.value if isinstance(base.value, cst.Subscript) else base.value
            self._named("inherits_from", named)
        self._decorators(node.decorators)
        self.within.append("class")

    def leave_ClassDef(self, original_node: cst.ClassDef) -> None:  # noqa: N802 - libcst calls it
        self.within.pop()

    def visit_FunctionDef(self, node: cst.FunctionDef) -> None:  # noqa: N802 - libcst calls it
        method = bool(self.within) and self.within[-1] == "class"
        if method:
            self._add("has_method", node.name, node.name.value)
        static = any(
            isinstance(item.decorator, cst.Name) and item.decorator.value == "staticmethod"
            for item in node.decorators
        )
        positional = [*node.params.posonly_params, *node.params.params]
        every = [*positional, *node.params.kwonly_params]
        every += [
            item for item in (node.params.star_arg, node.params.star_kwarg) if isinstance(item, cst.Param)
        ]
        for number, item in enumerate(every):
            if not (method and not static and positional and number == 0):
                self._add("has_parameter", item.name, item.name.value)
        self._decorators(node.decorators)
        self.within.append("function")

    def leave_FunctionDef(self, original_node: cst.FunctionDef) -> None:  # noqa: N802 - libcst calls it
        self.within.pop()

    def visit_Raise(self, node: cst.Raise) -> None:  # noqa: N802 - libcst calls it
        raised = node.exc.func if isinstance(node.exc, cst.Call) else node.exc
        name = _name(raised)
        if raised is not None and name[:1].isupper():
            self._named("raises", raised)

    def visit_Import(self, node: cst.Import) -> None:  # noqa: N802 - libcst calls it
        for alias in node.names:
            self._add("imports", alias, _name(alias.name))

    def visit_ImportFrom(self, node: cst.ImportFrom) -> None:  # noqa: N802 - libcst calls it
        if isinstance(node.names, cst.ImportStar):
            self._add("imports", node.names, "*")
            return
        for alias in node.names:
            self._add("imports", alias, _name(alias.name))

    def _decorators(self, decorators: Any) -> None:
        for item in decorators:
            named = item.decorator.func if isinstance(item.decorator, cst.Call) else item.decorator
            self._named("decorated_by", named)

    def _named(self, relation: str, node: cst.CSTNode) -> None:
        if _name(node):
            self._add(relation, node, _name(node))


def _name(node: cst.CSTNode | None) -> str:
    """The last name of a name, an attribute, a call or a subscript; empty of all else."""
    if isinstance(node, cst.Name):
        return node.value
    if isinstance(node, cst.Attribute):
        return node.attr.value if _name(node.value) else ""
    if isinstance(node, cst.Call):
        return _name(node.func)
    return _name(node.value) if isinstance(node, cst.Subscript) else ""


def _start(place: object) -> Any:
    assert isinstance(place, CodeRange)
    return place.start


def _last(name: str) -> str:
    return name.rpartition(".")[2]


class _Lines:
    def __init__(self, text: str) -> None:
        self.text = text

    def place(self, offset: int) -> tuple[int, int]:
        before = self.text.rfind("\n", 0, offset) + 1
        return self.text.count("\n", 0, offset) + 1, offset - before


def sources(folder: Path) -> Iterator[tuple[str, str]]:
    """The files of a folder that can be parsed, with their paths below it."""
    for path in sorted(folder.rglob("*.py")):
        try:
            text = LANGUAGE.decode(path.read_bytes(), str(path))
            LANGUAGE.parse(text, str(path))
        except InputError:
            continue
        yield path.relative_to(folder).as_posix(), text

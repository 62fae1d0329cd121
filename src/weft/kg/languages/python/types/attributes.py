"""Attributes of classes whose type is plain from the code, though nobody wrote it down."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from weft.kg.languages.python.resolve import Entity, Modules
from weft.kg.languages.python.scopes import Binding, Scope
from weft.kg.languages.python.units import Function, SourceFile
from weft.kg.languages.python.values import class_of
from weft.kg.languages.unit import End, Open


def open_attributes(file: SourceFile, node: ast.AST, scope: Scope, modules: Modules) -> Iterator[Open]:
    """The attributes below a node that have no type written, where everything that they are assigned has one type.

    Args:
        file: The source.
        node: Its module, or a part of it.
        scope: Of the node.
        modules: Those of the tree.
    """
    for child in ast.iter_child_nodes(node):
        inner = scope.inner.get(id(child), scope)
        if isinstance(child, ast.ClassDef):
            yield from _of_class(file, child, inner, modules)
        yield from open_attributes(file, child, inner, modules)


def _of_class(file: SourceFile, node: ast.ClassDef, scope: Scope, modules: Modules) -> Iterator[Open]:
    places = dict(_places(node, scope))
    scopes = dict(_scopes(node, scope))
    for name, binding in scope.names.items():
        if binding.kind != "attribute" or binding.annotations or name not in places:
            continue
        kind = _kind(binding, scopes, modules)
        if kind is None:
            continue
        end = file.span(places[name])[1]
        if file.text[end - len(name) : end] == name:  # an identifier may be written in several ways
            optional = any(_is_none(value) for value in binding.values)
            head = End(f"{scope.name}.{name}", "attribute")
            short = kind.name.rpartition(".")[2]
            yield Open(head, "has_type", name, end - len(name), end, short, optional, meant=kind.name)


def _places(node: ast.ClassDef, scope: Scope) -> Iterator[tuple[str, ast.expr]]:
    """The first plain assignment of each attribute that an annotation may stand in; of several the last one here."""
    for method in node.body:
        if isinstance(method, Function) and method.name == "__init__":
            receiver = scope.inner[id(method)].receiver
            for target in reversed(list(_targets(method.body))):
                owner = target.value if isinstance(target, ast.Attribute) else None
                if isinstance(target, ast.Attribute) and isinstance(owner, ast.Name) and owner.id == receiver:
                    yield target.attr, target
    # A decorator, a base or a metaclass may make of an annotated name a field, a column, a member.
    if not (node.decorator_list or node.bases or node.keywords):
        for target in reversed([item for child in node.body for item in _target(child)]):
            if isinstance(target, ast.Name) and not target.id.startswith("__"):
                yield target.id, target


def _targets(body: list[ast.stmt]) -> Iterator[ast.expr]:
    for statement in body:
        yield from _target(statement)
        if not isinstance(statement, Function | ast.ClassDef):
            for field in ("body", "orelse", "handlers", "finalbody"):
                for inner in getattr(statement, field, ()):
                    yield from _targets(inner.body if isinstance(inner, ast.ExceptHandler) else [inner])


def _target(statement: ast.stmt) -> Iterator[ast.expr]:
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        yield statement.targets[0]


def _scopes(node: ast.AST, scope: Scope) -> Iterator[tuple[int, Scope]]:
    """Where each value below a node stands that is assigned, by its identity."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Assign | ast.AnnAssign) and child.value is not None:
            yield id(child.value), scope
        yield from _scopes(child, scope.inner.get(id(child), scope))


def _kind(binding: Binding, scopes: Mapping[int, Scope], modules: Modules) -> Entity | None:
    """The one type of all that a name is assigned besides ``None``; None where there is no such."""
    kinds = {
        _type(value, scopes, modules) for value in binding.values if value is None or not _is_none(value)
    }  # None is what a loop or a ``with`` assigns
    return kinds.pop() if len(kinds) == 1 else None


def _type(value: ast.expr | None, scopes: Mapping[int, Scope], modules: Modules) -> Entity | None:
    if value is None or isinstance(value, ast.Tuple):
        return None
    # What is in a container tells a checker more than the container's name alone.
    if (isinstance(value, ast.List | ast.Set) and value.elts) or (isinstance(value, ast.Dict) and value.keys):
        return None
    if isinstance(value, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
        return None
    return class_of(value, scopes[id(value)], modules)


def _is_none(value: ast.expr | None) -> bool:
    return isinstance(value, ast.Constant) and value.value is None

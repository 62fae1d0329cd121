"""What a value comes from, as its expression says: a call, an annotation, another name.

Kept of every variable of a module, attribute of a class and result of a function, so that its class can be asked for
when all files of a tree are known. Of the syntax trees only these expressions are kept.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from weft.kg.languages.python.facts import last_name
from weft.kg.languages.python.scopes import Binding, Scope, owner
from weft.kg.languages.python.units import Function

_DEEPEST = 6
"""Most local names from a value to what it comes from."""
_TRANSPARENT = frozenset(
    ("classmethod", "staticmethod", "abstractmethod", "override", "final", "cache", "lru_cache")
)
"""Decorators that leave the result of a function as it is."""
_PROPERTIES = frozenset(("property", "cached_property"))
_OF_CLASSES = frozenset(("__new__", "__init_subclass__", "__class_getitem__"))
"""Methods of the class itself, without a decorator that says so."""
_NESTED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


class Receiver(NamedTuple):
    """The object that a method is called on, or a new one of the class that it is called on.

    Args:
        kind: The class that defines the method.
    """

    kind: str


class Annotated(NamedTuple):
    """An annotation, and where it stands."""

    node: ast.expr
    scope: Scope


class Called(NamedTuple):
    """What is called, where, and whether its result is waited for."""

    node: ast.expr
    scope: Scope
    awaited: bool


class Named(NamedTuple):
    """A variable of a module, or an attribute."""

    node: ast.Name | ast.Attribute
    scope: Scope


Origin = Receiver | Annotated | Called | Named


class Kept(NamedTuple):
    """What a name holds.

    Args:
        origins: All that it may come from, ``None`` aside; None where some of it is not known.
        annotated: Whether annotations say it.
    """

    origins: list[Origin] | None
    annotated: bool


class Result(NamedTuple):
    """What a function returns; as :class:`Kept`, whether it has to be waited for, and whether it is a property."""

    origins: list[Origin] | None
    annotated: bool
    awaited: bool
    is_property: bool


class Written:
    """What the files of a tree say of their names.

    Attributes:
        names: Variables of modules and attributes of classes, by their qualified names.
        results: Functions that are defined once, by their qualified names.
        set_outside: Names that are assigned as attributes of other objects than ``self``.
        imported_twice: Qualified names that a module imports from more than one place, or assigns as well.
    """

    def __init__(self) -> None:
        self.names: dict[str, Kept] = {}
        self.results: dict[str, Result] = {}
        self.set_outside: set[str] = set()
        self.imported_twice: set[str] = set()

    def learn(self, scope: Scope, tree: ast.Module) -> None:
        """Read one file.

        Args:
            scope: Of the module, made of this very syntax tree.
            tree: The syntax tree.
        """
        places: dict[int, Scope] = {}
        self._walk(tree, scope, places)
        self._names(scope, places)

    def _walk(self, node: ast.AST, scope: Scope, places: dict[int, Scope]) -> None:
        for child in ast.iter_child_nodes(node):
            inner = scope.inner.get(id(child), scope)
            if isinstance(child, Function):
                self._function(child, scope, inner)
            elif isinstance(child, ast.Assign | ast.AnnAssign | ast.NamedExpr):
                for part in (child.value, getattr(child, "annotation", None)):
                    if part is not None:
                        places[id(part)] = scope
            elif isinstance(child, ast.Attribute) and not isinstance(child.ctx, ast.Load):
                self.set_outside.update([child.attr] if owner(child.value, scope) is None else [])
            self._walk(child, inner, places)

    def _names(self, scope: Scope, places: Mapping[int, Scope]) -> None:
        for name, binding in scope.names.items():
            if binding.target is not None and len(binding.nodes) > 1:
                self.imported_twice.add(f"{scope.name}.{name}")
            if scope.kind != "function" and binding.kind in ("variable", "attribute") and not binding.target:
                self.names[f"{scope.name}.{name}"] = _kept(binding, scope, places)
        for inner in scope.inner.values():
            self._names(inner, places)

    def _function(self, node: Function, scope: Scope, inner: Scope) -> None:
        binding, decorators = scope.names.get(node.name), _decorators(node)
        if binding is None or len(binding.nodes) > 1 or not decorators <= _TRANSPARENT | _PROPERTIES:
            return
        own = list(_own(node))
        if any(isinstance(item, ast.Yield | ast.YieldFrom) for item in own):
            return
        if node.returns is not None:
            found = _of_annotation(node.returns, inner.typed or scope)
        else:
            values = [item.value for item in own if isinstance(item, ast.Return) and item.value is not None]
            found = _together(origins(value, inner) for value in values)
        awaited = isinstance(node, ast.AsyncFunctionDef)
        is_property = not decorators.isdisjoint(_PROPERTIES)
        self.results[inner.name] = Result(found, node.returns is not None, awaited, is_property)


def origins(node: ast.expr, scope: Scope, depth: int = 0) -> list[Origin] | None:
    """What a value comes from, ``None`` aside; None where its expression does not tell.

    Args:
        node: The expression.
        scope: Where it stands, with its syntax tree.
        depth: Local names that led to it.
    """
    match node:
        case ast.Constant(value=None):
            return []
        case ast.Call(func=called):
            made = owner(called, scope)
            is_own = made is not None and _is_class(called, scope)
            return [Receiver(made.name) if made is not None and is_own else Called(called, scope, False)]
        case ast.Await(value=ast.Call(func=called)):
            return [Called(called, scope, True)]
        case ast.Attribute():
            return [Named(node, scope)]
        case ast.BoolOp(op=ast.Or(), values=values):
            return _together(origins(value, scope, depth) for value in values)
        case ast.IfExp(body=body, orelse=orelse):
            return _together(origins(value, scope, depth) for value in (body, orelse))
        case ast.Name():
            return _of_name(node, scope, depth)
        case _:
            return None


def _of_name(node: ast.Name, scope: Scope, depth: int) -> list[Origin] | None:
    held, found = owner(node, scope), scope.find(node.id)
    if held is not None:
        return None if _is_class(node, scope) else [Receiver(held.name)]
    if found is None or found[0].kind != "function" or found[1].target is not None:
        return [Named(node, scope)]
    inside, binding = found
    if depth >= _DEEPEST or binding.kind not in ("parameter", "variable"):
        return None
    is_parameter = binding.kind == "parameter"
    outside = (inside.typed or inside.parent or inside) if is_parameter else inside
    said = [_of_annotation(item, outside) for item in binding.annotations if not _is_bare(item)]
    if is_parameter and (not said or _is_gathered(node.id, inside)):
        return None
    values = [None if value is None else origins(value, inside, depth + 1) for value in binding.values]
    return _together([*said, *values])


def _is_class(node: ast.expr, scope: Scope) -> bool:
    """Whether the first parameter of a method, which a node is, stands for the class and not for an object."""
    found = scope.find(node.id) if isinstance(node, ast.Name) else None
    method = None if found is None else found[0].node
    return isinstance(method, Function) and (
        "classmethod" in _decorators(method) or method.name in _OF_CLASSES
    )


def _is_gathered(name: str, scope: Scope) -> bool:
    if not isinstance(scope.node, Function | ast.Lambda):
        return True
    return any(
        item is not None and item.arg == name for item in (scope.node.args.vararg, scope.node.args.kwarg)
    )


def _kept(binding: Binding, scope: Scope, places: Mapping[int, Scope]) -> Kept:
    said = [item for item in binding.annotations if not _is_bare(item)]
    if said:
        return Kept(_together(_of_annotation(item, places.get(id(item), scope)) for item in said), True)
    if len(binding.nodes) != len(binding.values):
        return Kept(None, False)
    return Kept(_together(_of_value(value, scope, places) for value in binding.values), False)


def _of_value(value: ast.expr | None, scope: Scope, places: Mapping[int, Scope]) -> list[Origin] | None:
    if value is None or id(value) not in places:
        return None
    place = places[id(value)]
    is_nothing = isinstance(value, ast.Constant) and value.value is None
    # What the body of a class assigns, a metaclass or a descriptor may give as something else.
    return None if place.kind == "class" and not is_nothing else origins(value, place)


def _of_annotation(node: ast.expr, scope: Scope) -> list[Origin] | None:
    is_text = isinstance(node, ast.Constant) and node.value == "Self"
    if is_text or last_name(node) == "Self":
        around: Scope | None = scope
        while around is not None and around.kind != "class":
            around = around.parent
        return None if around is None else [Receiver(around.name)]
    return [Annotated(node, scope)]


def _is_bare(annotation: ast.expr) -> bool:
    return isinstance(annotation, ast.Name | ast.Attribute) and last_name(annotation) in ("Final", "ClassVar")


def _together(parts: Iterable[list[Origin] | None]) -> list[Origin] | None:
    found: list[Origin] = []
    for part in parts:
        if part is None:
            return None
        found += part
    return found


def _decorators(node: Function) -> set[str]:
    return {
        last_name(item.func if isinstance(item, ast.Call) else item) or "" for item in node.decorator_list
    }


def _own(node: ast.AST) -> Iterator[ast.AST]:
    """All below a node but what stands in functions and classes of its own."""
    work = list(ast.iter_child_nodes(node))
    while work:
        inner = work.pop()
        if not isinstance(inner, _NESTED):
            yield inner
            work.extend(ast.iter_child_nodes(inner))

"""What a function without a return annotation plainly returns, and whether that is ``None`` at times."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from weft.kg.languages.python.facts import last_name, plain_return
from weft.kg.languages.python.resolve import NOTHING, Entity, Modules
from weft.kg.languages.python.scopes import Scope
from weft.kg.languages.python.units import Function, SourceFile
from weft.kg.languages.python.values import class_of

_NESTED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_EXITS = frozenset(("_exit", "abort", "assert_never", "error", "exit", "fail", "quit", "skip"))
"""Names of calls that may never return."""
_NOTHING = frozenset(("__init__", "__init_subclass__", "__post_init__", "__del__", "__set__", "__delete__"))
"""Methods that can return nothing else, whatever stands in them."""
_SWALLOWING = frozenset(("assertRaises", "assertRaisesRegex", "raises", "suppress"))
"""Names of context managers after which a function goes on, whatever is raised in them."""


class Returned(NamedTuple):
    """What a function returns.

    Args:
        kind: The class, that of ``None`` where it returns no value; None where it is not plain.
        optional: Whether it returns ``None`` at times, beside values.
    """

    kind: Entity | None
    optional: bool


def returned(inner: Scope, modules: Modules) -> Returned:
    """What the code of a function makes plain.

    Nothing is plain of a function that others are to fill in: an abstract one, an overload, one of a protocol, one of
    dots or a docstring alone. Nor is it where nobody can tell whether the end of the body is reached.

    Args:
        inner: The scope of the function, with its syntax tree.
        modules: Those of the tree.
    """
    node = inner.node
    assert isinstance(node, Function)
    if inner.parent is not None and _is_left_open(node, inner.parent.node):
        return Returned(None, False)
    own = list(_own(node))
    kind = plain_return(node, lambda value: class_of(value, inner, modules), NOTHING)
    values = [item.value for item in own if isinstance(item, ast.Return) and item.value is not None]
    if not values or kind == NOTHING or any(isinstance(item, ast.Yield | ast.YieldFrom) for item in own):
        return Returned(kind, False)
    if any(isinstance(item, ast.Return) and _may_be_none(item.value) for item in own):
        return Returned(kind, True)
    reached = _reaches_end(node.body)
    return Returned(None, False) if reached is None else Returned(kind, reached)


def left_open(file: SourceFile) -> set[int]:
    """Where the names of the functions of a file stand that others are to fill in."""
    found = set[int]()
    work: list[tuple[ast.AST, ast.AST]] = [(child, file.tree) for child in file.tree.body]
    while work:
        node, scope = work.pop()
        if isinstance(node, Function) and _is_left_open(node, scope):
            found.add(file.name_of(node)[0])
        inner = node if isinstance(node, _NESTED) else scope
        work += [(child, inner) for child in ast.iter_child_nodes(node)]
    return found


def _is_left_open(node: Function, scope: ast.AST) -> bool:
    if isinstance(scope, ast.ClassDef) and any(last_name(base) == "Protocol" for base in scope.bases):
        return True
    for decorator in node.decorator_list:
        name = last_name(decorator) or ""
        if name.startswith("abstract") or name == "overload":
            return True
    if node.name in _NOTHING or any(last_name(item) in ("setter", "deleter") for item in node.decorator_list):
        return False
    return all(isinstance(item, ast.Expr) and _says_nothing(item.value) for item in node.body)


def _says_nothing(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and (value.value is ... or isinstance(value.value, str))


def _own(node: ast.AST) -> Iterator[ast.AST]:
    """All below a node but what stands in functions and classes of its own."""
    work = list(ast.iter_child_nodes(node))
    while work:
        inner = work.pop()
        if not isinstance(inner, _NESTED):
            yield inner
            work.extend(ast.iter_child_nodes(inner))


def _may_be_none(value: ast.expr | None) -> bool:
    """Whether a return statement gives ``None`` in so many words."""
    if isinstance(value, ast.IfExp):
        return _may_be_none(value.body) or _may_be_none(value.orelse)
    if isinstance(value, ast.BoolOp):
        # Of "or" the last one is given, of "and" any.
        return any(map(_may_be_none, value.values[-1:] if isinstance(value.op, ast.Or) else value.values))
    return value is None or (isinstance(value, ast.Constant) and value.value is None)


def _reaches_end(body: Sequence[ast.stmt]) -> bool | None:
    """Whether the end of a block can be reached; None where that is not plain."""
    passed: bool | None = True
    for statement in body:
        passed = _passes(statement)
        if passed is False:
            return False
    return passed


def _passes(node: ast.stmt) -> bool | None:
    """Whether what stands behind a statement can be reached; None where that is not plain."""
    match node:
        case ast.Return() | ast.Raise() | ast.Continue() | ast.Break():
            return False
        case ast.Assert(test=ast.Constant(value=value)) if not value:
            return False
        case ast.Expr(value=ast.Call(func=called)) if last_name(called) in _EXITS:
            return None
        case ast.If():
            return _either(_reaches_end(node.body), _reaches_end(node.orelse))
        case ast.While(test=ast.Constant(value=value)) if value:
            return _breaks(node.body)
        case ast.While() | ast.For() | ast.AsyncFor():
            return _breaks(node.body) or _reaches_end(node.orelse)
        case ast.With() | ast.AsyncWith():
            swallows = any(_manager(item) in _SWALLOWING for item in node.items)
            return swallows or _reaches_end(node.body)
        case ast.Try() | ast.TryStar():
            if _reaches_end(node.finalbody) is False:
                return False
            whole = _reaches_end([*node.body, *node.orelse])
            return _either(whole, *(_reaches_end(handler.body) for handler in node.handlers))
        case ast.Match():
            passed = _either(*(_reaches_end(case.body) for case in node.cases))
            # Without a case for all else, who knows whether the cases name all that there is.
            return passed if passed is not False or _takes_all(node.cases[-1]) else None
        case _:
            return True


def _either(*ways: bool | None) -> bool | None:
    return True if True in ways else None if None in ways else False


def _manager(item: ast.withitem) -> str | None:
    made = item.context_expr
    return last_name(made.func if isinstance(made, ast.Call) else made)


def _takes_all(case: ast.match_case) -> bool:
    return case.guard is None and isinstance(case.pattern, ast.MatchAs) and case.pattern.pattern is None


def _breaks(body: Sequence[ast.stmt]) -> bool:
    """Whether the body of a loop has a ``break`` that ends this loop."""
    for node in body:
        if isinstance(node, ast.Break):
            return True
        if isinstance(node, ast.While | ast.For | ast.AsyncFor):
            if _breaks(node.orelse):
                return True
        elif not isinstance(node, _NESTED) and any(_breaks(inner) for inner in _blocks(node)):
            return True
    return False


def _blocks(node: ast.stmt) -> Iterator[list[ast.stmt]]:
    for field in ("body", "orelse", "finalbody"):
        yield getattr(node, field, [])
    for field in ("handlers", "cases"):
        for part in getattr(node, field, []):
            yield part.body

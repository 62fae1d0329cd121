"""The class of a value, where its expression alone tells it, followed to where the class is defined."""

from __future__ import annotations

import ast

from weft.kg.languages.python.facts import BUILTIN_TYPES, CALLS, joins_text, value_type
from weft.kg.languages.python.resolve import EXTERNAL, Entity, Modules
from weft.kg.languages.python.scopes import Scope

_NO_CLASS = ("function", "method", "module")
_GENERATOR = Entity("collections.abc.Generator", EXTERNAL)


def class_of(node: ast.expr, scope: Scope, modules: Modules) -> Entity | None:
    """The class of an expression; None where the expression does not tell it.

    A literal is of a built-in class, whatever has that name around it; a call is of the class that is called.

    Args:
        node: The expression.
        scope: Where it stands.
        modules: Those of the tree.
    """
    if isinstance(node, ast.Call) and not joins_text(node):
        return _called(node, scope, modules)
    if isinstance(node, ast.UnaryOp) and not isinstance(node.op, ast.Not):
        return class_of(node.operand, scope, modules)
    if isinstance(node, ast.BinOp):
        left = class_of(node.left, scope, modules) if isinstance(node.op, ast.Mod | ast.Add) else None
        return left if left == _builtin("str") else None
    if isinstance(node, ast.GeneratorExp):
        return _GENERATOR
    name = value_type(node)
    return None if name is None else _builtin(name)


def _called(node: ast.Call, scope: Scope, modules: Modules) -> Entity | None:
    made = modules.resolve(node.func, scope)
    if made is None or made.kind in _NO_CLASS:
        return None
    module, _, name = made.name.rpartition(".")
    if made.kind == "class":
        return made
    if module == "builtins" and made.kind == EXTERNAL and name in (*BUILTIN_TYPES, *CALLS):
        return _builtin(CALLS.get(name, name))
    named = name.isidentifier() and name[:1].isupper() and not name.isupper()
    return made if named else None


def _builtin(name: str) -> Entity:
    return Entity(f"builtins.{name}", EXTERNAL)

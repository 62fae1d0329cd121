"""What a model answers and the code rules out: a whole number of a division, another type for what ``==`` is given."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from weft.kg.languages.python.units import Function, SourceFile
from weft.kg.languages.unit import Open

_NESTED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_WHOLE = ("int", "bool")
_EQUALITY = ("__eq__", "__ne__")


class Impossible:
    """The answers that the code of a file rules out.

    Args:
        file: Parsed.
    """

    def __init__(self, file: SourceFile) -> None:
        self._divided = {
            file.name_of(node)[0]
            for node in ast.walk(file.tree)
            if isinstance(node, Function) and any(map(_is_divided, _returned(node)))
        }

    def __call__(self, asked: Open, name: str) -> bool:
        """Whether a type cannot be the answer to a question.

        A function that returns ``a / b`` returns no whole number. ``__eq__`` and ``__ne__`` take any object: where
        the parameter has another type, every checker refuses the method.

        Args:
            asked: The question.
            name: The type.
        """
        if asked.relation == "returns":
            return name in _WHOLE and asked.start in self._divided
        within = asked.head.name.rpartition(".")[0].rpartition(".")[2]
        return asked.head.kind == "parameter" and within in _EQUALITY


def _returned(node: Function) -> Iterator[ast.expr]:
    """What a function returns, but for what functions inside it return."""
    work: list[ast.AST] = [*node.body]
    while work:
        inner = work.pop()
        if isinstance(inner, ast.Return) and inner.value is not None:
            yield inner.value
        if not isinstance(inner, _NESTED):
            work.extend(ast.iter_child_nodes(inner))


def _is_divided(value: ast.expr) -> bool:
    """Whether an expression is, at times, a true division, or what is reckoned with one."""
    match value:
        case ast.BinOp(left=left, op=op, right=right):
            return isinstance(op, ast.Div) or _is_divided(left) or _is_divided(right)
        case ast.UnaryOp(op=ast.UAdd() | ast.USub(), operand=operand):
            return _is_divided(operand)
        case ast.IfExp(body=body, orelse=orelse):
            return _is_divided(body) or _is_divided(orelse)
        case ast.BoolOp(values=values):
            return any(map(_is_divided, values))
        case _:
            return False

"""Which annotations can be evaluated where they stand: Python does so when it runs a ``def``."""

from __future__ import annotations

import ast
import builtins
import math
from bisect import bisect_right

from weft.kg.annotate.plan import Candidate, Missing


class Bound:
    """The names of a file that surely stand for something, and from which line on.

    Args:
        text: The source.
    """

    def __init__(self, text: str) -> None:
        body = ast.parse(text).body
        self._classes = {node.name for node in body if isinstance(node, ast.ClassDef)}
        self._starts = [_first_line(node) for node in body]
        self._ends: dict[str, int] = {}
        # What stands below an ``if`` or a ``try`` is not run by everybody: TYPE_CHECKING is false.
        for node in body:
            if isinstance(node, ast.Import | ast.ImportFrom):
                for alias in node.names:
                    self._bind(alias.asname or alias.name.partition(".")[0], node)
            elif isinstance(node, ast.ClassDef):
                self._bind(node.name, node)

    def _bind(self, name: str, node: ast.stmt) -> None:
        self._ends.setdefault(name, node.end_lineno or node.lineno)

    def needs_quotes(self, item: Missing, candidate: Candidate) -> bool:
        """Whether an annotation fails, or may fail, where Python evaluates it.

        A class is no name yet in its own body and above it. With ``| None`` an imported name must be a class:
        ``threading.Lock`` is a function. What is assigned is made of what has a name by then.
        """
        if candidate.of_tree:
            return True
        # Of datetime.datetime it is the module that must have its name by then.
        name = candidate.text.partition(".")[0]
        if candidate.module or not name.isidentifier() or hasattr(builtins, name):
            return False
        if item.optional and name not in self._classes:
            return True
        if item.asked.head.kind == "attribute":
            return False
        here = self._starts[bisect_right(self._starts, item.line) - 1]
        return self._ends.get(name, math.inf) >= here


def _first_line(node: ast.stmt) -> int:
    decorators = (
        node.decorator_list if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) else []
    )
    return min([node.lineno, *(item.lineno for item in decorators)])

"""Types of un-annotated code, from the typeshed stubs that the ``mypy`` package bundles.

Stubs are matched by module, qualified name and parameter; nothing is inferred.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import cast

from weft.errors import MissingExtraError
from weft.kg.languages.language import ParsedFile
from weft.kg.languages.python.facts import type_name
from weft.kg.languages.python.units import Function, SourceFile
from weft.kg.languages.unit import Fact, Unit
from weft.platform.reading import SOURCE_BYTES, read_text

_RUNNING = (3, 11)
"""The Python whose branches of the stubs count; the source trees measured here are of this version."""


class Typeshed:
    """The standard library's stubs.

    Args:
        root: Folder of the ``.pyi`` files; that of the installed ``mypy`` where None.

    Raises:
        MissingExtraError: ``mypy`` is not installed.
    """

    def __init__(self, root: Path | None = None) -> None:
        if root is None:
            spec = find_spec("mypy")
            if spec is None or spec.origin is None:
                raise MissingExtraError("mypy", "dev")
            root = Path(spec.origin).parent / "typeshed" / "stdlib"
        self.root = root
        self._last: tuple[str | None, dict[str, Function]] = None, {}

    def facts(self, file: ParsedFile, unit: Unit, module: str) -> list[Fact]:
        """Types of a unit's functions that its module's stub knows."""
        if self._last[0] != module:
            self._last = module, self.module(module)
        return stub_facts(cast(SourceFile, file), unit, self._last[1])

    def module(self, name: str) -> dict[str, Function]:
        """Functions of one module's stub by qualified name; overloaded ones are left out."""
        base = self.root.joinpath(*name.split("."))
        for path in (base.with_suffix(".pyi"), base / "__init__.pyi"):
            if path.is_file():
                found: dict[str, list[Function]] = {}
                for qualified, node in _functions(ast.parse(read_text(path, SOURCE_BYTES)).body, ""):
                    found.setdefault(qualified, []).append(node)
                return {qualified: nodes[0] for qualified, nodes in found.items() if len(nodes) == 1}
        return {}


def stub_facts(file: SourceFile, unit: Unit, stubs: dict[str, Function]) -> list[Fact]:
    """``has_type`` of a function's parameters and its ``returns``, where it has no annotation itself."""
    node, stub = unit.node, stubs.get(unit.name)
    if not isinstance(node, Function) or stub is None:
        return []
    given = {argument.arg: argument.annotation for argument in _plain_arguments(stub)}
    result = []
    for argument in _plain_arguments(node):
        kind = type_name(given.get(argument.arg))
        if kind is not None and argument.annotation is None and argument.arg not in ("self", "cls"):
            result.append(Fact(argument.arg, "has_type", kind, file.span(argument)[0]))
    kind = type_name(stub.returns)
    if kind is not None and node.returns is None:
        result.append(Fact(node.name, "returns", kind, file.span(node)[0]))
    return result


def _plain_arguments(node: Function) -> list[ast.arg]:
    """Parameters with a type of their own: ``*args`` and ``**kwargs`` are annotated with their items'."""
    return [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]


def _functions(body: list[ast.stmt], prefix: str) -> Iterator[tuple[str, Function]]:
    for node in body:
        if isinstance(node, Function):
            yield prefix + node.name, node
        elif isinstance(node, ast.ClassDef):
            yield from _functions(node.body, prefix + node.name + ".")
        elif isinstance(node, ast.If):
            holds = _holds(node.test)
            if holds is not False:
                yield from _functions(node.body, prefix)
            if holds is not True:
                yield from _functions(node.orelse, prefix)


def _holds(test: ast.expr) -> bool | None:
    """The value of a test of ``sys.version_info``; None for any other."""
    if not isinstance(test, ast.Compare) or not ast.unparse(test.left).startswith("sys.version_info"):
        return None
    try:
        version = ast.literal_eval(test.comparators[0])
    except ValueError:
        return None
    if not isinstance(version, tuple):
        return None
    known = _RUNNING[: len(version)]
    return known >= version if isinstance(test.ops[0], ast.GtE) else known < version

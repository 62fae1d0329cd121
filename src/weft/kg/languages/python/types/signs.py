"""What speaks for or against a type as the answer to an open question, beside the clues: as numbers."""

from __future__ import annotations

import ast
import builtins

from weft.kg.languages.unit import Open

SIGNS = (
    "has all members",
    "lacks members of others",
    "builtin that lacks a member",
    "builtin with all members",
    "known in the file",
    "builtin",
    "plain",
    "another is plain",
)
"""Names of the numbers that :func:`signs` gives."""
_MEMBERS = {name: frozenset(dir(value)) for name, value in vars(builtins).items() if isinstance(value, type)}


def signs(asked: Open, name: str, known: frozenset[str]) -> tuple[float, ...]:
    """The signs of a type, each 0 or 1.

    Args:
        asked: The question.
        name: The type.
        known: Names that the file defines or imports.
    """
    members = _MEMBERS.get(name)
    lacks = members is not None and not members.issuperset(asked.used)
    return (
        float(name in asked.fitting),
        float(bool(asked.fitting) and name not in asked.fitting),
        float(lacks),
        float(members is not None and bool(asked.used) and not lacks),
        float(name in known),
        float(members is not None),
        float(name == asked.plain),
        float(asked.plain not in ("", name)),
    )


def names_at_top(tree: ast.Module) -> frozenset[str]:
    """Classes and imported names of a module, which an annotation can use."""
    names: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            names.update(alias.asname or alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign):
            names.update(target.id for target in node.targets if isinstance(target, ast.Name))
        elif isinstance(node, ast.If | ast.Try):
            for inner in ast.walk(node):
                if isinstance(inner, ast.ImportFrom):
                    names.update(alias.asname or alias.name for alias in inner.names)
    return frozenset(names)


def modules_at_top(tree: ast.Module) -> dict[str, str]:
    """The names by which a module imports others whole (``import X``, ``import X as Y``), and what these are."""
    found: dict[str, str] = {}
    for node in tree.body:
        for alias in node.names if isinstance(node, ast.Import) else ():
            first = alias.name.partition(".")[0]
            found[alias.asname or first] = alias.name if alias.asname else first
    return found

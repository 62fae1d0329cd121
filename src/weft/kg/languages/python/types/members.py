"""Members that are read from a parameter, wherever it goes, and the classes of a tree that have them all."""

from __future__ import annotations

import ast
from collections import defaultdict

from weft.kg.languages.python.resolve import Modules

_DEEPEST = 3
"""Calls that a parameter is followed through."""


class Members:
    """What is read from the parameters of a tree.

    Args:
        modules: The tree's modules, all of them known.
    """

    def __init__(self, modules: Modules) -> None:
        self._modules = modules
        self._used: dict[str, set[str]] = defaultdict(set)
        self._kept: dict[str, set[tuple[str, str]]] = defaultdict(set)
        self._read: dict[tuple[str, str], set[str]] = defaultdict(set)
        self._handed: dict[str, set[str]] = defaultdict(set)
        self._of_class: dict[str, set[str]] = {}
        self._with_member: dict[str, set[str]] = defaultdict(set)

    def read(self, node: ast.Attribute, function: str, names: frozenset[str], receiver: str | None) -> None:
        """A member that is read from a parameter of a function, or from an attribute of its object.

        Args:
            node: The reading.
            function: Its qualified name.
            names: Its parameters.
            receiver: The parameter that is the object itself; None where there is none.
        """
        value = node.value
        if isinstance(value, ast.Name) and value.id in names:
            self._used[f"{function}.{value.id}"].add(node.attr)
        elif isinstance(value, ast.Attribute) and _is(value.value, receiver):
            self._read[function.rpartition(".")[0], value.attr].add(node.attr)

    def keep(
        self, node: ast.Assign | ast.AnnAssign, function: str, names: frozenset[str], receiver: str | None
    ) -> None:
        """A parameter that becomes an attribute of the object; arguments as of :meth:`read`."""
        value = node.value
        if not isinstance(value, ast.Name) or value.id not in names:
            return
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            if isinstance(target, ast.Attribute) and _is(target.value, receiver):
                self._kept[f"{function}.{value.id}"].add((function.rpartition(".")[0], target.attr))

    def hand(self, parameter: str, other: str) -> None:
        """A parameter that is given to another, both by their qualified names."""
        self._handed[parameter].add(other)

    def bind(self) -> None:
        """Bring members to their classes; after every file was read."""
        for name in self._modules.classes:
            for member in self._members(name, 0):
                self._with_member[member].add(name)

    def used(self, name: str, depth: int = 0) -> set[str]:
        """What is read from a parameter, from the attribute that it becomes, and where it is handed on."""
        found = set(self._used.get(name, ()))
        for place in self._kept.get(name, ()):
            found |= self._read.get(place, set())
        if depth < _DEEPEST:
            for other in self._handed.get(name, ()):
                found |= self.used(other, depth + 1)
        return found

    def having(self, used: set[str]) -> set[str]:
        """The classes of the tree that have all of some members; none where there are no members."""
        sets = [self._with_member.get(item, set()) for item in used]
        return set.intersection(*sets) if sets else set()

    def count(self, name: str) -> int:
        """How many members a class has."""
        return len(self._of_class.get(name, ()))

    def _members(self, name: str, depth: int) -> set[str]:
        if name in self._of_class:
            return self._of_class[name]
        scope = self._modules.classes.get(name)
        if scope is None or depth > 20:
            return set()
        members = set(scope.names)
        self._of_class[name] = members
        for base in self._modules.bases(scope):
            members |= self._members(base.name, depth + 1)
        return members


def _is(node: ast.expr, name: str | None) -> bool:
    return isinstance(node, ast.Name) and node.id == name

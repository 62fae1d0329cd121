"""The class whose methods an object has: of what is imported, of an attribute, of what a function returns.

:meth:`Modules.instance` tells it of names of the function at hand. This goes on from there, through what every file of
a tree says of its variables, attributes and functions. A class is told where the code leaves one alone: all that a
name is assigned is of it, or an annotation names it; ``None`` aside.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Sequence

from weft.kg.languages.python.resolve import UNRESOLVED, Entity, Module, Modules
from weft.kg.languages.python.scopes import Scope, owner
from weft.kg.languages.python.types.origins import (
    Annotated,
    Called,
    Named,
    Origin,
    Receiver,
    Result,
    Written,
    origins,
)

_DEEPEST = 12
"""Most names that lead from an object to its class, one by way of the other."""
_MOST = 200
"""Most values that are looked at for one object."""


class Instances:
    """The classes of the objects of a tree: every file is learnt before anything is asked.

    Args:
        modules: The tree's modules.
    """

    def __init__(self, modules: Modules) -> None:
        self._modules = modules
        self._written = Written()
        self._asked: list[str] = []
        self._steps = 0
        self._binders: dict[str, list[str]] | None = None
        self._below: dict[str, set[str]] = {}

    def learn(self, module: Module, tree: ast.Module) -> None:
        """Read one file.

        Args:
            module: With the scopes of this very syntax tree.
            tree: The syntax tree.
        """
        self._written.learn(module.scope, tree)
        self._binders = None

    def member(self, node: ast.Attribute, scope: Scope) -> Entity | None:
        """What an attribute of an object stands for; None where its class is not certain, or is none of the tree."""
        self._steps = 0
        kind = self._of(node.value, scope)
        if kind is None:
            return None
        return self._modules.attribute(kind, node.attr) or Entity(f"{kind}.{node.attr}", UNRESOLVED)

    def _of(self, node: ast.expr, scope: Scope) -> str | None:
        """The qualified name of the class of an object; None where it is not certain, or no class of the tree."""
        held = owner(node, scope)
        if held is not None:
            return held.name
        known = self._modules.instance(node, scope)
        if known is not None:
            return known.name if known.kind == "class" else None
        found = scope.find(node.id) if isinstance(node, ast.Name) else None
        name = "" if found is None or not isinstance(node, ast.Name) else f"{found[0].name}.{node.id}"
        return self._one(origins(node, scope), None, name)

    def _one(self, found: Sequence[Origin] | None, receiver: str | None, asked: str) -> str | None:
        """The one class of all that a name may come from; None where it comes from itself."""
        self._steps += 1
        too_far = len(self._asked) > _DEEPEST or self._steps > _MOST
        if not found or too_far or (asked and asked in self._asked):
            return None
        self._asked.append(asked)
        kinds = {self._kind(item, receiver) for item in found}
        self._asked.pop()
        return kinds.pop() if len(kinds) == 1 else None

    def _kind(self, origin: Origin, receiver: str | None) -> str | None:
        match origin:
            case Receiver(kind):
                return receiver or kind
            case Annotated(node, scope):
                kind = self._modules.annotated(node, scope)
                return kind.name if kind is not None and kind.kind == "class" else None
            case Called(node, scope, awaited):
                return self._result(node, scope, awaited)
            case Named(node, scope):
                return self._held(node, scope)

    def _result(self, called: ast.expr, scope: Scope, awaited: bool) -> str | None:
        made = self._modules.resolve(called, scope)
        receiver = None
        if isinstance(called, ast.Attribute):
            receiver = self._receiver(called.value, scope)
            if receiver is not None:
                made = self._modules.attribute(receiver, called.attr)
        if made is None:
            return None
        if made.kind == "class":
            return None if awaited else made.name
        result = self._written.results.get(made.name)
        if result is None or result.awaited != awaited or result.is_property:
            return None
        return self._returned(made, result, receiver)

    def _returned(self, function: Entity, result: Result, receiver: str | None) -> str | None:
        # Without an annotation a class below may return what it likes.
        if not result.annotated and receiver is not None and self._is_redefined(receiver, function):
            return None
        return self._one(result.origins, receiver, function.name)

    def _receiver(self, node: ast.expr, scope: Scope) -> str | None:
        """The class that a method is looked up in, called on an object or on the class itself."""
        kind = self._of(node, scope)
        if kind is None and isinstance(node, ast.Name | ast.Attribute):
            named = self._modules.resolve(node, scope)
            return named.name if named is not None and named.kind == "class" else None
        return kind

    def _held(self, node: ast.Name | ast.Attribute, scope: Scope) -> str | None:
        if isinstance(node, ast.Attribute):
            receiver = self._receiver(node.value, scope)
            if receiver is not None:
                return self._attribute(receiver, node.attr)
            place = self._modules.resolve(node, scope)
        else:
            place = self._modules.name(node.id, scope) if self._is_imported_once(node.id, scope) else None
        if place is None or place.kind != "variable":
            return None
        found = self._written.names.get(place.name)
        if found is None or (
            not found.annotated and place.name.rpartition(".")[2] in self._written.set_outside
        ):
            return None
        return self._one(found.origins, None, f"={place.name}")

    def _is_imported_once(self, name: str, scope: Scope) -> bool:
        """Whether a name has one meaning wherever it is handed on; not one that is imported from here or there."""
        found = scope.find(name)
        if found is None:
            return True
        binding = found[1]
        if f"{found[0].name}.{name}" in self._written.imported_twice:
            return False
        seen = set[tuple[str, str]]()
        while binding is not None and binding.target is not None and binding.target not in seen:
            module, inside = binding.target
            if f"{module}.{inside}" in self._written.imported_twice:
                return False
            seen.add(binding.target)
            known = self._modules.by_name.get(module)
            binding = None if known is None else known.scope.names.get(inside)
        return True

    def _attribute(self, receiver: str, name: str) -> str | None:
        """The class of an attribute of a class's objects: annotated, else the one that all classes assign.

        An object that has a method of a class may be of one below it, which assigns attributes of its own.
        """
        defined = self._modules.attribute(receiver, name)
        result = None if defined is None else self._written.results.get(defined.name)
        if defined is not None and result is not None and result.is_property:
            return self._returned(defined, result, receiver)
        if defined is None or defined.kind != "attribute":
            return None
        own = [f"{kind}.{name}" for kind in self._modules.order(receiver)]
        annotated = [
            item for item in own if item in self._written.names and self._written.names[item].annotated
        ]
        if annotated:
            kind = self._one(self._written.names[annotated[0]].origins, receiver, f"{receiver}.{name}")
        else:
            kind = self._assigned(receiver, name)
        # What a descriptor gives is not the descriptor.
        return None if kind is None or self._modules.attribute(kind, "__get__") else kind

    def _assigned(self, receiver: str, name: str) -> str | None:
        if name in self._written.set_outside:
            return None
        found: list[Origin] = []
        for place in self._related(receiver, name):
            written = self._written.names.get(f"{place}.{name}")
            if written is None or written.origins is None:
                return None
            found += written.origins
        return self._one(found, receiver, f"{receiver}.{name}")

    def _related(self, receiver: str, name: str) -> list[str]:
        """The classes that bind a name and are above a class, or above one that is below it."""
        binders, near = self._binding().get(name, ()), set[str]()
        for kind in (receiver, *self._below.get(receiver, ())):
            near.update(self._modules.order(kind))
        return [kind for kind in binders if kind in near]

    def _is_redefined(self, receiver: str, method: Entity) -> bool:
        binders = self._binding().get(method.name.rpartition(".")[2], ())
        return any(kind in self._below.get(receiver, ()) for kind in binders)

    def _binding(self) -> dict[str, list[str]]:
        """The classes that bind a name, by the name; what is below each class is gathered with them."""
        if self._binders is None:
            self._binders, self._below = defaultdict(list), defaultdict(set)
            for kind, scope in self._modules.classes.items():
                for name in scope.names:
                    self._binders[name].append(kind)
                for above in self._modules.order(kind)[1:]:
                    self._below[above].add(kind)
        return self._binders

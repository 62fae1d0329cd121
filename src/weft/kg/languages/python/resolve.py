"""From the names of a source tree to what they stand for, over imports, aliases, re-exports, classes and ``self``.

What an expression stands for has a qualified name and a kind. Of another package only the name is known, by which
it is imported: its kind is ``external``. What cannot be followed is ``unresolved`` and named by the way to it,
from the last name that is known: ``package.module.load.path.parent``.
"""

from __future__ import annotations

import ast
import builtins
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from weft.kg.languages.python.order import Order
from weft.kg.languages.python.scopes import Binding, Scope, module_scope, owner
from weft.kg.languages.python.units import Function

EXTERNAL, UNRESOLVED, CONSTANT = "external", "unresolved", "constant"
_BUILTINS = frozenset(dir(builtins))
_DEEPEST = 40
"""Most steps from an import to a definition."""


class Entity(NamedTuple):
    """What an expression stands for.

    Args:
        name: Qualified.
        kind: A kind of :data:`weft.kg.languages.python.scopes.Kind`, ``external``, ``unresolved`` or ``constant``.
    """

    name: str
    kind: str


NOTHING = Entity("None", CONSTANT)
_SELF, _BARE = (
    frozenset(f"{module}.{name}" for module in ("typing", "typing_extensions") for name in names)
    for names in (("Self",), ("Final", "ClassVar"))
)
_ANYTHING = frozenset(
    ("typing.Any", "typing_extensions.Any", "typing.Type", "builtins.type", "builtins.object")
)
"""Annotations that promise no member."""


@dataclass
class Module:
    """What other modules can see of one.

    Args:
        name: Qualified.
        package: The package that its relative imports start from.
        scope: Its names, those of its classes in it.
    """

    name: str
    package: str
    scope: Scope


@dataclass
class Modules:
    """The modules of a source tree.

    Args:
        by_name: Each by its qualified name.
        classes: Every class by its qualified name, with its module's scope above it.
        folders: What is before a dot in the name of a module: packages, those without ``__init__.py`` too.
    """

    by_name: dict[str, Module] = field(default_factory=dict)
    classes: dict[str, Scope] = field(default_factory=dict)
    folders: set[str] = field(default_factory=set)
    _asked: set[int] = field(default_factory=set)
    _order: Order | None = None

    def add(self, tree: ast.Module, name: str, package: str) -> Module:
        """Read the names of a module."""
        module = Module(name, package, module_scope(tree, name, package))
        self.by_name[name] = module
        self.classes.update((scope.name, scope) for scope in _classes(module.scope))
        self._order = None
        parts = name.split(".")[:-1]
        self.folders.update(".".join(parts[: number + 1]) for number in range(len(parts)))
        return module

    def known(self, name: str) -> bool:
        """Whether a module or a package of this name is in the tree; no folder hides the standard library."""
        return name in self.by_name or (name in self.folders and name not in sys.stdlib_module_names)

    def resolve(self, node: ast.expr, scope: Scope) -> Entity | None:
        """What an expression stands for; None of one that has no name."""
        if isinstance(node, ast.Name):
            return self.name(node.id, scope)
        if isinstance(node, ast.Attribute):
            return self._attribute(node, scope)
        if isinstance(node, ast.Constant):
            return (
                Entity(f"builtins.{type(node.value).__name__}", EXTERNAL) if node.value is not None else None
            )
        if isinstance(node, ast.Await | ast.Starred):
            return self.resolve(node.value, scope)
        if isinstance(node, ast.Call):
            inner, ending = node.func, "()"
        elif isinstance(node, ast.Subscript):
            inner, ending = node.value, "[]"
        else:
            return None
        base = self.resolve(inner, scope)
        return None if base is None else Entity(f"{base.name}{ending}", UNRESOLVED)

    def name(self, name: str, scope: Scope) -> Entity:
        """What a bare name stands for in a scope."""
        found = scope.find(name)
        if found is not None:
            return self._bound(*found, name, 0)
        top = scope
        while top.parent is not None:
            top = top.parent
        starred = self._starred(top, name, 0)
        if starred is not None:
            return starred
        if name in _BUILTINS:
            return Entity(f"builtins.{name}", EXTERNAL)
        return Entity(f"{top.name}.{name}", UNRESOLVED)

    def member(self, module: str, name: str, depth: int = 0) -> Entity:
        """What a name of a module stands for, wherever it is defined."""
        if module not in self.by_name:
            if self.known(f"{module}.{name}"):
                return Entity(f"{module}.{name}", "module")
            return Entity(f"{module}.{name}" if module else name, EXTERNAL)
        scope = self.by_name[module].scope
        binding = scope.names.get(name)
        # A package that imports a module of its own binds the name to itself.
        if binding is not None and binding.target != (module, name) and depth < _DEEPEST:
            return self._bound(scope, binding, name, depth + 1)
        if self.known(f"{module}.{name}"):
            return Entity(f"{module}.{name}", "module")
        starred = self._starred(scope, name, depth)
        return starred or Entity(f"{module}.{name}", UNRESOLVED)

    def attribute(self, kind: str, name: str, *, above: bool = False) -> Entity | None:
        """A member of a class or of its bases; None where no class of the tree has it.

        Args:
            kind: Qualified name of the class.
            name: Of the member.
            above: Look in its bases alone, as ``super()`` does.
        """
        for place in self.order(kind)[above:]:
            scope = self.classes.get(place)
            if scope is not None and name in scope.names:
                return self._bound(scope, scope.names[name], name, 0)
        return None

    def order(self, kind: str) -> tuple[str, ...]:
        """A class and all above it, in the order in which Python looks for its members."""
        if self._order is None:
            self._order = Order(self._base_names)
        return self._order.of(kind)

    def _base_names(self, kind: str) -> list[str]:
        scope = self.classes.get(kind)
        return [] if scope is None else [base.name for base in self.bases(scope)]

    def bases(self, scope: Scope) -> list[Entity]:
        """The bases of a class, as they are named."""
        node = scope.node
        if not isinstance(node, ast.ClassDef) or scope.parent is None:
            return []
        named = [base.value if isinstance(base, ast.Subscript) else base for base in node.bases]
        found = [self.resolve(base, scope.typed or scope.before or scope.parent) for base in named]
        return [base for base in found if base is not None and base.name != scope.name]

    def _bound(self, scope: Scope, binding: Binding, name: str, depth: int) -> Entity:
        if binding.target is None:
            return Entity(f"{scope.name}.{name}", binding.kind)
        module, inside = binding.target
        if not inside:
            return Entity(module, "module" if self.known(module) else EXTERNAL)
        if depth >= _DEEPEST:
            return Entity(f"{scope.name}.{name}", UNRESOLVED)
        return self.member(module, inside, depth + 1)

    def _starred(self, scope: Scope, name: str, depth: int) -> Entity | None:
        """What a name stands for that a scope imports with all of a module; of several the last one counts."""
        for module in reversed(scope.stars) if depth < _DEEPEST else ():
            if module not in self.by_name:
                continue
            inside = self.by_name[module].scope
            listed = inside.exported is not None and name in inside.exported
            if not listed and (inside.exported is not None or name.startswith("_")):
                continue
            own = name in inside.names or (listed and f"{module}.{name}" in self.by_name)
            found = self.member(module, name, depth + 1) if own else self._starred(inside, name, depth + 1)
            if found is not None:
                return found
        return None

    def _attribute(self, node: ast.Attribute, scope: Scope) -> Entity | None:
        held = owner(node.value, scope)
        if held is not None:
            return self._of_class(held.name, node.attr)
        if is_super(node.value):
            method = scope
            while method.parent is not None and method.receiver is None:
                method = method.parent
            if method.parent is not None:
                found = self.attribute(method.parent.name, node.attr, above=True)
                if found is not None:
                    return found
                bases = self.bases(method.parent)
                if len(bases) == 1 and bases[0].kind == EXTERNAL:
                    return Entity(f"{bases[0].name}.{node.attr}", EXTERNAL)
                return Entity(f"{method.parent.name}.super().{node.attr}", UNRESOLVED)
        kind = self.instance(node.value, scope)
        if kind is not None:
            if kind.kind == EXTERNAL:
                return Entity(f"{kind.name}.{node.attr}", EXTERNAL)
            return self._of_class(kind.name, node.attr)
        base = self.resolve(node.value, scope)
        if base is None:
            return None
        if base.kind == "module" or (base.kind == EXTERNAL and f"{base.name}.{node.attr}" in self.by_name):
            return self.member(base.name, node.attr)
        if base.kind == "class":
            return self._of_class(base.name, node.attr)
        kind = EXTERNAL if base.kind == EXTERNAL else UNRESOLVED
        return Entity(f"{base.name}.{node.attr}", kind)

    def _of_class(self, kind: str, name: str) -> Entity:
        return self.attribute(kind, name) or Entity(f"{kind}.{name}", UNRESOLVED)

    def instance(self, node: ast.expr, scope: Scope) -> Entity | None:
        """The class whose members an expression has, where the tree says it; None elsewhere."""
        if isinstance(node, ast.Constant) and node.value is not None and node.value is not ...:
            return Entity(f"builtins.{type(node.value).__name__}", EXTERNAL)
        if isinstance(node, ast.JoinedStr):
            return Entity("builtins.str", EXTERNAL)
        if isinstance(node, ast.Call):
            made = self.resolve(node.func, scope)
            return made if made is not None and made.kind == "class" else None
        if not isinstance(node, ast.Name):
            return None
        found = scope.find(node.id)
        if found is None or found[1].target is not None or found[1].kind not in ("parameter", "variable"):
            return None
        inside, binding = found
        if gathered := _gathered(inside, node.id):
            return Entity(f"builtins.{gathered}", EXTERNAL) if not binding.values else None
        around = inside.typed or inside.parent
        outside = around if binding.kind == "parameter" and around is not None else inside
        # Of a bare Final the value says the type.
        if written := [item for item in binding.annotations if self.types(item, outside)]:
            kinds = {self.annotated(item, outside) for item in written}
        elif binding.values and binding.kind == "variable" and id(binding) not in self._asked:
            # A variable may be made of itself: x = x.copy().
            self._asked.add(id(binding))
            kinds = {
                self.instance(value, inside) if isinstance(value, ast.Call) else None
                for value in binding.values
            }
            self._asked.remove(id(binding))
        else:
            return None
        kind = kinds.pop() if len(kinds) == 1 else None
        return kind if kind is not None and kind.kind in ("class", EXTERNAL) else None

    def annotated(self, node: ast.expr, scope: Scope) -> Entity | None:
        """The one class whose members an annotation promises, ``None`` aside; None where there is no such."""
        kinds = {kind for kind, _ in self.type_places(node, scope, members=True)} - {NOTHING}
        kind = kinds.pop() if len(kinds) == 1 else None
        return None if kind is None or kind.name in _ANYTHING else kind

    def types(self, node: ast.expr, scope: Scope) -> list[Entity]:
        """The classes of an annotation, outermost of each part of a union, ``None`` included."""
        return [kind for kind, _ in self.type_places(node, scope)]

    def type_places(
        self, node: ast.expr, scope: Scope, *, members: bool = False
    ) -> Iterator[tuple[Entity, ast.expr]]:
        """The classes of an annotation, each with the expression that names it.

        Args:
            node: The annotation.
            scope: Where it stands.
            members: Name the classes whose members there are: X of ``type[X]``, ``str`` of ``Literal["a"]``.
        """
        if isinstance(node, ast.Constant):
            if node.value is None:
                yield NOTHING, node
            elif isinstance(node.value, str):
                inner = _parsed(node.value)
                # Characters inside a text have no places of their own: that of the text stands for them.
                if inner:
                    yield from ((kind, node) for kind, _ in self.type_places(inner, scope, members=members))
            return
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            yield from self.type_places(node.left, scope, members=members)
            yield from self.type_places(node.right, scope, members=members)
            return
        if isinstance(node, ast.Subscript):
            outer = self.resolve(node.value, scope)
            last = "" if outer is None else outer.name.rpartition(".")[2]
            inside = list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]
            if last in ("Optional", "Union"):
                for part in inside:
                    yield from self.type_places(part, scope, members=members)
                if last == "Optional":
                    yield NOTHING, node
                return
            if last in ("Annotated", "ClassVar", "Final", "Required", "NotRequired", "ReadOnly"):
                yield from self.type_places(inside[0], scope, members=members)
                return
            if members and last in ("type", "Type") and outer is not None and outer.kind == EXTERNAL:
                yield from self.type_places(inside[0], scope, members=True)
                return
            if members and last == "Literal":
                kinds = [self.resolve(part, scope) for part in inside if isinstance(part, ast.Constant)]
                yield from ((kind, node) for kind in kinds if kind is not None)
                return
            node = node.value
        found = self.resolve(node, scope) if isinstance(node, ast.Name | ast.Attribute) else None
        if found is not None and found.name in _SELF:
            found = _class_around(scope) or found
        if found is not None and found.name not in _BARE:
            yield found, node


def _parsed(text: str) -> ast.expr | None:
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _gathered(scope: Scope, name: str) -> str:
    """``"tuple"`` of ``*name``, ``"dict"`` of ``**name``; empty of what is neither."""
    if isinstance(scope.node, Function | ast.Lambda):
        rest, named = scope.node.args.vararg, scope.node.args.kwarg
        if rest is not None and rest.arg == name:
            return "tuple"
        if named is not None and named.arg == name:
            return "dict"
    return ""


def _class_around(scope: Scope) -> Entity | None:
    around: Scope | None = scope
    while around is not None and around.kind != "class":
        around = around.parent
    return None if around is None else Entity(around.name, "class")


def _classes(scope: Scope) -> Iterator[Scope]:
    for inner in scope.inner.values():
        if inner.kind == "class":
            yield inner
        yield from _classes(inner)


def is_super(node: ast.expr) -> bool:
    """Whether an expression is a call of ``super``."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super"


def function_of(scope: Scope) -> Scope:
    """The scope whose definition a statement belongs to: the nearest ``def``, class or module."""
    while scope.parent is not None and not isinstance(scope.node, Function | ast.ClassDef | ast.Module):
        scope = scope.parent
    return scope

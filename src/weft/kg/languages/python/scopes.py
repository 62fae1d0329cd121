"""Scopes of one Python module: which name is bound where, by what.

Every scope and every binding has a qualified name: ``package.module.Class.method.parameter``. A parameter and a
local of one function are names of one scope, so that no two bindings share one. A lambda and a comprehension are
scopes too, numbered in the order of the text.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from weft.kg.languages.python.units import Function, defaults, parameters

ScopeKind = Literal["module", "class", "function"]
Kind = Literal["module", "class", "function", "method", "parameter", "attribute", "variable"]
Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


@dataclass
class Binding:
    """A name of a scope.

    Args:
        kind: What it is; of a name that is bound twice, what it is first, or what defines it.
        nodes: Where it is bound.
        target: Of an import, module and name in it; an empty name for the module itself.
        annotations: Types written beside it.
        values: What it is assigned; None where that is more than an expression.
        bare: Whether its name alone stands for it; not where methods set it on ``self`` and nothing else binds it.
    """

    kind: Kind
    nodes: list[ast.AST] = field(default_factory=list)
    target: tuple[str, str] | None = None
    annotations: list[ast.expr] = field(default_factory=list)
    values: list[ast.expr | None] = field(default_factory=list)
    bare: bool = False


@dataclass
class Scope:
    """A module, class, function, lambda or comprehension.

    Args:
        kind: A lambda and a comprehension are functions.
        name: Qualified.
        parent: None of a module.
        node: Its syntax tree.
        names: Bound in it.
        elsewhere: Names that ``global`` and ``nonlocal`` send to another scope.
        stars: Modules of which it imports all.
        exported: Of a module, what its ``__all__`` lists; None where it has none, or one that is made as it runs.
        receiver: The first parameter of a method, ``self`` or ``cls``.
        inner: Scopes in it by the identity of their node.
        before: The scope around it as it was before its own name took the place of an import: its decorators and
            bases stand there. None where it took no such place.
        typed: The scope of its type parameters (``def f[T]``), between it and its parent; None where it has none.
        numbered: Lambdas and comprehensions so far.
    """

    kind: ScopeKind
    name: str
    parent: Scope | None
    node: ast.AST
    names: dict[str, Binding] = field(default_factory=dict)
    elsewhere: dict[str, Scope] = field(default_factory=dict)
    stars: list[str] = field(default_factory=list)
    exported: frozenset[str] | None = None
    receiver: str | None = None
    inner: dict[int, Scope] = field(default_factory=dict)
    before: Scope | None = None
    typed: Scope | None = None
    numbered: int = 0

    def bind(self, name: str, kind: Kind, node: ast.AST) -> Binding:
        """Bind a name here, or where ``global`` sends it."""
        scope = self.elsewhere.get(name, self)
        binding = scope.names.setdefault(name, Binding(kind))
        if kind in ("class", "function", "method") and binding.kind in ("attribute", "variable"):
            # What a method assigns to self may be a property that is defined below it.
            binding.kind = kind
        binding.nodes.append(node)
        binding.bare |= not isinstance(node, ast.Attribute)
        return binding

    def find(self, name: str) -> tuple[Scope, Binding] | None:
        """The scope that a name in this one is of, as Python looks it up; None where none binds it."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.elsewhere:
                scope = scope.elsewhere[name]
            if name in scope.names and (scope is self or scope.kind != "class") and scope.names[name].bare:
                return scope, scope.names[name]
            if scope.typed is not None and name in scope.typed.names:
                return scope.typed, scope.typed.names[name]
            scope = scope.parent
        return None


def module_scope(tree: ast.Module, name: str, package: str) -> Scope:
    """The scopes of a module.

    Args:
        tree: Its syntax tree.
        name: Its qualified name.
        package: The package that its relative imports start from.
    """
    scope = Scope("module", name, None, tree)
    _Builder(package).block(tree.body, scope)
    if "__all__" in scope.names:
        scope.exported = _exported(tree, scope.names["__all__"])
    return scope


def _exported(tree: ast.Module, binding: Binding) -> frozenset[str] | None:
    names = set[str]()
    for value in binding.values:
        if not isinstance(value, ast.List | ast.Tuple | ast.Set):
            return None
        for item in value.elts:
            if not isinstance(item, ast.Constant) or not isinstance(item.value, str):
                return None
            names.add(item.value)
    # __all__.append(…), __all__.extend(…)
    held = (node.value for node in ast.walk(tree) if isinstance(node, ast.Attribute))
    changed = any(isinstance(node, ast.Name) and node.id == "__all__" for node in held)
    return None if changed or not names else frozenset(names)


class _Builder:
    """Walks a module once, in the order in which its names are bound."""

    def __init__(self, package: str) -> None:
        self.package = package
        # Statements that stand in the block of their scope itself, not below an ``if`` or a ``try``.
        self.certain = set[int]()

    def block(self, body: Sequence[ast.AST], scope: Scope) -> None:
        # What a scope declares holds in all of it, whatever stands above the declaration.
        for node in body:
            self._declare(node, scope)
        self.certain.update(map(id, body))
        for node in body:
            self.visit(node, scope)

    def visit(self, node: ast.AST, scope: Scope) -> None:
        if isinstance(node, Function):
            self._function(node, scope)
        elif isinstance(node, ast.ClassDef):
            self._class(node, scope)
        elif isinstance(node, ast.Lambda):
            self._lambda(node, scope)
        elif isinstance(node, Comprehension):
            self._comprehension(node, scope)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            self._import(node, scope)
        else:
            self._plain(node, scope)

    def _declare(self, node: ast.AST, scope: Scope) -> None:
        if isinstance(node, Function | ast.ClassDef | ast.Lambda):
            return
        if isinstance(node, ast.Global | ast.Nonlocal):
            for name in node.names:
                scope.elsewhere[name] = _outer(scope, name, isinstance(node, ast.Global))
        elif isinstance(node, ast.stmt | ast.ExceptHandler | ast.match_case):
            for child in ast.iter_child_nodes(node):
                self._declare(child, scope)

    def _plain(self, node: ast.AST, scope: Scope) -> None:
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            scope.bind(node.id, _variable(scope), node).values.append(None)
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                self._assigned(target, node.value, scope)
            self.visit(node.value, scope)
            return
        elif isinstance(node, ast.AnnAssign):
            self._assigned(node.target, node.value, scope, node.annotation)
            self.visit(node.annotation, scope)
            if node.value is not None:
                self.visit(node.value, scope)
            return
        elif isinstance(node, ast.NamedExpr):
            while scope.kind == "function" and isinstance(scope.node, Comprehension) and scope.parent:
                scope = scope.parent
            self._assigned(node.target, node.value, scope)
            self.visit(node.value, scope)
            return
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name is not None:
            scope.bind(node.name, _variable(scope), node).values.append(None)
        elif isinstance(node, ast.MatchMapping) and node.rest is not None:
            scope.bind(node.rest, _variable(scope), node).values.append(None)
        elif isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
            self._attribute(node, None, scope)
        for child in ast.iter_child_nodes(node):
            self.visit(child, scope)

    def _assigned(
        self, target: ast.expr, value: ast.expr | None, scope: Scope, annotation: ast.expr | None = None
    ) -> None:
        if isinstance(target, ast.Name):
            binding = scope.bind(target.id, _variable(scope), target)
        elif isinstance(target, ast.Attribute):
            self.visit(target.value, scope)
            binding = self._attribute(target, value, scope)
        else:
            self.visit(target, scope)
            return
        if binding is not None:
            if value is not None or annotation is None:
                binding.values.append(value)
            if annotation is not None:
                binding.annotations.append(annotation)

    def _attribute(self, node: ast.Attribute, value: ast.expr | None, scope: Scope) -> Binding | None:
        """``self.x = …`` binds an attribute of the class."""
        found = owner(node.value, scope)
        return None if found is None else found.bind(node.attr, "attribute", node)

    def _function(self, node: Function, scope: Scope) -> None:
        before = self._define(node, "method" if scope.kind == "class" else "function", scope)
        for outside in (*node.decorator_list, *(default for _, default in defaults(node))):
            self.visit(outside, scope)
        inner = self._open("function", f"{_place(scope, node.name).name}.{node.name}", node, scope)
        inner.before = before
        every = list(parameters(node))
        static = any(isinstance(item, ast.Name) and item.id == "staticmethod" for item in node.decorator_list)
        if scope.kind == "class" and every and not static and (node.args.posonlyargs or node.args.args):
            inner.receiver = every[0].arg
        outside = self._typed(node, inner, scope)
        for argument in every:
            binding = inner.bind(argument.arg, "parameter", argument)
            if argument.annotation is not None:
                binding.annotations.append(argument.annotation)
                self.visit(argument.annotation, outside)
        if node.returns is not None:
            self.visit(node.returns, outside)
        self.block(node.body, inner)

    def _class(self, node: ast.ClassDef, scope: Scope) -> None:
        before = self._define(node, "class", scope)
        for decorator in node.decorator_list:
            self.visit(decorator, scope)
        inner = self._open("class", f"{_place(scope, node.name).name}.{node.name}", node, scope)
        inner.before = before
        outside = self._typed(node, inner, scope)
        for base in (*node.bases, *node.keywords):
            self.visit(base, outside)
        self.block(node.body, inner)

    def _typed(self, node: Function | ast.ClassDef, inner: Scope, scope: Scope) -> Scope:
        """Bind type parameters (Python 3.12 and later); where annotations and bases are looked up is given."""
        if not (found := getattr(node, "type_params", ())):
            return scope
        inner.typed = Scope("function", inner.name, inner.before or scope, node)
        for item in found:
            inner.typed.bind(item.name, "variable", item)
        return inner.typed

    def _define(self, node: Function | ast.ClassDef, kind: Kind, scope: Scope) -> Scope | None:
        """Bind a definition; what is certainly defined takes the place of an import, and the scope before is given."""
        binding = scope.bind(node.name, kind, node)
        if binding.target is None or id(node) not in self.certain:
            return None
        imported = Binding("variable", target=binding.target, bare=True)
        binding.target, binding.kind = None, kind
        return replace(scope, names={**scope.names, node.name: imported})

    def _lambda(self, node: ast.Lambda, scope: Scope) -> None:
        for _, outside in defaults(node):
            self.visit(outside, scope)
        inner = self._numbered("lambda", node, scope)
        for argument in parameters(node):
            inner.bind(argument.arg, "parameter", argument)
        self.visit(node.body, inner)

    def _comprehension(self, node: Comprehension, scope: Scope) -> None:
        self.visit(node.generators[0].iter, scope)
        inner = self._numbered("comprehension", node, scope)
        for number, part in enumerate(node.generators):
            if number:
                self.visit(part.iter, inner)
            self.visit(part.target, inner)
            for test in part.ifs:
                self.visit(test, inner)
        for name in ("elt", "key", "value"):
            if hasattr(node, name):
                self.visit(getattr(node, name), inner)

    def _import(self, node: ast.Import | ast.ImportFrom, scope: Scope) -> None:
        if isinstance(node, ast.Import):
            for alias in node.names:
                whole = alias.name if alias.asname else alias.name.partition(".")[0]
                binding = scope.bind(alias.asname or whole, "module", alias)
                binding.target = whole, ""
            return
        module = imported_module(node, self.package)
        for alias in node.names:
            if alias.name == "*":
                scope.stars.append(module)
            else:
                binding = scope.bind(alias.asname or alias.name, "variable", alias)
                binding.target = module, alias.name

    def _open(self, kind: ScopeKind, name: str, node: ast.AST, scope: Scope) -> Scope:
        inner = Scope(kind, name, scope, node)
        scope.inner[id(node)] = inner
        return inner

    def _numbered(self, what: str, node: ast.AST, scope: Scope) -> Scope:
        scope.numbered += 1
        return self._open("function", f"{scope.name}.<{what} {scope.numbered}>", node, scope)


def imported_module(node: ast.ImportFrom, package: str) -> str:
    """The absolute name of the module that names are imported from."""
    if not node.level:
        return node.module or ""
    parts = package.split(".") if package else []
    base = parts[: len(parts) - (node.level - 1)]
    return ".".join([*base, node.module] if node.module else base)


def owner(node: ast.expr, scope: Scope) -> Scope | None:
    """The class whose ``self`` or ``cls`` an expression is; None where it is none."""
    if not isinstance(node, ast.Name):
        return None
    found = scope.find(node.id)
    if found is None or found[0].receiver != node.id:
        return None
    return found[0].parent


def _outer(scope: Scope, name: str, to_module: bool) -> Scope:
    outer = scope
    while outer.parent is not None:
        outer = outer.parent
        if not to_module and outer.kind == "function":
            if name in outer.elsewhere:
                return outer.elsewhere[name]
            if name in outer.names or _binds(outer.node, name):
                return outer
    return outer


def _binds(function: ast.AST, name: str) -> bool:
    """Whether a statement of a function binds a name, below what was walked so far too."""
    work = list(ast.iter_child_nodes(function))
    while work:
        node = work.pop()
        if isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Load):
            return True
        if isinstance(node, ast.alias) and name == (node.asname or node.name.partition(".")[0]):
            return True
        if name == getattr(node, "name", None) and not isinstance(node, ast.alias):
            return True
        if not isinstance(node, Function | ast.ClassDef | ast.Lambda | Comprehension):
            work += ast.iter_child_nodes(node)
    return False


def _place(scope: Scope, name: str) -> Scope:
    return scope.elsewhere.get(name, scope)


def _variable(scope: Scope) -> Kind:
    return "attribute" if scope.kind == "class" else "variable"

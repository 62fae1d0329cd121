"""The facts that the syntax tree of a module states, between entities of the whole source tree.

Every tail of every relation, each at the exact place that states it: the name of a parameter, the expression that
is called, the annotation of a type.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from weft.kg.languages.python.resolve import (
    CONSTANT,
    EXTERNAL,
    NOTHING,
    UNRESOLVED,
    Entity,
    Module,
    Modules,
    function_of,
    is_super,
)
from weft.kg.languages.python.returns import returned
from weft.kg.languages.python.scopes import Comprehension, Scope, imported_module, owner
from weft.kg.languages.python.types.instances import Instances
from weft.kg.languages.python.units import Function, SourceFile, defaults, parameters
from weft.kg.languages.python.values import class_of
from weft.kg.languages.unit import End, Stated

_Found = tuple[Entity | None, str, Entity | None, ast.AST]
_VIEWS = ("items", "keys", "values", "copy")
"""Methods that give what a mapping holds."""
_LOOPED = ("enumerate", "reversed", "sorted", "list", "iter", "zip", "tuple", "set")


def stated_facts(file: SourceFile, module: Module, modules: Modules, instances: Instances) -> list[Stated]:
    """The facts of a module, in the order of its text, each place of each fact once.

    Args:
        file: Parsed.
        module: Its names, made of the same syntax tree.
        modules: Those of the tree.
        instances: The classes of the tree's objects.
    """
    found = {
        Stated(End(head.name, head.kind), relation, End(tail.name, tail.kind), *span)
        for head, relation, tail, node in _Walker(module, modules, instances).module(file.tree)
        if head is not None and tail is not None
        for span in (_span(file, node),)
    }
    return sorted(found, key=lambda fact: (fact.start, fact.end, fact.relation, fact.head, fact.tail))


def _span(file: SourceFile, node: ast.AST) -> tuple[int, int]:
    """Where a node stands: of a definition its name, of all else the whole."""
    start, end = file.span(node)
    if isinstance(node, Function | ast.ClassDef):
        return file.name_of(node)
    if isinstance(node, ast.arg):
        return start, start + len(node.arg)
    return start, end


class _Walker:
    """Yields head, relation, tail and the node that states them."""

    def __init__(self, module: Module, modules: Modules, instances: Instances) -> None:
        self.of_module = module
        self.modules = modules
        self.instances = instances
        self.called: set[int] = set()

    def module(self, tree: ast.Module) -> Iterator[_Found]:
        for node in tree.body:
            yield from self.visit(node, self.of_module.scope)

    def visit(self, node: ast.AST, scope: Scope) -> Iterator[_Found]:
        inner = scope.inner.get(id(node))
        if isinstance(node, Function) and inner is not None:
            yield from self._function(node, scope, inner)
        elif isinstance(node, ast.ClassDef) and inner is not None:
            yield from self._class(node, scope, inner)
        elif isinstance(node, ast.Lambda) and inner is not None:
            for argument, default in defaults(node):
                yield from self._default(argument, default, scope, inner)
            yield from self.visit(node.body, inner)
        elif isinstance(node, Comprehension) and inner is not None:
            for number, part in enumerate(node.generators):
                yield from self._loop(part.target, part.iter, inner, scope if number == 0 else inner)
                yield from self.visit(part.iter, scope if number == 0 else inner)
                for child in (part.target, *part.ifs):
                    yield from self.visit(child, inner)
            for name in ("elt", "key", "value"):
                if hasattr(node, name):
                    yield from self.visit(getattr(node, name), inner)
        else:
            yield from self._of_node(node, scope)
            for child in ast.iter_child_nodes(node):
                yield from self.visit(child, scope)

    def _function(self, node: Function, scope: Scope, inner: Scope) -> Iterator[_Found]:
        mine = Entity(inner.name, "method" if scope.kind == "class" else "function")
        yield from self._decorators(mine, node, inner.before or scope)
        outside = inner.typed or scope
        for argument in parameters(node):
            parameter = Entity(f"{inner.name}.{argument.arg}", "parameter")
            if argument.arg != inner.receiver:
                yield mine, "has_parameter", parameter, argument
            if argument.annotation is not None:
                yield from self._types(parameter, "has_type", argument.annotation, outside)
                yield from self.visit(argument.annotation, outside)
        for argument, default in defaults(node):
            yield from self._default(argument, default, scope, inner)
        if node.returns is not None:
            yield from self._types(mine, "returns", node.returns, outside)
            yield from self.visit(node.returns, outside)
        else:
            kind, optional = returned(inner, self.modules)
            yield mine, "returns", kind, node
            if kind is not None and optional:
                yield mine, "returns", NOTHING, node
        for child in node.body:
            yield from self.visit(child, inner)

    def _class(self, node: ast.ClassDef, scope: Scope, inner: Scope) -> Iterator[_Found]:
        mine = Entity(inner.name, "class")
        before = inner.before or scope
        yield from self._decorators(mine, node, before)
        for base in node.bases:
            named = base.value if isinstance(base, ast.Subscript) else base
            yield mine, "inherits_from", self._resolve(named, inner.typed or before), named
            yield from self.visit(base, inner.typed or before)
        for keyword in node.keywords:
            yield from self.visit(keyword, inner.typed or scope)
        for name, binding in inner.names.items():
            for item in binding.nodes:
                if isinstance(item, Function):
                    yield mine, "has_method", Entity(f"{inner.name}.{name}", "method"), item
                elif isinstance(item, ast.Name):
                    yield mine, "has_class_attribute", Entity(f"{inner.name}.{name}", binding.kind), item
        for child in node.body:
            yield from self.visit(child, inner)

    def _decorators(self, mine: Entity, node: Function | ast.ClassDef, scope: Scope) -> Iterator[_Found]:
        for decorator in node.decorator_list:
            named = decorator.func if isinstance(decorator, ast.Call) else decorator
            yield mine, "decorated_by", self._resolve(named, scope), named
            yield from self.visit(decorator, scope)

    def _default(self, argument: ast.arg, node: ast.expr, scope: Scope, inner: Scope) -> Iterator[_Found]:
        yield from self.visit(node, scope)
        parameter = Entity(f"{inner.name}.{argument.arg}", "parameter")
        signed = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd | ast.Invert)
        constant = node.operand if signed and isinstance(node, ast.UnaryOp) else node
        if isinstance(constant, ast.Constant):
            text = repr(constant.value) if constant is node else ast.unparse(node)
            if len(text) <= 60:
                yield parameter, "has_default", Entity(text, CONSTANT), node
        else:
            yield parameter, "has_default", self._resolve(node, scope), node

    def _types(self, head: Entity, relation: str, node: ast.expr, scope: Scope) -> Iterator[_Found]:
        for kind, place in self.modules.type_places(node, scope):
            yield head, relation, kind, place

    def _of_node(self, node: ast.AST, scope: Scope) -> Iterator[_Found]:
        if isinstance(node, ast.Call):
            yield from self._call(node, scope)
        elif isinstance(node, ast.Attribute):
            if id(node) not in self.called:
                relation = "reads_attribute" if isinstance(node.ctx, ast.Load) else "sets_attribute"
                yield self._object(node.value, scope), relation, self._resolve(node, scope), node
        elif isinstance(node, ast.Assign | ast.AnnAssign | ast.NamedExpr):
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                yield from self._assignment(target, node.value, scope)
            if isinstance(node, ast.AnnAssign):
                head = self._resolve(node.target, scope)
                if head is not None:
                    yield from self._types(head, "has_type", node.annotation, scope)
        elif isinstance(node, ast.withitem) and node.optional_vars is not None:
            yield from self._assignment(node.optional_vars, node.context_expr, scope)
        elif isinstance(node, ast.For | ast.AsyncFor):
            yield from self._loop(node.target, node.iter, scope, scope)
        elif isinstance(node, ast.Raise) and node.exc is not None:
            raised = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
            if self._is_exception(raised, scope):
                yield self._inside(scope), "raises", self._resolve(raised, scope), raised
        elif isinstance(node, ast.ExceptHandler) and node.type is not None:
            for part in node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]:
                yield self._inside(scope), "handles", self._resolve(part, scope), part
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield from self._import(node)

    def _is_exception(self, raised: ast.expr, scope: Scope) -> bool:
        """Whether what is raised is a class, as far as its name tells; not a variable, nor what a method gives."""
        kind = self._resolve(raised, scope)
        if kind is None or kind.kind == "class" or kind.name.rpartition(".")[2][:1].isupper():
            return kind is not None
        if kind.kind != EXTERNAL or not isinstance(raised, ast.Attribute):
            return False
        # Of a module, as socket.timeout; not of a class, as Error.of, nor of an object.
        held = self._resolve(raised.value, scope)
        module = held is not None and held.kind == EXTERNAL and held.name.rpartition(".")[2].islower()
        return module and self.modules.instance(raised.value, scope) is None

    def _call(self, node: ast.Call, scope: Scope) -> Iterator[_Found]:
        called = node.func
        self.called.add(id(called))
        tail = self._resolve(called, scope)
        bare = not isinstance(called, ast.Attribute)
        if bare or owner(called.value, scope) is not None or is_super(called.value):
            yield self._inside(scope), "calls", tail, called
            return
        if tail is None or tail.kind == UNRESOLVED:
            tail = self.instances.member(called, scope) or tail
        yield self._inside(scope), "calls", tail, called
        held = self._object(called.value, scope)
        if held is not None and held.kind not in ("module", EXTERNAL, "class"):
            yield held, "receives_call", tail, called

    def _assignment(self, target: ast.expr, value: ast.expr | None, scope: Scope) -> Iterator[_Found]:
        head = self._resolve(target, scope) if isinstance(target, ast.Name | ast.Attribute) else None
        if head is None or value is None:
            return
        # What waiting for an object gives is not the object.
        awaited = value
        while isinstance(awaited, ast.Await):
            awaited = awaited.value
        if isinstance(awaited, ast.Call):
            yield head, "result_of", self._resolve(awaited.func, scope), awaited.func
        yield head, "instance_of", class_of(value, scope, self.modules), value

    def _loop(
        self,
        target: ast.expr,
        iterable: ast.expr,
        scope: Scope,
        outside: Scope,
        place: ast.expr | None = None,
    ) -> Iterator[_Found]:
        """What a loop gives its target; of ``zip`` and ``enumerate`` each part of the target has its own."""
        place = place or iterable
        looped = self._looped(iterable, outside)
        if looped in ("zip", "enumerate") and isinstance(iterable, ast.Call):
            many = [None, *iterable.args[:1]] if looped == "enumerate" else list(iterable.args)
            parts = target.elts if isinstance(target, ast.Tuple | ast.List) else []
            if len(parts) != len(many) or any(
                isinstance(item, ast.Starred) for item in (*parts, *iterable.args)
            ):
                return
            for part, over in zip(parts, many, strict=True):
                if over is not None:
                    yield from self._loop(part, over, scope, outside, over if looped == "zip" else place)
            return
        over = iterable
        if isinstance(over, ast.Call):
            if looped:
                yield from self._loop(target, over.args[0], scope, outside, place)
                return
            over = over.func
            if isinstance(over, ast.Attribute) and self._holds(over, outside):
                over = over.value
        tail = self._resolve(over, outside)
        for part in target.elts if isinstance(target, ast.Tuple | ast.List) else [target]:
            head = self._resolve(part, scope) if isinstance(part, ast.Name | ast.Attribute) else None
            if head != tail:
                yield head, "element_of", tail, place

    def _holds(self, called: ast.Attribute, scope: Scope) -> bool:
        """Whether what a method gives is what its object holds: not of ``self``, of a module or of a class."""
        if isinstance(called.value, ast.Call) or owner(called.value, scope) is not None:
            return False
        held = self._resolve(called.value, scope)
        if held is None or held.kind != EXTERNAL:
            return held is None or held.kind not in ("module", "class")
        # Of another package nobody knows whether a name is a module, as itertools, or holds something, as os.environ.
        return called.attr in _VIEWS

    def _looped(self, node: ast.expr, scope: Scope) -> str:
        """The builtin whose call gives the elements of its argument; empty where a node is no such call."""
        if not isinstance(node, ast.Call) or not node.args or not isinstance(node.func, ast.Name):
            return ""
        called = self._resolve(node.func, scope)
        module, _, name = ("", "", "") if called is None else called.name.rpartition(".")
        return name if module == "builtins" and name in _LOOPED else ""

    def _import(self, node: ast.Import | ast.ImportFrom) -> Iterator[_Found]:
        mine = Entity(self.of_module.name, "module")
        module = None if isinstance(node, ast.Import) else imported_module(node, self.of_module.package)
        for alias in node.names:
            if module is None:
                known = self.modules.known(alias.name)
                yield mine, "imports", Entity(alias.name, "module" if known else EXTERNAL), alias
            elif alias.name == "*":
                known = self.modules.known(module)
                yield mine, "imports", Entity(module, "module" if known else EXTERNAL), alias
            else:
                yield mine, "imports", self.modules.member(module, alias.name), alias

    def _resolve(self, node: ast.expr, scope: Scope) -> Entity | None:
        return self.modules.resolve(node, scope)

    def _object(self, node: ast.expr, scope: Scope) -> Entity | None:
        """What an attribute is read from: of ``self`` the class."""
        held = owner(node, scope)
        return Entity(held.name, "class") if held is not None else self._resolve(node, scope)

    def _inside(self, scope: Scope) -> Entity:
        """The function, class or module that a statement belongs to."""
        found = function_of(scope)
        if found.kind == "function":
            within_class = found.parent is not None and found.parent.kind == "class"
            return Entity(found.name, "method" if within_class else "function")
        return Entity(found.name, found.kind)

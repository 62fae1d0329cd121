"""Facts that the syntax tree of a unit states: (head, relation, tail) with the place of each.

Heads and tails are single identifiers or constants: of a dotted name its last part, of ``self.x`` the
``x``. The relations are those of :data:`weft.kg.languages.python.schema.PYTHON`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import TypeVar

from weft.kg.languages.python.units import Function, SourceFile, defaults, parameters
from weft.kg.languages.unit import Fact, Unit

_RECEIVERS = ("self", "cls")
_LITERALS: dict[type[ast.AST], str] = {
    ast.List: "list",
    ast.ListComp: "list",
    ast.Dict: "dict",
    ast.DictComp: "dict",
    ast.Set: "set",
    ast.SetComp: "set",
    ast.Tuple: "tuple",
    ast.JoinedStr: "str",
    ast.Compare: "bool",
    ast.GeneratorExp: "Generator",
}
CALLS = {
    "len": "int",
    "sorted": "list",
    "isinstance": "bool",
    "hasattr": "bool",
    "repr": "str",
    "ord": "int",
}
"""What calls of builtins return, where the name does not say it."""
BUILTIN_TYPES = frozenset(
    kind.__name__
    for kind in (bool, bytearray, bytes, complex, dict, float, frozenset, int, list, object, set, str, tuple)
)
_Class = TypeVar("_Class")
_NESTED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


def facts(file: SourceFile, unit: Unit) -> list[Fact]:
    """The facts of one unit, without repetitions, each at its first place."""
    found: dict[tuple[str, str, str], Fact] = {}
    for head, relation, tail, node in _facts(unit):
        fact = Fact(head, relation, tail, file.span(node)[0])
        known = found.get((head, relation, tail))
        if known is None or fact.offset < known.offset:
            found[head, relation, tail] = fact
    return sorted(found.values(), key=lambda fact: (fact.offset, fact))


_Found = tuple[str, str, str, ast.AST]


def _facts(unit: Unit) -> Iterator[_Found]:
    node = unit.node
    if isinstance(node, Function):
        yield from _of_function(node)
    elif isinstance(node, ast.ClassDef):
        yield from _of_class(node)
    elif isinstance(node, ast.Module):
        for child in node.body:
            if not isinstance(child, Function | ast.ClassDef):
                yield from _of_body(child, None)


def _of_function(node: Function) -> Iterator[_Found]:
    name = node.name
    for decorator in node.decorator_list:
        yield from _named(name, "decorated_by", decorator)
    for argument in parameters(node):
        if argument.arg not in _RECEIVERS:
            yield name, "has_parameter", argument.arg, argument
        tail = type_name(argument.annotation)
        if tail is not None:
            yield argument.arg, "has_type", tail, argument
    for argument, default in defaults(node):
        tail = _constant(default)
        if tail is not None:
            yield argument.arg, "has_default", tail, default
    returned = type_name(node.returns) or unwritten_return(node)
    if returned is not None:
        yield name, "returns", returned, node
    for child in node.body:
        yield from _of_body(child, name)


def _of_class(node: ast.ClassDef) -> Iterator[_Found]:
    for decorator in node.decorator_list:
        yield from _named(node.name, "decorated_by", decorator)
    for base in node.bases:
        yield from _named(node.name, "inherits_from", base.value if isinstance(base, ast.Subscript) else base)
    for child in node.body:
        if isinstance(child, Function):
            yield node.name, "has_method", child.name, child
            for decorator in child.decorator_list:
                yield from _named(child.name, "decorated_by", decorator)
        elif not isinstance(child, ast.ClassDef):
            for target in _targets(child):
                if isinstance(target, ast.Name):
                    yield node.name, "has_class_attribute", target.id, target
            yield from _of_body(child, None)


def _of_body(root: ast.AST, function: str | None) -> Iterator[_Found]:
    """Facts of a statement and all that it holds; a nested function's are its own."""
    if isinstance(root, Function):
        yield from _of_function(root)
        return
    if isinstance(root, ast.ClassDef):
        yield from _of_class(root)
        for child in root.body:
            if isinstance(child, Function):
                yield from _of_function(child)
        return
    yield from _of_node(root, function)
    for child in ast.iter_child_nodes(root):
        yield from _of_body(child, function)


def _of_node(node: ast.AST, function: str | None) -> Iterator[_Found]:
    """Facts that one node states by itself."""
    if isinstance(node, ast.Call):
        yield from _of_call(node, function)
    elif isinstance(node, ast.Attribute):
        head = last_name(node.value)
        if head is not None and not isinstance(node.ctx, ast.Load):
            yield head, "sets_attribute", node.attr, node
        elif head is not None and not getattr(node, "is_called", False):
            yield head, "reads_attribute", node.attr, node
    elif isinstance(node, ast.Assign | ast.AnnAssign | ast.NamedExpr):
        for target in _targets(node):
            yield from _of_assignment(target, node.value)
        if isinstance(node, ast.AnnAssign):
            head, tail = last_name(node.target), type_name(node.annotation)
            if head is not None and tail is not None:
                yield head, "has_type", tail, node
    elif isinstance(node, ast.withitem) and node.optional_vars is not None:
        yield from _of_assignment(node.optional_vars, node.context_expr)
    elif isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
        yield from _of_loop(node.target, node.iter)
    elif isinstance(node, ast.Raise) and node.exc is not None and function is not None:
        raised = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
        name = last_name(raised)
        if name is not None and name[:1].isupper():
            yield function, "raises", name, node
    elif isinstance(node, ast.ExceptHandler) and node.type is not None and function is not None:
        for kind in node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]:
            yield from _named(function, "handles", kind)
    elif isinstance(node, ast.ImportFrom) and node.module:
        for alias in node.names:
            if alias.name != "*":
                yield node.module.split(".")[-1], "imports", alias.name, node


def _of_call(node: ast.Call, function: str | None) -> Iterator[_Found]:
    called = node.func
    if isinstance(called, ast.Attribute):
        # The attribute of a call is called, not read; children are visited after their parent.
        called.is_called = True  # type: ignore[attr-defined]  # a mark on our own tree
        head = last_name(called.value)
        if isinstance(called.value, ast.Name) and head in _RECEIVERS:
            if function is not None:
                yield function, "calls", called.attr, node
        elif head is not None:
            yield head, "receives_call", called.attr, node
    elif isinstance(called, ast.Name) and function is not None:
        yield function, "calls", called.id, node


def _of_assignment(target: ast.expr, value: ast.expr | None) -> Iterator[_Found]:
    head = last_name(target) if isinstance(target, ast.Name | ast.Attribute) else None
    if head is None or value is None:
        return
    # What waiting for an object gives is not the object.
    kind = value_type(value)
    while isinstance(value, ast.Await):
        value = value.value
    if isinstance(value, ast.Call):
        yield from _named(head, "result_of", value.func)
    if kind is not None:
        yield head, "instance_of", kind, target


def _of_loop(target: ast.expr, iterable: ast.expr) -> Iterator[_Found]:
    over = iterable
    if isinstance(over, ast.Call):
        if isinstance(over.func, ast.Attribute):
            over = over.func.value if not isinstance(over.func.value, ast.Call) else over.func
        elif over.args and last_name(over.func) in ("enumerate", "reversed", "sorted", "list", "iter"):
            over = over.args[0]
        else:
            over = over.func
    tail = last_name(over)
    for name in target.elts if isinstance(target, ast.Tuple | ast.List) else [target]:
        head = last_name(name)
        if head is not None and tail is not None and head != tail:
            yield head, "element_of", tail, target


def _named(head: str, relation: str, node: ast.expr) -> Iterator[_Found]:
    if isinstance(node, ast.Call):
        node = node.func
    tail = last_name(node)
    if tail is not None:
        yield head, relation, tail, node


def last_name(node: ast.AST | None) -> str | None:
    """The identifier at the end of a name, an attribute or a subscripted one."""
    while isinstance(node, ast.Subscript):
        node = node.value
    if isinstance(node, ast.Name):
        return node.id
    return node.attr if isinstance(node, ast.Attribute) else None


def type_name(node: ast.expr | None) -> str | None:
    """The outermost class of an annotation without ``None``: ``list`` of ``list[int] | None``.

    None where there is no single class: a union of several, ``Any``, ``object``, a private name, a type
    variable of one letter.
    """
    if isinstance(node, ast.Constant):
        if node.value is None:
            return "None"
        if not isinstance(node.value, str):
            return None
        try:
            return type_name(ast.parse(node.value.strip(), mode="eval").body)
        except (SyntaxError, ValueError):
            return None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return _single([node.left, node.right])
    if isinstance(node, ast.Subscript):
        outer = last_name(node.value)
        inner = list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]
        if outer == "Optional" or outer == "Union":
            return _single(inner)
        if outer in ("Annotated", "ClassVar", "Final", "Required", "NotRequired", "ReadOnly"):
            return type_name(inner[0])
        if outer == "Literal":
            kinds = {value_type(value) for value in inner} - {None}
            return kinds.pop() if len(kinds) == 1 else None
        return type_name(node.value)
    name = last_name(node)
    if name is None:
        return None
    name = _ALIASES.get(name, name)
    public = (
        not name.startswith("_") and len(name) > 1 and name not in ("Any", "object", "Incomplete", "Unused")
    )
    return name if public else None


_ALIASES = {
    "List": "list",
    "Dict": "dict",
    "Set": "set",
    "FrozenSet": "frozenset",
    "Tuple": "tuple",
    "Type": "type",
    "Text": "str",
    "LiteralString": "str",
    "AnyStr": "str",
    "StrPath": "str",
    "StrOrBytesPath": "str",
    "FileDescriptorOrPath": "str",
    "ReadableBuffer": "bytes",
    "WriteableBuffer": "bytearray",
    "TypeGuard": "bool",
    "TypeIs": "bool",
    "FileDescriptor": "int",
}
"""Names that mean a builtin class, those of the typeshed's own aliases included."""


def _single(parts: list[ast.expr]) -> str | None:
    """The one class of a union besides ``None``; the union's parts may be unions."""
    names: set[str] = set()
    for part in parts:
        name = type_name(part)
        if name is None:
            return None
        names.add(name)
    if names == {"None"}:
        return "None"
    names.discard("None")
    return names.pop() if len(names) == 1 else None


def value_type(node: ast.expr) -> str | None:
    """The class of an expression, where the expression alone tells it."""
    if isinstance(node, ast.Constant):
        return None if node.value is None or node.value is ... else type(node.value).__name__
    if isinstance(node, ast.Call):
        name = last_name(node.func)
        if name is None:
            return None
        if joins_text(node):
            return joins_text(node)
        if isinstance(node.func, ast.Name) and name in CALLS:
            return CALLS[name]
        return name if name in BUILTIN_TYPES or (name[:1].isupper() and not name.isupper()) else None
    if isinstance(node, ast.UnaryOp):
        return "bool" if isinstance(node.op, ast.Not) else value_type(node.operand)
    if (
        isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.Mod | ast.Add)
        and value_type(node.left) == "str"
    ):
        return "str"
    return _LITERALS.get(type(node))


def joins_text(node: ast.Call) -> str | None:
    """The class of ``join`` and ``format`` of a text or bytes that are written out; None of other calls."""
    called = node.func
    if not isinstance(called, ast.Attribute) or called.attr not in ("join", "format"):
        return None
    return value_type(called.value) if isinstance(called.value, ast.Constant) else None


def plain_return(node: Function, of: Callable[[ast.expr], _Class | None], nothing: _Class) -> _Class | None:
    """The class that every return statement agrees on; None where there is no such.

    Args:
        node: The function.
        of: The class of an expression.
        nothing: What stands for ``None``, where it returns no value.
    """
    kinds: set[_Class | None] = set()
    valued = False
    work: list[ast.AST] = [*node.body]
    while work:
        inner = work.pop()
        if isinstance(inner, ast.Yield | ast.YieldFrom):
            return None
        if isinstance(inner, ast.Return) and inner.value is not None:
            valued = True
            kinds.add(nothing if _is_none(inner.value) else of(inner.value))
        if not isinstance(inner, _NESTED):
            work.extend(ast.iter_child_nodes(inner))
    if not valued:
        # A body that only raises says nothing about what its overriding functions return.
        return None if isinstance(node.body[-1], ast.Raise) else nothing
    if len(kinds) > 1:
        kinds.discard(nothing)
    return kinds.pop() if len(kinds) == 1 else None


def unwritten_return(node: Function) -> str | None:
    """The name of the class that a function without a return annotation plainly returns."""
    return None if node.returns is not None else plain_return(node, value_type, "None")


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _constant(node: ast.expr) -> str | None:
    """A default as one word: a name, ``None``, ``True``, ``False`` or a non-negative integer."""
    if isinstance(node, ast.Constant):
        word = node.value is None or isinstance(node.value, bool | int)
        return str(node.value) if word and len(str(node.value)) <= 9 else None
    return last_name(node)


def _targets(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, ast.Assign):
        return node.targets
    return [node.target] if isinstance(node, ast.AnnAssign | ast.NamedExpr) else []

"""Stubs of annotated sources: signatures, classes with their attributes, assignments and imports."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst
from libcst.codemod import CodemodContext
from libcst.codemod.visitors import AddImportsVisitor

_UNKNOWN = "Incomplete"
"""The type of an attribute that nobody wrote down, as the typeshed has it."""

_FIELDS = frozenset(
    ("dataclass", "define", "frozen", "mutable", "attrs", "s", "BaseModel", "NamedTuple", "Struct")
)
"""Decorators and bases that make fields of a class's annotated lines."""


def stub(text: str) -> str:
    """The stub of an annotated source.

    What methods assign to their first parameter stands in the class, with its annotation where it has one.
    """
    maker = _Stub()
    module = cst.parse_module(text).visit(maker)
    if maker.unknown:
        context = CodemodContext()
        AddImportsVisitor.add_needed_import(context, "_typeshed", _UNKNOWN)
        module = AddImportsVisitor(context).transform_module(module)
    return module.code


class _Stub(cst.CSTTransformer):
    """Bodies away: what is left of a module is what a checker wants of it."""

    def __init__(self) -> None:
        super().__init__()
        self.unknown = False

    def leave_FunctionDef(  # noqa: N802 - libcst calls it
        self, original_node: cst.FunctionDef, updated_node: cst.FunctionDef
    ) -> cst.FunctionDef:
        dots = cst.SimpleStatementSuite([cst.Expr(cst.Ellipsis())])
        return updated_node.with_changes(body=dots, lines_after_decorators=())

    def leave_ClassDef(  # noqa: N802 - libcst calls it
        self, original_node: cst.ClassDef, updated_node: cst.ClassDef
    ) -> cst.ClassDef:
        attributes = {} if _has_fields(original_node) else _attributes(original_node)
        if not attributes:
            return updated_node
        self.unknown |= None in attributes.values()
        lines = [
            cst.SimpleStatementLine(
                [cst.AnnAssign(cst.Name(name), written or cst.Annotation(cst.Name(_UNKNOWN)))]
            )
            for name, written in attributes.items()
        ]
        body = updated_node.body
        return updated_node.with_changes(body=body.with_changes(body=[*lines, *body.body]))

    def leave_SimpleStatementLine(  # noqa: N802 - libcst calls it
        self, original_node: cst.SimpleStatementLine, updated_node: cst.SimpleStatementLine
    ) -> cst.SimpleStatementLine | cst.RemovalSentinel:
        if all(map(_is_kept, updated_node.body)):
            return updated_node
        return cst.RemoveFromParent() if len(updated_node.body) == 1 else updated_node

    def leave_IndentedBlock(  # noqa: N802 - libcst calls it
        self, original_node: cst.IndentedBlock, updated_node: cst.IndentedBlock
    ) -> cst.IndentedBlock:
        if updated_node.body:
            return updated_node
        return updated_node.with_changes(body=[cst.SimpleStatementLine([cst.Expr(cst.Ellipsis())])])


def _is_kept(node: cst.BaseSmallStatement) -> bool:
    if isinstance(node, cst.AugAssign):
        return isinstance(node.target, cst.Name) and node.target.value == "__all__"
    return isinstance(node, cst.Import | cst.ImportFrom | cst.Assign | cst.AnnAssign | cst.Pass)


def _has_fields(node: cst.ClassDef) -> bool:
    """Whether a line of an attribute would be a field of the class, and a parameter of its constructor."""
    named = [decorator.decorator for decorator in node.decorators] + [base.value for base in node.bases]
    for item in named:
        inner = item.func if isinstance(item, cst.Call) else item
        last = inner.attr if isinstance(inner, cst.Attribute) else inner
        if isinstance(last, cst.Name) and last.value in _FIELDS:
            return True
    return False


def _attributes(node: cst.ClassDef) -> dict[str, cst.Annotation | None]:
    """What the methods of a class assign to their first parameter and the class itself does not define."""
    own, found = set[str](), dict[str, cst.Annotation | None]()
    for line in node.body.body:
        if isinstance(line, cst.FunctionDef | cst.ClassDef):
            own.add(line.name.value)
        elif isinstance(line, cst.SimpleStatementLine):
            for item in line.body:
                targets = [target.target for target in item.targets] if isinstance(item, cst.Assign) else []
                targets += [item.target] if isinstance(item, cst.AnnAssign) else []
                own.update(
                    name.value for target in targets for name in _flat(target) if isinstance(name, cst.Name)
                )
    for line in node.body.body:
        if isinstance(line, cst.FunctionDef):
            parameters = [*line.params.posonly_params, *line.params.params]
            if parameters and not any(_is_static(decorator) for decorator in line.decorators):
                reader = _Assigned(parameters[0].name.value)
                line.body.visit(reader)
                for name, written in reader.found.items():
                    if name not in own:
                        found[name] = found.get(name) or written
    return found


class _Assigned(cst.CSTVisitor):
    """The attributes of a name that a function assigns, with their annotations."""

    def __init__(self, receiver: str) -> None:
        super().__init__()
        self.receiver = receiver
        self.found: dict[str, cst.Annotation | None] = {}

    def visit_FunctionDef(self, node: cst.FunctionDef) -> bool:  # noqa: N802 - libcst calls it
        return False

    def visit_ClassDef(self, node: cst.ClassDef) -> bool:  # noqa: N802 - libcst calls it
        return False

    def visit_AssignTarget(self, node: cst.AssignTarget) -> None:  # noqa: N802 - libcst calls it
        self._take(node.target, None)

    def visit_AnnAssign(self, node: cst.AnnAssign) -> None:  # noqa: N802 - libcst calls it
        self._take(node.target, node.annotation)

    def visit_For(self, node: cst.For) -> None:  # noqa: N802 - libcst calls it
        self._take(node.target, None)

    def visit_AsName(self, node: cst.AsName) -> None:  # noqa: N802 - libcst calls it
        self._take(node.name, None)

    def _take(self, target: cst.BaseExpression, written: cst.Annotation | None) -> None:
        for item in _flat(target):
            if (
                isinstance(item, cst.Attribute)
                and isinstance(item.value, cst.Name)
                and item.value.value == self.receiver
            ):
                self.found[item.attr.value] = self.found.get(item.attr.value) or written


def _flat(target: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    """The single targets of an assignment."""
    if isinstance(target, cst.Tuple | cst.List):
        for element in target.elements:
            yield from _flat(element.value)
    else:
        yield target


def _is_static(decorator: cst.Decorator) -> bool:
    return isinstance(decorator.decorator, cst.Name) and decorator.decorator.value == "staticmethod"

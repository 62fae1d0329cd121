"""Annotations into source: nothing else of the text changes, and nothing that is annotated is touched."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from itertools import count
from typing import NamedTuple, cast

from weft.errors import InputError, MissingExtraError, counted
from weft.kg.annotate.evaluated import Bound
from weft.kg.annotate.infer import says_none
from weft.kg.annotate.oldest import Version, newer_than
from weft.kg.annotate.plan import Candidate, Missing

try:
    import libcst as cst
    from libcst.codemod import CodemodContext
    from libcst.codemod.visitors import AddImportsVisitor
    from libcst.metadata import CodeRange, MetadataWrapper, PositionProvider
except ImportError as error:
    raise MissingExtraError("libcst", "kg") from error

Chosen = Sequence[tuple[Missing, Candidate]]
_FEED = re.compile(r"(?<!\\\n)(?<!\\\r\n)^[ \t\f]*\f(?=[ \t]*[^\s#])", re.MULTILINE)
"""Form feeds before a statement in its line; behind a line that goes on, no comment may stand in their place."""


class _Written(NamedTuple):
    text: str
    quoted: bool


def annotated(text: str, chosen: Chosen, where: str, oldest: Version | None = None) -> str:
    """A source text with annotations.

    Args:
        text: The source.
        chosen: What is missing, and what to write there.
        where: What to call it in errors.
        oldest: The oldest Python that is to run it; the newest where None.

    Raises:
        InputError: It cannot be parsed, or not kept as it is.
    """
    if not chosen:
        return text
    feeds = _Feeds(text)
    try:
        wrapper = MetadataWrapper(
            cst.parse_module(feeds.text), unsafe_skip_copy=True
        )  # no node stands there twice
    except (cst.ParserSyntaxError, RecursionError) as error:
        first = str(error).splitlines()[0]
        raise InputError(f"cannot be rewritten: {first}", where=where) from error
    if wrapper.module.code != feeds.text:
        raise InputError("cannot be rewritten: white space of it would be lost", where=where)
    postponed = any(
        isinstance(line, cst.SimpleStatementLine)
        and any(_is_future_annotations(statement) for statement in line.body)
        for line in wrapper.module.body
    )
    bound = Bound(text)
    places = dict[tuple[int, int], _Written]()
    for item, candidate in chosen:
        said = _or_none(candidate.text) if item.optional else candidate.text
        quoted = bound.needs_quotes(item, candidate) or newer_than(said, oldest)
        places[feeds.place(item.line, item.column)] = _Written(said, not postponed and quoted)
    annotator = _Annotator(places)
    module = wrapper.visit(annotator)
    if annotator.found != places.keys():
        lost = counted(len(places.keys() - annotator.found), "annotation")
        raise InputError(f"cannot be rewritten: no place is found for {lost}", where=where)
    context = CodemodContext()
    for candidate in {candidate for _, candidate in chosen if candidate.module and not candidate.of_tree}:
        AddImportsVisitor.add_needed_import(context, candidate.module, candidate.text)
    own = sorted(
        {
            (candidate.module, candidate.text)
            for _, candidate in chosen
            if candidate.module and candidate.of_tree
        }
    )
    if own:
        AddImportsVisitor.add_needed_import(context, "typing", "TYPE_CHECKING")
    if any(candidate.module for _, candidate in chosen):
        module = _with_imports(module, context)
    return feeds.back(_for_the_checker(module, own).code if own else module.code)


class _Feeds:
    """A source whose form feeds before statements, which libcst would drop, stand as comments of their own."""

    def __init__(self, text: str) -> None:
        self.mark = "# form feed"
        while self.mark in text:
            self.mark += "_"
        self.feeds = [found[0] for found in _FEED.finditer(text)]
        self.lengths = {text.count("\n", 0, at.start()) + 1: len(at[0]) for at in _FEED.finditer(text)}
        numbers = count()
        self.text = _FEED.sub(lambda _: f"{self.mark} {next(numbers)}\n", text)

    def place(self, line: int, column: int) -> tuple[int, int]:
        """Where a line and column of the source stand in the text."""
        above = bisect_right(list(self.lengths), line)
        return line + above, column - self.lengths.get(line, 0)

    def back(self, text: str) -> str:
        """A text with the form feeds of the source."""
        return re.sub(rf"{self.mark} (\d+)\n", lambda found: self.feeds[int(found[1])], text)


def _with_imports(module: cst.Module, context: CodemodContext) -> cst.Module:
    """Add the imports of a context; what stands inside functions and classes has no say, and is not walked."""
    inside = [line.body for line in module.body if isinstance(line, cst.FunctionDef | cst.ClassDef)]
    bare = module.with_changes(
        body=[
            line.with_changes(body=cst.SimpleStatementSuite([cst.Expr(cst.Ellipsis())]))
            if isinstance(line, cst.FunctionDef | cst.ClassDef)
            else line
            for line in module.body
        ]
    )
    bare = AddImportsVisitor(context).transform_module(bare)
    bodies = iter(inside)
    return bare.with_changes(
        body=[
            line.with_changes(body=next(bodies)) if isinstance(line, cst.FunctionDef | cst.ClassDef) else line
            for line in bare.body
        ]
    )


class _Annotator(cst.CSTTransformer):
    METADATA_DEPENDENCIES = (PositionProvider,)

    def __init__(self, places: Mapping[tuple[int, int], _Written]) -> None:
        super().__init__()
        self.places = places
        self.found = set[tuple[int, int]]()

    def _at(self, node: cst.CSTNode) -> _Written | None:
        start = cast(CodeRange, self.get_metadata(PositionProvider, node)).start
        place = start.line, start.column
        if place in self.places:
            self.found.add(place)
        return self.places.get(place)

    def leave_Param(self, original_node: cst.Param, updated_node: cst.Param) -> cst.Param:  # noqa: N802 - libcst calls it
        found = self._at(original_node.name)
        if found is None or original_node.annotation is not None:
            return updated_node
        # With an annotation, what stands around the sign of a default is set apart.
        equal = updated_node.equal
        if isinstance(equal, cst.AssignEqual):
            space = cst.SimpleWhitespace(" ")
            equal = equal.with_changes(whitespace_before=space, whitespace_after=space)
        return updated_node.with_changes(annotation=cst.Annotation(_expression(found)), equal=equal)

    def leave_FunctionDef(  # noqa: N802 - libcst calls it
        self, original_node: cst.FunctionDef, updated_node: cst.FunctionDef
    ) -> cst.FunctionDef:
        found = self._at(original_node.name)
        if found is None or original_node.returns is not None:
            return updated_node
        return updated_node.with_changes(returns=cst.Annotation(_expression(found)))

    def leave_Assign(  # noqa: N802 - libcst calls it
        self, original_node: cst.Assign, updated_node: cst.Assign
    ) -> cst.Assign | cst.AnnAssign:
        if len(original_node.targets) != 1:
            return updated_node
        target = original_node.targets[0].target
        name = target.attr if isinstance(target, cst.Attribute) else target
        found = self._at(name) if isinstance(name, cst.Name) else None
        if found is None:
            return updated_node
        return cst.AnnAssign(
            target=updated_node.targets[0].target,
            annotation=cst.Annotation(_expression(found)),
            value=updated_node.value,
            semicolon=updated_node.semicolon,
        )


def _expression(written: _Written) -> cst.BaseExpression:
    text = written.text
    if written.quoted:
        text = repr(text) if '"' in text else f'"{text}"'
    return cst.parse_expression(text)


def _or_none(text: str) -> str:
    """A type or ``None``; a checker may have written that already."""
    return text if says_none(text) else f"{text} | None"


def _is_future_annotations(statement: cst.BaseSmallStatement) -> bool:
    return (
        isinstance(statement, cst.ImportFrom)
        and isinstance(statement.module, cst.Name)
        and statement.module.value == "__future__"
        and not isinstance(statement.names, cst.ImportStar)
        and any(alias.name.value == "annotations" for alias in statement.names)
    )


def _for_the_checker(module: cst.Module, own: Sequence[tuple[str, str]]) -> cst.Module:
    """Add imports that only a checker runs, after the last import at the top."""
    last = 0
    for number, line in enumerate(module.body):
        if isinstance(line, cst.SimpleStatementLine):
            if any(isinstance(item, cst.Import | cst.ImportFrom) for item in line.body):
                last = number + 1
        elif not isinstance(line, cst.If | cst.Try):
            break
    block = "".join(f"    from {name} import {item}\n" for name, item in own)
    added = cst.parse_statement(f"\nif TYPE_CHECKING:\n{block}", config=module.config_for_parsing)
    return module.with_changes(body=[*module.body[:last], added, *module.body[last:]])

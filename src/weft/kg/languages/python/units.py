"""Python files as units of text: functions, class skeletons and module skeletons.

A unit is cut out of its file as segments of the source, so every character keeps its offset there:

- a *function* is its decorators, its header and its body, nested functions included;
- a *class* is its decorators, its header, its class-level statements and the ``def`` line of each method;
- a *module* is its top-level statements without functions and classes.

Left out of every unit: annotations (they are what ``has_type`` and ``returns`` ask for), the lines of
a docstring after its first, and the indentation that the whole unit shares.
"""

from __future__ import annotations

import ast
import re
import sys
import warnings
from bisect import bisect_right
from collections.abc import Iterator
from typing import Literal

from weft.errors import InputError
from weft.kg.languages.lines import Lines
from weft.kg.languages.unit import Span, Unit, starts_of, to_text

Function = ast.FunctionDef | ast.AsyncFunctionDef
_LONGEST_WORD = 100_000
_LONG_WORD = re.compile(rf"(?<!\w)\w{{{_LONGEST_WORD + 1}}}")

_PARSED = ".".join(map(str, sys.version_info[:2]))
_NOTEBOOK = '"nbformat"'
_DEFINED = re.compile(r"(?:async[\s\\]+)?(?:def|class)[\s\\]+(?P<name>\w+)")


def parameters(node: Function | ast.Lambda) -> list[ast.arg]:
    """All parameters of a function, in order."""
    given = node.args
    every = (*given.posonlyargs, *given.args, given.vararg, *given.kwonlyargs, given.kwarg)
    return [parameter for parameter in every if parameter is not None]


def defaults(node: Function | ast.Lambda) -> Iterator[tuple[ast.arg, ast.expr]]:
    """The parameters of a function that have a default, each with it."""
    positional = [*node.args.posonlyargs, *node.args.args]
    yield from zip(positional[len(positional) - len(node.args.defaults) :], node.args.defaults, strict=True)
    for parameter, default in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True):
        if default is not None:
            yield parameter, default


class SourceFile:
    """One parsed Python file.

    Args:
        text: Its source.
        name: What to call it in messages.
        largest: Most characters.

    Raises:
        InputError: The source is no Python, or too large.
    """

    def __init__(self, text: str, name: str = "<source>", largest: int | None = None) -> None:
        self.text = text
        self.name = name
        if largest is not None and len(text) > largest:
            raise InputError(f"{len(text):,} characters; {largest:,} are read at most", where=name)
        if _LONG_WORD.search(text) is not None:
            raise InputError(f"a word of more than {_LONGEST_WORD:,} characters", where=name)
        if text.startswith("{") and _NOTEBOOK in text:  # its JSON would be parsed as a set of names and texts
            raise InputError(
                "a Jupyter notebook: `jupyter nbconvert --to script` makes Python of it", where=name
            )
        try:
            with warnings.catch_warnings():
                # Old code holds invalid escapes; they say nothing about the facts.
                warnings.simplefilter("ignore")
                self.tree = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            why = str(error) or type(error).__name__
            if isinstance(error, SyntaxError) and error.lineno is not None:
                why = f"{error.msg} in line {error.lineno}"
            raise InputError(f"not Python {_PARSED} that can be parsed: {why}", where=name) from error
        # Not str.splitlines: Python's own lines end at three marks only.
        self._lines = Lines(text).starts
        self._ascii = text.isascii()

    def offset(self, line: int, column: int) -> int:
        """The character offset of a syntax tree's line (from 1) and UTF-8 column."""
        start = self._lines[line - 1]
        if self._ascii:
            return start + column
        end = self._lines[line] if line < len(self._lines) else len(self.text)
        return start + len(self.text[start:end].encode()[:column].decode(errors="ignore"))

    def span(self, node: ast.AST) -> Span:
        """The character span of a node."""
        line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
        end_line, end_column = getattr(node, "end_lineno", line), getattr(node, "end_col_offset", column)
        return self.offset(line, column), self.offset(end_line, end_column)

    def name_of(self, node: ast.AST) -> Span:
        """Where the name of a definition stands, behind ``def``, ``async def`` or ``class``."""
        start = self.span(node)[0]
        found = _DEFINED.match(self.text, start)
        return found.span("name") if found else (start, start)

    def units(self) -> Iterator[Unit]:
        """All units of the file, outer before inner, the module first."""
        module = self._module()
        if module is not None:
            yield module
        yield from self._inside(self.tree, "")

    def _inside(self, parent: ast.AST, prefix: str) -> Iterator[Unit]:
        for node in ast.iter_child_nodes(parent):
            if isinstance(node, Function):
                yield self._function(node, prefix + node.name)
            elif isinstance(node, ast.ClassDef):
                yield self._class(node, prefix + node.name)
                yield from self._inside(node, prefix + node.name + ".")
            elif isinstance(node, ast.If | ast.Try | ast.With | ast.ExceptHandler):
                yield from self._inside(node, prefix)

    def _function(self, node: Function, name: str) -> Unit:
        cuts = [cut for inner in ast.walk(node) if isinstance(inner, Function) for cut in self._hidden(inner)]
        cuts += [self._annotation(inner) for inner in ast.walk(node) if isinstance(inner, ast.AnnAssign)]
        return self._cut("function", name, node, [self._whole(node)], cuts)

    def _class(self, node: ast.ClassDef, name: str) -> Unit:
        keep: list[Span] = []
        cuts = [self._annotation(child) for child in node.body if isinstance(child, ast.AnnAssign)]
        cuts += self._docstring(node)
        position = self._whole(node)[0]
        for child in node.body:
            if isinstance(child, Function):
                keep.append((position, self._body_start(child)))
                cuts += self._hidden(child)
                position = self._line_end(self.span(child)[1])
            elif isinstance(child, ast.ClassDef):
                keep.append((position, self._line_start(self._whole(child)[0])))
                position = self._line_end(self.span(child)[1])
        keep.append((position, max(position, self.span(node)[1])))
        return self._cut("class", name, node, keep, cuts)

    def _module(self) -> Unit | None:
        keep, cuts = [], self._docstring(self.tree)
        for child in self.tree.body:
            if not isinstance(child, Function | ast.ClassDef):
                start, end = self.span(child)
                keep.append((self._line_start(start), self._line_end(end)))
            if isinstance(child, ast.AnnAssign):
                cuts.append(self._annotation(child))
        merged: list[Span] = []
        for start, end in keep:
            if merged and start < merged[-1][1]:
                merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
            else:
                merged.append((start, end))
        return self._cut("module", "", self.tree, merged, cuts) if merged else None

    def _whole(self, node: Function | ast.ClassDef) -> Span:
        """A function or class with its decorators, the ``@`` included."""
        start, end = self.span(node)
        if node.decorator_list:
            start = self.text.rfind("@", 0, self.span(node.decorator_list[0])[0])
        return start, end

    def _hidden(self, node: Function) -> list[Span]:
        """Annotations of a function's header, and its docstring after the first line."""
        arguments = node.args
        spans = self._docstring(node)
        every = [
            *arguments.posonlyargs,
            *arguments.args,
            *arguments.kwonlyargs,
            arguments.vararg,
            arguments.kwarg,
        ]
        for argument in every:
            if argument is not None and argument.annotation is not None:
                start = self.span(argument)[0] + len(argument.arg)
                spans.append((start, self._closed(self.span(argument.annotation)[1], self.span(argument)[1])))
        if node.returns is not None:
            end = self.span(node.returns)[1]
            arrow = self.text.rfind("->", 0, self.span(node.returns)[0])
            while self.text[arrow - 1] in " \t":
                arrow -= 1
            spans.append((arrow, self._closed(end, self._body_start(node) - 1)))
        return spans

    def _closed(self, end: int, limit: int) -> int:
        """Extend a span over the brackets that close around an annotation."""
        while end < limit and self.text[end] in " )":
            end += 1
        return end

    def _annotation(self, node: ast.AnnAssign) -> Span:
        return self.span(node.target)[1], self.span(node.annotation)[1]

    def _docstring(self, node: ast.AST) -> list[Span]:
        """Span of a docstring's lines after the first with words."""
        body = getattr(node, "body", [])
        if not body or not isinstance(body[0], ast.Expr) or not isinstance(body[0].value, ast.Constant):
            return []
        if not isinstance(body[0].value.value, str):
            return []
        start, end = self.span(body[0].value)
        quote = 3 if self.text[end - 3 : end] in ('"""', "'''") else 1
        words = start
        while words < end and not self.text[words].isalnum():
            words += 1
        line = self.text.find("\n", words, end - quote)
        return [] if line < 0 else [(line, end - quote)]

    def _body_start(self, node: Function) -> int:
        """Where the header ends: the start of the first statement's line, or of the statement on the header's."""
        first = self.span(node.body[0])[0]
        decorators = getattr(node.body[0], "decorator_list", [])
        if decorators:
            first = self.span(decorators[0])[0] - 1
        line = self._line_start(first)
        return line if line > self.span(node)[0] else first

    def _line_start(self, offset: int) -> int:
        return self.text.rfind("\n", 0, offset) + 1

    def _line_end(self, offset: int) -> int:
        end = self.text.find("\n", offset)
        return len(self.text) if end < 0 else end + 1

    def _cut(
        self,
        kind: Literal["function", "class", "module"],
        name: str,
        node: ast.AST,
        keep: list[Span],
        cuts: list[Span],
    ) -> Unit:
        column = 0 if kind == "module" else int(getattr(node, "col_offset", 0))
        segments = []
        for start, end in _subtract(keep, cuts):
            segments += self._dedent(start, end, column)
        segments = [segment for segment in segments if segment[0] < segment[1]]
        text = "".join(self.text[start:end] for start, end in segments)
        starts = starts_of(segments)
        name_span = (0, 0)
        if not isinstance(node, ast.Module):
            begin, end = self.name_of(node)
            name_span = (
                to_text(segments, starts, self.span(node)[0]),
                to_text(segments, starts, begin) + end - begin,
            )
        breaks = set()
        for inner in ast.walk(node):
            if isinstance(inner, ast.stmt) and inner is not node:
                offset = self.span(inner)[0]
                if any(
                    start <= offset < end
                    for start, end in segments[bisect_right(segments, (offset, len(self.text))) - 1 :][:1]
                ):
                    breaks.add(to_text(segments, starts, offset))
        return Unit(kind, name, text, tuple(segments), node, name_span, tuple(sorted(breaks)))

    def _dedent(self, start: int, end: int, column: int) -> list[Span]:
        """Split a span so that up to ``column`` spaces at the start of each line fall away."""
        if column == 0:
            return [(start, end)]
        spans, position = [], start
        while position < end:
            stop = min(self._line_end(position), end)
            if position == self._line_start(position):
                margin = position
                while margin < min(position + column, stop) and self.text[margin] in " \t":
                    margin += 1
                position = margin
            spans.append((position, stop))
            position = stop
        return spans


def _subtract(keep: list[Span], cuts: list[Span]) -> list[Span]:
    """The parts of sorted spans that no cut covers."""
    result = []
    ordered = sorted(cuts)
    for start, end in keep:
        for cut_start, cut_end in ordered:
            if cut_end <= start or cut_start >= end:
                continue
            result.append((start, cut_start))
            start = max(start, cut_end)
        result.append((start, end))
    return [span for span in result if span[0] < span[1]]

"""A source tree of Python: its modules by name, and the stated facts of each file."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from pathlib import PurePosixPath
from typing import cast

from weft.errors import InputError
from weft.kg.languages.language import ParsedFile
from weft.kg.languages.python.resolve import Module, Modules
from weft.kg.languages.python.returns import returned
from weft.kg.languages.python.scopes import Scope, module_scope
from weft.kg.languages.python.stated import stated_facts
from weft.kg.languages.python.types.attributes import open_attributes
from weft.kg.languages.python.types.clues import TreeClues
from weft.kg.languages.python.types.instances import Instances
from weft.kg.languages.python.units import Function, SourceFile
from weft.kg.languages.unit import End, Open, Stated

_NO_PACKAGE = frozenset(("src", "lib"))
"""Folders that hold packages and are none."""


class PythonTree:
    """The modules of a source tree, known to each other.

    Args:
        paths: Its files, below their folder.
        above: Names of the packages that the folder itself lies in, outermost first; its own among them.
    """

    def __init__(self, paths: Iterable[str], above: tuple[str, ...] = ()) -> None:
        self.names = module_names(list(paths), above)
        self.modules = Modules()
        self._clues = TreeClues(self.modules)
        self._instances = Instances(self.modules)
        # Several things are asked of one file in turn: its scopes are made once.
        self._last: tuple[SourceFile, Module] | None = None
        self._short: tuple[int, dict[str, list[str]]] = 0, {}

    def add(self, path: str, file: ParsedFile) -> None:
        """Learn the names of a file, that others may ask for.

        Raises:
            InputError: It is nested too deep to be walked.
        """
        tree = cast(SourceFile, file).tree
        try:
            module = self.modules.add(tree, *self.names[path])
            self._instances.learn(module, tree)
        except RecursionError as error:
            raise InputError("nested too deep", where=path) from error
        # What other modules ask for are names and bases: the rest of the syntax tree would fill the memory.
        _prune(module.scope)

    def learn(self, path: str, file: ParsedFile) -> None:
        """Learn what a file tells of types; after all files were added.

        Raises:
            InputError: It is nested too deep to be walked.
        """
        try:
            source = cast(SourceFile, file)
            self._clues.learn(self._module(path, source), source.tree)
        except RecursionError as error:
            raise InputError("nested too deep", where=path) from error

    def facts(self, path: str, file: ParsedFile) -> list[Stated]:
        """The facts of a file that was added.

        Raises:
            InputError: It is nested too deep to be walked.
        """
        try:
            source = cast(SourceFile, file)
            return stated_facts(source, self._module(path, source), self.modules, self._instances)
        except RecursionError as error:
            raise InputError("nested too deep", where=path) from error

    def open_questions(self, path: str, file: ParsedFile) -> list[Open]:
        """Parameters and functions whose types nothing states, in the order of the text.

        Raises:
            InputError: It is nested too deep to be walked.
        """
        source = cast(SourceFile, file)
        try:
            found = _open(source, source.tree, self._module(path, source).scope, self.modules)
        except RecursionError as error:
            raise InputError("nested too deep", where=path) from error
        return sorted(map(self._with_clues, found), key=lambda item: item.start)

    def open_attributes(self, path: str, file: ParsedFile) -> list[Open]:
        """Attributes whose types nothing states and the code makes plain, in the order of the text."""
        source = cast(SourceFile, file)
        found = open_attributes(source, source.tree, self._module(path, source).scope, self.modules)
        return sorted(found, key=lambda item: item.start)

    def _with_clues(self, item: Open) -> Open:
        used, fitting = self._clues.members(item.head.name) if item.relation == "has_type" else ((), ())
        clues = tuple(self._clues.of(item.head.name, item.relation))
        return item._replace(clues=clues, used=used, fitting=fitting)

    def type_named(self, path: str, name: str, within: str = "") -> End:
        """What a type's name stands for in a file; a class of a module that alone has the name, else unresolved.

        Args:
            path: The file.
            name: The name.
            within: The class in whose body it stands; none where it is empty or not known.
        """
        scope = self.modules.classes.get(within, self.modules.by_name[self.names[path][0]].scope)
        found = self.modules.name(name, scope)
        if found.kind != "unresolved":
            return End(*found)
        same = self._named().get(name, ())
        # A class within a class or a function cannot be imported by its name.
        same = [item for item in same if item.rpartition(".")[0] in self.modules.by_name]
        return End(same[0], "class") if len(same) == 1 else End(name, "unresolved")

    def _named(self) -> dict[str, list[str]]:
        """The classes of the tree by the last part of their names."""
        if self._short[0] != len(self.modules.classes):
            short: dict[str, list[str]] = {}
            for item in self.modules.classes:
                short.setdefault(item.rpartition(".")[2], []).append(item)
            self._short = len(self.modules.classes), short
        return self._short[1]

    def _module(self, path: str, file: SourceFile) -> Module:
        if self._last is None or self._last[0] is not file:
            name, package = self.names[path]
            self._last = file, Module(name, package, module_scope(file.tree, name, package))
        return self._last[1]


def module_names(paths: list[str], above: tuple[str, ...] = ()) -> dict[str, tuple[str, str]]:
    """The qualified name of each file's module, and the package that its relative imports start from.

    A package is a folder with ``__init__.py``; what lies in none is named by its way through the folders. Two
    files that would have one name are named by their folders too.

    Args:
        paths: Files below one folder.
        above: Packages that the folder lies in.
    """
    folders = {str(PurePosixPath(path).parent) for path in paths if PurePosixPath(path).name == "__init__.py"}
    named: dict[str, list[str]] = {}
    for path in paths:
        place = PurePosixPath(path)
        parts = [*place.parts[:-1]]
        if not (above and "." in folders):
            kept = len(parts)
            while kept and str(PurePosixPath(*parts[:kept])) in folders:
                kept -= 1
            # Inside a package its own folders count; outside, all but those that only hold packages.
            parts = parts[kept:] if kept < len(parts) else [part for part in parts if part not in _NO_PACKAGE]
        else:
            parts = [*above, *parts]
        stem = place.name.removesuffix(".py")
        named[path] = parts if stem == "__init__" and parts else [*parts, stem]
    counts: dict[str, int] = {}
    for parts in named.values():
        counts[".".join(parts)] = counts.get(".".join(parts), 0) + 1
    result = {}
    for path, parts in named.items():
        name = ".".join(parts)
        if counts[name] > 1:
            parts = [*above, *PurePosixPath(path).parts[:-1]]
            stem = PurePosixPath(path).name.removesuffix(".py")
            parts = parts if stem == "__init__" and parts else [*parts, stem]
            name = ".".join(parts)
        is_package = PurePosixPath(path).name == "__init__.py"
        result[path] = name, name if is_package else ".".join(parts[:-1])
    return result


def _prune(scope: Scope) -> None:
    node = scope.node
    bases = node.bases if isinstance(node, ast.ClassDef) else []
    scope.node = (
        ast.ClassDef(name="", bases=bases, keywords=[], body=[], decorator_list=[])
        if isinstance(node, ast.ClassDef)
        else ast.Pass()
    )
    if scope.before is not None:
        scope.before.node = ast.Pass()
    for binding in scope.names.values():
        binding.nodes, binding.values, binding.annotations = [], [], []
    for inner in scope.inner.values():
        _prune(inner)


def _open(file: SourceFile, node: ast.AST, scope: Scope, modules: Modules) -> list[Open]:
    """The open questions of the functions below a node."""
    found: list[Open] = []
    for child in ast.iter_child_nodes(node):
        inner = scope.inner.get(id(child), scope)
        if isinstance(child, Function):
            found += _of_function(file, child, inner, modules)
        found += _open(file, child, inner, modules)
    return found


def _of_function(file: SourceFile, node: Function, inner: Scope, modules: Modules) -> list[Open]:
    found: list[Open] = []
    if node.returns is None:
        start, stop = file.name_of(node)
        within_class = inner.parent is not None and inner.parent.kind == "class"
        end = End(inner.name, "method" if within_class else "function")
        kind, optional = returned(inner, modules)
        meant = "" if kind is None else kind.name
        short = meant.rpartition(".")[2]
        found.append(Open(end, "returns", node.name, start, stop, short, optional, meant=meant))
    for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs):
        if argument.annotation is None and argument.arg != inner.receiver:
            start = file.span(argument)[0]
            end = End(f"{inner.name}.{argument.arg}", "parameter")
            found.append(Open(end, "has_type", argument.arg, start, start + len(argument.arg)))
    return found

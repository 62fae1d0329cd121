"""Python: units by :mod:`ast`, facts by the syntax tree, types of the standard library by the typeshed."""

from __future__ import annotations

import io
import tokenize
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePath
from typing import cast

from weft.errors import InputError
from weft.kg.languages.language import Language, ParsedFile
from weft.kg.languages.python.facts import facts
from weft.kg.languages.python.schema import PYTHON
from weft.kg.languages.python.stubs import Typeshed
from weft.kg.languages.python.tree import PythonTree
from weft.kg.languages.python.types.clues import KINDS
from weft.kg.languages.python.types.impossible import Impossible
from weft.kg.languages.python.types.signs import SIGNS, names_at_top, signs
from weft.kg.languages.python.units import SourceFile
from weft.kg.languages.unit import Fact, Open, Unit


class Python(Language):
    """Python 3."""

    name = "python"
    suffixes = (".py",)
    schema = PYTHON
    foreign = frozenset(("__pycache__", "site-packages", "node_modules"))
    tests = frozenset(("test", "tests", "testing", "idle_test", *foreign))
    clues = KINDS
    signs = SIGNS
    reading = 2
    silent = {"has_parameter": (("head", "returns"), ("tail", "has_type"))}  # noqa: RUF012 - never changed

    def parse(self, text: str, where: str) -> SourceFile:
        """Parse a source text.

        Raises:
            InputError: It is no Python, or too large to be read.
        """
        return SourceFile(text, where, self.largest)

    def facts(self, file: ParsedFile, unit: Unit) -> list[Fact]:
        """What the syntax tree of a unit states."""
        return facts(cast(SourceFile, file), unit)

    def decode(self, data: bytes, where: str) -> str:
        """Source text by its declared encoding.

        Raises:
            InputError: Bytes that are no text in that encoding.
        """
        try:
            return data.decode(self.encoding(data))
        except (SyntaxError, UnicodeError, LookupError) as error:
            raise InputError(f"not text in its declared encoding: {error}", where=where) from error

    def encoding(self, data: bytes) -> str:
        """The encoding that a file declares; raises ``SyntaxError`` where it declares none that exists."""
        return tokenize.detect_encoding(io.BytesIO(data).readline)[0]

    def stubs(self) -> Typeshed:
        """The typeshed that ``mypy`` carries.

        Raises:
            MissingExtraError: ``mypy`` is not installed.
        """
        return Typeshed()

    def tree(self, place: Path, paths: Iterable[str]) -> PythonTree:
        """A source tree; a folder that is a package itself knows the packages above it."""
        inside = place.resolve() / "__init__.py"
        above = [folder.name for folder in self.packages(inside)]
        return PythonTree(paths, tuple(reversed(above)))

    def packages(self, path: Path) -> Iterator[Path]:
        """The folders above a file that have ``__init__.py``."""
        folder = path.parent
        while (folder / "__init__.py").is_file() and folder.name:
            yield folder
            folder = folder.parent

    def known(self, file: ParsedFile) -> frozenset[str]:
        """Classes and imported names of a module."""
        return names_at_top(cast(SourceFile, file).tree)

    def signs_of(self, asked: Open, name: str, known: frozenset[str]) -> tuple[float, ...]:
        """What the members of a type and the names of the file say of it."""
        return signs(asked, name, known)

    def impossible(self, file: ParsedFile) -> Impossible:
        """What the code of a file rules out."""
        return Impossible(cast(SourceFile, file))

    def module(self, path: PurePath) -> str:
        """The dotted name of a file; a package's own is that of its folder."""
        parts = path.with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    def is_test(self, path: PurePath) -> bool:
        """Whether a data set leaves a file out, by its path below its tree."""
        return super().is_test(path) or path.name.startswith("test_")


LANGUAGE = Python()

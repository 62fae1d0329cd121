"""What weft has to know of a programming language: its files, its units, its facts, its relations."""

from __future__ import annotations

import codecs
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path, PurePath
from typing import ClassVar, Literal, Protocol

from weft.errors import InputError
from weft.kg.dataset.tokens import CodeTokenizer
from weft.kg.languages.unit import End, Fact, Open, Stated, Unit
from weft.kg.schema import Schema


class ParsedFile(Protocol):
    """One file, parsed."""

    def units(self) -> Iterator[Unit]:
        """The pieces of the file, outer before inner."""
        ...


class Stubs(Protocol):
    """What is known of a language's libraries beside their source."""

    def facts(self, file: ParsedFile, unit: Unit, module: str) -> list[Fact]:
        """Facts of a unit that its text does not state."""
        ...


class SourceTree(Protocol):
    """The files of a source tree, known to each other; all are added before anything is asked."""

    def add(self, path: str, file: ParsedFile) -> None:
        """Learn what a file defines.

        Raises:
            InputError: It cannot be walked.
        """
        ...

    def learn(self, path: str, file: ParsedFile) -> None:
        """Learn what a file tells of types that nothing states; after all files were added.

        Raises:
            InputError: It cannot be walked.
        """
        ...

    def facts(self, path: str, file: ParsedFile) -> list[Stated]:
        """What a file states, between entities of the tree.

        Raises:
            InputError: It cannot be walked.
        """
        ...

    def open_questions(self, path: str, file: ParsedFile) -> list[Open]:
        """What has a type in a file that nothing states, with the clues of what was learnt.

        Raises:
            InputError: It cannot be walked.
        """
        ...

    def open_attributes(self, path: str, file: ParsedFile) -> list[Open]:
        """Attributes whose type nothing states, and the code makes plain."""
        ...

    def type_named(self, path: str, name: str, within: str = "") -> End:
        """What the name of a type stands for in a file, in the body of a class where one is named."""
        ...


class Language(ABC):
    """A programming language.

    Attributes:
        name: As ``--language`` takes it.
        suffixes: Of its files.
        schema: The relations between names of its sources.
        foreign: Folders of a source tree that hold other people's code.
        tests: Folders that a data set leaves out.
        silent: Relation that a unit states to the questions that may be asked of its head or its tail although
            nothing is stated: a parameter has a type, written or not.
        largest: Most characters of a file.
        clues: Kinds of clues that a tree gives to what nothing states.
        signs: Names of what :meth:`signs_of` gives.
        reading: Counts up where a tree states other facts of the same sources: stores are read anew.
    """

    name: ClassVar[str]
    suffixes: ClassVar[tuple[str, ...]]
    schema: ClassVar[Schema]
    foreign: ClassVar[frozenset[str]] = frozenset()
    tests: ClassVar[frozenset[str]] = frozenset()
    silent: ClassVar[Mapping[str, tuple[tuple[Literal["head", "tail"], str], ...]]] = {}
    largest: ClassVar[int] = 1_000_000
    clues: ClassVar[tuple[str, ...]] = ()
    signs: ClassVar[tuple[str, ...]] = ()
    reading: ClassVar[int] = 0

    @abstractmethod
    def parse(self, text: str, where: str) -> ParsedFile:
        """Parse a source text.

        Raises:
            InputError: It is no source of this language, or too large to be read.
        """

    @abstractmethod
    def facts(self, file: ParsedFile, unit: Unit) -> list[Fact]:
        """What the syntax of a unit states, each fact once, in the order of the text."""

    def decode(self, data: bytes, where: str) -> str:
        """The text of a file, line ends as they are.

        Raises:
            InputError: Bytes that are no text.
        """
        try:
            return data.decode(self.encoding(data))
        except UnicodeDecodeError as error:
            raise InputError(f"not UTF-8: {error}", where=where) from error

    def encoding(self, data: bytes) -> str:
        """The encoding that a file is read in, and written in again."""
        return "utf-8-sig" if data.startswith(codecs.BOM_UTF8) else "utf-8"

    def stubs(self) -> Stubs | None:
        """What is known of its libraries; None where nothing is.

        Raises:
            MissingExtraError: What knows it is not installed.
        """
        return None

    def tree(self, place: Path, paths: Iterable[str]) -> SourceTree | None:
        """A source tree in which names can be followed from file to file; None where that is not known.

        Args:
            place: Its folder.
            paths: Its files, below the folder.
        """
        return None

    def packages(self, path: Path) -> Iterator[Path]:
        """The folders of the packages that a file stands in, the innermost first."""
        return iter(())

    def known(self, file: ParsedFile) -> frozenset[str]:
        """The names that a file defines or imports, which a type may have."""
        return frozenset()

    def signs_of(self, asked: Open, name: str, known: frozenset[str]) -> tuple[float, ...]:
        """What speaks for or against a type beside the clues, as numbers.

        Args:
            asked: The question.
            name: The type.
            known: Of the file, from :meth:`known`.
        """
        return ()

    def impossible(self, file: ParsedFile) -> Callable[[Open, str], bool]:
        """Tells whether the code of a file rules a type out, as the answer to a question about the file."""
        return lambda asked, name: False

    def learn_vocabulary(self, texts: Iterable[str], size: int) -> CodeTokenizer:
        """Learn a vocabulary from texts."""
        return CodeTokenizer.train(texts, size)

    def module(self, path: PurePath) -> str:
        """The dotted name of a file, from its path below its tree."""
        return ".".join(path.with_suffix("").parts)

    def is_test(self, path: PurePath) -> bool:
        """Whether a data set leaves a file out, by its path below its tree."""
        return not self.tests.isdisjoint(path.with_suffix("").parts)

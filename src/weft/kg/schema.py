"""Relations: their names, directions and definitions."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from weft.errors import ConfigError, InputError

NONE = "none"


@dataclass(frozen=True)
class Relation:
    """One relation, read from head to tail.

    Args:
        name: Its name, such as ``"raises"``.
        definition: One line that says when it holds.
    """

    name: str
    definition: str


@dataclass(frozen=True)
class Schema:
    """The relations of a data set; ids start at 1, because 0 is "none".

    Args:
        relations: In the order of their ids.
    """

    relations: tuple[Relation, ...]

    def __post_init__(self) -> None:
        names = [relation.name for relation in self.relations]
        if not names:
            raise ConfigError("a schema without relations")
        repeated = sorted({name for name in names if names.count(name) > 1})
        if repeated or NONE in names:
            raise ConfigError(f"relation names must be unique and none of them {NONE!r}: {repeated or NONE}")

    @property
    def size(self) -> int:
        """Number of relation ids, "none" included."""
        return len(self.relations) + 1

    @property
    def names(self) -> tuple[str, ...]:
        """Relation names by id."""
        return (NONE, *(relation.name for relation in self.relations))

    def id_of(self, name: str) -> int:
        """The id of a relation.

        Raises:
            InputError: The schema has no such relation.
        """
        try:
            return self.names.index(name, 1)
        except ValueError:
            raise InputError(
                f"no relation {name!r} in the schema", hint=f"one of {', '.join(self.names[1:])}"
            ) from None

    def definitions(self) -> Mapping[str, str]:
        """Name to definition."""
        return {relation.name: relation.definition for relation in self.relations}

    def save(self, path: Path) -> None:
        """Write as JSON."""
        path.write_text(json.dumps(self.definitions(), indent=1) + "\n", encoding="utf-8")

    @staticmethod
    def load(path: Path) -> Schema:
        """Read what :meth:`save` wrote.

        Raises:
            InputError: The file is no JSON object of strings.
        """
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise InputError(f"no schema can be read: {error}", where=str(path)) from error
        if not isinstance(data, dict):
            raise InputError("a schema is a JSON object of relation names and definitions", where=str(path))
        return Schema(_relations((str(name), str(text)) for name, text in data.items()))


def _relations(pairs: Iterable[tuple[str, str]]) -> tuple[Relation, ...]:
    return tuple(Relation(name, text) for name, text in pairs)


PYTHON = Schema(
    _relations(
        [
            ("calls", "the head function calls the tail by its plain name, or as a method of self or cls"),
            ("receives_call", "the tail is a method that is called on the head"),
            ("has_parameter", "the tail is a parameter of the head function, self and cls aside"),
            ("reads_attribute", "the attribute tail of the head is read"),
            ("sets_attribute", "the attribute tail of the head is assigned or deleted"),
            ("has_method", "the head class defines the method tail"),
            ("result_of", "the variable head holds what a call of the tail returned"),
            ("has_default", "the default of the parameter head is the name or constant tail"),
            (
                "returns",
                "the type that the head function returns: annotated, else plain from its return statements",
            ),
            ("instance_of", "the variable head holds a literal or a new object of type tail"),
            ("raises", "the head function raises the exception tail in a raise statement"),
            ("inherits_from", "the tail is a base class of the head class"),
            ("has_class_attribute", "the body of the head class assigns the name tail"),
            ("handles", "an except clause in the head function names the exception tail"),
            ("element_of", "the loop variable head runs over the tail"),
            ("decorated_by", "the tail decorates the head function or class"),
            ("imports", "the tail is imported from the module head"),
            ("has_type", "the annotated type of the parameter or variable head"),
        ]
    )
)
"""The relations of Python source. All but ``returns`` and ``has_type`` are plain in the syntax tree."""

"""Relations: their names, directions, definitions and the types that they join."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from weft.errors import ConfigError, InputError
from weft.platform.files import write_json
from weft.platform.reading import SETTINGS_BYTES, read_json, read_yaml

NONE = "none"
_KEYS = ("definition", "direction", "head", "tail", "also", "inverse", "tails")
_ONE_WAY, _BOTH_WAYS = "one way", "both ways"
_MANY, _ONE = "many", "one"


@dataclass(frozen=True)
class Relation:
    """One relation, read from head to tail.

    Args:
        name: Its name, such as ``"raises"``.
        definition: One line that says when it holds.
        both_ways: Whether (head, relation, tail) also states (tail, relation, head), as ``"sibling"`` does.
        head_types: Types that a head may have; any where empty.
        tail_types: Types that a tail may have; any where empty.
        also: Other names that a seed or a corpus gives it: a Wikidata number, an IRI.
        inverse: The relation that then holds from tail to head; ``""`` where there is none.
        one_tail: Whether a head has one tail at most, as a person has one place of birth.
    """

    name: str
    definition: str
    both_ways: bool = False
    head_types: tuple[str, ...] = ()
    tail_types: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    inverse: str = ""
    one_tail: bool = False

    def allows(self, head_type: str | None, tail_type: str | None) -> bool:
        """Whether the types fit; a type that is not known (None) always does."""
        return _fits(head_type, self.head_types) and _fits(tail_type, self.tail_types)

    def record(self) -> str | dict[str, Any]:
        """As in a schema file: the definition alone where there is nothing else to say."""
        values = {
            "definition": self.definition,
            "direction": _BOTH_WAYS if self.both_ways else None,
            "head": list(self.head_types),
            "tail": list(self.tail_types),
            "also": list(self.also),
            "inverse": self.inverse,
            "tails": _ONE if self.one_tail else None,
        }
        said = {key: value for key, value in values.items() if value}
        return self.definition if said.keys() <= {"definition"} else said


@dataclass(frozen=True)
class Schema:
    """The relations of a data set; ids start at 1, because 0 is "none".

    Args:
        relations: In the order of their ids.

    Raises:
        ConfigError: No relations, more than 255, two of one name, or an inverse that does not fit.
    """

    relations: tuple[Relation, ...]

    def __post_init__(self) -> None:
        names = [relation.name for relation in self.relations]
        if not all(name.strip() for name in names):
            raise ConfigError("a relation without a name", hint="name it, or take it out")
        if not names:
            raise ConfigError("a schema without relations")
        if len(names) > 255:
            raise ConfigError(f"a schema of {len(names)} relations; it may have 255")
        repeated = sorted({name for name in names if names.count(name) > 1})
        for relation in self.relations:
            if relation.inverse and relation.inverse not in names:
                raise ConfigError(
                    f"the inverse of {relation.name!r} is {relation.inverse!r}, which is no relation"
                )
            if relation.both_ways and relation.inverse not in ("", relation.name):
                raise ConfigError(
                    f"{relation.name!r} holds both ways, and has the inverse {relation.inverse!r}",
                    hint="what holds both ways is its own inverse: say one of the two",
                )
        if repeated or NONE in names:
            raise ConfigError(f"relation names must be unique and none of them {NONE!r}: {repeated or NONE}")
        of: dict[str, str] = {}
        for relation in self.relations:
            for other in relation.also:
                if of.setdefault(other, relation.name) != relation.name:
                    raise ConfigError(
                        f"{of[other]!r} and {relation.name!r} are both also called {other!r}",
                        hint="leave it with the one that a seed means by it",
                    )

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
            near = difflib.get_close_matches(name.replace(" ", "_"), self.names[1:], 1)
            hint = f"did you mean {near[0]}?" if near else f"one of {', '.join(self.names[1:])}"
            raise InputError(f"no relation {name!r} in the schema", hint=hint) from None

    def inverses(self) -> dict[int, int]:
        """The id of a relation to that of its inverse: of those that have one, and of those that hold both ways."""
        turned = {item.name: item.name if item.both_ways else item.inverse for item in self.relations}
        return {self.id_of(name): self.id_of(other) for name, other in turned.items() if other}

    def ids(self) -> dict[str, int]:
        """Every name of every relation to its id; a relation's own name before another's further name."""
        further = {other: number for number, item in enumerate(self.relations, 1) for other in item.also}
        return {**further, **{item.name: number for number, item in enumerate(self.relations, 1)}}

    def types(self) -> frozenset[str]:
        """Every type that a relation names."""
        return frozenset(kind for item in self.relations for kind in (*item.head_types, *item.tail_types))

    def definitions(self) -> Mapping[str, str]:
        """Name to definition."""
        return {relation.name: relation.definition for relation in self.relations}

    def save(self, path: Path) -> None:
        """Write as JSON."""
        records = {relation.name: relation.record() for relation in self.relations}
        write_json(path, records)

    @staticmethod
    def load(path: Path) -> Schema:
        """Read a schema file, JSON or YAML: an object of relation names.

        The value of a name is its definition, or an object of ``definition``, ``direction`` (``one way``,
        ``both ways``), ``head`` and ``tail`` (types), ``also`` (other names), ``inverse`` (a relation), ``tails``
        (``many``, or ``one`` where a head has no second tail).

        Raises:
            InputError: The file cannot be read, or says what no schema says.
            ConfigError: Its relations do not go together.
        """
        json = path.suffix == ".json"
        data = read_json(path, SETTINGS_BYTES, unique=True) if json else read_yaml(path, SETTINGS_BYTES)
        if not isinstance(data, dict):
            raise InputError("a schema is a JSON object of relation names and definitions", where=str(path))
        relations = tuple(_relation(name, value, str(path)) for name, value in data.items())
        try:
            return Schema(relations)
        except ConfigError as error:
            raise ConfigError(error.what, where=str(path), hint=error.hint) from None


def _fits(given: str | None, allowed: tuple[str, ...]) -> bool:
    return given is None or not allowed or given in allowed


def _relation(name: Any, value: Any, where: str) -> Relation:
    if not isinstance(name, str):
        raise InputError(
            f"the relation name {name!r} is no text",
            where=where,
            hint='YAML reads words such as no, yes and 1 as values: write them in quotation marks, as "no"',
        )
    if isinstance(value, str):
        return Relation(name, value)
    if not isinstance(value, dict):
        raise InputError(f"relation {name!r} is neither a definition nor an object", where=where)
    unknown = sorted(str(key) for key in value.keys() - set(_KEYS))
    if unknown:
        raise InputError(
            f"relation {name!r} has no key {unknown[0]!r}", where=where, hint=f"one of {', '.join(_KEYS)}"
        )
    both_ways = _choice(value, "direction", (_ONE_WAY, _BOTH_WAYS), name, where) == _BOTH_WAYS
    one_tail = _choice(value, "tails", (_MANY, _ONE), name, where) == _ONE
    heads, tails, also = (
        _strings(value.get(key, ()), f"{key!r} of relation {name!r}", where)
        for key in ("head", "tail", "also")
    )
    inverse = value.get("inverse", "")
    if not isinstance(inverse, str):
        raise InputError(f"the inverse of relation {name!r} is no string", where=where)
    definition = value.get("definition", "")
    if not isinstance(definition, str):
        raise InputError(
            f"the definition of relation {name!r} is {definition!r}, no text",
            where=where,
            hint="write one line, or leave the key out",
        )
    return Relation(name, definition, both_ways, heads, tails, also, inverse, one_tail)


def _choice(value: Mapping[str, Any], key: str, choices: tuple[str, str], name: str, where: str) -> str:
    """One of two words; the first where it is not said."""
    found = value.get(key, choices[0])
    if found not in choices:
        raise InputError(
            f"{key} {found!r} of relation {name!r}",
            where=where,
            hint=f"{choices[0]!r} or {choices[1]!r}",
        )
    return found


def _strings(value: Any, what: str, where: str) -> tuple[str, ...]:
    values: Sequence[Any] = [value] if isinstance(value, str) else value
    if not isinstance(values, list | tuple) or not all(isinstance(item, str) for item in values):
        raise InputError(f"{what} is no string and no list of strings", where=where)
    return tuple(values)

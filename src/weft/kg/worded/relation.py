"""What a user asks for: a name, and a definition with the words *head* and *tail*."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from weft.errors import ConfigError
from weft.kg.schema import Relation, Schema

_END = re.compile(r"\b(head|tail)\b")
_FILES = (".yaml", ".yml", ".json")
_FORM = '"subsidiary of: the tail is the parent company of the head"'


def asked_relations(said: Sequence[str], schema: Schema) -> tuple[Relation, ...]:
    """The relations that a user asks for by words.

    Args:
        said: Each ``NAME: DEFINITION``, or a schema file (YAML, JSON) whose relations are all asked for; a file can say
            which types heads and tails have.
        schema: Of the model, whose own relations need no words.

    Raises:
        ConfigError: No colon, no name, no definition, one that does not say which end is which, a name that the schema
            has or that is said twice, or a type that the schema does not know.
        InputError: A file is no schema.
    """
    found: list[Relation] = []
    for text in said:
        if text.lower().endswith(_FILES):
            found += Schema.load(Path(text)).relations
        else:
            found.append(_relation(text))
    known, kinds = schema.ids(), schema.types()
    for place, relation in enumerate(found):
        name = relation.name
        if name in known or name.replace(" ", "_") in known:
            raise ConfigError(
                f"the relation {name!r} is one that the model has learnt",
                hint="it is extracted without being asked for; give a relation of other words another name",
            )
        if any(name == other.name for other in found[:place]):
            raise ConfigError(f"the relation {name!r} is asked for twice")
        if set(_END.findall(relation.definition)) != {"head", "tail"}:
            raise ConfigError(
                f"the definition of {name!r} does not say which end is which: it needs the words head and tail",
                hint=f"such as {_FORM}",
            )
        strange = sorted({*relation.head_types, *relation.tail_types} - kinds)
        if strange and kinds:
            raise ConfigError(
                f"the relation {name!r} has the type {strange[0]!r}, which the model does not find",
                hint=f"one of {', '.join(sorted(kinds))}",
            )
    return tuple(found)


def _relation(text: str) -> Relation:
    name, colon, definition = (part.strip() for part in text.partition(":"))
    if not colon or not name or not definition:
        lacks = "no colon" if not colon else "no name" if not name else "no definition"
        raise ConfigError(
            f"{text!r} is no relation by words: {lacks}", hint=f"NAME: DEFINITION, such as {_FORM}"
        )
    return Relation(" ".join(name.split()), " ".join(definition.split()))


def turned(definition: str) -> str:
    """The definition of the same relation read from tail to head."""
    return _END.sub(lambda end: "tail" if end[1] == "head" else "head", definition)

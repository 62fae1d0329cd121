"""`weft bench kg-merges`: what names of a tree stand for, against a resolver of other authors (jedi)."""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from weft.bench.kg.stated import sources
from weft.bench.kg.unseen import MEASURED, package
from weft.bench.table import Row
from weft.errors import MissingExtraError
from weft.kg.languages.python import LANGUAGE

try:
    import jedi
except ImportError as error:
    raise MissingExtraError("jedi", "dev") from error

_ENTITIES = 200
_PLACES = 3
"""Most places of an entity that are asked about."""
_KINDS = frozenset(("class", "function", "method", "attribute", "variable", "parameter"))
_LAST = re.compile(r"(\w+)\s*$")


class Verdict(NamedTuple):
    """What jedi says of one place.

    Args:
        package: Its package.
        entity: What the tree says that the name there stands for.
        place: File, line and column.
        others: What jedi says; empty where it knows nothing.
    """

    package: str
    entity: str
    place: tuple[str, int, int]
    others: tuple[str, ...]

    @property
    def agrees(self) -> bool | None:
        """Whether jedi means the same; None where it says nothing."""
        return None if not self.others else any(_same(self.entity, other) for other in self.others)


def rows(quick: bool = False) -> Iterator[Row]:
    """The share of entities to which a place of something else was given; ``quick`` asks about 20."""
    found = verdicts(MEASURED, 20 if quick else _ENTITIES)
    judged = {(item.package, item.entity) for item in found if item.agrees is not None}
    wrong = {(item.package, item.entity) for item in found if item.agrees is False}
    known = sum(item.agrees is not None for item in found)
    variant = f"{len(judged)} entities, {known} of {len(found)} places that jedi follows"
    share = len(wrong) / max(len(judged), 1)
    yield Row("kg: entities merged wrongly", variant, "–", "share", share, 1.0, "lower", 0.01)


def verdicts(packages: tuple[str, ...], entities: int) -> list[Verdict]:
    """Ask jedi about places of entities that are drawn by a hash of their names.

    Args:
        packages: Where they are drawn from.
        entities: How many.
    """
    places: dict[tuple[str, str], list[tuple[str, int, int]]] = defaultdict(list)
    texts: dict[tuple[str, str], str] = {}
    for name in packages:
        folder = package(name)
        of_package = dict(sources(folder))
        files = {path: LANGUAGE.parse(text, path) for path, text in of_package.items()}
        tree = LANGUAGE.tree(folder, of_package)
        for path, file in files.items():
            tree.add(path, file)
        for path, file in files.items():
            text = texts[name, path] = of_package[path]
            for fact in tree.facts(path, file):
                last = _LAST.search(text[fact.start : fact.end])
                if fact.tail.kind in _KINDS and last is not None and fact.tail.name.endswith(f".{last[1]}"):
                    offset = fact.start + last.start()
                    before = text.rfind("\n", 0, offset) + 1
                    place = path, text.count("\n", 0, offset) + 1, offset - before
                    if place not in places[name, fact.tail.name]:
                        places[name, fact.tail.name].append(place)
    several = [key for key, found in places.items() if len(found) > 1]
    several.sort(key=lambda key: hashlib.sha1("/".join(key).encode()).digest())
    result = []
    for name, entity in several[:entities]:
        folder = package(name)
        project = jedi.Project(folder, added_sys_path=[str(folder)], smart_sys_path=False)
        chosen = sorted(places[name, entity], key=lambda item: hashlib.sha1(repr(item).encode()).digest())
        for place in chosen[:_PLACES]:
            script = jedi.Script(texts[name, place[0]], path=str(folder / place[0]), project=project)
            result.append(Verdict(name, entity, place, tuple(_asked(script, folder, *place[1:]))))
    return result


def _asked(script: Any, folder: Path, line: int, column: int) -> Iterator[str]:
    """The qualified names that jedi gives for a place."""
    for found in script.goto(line, column, follow_imports=True):
        if found.full_name and found.module_path and Path(found.module_path).is_relative_to(folder):
            yield found.full_name


def _same(entity: str, other: str) -> bool:
    """Whether two qualified names are one.

    jedi names an attribute by the method that assigns it, and the member of an enumeration by its class.
    """
    if other in (entity, entity.rpartition(".")[0]):
        return True
    mine, theirs = entity.split("."), other.split(".")
    return len(theirs) == len(mine) + 1 and mine[:-1] == theirs[:-2] and mine[-1] == theirs[-1]

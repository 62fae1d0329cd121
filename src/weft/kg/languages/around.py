"""The source tree that a single file stands in: what the files beside it tell of its types."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from weft.errors import InputError
from weft.kg.languages.language import Language, SourceTree
from weft.platform.reading import SOURCE_BYTES, read_bytes

_MOST = 400
"""Files that are read for the sake of one."""


class Around(NamedTuple):
    """A file in its tree.

    Args:
        tree: With every file learnt.
        below: The file's path in it.
        folder: The tree's folder.
        files: How many files it has.
    """

    tree: SourceTree
    below: str
    folder: Path
    files: int


def around(path: Path, spoken: Language, most: int = _MOST) -> Around | None:
    """The largest package that a file stands in, of at most so many files; the file alone where there is none.

    Files of it that cannot be read tell nothing; None where the language follows no names from file to file.

    Args:
        path: A file.
        spoken: Its language.
        most: Files that are read for its sake.
    """
    folder, paths = path.parent, [path]
    for package in spoken.packages(path):
        within = _sources(package, spoken, most)
        if within is None:
            break
        folder, paths = package, sorted({path, *within})
    names = {item.relative_to(folder).as_posix(): item for item in paths}
    tree = spoken.tree(folder, names)
    if tree is None:
        return None
    for learn in (tree.add, tree.learn):
        for below, item in names.items():
            try:
                text = spoken.decode(read_bytes(item, SOURCE_BYTES), str(item))
                learn(below, spoken.parse(text, str(item)))
            except InputError:
                continue
    return Around(tree, path.relative_to(folder).as_posix(), folder, len(names))


def _sources(folder: Path, spoken: Language, most: int) -> list[Path] | None:
    """The source files of a folder, in order; None where there are more than that."""
    found: list[Path] = []
    for path in folder.rglob("*"):
        hidden = any(
            part.startswith(".") or part in spoken.foreign for part in path.relative_to(folder).parts
        )
        if not hidden and path.name.endswith(spoken.suffixes) and path.is_file():
            found.append(path)
            if len(found) > most:
                return None
    return sorted(found)

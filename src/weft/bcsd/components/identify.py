"""Identify the libraries in a program: a search of all its functions, explained by the libraries of an index."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from weft.bcsd.components.banner import banners, said_of
from weft.bcsd.components.explain import Library, claims, doubts, explain, on_versions
from weft.bcsd.index.description import read_description
from weft.bcsd.index.rows import ORIGIN
from weft.bcsd.index.store import FunctionStore
from weft.bcsd.read.members import content_of
from weft.bcsd.use.embed_files import Embedding
from weft.bcsd.use.extract_files import hash_file
from weft.bcsd.use.search.answers import SMALL, Answer
from weft.bcsd.use.search.files import look_up
from weft.errors import StoreError
from weft.platform.ranges import at_least

#: Hits of each function: as many versions of a library can be told apart.
HITS = 20
_BUILD = (
    "`weft bcsd index build PACKAGE… --index DIR` makes an index that does; `index add` puts in files alone"
)


@dataclass(frozen=True)
class Function:
    """A function of the program."""

    name: str
    address: int
    size: int


@dataclass(frozen=True)
class Identified:
    """What a program consists of.

    Args:
        path: The program.
        sha256: Of it.
        model: Version of the model.
        functions: Those that are large enough to be asked for, by address.
        libraries: Found, the surest first; their ``functions`` are places in that list.
        unexplained: Places of the functions that no library explains.
        known: Libraries and versions of the index.
        remarks: What a reader should know.
    """

    path: str
    sha256: str
    model: str
    functions: tuple[Function, ...]
    libraries: tuple[Library, ...]
    unexplained: tuple[int, ...]
    known: int
    remarks: tuple[str, ...] = ()


def identify(
    path: str | Path, index: str | Path, options: Embedding | None = None, min_blocks: int = SMALL
) -> Identified:
    """Find the libraries that a program was linked from.

    Args:
        path: The program: an executable, a shared library, an object.
        index: An index that names libraries, as ``weft bcsd index build`` makes them.
        options: How to embed; the model must be the one that made the index.
        min_blocks: Smaller functions say too little and are not asked for.

    Returns:
        The libraries, the surest first, each with its versions and functions, and what none of them explains.

    Raises:
        ConfigError: ``min_blocks`` is below 1.
        InputError: The file cannot be used, or has no function of that size; or there is no such index.
        LimitError: It took too long or too much memory.
        CheckpointError: The model cannot be loaded.
        StoreError: The folder is no index, names no libraries, was made with another model, or is damaged.
    """
    at_least(1, min_blocks=min_blocks)
    path, index = str(path), Path(index)
    counts = library_sizes(index)
    if not counts:
        raise StoreError("it says of no function which library it is of", where=str(index), hint=_BUILD)
    found = look_up(path, None, index, options or Embedding(), HITS, min_blocks)
    answers = list(found.answers)
    sizes: Counter[tuple[str, str]] = Counter()
    for (library, version, _), count in counts.items():
        sizes[library, version] += count
    libraries = with_banners(explain(claims(answers), sizes), answers, path)
    explained = {place for library in libraries for place in library.functions}
    return Identified(
        path,
        hash_file(path),
        found.model,
        tuple(_function(answer) for answer in answers),
        tuple(libraries),
        tuple(place for place in range(len(answers)) if place not in explained),
        len(sizes),
        (*found.remarks, *doubts(answers, libraries), *on_versions(libraries)),
    )


def with_banners(libraries: Sequence[Library], answers: Sequence[Answer], path: str) -> list[Library]:
    """The libraries with what the file itself says of their versions.

    Args:
        libraries: In the file.
        answers: Of the search.
        path: The file.

    Raises:
        InputError: The file cannot be read.
    """
    found = banners(content_of(path)) if libraries else []
    return [
        replace(
            library, said=said_of(library.name, {answers[n].hits[0].name for n in library.functions}, found)
        )
        for library in libraries
    ]


def library_sizes(index: Path) -> dict[tuple[str, str, str], int]:
    """How many functions each library, version and package has in an index.

    Raises:
        InputError: There is no such folder.
        StoreError: The folder is no index, names no libraries, or is damaged.
    """
    read_description(index)
    table = FunctionStore.open(index).libraries()
    counted = table.group_by(list(ORIGIN)).aggregate([([], "count_all")])
    rows = counted.select([*ORIGIN, "count_all"]).to_pylist()
    return {
        (row["library"], row["version"], row["package"]): row["count_all"]
        for row in rows
        if row["library"] is not None
    }


def knows_libraries(index: Path) -> bool:
    """Whether an index says of any function which library it is of; a StoreError where it is damaged."""
    store = FunctionStore.open(index)
    return store.names_libraries and store.libraries()["library"].null_count < len(store)


def _function(answer: Answer) -> Function:
    return Function(answer.name, answer.address, answer.size)

"""An index of static libraries from Debian packages: fetch, unpack, embed, commit package by package."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from weft.bcsd.index.description import PACKAGES
from weft.bcsd.index.store import FunctionStore
from weft.bcsd.index.update import in_step, writing
from weft.bcsd.libraries.apt import Apt, parse_request
from weft.bcsd.libraries.debian import Package, read_package, unpack_libraries
from weft.bcsd.use.embed_files import Embedding, embed_each
from weft.bcsd.use.extract_files import code_members
from weft.errors import StoreError, WeftError
from weft.platform.files import make_folder, write_json
from weft.platform.reading import read_object

_SCRIPT = b"/* GNU ld script"


class Built(NamedTuple):
    """What became of one package.

    Args:
        asked: As it was asked for.
        status: ``added``, ``unchanged``, ``empty`` (it holds no static library) or ``failed``.
        package: What it says of itself; None where it could not be read.
        members: Objects of its libraries that hold code.
        functions: That are in the index now.
        failures: Members that could not be read, which are left out; of a package that failed, why.
    """

    asked: str
    status: str
    package: Package | None
    members: int = 0
    functions: int = 0
    failures: tuple[WeftError, ...] = ()


Progress = Callable[[Built], None]


@dataclass(frozen=True)
class Sources:
    """Where packages come from.

    Args:
        work: A folder for what is downloaded and unpacked.
        apt: A ``sources.list`` instead of the system's; None for the system's.
        fetch: Gets packages by name; made from the two others where None.
    """

    work: Path
    apt: Path | None = None
    fetch: Apt | None = None


@dataclass
class _Waiting:
    """A package that is being worked on; ``again`` are further ways in which it was asked for."""

    asked: str
    package: Package
    members: list[str]
    rows: list[pa.Table]
    failures: list[WeftError]
    left: int
    again: list[str]


def build(
    packages: Sequence[str],
    index: Path,
    sources: Sources,
    options: Embedding,
    progress: Progress = lambda built: None,
) -> list[Built]:
    """Put the static libraries of Debian packages into an index, which is made where there is none.

    Where every package fails, none is left behind. A package is committed whole. One that is in the index is passed
    over, so a stopped run goes on when it is started again.

    Args:
        packages: Names as apt takes them (``NAME``, ``NAME:ARCHITECTURE``, ``NAME=VERSION``), or .deb files. Names
            are downloaded; files need no network.
        index: The index.
        sources: Where packages come from.
        options: How to embed; the model of an index that exists must be the same.
        progress: Called with each package, when it is committed.

    Returns:
        One entry for each package as it was asked for, in the order in which they were done. One that was asked for
        in two ways is put in once.

    Raises:
        InputError: A name that is none, no apt here, or no lists of packages.
        CheckpointError: The model cannot be loaded.
        StoreError: The index cannot be used, or another process writes to it.
        OutputError: The index or the work folder cannot be written, as where the disk is full.
    """
    asked = list(dict.fromkeys(packages))
    named = [text for text in asked if not text.endswith(".deb")]
    requests = [parse_request(text) for text in named]
    unpacked = make_folder(sources.work / "libraries").resolve()
    built: list[Built] = []

    def tell(one: Built) -> None:
        built.append(one)
        progress(one)

    with writing(index, options, create=lambda: any(one.status != "failed" for one in built)) as store:
        if not store.names_libraries:
            what = "made before an index knew libraries"
            raise StoreError(what, where=str(index), hint="name a new folder")
        done = _still_held(_recorded(index), store)
        files: list[tuple[str, Path]] = [(text, Path(text)) for text in asked if text.endswith(".deb")]
        fetcher = sources.fetch or (Apt(sources.work, sources.apt) if requests else None)
        for request, found in fetcher.fetch(requests) if fetcher is not None and requests else ():
            if isinstance(found, Path):
                files.append((request.text, found))
            else:
                tell(Built(request.text, "failed", None, failures=(found,)))
        waiting: dict[str, _Waiting] = {}
        for text, path in files:
            ready = _unpack(text, path, unpacked, done)
            if isinstance(ready, Built):
                tell(ready)
            elif waiting.setdefault(ready.package.key, ready) is not ready:
                waiting[ready.package.key].again.append(text)
        for one in _embed(list(waiting.values()), store, in_step(index, options)):
            if one.package is not None and one.status == "added":
                done[one.package.key] = {
                    **asdict(one.package),
                    "members": one.members,
                    "functions": one.functions,
                }
                write_json(index / PACKAGES, {"schema": 1, "packages": done})
            tell(one)
    return built


def _recorded(index: Path) -> dict[str, Any]:
    """The packages that are in an index."""
    place = index / PACKAGES
    return dict(read_object(place).get("packages", {})) if place.exists() else {}


def _still_held(done: dict[str, Any], store: FunctionStore) -> dict[str, Any]:
    """Those of which the index still has functions, where it had any: ``index rm`` may have taken them out."""
    if not done:
        return done
    table = store.libraries()
    held = set(zip(*(table[name].to_pylist() for name in ("library", "version", "package")), strict=True))
    return {
        key: known
        for key, known in done.items()
        if not known["functions"] or (known["library"], known["version"], known["name"]) in held
    }


def _unpack(text: str, path: Path, folder: Path, done: dict[str, Any]) -> Built | _Waiting:
    """A package's objects, unpacked; or what became of it without."""
    try:
        package = read_package(path)
        if package.key in done:
            known = done[package.key]
            return Built(text, "unchanged", package, known["members"], known["functions"])
        place = folder / package.key
        # Unpacked whole or not at all: a run that goes on need not do it again.
        libraries = sorted(place.rglob("*.a")) if place.is_dir() else unpack_libraries(path, place)
        members = [member for library in libraries for member in _objects(library)]
    except WeftError as error:
        return Built(text, "failed", None, failures=(error,))
    if not members:
        return Built(text, "empty", package)
    return _Waiting(text, package, members, [], [], len(members), [])


def _objects(library: Path) -> list[str]:
    """A library's objects. An archive without any, as glibc's ``libpthread.a``, and a script for ld have none."""
    found = code_members(str(library))
    if found is not None:
        return found
    with library.open("rb") as file:
        return [] if file.read(len(_SCRIPT)) == _SCRIPT else [str(library)]


def _embed(waiting: Sequence[_Waiting], store: FunctionStore, options: Embedding) -> Iterator[Built]:
    """Embed the objects of all packages by the same processes; commit each package when its last one is done."""
    known = store.files()
    owners = [owner for owner in waiting for _ in owner.members]
    paths = [member for owner in waiting for member in owner.members]
    with tempfile.TemporaryDirectory(prefix="weft-index-") as scratch:
        for owner, (report, rows) in zip(owners, embed_each(paths, options, Path(scratch)), strict=True):
            owner.left -= 1
            if report.error is not None:
                owner.failures.append(report.error)
            elif rows is not None and rows.num_rows:
                owner.rows.append(rows)
            if not owner.left:
                one = _commit(owner, store, [member for member in owner.members if member in known])
                yield one
                status = "unchanged" if one.status == "added" else one.status
                yield from (one._replace(asked=text, status=status) for text in owner.again)


def _commit(owner: _Waiting, store: FunctionStore, again: Sequence[str]) -> Built:
    functions = sum(rows.num_rows for rows in owner.rows)
    package = owner.package
    if functions:
        table = pa.concat_tables(owner.rows)
        for column, value in (
            ("library", package.library),
            ("version", package.version),
            ("package", package.name),
        ):
            table = table.append_column(column, pa.array([value] * functions, pa.string()))
        # Where a run was killed between the commit and its record, its rows are there already.
        store.replace(table, again)
        owner.rows.clear()
    failed = len(owner.failures) == len(owner.members)
    return Built(
        owner.asked,
        "failed" if failed else "added",
        package,
        len(owner.members),
        functions,
        tuple(owner.failures),
    )

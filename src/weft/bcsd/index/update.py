"""Keeping an index in step with files: only files whose content or whose debug file changed are worked on."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from weft.bcsd.disassemble.choose import extractor_version
from weft.bcsd.index.description import (
    FILE_NAME,
    INDEX_SCHEMA,
    Description,
    read_description,
    strangers,
    write_description,
)
from weft.bcsd.index.fresh import taken_back
from weft.bcsd.index.into import Change, Progress, embed_into, silent
from weft.bcsd.index.lock import writer_lock
from weft.bcsd.index.rows import IndexedFile
from weft.bcsd.index.store import FunctionStore
from weft.bcsd.lift.choose import lifter_named
from weft.bcsd.read.members import lacks, split_member
from weft.bcsd.read.names import place_of, spelled
from weft.bcsd.represent.calls import CALLS_VERSION
from weft.bcsd.represent.inlined import INLINED_VERSION
from weft.bcsd.use.embed_files import Embedding, embedder_of
from weft.bcsd.use.extract_files import (
    code_members,
    find_binaries,
    is_gone,
    listed,
    sort_out,
    with_members,
)
from weft.bcsd.use.remarks import NOT_LIFTED, OTHER_EXTRACTOR, OTHER_VERSION
from weft.errors import InputError, StoreError
from weft.platform.files import make_folder

_MEMBER = re.compile(r"\((?!\d+\)).+\)$")


def add(
    paths: Iterable[str | Path], folder: str | Path, options: Embedding, progress: Progress = silent
) -> list[Change]:
    """Put files into an index, which is made where there is none, unless every file fails.

    A file that is in it with the same content and debug file is left alone, so a stopped run goes on when it is started
    again.

    Args:
        paths: Files and folders.
        folder: The index.
        options: How to embed; the model of an index that exists must be the same.
        progress: Called with each file, when it is committed.

    Returns:
        One change for each file, after one for each folder that holds no binary.

    Raises:
        InputError: A path that cannot be worked on at all.
        CheckpointError: The model cannot be loaded.
        StoreError: The index cannot be used, or another process writes to it.
        OutputError: The disk is full, or the place may not be written to.
    """
    folder = Path(folder)
    files, empty = sort_out(paths)
    changes = [Change(os.path.abspath(path), "failed", 0, error) for path, error in empty.items()]
    with writing(folder, options, create=lambda: _any_read(changes)) as store:
        for change in changes:
            progress(change)
        places = [os.path.abspath(path) for path in files]
        changes += embed_into(store, places, in_step(folder, options), progress)
    return changes


def update(
    paths: Iterable[str | Path], folder: str | Path, options: Embedding, progress: Progress = silent
) -> list[Change]:
    """Bring an index in step with the disk: files that changed are worked on anew, files that are gone go.

    A file or folder that cannot be read is reported as failed, and what the index holds of it stays.

    Args:
        paths: Files and folders; of a folder, also the files that are new in it. None: every file of the index, and
            what is new in the archives that they are members of.
        folder: The index.
        options: See :func:`add`.
        progress: Called with each file, when it is committed.

    Returns:
        One change for each file.

    Raises:
        InputError: A path that neither exists nor is in the index.
        CheckpointError: The model cannot be loaded.
        StoreError: As for :func:`add`.
        OutputError: As for :func:`add`.
    """
    folder, paths = Path(folder), listed(paths)
    with writing(folder, options) as store:
        known = store.files()
        watched = _below(known, paths) if paths else list(known)
        gone = [path for path in watched if is_gone(_place(path)) or lacks(_place(path))]
        left = set(gone)
        found = [_place(path) for path in watched if path not in left]
        if not paths:
            found += _members_beside(watched)
        for path in paths:
            if os.path.isdir(path):
                found += [os.path.abspath(inside) for inside in _binaries_of(path)]
            elif not is_gone(path):
                found += with_members(os.path.abspath(path))
            elif not _below(known, [path]):
                raise InputError("no such file, neither on the disk nor in the index", where=path)
        return _take_out(store, [known[path] for path in gone], progress) + embed_into(
            store, list(dict.fromkeys(found)), in_step(folder, options), progress
        )


def remove(paths: Iterable[str | Path], folder: str | Path, progress: Progress = silent) -> list[Change]:
    """Take files, and all files below folders, out of an index; they need not exist any more.

    Raises:
        InputError: The index holds none of a path.
        StoreError: As for :func:`add`.
        OutputError: As for :func:`add`.
    """
    folder, paths = Path(folder), listed(paths)
    read_description(folder)
    with writer_lock(folder):
        store = FunctionStore.open(folder)
        known = store.files()
        for path in paths:
            if not _below(known, [path]):
                raise InputError(
                    "not in the index", where=path, hint=f"{len(known)} files are: see `index ls`"
                )
        changes = _take_out(store, [known[path] for path in _below(known, paths)], progress)
        store.tidy()
        return changes


def contents(folder: str | Path, paths: Iterable[str | Path] = ()) -> list[IndexedFile]:
    """The files of an index, or those at and below some paths.

    Raises:
        InputError: There is no such folder.
        StoreError: It is no index, or a damaged one.
    """
    folder, paths = Path(folder), listed(paths)
    read_description(folder)
    known = FunctionStore.open(folder).files()
    return [known[path] for path in (_below(known, paths) if paths else known)]


@contextmanager
def writing(
    folder: Path, options: Embedding, create: Callable[[], bool] | None = None
) -> Iterator[FunctionStore]:
    """The store, locked, of the model that the options name; tidied afterwards.

    Args:
        folder: The index.
        options: How to embed.
        create: Makes it where there is none. Asked at the end: where it says False and the new index has no row,
            the place is left as it was. None: there must be one.

    Raises:
        StoreError: It cannot be used, or another process writes to it.
        OutputError: The disk is full, or the place may not be written to.
    """
    if create is None:
        read_description(folder)
    embedder = embedder_of(options.model, options.precision)
    there = os.path.lexists(folder)
    if create is not None:
        make_place(folder)
    with writer_lock(folder), taken_back(folder, create or (lambda: True), there=there):
        if not (folder / FILE_NAME).exists():
            described = Description(
                INDEX_SCHEMA,
                options.model,
                embedder.version,
                embedder.dimension,
                options.disassembler,
                lifter_named(options.lifter),
                INLINED_VERSION,
                CALLS_VERSION,
                extractor_version(options.disassembler),
            )
            write_description(folder, described)
        check_model(folder, embedder.version)
        # A table that is gone from an index that must be there is a loss, not a new one.
        store = (
            FunctionStore.open(folder)
            if create is None
            else FunctionStore.open_or_create(folder, embedder.dimension, embedder.version)
        )
        store.know_debug_files()
        yield store
        store.tidy()


def _any_read(changes: Sequence[Change]) -> bool:
    return any(change.error is None for change in changes)


def in_step(folder: Path, options: Embedding) -> Embedding:
    """The options with an index's lifter, callees and calls; without any where those are not the ones at hand.

    Raises:
        InputError: There is no such folder.
        StoreError: It is no index, or a damaged one.
    """
    description = read_description(folder)
    if description.lifter != lifter_named(options.lifter):
        options = replace(options, lifter="none")
    same = description.inlined == INLINED_VERSION, description.calls == CALLS_VERSION
    return replace(options, callees=options.callees and same[0], calls=options.calls and same[1])


def not_compared(folder: Path, asked: Embedding) -> list[str]:
    """Remarks on what a search does not compare, or not alike: an index has it not, or of another version.

    It is what :func:`in_step` leaves out, and functions that another version of the native disassembler found.

    Raises:
        InputError: There is no such folder.
        StoreError: It is no index, or a damaged one.
    """
    description, used = read_description(folder), in_step(folder, asked)
    lifted = asked.lifter == "none" or lifter_named(used.lifter)
    versions = (
        ("what callees add", asked.callees and not used.callees, description.inlined, INLINED_VERSION),
        ("which functions call which", asked.calls and not used.calls, description.calls, CALLS_VERSION),
    )
    others = [(what, f"{made} for {now}") for what, left_out, made, now in versions if left_out]
    remarks = [] if lifted else [NOT_LIFTED]
    if others:
        what, found = (" and ".join(part) for part in zip(*others, strict=True))
        remarks.append(OTHER_VERSION.format(what, found))
    made, now = description.extractor, extractor_version(asked.disassembler)
    if made and now and made != now:
        remarks.append(OTHER_EXTRACTOR.format(made, now))
    return remarks


def check_model(folder: Path, version: str) -> Description:
    """The description of an index, whose rows must be of this version of the model.

    Raises:
        InputError: There is no such folder.
        StoreError: It is no index, a damaged one, or one that was made with another model.
    """
    description = read_description(folder)
    if description.model_version != version:
        raise StoreError(
            f"made with version {description.model_version} of model {description.model!r}, this is {version}",
            where=str(folder),
            hint="give the model that it was made with, or make the index anew",
        )
    return description


def make_place(folder: Path) -> None:
    """The folder of an index; a StoreError where something else is in it."""
    if folder.is_dir() and not (folder / FILE_NAME).exists() and strangers(folder):
        raise StoreError("not an index, and not empty", where=str(folder), hint="name a new folder")
    make_folder(folder)


def _take_out(store: FunctionStore, files: Sequence[IndexedFile], progress: Progress) -> list[Change]:
    store.remove(file.binary for file in files)
    changes = [Change(file.binary, "removed", file.functions) for file in files]
    for change in changes:
        progress(change)
    return changes


def _below(known: dict[str, IndexedFile], paths: Sequence[str]) -> list[str]:
    """The files of the index at or below some paths; below an archive are its members."""
    places = {spelled(os.path.abspath(path)) for path in paths}
    begins = tuple(place.rstrip(os.sep) + os.sep for place in places)
    # A file that is itself in the index has no members there, and a folder none at all.
    archives = tuple(
        f"{place}(" for place in places if place not in known and not os.path.isdir(_place(place))
    )
    return [
        name
        for name in known
        if name in places or name.startswith(begins) or (name.startswith(archives) and _is_member(name))
    ]


def _is_member(name: str) -> bool:
    """Whether a name is spelt as a member's; "tool(1)" is not, nor is a file of that name that is there."""
    return _MEMBER.search(name) is not None and not os.path.lexists(_place(name))


def _members_beside(names: Sequence[str]) -> list[str]:
    """The binaries in the archives of which files of the index are, or were, members."""
    split = (split_member(_place(name)) for name in names)
    archives = dict.fromkeys(place for place, member in split if member is not None)
    return [member for archive in archives for member in code_members(archive) or ()]


def _place(name: str) -> str:
    """Where a file of the index lies; its name may be an escaped one."""
    there = place_of(name)
    return there if is_gone(name) and not is_gone(there) else name


def _binaries_of(folder: str) -> list[str]:
    try:
        return find_binaries([folder])
    except InputError:
        return []  # all of them are gone

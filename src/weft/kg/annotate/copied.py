"""A tree copied for a checker: what is written into the copy stays in it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from pathlib import Path

_LEFT_OUT = frozenset((".git", "__pycache__"))


def copied(place: Path, copy: Path, written: Iterable[tuple[Path, str]]) -> None:
    """Copy a tree, or a file into a folder.

    Links stay links, so that one which leads round in a circle is not followed; but what is to be written into is a
    file of the copy's own. Pipes, devices and what may not be read are left out.

    Args:
        place: The tree or the file.
        copy: The folder; it must not be there.
        written: The files that will be written into, with their paths below the tree.
    """
    if not place.is_dir():
        copy.mkdir()
        shutil.copyfile(place, copy / place.name)
        return
    shutil.copytree(place, copy, symlinks=True, ignore=_left_out, copy_function=_copy)
    for path, below in written:
        if (copy / below).is_symlink():
            (copy / below).unlink()
            shutil.copyfile(path, copy / below)


def _copy(source: str, target: str) -> None:
    # Without its mode: what may not be written in the tree is written in the copy.
    shutil.copyfile(source, target, follow_symlinks=False)


def _left_out(folder: str, names: list[str]) -> set[str]:
    return {name for name in names if name in _LEFT_OUT or not _is_copied(os.path.join(folder, name))}


def _is_copied(path: str) -> bool:
    if os.path.islink(path):
        return True
    if os.path.isdir(path):
        return os.access(path, os.R_OK | os.X_OK)
    return os.path.isfile(path) and os.access(path, os.R_OK)

"""`weft bench kg-checked`: new errors of a checker in packages that were annotated with it."""

from __future__ import annotations

import hashlib
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from weft.bench.kg.annotate import package_sources
from weft.bench.kg.unseen import MEASURED, package, stripped
from weft.bench.table import Row
from weft.kg.annotate.check import checked
from weft.kg.annotate.infer import pyright
from weft.kg.annotate.tree import find_missing
from weft.kg.annotate.write import annotated
from weft.platform.files import make_folder, write_text
from weft.platform.models import shipped_models

_FILES = 25
_LEAST = 0.8


class Verdict(NamedTuple):
    """What a checker says of a package before and after.

    Args:
        files: Its files that were annotated.
        missing: Annotations that they lacked.
        written: Of these.
        before: Errors without them.
        after: Errors with them.
        new: Errors that were not there before, by file and message.
    """

    files: int
    missing: int
    written: int
    before: int
    after: int
    new: int


def rows(quick: bool = False) -> Iterator[Row]:
    """A row for each package, of the files that are drawn, without their annotations; ``quick`` takes two packages."""
    for name in MEASURED[:2] if quick else MEASURED:
        found = verdict(name, 5 if quick else _FILES)
        variant = (
            f"{name}, {found.files} files, {found.written} of {found.missing} written, errors {found.before} before, "
            f"{found.after} after"
        )
        yield Row("kg: new errors of pyright", variant, "fp32", "errors", found.new, 1.0, "lower", 0.0)


def verdict(name: str, files: int) -> Verdict:
    """Annotate a package with pyright's say, and let pyright judge anew.

    Args:
        name: The package; its annotations are taken away first.
        files: Most files, drawn by a hash of their names; the others are not there.
    """
    texts = dict(package_sources(package(name)))
    drawn = sorted(texts, key=lambda path: hashlib.sha1(path.encode()).digest())[:files]
    with tempfile.TemporaryDirectory(prefix="weft-bench-") as folder:
        copy = Path(folder) / name
        for path in sorted(drawn):
            make_folder((copy / path).parent)
            write_text(copy / path, stripped(texts[path]))
        before = Counter((item.file, item.message) for item in pyright(copy))
        found = find_missing(copy, shipped_models("kg")["kg-python-small"])
        checked(found, copy, "pyright", _LEAST)
        for file in found.files:
            write_text(file.path, annotated(file.text, file.chosen(_LEAST), file.below))
        after = Counter((item.file, item.message) for item in pyright(copy))
    return Verdict(
        len(found.files),
        sum(len(file.missing) for file in found.files),
        sum(len(file.chosen(_LEAST)) for file in found.files),
        before.total(),
        after.total(),
        (after - before).total(),
    )

"""A synthetic corpus and what reads it in place of a model: the store and its driver are what is measured."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from weft.errors import InputError
from weft.kg.extraction.corpus import Found, Source
from weft.kg.schema import Relation, Schema
from weft.kg.storage.layout import Evidence, Spelling

RELATIONS = tuple(f"relation_{number}" for number in range(30))
_WORDS = 400_000
"""Names to draw from: a few are frequent, most are rare, as in a corpus."""


@dataclass(frozen=True)
class LineLoader:
    """Loads a :class:`LineReader`.

    Args:
        version: What it calls its version.
        seconds: How long it pretends to read each document.
    """

    version: str = "lines-1"
    seconds: float = 0.0

    def __call__(self) -> LineReader:
        """Make it."""
        return LineReader(self.version, self.seconds)


class LineReader:
    """Reads documents whose lines are ``head<TAB>relation<TAB>tail<TAB>confidence``.

    Args:
        version: Its version.
        seconds: How long it pretends to read each document.
    """

    schema = Schema(tuple(Relation(name, f"the {number}th") for number, name in enumerate(RELATIONS)))
    spelling: Spelling = "folded"
    asked = ()

    def __init__(self, version: str, seconds: float) -> None:
        self.version = version
        self.seconds = seconds

    def read(self, source: Source) -> Found:
        """The facts that the lines state.

        Raises:
            InputError: A line of another form.
        """
        time.sleep(self.seconds)
        text = str(source.content)
        found, offset = [], 0
        for number, line in enumerate(text.split("\n"), 1):
            parts = line.split("\t")
            if len(parts) == 4:
                head, relation, tail, confidence = parts
                place = (offset, offset + len(head), offset, offset + len(line), number, line)
                found.append(Evidence(head, relation, tail, float(confidence), *place))
            elif line:
                raise InputError(f"line {number} has {len(parts)} fields, not 4", where=source.document)
            offset += len(line) + 1
        return Found(found)


def source(document: str, text: str) -> Source:
    """A document of such lines."""
    return Source(document, hashlib.sha256(text.encode()).hexdigest(), text)


def synthetic_sources(documents: int, lines: int, seed: int = 0) -> Iterator[Source]:
    """Documents of random facts; the same for the same numbers."""
    generator = np.random.default_rng(seed)
    for number in range(documents):
        heads, tails = _draw(generator, lines), _draw(generator, lines)
        relations = generator.integers(len(RELATIONS), size=lines)
        confidence = np.round(generator.beta(4, 1, size=lines), 4)
        rows = zip(heads, relations, tails, confidence, strict=True)
        text = "\n".join(
            f"entity {head}\t{RELATIONS[relation]}\tentity {tail}\t{sure}"
            for head, relation, tail, sure in rows
        )
        yield source(f"synthetic/{number:05}", text)


def write_sources(folder: Path, documents: int, lines: int) -> None:
    """The same as files."""
    folder.mkdir(parents=True, exist_ok=True)
    for item in synthetic_sources(documents, lines):
        (folder / Path(item.document).name).write_text(str(item.content), encoding="utf-8")


def read_sources(folder: Path) -> Iterator[Source]:
    """Those files as documents."""
    for path in sorted(folder.iterdir()):
        yield source(path.name, path.read_text(encoding="utf-8"))


def _draw(generator: np.random.Generator, count: int) -> NDArray[np.int64]:
    return (_WORDS * generator.random(count) ** 2).astype(np.int64)

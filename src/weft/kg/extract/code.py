"""Source trees as a corpus for the store, and the model that reads their files."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from weft.errors import InputError
from weft.kg.combine.endpoint import Endpoint
from weft.kg.extract.corpus import Found, Source
from weft.kg.extract.facts import Extractor, ModelFact
from weft.kg.extract.model import model_version
from weft.kg.languages.language import Language
from weft.kg.schema import Schema
from weft.kg.store.layout import Evidence, Spelling

_DIGITS = 4
"""Decimals of a confidence: rounding in the last bits of a float must not make two runs differ."""
_AROUND = 150
"""Most characters of a line that are kept on each side of the head."""


@dataclass(frozen=True)
class CodeLoader:
    """Loads a model of source code.

    Args:
        folder: The model.
        beams: Hypotheses of each tail.
        device: Where to compute.
        threads: Of torch in each process.
        endpoint: Combines the likely tokens of each tail; the model spells them where it is None.
    """

    folder: Path
    beams: int = 4
    device: str = "cpu"
    threads: int = 1
    endpoint: Endpoint | None = None

    def __call__(self) -> CodeReader:
        """Load it in this process.

        Raises:
            CheckpointError: It is damaged, or no model of source code.
        """
        torch.set_num_threads(self.threads)
        extractor = Extractor.load(self.folder, self.device)
        if self.endpoint is None:
            return CodeReader(extractor, self.beams, model_version(self.folder, self.beams))
        asked = self.endpoint.url, self.endpoint.model
        version = model_version(self.folder, self.beams, *asked)
        return CodeReader(extractor.with_endpoint(self.endpoint), self.beams, version)


class CodeReader:
    """Reads facts out of source files.

    Args:
        extractor: The model.
        beams: Hypotheses of each tail.
        version: Hash of all that decides what it answers.
    """

    spelling: Spelling = "exact"

    def __init__(self, extractor: Extractor, beams: int, version: str) -> None:
        self.extractor = extractor
        self.beams = beams
        self.version = version
        self.schema: Schema = extractor.language.schema

    def read(self, source: Source) -> Found:
        """The facts of one file.

        Raises:
            InputError: It cannot be parsed, or is no text in its encoding.
        """
        data = source.content
        if not isinstance(data, bytes):
            raise InputError("not the bytes of a file", where=source.document)
        text = self.extractor.language.decode(data, source.document)
        combiner = self.extractor.combiner
        if combiner is not None:
            combiner.begin()
        facts = self.extractor.facts_of(text, source.document, beams=self.beams)
        return Found(evidence_of(text, facts), None if combiner is None else combiner.tally)


def evidence_of(text: str, facts: Sequence[ModelFact]) -> list[Evidence]:
    """A model's facts as the store keeps them; empty tails are none.

    Args:
        text: The source that they were read out of.
        facts: The facts.
    """
    return [
        Evidence(
            head=fact.head,
            relation=fact.relation,
            tail=fact.tail,
            confidence=round(fact.confidence, _DIGITS),
            start=fact.place[0],
            end=fact.place[1],
            chunk_start=fact.span[0],
            chunk_end=fact.span[1],
            line=fact.line,
            sentence=line_around(text, *fact.place),
            combined=fact.combined,
        )
        for fact in facts
        if fact.tail.strip()
    ]


def code_sources(place: Path, corpus: str, spoken: Language) -> Iterator[Source]:
    """The source files of a folder, or one file, in order; hidden folders and other people's code are left out.

    Args:
        place: A folder or a file.
        corpus: The name of the corpus: the first part of every document's name.
        spoken: Their language.

    Raises:
        InputError: There is no such place, no source file in it, or a file that cannot be opened.
    """
    if place.is_file():
        yield _source(place, corpus)
        return
    if not place.is_dir():
        raise InputError("no such file or folder", where=str(place))
    found = False
    for folder, below, names in os.walk(place):
        below[:] = sorted(name for name in below if name not in spoken.foreign and not name.startswith("."))
        for name in sorted(names):
            path = Path(folder, name)
            if name.endswith(spoken.suffixes) and path.is_file():
                found = True
                # Bytes that are no UTF-8 stay visible in a name that is.
                inside = os.fsencode(path.relative_to(place).as_posix()).decode("utf-8", "backslashreplace")
                yield _source(path, f"{corpus}/{inside}")
    if not found:
        way = (
            "texts need a model of their own: weft kg build, weft kg train, then --model; docs/kg-tutorial.md"
        )
        raise InputError(f"no file of {spoken.name}", where=str(place), hint=way)


def line_around(text: str, start: int, end: int) -> str:
    """The line of a span, at most 150 characters on each side of it, without white space around."""
    begin = max(text.rfind("\n", 0, start) + 1, start - _AROUND)
    stop = text.find("\n", end)
    stop = min(len(text) if stop < 0 else stop, end + _AROUND)
    return text[begin:stop].strip()


def _source(path: Path, document: str) -> Source:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", where=str(path)) from error
    return Source(document, hashlib.sha256(data).hexdigest(), data)

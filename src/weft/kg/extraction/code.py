"""Source trees as a corpus for the store, and the model that reads their files."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from weft.errors import InputError
from weft.kg.combine.endpoint import Endpoint
from weft.kg.extraction.corpus import Found, Source
from weft.kg.extraction.facts import Extractor, ModelFact
from weft.kg.extraction.inferred import Inferred, possible
from weft.kg.extraction.model import model_version
from weft.kg.languages.around import around
from weft.kg.languages.language import Language, ParsedFile
from weft.kg.languages.lines import Lines, line_around, line_of
from weft.kg.languages.unit import Open
from weft.kg.read.corpus import no_file, not_there, plain_name, walk
from weft.kg.schema import Relation, Schema
from weft.kg.storage.layout import Evidence, Spelling
from weft.kg.storage.manifest import is_store
from weft.platform.reading import SOURCE_BYTES, read_bytes

_DIGITS = 4
"""Decimals of a confidence: rounding in the last bits of a float must not make two runs differ."""
_RECENT = 64
"""Files whose facts are kept until the model is through with them; of others they are read again."""


@dataclass(frozen=True)
class CodeLoader:
    """Loads a model of source code.

    Args:
        folder: The model.
        beams: Hypotheses of each tail.
        device: Where to compute.
        threads: Of torch in each process.
        endpoint: Combines the likely tokens of each tail; the model spells them where it is None.
        floor: Least confidence of an inferred fact.
    """

    folder: Path
    beams: int = 4
    device: str = "cpu"
    threads: int = 1
    endpoint: Endpoint | None = None
    floor: float = 0.5

    def __call__(self) -> CodeReader:
        """Load it in this process.

        Raises:
            CheckpointError: It is damaged, or no model of source code.
        """
        torch.set_num_threads(self.threads)
        extractor = Extractor.load(self.folder, self.device)
        settings: tuple[object, ...] = (self.beams, self.floor, extractor.language.reading)
        if self.endpoint is not None:
            extractor = extractor.with_endpoint(self.endpoint)
            settings = (*settings, self.endpoint.url, self.endpoint.model)
        return CodeReader(extractor, self.beams, model_version(self.folder, *settings), self.floor)


class CodeReader:
    """Reads facts out of source files.

    Args:
        extractor: The model.
        beams: Hypotheses of each tail.
        version: Hash of all that decides what it answers.
        floor: Least confidence of an inferred fact.
    """

    spelling: Spelling = "exact"
    asked: tuple[Relation, ...] = ()

    def __init__(self, extractor: Extractor, beams: int, version: str, floor: float = 0.0) -> None:
        self.floor = floor
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
        if source.asked is None:
            found = evidence_of(text, self.extractor.facts_of(text, source.document, beams=self.beams))
        else:
            asked = [item for item in source.asked if not item.plain]
            answers = self.extractor.inferred(text, source.document, asked, beams=self.beams)
            file = self.extractor.language.parse(text, source.document)
            found = [_inferred(text, item) for item in possible(answers, file, self.extractor.language)]
        sure = [item for item in found if item.confidence >= self.floor]
        return Found(sure, None if combiner is None else combiner.tally)


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


def _inferred(text: str, answer: Inferred) -> Evidence:
    asked, (tail, confidence) = answer.asked, answer.candidates[0]
    return Evidence(
        head=asked.head.name,
        relation=asked.relation,
        tail=tail,
        confidence=round(confidence, _DIGITS),
        start=asked.start,
        end=asked.end,
        chunk_start=answer.span[0],
        chunk_end=answer.span[1],
        line=line_of(text, asked.start),
        sentence=line_around(text, asked.start, asked.end),
        combined=answer.combined,
        origin="model",
        head_kind=asked.head.kind,
    )


class CodeCorpus:
    """The source files of a folder, or one file, in order; hidden folders and other people's code are left out.

    Where their language can follow names from file to file, what the files state comes from their syntax, and a
    model is asked only for what nothing states. A single file is read with the package that it stands in.

    Args:
        place: A folder or a file.
        corpus: The name of the corpus: the first part of every document's name.
        spoken: Their language.
        stated: Whether what files state is read too; not where only what they leave open is wanted.

    Attributes:
        others: Files of the folder that are not in the language, by suffix, and linked folders.
        unread: Folders below that cannot be opened, named as documents are, and why.

    Raises:
        InputError: There is no such place, or no source file in it.
    """

    def __init__(self, place: Path, corpus: str, spoken: Language, *, stated: bool = True) -> None:
        self.spoken = spoken
        self._with_stated = stated
        self._last: tuple[str, bytes, tuple[ParsedFile, str]] | None = None
        self.others = Counter[str]()
        self.unread: dict[str, str] = {}
        self.paths = _source_files(place, corpus, spoken, self.others, self.unread)
        self._recent: dict[str, tuple[list[Evidence], list[Open]]] = {}
        if place.is_file():
            found = around(place.resolve(), spoken)
            self.tree = None if found is None else found.tree
            self._below = dict.fromkeys(self.paths, place.name if found is None else found.below)
            return
        self._below = {document: _below(path, place) for document, path in self.paths.items()}
        self.tree = spoken.tree(place, self._below.values())
        if self.tree is None:
            return
        for document, path in self.paths.items():
            try:
                self.tree.add(self._below[document], self.parsed(document, read_bytes(path, SOURCE_BYTES))[0])
            except InputError:
                # It is met again where the file is given out, and listed.
                continue
        for document, path in self.paths.items():
            try:
                self.tree.learn(
                    self._below[document], self.parsed(document, read_bytes(path, SOURCE_BYTES))[0]
                )
            except InputError:
                continue

    def __iter__(self) -> Iterator[Source]:
        """Each file with the questions that it leaves open, or with the reason why it cannot be read."""
        for document, path in self.paths.items():
            try:
                data = read_bytes(path, SOURCE_BYTES)
            except InputError as error:
                why = no_file(path) or error.what
                yield Source(document, hashlib.sha256(why.encode()).hexdigest(), b"", failure=why)
                continue
            digest = hashlib.sha256(data).hexdigest()
            if self.tree is None:
                yield Source(document, digest, data)
                continue
            try:
                stated, asked = self._stated(document, data)
            except InputError as error:
                yield Source(document, digest, data, failure=error.what)
                continue
            self._recent[document] = stated, asked
            while len(self._recent) > _RECENT:
                del self._recent[next(iter(self._recent))]
            context = hashlib.sha256(repr((stated, asked)).encode("utf-8", "surrogatepass")).hexdigest()[:16]
            yield Source(document, digest, data, context, tuple(asked))

    def may_hold(self, document: str) -> bool:
        """Whether a document lies in a folder that cannot be opened."""
        return any(document.startswith(f"{folder}/") for folder in self.unread)

    def below(self, document: str) -> str:
        """A document's path below the folder."""
        return self._below[document]

    def complete(self, document: str, found: list[Evidence]) -> list[Evidence]:
        """What a document states and what a model inferred, with the names of its types followed."""
        if self.tree is None:
            return found
        stated, _ = self._recent.pop(document, None) or self._stated(
            document, read_bytes(self.paths[document], SOURCE_BYTES)
        )
        inferred = []
        for item in found:
            tail = self.tree.type_named(self._below[document], item.tail)
            inferred.append(item._replace(tail=tail.name, tail_kind=tail.kind))
        return stated + inferred

    def parsed(self, document: str, data: bytes) -> tuple[ParsedFile, str]:
        """A file and its text; the one that was read last is not read again.

        Raises:
            InputError: It cannot be read.
        """
        if self._last is None or self._last[:2] != (document, data):
            text = self.spoken.decode(data, document)
            self._last = document, data, (self.spoken.parse(text, document), text)
        return self._last[2]

    def _stated(self, document: str, data: bytes) -> tuple[list[Evidence], list[Open]]:
        file, text = self.parsed(document, data)
        lines = Lines(text)
        assert self.tree is not None
        below = self._below[document]
        stated = [
            Evidence(
                head=fact.head.name,
                relation=fact.relation,
                tail=fact.tail.name,
                confidence=1.0,
                start=fact.start,
                end=fact.end,
                chunk_start=fact.start,
                chunk_end=fact.end,
                line=lines.number(fact.start),
                sentence=line_around(text, fact.start, fact.end),
                origin="tree",
                head_kind=fact.head.kind,
                tail_kind=fact.tail.kind,
            )
            for fact in (self.tree.facts(below, file) if self._with_stated else ())
        ]
        return stated, self.tree.open_questions(below, file)


def _source_files(
    place: Path, corpus: str, spoken: Language, others: Counter[str], unread: dict[str, str]
) -> dict[str, Path]:
    """Document to file, in order; counts the others by suffix, but for those that are hidden or of a store.

    Folders that cannot be opened are put beside them, with the reason.
    """
    if place.is_file():
        return {corpus: place}
    if not place.is_dir():
        raise not_there(place)

    def closed(folder: Path, why: str) -> None:
        unread[f"{corpus}/{_below(folder, place)}"] = why

    found: dict[str, Path] = {}
    for folder, below, names in walk(place, closed):
        below[:] = sorted(
            name
            for name in below
            if name not in spoken.foreign and not name.startswith(".") and not is_store(folder / name)
        )
        for name in sorted(names):
            path = folder / name
            if name.startswith(".") and not path.is_file():
                # Such as the locks of editors: a link that leads nowhere.
                continue
            if name.endswith(spoken.suffixes):
                found[f"{corpus}/{_below(path, place)}"] = path
            elif not name.startswith("."):
                others[plain_name(path.suffix.lower()) or "no suffix"] += 1
        if linked := sum(os.path.islink(folder / name) for name in below):
            others["linked folder"] += linked
    if not found:
        for document, why in unread.items():
            raise InputError(why, where=str(place / document.removeprefix(f"{corpus}/")))
        way = "texts are read by kg-text-small, or by a model of your own; docs/kg-tutorial.md"
        raise InputError(f"no file of {spoken.name}", where=str(place), hint=way)
    return found


def _below(path: Path, folder: Path) -> str:
    return plain_name(path.relative_to(folder))

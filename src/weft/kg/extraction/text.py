"""Text as a corpus for the store, and the model that reads its documents."""

from __future__ import annotations

import hashlib
import os
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import torch

from weft.encoder.answering.precision import Precision, arithmetic_of
from weft.errors import ConfigError, InputError
from weft.kg.agreement.demonyms import with_countries
from weft.kg.extraction.corpus import Found, Source, add_listed
from weft.kg.extraction.entities import SHARED, WINDOW, EntityExtractor
from weft.kg.extraction.entity_fact import EntityFact
from weft.kg.extraction.labelled import LABELLED
from weft.kg.extraction.labelled import RULES as LABEL_RULES
from weft.kg.extraction.model import TEXT_KIND, TEXT_MODEL, model_kind, model_version
from weft.kg.extraction.neighbours import RULES as NEIGHBOUR_RULES
from weft.kg.extraction.sections import SECTION
from weft.kg.extraction.tails import TailExtractor
from weft.kg.extraction.unsaid import LONGEST, UNSAID
from weft.kg.extraction.unsaid import RULES as UNSAID_RULES
from weft.kg.link.linker import Linker
from weft.kg.mentions.join import RULES as JOIN_RULES
from weft.kg.read.corpus import (
    OTHERS,
    TEXT,
    UNREAD_FILES,
    UNREAD_FOLDERS,
    UNREAD_LINES,
    plain_name,
    read_corpus,
)
from weft.kg.read.documents import TextDocument
from weft.kg.read.funnel import Funnel
from weft.kg.read.origins import line_at
from weft.kg.read.prose import JSON_LINES, SUFFIXES, kind_of
from weft.kg.read.redocred import UNREAD_RECORDS, read_redocred
from weft.kg.read.seeds import SEED, first_unused, read_seeds
from weft.kg.read.sentences import RULES, sentence_starts, sentences_of
from weft.kg.schema import Relation, Schema
from weft.kg.storage.layout import Evidence, Origin, Spelling
from weft.kg.worded.relation import asked_relations
from weft.platform.language import foreign
from weft.platform.models import find_model

_DIGITS = 4
"""Decimals of a confidence: rounding in the last bits of a float must not make two runs differ."""
_SECOND = "documents with an id that another has"
_UNREAD = (UNREAD_FILES, UNREAD_FOLDERS, UNREAD_LINES, UNREAD_RECORDS, _SECOND)
"""Reasons for which a document, or what may be one, is not read."""
_OF_FILE = re.compile(rf"(?i:{'|'.join(map(re.escape, SUFFIXES))})(?::\d+)?$")
"""How the name of a document ends that is a file, or a line of one that has no id."""
_STRANGE = "types of mentions that the model does not know"
_TOLD_BY = 5_000
"""Characters at a document's begin that tell its language."""


@dataclass(frozen=True)
class TextLoader:
    """Loads a model of text.

    Args:
        folder: The model.
        seeds: Seed files whose entities are looked for in documents that come without mentions; a model that finds
            mentions finds others beside them. A leafy chain model finds none: the shipped model of text does it.
        near: Names are near from this Jaccard similarity on; None for exact names alone.
        device: Where to compute.
        arithmetic: Of the layers of a model that finds mentions.
        asked: Relations by words; see :func:`weft.kg.worded.relation.asked_relations`.
    """

    folder: Path
    seeds: tuple[Path, ...] = ()
    near: float | None = 0.5
    device: str = "cpu"
    arithmetic: Precision = "fp32"
    asked: tuple[str, ...] = ()

    def __call__(self) -> TextReader:
        """Load it in this process.

        Raises:
            CheckpointError: It is damaged, or no model of text.
            InputError: A seed cannot be read, or names no entity.
            ConfigError: The model takes no relations by words, or one of them is none.
        """
        # On several threads sums come in another order, and the last bits of a confidence with them.
        torch.set_num_threads(1)
        extractor, linker, versions = (
            self._extractor(),
            None,
            list[object]([RULES, UNSAID_RULES, JOIN_RULES, NEIGHBOUR_RULES, LABEL_RULES, LABELLED]),
        )
        asked: tuple[Relation, ...] = ()
        if self.asked:
            if isinstance(extractor, TailExtractor):
                raise ConfigError(
                    "relations by words are for models that find entities; this one fills leaves",
                    where=str(self.folder),
                )
            asked = asked_relations(self.asked, extractor.schema)
            extractor = extractor.asked(asked)
            versions.append(asked)
        if (chosen := arithmetic_of(self.arithmetic, torch.device(self.device))) is not None:
            versions.append(chosen)
        if isinstance(extractor, TailExtractor):
            versions.append(model_version(find_model("kg", TEXT_MODEL)))
        else:
            versions.append((WINDOW, SHARED, SECTION, UNSAID, LONGEST))
        digests = [hashlib.sha256(path.read_bytes()).hexdigest() for path in self.seeds if path.is_file()]
        if self.seeds:
            funnel = Funnel()
            entities = read_seeds(self.seeds, extractor.schema, funnel).entities
            if not entities:
                raise InputError(
                    f"names no entity of the model's relations{first_unused(funnel)}",
                    where=str(self.seeds[0]),
                    hint=SEED,
                )
            linker = Linker(entities, self.near)
            versions.append("names of no type take the type that is found")
        version = model_version(self.folder, self.near, *digests, *versions)
        return TextReader(extractor, linker, version, asked)

    def unused_seed(self) -> dict[str, list[str]]:
        """What of the seed files cannot be used, by reason."""
        funnel = Funnel()
        if self.seeds:
            read_seeds(self.seeds, Schema.load(self.folder / "schema.json"), funnel)
        return funnel.listed

    def _extractor(self) -> EntityExtractor | TailExtractor:
        if model_kind(self.folder) == TEXT_KIND:
            return EntityExtractor.load(self.folder, self.device, self.arithmetic)
        finder = EntityExtractor.load(find_model("kg", TEXT_MODEL), self.device, self.arithmetic)
        return TailExtractor.load(self.folder, self.device, finder)


@dataclass
class Met:
    """What was met in a corpus besides the documents that are read.

    Args:
        failures: What cannot be read, and why.
        others: Files of a folder that are of no kind that is read, by suffix.
        foreign: Documents that seem to be in another language than English, and its code.
        unread: Documents that are there and cannot be read, by their names in a store.
        unread_within: How the names of further documents begin that are there and cannot be read: those of the lines
            of a file, of a folder, or all.
        unread_ids: Whether there may be such that have an id for a name.
        ids_of_files: Whether ids were met that look like the names of files.
        unused: What of documents that are read and of the seed files cannot be used, by reason.
    """

    failures: list[tuple[str, str]] = field(default_factory=list)
    others: Counter[str] = field(default_factory=Counter)
    foreign: list[tuple[str, str]] = field(default_factory=list)
    unread: set[str] = field(default_factory=set)
    unread_within: set[str] = field(default_factory=set)
    unread_ids: bool = False
    ids_of_files: bool = False
    unused: dict[str, list[str]] = field(default_factory=dict)

    def may_hold(self, document: str) -> bool:
        """Whether the corpus may hold a document that was not among those read."""
        if document in self.unread or document.startswith(tuple(self.unread_within)):
            return True
        return self.unread_ids and (self.ids_of_files or not _OF_FILE.search(document))


class Marked(NamedTuple):
    """A document that was read.

    Args:
        document: With its mentions.
        facts: Between them, in order of their places.
        evidence: The same facts as a store has them.
        unused: What of the mentions that it brought, or that a seed names, cannot be used, by reason.
    """

    document: TextDocument
    facts: list[EntityFact]
    evidence: list[Evidence]
    unused: dict[str, list[str]]


class TextReader:
    """Reads facts out of text.

    Args:
        extractor: The model.
        linker: Finds entities; None where documents bring their mentions.
        version: Hash of all that decides what it answers.
        asked: The relations of the model's schema that it was asked for by words.
    """

    spelling: Spelling = "folded"

    def __init__(
        self,
        extractor: EntityExtractor | TailExtractor,
        linker: Linker | None,
        version: str,
        asked: tuple[Relation, ...] = (),
    ) -> None:
        self.extractor = extractor
        self.linker = linker
        self.version = version
        self.asked = asked
        self._untrained = {relation.name for relation in asked}
        self.schema: Schema = extractor.schema

    def read(self, source: Source) -> Found:
        """The facts of one document.

        Raises:
            InputError: It is no text.
        """
        marked = self.mark(source)
        return Found(marked.evidence, unused=marked.unused)

    def mark(self, source: Source) -> Marked:
        """One document with its mentions, and the facts between them.

        Raises:
            InputError: It is no text.
        """
        document = source.content
        if not isinstance(document, TextDocument):
            raise InputError("not a document of text", where=source.document)
        brings_mentions = bool(document.mentions)
        if not brings_mentions and self.linker is not None:
            document = self.linker.link(document)
        funnel = self._strange_types(document)
        named = bool(document.mentions)
        if not brings_mentions:
            # The seed's names first, then what the model finds beside them, where it finds mentions.
            document = self.extractor.with_found(document)
        facts = with_countries(self.extractor.facts_of(document, funnel=funnel if named else None))
        text = document.text
        starts = sentence_starts(text) if document.sentences is None else document.sentences
        breaks = [found.start() for found in re.finditer(r"\r\n?|\n", text)]
        evidence = [
            Evidence(
                head=fact.head,
                relation=fact.relation,
                tail=fact.tail,
                confidence=round(fact.confidence, _DIGITS),
                start=fact.place[0],
                end=fact.place[1],
                chunk_start=fact.span[0],
                chunk_end=fact.span[1],
                line=line_at(document.origins, fact.place[0])
                if document.origins
                else bisect_left(breaks, fact.place[0]) + 1,
                sentence=sentences_of(text, starts, *filter(None, (fact.place, fact.tail_place, fact.label))),
                origin=self._origin(fact),
                head_kind=fact.head_type,
                tail_kind=fact.tail_type,
            )
            for fact in facts
        ]
        return Marked(document, facts, evidence, funnel.listed)

    def _origin(self, fact: EntityFact) -> Origin:
        if fact.label is not None:
            return "label"
        return "words" if fact.relation in self._untrained else "model"

    def _strange_types(self, document: TextDocument) -> Funnel:
        """A funnel that lists the types of mentions that a model of entities does not know: any may stand there."""
        funnel = Funnel()
        if isinstance(self.extractor, EntityExtractor):
            known = self.extractor.model.config.types
            for kind in sorted({item.type for item in document.mentions}.difference(known)):
                listed = ", ".join(filter(None, known))
                funnel.leave_out(_STRANGE, f"{document.id}: {kind!r} (the model knows {listed})")
        return funnel


def marked_documents(path: Path, loader: TextLoader, met: Met, text_column: str = TEXT) -> list[Marked]:
    """The documents of a file or folder with their mentions and facts, in order.

    Args:
        path: Text, JSONL or Re-DocRED.
        loader: Of the model.
        met: Takes what cannot be read, and what there is to say of the others.
        text_column: The key of the text in JSON lines.

    Raises:
        InputError: Nothing of it can be read.
        CheckpointError: The model is damaged.
    """
    sources = list(text_sources(path, plain_name(path.name or path.resolve().name), met, text_column))
    if met.failures and not sources:
        place, why = met.failures[0]
        raise InputError(why, where=str((path if path.is_dir() else path.parent) / place))
    reader = loader()
    marked = [reader.mark(source) for source in sources]
    for item in marked:
        add_listed(met.unused, item.unused)
    return marked


def text_sources(place: Path, corpus: str, met: Met, text_column: str = TEXT) -> Iterator[Source]:
    """The documents of a folder, of a file, or of a Re-DocRED file (``.json``), in order.

    Args:
        place: Text files, JSONL, or Re-DocRED.
        corpus: The name of the corpus: the first part of every document's name.
        met: Takes what cannot be read and why, what is of another kind, and in other languages.
        text_column: The key of the text in JSON lines.

    Raises:
        InputError: There is no such place.
    """
    funnel = Funnel()
    found = (
        read_redocred(place, funnel, labelled=False)
        if place.suffix.lower() == ".json"
        else read_corpus([place], funnel, text_column=text_column)
    )
    seen: set[str] = set()

    def named(document: str) -> str:
        return corpus if document == corpus else f"{corpus}/{document}"

    for document in found:
        if document.id in seen:
            funnel.fail(_SECOND, document.id, "an id that another document has")
            continue
        seen.add(document.id)
        met.ids_of_files |= _OF_FILE.search(document.id) is not None and not _is_of_file(place, document.id)
        given = repr((document.text, document.mentions, document.sentences, document.origins))
        digest = hashlib.sha256(given.encode("utf-8", "surrogatepass")).hexdigest()
        name = named(document.id)
        if (language := foreign(document.text[:_TOLD_BY])) is not None:
            met.foreign.append((name, language))
        yield Source(name, digest, document)
    for reason, items in funnel.listed.items():
        if reason not in _UNREAD:
            add_listed(met.unused, {reason: items})
            continue
        failures = [funnel.reasons.get(what, (what, reason)) for what in items]
        met.failures += failures
        if reason == UNREAD_FILES:
            met.unread.update(named(file) for file, _ in failures)
            within = [f"{named(file)}:" for file, _ in failures if kind_of(Path(file)) == JSON_LINES]
        elif reason == UNREAD_LINES:
            within = [f"{named(line.rpartition(':')[0])}:" for line, _ in failures]
        elif reason == UNREAD_FOLDERS:
            within = [f"{named(folder)}/" for folder, _ in failures]
        else:
            within = [""] if reason == UNREAD_RECORDS else []
        met.unread_within.update(within if place.is_dir() else [""] * len(within))
        met.unread_ids |= bool(within)
    met.others.update(funnel.noted.get(OTHERS, {}))


def _is_of_file(place: Path, document: str) -> bool:
    """Whether a document is a file of a corpus, or a line of one, by its id."""
    name, _, number = document.rpartition(":")
    return os.path.isfile(place / (name if number.isdigit() else document))

"""A data set as tensors: chunks with their triples, ready for batches on any device."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from numpy.typing import NDArray
from torch import Tensor

from weft.documents.leafy_chain import ChainShape, ChainTriple, LeafyChainGraph
from weft.errors import CheckpointError, InputError
from weft.kg.config import TEXT
from weft.kg.dataset.tables import read_table
from weft.kg.dataset.tokens import NO_WORD, PAD, CodeTokenizer
from weft.kg.schema import Schema
from weft.platform.reading import read_json


@dataclass(frozen=True)
class ClueTable:
    """What trees tell of the heads of C chunks; U clues in the order of their chunks.

    Args:
        first: ``(C + 1,)`` int64: clues of chunk c are ``first[c] : first[c + 1]``.
        relation: ``(U,)`` int64, ids after the schema's.
        head_start: ``(U,)`` int64, the head's first token in the chunk.
        head_length: ``(U,)`` int64.
        tail_ids: ``(U, K)`` int64, padded.
        tail_length: ``(U,)`` int64.
    """

    first: Tensor
    relation: Tensor
    head_start: Tensor
    head_length: Tensor
    tail_ids: Tensor
    tail_length: Tensor

    def to(self, device: torch.device | str) -> ClueTable:
        """The same on another device."""
        return ClueTable(*(getattr(self, item.name).to(device) for item in fields(self)))


@dataclass(frozen=True)
class Corpus:
    """Chunks and triples; C chunks, T triples in the order of their chunks, R roots, K leaves.

    Args:
        ids: ``(C, R)`` int16 or int32 token ids, padded.
        words: ``(C, R)`` uint8 index of the identifier that each token is part of; 255 for none.
        first_triple: ``(C + 1,)`` int64: triples of chunk c are ``first_triple[c] : first_triple[c + 1]``.
        chunk: ``(T,)`` int64.
        relation: ``(T,)`` int64.
        head_word: ``(T,)`` int64.
        head_start: ``(T,)`` int64, the head's first token in the chunk.
        head_length: ``(T,)`` int64.
        tail_ids: ``(T, K)`` int64, padded.
        tail_length: ``(T,)`` int64.
        tail_word: ``(T,)`` int64; 255 where the tail is not in the text.
        query: ``(T,)`` int64: triples of one (chunk, head, relation) and origin share it.
        origin: ``(T,)`` int64: 0 syntax tree, 1 type stubs.
        document: ``(C,)`` int64.
        split: ``(C,)`` int64: 0 training, 1 validation, 2 test.
        clues: What the trees of the chunks tell; None where that was not asked.
    """

    ids: Tensor
    words: Tensor
    first_triple: Tensor
    chunk: Tensor
    relation: Tensor
    head_word: Tensor
    head_start: Tensor
    head_length: Tensor
    tail_ids: Tensor
    tail_length: Tensor
    tail_word: Tensor
    query: Tensor
    origin: Tensor
    document: Tensor
    split: Tensor
    clues: ClueTable | None = None

    def to(self, device: torch.device | str) -> Corpus:
        """The same corpus on another device."""
        held = {item.name: getattr(self, item.name) for item in fields(self)}
        return replace(self, **{name: value.to(device) for name, value in held.items() if value is not None})

    @property
    def roots(self) -> int:
        """R."""
        return self.ids.shape[1]

    @property
    def leaves(self) -> int:
        """K."""
        return self.tail_ids.shape[1]

    def chunks_of(self, split: int) -> Tensor:
        """Indices of the chunks of one part."""
        return torch.nonzero(self.split == split).flatten()


@dataclass(frozen=True)
class Dataset:
    """A data set's folder, read.

    Args:
        folder: Where it lies.
        corpus: Chunks and triples.
        schema: Relations.
        tokenizer: The tokenizer learnt from its training part.
        modules: Module name of each document.
        language: Name of its programming language; ``"text"`` of text.
    """

    folder: Path
    corpus: Corpus
    schema: Schema
    tokenizer: CodeTokenizer
    modules: list[str]
    language: str = "python"

    def chain(self, chunk: int, *, several_per_head: bool = False) -> tuple[LeafyChainGraph, Counter[str]]:
        """A chunk with its triples as a leafy chain graph; its ``to_tensors()`` are those of the design.

        Args:
            chunk: Index of the chunk.
            several_per_head: Whether one head may keep several triples; the dense form holds one.

        Returns:
            The graph of R roots and K leaves, and how many triples it could not hold, by reason.
        """
        corpus = self.corpus
        first, last = corpus.first_triple[chunk : chunk + 2].tolist()
        triples = [
            ChainTriple(
                int(corpus.head_start[row]),
                int(corpus.head_length[row]),
                int(corpus.relation[row]),
                tuple(corpus.tail_ids[row, : corpus.tail_length[row]].tolist()),
            )
            for row in range(first, last)
        ]
        ids = corpus.ids[chunk]
        return LeafyChainGraph.build(
            ids[ids != PAD].tolist(),
            triples,
            ChainShape(corpus.roots, corpus.leaves),
            num_relations=self.schema.size,
            pad_id=PAD,
            several_per_head=several_per_head,
        )

    def check_model(self, folder: Path, num_relations: int) -> None:
        """Check that a model has this vocabulary, token by token, and this schema.

        Args:
            folder: The model.
            num_relations: Its relation ids.

        Raises:
            CheckpointError: It has not.
        """
        known = CodeTokenizer.load(folder / "tokenizer.json")
        if known.digest != self.tokenizer.digest:
            raise CheckpointError(
                f"another vocabulary than the data set's (hash {known.digest[:8]}, "
                f"the data set's {self.tokenizer.digest[:8]})",
                where=str(folder),
                hint=f"weft kg build … --vocabulary {folder} makes a data set with the model's",
            )
        if num_relations != self.schema.size:
            raise CheckpointError(
                f"{num_relations} relation ids; the data set's schema has {self.schema.size}",
                where=str(folder),
            )


SPLITS = {"train": 0, "valid": 1, "test": 2}


def load_dataset(folder: Path, roots: int | None = None, leaves: int | None = None) -> Dataset:
    """Read a data set that ``weft kg build`` made.

    Args:
        folder: Where it lies.
        roots: R; what it was built with where None.
        leaves: K, likewise.

    Raises:
        InputError: A table is missing, or its rows contradict each other.
    """
    built = _built_with(folder)
    roots = roots or int(built.get("roots", 128))
    leaves = leaves or int(built.get("longest_tail", 7))
    chunks, triples, documents = (read_table(folder, name) for name in ("chunks", "triples", "documents"))
    if len(chunks) == 0:
        raise InputError("no chunks", where=str(folder))
    lengths = _lengths(chunks["ids"])
    if int(lengths.max()) > roots or int(lengths.min()) == 0:
        raise InputError(
            f"chunks of {int(lengths.min())} to {int(lengths.max())} tokens; R is {roots}", where=str(folder)
        )
    ids = _padded(chunks["ids"], lengths, roots, PAD)
    words = _padded(chunks["words"], lengths, roots, NO_WORD)
    columns = {
        name: triples[name].to_numpy().astype(np.int64)
        for name in ("chunk", "relation", "head_word", "tail_word", "origin")
    }
    tail_length = _lengths(triples["tail"])
    if len(tail_length) and int(tail_length.max()) > leaves:
        raise InputError(f"a tail of {int(tail_length.max())} tokens; K is {leaves}", where=str(folder))
    chunk, head_word = columns["chunk"], columns["head_word"]
    if len(chunk) and (np.diff(chunk).min(initial=0) < 0 or chunk[-1] >= len(ids)):
        raise InputError("triples out of the order of their chunks", where=str(folder))
    is_head = words[chunk] == head_word[:, None].astype(np.uint8)
    if not is_head.any(axis=1).all():
        raise InputError("a triple whose head is not in its chunk", where=str(folder))
    start = is_head.argmax(axis=1)
    # The head's first run of tokens ends where its word does.
    after = np.where(np.arange(roots) >= start[:, None], ~is_head, False)
    length = np.where(after.any(axis=1), after.argmax(axis=1), roots) - start
    key = ((chunk * 256 + head_word) * 256 + columns["relation"]) * 2 + columns["origin"]
    split = np.array([SPLITS[name] for name in documents["split"].to_pylist()], dtype=np.int64)
    document = chunks["document"].to_numpy().astype(np.int64)
    corpus = Corpus(
        ids=torch.from_numpy(ids.astype(np.int32)),
        words=torch.from_numpy(words),
        first_triple=torch.from_numpy(np.searchsorted(chunk, np.arange(len(ids) + 1))),
        chunk=torch.from_numpy(chunk),
        relation=torch.from_numpy(columns["relation"]),
        head_word=torch.from_numpy(head_word),
        head_start=torch.from_numpy(start.astype(np.int64)),
        head_length=torch.from_numpy(length.astype(np.int64)),
        tail_ids=torch.from_numpy(_padded(triples["tail"], tail_length, leaves, PAD).astype(np.int64)),
        tail_length=torch.from_numpy(tail_length),
        tail_word=torch.from_numpy(columns["tail_word"]),
        query=torch.from_numpy(np.unique(key, return_inverse=True)[1].reshape(-1)),
        origin=torch.from_numpy(columns["origin"]),
        document=torch.from_numpy(document),
        split=torch.from_numpy(split[document]),
    )
    schema, tokenizer = Schema.load(folder / "schema.json"), CodeTokenizer.load(folder / "tokenizer.json")
    if (
        len(columns["relation"])
        and not 0 < int(columns["relation"].min()) <= int(columns["relation"].max()) < schema.size
    ):
        raise InputError("a relation that is not in the schema", where=str(folder))
    if int(ids.max()) >= tokenizer.vocab_size:
        raise InputError("token ids outside the vocabulary", where=str(folder))
    spoken = TEXT if (folder / "mentions.parquet").is_file() else str(built.get("language", "python"))
    return Dataset(folder, corpus, schema, tokenizer, documents["module"].to_pylist(), spoken)


def _built_with(folder: Path) -> dict[str, Any]:
    """The configuration of the build, for the sizes and the language in it; nothing where it was not kept."""
    path = folder / "build.json"
    if not path.is_file():
        return {}
    try:
        return dict(read_json(path)["config"])
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"no record of a build: {error!r}", where=str(path)) from error


def _lengths(column: pa.ChunkedArray) -> NDArray[np.int64]:
    return np.diff(column.combine_chunks().offsets.to_numpy()).astype(np.int64)


def _padded(
    column: pa.ChunkedArray, lengths: NDArray[np.int64], width: int, value: int
) -> NDArray[np.generic]:
    """Rows of unequal length as one array ``(rows, width)``."""
    flat = column.combine_chunks().flatten().to_numpy()
    result = np.full((len(lengths), width), value, dtype=flat.dtype)
    result[np.arange(width) < lengths[:, None]] = flat
    return result

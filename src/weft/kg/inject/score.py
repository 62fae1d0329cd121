"""Step 2: how well a triple fits a chunk, the cosine of their vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from weft.errors import CheckpointError, ShapeError
from weft.kg.link.words import split_words

Embed = Callable[[Sequence[str]], NDArray[np.floating]]
"""Texts to vectors ``(texts, dimension)`` of any length; a pluggable sentence embedding."""


class Scorer(Protocol):
    """Scores pairs of texts."""

    def __call__(
        self, triples: Sequence[str], chunks: Sequence[str], pairs: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Score ``pairs (c, 2)`` of a triple's and a chunk's number; ``(c,)`` cosines."""
        ...


def tfidf_scores(
    triples: Sequence[str], chunks: Sequence[str], pairs: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Cosines of TF-IDF vectors over folded words.

        idf(w) = log((1 + n) / (1 + df(w))) + 1      n chunks, df of them with w

    Args:
        triples: Triples in words.
        chunks: Texts of chunks; the idf is theirs.
        pairs: ``(c, 2)`` numbers of a triple and a chunk.

    Returns:
        ``(c,)``.
    """
    vocabulary: dict[str, int] = {}
    chunk_of, chunk_words = _counted(chunks, vocabulary)
    triple_of, triple_words = _counted(triples, vocabulary)
    size = max(len(vocabulary), 1)
    keys, counts = np.unique(chunk_of * size + chunk_words, return_counts=True)
    in_chunks = np.bincount(keys % size, minlength=size)
    idf = np.log((1 + len(chunks)) / (1 + in_chunks)) + 1
    weights = counts * idf[keys % size]
    chunk_norms = np.sqrt(np.bincount(keys // size, weights**2, minlength=len(chunks)))
    triple_keys, triple_counts = np.unique(triple_of * size + triple_words, return_counts=True)
    triple_weights = triple_counts * idf[triple_keys % size]
    triple_norms = np.sqrt(np.bincount(triple_keys // size, triple_weights**2, minlength=len(triples)))
    # A row for each word of each pair's triple, looked up among the words of the pair's chunk.
    first = np.searchsorted(triple_keys, np.arange(len(triples) + 1) * size)
    lengths = np.diff(first)[pairs[:, 0]]
    pair = np.repeat(np.arange(len(pairs)), lengths)
    place = np.arange(len(pair)) - np.repeat(np.cumsum(lengths) - lengths, lengths) + first[pairs[pair, 0]]
    wanted = pairs[pair, 1] * size + triple_keys[place] % size
    found = np.minimum(np.searchsorted(keys, wanted), max(len(keys) - 1, 0))
    hit = keys[found] == wanted if len(keys) else np.zeros(len(wanted), dtype=bool)
    products = (
        np.where(hit, triple_weights[place] * weights[found], 0.0) if len(keys) else np.zeros(len(pair))
    )
    dots = np.bincount(pair, products, minlength=len(pairs))
    norms = triple_norms[pairs[:, 0]] * chunk_norms[pairs[:, 1]]
    return np.divide(dots, norms, out=np.zeros(len(pairs)), where=norms > 0)


def embedding_scorer(embed: Embed) -> Scorer:
    """Cosines of a sentence embedding's vectors.

    Args:
        embed: Called once with all triples and once with all chunks.
    """

    def scores(
        triples: Sequence[str], chunks: Sequence[str], pairs: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        if not len(pairs):
            return np.zeros(0)
        left, right = _unit(embed(triples), len(triples)), _unit(embed(chunks), len(chunks))
        return np.einsum("cd,cd->c", left[pairs[:, 0]], right[pairs[:, 1]])

    return scores


def bert_embedding(folder: Path, batch_size: int = 32, longest: int = 256) -> Embed:
    """Mean-pooled last hidden states of a BERT directory.

    Args:
        folder: A checkpoint with its tokenizer.
        batch_size: Texts at a time.
        longest: Tokens of a text that are read.

    Raises:
        CheckpointError: It cannot be read, or has no tokenizer.
    """
    import torch

    from weft.encoder import MeanPooler, load_pretrained

    checkpoint = load_pretrained(folder)
    tokenizer = checkpoint.tokenizer
    if tokenizer is None:
        raise CheckpointError("has no tokenizer", where=str(folder))
    pooler = MeanPooler()
    longest = min(longest, checkpoint.encoder.config.max_position_embeddings)

    @torch.inference_mode()
    def embed(texts: Sequence[str]) -> NDArray[np.floating]:
        ids = [encoding.ids[:longest] for encoding in tokenizer.encode_batch(list(texts))]
        order = sorted(range(len(ids)), key=lambda number: len(ids[number]))
        result = np.zeros((len(ids), checkpoint.encoder.config.hidden_size), dtype=np.float32)
        for start in range(0, len(order), batch_size):
            rows = order[start : start + batch_size]
            width = max(len(ids[row]) for row in rows)
            tokens = torch.zeros(len(rows), max(width, 1), dtype=torch.int64)
            mask = torch.zeros_like(tokens, dtype=torch.bool)
            for number, row in enumerate(rows):
                tokens[number, : len(ids[row])] = torch.tensor(ids[row])
                mask[number, : len(ids[row])] = True
            hidden = checkpoint.encoder(tokens, mask).last_hidden_state
            result[rows] = pooler(hidden, mask).numpy()
        return result

    return embed


def _counted(texts: Sequence[str], vocabulary: dict[str, int]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For every word of every text the text's and the word's number."""
    owners, words = [], []
    for number, text in enumerate(texts):
        found = [vocabulary.setdefault(word, len(vocabulary)) for word in split_words(text).folded]
        words += found
        owners += [number] * len(found)
    return np.array(owners, dtype=np.int64), np.array(words, dtype=np.int64)


def _unit(vectors: NDArray[np.floating], rows: int) -> NDArray[np.float64]:
    values = np.asarray(vectors, dtype=np.float64)
    if values.ndim != 2 or len(values) != rows:
        raise ShapeError(f"an embedding of shape {values.shape} for {rows} texts")
    norms = np.linalg.norm(values, axis=1, keepdims=True)
    return np.divide(values, norms, out=np.zeros_like(values), where=norms > 0)

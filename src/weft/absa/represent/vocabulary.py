"""A smaller vocabulary for a smaller model: pieces of scripts that the checkpoint hardly knows are dropped."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import torch
from tokenizers import Tokenizer

from weft.encoder.checkpoint.pretrained import Pretrained
from weft.encoder.embeddings import TokenEmbeddings
from weft.encoder.encoder import Encoder
from weft.errors import ConfigError


def is_english(piece: str) -> bool:
    """Whether a piece is printable ASCII and no reserved slot: what English, names and numbers need."""
    return piece.isascii() and piece.isprintable() and not piece.startswith("[unused")


def prune_vocabulary(start: Pretrained, keep: Callable[[str], bool] = is_english) -> Pretrained:
    """The same checkpoint with only some of its word pieces.

    A text made of kept pieces has the same tokens, hence the same states, as before; what needs a dropped
    piece is split into smaller ones or becomes ``[UNK]``.

    Args:
        start: A checkpoint with a WordPiece tokenizer.
        keep: Whether to keep a piece; special tokens are always kept.

    Raises:
        ConfigError: No WordPiece tokenizer, or other embeddings than tokens'.
    """
    if start.tokenizer is None or not isinstance(start.encoder.embeddings, TokenEmbeddings):
        raise ConfigError("only a checkpoint with a tokenizer and token embeddings has a vocabulary to prune")
    description = json.loads(start.tokenizer.to_str())
    if description["model"]["type"] != "WordPiece":
        raise ConfigError(f"the tokenizer is {description['model']['type']}; only WordPiece can be pruned")
    special = {entry["content"] for entry in description["added_tokens"]}
    vocabulary = sorted(description["model"]["vocab"].items(), key=lambda item: item[1])
    kept = [(piece, number) for piece, number in vocabulary if piece in special or keep(piece)]
    renumbered = {piece: new for new, (piece, _) in enumerate(kept)}
    description["model"]["vocab"] = renumbered
    for entry in description["added_tokens"]:
        entry["id"] = renumbered[entry["content"]]
    processor = description.get("post_processor") or {}
    for entry in processor.get("special_tokens", {}).values():
        entry["ids"] = [renumbered[token] for token in entry["tokens"]]
    for name in ("sep", "cls"):
        if isinstance(processor.get(name), list):
            processor[name][1] = renumbered[processor[name][0]]
    words = start.encoder.embeddings.word_embeddings.weight.detach()
    pad = renumbered[vocabulary[start.encoder.config.pad_token_id][0]]
    config = replace(start.encoder.config, vocab_size=len(kept), pad_token_id=pad)
    encoder = Encoder(config)
    state = start.encoder.state_dict()
    rows = words[torch.tensor([number for _, number in kept])]
    state["embeddings.word_embeddings.weight"] = rows
    encoder.load_state_dict(state)
    return Pretrained(encoder.eval(), Tokenizer.from_str(json.dumps(description)), start.pooler, None)

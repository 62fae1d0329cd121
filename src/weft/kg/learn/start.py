"""What a training of text starts from: the encoder of a BERT directory, or of a model of text."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch

from weft.encoder.checkpoint.pretrained import load_pretrained
from weft.encoder.encoder import Encoder
from weft.encoder.heads import MLMHead
from weft.errors import CheckpointError
from weft.kg.dataset.tokens import MASK, UNKNOWN
from weft.kg.extraction.model import TEXT_KIND, model_kind
from weft.kg.model.entity_graph import EntityGraphModel
from weft.platform.models import find_model


@dataclass(frozen=True)
class Start:
    """A trained encoder, with the embeddings of our masks and unknown tokens in their rows.

    Args:
        encoder: In eval mode.
        mlm: Its head for masked tokens; None where it has none.
        model: The whole model, where it is one of text.
        folder: Where it lies.
    """

    encoder: Encoder
    mlm: MLMHead | None
    model: EntityGraphModel | None
    folder: Path


def load_start(place: str | Path, vocab_size: int) -> Start:
    """Read what a training starts from.

    Args:
        place: A BERT directory, the folder of a model of text, or the name of a shipped one.
        vocab_size: Of the data set, whose vocabulary must be the start's.

    Raises:
        CheckpointError: It is none of these, or of another vocabulary.
    """
    folder = find_model("kg", place)
    if model_kind(folder) == TEXT_KIND:
        model = EntityGraphModel.load(folder)
        start = Start(model.encoder, None, model, folder)
    else:
        read = load_pretrained(folder)
        start = Start(read.encoder, read.mlm_head, None, folder)
        table = read.encoder.get_parameter("embeddings.word_embeddings.weight")
        with torch.no_grad():
            for ours, theirs in ((MASK, "[MASK]"), (UNKNOWN, "[UNK]")):
                number = None if read.tokenizer is None else read.tokenizer.token_to_id(theirs)
                if number is not None:
                    table[ours] = table[number]
    found = start.encoder.config.vocab_size
    if found != vocab_size:
        raise CheckpointError(
            f"a vocabulary of {found} tokens; the data set's has {vocab_size}",
            where=str(folder),
            hint="build the data set with `--vocabulary` and this directory",
        )
    return start

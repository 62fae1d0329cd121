"""Training of the tagger: which words of a text name what it judges, and which ones judge."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple, cast

import torch
from torch import Tensor, nn

from weft.absa.model.build import build_model
from weft.absa.model.terms import TAGS, TermTagger, tag_loss
from weft.absa.model.weft_absa import WeftAbsa
from weft.absa.read.reviews import Review
from weft.absa.use.asker import Asker
from weft.errors import ConfigError, InputError, with_article
from weft.train.batching import Batches, LengthBuckets, pad
from weft.train.config import TrainConfig
from weft.train.course import Course
from weft.train.distributed import World

Span = tuple[int, int]


@dataclass(frozen=True)
class Marked:
    """A text with its terms marked.

    Args:
        text: The text.
        terms: First character and last + 1 of each term.
        opinions: Of the judging words; None where nobody marked them.
    """

    text: str
    terms: tuple[Span, ...]
    opinions: tuple[Span, ...] | None = None


class Tagged(NamedTuple):
    """A batch: ``tags (texts, seq)``, -1 where a token does not count; ``complete (texts,)``, see :func:`tag_loss`."""

    input_ids: Tensor
    attention_mask: Tensor
    tags: Tensor
    complete: Tensor


def marked(reviews: Iterable[Review], opinions: bool = False) -> list[Marked]:
    """The reviews with every whole-word mention of their terms marked, in any letter case.

    Args:
        reviews: Of a source that names what is judged.
        opinions: Whether the source marks the judging words, too; a text of which it names none has none.
    """
    found: list[Marked] = []
    for review in reviews:
        terms = _places(review.text, {o.term for o in review.opinions if o.term})
        words = _places(review.text, {o.words for o in review.opinions if o.words}) if opinions else None
        found.append(Marked(review.text, terms, words))
    return found


def _places(text: str, words: set[str]) -> tuple[Span, ...]:
    """Where the words stand; of two that overlap the longer."""
    spans: list[Span] = []
    for word in sorted(words, key=len, reverse=True):
        for match in re.finditer(rf"(?<!\w){re.escape(word)}(?!\w)", text, re.IGNORECASE):
            if all(match.end() <= start or match.start() >= stop for start, stop in spans):
                spans.append(match.span())
    return tuple(sorted(spans))


def with_tagger(asker: Asker, layers: int) -> Asker:
    """The same model with a tagger, untrained, on top of its frozen layers; no threshold of another one is kept.

    Raises:
        ConfigError: The model's kind has no frozen layers.
    """
    if not isinstance(asker.module, WeftAbsa):
        raise ConfigError(f"{with_article(asker.config.kind)} has no frozen layers for a tagger to stand on")
    options = replace(asker.config.options, term_layers=layers)
    config = replace(asker.config, options=options, outside=0.0, term_threshold=None)
    module = cast(WeftAbsa, build_model(config))
    module.load_state_dict(asker.module.state_dict(), strict=False)
    # The frozen stack has the pretrained layers; the trained ones above are about answers.
    assert module.terms is not None  # layers > 0
    below = options.term_depth - max(0, options.frozen_layers)
    module.terms = TermTagger(asker.config.encoder, [*module.anchor][below : below + layers])
    module.terms.requires_grad_(True)
    return Asker(module, asker.tokenizer)


def train_tagger(
    asker: Asker,
    texts: Sequence[Marked],
    config: TrainConfig,
    directory: Path | None = None,
    identity: Mapping[str, str] | None = None,
) -> None:
    """Train the tagger of a model in place; all else stays as it is.

    Args:
        asker: The model.
        texts: What it learns from.
        config: How to train.
        directory: Of checkpoints and log; None keeps nothing on disk.
        identity: See :func:`weft.train.loop.fit`.

    Raises:
        ConfigError: The model has no tagger.
        InputError: No texts.
    """
    module = asker.module
    if not isinstance(module, WeftAbsa) or module.terms is None:
        raise ConfigError("the model has no tagger: see with_tagger")
    if not texts:
        raise InputError("no texts to train the tagger on")
    lengths = [len(asker.representation.pieces(text.text).ids) for text in texts]
    limit = asker.config.options.max_length

    def collate(indices: list[int], _generator: torch.Generator) -> Tagged:
        return _tagged(asker, [texts[index] for index in indices])

    world, seed = World.launched(), config.seed
    lengths = [min(length, limit) for length in lengths]
    plan = LengthBuckets(lengths, config.batch_size, seed=seed, rank=world.rank, world_size=world.size)
    batches = Batches(plan, collate, seed=seed, rank=world.rank, prefetch=4)

    def loss(model: nn.Module, batch: Tagged) -> Mapping[str, Tensor]:
        logits = cast(_Tagging, model)(batch.input_ids, batch.attention_mask)
        return {"loss": tag_loss(logits, batch.tags, batch.complete)}

    Course(_Tagging(module), batches, loss, config).run(directory, identity=identity)


class _Tagging(nn.Module):
    """The tagger with the frozen layers that it stands on, which are no part of what is trained."""

    def __init__(self, model: WeftAbsa) -> None:
        super().__init__()
        self.terms = model.terms
        self._model = [model]  # in a list it is no submodule

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """The logits of :meth:`WeftAbsa.tag`."""
        return self._model[0].tag(input_ids, attention_mask)


def _tagged(asker: Asker, texts: Sequence[Marked]) -> Tagged:
    representation = asker.representation
    pieces = [representation.cut(representation.pieces(text.text)) for text in texts]
    ids, mask = pad([list(piece.ids) for piece in pieces], representation.pad_id)
    tags = torch.full(ids.shape, -1)
    for row, (text, piece) in enumerate(zip(texts, pieces, strict=True)):
        for column, (start, stop) in enumerate(piece.offsets):
            if stop > start:
                tags[row, column] = _tag(text, start, stop)
    return Tagged(ids, mask, tags, torch.tensor([text.opinions is not None for text in texts]))


def _tag(text: Marked, start: int, stop: int) -> int:
    for name, spans in (("term", text.terms), ("opinion", text.opinions or ())):
        for begin, end in spans:
            if start < end and stop > begin:
                return TAGS.index(f"{'B' if start <= begin else 'I'}-{name}")
    return 0

"""Texts and questions as tensors: every text once, with all the questions asked of it.

A *view* is a text as seen from one target; the aspects asked of a view are its *slots*::

    texts (texts, seq)  →  views (views,): text and target  →  slots (views, slots): aspect
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import Self

import torch
from tokenizers import Tokenizer
from torch import Tensor

from weft.absa.records import UNKNOWN, Sentence
from weft.absa.represent.meant import as_read, read_otherwise
from weft.absa.represent.slips import Slip
from weft.absa.represent.speakers import without_speakers
from weft.absa.represent.targets import mentioning, target_positions
from weft.encoder.embeddings import TokenInputs
from weft.errors import ConfigError, InputError
from weft.train.batching import pad

_HALVES = re.compile("[\ud800-\udfff]")
_SEPARATORS = re.compile(r"[-_/]+")
_GLOSS = re.compile("[,;]")
UNLABELLED = -100
"""The label of a question without an answer, which cross-entropies leave out."""


@dataclass(frozen=True)
class _Batch:
    """Tensors that go from device to device together; those that are not there are None."""

    def to(self, device: torch.device | str) -> Self:
        """The same batch on another device."""
        moved = {
            field.name: value.to(device, non_blocking=True)
            for field in fields(self)
            if (value := getattr(self, field.name)) is not None
        }
        return replace(self, **moved)


@dataclass(frozen=True)
class Questions(_Batch):
    """A batch of texts with their questions.

    Args:
        input_ids: ``(texts, seq)``.
        attention_mask: ``(texts, seq)`` bool.
        view_text: ``(views,)`` the text of every view.
        target_mask: ``(views, seq)`` bool, the tokens of the view's target; a row without any asks about
            the whole text.
        slot_aspect: ``(views, slots)`` the aspect of every slot; 0 where the slot is empty.
        slot_mask: ``(views, slots)`` bool.
        aspect_ids: ``(aspects, aspect_seq)`` the words of the batch's distinct aspects.
        aspect_mask: ``(aspects, aspect_seq)`` bool.
        aspect_known: ``(aspects,)`` bool, whether the model was trained on the aspect.
        context_view: ``(contexts,)`` the view of every question, in the order in which they were asked.
        context_slot: ``(contexts,)`` its slot.
        labels: ``(contexts,)`` gold classes, :data:`UNLABELLED` where nobody knows; or None.
        aspect_part: ``(rows,)`` where an aspect may have several rows of ``aspect_ids``, its name first and then the
            parts of its gloss: the aspect of each row, ascending. None where every aspect is one row.
    """

    input_ids: Tensor
    attention_mask: Tensor
    view_text: Tensor
    target_mask: Tensor
    slot_aspect: Tensor
    slot_mask: Tensor
    aspect_ids: Tensor
    aspect_mask: Tensor
    aspect_known: Tensor
    context_view: Tensor
    context_slot: Tensor
    labels: Tensor | None = None
    aspect_part: Tensor | None = None

    @property
    def context_text(self) -> Tensor:
        """``(contexts,)`` the text of every question."""
        return self.view_text[self.context_view]

    @property
    def context_aspect(self) -> Tensor:
        """``(contexts,)`` the aspect of every question."""
        return self.slot_aspect[self.context_view, self.context_slot]


@dataclass(frozen=True)
class Pairs(_Batch):
    """The same questions as sentence pairs, ``[CLS] text [SEP] target aspect [SEP]``, one row each.

    Args:
        input_ids: ``(contexts, seq)``.
        token_type_ids: ``(contexts, seq)``, 1 in the second part.
        attention_mask: ``(contexts, seq)`` bool.
        context_ids: ``(contexts,)`` number of the (target, aspect) among the model's fixed contexts.
        labels: ``(contexts,)`` gold classes, or None.
    """

    input_ids: Tensor
    token_type_ids: Tensor
    attention_mask: Tensor
    context_ids: Tensor
    labels: Tensor | None = None

    def inputs(self, types: int) -> TokenInputs:
        """What an encoder reads; without the second part's type where it has fewer than two (RoBERTa, MPNet)."""
        return TokenInputs(self.input_ids, self.token_type_ids if types > 1 else None)


@dataclass(frozen=True)
class Pieces:
    """A tokenised text: ids with ``[CLS]`` and ``[SEP]``, and the characters of every token."""

    ids: tuple[int, ...]
    offsets: tuple[tuple[int, int], ...]


class Representation:
    """Turns sentences into tensors for every kind of model.

    Args:
        tokenizer: A tokenizer whose template adds ``[CLS]`` and ``[SEP]``.
        polarities: The classes, to number the labels.
        aspects: The aspects that the model is trained on.
        max_length: Tokens of a text, ``[CLS]`` and ``[SEP]`` included; the rest is cut.
        pad_id: The id that pads.
        parts: Whether each part of an aspect's gloss is read by itself, and the aspect is known by its name.
        as_meant: Whether slips of the keyboard and ratings are read as what is meant, in texts and aspects.
        own: Words that are right as they are, beside those of the lists, see
            :func:`weft.absa.represent.slips.own_words`.
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        polarities: Sequence[str],
        aspects: Sequence[str] = (),
        max_length: int = 128,
        pad_id: int = 0,
        parts: bool = False,
        as_meant: bool = False,
        own: frozenset[str] = frozenset(),
    ) -> None:
        if max_length < 8:
            raise ConfigError(f"max_length is {max_length}; it must be at least 8")
        tokenizer.no_truncation()
        tokenizer.no_padding()
        _one_piece(tokenizer, "[MASK]")
        self.tokenizer = tokenizer
        self.polarities = tuple(polarities)
        self.aspects = tuple(aspects)
        self.max_length = max_length
        self.pad_id = pad_id
        self.parts = parts
        self.as_meant = as_meant
        self.own = own
        self._known = frozenset(map(aspect_words, aspects))
        self._number = {name: index for index, name in enumerate(self.polarities)}
        # The same sentence comes back every epoch, the same aspect in every batch. A text takes 6 KiB here:
        # more of them than this would be seen in the memory of a long table.
        self._pieces = lru_cache(maxsize=1 << 12)(self._tokenise)
        self._unknown = tokenizer.token_to_id("[UNK]")
        self._known_characters = lru_cache(maxsize=1 << 12)(self._is_known)

    def __reduce__(self) -> tuple[type[Representation], tuple[object, ...]]:
        """What is remembered stays in its process."""
        options = self.max_length, self.pad_id, self.parts, self.as_meant, self.own
        return Representation, (self.tokenizer, self.polarities, self.aspects, *options)

    def pieces(self, text: str) -> Pieces:
        """The whole text's tokens, however long it is."""
        return self._pieces(text)

    def _tokenise(self, text: str) -> Pieces:
        broken = None if text.isascii() else _HALVES.search(text)
        if broken:
            raise InputError(
                f"the text is not UTF-8: character {broken.start() + 1} is half of a pair",
                hint="read it with the encoding that it was written in",
            )
        written, places = as_read(text, self._known_characters, self.as_meant, self.own)
        encoding = self.tokenizer.encode(written)
        offsets = encoding.offsets
        if places is not None:
            offsets = [
                (places[start][0], places[end - 1][1]) if end > start else (0, 0) for start, end in offsets
            ]
        return Pieces(tuple(encoding.ids), tuple(offsets))

    def unlabelled(self, text: str) -> str:
        """A text before it is cut: a part may hold too little of a conversation to be one."""
        return without_speakers(text) if self.as_meant else text

    def mended(self, text: str) -> list[Slip]:
        """The words and ratings of a text that are read as other words, in its own characters."""
        return read_otherwise(text, self._known_characters, self.own) if self.as_meant else []

    def positions(self, text: str, target: str | None) -> list[int]:
        """The tokens of a text that mention a target."""
        return target_positions(text, target, self.pieces(text).offsets, self.as_meant, self.own)

    def mentioning(
        self, text: str, target: str | None, begins: Sequence[int], windows: Sequence[str]
    ) -> list[bool]:
        """Which windows of a text mention a target: see :func:`weft.absa.represent.targets.mentioning`."""
        return mentioning(text, target, begins, windows, self.as_meant, self.own)

    def _is_known(self, character: str) -> bool:
        return self._unknown not in self.tokenizer.encode(character, add_special_tokens=False).ids

    def questions(self, sentences: Sequence[Sentence]) -> Questions:
        """One batch for the models that encode a text once.

        Raises:
            InputError: No question is asked, or a polarity is not one of the model's.
        """
        texts = [self.cut(self.pieces(sentence.text)) for sentence in sentences]
        input_ids, attention_mask = self.padded([piece.ids for piece in texts])
        aspects: dict[str, int] = {}
        view_text: list[int] = []
        slots: list[list[int]] = []
        places: list[tuple[int, int]] = []
        target_tokens: list[list[int]] = []
        for number, (sentence, piece) in enumerate(zip(sentences, texts, strict=True)):
            place: dict[int, tuple[int, int]] = {}
            for target, members in sentence.groups().items():
                place.update((index, (len(slots), slot)) for slot, index in enumerate(members))
                view_text.append(number)
                target_tokens.append(
                    target_positions(sentence.text, target, piece.offsets, self.as_meant, self.own)
                )
                slots.append(
                    [
                        aspects.setdefault(aspect_words(sentence.contexts[index].aspect), len(aspects))
                        for index in members
                    ]
                )
            places += [place[index] for index in range(len(sentence.contexts))]
        if not places:
            raise InputError("no aspect is asked about")
        target_mask = torch.zeros(len(slots), input_ids.shape[1], dtype=torch.bool)
        for row, positions in enumerate(target_tokens):
            target_mask[row, positions] = True
        slot_aspect, slot_mask = pad(slots, 0)
        parts = [self._parts(words) for words in aspects]
        aspect_ids, aspect_mask = self.rows([part for of_one in parts for part in of_one])
        several = torch.tensor([number for number, of_one in enumerate(parts) for _ in of_one])
        view, slot = zip(*places, strict=True)
        return Questions(
            input_ids,
            attention_mask,
            torch.tensor(view_text),
            target_mask,
            slot_aspect,
            slot_mask,
            aspect_ids,
            aspect_mask,
            torch.tensor([of_one[0] in self._known for of_one in parts]),
            torch.tensor(view),
            torch.tensor(slot),
            self._labels(sentences),
            several if len(several) > len(parts) else None,
        )

    def _parts(self, words: str) -> list[str]:
        return aspect_parts(words) if self.parts and words not in self._known else [words]

    def pairs(
        self,
        sentences: Sequence[Sentence],
        contexts: Mapping[tuple[str | None, str], int] | None = None,
        second: bool = True,
    ) -> Pairs:
        """One batch for the models that read text and question together.

        Args:
            sentences: The texts and questions.
            contexts: Numbers of the fixed (target, aspect) contexts; 0 everywhere where None.
            second: Whether the question follows the text; without it the context's number is all there is.

        Raises:
            InputError: No question is asked, a polarity is not one of the model's, or a context is not
                among the fixed ones.
        """
        rows: list[tuple[int, ...]] = []
        seconds: list[int] = []
        numbers: list[int] = []
        for sentence in sentences:
            first = self.pieces(sentence.text).ids
            for context in sentence.contexts:
                question = aspect_words(context.aspect)
                words = question if context.target is None else f"{context.target} - {question}"
                asked = self.cut(self.pieces(words)).ids[1:] if second else ()
                kept = first[:-1][: max(2, self.max_length - 1)] + first[-1:]
                rows.append(kept + asked)
                seconds.append(len(kept))
                numbers.append(self._context_number(context.target, question, contexts))
        if not rows:
            raise InputError("no aspect is asked about")
        input_ids, attention_mask = self.padded(rows)
        column = torch.arange(input_ids.shape[1])
        token_type_ids = ((column >= torch.tensor(seconds)[:, None]) & attention_mask).long()
        return Pairs(
            input_ids, token_type_ids, attention_mask, torch.tensor(numbers), self._labels(sentences)
        )

    def _context_number(
        self, target: str | None, aspect: str, contexts: Mapping[tuple[str | None, str], int] | None
    ) -> int:
        if contexts is None:
            return 0
        if (target, aspect) not in contexts:
            known = ", ".join(f"{t or '–'}/{a}" for t, a in contexts)
            raise InputError(f"the context {target or '–'}/{aspect} is not one of the model's: {known}")
        return contexts[target, aspect]

    def cut(self, pieces: Pieces) -> Pieces:
        """The tokens that the model reads at once, the end mark kept."""
        if len(pieces.ids) <= self.max_length:
            return pieces
        return Pieces(
            pieces.ids[: self.max_length - 1] + pieces.ids[-1:],
            pieces.offsets[: self.max_length - 1] + pieces.offsets[-1:],
        )

    def rows(self, texts: Sequence[str]) -> tuple[Tensor, Tensor]:
        """Ids and mask ``(texts, seq)`` of texts without questions, cut to what the model reads at once."""
        return self.padded([self.cut(self.pieces(text)).ids for text in texts])

    def padded(self, rows: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
        """Ids and mask ``(rows, seq)``."""
        return pad(rows, self.pad_id)

    def _labels(self, sentences: Sequence[Sentence]) -> Tensor | None:
        if not all(sentence.polarities for sentence in sentences):
            return None
        labels: list[int] = []
        for sentence in sentences:
            for polarity in sentence.polarities:
                if polarity == UNKNOWN:
                    labels.append(UNLABELLED)
                    continue
                if polarity not in self._number:
                    raise InputError(
                        f"polarity {polarity!r} is not one of the model's: {', '.join(self.polarities)}",
                        where=sentence.where or None,
                    )
                labels.append(self._number[polarity])
        return torch.tensor(labels)


def _one_piece(tokenizer: Tokenizer, word: str) -> None:
    """Let a word of the vocabulary be one piece where it stands in a text: MPNet's knows ``[MASK]`` beside its own."""
    number = tokenizer.token_to_id(word)
    if number is not None and tokenizer.encode(word, add_special_tokens=False).ids != [number]:
        tokenizer.add_special_tokens([word])


def aspect_words(aspect: str) -> str:
    """The aspect as words: ``"transit-location"`` becomes ``"transit location"``."""
    return _SEPARATORS.sub(" ", aspect).strip().lower() or aspect.strip()


def aspect_parts(words: str) -> list[str]:
    """The name of an aspect and the parts of its gloss: ``"pace: speed, delays"`` has three."""
    name, _, gloss = words.partition(":")
    found = [part.strip() for part in (name, *_GLOSS.split(gloss))]
    return [part for part in found if part] or [words]

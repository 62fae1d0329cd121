"""Which category a term belongs to, by its words and by what the sentence says around it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from weft.absa.find.domain import Category, Phrases
from weft.absa.model.weft_absa import WeftAbsa
from weft.absa.use.asker import Asker
from weft.encoder.checkpoint.int8 import Int8Storage, as_floats
from weft.encoder.checkpoint.tensors import read_safetensors, write_safetensors

Floats = NDArray[np.float32]
LEARNT = "grouping.safetensors"
_ROWS = 64
"""Sentences of one pass."""
_REMEMBERED = 20_000
"""Most terms that are remembered: a table is a stream."""
_SAME = 0.995
"""Cosine of the probe by which a model's frozen layers are those that the weights were fitted on."""
PROBE = "the keys of our room were handed over at the desk"


class Said(NamedTuple):
    """A term where it stands.

    Args:
        term: Its words as they are read.
        sentence: What is said around it.
        start: Its first character in the sentence.
        stop: Behind its last.
    """

    term: str
    sentence: str
    start: int
    stop: int


@dataclass(frozen=True)
class Learnt:
    """What was fitted on labelled terms (``recipes/absa_any_grouping.py``).

    Args:
        likeness: ``(4,)``, the weights w and b for categories of any kind.
        weights: ``(2,)``, w_1 and w_2 beside the map, for the common categories.
        map: ``(categories + 1, hidden)``, W; the last row is that of no category.
        bias: ``(1,)``, b beside the map.
        basis: ``(basis, hidden)``, the directions in which the words of the common categories differ most.
        phrases: ``(phrases, basis)``, the names and words of the common categories in that basis.
        glosses: ``(categories, basis)``, and all words of each.
        probe: ``(hidden,)``, what the frozen layers that it was fitted on make of :data:`PROBE`.
        of: ``(32,)`` uint8, :func:`digest` of the common categories.
    """

    likeness: Floats
    weights: Floats
    map: Floats
    bias: Floats
    basis: Floats
    phrases: Floats
    glosses: Floats
    probe: Floats
    of: NDArray[np.uint8]


_BITS = 4
"""How fine matrices are stored: fifteen values, which a wheel packs to half a byte."""


def write_learnt(path: Path, values: Learnt) -> None:
    """Store weights, matrices as :class:`weft.encoder.checkpoint.int8.Int8Storage` has them."""
    tensors = {name: torch.from_numpy(value.copy()) for name, value in vars(values).items()}
    write_safetensors(path, Int8Storage(tensors, _BITS).state_dict())


def read_learnt(path: Path) -> Learnt:
    """Weights of a file."""
    return Learnt(**{name: value.numpy() for name, value in as_floats(read_safetensors(path)).items()})


@lru_cache(maxsize=1)
def learnt() -> Learnt:
    """The weights that come with weft."""
    with as_file(files("weft.absa.find").joinpath(LEARNT)) as path:
        return read_learnt(path)


def digest(categories: Sequence[Category]) -> NDArray[np.uint8]:
    """What tells two lists of categories apart."""
    told = "\n".join(gloss(category) for category in categories)
    return np.frombuffer(sha256(told.encode()).digest(), np.uint8)


class Vectors(NamedTuple):
    """What the frozen layers make of terms, each of length 1, ``(terms, hidden)``.

    Args:
        alone: Of the words of the term.
        there: Of its tokens where it stands.
        sentence: Of all of the sentence.
    """

    alone: Floats
    there: Floats
    sentence: Floats


class Grouping:
    """Puts terms into categories, each by what is said around it: "windows" of a train are none of a program.

    A category c has a score, and the best is the term's, where it is above that of no category (n)::

        common:    s_c = w_1 · max_p t·p  +  w_2 · x·g_c  +  W_c h           s_n = W_n h + b
        a user's:  s_c = w_1 · max_p t·p  +  w_2 · x·g_c  +  w_3 · h·g_c     s_n = b

    t is what the frozen layers make of the term's words, x of its sentence, h of its tokens in the sentence; p of a
    name or a word of the category, g_c of its name and all its words, each of length 1. All weights were fitted on
    labelled terms. The p and g of the common categories are stored, in a basis of their own. Of a user's categories
    decides first what the term holds of their names and phrases (:class:`~weft.absa.find.domain.Phrases`), and only
    then s.

    Args:
        asker: The model whose frozen layers read terms, sentences and categories.
        categories: The categories; the first that fits best wins.
        weights: Fitted weights; those that come with weft where None.
    """

    def __init__(self, asker: Asker, categories: Sequence[Category], weights: Learnt | None = None) -> None:
        self.categories = list(categories)
        self._asker = asker
        self._alone: dict[str, Floats] = {}
        self._learnt = learnt() if weights is None else weights
        counts = [1 + len(category.words) for category in self.categories]
        self._firsts = np.cumsum([0, *counts[:-1]])
        common = bool((digest(self.categories) == self._learnt.of).all())
        self.mapped = common and self._is_of_these_layers()
        if self.mapped:
            # To read seven hundred words at each start would take seconds.
            self._phrases, self._glosses = self._learnt.phrases, self._learnt.glosses
        else:
            self._phrases = self.read([text for c in self.categories for text in (c.name, *c.words)])
            self._glosses = self.read([gloss(category) for category in self.categories])
        self._by_words = None if self.mapped else Phrases(self.categories)

    def __call__(self, terms: Sequence[Said]) -> list[str | None]:
        """The category's name of each term, None where none fits."""
        found: list[int | None] = [None] * len(terms)
        if self._by_words is not None:
            found = [self._by_words(said.term) for said in terms]
        open_ = [place for place, number in enumerate(found) if number is None]
        if open_:
            scores = self.scores(self.vectors([terms[place] for place in open_]))
            for place, best in zip(open_, scores.argmax(axis=1).tolist(), strict=True):
                found[place] = best if best < len(self.categories) else None
        return [None if number is None else self.categories[number].name for number in found]

    def scores(self, of: Vectors) -> Floats:
        """``(terms, categories + 1)``, s of each category and, last, of none."""
        own = self._learnt
        if not self.mapped:
            near = likest(of.alone @ self._phrases.T, self._firsts)
            around = of.sentence @ self._glosses.T
            there = of.there @ self._glosses.T
            scores = own.likeness[0] * near + own.likeness[1] * around + own.likeness[2] * there
            none = np.full((len(scores), 1), own.likeness[3], np.float32)
            return np.asarray(np.concatenate([scores, none], axis=1), np.float32)
        near = likest(of.alone @ own.basis.T @ self._phrases.T, self._firsts)
        around = of.sentence @ own.basis.T @ self._glosses.T
        none = np.broadcast_to(own.bias, (len(near), 1))
        named = np.concatenate([own.weights[0] * near + own.weights[1] * around, none], axis=1)
        return np.asarray(named + of.there @ own.map.T, np.float32)

    def vectors(self, terms: Sequence[Said]) -> Vectors:
        """What the frozen layers make of terms and of what is said around them."""
        words = dict.fromkeys(said.term.lower() for said in terms)
        if len(self._alone) > _REMEMBERED:
            self._alone.clear()
        fresh = [word for word in words if word not in self._alone]
        self._alone.update(zip(fresh, self.read(fresh), strict=True))
        alone = np.stack([self._alone[said.term.lower()] for said in terms])
        there, sentence = np.empty_like(alone), np.empty_like(alone)
        places: dict[str, list[int]] = {}
        for place, said in enumerate(terms):
            places.setdefault(said.sentence, []).append(place)
        for text, states, offsets in self._states(list(places)):
            sentence[places[text]] = _unit(_inner(states).mean(axis=0))
            for place in places[text]:
                begin, end = terms[place].start, terms[place].stop
                own = [n for n, (start, stop) in enumerate(offsets) if max(start, begin) < min(stop, end)]
                # A term behind what the model reads at once has no states there.
                there[place] = _unit(states[own].mean(axis=0)) if own else alone[place]
        return Vectors(alone, there, sentence)

    def read(self, texts: Sequence[str]) -> Floats:
        """``(texts, hidden)``, the mean of what the frozen layers make of words, of length 1."""
        found = {text: _unit(_inner(states).mean(axis=0)) for text, states, _ in self._states(texts)}
        return np.array([found[text] for text in texts], np.float32).reshape(len(texts), self._hidden)

    def _states(self, texts: Sequence[str]) -> Iterator[tuple[str, Floats, Sequence[tuple[int, int]]]]:
        """Each text with the states of its tokens, ``(seq, hidden)``, and where these stand; the shortest first."""
        module, of = self._module, self._asker.representation
        pieces = {text: of.cut(of.pieces(text)) for text in dict.fromkeys(texts)}
        order = sorted(pieces, key=lambda text: len(pieces[text].ids))
        for first in range(0, len(order), _ROWS):
            some = order[first : first + _ROWS]
            ids, mask = of.padded([pieces[text].ids for text in some])
            with torch.no_grad():
                states = module.frozen_states(
                    ids.to(self._asker.device), mask.to(self._asker.device), module.frozen_depth
                )
            for text, row in zip(some, states.float().cpu().numpy(), strict=True):
                yield text, row[: len(pieces[text].ids)], pieces[text].offsets

    def _is_of_these_layers(self) -> bool:
        """Whether the model's frozen layers are those that the map was fitted on."""
        probe = self._learnt.probe
        return len(probe) == self._hidden and float(self.read([PROBE])[0] @ probe) >= _SAME

    @property
    def _hidden(self) -> int:
        return self._module.config.encoder.hidden_size

    @property
    def _module(self) -> WeftAbsa:
        module = self._asker.module
        assert isinstance(module, WeftAbsa)  # a Finder has no other
        return module


def likest(cosines: NDArray[Any], firsts: NDArray[np.int64]) -> Floats:
    """``(terms, categories)``, of the cosines ``(terms, phrases)`` the largest of each category."""
    return np.asarray(np.maximum.reduceat(cosines, firsts, axis=1), np.float32)


def gloss(category: Category) -> str:
    """A category in words, all of them."""
    return f"{category.name}: {', '.join(category.words)}" if category.words else category.name


def _inner(states: Floats) -> Floats:
    """Without the marks at both ends; all where there are no others."""
    return states[1:-1] if len(states) > 2 else states


def _unit(vector: Floats) -> Floats:
    return vector / max(float(np.linalg.norm(vector)), 1e-9)

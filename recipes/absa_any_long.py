"""Whole reviews written for training: ``long.jsonl``, ``compared.jsonl`` and ``districts.jsonl`` of ``absa_any``.

A text of forty to three hundred words, and what it says of some ten aspects, half of which it does not judge: of the
whole (``said``), or of two things that it names (``of``). Districts are named anew in half of the draws.
``short.jsonl`` has texts of one to three sentences with some five aspects each; in half of the draws two things change
their names, where no word tells a man from a woman. ``voices.jsonl`` has texts of that length in which it matters who
says it, when, and whether at all: questions, what others say, then and now, conditions and plans, talk between two,
plain facts. ``turns.jsonl``: texts in which words mislead, by denial, irony or what they imply, and of aspects that lie
near each other. ``against.jsonl``: texts that judge beside something else, a rival, or how it was.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from random import Random

from absa_any_lists import LISTS, read_names
from absa_any_told import POLARITY_OF

from weft.absa.learn.augment import rename
from weft.absa.read.sentihood import TARGETS
from weft.absa.records import Context, Sentence

FILES = ("long.jsonl", "compared.jsonl", "districts.jsonl")
SHORT_TEXTS = "short.jsonl"
VOICES = "voices.jsonl"
TURNS = "turns.jsonl"
AGAINST = "against.jsonl"
EVERY = (*FILES, SHORT_TEXTS, VOICES, TURNS, AGAINST)
NEW = tuple(name.removesuffix(".jsonl") for name in (VOICES, TURNS, AGAINST))
"""The lists that no teacher knows."""
_ASKED = 10
"""Questions of a text that are asked at once."""
_TERMS = 0.4
"""How often an aspect that stands in the text is asked as a term."""
_PLACES = "districts.jsonl"
_TELLING = re.compile(
    r"\b(?:he|him|his|she|her|hers|mr|mrs|ms|miss|dr|herr|frau|señora?|madame)\b", re.IGNORECASE
)
"""Words by which two names are not each other's."""


@dataclass(frozen=True)
class Long:
    """A review with its answers; ``chooses`` of every tenth of a file, which is never trained on.

    ``names`` are those that its things may get in place of their own; none where they keep them. ``swaps``: or each
    other's.
    """

    kind: str
    text: str
    said: dict[Context, str]
    chooses: bool
    names: tuple[str, ...] = ()
    swaps: bool = False
    where: str = "long"

    def drawn(self, random: Random) -> Sentence:
        """The review with some of its questions."""
        asked = random.sample(list(self.said), min(len(self.said), _ASKED))
        contexts = tuple(self._as_term(context, random) for context in asked)
        drawn = Sentence(self.text, contexts, tuple(self.said[context] for context in asked), self.where)
        targets = sorted({context.target for context in asked if context.target is not None})
        if self.swaps and len(targets) == 2 and random.random() < 0.5:
            return rename(drawn, dict(zip(targets, reversed(targets), strict=True)))
        if not self.names or random.random() < 0.5:
            return drawn
        names = list(TARGETS) if random.random() < 0.5 else random.sample(self.names, 2)
        random.shuffle(names)
        return rename(drawn, dict(zip(targets, names, strict=False)))

    def _as_term(self, context: Context, random: Random) -> Context:
        """Of the lists that no teacher knows, an aspect that stands in the text is asked as a term in some draws.

        So ``weft absa find`` asks: what is felt about these words. They are found as they stand.
        """
        if self.where not in NEW or context.target is not None or random.random() > _TERMS:
            return context
        found = re.search(rf"\b{re.escape(context.aspect)}\b", self.text, re.IGNORECASE)
        return context if found is None else Context("general", found.group())

    def whole(self) -> Sentence:
        """The review with all of them."""
        return Sentence(self.text, tuple(self.said), tuple(self.said.values()), self.where)


def read_long(name: str = FILES[0]) -> list[Long]:
    """The reviews of a file."""
    lines = [json.loads(line) for line in (LISTS / name).read_text(encoding="utf-8").splitlines()]
    names = tuple(read_names()["city"]) if name == _PLACES else ()
    return [
        Long(
            line["kind"],
            line["text"],
            {
                Context(aspect, target): POLARITY_OF[sign]
                for target, said in (line["of"] if "of" in line else {None: line["said"]}).items()
                for aspect, sign in said.items()
            },
            number % 10 == 7,
            names,
            name in (SHORT_TEXTS, TURNS, AGAINST) and _swaps(line["text"], list(line.get("of", ()))),
            name.removesuffix(".jsonl"),
        )
        for number, line in enumerate(lines)
    ]


def is_new(sentence: Sentence) -> bool:
    """Whether a drawn sentence is of a list that no teacher knows."""
    return sentence.where in NEW


def _swaps(text: str, targets: list[str]) -> bool:
    """Whether the two things of a text can change names: both stand as they are, neither in the other."""
    if len(targets) != 2 or _TELLING.search(text) or any(not target[0].isupper() for target in targets):
        return False
    first, second = (target.lower() for target in targets)
    return first not in second and second not in first

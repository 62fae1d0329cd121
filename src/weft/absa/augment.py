"""Training texts that make the target matter: renamed targets, and two texts as one.

In two thirds of SentiHood's two-target texts both targets have the same labels, so a model learns to
look at the aspect and not at the target. Two texts about one target each, joined, have independent
labels: the only way to be right is to look at the one that is asked about.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch

from weft.absa.records import Context, Sentence
from weft.errors import ConfigError

_JOINTS = (" ", ". ", ", but ", ", and ", "; ", " while ")


@dataclass(frozen=True)
class Augmentation:
    """How often each change is made.

    Args:
        concatenate: Probability that a text with one target is joined with another such text.
        swap: Probability that the two placeholder names are exchanged in text and questions.
        placeholders: Two target names that mean nothing by themselves, such as LOCATION1 and LOCATION2;
            empty where targets are real names. Then only texts with different targets are joined.

    Raises:
        ConfigError: A probability outside [0, 1], or another number of placeholders than 0 or 2.
    """

    concatenate: float = 0.0
    swap: float = 0.0
    placeholders: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("concatenate", "swap"):
            if not 0 <= getattr(self, name) <= 1:
                raise ConfigError(f"Augmentation.{name} is {getattr(self, name)!r}; it must be in [0, 1]")
        if len(self.placeholders) not in (0, 2):
            raise ConfigError(f"Augmentation.placeholders are {self.placeholders}; there must be none or two")
        if self.swap and not self.placeholders:
            raise ConfigError("Augmentation.swap needs placeholders: real names cannot be exchanged")


class Augmenter:
    """Draws the sentences of a training batch.

    Args:
        sentences: The training sentences.
        augmentation: How often each change is made.
    """

    def __init__(self, sentences: Sequence[Sentence], augmentation: Augmentation) -> None:
        self.sentences = sentences
        self.augmentation = augmentation
        self._single = [i for i, sentence in enumerate(sentences) if _single_target(sentence) is not None]

    def __call__(self, indices: Sequence[int], generator: torch.Generator) -> list[Sentence]:
        """The sentences at ``indices``, changed at random."""
        return [self._draw(index, generator) for index in indices]

    def _draw(self, index: int, generator: torch.Generator) -> Sentence:
        plan, sentence = self.augmentation, self.sentences[index]
        dice = torch.rand(2, generator=generator).tolist()
        if self._single and _single_target(sentence) is not None and dice[0] < plan.concatenate:
            other = self.sentences[self._single[_integer(len(self._single), generator)]]
            sentence = self._join(sentence, other, generator) or sentence
        if dice[1] < plan.swap:
            sentence = rename(
                sentence, dict(zip(plan.placeholders, reversed(plan.placeholders), strict=True))
            )
        return sentence

    def _join(self, first: Sentence, second: Sentence, generator: torch.Generator) -> Sentence | None:
        placeholders = self.augmentation.placeholders
        if _single_target(first) == _single_target(second):
            if _single_target(first) not in placeholders:
                return None
            names = dict(zip(placeholders, reversed(placeholders), strict=True))
            # Either of the two keeps its name: neither name is tied to first or second place.
            if _integer(2, generator):
                first = rename(first, names)
            else:
                second = rename(second, names)
        if _integer(2, generator):
            first, second = second, first
        return join(first, second, _JOINTS[_integer(len(_JOINTS), generator)])


def _integer(bound: int, generator: torch.Generator) -> int:
    return int(torch.randint(bound, (), generator=generator))


def _single_target(sentence: Sentence) -> str | None:
    targets = {context.target for context in sentence.contexts}
    return next(iter(targets)) if len(targets) == 1 else None


def rename(sentence: Sentence, names: dict[str, str]) -> Sentence:
    """The sentence with targets renamed, all at once, in the text and in the questions."""
    pattern = re.compile("|".join(re.escape(name) for name in sorted(names, key=len, reverse=True)))
    text = pattern.sub(lambda match: names[match.group()], sentence.text)
    contexts = tuple(
        replace(context, target=names.get(context.target, context.target)) if context.target else context
        for context in sentence.contexts
    )
    return replace(sentence, text=text, contexts=contexts)


def join(first: Sentence, second: Sentence, joint: str) -> Sentence:
    """Two labelled sentences as one, with the questions and answers of both.

    A question that both ask keeps the first one's answer, unless that is ``none``.
    """
    answers: dict[Context, str] = dict(zip(first.contexts, first.polarities, strict=True))
    for context, polarity in zip(second.contexts, second.polarities, strict=True):
        if answers.get(context, "none") == "none":
            answers[context] = polarity
    text = first.text.rstrip(" .") + joint + second.text.lstrip()
    return Sentence(text, tuple(answers), tuple(answers.values()), first.where)

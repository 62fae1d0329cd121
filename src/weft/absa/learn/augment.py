"""Training texts that make the target matter: renamed targets, two texts as one; and words taken away.

In two thirds of SentiHood's two-target texts both targets have the same labels, so a model learns to
look at the aspect and not at the target. Two texts about one target each, joined, have independent
labels: the only way to be right is to look at the one that is asked about.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import torch

from weft.absa.records import Context, Sentence
from weft.errors import ConfigError

_JOINTS = (" ", ". ", ", but ", ", and ", "; ", " while ")
_MASK = "[MASK]"


@dataclass(frozen=True)
class Augmentation:
    """How often each change is made.

    Args:
        concatenate: Probability that a batch's texts with one target are joined in pairs. Whole batches
            are, because their texts are of similar length: a joined text among single ones would double
            the padding of all.
        swap: Probability that the two placeholder names are exchanged in text and questions.
        placeholders: Two target names that mean nothing by themselves, such as LOCATION1 and LOCATION2;
            empty where targets are real names. Then only texts with different targets are joined.
        mask: Probability with which a word outside the targets becomes ``[MASK]``, in the texts that are masked.
        masked_texts: Probability that a text is masked.
        same_target: Probability that two joined texts that name the same target go on naming one, where their
            answers do not contradict each other: then what matters is the aspect that is asked about.

    Raises:
        ConfigError: A probability outside [0, 1], or another number of placeholders than 0 or 2.
    """

    concatenate: float = 0.0
    swap: float = 0.0
    placeholders: tuple[str, ...] = ()
    mask: float = 0.0
    masked_texts: float = 1.0
    same_target: float = 0.0

    def __post_init__(self) -> None:
        for name in ("concatenate", "same_target", "swap", "mask", "masked_texts"):
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

    def __call__(self, indices: Sequence[int], generator: torch.Generator) -> list[Sentence]:
        """The sentences at ``indices``, changed at random; fewer where they are joined."""
        plan = self.augmentation
        drawn = [self.sentences[index] for index in indices]
        if _chance(plan.concatenate, generator):
            drawn = self._joined(drawn, generator)
        names = dict(zip(plan.placeholders, reversed(plan.placeholders), strict=True))
        drawn = [rename(sentence, names) if _chance(plan.swap, generator) else sentence for sentence in drawn]
        if not plan.mask:
            return drawn
        return [
            mask_words(sentence, plan.mask, generator) if _chance(plan.masked_texts, generator) else sentence
            for sentence in drawn
        ]

    def _joined(self, sentences: Sequence[Sentence], generator: torch.Generator) -> list[Sentence]:
        single = [i for i, sentence in enumerate(sentences) if _single_target(sentence) is not None]
        order = [single[i] for i in torch.randperm(len(single), generator=generator).tolist()]
        found = dict(enumerate(sentences))
        for first, second in zip(order[::2], order[1::2], strict=False):
            pair = self._join(found[first], found[second], generator)
            if pair is not None:
                found[first] = pair
                del found[second]
        return list(found.values())

    def _join(self, first: Sentence, second: Sentence, generator: torch.Generator) -> Sentence | None:
        placeholders, same = self.augmentation.placeholders, self.augmentation.same_target
        if _single_target(first) == _single_target(second):
            if same and _chance(same, generator) and not _contradict(first, second):
                return join(first, second, _JOINTS[_integer(len(_JOINTS), generator)])
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


def _chance(probability: float, generator: torch.Generator) -> bool:
    return float(torch.rand((), generator=generator)) < probability


def _integer(bound: int, generator: torch.Generator) -> int:
    return int(torch.randint(bound, (), generator=generator))


def _single_target(sentence: Sentence) -> str | None:
    targets = {context.target for context in sentence.contexts}
    return next(iter(targets)) if len(targets) == 1 else None


def _contradict(first: Sentence, second: Sentence) -> bool:
    """Whether both have an opinion on something, and not the same."""
    answers = dict(zip(first.contexts, first.polarities, strict=True))
    return any(
        polarity != "none" and answers.get(context, "none") not in ("none", polarity)
        for context, polarity in zip(second.contexts, second.polarities, strict=True)
    )


def rename(sentence: Sentence, names: dict[str, str]) -> Sentence:
    """The sentence with targets renamed, all at once, in the text and in the questions."""
    pattern = re.compile("|".join(re.escape(name) for name in sorted(names, key=len, reverse=True)))
    text = pattern.sub(lambda match: names[match.group()], sentence.text)
    contexts = tuple(
        replace(context, target=names.get(context.target, context.target)) if context.target else context
        for context in sentence.contexts
    )
    return replace(sentence, text=text, contexts=contexts)


def mask_words(sentence: Sentence, share: float, generator: torch.Generator) -> Sentence:
    """The sentence with ``[MASK]`` for some of its words, the names of its targets kept.

    The labels stay, although a word that decides may be gone: a few such lies are the price of answers that
    do not hang on any single word.
    """
    targets = {context.target for context in sentence.contexts if context.target is not None}
    kept = {place for target in targets for place in _places(target, sentence.text)}

    def masked(match: re.Match[str]) -> str:
        inside = not kept.isdisjoint(range(match.start(), match.end()))
        return match.group() if inside or not _chance(share, generator) else _MASK

    return replace(sentence, text=re.sub(r"\w+", masked, sentence.text))


def _places(target: str, text: str) -> Iterator[int]:
    for match in re.finditer(re.escape(target), text, re.IGNORECASE):
        yield from range(match.start(), match.end())


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

"""What training minimises: the cross-entropy with its weights, and how far two answers lie apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from weft.absa.records import UNKNOWN, Corpus, Sentence
from weft.errors import ConfigError

LARGEST = torch.finfo(torch.float32).max
"""What is above it is infinite where it is computed with."""


def class_weights(corpus: Corpus, balance: float) -> Tensor:
    """(n / n_c)^balance for every class, scaled to mean 1 over the labelled rows; 1 for a class without rows.

    Raises:
        ConfigError: One is not finite.
    """
    found = Counter(polarity for sentence in corpus.sentences for polarity in sentence.polarities)
    counts = torch.tensor([float(found[polarity]) for polarity in corpus.polarities])
    weights = torch.where(counts > 0, counts.sum() / counts.clamp(min=1), 1.0) ** balance
    scaled = weights * counts.sum() / (weights * counts).sum()
    if counts.any() and not scaled.isfinite().all():
        rarest = int(counts[counts > 0].min())
        raise ConfigError(
            f"Learning.class_balance is {balance:g}; with it the weight of a class of {rarest} of "
            f"{int(counts.sum())} rows is not finite",
            hint="0 weighs every row alike, 1 every class",
        )
    return scaled


def contrast_weights(sentences: Sequence[Sentence], contrast: float) -> Tensor:
    """1 + contrast for every question that another target of its text answers otherwise, else 1; ``(contexts,)``."""
    weights: list[float] = []
    for sentence in sentences:
        answers: dict[str, set[str]] = {}
        for context, polarity in zip(sentence.contexts, sentence.polarities, strict=True):
            answers.setdefault(context.aspect, set()).update({polarity} - {UNKNOWN})
        weights += [1 + contrast * (len(answers[context.aspect]) > 1) for context in sentence.contexts]
    return torch.tensor(weights)


def weighted_loss(
    logits: Tensor,
    labels: Tensor,
    classes: Tensor,
    rows: Tensor | None,
    smoothing: float,
    polarity: float = 0.0,
) -> Tensor:
    """Cross-entropy, its mean weighted by class and by row; 0 where no row is labelled.

    ::

        −log P(y) − π·log P(y | an opinion)·[y is one]

    Args:
        logits: ``(contexts, classes)``, "none" first.
        labels: ``(contexts,)``; rows below 0 are not labelled and do not count.
        classes: ``(classes,)`` weights.
        rows: ``(contexts,)`` weights, or None for 1.
        smoothing: ε of the labels in the first part.
        polarity: π.
    """
    known = labels >= 0
    if rows is None and not polarity and bool(known.all()):
        return F.cross_entropy(logits, labels, classes, label_smoothing=smoothing)
    rows = known.to(logits.dtype) if rows is None else rows * known
    losses = F.cross_entropy(logits, labels, classes, label_smoothing=smoothing, reduction="none")
    weights = classes[labels.clamp(min=0)] * rows
    if polarity:
        which = (labels - 1).clamp(min=0)[:, None]
        among = -F.log_softmax(logits[:, 1:].float(), dim=-1).gather(1, which).squeeze(1)
        losses = losses + polarity * classes[labels.clamp(min=0)] * among * (labels > 0)
    return (losses * rows).sum() / weights.sum().clamp(min=1e-6)


def taught(logits: Tensor, teachers: Sequence[Tensor], temperature: float, polarity: float = 0.0) -> Tensor:
    """T²·(KL(p ‖ q) + π·Σ_opinions p·KL(p given an opinion ‖ q given one)); the mean over the rows.

    q = softmax(logits/T), p = the mean of softmax(teacher/T) over the teachers; the second part is that of
    :func:`weighted_loss`, as often as the teachers see an opinion.

    Args:
        logits: ``(contexts, classes)``, "none" first.
        teachers: Every teacher's logits, ``(contexts, classes)`` each.
        temperature: T.
        polarity: π.

    Source: Hinton, Vinyals and Dean 2015, "Distilling the Knowledge in a Neural Network", section 2.
    """
    each = torch.stack([F.softmax(teacher.float() / temperature, dim=-1) for teacher in teachers])
    answers = each.mean(dim=0)
    loss = F.kl_div(F.log_softmax(logits / temperature, dim=-1), answers, reduction="batchmean")
    if polarity:
        opinions = answers[:, 1:]
        share = opinions.sum(dim=-1, keepdim=True).clamp(min=1e-6)
        among = F.log_softmax(logits[:, 1:] / temperature, dim=-1)
        # p·KL(p/Σp ‖ q) = Σ p·(log(p/Σp) − log q)
        apart = (torch.xlogy(opinions, opinions / share) - opinions * among).sum()
        loss = loss + polarity * apart / len(logits)
    return temperature**2 * loss


@dataclass(frozen=True)
class Heard:
    """What teachers say about a batch, and how much it counts.

        loss = τ·((1 − d)·CE + d·T²·KL of the taught questions) + (1 − τ)·CE of the others

    with τ the share of questions that teachers were asked; the cross-entropy alone where they were asked none.

    Args:
        answers: Every teacher's logits, ``(taught contexts, classes)`` each; empty for no teacher.
        taught: ``(contexts,)``, bool: the questions that they answer; None for all.
        share: d.
        temperature: T.
        polarity: π of both losses, see :func:`weighted_loss`.
    """

    answers: Sequence[Tensor]
    taught: Tensor | None
    share: float
    temperature: float
    polarity: float = 0.0

    def loss(
        self, logits: Tensor, labels: Tensor, classes: Tensor, rows: Tensor | None, smoothing: float
    ) -> Tensor:
        """The batch's loss; the arguments are those of :func:`weighted_loss`."""
        if not self.answers:
            return weighted_loss(logits, labels, classes, rows, smoothing, self.polarity)
        if self.taught is None:
            own = weighted_loss(logits, labels, classes, rows, smoothing, self.polarity)
            theirs = taught(logits, self.answers, self.temperature, self.polarity)
            return (1 - self.share) * own + self.share * theirs

        def part(which: Tensor, heard: Sequence[Tensor]) -> Tensor:
            weights = None if rows is None else rows[which]
            alone = Heard(heard, None, self.share, self.temperature, self.polarity)
            return which.float().mean() * alone.loss(
                logits[which], labels[which], classes, weights, smoothing
            )

        return part(self.taught, self.answers) + part(~self.taught, ())


def disagreement(first: Tensor, second: Tensor) -> Tensor:
    """½·(KL(p ‖ q) + KL(q ‖ p)) = ½·Σ (p − q)·(log p − log q), the mean over the rows of ``(contexts, classes)``.

    Args:
        first: Logits of p.
        second: Logits of q.

    Source: Liang et al. 2021, "R-Drop: Regularized Dropout for Neural Networks", equation 2.
    """
    p, q = F.log_softmax(first, dim=-1), F.log_softmax(second, dim=-1)
    return 0.5 * ((p.exp() - q.exp()) * (p - q)).sum(dim=-1).mean()

"""Which words made the answer: attributions of every token, by several methods, one of them tested best.

``shapley``    what token j adds, in the mean over orders in which the text is taken apart
``occlusion``  what the answer loses without token j, and gains by it alone
``search``     the three tokens without which least is left of the answer
``gradient``   gradient × input: Σ_h e_jh · ∂ log p(class) / ∂ e_jh
``integrated`` integrated gradients from the same text with every word masked (captum)
``attention``  the weight that the question (or ``[CLS]``) gives to token j, mean over the heads
``quasi``      the signed quasi-attention Λ⊙G from ``[CLS]`` to token j, mean over the heads
``random``     noise: what the others must beat

e_j is token j's embedding. A map shows where a model looks, which need not be what it decides by;
:mod:`weft.absa.explain.deletion` measures that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, get_args

import torch
from torch import Tensor

from weft.absa.config import AbsaConfig
from weft.absa.explain.occlusion import occlusion
from weft.absa.explain.search import search
from weft.absa.explain.shapley import shapley
from weft.absa.model.build import AnyModel
from weft.absa.records import Context, Sentence
from weft.absa.represent.batch import Pairs, Questions
from weft.absa.represent.speakers import speakers
from weft.absa.use.asker import Asker, Question
from weft.absa.use.decide import decide
from weft.errors import ConfigError, InputError, MissingExtraError

Method: TypeAlias = Literal[
    "shapley", "occlusion", "search", "gradient", "integrated", "attention", "quasi", "random"
]
ROUGH = "gradient × input is rough: its signs are often wrong, with the shipped models, too"
"""What is said of the method ``gradient``, whose words take little more of an answer with them than random ones."""
_STEPS = 32


@dataclass(frozen=True)
class Word:
    """A word of the text with its attribution: the sum over its tokens."""

    text: str
    start: int
    end: int
    score: float


@dataclass(frozen=True)
class Explanation:
    """Why a question was answered as it was.

    Args:
        text: The whole text.
        context: The question.
        polarity: The class that is explained.
        probabilities: Of all classes.
        method: How the attributions were made.
        words: The words in order; a positive score speaks for ``polarity``.
        window: The characters that were read, first and last + 1: of a long text the window that answers.
        target_found: Whether the text mentions the target. Where it does not, ``predict`` answers ``none``,
            and these words speak about the whole text.
    """

    text: str
    context: Context
    polarity: str
    probabilities: dict[str, float]
    method: Method
    words: tuple[Word, ...]
    window: tuple[int, int]
    target_found: bool = True

    @property
    def is_part(self) -> bool:
        """Whether a window of a longer text answered."""
        return self.window != (0, len(self.text))

    def record(self) -> dict[str, Any]:
        """The explanation as plain values."""
        return {
            "text": self.text,
            "target": self.context.target,
            "aspect": self.context.aspect,
            "polarity": self.polarity,
            "target_found": self.target_found,
            "probabilities": self.probabilities,
            "method": self.method,
            "words": [vars(word) for word in self.words],
            "window": list(self.window),
        }


def default_method(config: AbsaConfig) -> Method:
    """The method whose words take most of an answer with them, by the deletion test.

    Measured: Shapley values for a model with open aspects, integrated gradients for the others.
    """
    return "shapley" if config.options.open_aspects else "integrated"


def explain(
    asker: Asker,
    text: str,
    question: Question,
    *,
    method: Method | None = None,
    polarity: str | None = None,
) -> Explanation:
    """Explain one answer.

    Args:
        asker: The model.
        text: The text; of one that is longer than the model reads at once, the window that answers is explained.
        question: The question.
        method: How to attribute; :func:`default_method` where None.
        polarity: The class to explain; the model's answer where None.

    Raises:
        ConfigError: An unknown method, or ``quasi`` for a model without quasi-attention.
        InputError: An unknown polarity, an empty text.
        MissingExtraError: ``integrated`` without captum.
    """
    method = default_method(asker.config) if method is None else method
    begin, window = asker.window(text, question)
    batch = asker.represent([window]).to(asker.device)
    (heard,) = asker.hear([Sentence(text, window.contexts)])
    shares = heard.rows[0].tolist()
    classes = asker.classes_
    if polarity is not None and polarity not in classes:
        raise InputError(f"polarity {polarity!r} is not one of the model's: {', '.join(classes)}")
    answer = int(decide(heard.rows, asker.config.threshold)[0])
    chosen = answer if polarity is None else classes.index(polarity)
    scores = attribute(asker.module.eval(), batch, chosen, method, asker.mask_id)
    read = asker.representation.cut(asker.representation.pieces(window.text))
    labels = speakers(window.text) if asker.config.options.as_meant else ()
    offsets = [
        (0, 0)
        if any(start < stop and start >= first and stop <= last for first, last in labels)
        else (start, stop)
        for start, stop in read.offsets
    ]
    words = _words(window.text, offsets, scores.tolist())
    return Explanation(
        text,
        window.contexts[0],
        classes[chosen],
        {name: round(share, 6) for name, share in zip(classes, shares, strict=True)},
        method,
        tuple(Word(word.text, begin + word.start, begin + word.end, word.score) for word in words),
        (begin, begin + len(window.text)),
        asker.mentions(text, window.contexts[0].target),
    )


def attribute(
    model: AnyModel, batch: Questions | Pairs, chosen: int, method: Method, mask_id: int, seed: int = 0
) -> Tensor:
    """Attributions of a batch with one question.

    Args:
        model: The model, in ``eval`` mode.
        batch: One text with one question.
        chosen: The class to explain.
        method: How.
        mask_id: The id of ``[MASK]``, what all but ``gradient`` and the maps put in a token's place.
        seed: Of ``random``.

    Returns:
        ``(seq,)``, the first and the last token of the text included.

    Raises:
        ConfigError: No such method.
    """
    if method not in get_args(Method):
        raise ConfigError(f"method is {method!r}; it must be one of {', '.join(get_args(Method))}")
    length = batch.input_ids.shape[1]
    if method == "random":
        return torch.rand(length, generator=torch.Generator().manual_seed(seed))
    if method in ("attention", "quasi"):
        with torch.no_grad():
            return _seen(model, batch, method)
    if method == "shapley":
        return shapley(model, batch, chosen, mask_id)
    if method == "occlusion":
        return occlusion(model, batch, chosen, mask_id)
    if method == "search":
        return search(model, batch, chosen, mask_id)
    if method == "gradient":
        embedded = _embedded(model, batch).requires_grad_()
        return (
            torch.autograd.grad(_log_share(model, batch, embedded, chosen), embedded)[0]
            .mul(embedded)
            .sum(-1)[0]
        )
    return _integrated(model, batch, chosen, mask_id)


def backward_gradient(model: AnyModel, batch: Questions | Pairs, sensitivity: Tensor) -> Tensor:
    """How the logits depend on the embeddings: Σ_rc sensitivity_rc · ∂ logits_rc / ∂ embeddings.

    Args:
        model: Any model, in ``eval`` mode for a repeatable answer.
        batch: What it reads.
        sensitivity: ``(contexts, classes)``, weights of the logits: a 1 at the class of interest.

    Returns:
        The gradient, of the shape of the embeddings.

    Source:
        The QACG-BERT review, ``backward_gradient``.

    Differs from the spec:
        Nothing is remembered in hooks of the module: the pass is made here, on embeddings made here.
    """
    embedded = _embedded(model, batch).requires_grad_()
    logits = model(batch, embedded).logits
    return torch.autograd.grad(logits, embedded, grad_outputs=sensitivity)[0]


def _embedded(model: AnyModel, batch: Questions | Pairs) -> Tensor:
    with torch.no_grad():
        # The asker pairs models and batches; the union of both cannot say so.
        return model.embed(batch)  # pyright: ignore[reportArgumentType]


def _log_share(model: AnyModel, batch: Questions | Pairs, embedded: Tensor, chosen: int) -> Tensor:
    logits = model(batch, embedded).logits
    return torch.log_softmax(logits, dim=-1)[:, chosen].sum()


def _integrated(model: AnyModel, batch: Questions | Pairs, chosen: int, mask_id: int) -> Tensor:
    try:
        from captum.attr import IntegratedGradients
    except ImportError as error:
        raise MissingExtraError("captum", "absa") from error
    ids = batch.input_ids.clone()
    ids[:, 1:-1] = mask_id
    embedded, reference = _embedded(model, batch), _embedded(model, replace(batch, input_ids=ids))

    def share(steps: Tensor) -> Tensor:
        # Every step is a text of its own: one at a time keeps the batch as it is.
        rows = [_log_share(model, batch, step[None], chosen) for step in steps]
        return torch.stack(rows)

    found = IntegratedGradients(share).attribute(
        embedded, reference, n_steps=_STEPS, internal_batch_size=_STEPS, method="gausslegendre"
    )
    return torch.as_tensor(found).sum(-1)[0]


def _seen(model: AnyModel, batch: Questions | Pairs, method: Method) -> Tensor:
    length = batch.input_ids.shape[1]
    maps = model(batch, need_maps=True).maps[-1]
    if method == "quasi":
        if maps.quasi is None or maps.gate is None:
            others = ", ".join(name for name in get_args(Method) if name not in ("quasi", "random"))
            raise ConfigError("this model has no quasi-attention", hint=f"use one of {others}")
        signed = maps.quasi * maps.gate
        return signed[0, :, 0].mean(dim=0)
    assert maps.weights is not None  # asked for
    # The question of weft-absa is the first query, before the text's keys; elsewhere it is [CLS].
    return maps.weights[0, :, 0, -length:].mean(dim=0)


def _words(text: str, offsets: Sequence[tuple[int, int]], scores: Sequence[float]) -> list[Word]:
    """Tokens that touch are pieces of one word, unless a sign stands between letters; tokens of one character, too."""
    words: list[Word] = []
    for (start, end), score in zip(offsets, scores, strict=False):
        if end <= start:
            continue
        last = words[-1] if words else None
        if last is not None and (
            # What is written for a character can be several tokens: the words of an emoji, the dots of an ellipsis.
            start < last.end or (last.end == start and text[start - 1].isalnum() and text[start].isalnum())
        ):
            end = max(end, last.end)
            words[-1] = Word(text[last.start : end], last.start, end, last.score + score)
        else:
            words.append(Word(text[start:end], start, end, score))
    return words

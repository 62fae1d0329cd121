"""Training of every kind of model: one function from labelled sentences to a model that can be used."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from weft.absa.config import AbsaConfig, ModelOptions
from weft.absa.evaluate.report import score, scored, summary
from weft.absa.learn.augment import Augmentation, Augmenter
from weft.absa.learn.blank import fit_blank
from weft.absa.learn.loss import LARGEST, Heard, class_weights, contrast_weights, disagreement
from weft.absa.learn.notes import is_english
from weft.absa.learn.similarity import fit_similarity
from weft.absa.model.build import build_model
from weft.absa.model.weft_absa import WeftAbsa
from weft.absa.records import Corpus, Sentence
from weft.absa.represent.batch import Pairs, Questions, Representation
from weft.absa.use.asker import Asker
from weft.encoder.checkpoint.pretrained import Pretrained
from weft.errors import CheckpointError, ConfigError, InputError, counted
from weft.train.batching import Batches, LengthBuckets
from weft.train.config import TrainConfig
from weft.train.course import Course
from weft.train.distributed import World
from weft.train.run import History

_COUNTED = 2000
"""Drawn sentences whose classes are counted for the weights of classes."""
_FRESH = ("head.", "context.", "pooling.")
"""What the names of parameters begin with that no pretrained weight is in."""


@dataclass(frozen=True)
class Learning:
    """What training minimises and on what texts.

    Args:
        augmentation: How training texts are changed.
        label_smoothing: ε of the cross-entropy, in [0, 1).
        class_balance: Exponent b of the class weights (n / n_c)^b, scaled to mean 1 over the rows; 0 is off.
        polarity: π ≥ 0: how much more it counts which opinion there is, where there is one:
            −log P(y) − π·log P(y | an opinion). Where nearly all answers are "none", little of the loss is about that;
            class weights would also have more opinions reported.
        contrast: γ: a question whose answer is another one for another target of the same text weighs 1 + γ. Only
            these tell whether the target is heeded, and few texts hold one.
        consistency: c ≥ 0: how much two passes through the model, each with its own dropout, must agree. Above 0
            training takes twice the time.
        head_rate: Times the encoder's learning rate at which those parts learn that no pretrained weight is in: the
            classifier, the vector of the question, and ``weft-absa``'s plain pooling.
        distillation: Weight of the teacher's loss, in [0, 1]; the labels have the rest.
        distillation_temperature: Teacher's and student's logits are divided by it.
        blank_texts: Texts on which the embedding of ``[MASK]`` is fitted in the end, see
            :func:`weft.absa.learn.blank.fit_blank`; 0 leaves it as it is.

    Raises:
        ConfigError: A field breaks its rule.
    """

    augmentation: Augmentation = field(default_factory=Augmentation)
    label_smoothing: float = 0.0
    class_balance: float = 0.0
    polarity: float = 0.0
    contrast: float = 0.0
    consistency: float = 0.0
    head_rate: float = 1.0
    distillation: float = 0.0
    distillation_temperature: float = 2.0
    blank_texts: int = 800

    def __post_init__(self) -> None:
        for name in ("label_smoothing", "distillation"):
            if not 0 <= getattr(self, name) <= 1:
                raise ConfigError(f"Learning.{name} is {getattr(self, name)!r}; it must be in [0, 1]")
        for name in ("class_balance", "polarity", "contrast", "consistency"):
            if not 0 <= getattr(self, name) <= LARGEST:
                raise ConfigError(
                    f"Learning.{name} is {getattr(self, name)!r}; it must be at least 0 and finite"
                )
        for name in ("head_rate", "distillation_temperature"):
            if not 0 < getattr(self, name) <= LARGEST:
                raise ConfigError(
                    f"Learning.{name} is {getattr(self, name)!r}; it must be positive and finite"
                )
        if self.blank_texts < 0:
            raise ConfigError(f"Learning.blank_texts is {self.blank_texts}; it must be at least 0")


@dataclass(frozen=True)
class Lesson:
    """A training batch, as the model sees it and as its teachers see it; weights ``(contexts,)`` of the questions.

    ``taught`` ``(contexts,)``, bool: the questions that teachers answer; None where they answer all.
    """

    questions: Questions | Pairs
    teachers: tuple[Questions | Pairs, ...] = ()
    weights: Tensor | None = None
    taught: Tensor | None = None


@dataclass(frozen=True)
class Trained:
    """What training gives: the model, and the record of how it came about."""

    asker: Asker
    history: History


def train(
    corpus: Corpus,
    start: Pretrained,
    options: ModelOptions,
    config: TrainConfig,
    *,
    directory: Path | None = None,
    quiet: bool = True,
    identity: Mapping[str, str] | None = None,
    **choices: Any,
) -> Trained:
    """Train a model.

    Args:
        corpus: The labelled sentences.
        start: The pretrained encoder with its tokenizer.
        options: Kind and options of the model.
        config: How to train.
        directory: Of checkpoints and log; None keeps nothing on disk.
        quiet: No progress bar.
        identity: See :func:`weft.train.loop.fit`: a run of that directory with another one is not gone on with.
        choices: As for :func:`course`, from ``learning`` on.
    """
    asker, lessons = course(corpus, start, options, config, **choices)
    return Trained(asker, lessons.run(directory, quiet=quiet, identity=identity).history)


def course(
    corpus: Corpus,
    start: Pretrained,
    options: ModelOptions,
    config: TrainConfig,
    *,
    learning: Learning | None = None,
    dev: Corpus | None = None,
    teacher: Asker | Sequence[Asker] = (),
    begin: Asker | None = None,
    kept: int = 0,
    targets: Sequence[str] = (),
    draw: Callable[[Sequence[int], torch.Generator], list[Sentence]] | None = None,
    untaught: Callable[[Sentence], bool] | None = None,
    disguise: Callable[[Sentence, torch.Generator], Sentence] | None = None,
) -> tuple[Asker, Course[Any, Lesson]]:
    """A model, and its training.

        loss = (1 − d)·CE_ε(logits, labels; class and contrast weights) + d·T²·KL(teacher/T ‖ logits/T)

    (of sentences that are ``untaught`` the cross-entropy alone, see :class:`weft.absa.learn.loss.Heard`)
    and with a consistency c the mean of this over two passes p, q of the same batch, which differ by what dropout
    leaves out, plus c·½·(KL(p ‖ q) + KL(q ‖ p)).

    Args:
        corpus: The labelled sentences.
        start: The pretrained encoder with its tokenizer.
        options: Kind and options of the model.
        config: How to train. ``metric="score"`` with ``mode="max"`` chooses by the mean of the
            evaluation's metrics.
        learning: Loss and augmentation.
        dev: Sentences for the evaluation after every epoch; with ``config.patience`` they also decide
            when to stop.
        teacher: A trained model whose probabilities are also learnt; of several, their mean. Its classes may stand in
            another order.
        begin: A trained model of the same options to go on from; its aspects stay known. What it learnt of a class
            is taken over by the class's name: another one begins untrained.
        kept: So many of the last classes no row has: they have no part in the loss, and stay as ``begin`` knows them.
        targets: The target names of the fixed contexts, for ``qacg-official`` and ``cg``.
        draw: Makes the sentences of a batch out of indices of the corpus's; ``learning.augmentation`` where None.
        untaught: Sentences that are learnt by their labels alone; teachers are not asked about them.
        disguise: How the model sees a sentence, with the same questions; teachers see it as it was drawn. So it
            learns to answer about texts with slips what is answered without.

    Raises:
        CheckpointError: The start has no tokenizer.
        ConfigError: A teacher without ``learning.distillation``, or that without a teacher.
        InputError: Nothing to train on, or a ``dev``, a teacher or a beginning that does not fit.
    """
    chosen = learning or Learning()
    if start.tokenizer is None:
        raise CheckpointError("the pretrained start has no tokenizer")
    if not corpus.sentences:
        raise InputError("no sentences to train on")
    teachers = (teacher,) if isinstance(teacher, Asker) else tuple(teacher)
    known = len(corpus.polarities) - kept
    learnt = corpus.polarities[:known]
    for each in teachers:
        if not set(learnt) <= set(each.config.polarities) <= set(corpus.polarities):
            raise InputError(f"the teacher's classes are {each.config.polarities}, not {corpus.polarities}")
    if dev is not None and dev.polarities != corpus.polarities:
        raise InputError(
            f"the classes held out are {dev.polarities}, not {corpus.polarities}",
            hint="Corpus.labelled_as numbers them alike",
        )
    if bool(teachers) != (chosen.distillation > 0):
        raise ConfigError(
            f"teachers: {len(teachers)}, distillation: {chosen.distillation:g}",
            hint="give both a teacher and Learning.distillation, the weight of its answers, or neither",
        )
    orders = [[each.config.polarities.index(name) for name in learnt] for each in teachers]
    world = World.launched()
    seed, device = config.seed, world.device(config.device)
    torch.manual_seed(seed)
    model_config = AbsaConfig(
        encoder=start.encoder.config,
        options=options,
        polarities=corpus.polarities,
        aspects=_known(corpus, options, begin),
        targets=tuple(targets),
        english=is_english(corpus) and (begin is None or begin.config.english),
    )
    asker = Asker(build_model(model_config, start.encoder, start.pooler), start.tokenizer)
    if begin is not None:
        _take_over(asker, begin)
    _quicken(asker.module, chosen.head_rate)
    augment = Augmenter(corpus.sentences, chosen.augmentation) if draw is None else draw
    counted_on = corpus
    if draw is not None and chosen.class_balance:
        counted_on = _stood_for(draw, corpus, _COUNTED, seed)
    weights = class_weights(counted_on, chosen.class_balance)[:known].to(device)

    def collate(indices: list[int], generator: torch.Generator) -> Lesson:
        sentences = augment(indices, generator)
        alone = [untaught is not None and untaught(sentence) for sentence in sentences]
        shown = [sentence for sentence, by_itself in zip(sentences, alone, strict=True) if not by_itself]
        seen = tuple(each.represent(shown) for each in teachers if shown)
        counts = contrast_weights(sentences, chosen.contrast) if chosen.contrast else None
        rows = [not a for a, sentence in zip(alone, sentences, strict=True) for _ in sentence.contexts]
        if disguise is not None:
            sentences = [disguise(sentence, generator) for sentence in sentences]
        return Lesson(asker.represent(sentences), seen, counts, torch.tensor(rows) if any(alone) else None)

    lengths = [_length(asker.representation, sentence) for sentence in corpus.sentences]
    plan = LengthBuckets(lengths, config.batch_size, seed=seed, rank=world.rank, world_size=world.size)
    batches = Batches(plan, collate, seed=seed, rank=world.rank, prefetch=4)

    def loss_step(model: torch.nn.Module, lesson: Lesson) -> Mapping[str, Tensor]:
        labels = lesson.questions.labels
        assert labels is not None  # a corpus is labelled
        passes = [model(lesson.questions).logits[:, :known] for _ in range(2 if chosen.consistency else 1)]
        with torch.no_grad():
            answers = [
                each.logits(seen)[:, order]
                for each, order, seen in zip(teachers, orders, lesson.teachers, strict=bool(lesson.teachers))
            ]
        heard = Heard(
            answers, lesson.taught, chosen.distillation, chosen.distillation_temperature, chosen.polarity
        )
        losses = [
            heard.loss(logits, labels, weights, lesson.weights, chosen.label_smoothing) for logits in passes
        ]
        loss = torch.stack(losses).mean()
        return {"loss": loss + chosen.consistency * disagreement(*passes) if chosen.consistency else loss}

    def evaluate(_model: torch.nn.Module) -> dict[str, float]:
        assert dev is not None  # only called with one
        return _finite(summary(score(asker, dev), dev))

    for each in teachers:
        each.to(device)
        if isinstance(each, Asker) and isinstance(each.module, WeftAbsa):
            each.module.keeps_aspects = True

    def finish(_history: History) -> dict[str, float]:
        for each in teachers:
            if isinstance(each, Asker) and isinstance(each.module, WeftAbsa):
                each.module.keeps_aspects = False
        asker.module.eval()
        fit_similarity(asker, corpus)
        known = corpus if draw is None else _stood_for(draw, corpus, chosen.blank_texts, seed)
        fit_blank(asker, known, texts=chosen.blank_texts, precision=config.precision)
        return {}

    lessons = Course(
        asker.module,
        batches,
        loss_step,
        config,
        None if dev is None else evaluate,
        finish,
        tuple(corpus.problems.lines()),
        measures=() if dev is None else measured(dev),
        better="max",
    )
    return asker, lessons


def measured(corpus: Corpus) -> tuple[str, ...]:
    """The names of what an evaluation on a corpus gives: which figures there are hangs on its answers alone."""
    rows = sum(len(sentence.contexts) for sentence in corpus.sentences)
    classes = len(corpus.polarities)
    alike = np.full((rows, classes), 1 / classes)
    return tuple(_finite(summary(scored(corpus, alike), corpus)))


def _finite(values: Mapping[str, float]) -> dict[str, float]:
    return {name: value for name, value in values.items() if value == value}


def _quicken(module: nn.Module, rate: float) -> None:
    """So many times the encoder's rate for classifier and question, beside what they have already; in place."""
    if rate == 1:
        return
    scales: dict[str, float] = dict(getattr(module, "learning_rate_scales", {}))
    fresh = [name for name, _ in module.named_parameters() if name.startswith(_FRESH)]
    faster = {name: rate * scales.get(name, 1.0) for name in fresh}
    # It is the optimiser that reads them.
    module.learning_rate_scales = scales | faster  # pyright: ignore[reportAttributeAccessIssue, reportArgumentType]


def _stood_for(
    draw: Callable[[Sequence[int], torch.Generator], list[Sentence]],
    corpus: Corpus,
    most: int,
    seed: int,
) -> Corpus:
    """So many drawn sentences, at least one: where they are drawn, the corpus's own are stand-ins without answers."""
    generator = torch.Generator().manual_seed(seed)
    count = max(1, min(len(corpus.sentences), most))
    rows = torch.randperm(len(corpus.sentences), generator=generator)[:count].tolist()
    return replace(corpus, sentences=tuple(draw(rows, generator)))


def split(corpus: Corpus, share: float, seed: int = 0) -> tuple[Corpus, Corpus]:
    """Split the sentences at random; sentences with the same text stay together.

    Args:
        corpus: The sentences.
        share: The second part's share of the texts, in (0, 1).
        seed: The same seed gives the same split.

    Raises:
        InputError: A part would be empty.
    """
    texts = sorted({sentence.text for sentence in corpus.sentences})
    order = torch.randperm(len(texts), generator=torch.Generator().manual_seed(seed)).tolist()
    held = {texts[i] for i in order[: round(share * len(texts))]}
    inside = [i for i, sentence in enumerate(corpus.sentences) if sentence.text in held]
    outside = [i for i, sentence in enumerate(corpus.sentences) if sentence.text not in held]
    if not inside or not outside:
        raise InputError(f"{counted(len(texts), 'text')} cannot be split with a share of {share}")
    return corpus.subset(outside), corpus.subset(inside)


def _known(corpus: Corpus, options: ModelOptions, begin: Asker | None) -> tuple[str, ...]:
    if options.open_aspects:
        return ()
    earlier = () if begin is None else begin.config.aspects
    return tuple(dict.fromkeys((*earlier, *corpus.aspects)))


def _take_over(asker: Asker, begin: Asker) -> None:
    """The weights of another model of the same shape; of the classifier's rows those of the classes that both have.

    How sure it is of long texts, and how readily it tags, come with them.

    Raises:
        InputError: Other options or words, or other contexts where these are fixed.
    """
    fixed = ("aspects", "targets") if asker.config.kind in ("qacg-official", "cg") else ()
    for name in ("options", "encoder", *fixed):
        mine, theirs = getattr(asker.config, name), getattr(begin.config, name)
        if name == "options":
            # How words are read is no matter of the weights.
            theirs = replace(theirs, as_meant=mine.as_meant)
        if mine != theirs:
            raise InputError(f"the model to go on from has {name} {theirs}, not {mine}")
    if asker.tokenizer.get_vocab() != begin.tokenizer.get_vocab():
        raise InputError("the model to go on from has another vocabulary than the start")
    weights = begin.module.state_dict()
    theirs = begin.config.polarities
    shared = [
        (number, theirs.index(name)) for number, name in enumerate(asker.config.polarities) if name in theirs
    ]
    for name, mine in asker.module.head.classifier.state_dict(prefix="head.classifier.").items():
        rows = mine.clone()
        for here, there in shared:
            rows[here] = weights[name][there]
        weights[name] = rows
    asker.module.load_state_dict(weights)
    # What belongs to the layers that were taken over: how sure long texts are, the tagger's own thresholds.
    kept = ("length_power", "outside", "term_threshold", "passage_weight")
    asker.config = replace(asker.config, **{name: getattr(begin.config, name) for name in kept})


def _length(representation: Representation, sentence: Sentence) -> int:
    return min(len(representation.pieces(sentence.text).ids), representation.max_length)

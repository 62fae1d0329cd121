"""A training run in one configuration: data, start, model, training, where the result goes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, get_args

from weft.absa.config import ModelOptions
from weft.absa.evaluate.report import report
from weft.absa.evaluate.threshold import Criterion, calibrate
from weft.absa.learn.begin import keeping, kept_classes, notes_on_begin, reached
from weft.absa.learn.notes import notes_about
from weft.absa.learn.training import Learning, course, split
from weft.absa.read.labelled import Columns, read_labelled
from weft.absa.read.semeval import CATEGORIES, read_semeval
from weft.absa.read.sentihood import ALL_ASPECTS, TARGETS, read_sentihood
from weft.absa.records import Corpus
from weft.absa.represent.vocabulary import prune_vocabulary
from weft.absa.use.store import load, save
from weft.encoder.checkpoint.pretrained import Pretrained, load_pretrained
from weft.errors import ConfigError, InputError
from weft.train.config import TrainConfig
from weft.train.course import Course
from weft.train.run import History

DataFormat = Literal["sentihood", "semeval", "table"]


@dataclass(frozen=True)
class DataFiles:
    """Where labelled sentences lie.

    Args:
        train: The file to train on.
        dev: The file to evaluate and calibrate on; ``dev_share`` of ``train`` where None.
        format: SentiHood JSON, SemEval-2014 XML, or a CSV, JSON lines or Parquet table.
        columns: Of a table.
        aspects: Of SentiHood: the aspects to ask about.
        dev_share: Share of the texts that is held out where there is no ``dev``.
        terms: Of SemEval: also learn what is felt about every aspect term; what is held out is asked about the
            categories alone.

    Raises:
        ConfigError: A field breaks its rule.
    """

    train: str
    dev: str | None = None
    format: DataFormat = "table"
    columns: Columns = field(default_factory=Columns)
    aspects: tuple[str, ...] = ALL_ASPECTS
    dev_share: float = 0.15
    terms: bool = False

    def __post_init__(self) -> None:
        if self.format not in get_args(DataFormat):
            raise ConfigError(
                f"DataFiles.format is {self.format!r}; it must be one of {get_args(DataFormat)}"
            )
        if not 0 < self.dev_share < 1:
            raise ConfigError(f"DataFiles.dev_share is {self.dev_share}; it must be in (0, 1)")
        if self.terms and self.format != "semeval":
            raise ConfigError(f"DataFiles.terms is for the format 'semeval', not {self.format!r}")

    def read(self, path: str) -> Corpus:
        """The sentences of one of the files."""
        if self.format == "sentihood":
            return read_sentihood(Path(path), self.aspects)
        if self.format == "semeval":
            return read_semeval(Path(path), terms=self.terms)
        return read_labelled(path, self.columns)

    def corpora(self, seed: int) -> tuple[Corpus, Corpus]:
        """The sentences to train on and those held out."""
        corpus = self.read(self.train)
        if self.dev is not None:
            train, dev = corpus, self.read(self.dev).labelled_as(corpus.polarities)
            if not dev.sentences:
                raise InputError(
                    f"no text has answers of {self.train} alone: {', '.join(corpus.polarities)}",
                    where=self.dev,
                )
        else:
            try:
                train, dev = split(corpus, self.dev_share, seed)
            except InputError as error:
                hint = "add texts, give a file of its own as data.dev, or set data.dev_share"
                raise InputError(error.what, where=self.train, hint=hint) from error
        return train, dev.only(CATEGORIES) if self.terms else dev


@dataclass(frozen=True)
class Setup:
    """A training run.

    Args:
        data: The labelled sentences.
        out: The directory of the model; checkpoints and log lie in ``out/run``.
        start: The pretrained BERT: a directory or a name on the hub.
        begin: Instead of ``start``: a trained model, by name or directory, to go on from; the classes may be others.
        keep_classes: Whether classes of ``begin`` that no row has are kept, as far as they are known; where the rows
            have classes that it has not, none is.
        model: The model's options; those of ``begin`` where that is given.
        train: How to train.
        learning: Loss and augmentation.
        teacher: A trained model whose answers are also learnt, by name or directory; of several, their mean.
        english: Keep only the word pieces of English.
        int8: Store the model in eight bits.
        decide: What the decision threshold is chosen for on the held-out texts, see
            :data:`weft.absa.evaluate.threshold.Criterion`; None keeps the most probable class, and so does a choice
            that is no gain on texts that it did not see.

    Raises:
        ConfigError: Both of ``start`` and ``begin``, or neither; options or ``english`` beside ``begin``.
    """

    data: DataFiles
    out: Path
    start: str | None = None
    begin: str | None = None
    keep_classes: bool = True
    model: ModelOptions = field(default_factory=ModelOptions)
    train: TrainConfig = field(
        default_factory=lambda: TrainConfig(
            epochs=16,
            learning_rate=3e-4,
            layer_decay=0.8,
            schedule="linear",
            warmup=0.1,
            metric="score",
            mode="max",
            patience=5,
        )
    )
    learning: Learning = field(default_factory=Learning)
    teacher: tuple[str, ...] | str | None = None
    english: bool = False
    int8: bool = False
    decide: Criterion | None = None

    def __post_init__(self) -> None:
        if (self.start is None) == (self.begin is None):
            raise ConfigError(
                f"start is {self.start!r} and begin is {self.begin!r}",
                hint="give a pretrained BERT as start, or a trained model as begin",
            )
        if self.begin is not None:
            for name, value, default in (
                ("model", self.model, ModelOptions()),
                ("english", self.english, False),
            ):
                if value != default:
                    raise ConfigError(
                        f"{name} is given beside begin", hint=f"{self.begin} has its own: leave it out"
                    )

    def course(self) -> Course[Any, Any]:
        """Train, calibrate on the held-out sentences, save."""
        corpus, dev = self.data.corpora(self.train.seed)
        begin = None if self.begin is None else load(self.begin)
        kept, before, told = (), dict[str, float](), list[str]()
        if begin is not None:
            assert self.begin is not None  # it is what was loaded
            kept = kept_classes(begin, corpus) if self.keep_classes else ()
            corpus, dev = keeping(corpus, kept), keeping(dev, kept)
            # Now: training changes the layers that the two share.
            before = reached(begin, dev)
            decided = self.decide is not None
            told = list(notes_on_begin(self.begin, begin, corpus, kept, decided=decided, int8=self.int8))
            start, options = (
                Pretrained(begin.module.encoder, begin.tokenizer, None, None),
                begin.config.options,
            )
        else:
            assert self.start is not None  # one of the two is given
            start, options = load_pretrained(self.start), self.model
        if self.english:
            start = prune_vocabulary(start)
        fixed = options.kind in ("qacg-official", "cg")
        asker, lessons = course(
            corpus,
            start,
            options,
            self.train,
            learning=self.learning,
            dev=dev,
            teacher=[load(name) for name in _names(self.teacher)],
            begin=begin,
            kept=len(kept),
            targets=fixed_targets(corpus) if fixed else (),
        )

        def finish(history: History) -> dict[str, float]:
            lessons.finish(history)
            threshold = None if self.decide else 0.5
            fitted = calibrate(asker, dev, criterion=self.decide or "mean", threshold=threshold)
            calibrated = asker.calibrated(fitted.temperature, fitted.threshold)
            save(self.out, calibrated, int8=self.int8)
            return {**before, **report(calibrated, dev)}

        apart = () if self.data.dev is None else tuple(dev.problems.lines())
        notes = (*notes_about(corpus, dev, asker), *told)
        return replace(lessons, finish=finish, notes=notes, problems=(*lessons.problems, *apart))


def _names(given: Sequence[str] | str | None) -> Sequence[str]:
    return (given,) if isinstance(given, str) else given or ()


def fixed_targets(corpus: Corpus) -> tuple[str, ...]:
    """The target names of a corpus, for models whose contexts are fixed.

    Raises:
        ConfigError: More than a thousand: these are no fixed contexts.
    """
    names = sorted(
        {context.target or "" for sentence in corpus.sentences for context in sentence.contexts} - {""}
    )
    if set(names) <= set(TARGETS) and names:
        return TARGETS
    if len(names) > 1000:
        raise ConfigError(
            f"{len(names)} targets: a model with fixed contexts cannot learn them", hint="use weft-absa"
        )
    return tuple(names)

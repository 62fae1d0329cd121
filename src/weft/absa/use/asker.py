"""A model that can be asked: module, tokenizer and configuration in one object."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from itertools import product
from typing import Self, TypeAlias, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer
from torch import Tensor

from weft.absa.config import AbsaConfig
from weft.absa.model.build import AnyModel
from weft.absa.model.pair import PairBert
from weft.absa.model.weft_absa import WeftAbsa
from weft.absa.records import Context, Sentence, Side, check_side
from weft.absa.represent.batch import Pairs, Questions, Representation, aspect_words
from weft.absa.represent.slips import own_words
from weft.absa.use.answering import for_answers
from weft.absa.use.batches import batches
from weft.absa.use.passages import by_passages
from weft.absa.use.questions import Question, as_context, sentence_of_row
from weft.absa.use.sides import check_sides, side_of
from weft.absa.use.sureness import by_length, shares
from weft.absa.use.windows import Heard, cut_windows, most_telling, parts_of, with_words
from weft.attention.operation import cpu_multiplies_bf16
from weft.encoder.answering.precision import Precision, check_precision
from weft.encoder.answering.product import fastest_on_cpu
from weft.errors import ConfigError, InputError, with_article

Floats = NDArray[np.float64]
Offsets: TypeAlias = Sequence[tuple[int, int]]
Given = TypeVar("Given")
Made = TypeVar("Made")


class Asker:
    """Asks texts about aspects of targets.

    Args:
        module: The model.
        tokenizer: Its tokenizer.
        config: Its configuration, where it is to answer otherwise than it was stored.
        own: See :meth:`knowing`.

    Attributes:
        config: The model's configuration.
        representation: How sentences become tensors.
        classes_: The polarities, in the order of the probabilities.
    """

    def __init__(
        self,
        module: AnyModel,
        tokenizer: Tokenizer,
        config: AbsaConfig | None = None,
        own: frozenset[str] = frozenset(),
    ) -> None:
        self.module = module
        self.config = module.config if config is None else config
        self.tokenizer = tokenizer
        self.representation = Representation(
            tokenizer,
            self.config.polarities,
            self.config.aspects,
            self.config.options.max_length,
            self.config.encoder.pad_token_id,
            parts=self.config.kind == "weft-absa" and not self.config.options.open_aspects,
            as_meant=self.config.options.as_meant,
            own=own,
        )
        self.classes_ = self.config.polarities
        # What answers, and whether under autocast: see compute_in().
        self._answering = module
        self._autocast = False

    def __reduce__(self) -> tuple[type[Asker], tuple[object, ...]]:
        """Another process answers in fp32 again."""
        return Asker, (self.module, self.tokenizer, self.config, self.representation.own)

    @property
    def mask_id(self) -> int:
        """The id of ``[MASK]``; of ``[UNK]`` where the vocabulary has none."""
        for piece in ("[MASK]", "<mask>", "[UNK]", "<unk>"):
            number = self.tokenizer.token_to_id(piece)
            if number is not None:
                return number
        raise InputError("the vocabulary has neither a mask nor an unknown piece")

    @property
    def device(self) -> torch.device:
        """Where the model is."""
        return next(self.module.parameters()).device

    def to(self, device: torch.device | str) -> Self:
        """Move the model; it answers in fp32 again, for other arithmetic belongs to a device."""
        self.module.to(device)
        self._answering, self._autocast = self.module, False
        return self

    def compute_in(self, precision: Precision) -> Self:
        """Choose the arithmetic of the answers; explanations and training keep float32.

        The weights are converted here: choose again after they change.

        Args:
            precision: ``"fp32"``, as at the start; ``"bf16"``, products of matrices in bfloat16;
                ``"int8"``, products in eight bits, for models without quasi-attention on CPUs that
                multiply them exactly; ``"auto"``, the fastest that there is.

        Raises:
            ConfigError: Eight bits where model or machine cannot, or no such arithmetic.
        """
        check_precision("precision", precision)
        module = self.module
        # The fused products know no relative positions: such an encoder answers in bf16 by autocast.
        fused = isinstance(module, (WeftAbsa, PairBert)) and module.encoder.relative is None
        plain = fused and self.device.type == "cpu"
        if precision == "auto":
            bf16 = "bf16" if self.device.type != "cpu" or cpu_multiplies_bf16() else "fp32"
            precision = (fastest_on_cpu() or "fp32") if plain else bf16
        if precision == "int8" and not plain:
            what = f"this {self.config.kind} on {self.device.type}"
            raise ConfigError(f"products of eight bits: not for {what}", hint="use fp32 or bf16")
        self._answering, self._autocast = module, precision == "bf16" and not plain
        if isinstance(module, (WeftAbsa, PairBert)) and plain and precision != "fp32":
            self._answering = for_answers(module, precision)
        return self

    def calibrated(self, temperature: float, threshold: float | None = None) -> Asker:
        """The same model with another temperature, and another decision threshold where one is given.

        Raises:
            ConfigError: The temperature is not positive, or the threshold not in [0, 1].
        """
        kept = self.config.threshold if threshold is None else threshold
        return self._with(replace(self.config, temperature=temperature, threshold=kept))

    def as_written(self) -> Asker:
        """The same model, which reads every word as it stands, slips of the keyboard and ratings, too."""
        return self._with(replace(self.config, options=replace(self.config.options, as_meant=False)))

    def in_whole(self) -> Asker:
        """The same model, which hears a long text in the whole alone, without its passages."""
        return self._with(replace(self.config, passage_weight=0.0)) if self.config.passage_weight else self

    def knowing(self, words: Iterable[str]) -> Asker:
        """The same model, for which these words are right as they are: brands, products, words of a trade.

        Args:
            words: In any letter case; of several words in one, and of a compound, each counts.

        Raises:
            ConfigError: The model reads every word as it stands.
            InputError: One string in place of a list.
        """
        if not self.config.options.as_meant:
            raise ConfigError("words that stay as they are say nothing to a model that reads all so")
        return self._with(self.config, self.representation.own | own_words(words))

    def _with(self, config: AbsaConfig, own: frozenset[str] | None = None) -> Asker:
        asker = Asker(self.module, self.tokenizer, config, self.representation.own if own is None else own)
        asker._answering, asker._autocast = self._answering, self._autocast
        return asker

    def represent(self, sentences: Sequence[Sentence]) -> Questions | Pairs:
        """The tensors that this kind of model reads."""
        if self.config.kind in ("weft-absa", "qacg"):
            return self.representation.questions(sentences)
        options, kind = self.config.options, self.config.kind
        return self.representation.pairs(sentences, self._fixed(), second=kind == "pair" or options.text_pair)

    def _fixed(self) -> dict[tuple[str | None, str], int] | None:
        if self.config.kind not in ("qacg-official", "cg"):
            return None
        names = product(self.config.targets or (None,), map(aspect_words, self.config.aspects))
        return {name: number for number, name in enumerate(names)}

    def logits(self, batch: Questions | Pairs) -> Tensor:
        """Logits ``(contexts, classes)`` of a batch on the model's device, in ``eval`` mode."""
        self.module.eval()
        return self.module(batch).logits

    def shares(self, logits: Tensor, batch: Questions | Pairs) -> Tensor:
        """Probabilities ``(contexts, classes)`` of a batch's logits, see :func:`weft.absa.use.sureness.shares`."""
        return shares(logits, batch, self.config)

    def answer(self, sentences: Sequence[Sentence], batch_contexts: int = 512) -> list[Floats]:
        """Probabilities of every question, ``(contexts, classes)`` for each sentence; see :meth:`hear`."""
        return [heard.rows for heard in self.hear(sentences, batch_contexts)]

    def hear(self, sentences: Sequence[Sentence], batch_contexts: int = 512) -> list[Heard]:
        """Probabilities of every question, and of each window of a long text.

        A text longer than the model reads at once is read in windows. For each question the window with
        the least probability of ``none`` speaks, among those that mention the target where any does.
        A text that stands in several sentences is read once, with the questions of all. What a text was asked for
        moves its answers (:func:`weft.absa.use.sides.leaning`).

        Args:
            sentences: Texts with at least one question each.
            batch_contexts: The most questions of one pass through the model.
        """
        if any(sentence.side for sentence in sentences):
            check_sides(self.classes_)
        asked: dict[str, dict[Context, int]] = {}
        for sentence in sentences:
            places = asked.setdefault(sentence.text, {})
            for context in sentence.contexts:
                places.setdefault(context, len(places))
        gathered = [Sentence(text, tuple(places)) for text, places in asked.items()]
        heard = self._answer(gathered, batch_contexts)
        if weight := self.config.passage_weight:
            read = [replace(one, text=self.representation.unlabelled(one.text)) for one in gathered]
            heard = by_passages(read, heard, weight, lambda near: self._answer(near, batch_contexts))
        answers = dict(zip(asked, heard, strict=True))
        return [
            answers[sentence.text]
            .of([asked[sentence.text][context] for context in sentence.contexts])
            .leaning(side_of(sentence.text, sentence.side), self.classes_)
            for sentence in sentences
        ]

    def _answer(self, sentences: Sequence[Sentence], batch_contexts: int) -> list[Heard]:
        windows = [
            (number, begin, window)
            for number, sentence in enumerate(sentences)
            for begin, window in self._placed(sentence)
        ]
        asked = [part for _, _, window in windows for part in parts_of(window, batch_contexts)]
        results: dict[int, tuple[Floats, Floats]] = {}
        self._answering.eval()
        taken = list(self._batches(asked, batch_contexts))
        passes = [[asked[i] for i in batch] for batch in taken]
        for batch, given, answered in zip(taken, passes, self._passes(passes, self._pass), strict=True):
            ends = np.cumsum([len(sentence.contexts) for sentence in given])[:-1]
            results |= zip(
                batch, zip(*(np.split(values, ends) for values in answered), strict=True), strict=True
            )
        found: list[list[tuple[int, Sentence, Heard]]] = [[] for _ in sentences]
        answers = iter([results[i] for i in range(len(asked))])
        for number, begin, window in windows:
            own = [next(answers) for _ in parts_of(window, batch_contexts)]
            rows, factors = own[0] if len(own) == 1 else map(np.concatenate, zip(*own, strict=True))
            found[number].append((begin, window, Heard(rows, factors=factors)))
        return [
            parts[0][2] if len(parts) == 1 else most_telling(sentence.text, parts, self.representation)
            for sentence, parts in zip(sentences, found, strict=True)
        ]

    def tags(self, texts: Sequence[str]) -> list[list[tuple[Offsets, NDArray[np.int64]]]]:
        """For each text its windows, each with the characters of its tokens and their tags.

        The tags are numbers of :data:`weft.absa.model.terms.TAGS`.

        Raises:
            ConfigError: The model finds no terms.
        """
        self._answering.eval()
        windows = [
            (number, window.text, begin)
            for number, text in enumerate(texts)
            for begin, window in self._placed(
                Sentence(text, (Context("general"),)), self.config.options.term_length
            )
        ]
        taken = list(
            self._batches([Sentence(text, (Context("general"),)) for _, text, _ in windows], 1 << 30)
        )
        rows: dict[int, NDArray[np.int64]] = {}
        passes = self._passes([[windows[i][1] for i in batch] for batch in taken], self._tag_pass)
        for batch, found in zip(taken, passes, strict=True):
            rows.update(zip(batch, found, strict=True))
        tagged: list[list[tuple[Offsets, NDArray[np.int64]]]] = [[] for _ in texts]
        for i, (number, text, begin) in enumerate(windows):
            inner = self.representation.cut(self.representation.pieces(text)).offsets
            shifted = [(start + begin, stop + begin) if stop > start else (0, 0) for start, stop in inner]
            tagged[number].append((shifted, rows[i][: len(shifted)]))
        return tagged

    def _tag_pass(self, texts: Sequence[str]) -> NDArray[np.int64]:
        if not isinstance(self._answering, WeftAbsa):
            raise ConfigError(f"{with_article(self.config.kind)} finds no terms")
        arithmetic = torch.autocast(self.device.type, torch.bfloat16) if self._autocast else nullcontext()
        ids, mask = self.representation.rows(texts)
        with torch.no_grad(), arithmetic:
            logits = self._answering.tag(ids.to(self.device), mask.to(self.device))
            logits[..., 0] += self.config.outside
            return logits.argmax(dim=-1).cpu().numpy()

    def _passes(
        self, batches: Sequence[Sequence[Given]], work: Callable[[Sequence[Given]], Made]
    ) -> Iterator[Made]:
        """What is made of each batch, in order; on a CPU a thread for each batch beats all for one."""
        threads = torch.get_num_threads() if self.device.type == "cpu" else 1
        if threads == 1 or len(batches) <= 1:
            yield from map(work, batches)
            return
        workers = min(threads, len(batches))
        try:
            with ThreadPoolExecutor(workers, initializer=torch.set_num_threads, initargs=(1,)) as pool:
                yield from pool.map(work, batches)
        finally:
            torch.set_num_threads(threads)

    def _pass(self, sentences: Sequence[Sentence]) -> tuple[Floats, Floats]:
        """Probabilities of the questions, and how much less sure they are for their texts' length."""
        # Whether gradients are kept, and autocast, belong to the thread.
        arithmetic = torch.autocast(self.device.type, torch.bfloat16) if self._autocast else nullcontext()
        inputs = self.represent(sentences).to(self.device)
        with torch.no_grad(), arithmetic:
            logits = self._answering(inputs).logits
        return self.shares(logits, inputs).cpu().numpy(), by_length(inputs, self.config)[:, 0].cpu().numpy()

    def _batches(self, windows: Sequence[Sentence], batch_contexts: int) -> Iterator[list[int]]:
        """Windows of similar length together, up to ``batch_contexts`` questions or the tokens of a pass."""
        lengths = [len(self.representation.pieces(window.text).ids) for window in windows]
        asked = [len(window.contexts) for window in windows]
        views = [len(window.groups()) for window in windows] if self.config.kind == "weft-absa" else asked
        sizes = [length * count for length, count in zip(lengths, views, strict=True)]
        threads = torch.get_num_threads() if self.device.type == "cpu" else None
        return batches(lengths, asked, sizes, batch_contexts, threads)

    def _placed(self, sentence: Sentence, longest: int = 0) -> list[tuple[int, Sentence]]:
        """The windows, each with its first character's place in the text; of ``max_length`` tokens where 0."""
        pieces = self.representation.pieces(sentence.text)
        room = (longest or self.config.options.max_length) - 2
        if len(pieces.ids) - 2 <= room:
            return [(0, sentence)]
        inner = pieces.offsets[1:-1]
        text = self.representation.unlabelled(sentence.text)
        cuts = [(inner[first][0], inner[last - 1][1]) for first, last in cut_windows(text, inner, room)]
        return [
            (begin, Sentence(text[begin:end], sentence.contexts, (), sentence.where))
            for begin, end in with_words(text, cuts)
        ]

    def window(self, text: str, question: Question) -> tuple[int, Sentence]:
        """The window of a text that answers a question, with its first character's place; see :meth:`hear`.

        Raises:
            InputError: The text is empty.
        """
        asked = Sentence(text, (as_context(question),), (), "the text")
        windows = self._placed(asked)
        (heard,) = self.hear([asked]) if len(windows) > 1 else [None]
        return windows[0 if heard is None or heard.speaking is None else int(heard.speaking[0])]

    def predict(self, texts: Sequence[str], contexts: Sequence[Question], side: Side | None = None) -> Floats:
        """Ask every text every question.

        Args:
            texts: The texts.
            contexts: The questions: contexts, aspects, or (target, aspect) pairs. Of ``("Camden", "price")`` in place
                of a list both words are aspects; one question about a target is ``[("Camden", "price")]``.
            side: Of texts that answer a question for what was good, ``"pros"``, or for what was not, ``"cons"``.

        Returns:
            ``(texts, contexts, classes)``, probabilities in the order of ``classes_``.

        Raises:
            InputError: A text that is empty or no string, no questions, or a string in place of a list.
        """
        for name, given in (("texts", texts), ("contexts", contexts)):
            if isinstance(given, str):
                raise InputError(f"{name} is one string", hint=f"give a list: [{given!r}]")
        check_side(side)
        asked = tuple(as_context(context) for context in contexts)
        if not asked:
            raise InputError("no questions: give at least one context")
        sentences = [
            Sentence(text, asked, (), f"text {number}", side=side)
            for number, text in enumerate(texts, start=1)
        ]
        if not sentences:
            return np.zeros((0, len(asked), len(self.classes_)))
        return np.stack(self.answer(sentences))

    def predict_proba(self, rows: Sequence[tuple[str, Question]]) -> Floats:
        """Probabilities of (text, question) rows, ``(rows, classes)``, as scikit-learn shapes them.

        Raises:
            InputError: A row that is no such pair, or whose text is empty or no string.
        """
        sentences = [sentence_of_row(row, f"row {number}") for number, row in enumerate(rows, start=1)]
        return np.concatenate(self.answer(sentences)) if sentences else np.zeros((0, len(self.classes_)))

    def mentions(self, text: str, target: str | None) -> bool:
        """Whether the text names the target; a question without a target is about the whole text."""
        return target is None or bool(self.representation.positions(text, target))

"""What is asked of a text, and what the answer should be: plain data, no tensors."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from weft.absa.represent.spelling import shown
from weft.errors import ConfigError, InputError, with_article

NONE = "none"
"""The polarity of a context on which the text has no opinion; always class 0."""

UNKNOWN = "?"
"""In training's draws, the polarity of a question that nobody answered: only teachers say something about it."""

CONFLICT = "conflict"
"""The polarity of a context that the text both praises and blames."""

UNSURE = "unsure"
"""What is answered where nothing is probable enough and one asked to be told so."""

_BLANK = re.compile(
    r"[\s\x00-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\ufff9-\ufffd]*"
)
_HALVES = re.compile("[\ud800-\udfff]")
SENTIHOOD_POLARITIES = (NONE, "positive", "negative")
Side = Literal["pros", "cons"]
"""What a text was asked for, where a form has a field for what was good and one for what was not."""
SIDES: tuple[Side, ...] = ("pros", "cons")
SEMEVAL_POLARITIES = (NONE, "positive", "negative", "neutral", CONFLICT)


@dataclass(frozen=True, order=True)
class Context:
    """One question to a text: what does it feel about this aspect (of this target)?

    Args:
        aspect: The aspect in words, for example ``"price"`` or ``"how clean the rooms are"``.
        target: The words in the text that name the thing asked about; None asks about the whole text.

    Raises:
        InputError: Words that are blank or no UTF-8.
    """

    aspect: str
    target: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.aspect, str) or is_blank(self.aspect):
            raise InputError(f"the aspect is {self.aspect!r}; it must be at least one word")
        if self.target is not None and (not isinstance(self.target, str) or is_blank(self.target)):
            raise InputError(f"the target is {self.target!r}; it must be words of the text, or None")
        for name, words in (("aspect", self.aspect), ("target", self.target)):
            if words is not None and not is_utf8(words):
                raise InputError(f"the {name} {words!r} is not UTF-8")


@dataclass(frozen=True)
class Sentence:
    """A text with the questions asked of it and, where they are known, the answers.

    Args:
        text: The text.
        contexts: The questions.
        polarities: The gold polarity of each question; empty where they are not known.
        where: The place in the source, for messages: ``"reviews.csv row 17"``.
        places: The place of each question, where a row of the source holds one; else empty.
        side: What the text was asked for; None where that was neither praise nor blame.

    Raises:
        InputError: A text that is blank or no string, a question that is no :class:`Context`, or polarities of another
            number than the questions.
    """

    text: str
    contexts: tuple[Context, ...]
    polarities: tuple[str, ...] = ()
    where: str = ""
    places: tuple[str, ...] = field(default=(), compare=False)
    side: Side | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.text, str):
            raise InputError(
                f"{with_article(type(self.text).__name__)}, not a text", where=self.where or None
            )
        if is_blank(self.text):
            raise InputError("the text is empty", where=self.where or None)
        check_side(self.side)
        for context in self.contexts:
            if not isinstance(context, Context):
                raise InputError(
                    f"{context!r} is no question",
                    where=self.where or None,
                    hint="give Context(aspect, target)",
                )
        if self.polarities and len(self.polarities) != len(self.contexts):
            raise InputError(
                f"{len(self.contexts)} contexts but {len(self.polarities)} polarities",
                where=self.where or None,
            )

    def groups(self) -> dict[str | None, list[int]]:
        """The indices of the contexts by target, in the order in which the targets first appear."""
        by_target: dict[str | None, list[int]] = {}
        for index, context in enumerate(self.contexts):
            by_target.setdefault(context.target, []).append(index)
        return by_target

    def only(self, indices: Sequence[int]) -> Sentence:
        """The same text with these questions."""
        return Sentence(
            self.text,
            tuple(self.contexts[i] for i in indices),
            tuple(self.polarities[i] for i in indices) if self.polarities else (),
            self.where,
            tuple(self.places[i] for i in indices) if self.places else (),
            self.side,
        )


def check_side(side: object) -> None:
    """Refuse what is neither a side nor None.

    Raises:
        InputError: It is not.
    """
    if side is not None and side not in SIDES:
        raise InputError(f"{side!r} is no side", hint=f"give {' or '.join(map(repr, SIDES))}, or None")


def is_blank(text: str) -> bool:
    """Whether there is nothing to see: spaces, control characters, marks without a width, tags of web pages."""
    seen = _BLANK.sub("", text, count=1)
    return not seen or (seen[0] in "<&" and _BLANK.fullmatch(shown(seen)) is not None)


def is_utf8(text: str) -> bool:
    """Whether a text can be written: none of its characters is half of a pair."""
    return text.isascii() or _HALVES.search(text) is None


NOT_UTF8 = "is not UTF-8"
"""The end of what is said of such a row."""
CONVERTS = "`iconv -f windows-1252 -t utf-8 FILE > NEW` converts what spreadsheets on Windows export"


@dataclass(frozen=True)
class Problem:
    """A row that could not be used, and why."""

    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


@dataclass
class Problems:
    """The rows that were left out: all are counted, the first ``keep`` are kept to be shown."""

    keep: int = 20
    count: int = 0
    shown: list[Problem] = field(default_factory=list)

    undecoded: bool = field(default=False, init=False)

    def add(self, where: str, what: str) -> None:
        """Count one row and keep it while there is room."""
        self.count += 1
        self.undecoded = self.undecoded or what.endswith(NOT_UTF8)
        if len(self.shown) < self.keep:
            self.shown.append(Problem(where, what))

    def lines(self) -> Iterator[str]:
        """The kept problems, one line each, and how many more there were."""
        yield from map(str, self.shown)
        if self.count > len(self.shown):
            yield f"… and {self.count - len(self.shown)} more"
        if self.undecoded:
            yield CONVERTS

    def check_used(self, used: int, where: str) -> None:
        """Refuse a source of which nothing could be used.

        Args:
            used: How much of it was used.
            where: The source.

        Raises:
            InputError: Nothing, and there are problems.
        """
        if self.count and not used:
            raise InputError(
                f"no usable row; the first problem: {self.shown[0]}",
                where=where,
                hint=CONVERTS if self.undecoded else None,
            )


@dataclass(frozen=True)
class Corpus:
    """Labelled sentences of one source.

    Args:
        sentences: The usable sentences.
        polarities: The classes, ``"none"`` first.
        problems: The rows that were left out.
    """

    sentences: tuple[Sentence, ...]
    polarities: tuple[str, ...]
    problems: Problems = field(default_factory=Problems)

    def __post_init__(self) -> None:
        check_polarities(self.polarities)

    @property
    def aspects(self) -> tuple[str, ...]:
        """The aspects asked about, sorted."""
        return tuple(sorted({context.aspect for sentence in self.sentences for context in sentence.contexts}))

    def gold(self) -> list[int]:
        """The gold class of every context, sentence after sentence.

        Raises:
            InputError: A polarity that is none of the classes.
        """
        number = {name: index for index, name in enumerate(self.polarities)}
        for sentence in self.sentences:
            for polarity in sentence.polarities:
                if polarity not in number:
                    raise InputError(
                        f"polarity {polarity!r} is not one of the corpus's: {', '.join(self.polarities)}",
                        where=sentence.where or None,
                    )
        return [number[polarity] for sentence in self.sentences for polarity in sentence.polarities]

    def only(self, aspects: Iterable[str]) -> Corpus:
        """The same sentences with only these aspects asked."""
        wanted = set(aspects)
        kept: list[Sentence] = []
        for sentence in self.sentences:
            chosen = [i for i, context in enumerate(sentence.contexts) if context.aspect in wanted]
            if chosen:
                kept.append(sentence.only(chosen))
        return Corpus(tuple(kept), self.polarities, self.problems)

    def labelled_as(self, polarities: Sequence[str]) -> Corpus:
        """The same corpus under a model's classes; questions with another polarity become problems."""
        kept: list[Sentence] = []
        problems = replace(self.problems, shown=list(self.problems.shown))
        for sentence in self.sentences:
            known = [i for i, polarity in enumerate(sentence.polarities) if polarity in polarities]
            for i in sorted(set(range(len(sentence.polarities))) - set(known)):
                where = sentence.places[i] if sentence.places else sentence.where
                problems.add(where, f"polarity {sentence.polarities[i]!r} is not one of the model's")
            if len(known) == len(sentence.polarities):
                kept.append(sentence)
            elif known:
                kept.append(sentence.only(known))
        return Corpus(tuple(kept), tuple(polarities), problems)

    def subset(self, indices: Sequence[int]) -> Corpus:
        """The sentences at these indices."""
        return Corpus(tuple(self.sentences[i] for i in indices), self.polarities, self.problems)


def check_polarities(polarities: Sequence[str]) -> None:
    """Check a model's or a corpus's classes.

    Raises:
        ConfigError: Fewer than two classes, a repeated one, or ``"none"`` not first.
    """
    if len(polarities) < 2 or polarities[0] != NONE or len(set(polarities)) != len(polarities):
        raise ConfigError(
            f"polarities are {list(polarities)}; they must be distinct, at least two, and begin with {NONE!r}"
        )

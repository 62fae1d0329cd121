"""Predictions as records: from rows of a table, in a stream, in constant memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from weft.absa.checks import check_threshold
from weft.absa.read.fields import in_row
from weft.absa.read.labelled import optional_cell, text_cell
from weft.absa.read.table import TableRow
from weft.absa.records import NONE, UNSURE, Context, Problems, Sentence
from weft.absa.represent.denied import has_words
from weft.absa.use.asker import Asker
from weft.absa.use.decide import decide
from weft.absa.use.notes import FOREIGN, MENDED, notes_on
from weft.absa.use.windows import Heard
from weft.errors import ConfigError, InputError

_OPPOSITE = {"positive": "negative", "negative": "positive"}
_JUDGED = 0.5
"""From which share on a window of a long text is said to judge otherwise."""
_ROWS_OF_A_TEXT = 8
"""How many rows of each text are in memory at once, in the mean, where texts stand in many rows."""
_FIRST = 64
"""Texts of the first chunk; each further one has twice as many: the first answers are there soon."""
_QUESTIONS_OF_A_TEXT = 16
"""How many questions about each text are in memory at once, in the mean: of more fewer texts are."""


@dataclass(frozen=True)
class Asked:
    """What is asked of every row.

    Args:
        aspects: Aspects asked of every row; the row's own where ``aspect_column`` is given.
        targets: Targets asked of every row; none asks about the whole text.
        text_column: The column of the text.
        target_column: A column with the row's own target.
        aspect_column: A column with the row's own aspect.

    Raises:
        ConfigError: No aspect is asked, or aspects or targets come from two places.
    """

    aspects: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    text_column: str = "text"
    target_column: str | None = None
    aspect_column: str | None = None

    def __post_init__(self) -> None:
        if self.aspects and self.aspect_column is not None:
            raise ConfigError("give aspects, or the column that holds them, not both")
        if not self.aspects and self.aspect_column is None:
            raise ConfigError(
                "give aspects, or the column that holds them",
                hint="--aspect price, for instance; find looks itself",
            )
        if self.targets and self.target_column is not None:
            raise ConfigError("give targets, or the column that holds them, not both")

    @property
    def columns(self) -> list[str]:
        """The columns that a table must have."""
        return [self.text_column, *self.further]

    @property
    def further(self) -> list[str]:
        """Those beside the text's."""
        return [name for name in (self.target_column, self.aspect_column) if name]

    def sentence(self, row: TableRow, where: str) -> Sentence:
        """The row's text with its questions.

        Raises:
            InputError: The row is broken, has no text, or no aspect.
        """
        if row.problem is not None:
            raise InputError(row.problem)
        text = text_cell(row.cells, row.column or self.text_column)
        own_target = optional_cell(row.cells, self.target_column)
        targets: Sequence[str | None] = self.targets or (own_target,)
        aspects = self.aspects if self.aspect_column is None else (text_cell(row.cells, self.aspect_column),)
        contexts = tuple(dict.fromkeys(Context(aspect, target) for target in targets for aspect in aspects))
        return Sentence(text, contexts, (), where, side=row.side)


def records(
    asker: Asker,
    sentences: Sequence[Sentence],
    threshold: float | None = None,
    abstain: float | None = None,
    answers: Sequence[Heard] | None = None,
) -> list[dict[str, Any]]:
    """One record for each question: text, target, aspect, polarity, probabilities, note.

    ``target_found`` tells whether the text mentions the target. Where it does not, nothing can be said
    about it, and the polarity is ``none``, whatever the probabilities, which are those of the whole text. So it is of a
    text without words ("?!"). The ``note`` says that, and where else an answer is not simply the most probable one: a
    threshold decided, nothing is sure enough, another part of a long text is judged the other way round, the text is in
    another language than English, or words of it are read as what is likely meant; it is None where there is nothing to
    say.

    Args:
        asker: The model.
        sentences: The texts with their questions.
        threshold: See :func:`weft.absa.use.decide.decide`; the model's own where None.
        abstain: The polarity is ``unsure`` where the answer is less probable than this; None answers always.
        answers: What :meth:`Asker.hear` gave for these sentences, where it was asked already.

    Raises:
        ConfigError: A threshold or ``abstain`` outside [0, 1].
    """
    if abstain is not None:
        check_threshold("abstain", abstain)
    found: list[dict[str, Any]] = []
    about = {text: notes_on(text, asker) for text in {sentence.text for sentence in sentences}}
    limit = asker.config.threshold if threshold is None else threshold
    for sentence, heard in zip(sentences, answers or asker.hear(sentences), strict=True):
        classes = decide(heard.rows, limit)
        worded = has_words(sentence.text)
        for number, (context, row, chosen) in enumerate(
            zip(sentence.contexts, heard.rows, classes, strict=True)
        ):
            mentioned = asker.mentions(sentence.text, context.target)
            said = mentioned and worded
            unsure = said and abstain is not None and row[chosen] < abstain
            notes: list[str] = []
            if not worded:
                notes.append("the text has no words")
            elif not mentioned:
                notes.append(f"the text does not mention {context.target}")
            elif unsure:
                notes.append(f"{asker.classes_[chosen]} at {row[chosen]:.2f} is less sure than {abstain:g}")
            elif chosen != row.argmax():
                notes.append(f"decided by the threshold {limit:g}")
            opposite = _OPPOSITE.get(asker.classes_[chosen])
            if said and not unsure and opposite in asker.classes_:
                share = heard.most(number, asker.classes_.index(opposite))
                if share >= _JUDGED:
                    notes.append(f"another part of the text is judged {opposite} ({share:.2f})")
            notes += about[sentence.text]
            found.append(
                {
                    "text": sentence.text,
                    "target": context.target,
                    "aspect": context.aspect,
                    "polarity": (UNSURE if unsure else asker.classes_[chosen]) if said else NONE,
                    "target_found": mentioned,
                    "probabilities": {
                        name: round(float(value), 6) for name, value in zip(asker.classes_, row, strict=True)
                    },
                    "note": "; ".join(notes) or None,
                }
            )
    return found


def stream(
    asker: Asker,
    rows: Iterable[TableRow],
    asked: Asked,
    problems: Problems,
    *,
    source: str = "",
    threshold: float | None = None,
    abstain: float | None = None,
    chunk: int = 1024,
) -> Iterator[list[dict[str, Any]]]:
    """Records of the rows, chunk after chunk, each with the ``row`` it came from, see :func:`in_row`.

    Args:
        asker: The model.
        rows: The table's rows.
        asked: What is asked of them.
        problems: Takes the rows that cannot be used.
        source: The table's name, for messages.
        threshold: See :func:`records`.
        abstain: See :func:`records`.
        chunk: Texts of a chunk, of the first ones fewer, and of all where more than sixteen questions are asked of
            each text; at most eight times as many rows. Three chunks are in memory at once.
    """

    def told(sentences: list[Sentence], rows: list[TableRow], answers: list[Heard]) -> list[dict[str, Any]]:
        found = records(asker, sentences, threshold, abstain, answers)
        return [in_row(row, record) for row, record in zip(rows, found, strict=True)]

    def heard() -> Iterator[tuple[list[Sentence], list[TableRow], list[Heard]]]:
        own = max(1, len(asked.targets)) * max(1, len(asked.aspects))
        for taken in _chunks(
            rows, max(1, min(chunk, _QUESTIONS_OF_A_TEXT * chunk // own)), asked.text_column
        ):
            sentences: list[Sentence] = []
            given: list[TableRow] = []
            for row in taken:
                where = f"{source} row {row.number}".strip()
                try:
                    sentence = asked.sentence(row, where)
                except InputError as error:
                    problems.add(where, error.what)
                    continue
                sentences.append(sentence)
                given += [row] * len(sentence.contexts)
            yield sentences, given, asker.hear(sentences) if sentences else []

    # The records of a chunk are made in a thread of their own, while the next one is answered.
    with ThreadPoolExecutor(1) as beside:
        waiting: Future[list[dict[str, Any]]] | None = None
        try:
            for answered in heard():
                if waiting is not None:
                    done, waiting = waiting, None
                    yield done.result()
                waiting = beside.submit(told, *answered)
        except Exception:
            # What was answered before the fault is given, and then the fault.
            if waiting is not None:
                yield waiting.result()
            raise
        if waiting is not None:
            yield waiting.result()


def _chunks(rows: Iterable[TableRow], texts: int, column: str) -> Iterator[list[TableRow]]:
    """Rows that follow each other and hold so many different texts, the first ones fewer."""
    taken: list[TableRow] = []
    seen: set[str] = set()
    most = min(_FIRST, texts)
    for row in rows:
        taken.append(row)
        seen.add(str(row.cells.get(row.column or column)))
        if len(seen) == most or len(taken) == _ROWS_OF_A_TEXT * most:
            yield taken
            taken, seen, most = [], set(), min(2 * most, texts)
    if taken:
        yield taken


@dataclass
class Tally:
    """How many answers of a table say little: who reads only the answers should know.

    Attributes:
        questions: All of them.
        unmentioned: About a target that the text does not mention.
        foreign: About a text that seems to be in another language than English.
        mended: About a text of which words are read as what is likely meant.
    """

    questions: int = 0
    unmentioned: int = 0
    foreign: int = 0
    mended: int = 0

    def add(self, found: Sequence[dict[str, Any]]) -> None:
        """Count some records."""
        self.questions += len(found)
        self.unmentioned += sum(not record["target_found"] for record in found)
        self.foreign += sum(FOREIGN in (record["note"] or "") for record in found)
        self.mended += sum(MENDED in (record["note"] or "") for record in found)

    def lines(self) -> list[str]:
        """What there is to say, a line each."""
        one_or_more = (
            (
                self.unmentioned,
                "names a target that its text does not mention: answered none",
                "name a target that their text does not mention: answered none",
            ),
            (
                self.foreign,
                "is about a text that seems to be in another language than English",
                "are about texts that seem to be in another language than English",
            ),
            (
                self.mended,
                "is about a text of which words are read as what is likely meant: see its note",
                "are about texts of which words are read as what is likely meant: see their notes",
            ),
        )
        of_all = f"of {self.questions:,} {'question' if self.questions == 1 else 'questions'}"
        return [
            f"{count:,} {of_all} {one if count == 1 else more}" for count, one, more in one_or_more if count
        ]


def flat(record: dict[str, Any]) -> dict[str, Any]:
    """The record with a column for each probability in their place, as tables need it."""
    found: dict[str, Any] = {}
    for name, value in record.items():
        if name == "probabilities":
            found |= {f"p_{polarity}": share for polarity, share in value.items()}
        else:
            found[name] = value
    return found


def column_types(columns: Iterable[str]) -> dict[str, type]:
    """The types of a flat record's columns that hold no text."""
    named = {"row": int, "target_found": bool}
    return named | {name: float for name in columns if name.startswith("p_")}

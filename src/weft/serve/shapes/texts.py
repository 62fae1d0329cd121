"""Requests and answers about texts; the answers are those of ``weft absa … --json``."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, RootModel, model_validator

from weft.serve.shapes.base import Asked, Told, UploadId

Text = Annotated[str, Field(min_length=1, max_length=100_000, pattern=r"\S")]
Aspect = Annotated[str, Field(min_length=1, max_length=200, pattern=r"\S")]
_MOST = 1024
_AT_ONCE = 50_000
"""Characters, once for each question about them, that are answered at once, in about a second; more is a job."""
Column = Annotated[str, Field(min_length=1, max_length=200)]
Category = Annotated[str, Field(min_length=1, max_length=1000, pattern=r"\S")]
Side = Literal["pros", "cons"]
Form = Literal["csv", "jsonl", "parquet", "lines"]
AsWritten = Annotated[
    bool,
    Field(description="Read slips of the keyboard, ratings and signs as they stand, not as they are meant."),
]
OwnWord = Annotated[str, Field(min_length=1, max_length=200)]
_WORDS = "Right as they are: brands, products, words of a trade."
Share = Annotated[float, Field(ge=0, le=1)]


class AskFind(Asked):
    """Texts that are to be read without being asked, or a table of them."""

    texts: list[Text] = Field([], max_length=256, examples=[["The food was great, the service slow."]])
    file: UploadId | None = Field(
        None, description="A table instead: CSV, JSON lines, Parquet, or plain lines."
    )
    format: Form | None = Field(None, description="Of the table; by the ending of its name where null.")
    text_column: str | None = Field(
        None, max_length=200, description="`text`, where there is no column of pros or cons."
    )
    pros: list[Column] = Field([], max_length=16, description="Columns of what people liked.")
    cons: list[Column] = Field([], max_length=16, description="Columns of what they would have otherwise.")
    side: Side | None = Field(
        None, description="What all texts were asked for: what was good, or what was not."
    )
    by: Column | None = Field(
        None, description="A column to compare what is found by: a branch, a month, stars."
    )
    domain: list[Category] = Field(
        [],
        max_length=64,
        examples=[["delivery: shipping, courier", "price"]],
        description="Categories of one's own, as lines of `--domain`; each text is asked about each of them.",
    )
    abstain: Share | None = Field(
        None, description="Answer `unsure` where the answer is less sure than this."
    )
    as_written: AsWritten = False
    words: list[OwnWord] = Field([], max_length=1000, description=_WORDS)

    @model_validator(mode="after")
    def _consistent(self) -> AskFind:
        _texts_or_file(self, "format", "text_column", "pros", "cons", "by")
        _read_one_way(self)
        questions = len(self.texts) * len(self.domain)
        if questions > _MOST:
            raise ValueError(f"{questions} questions; one request may have {_MOST}: send the texts as a file")
        return self


class AskPredict(AskFind):
    """Texts, or a table of them, with what is asked of each; where nothing is asked, what they judge is found."""

    aspects: list[Aspect] = Field(
        [],
        max_length=64,
        examples=[["food", "service"]],
        description="What the texts judge is found where none.",
    )
    targets: list[Aspect] = Field(
        [], max_length=64, description="Words of the text; the whole text where none."
    )
    threshold: Share | None = Field(
        None, description="Report an opinion with more than this share; the model's."
    )
    target_column: str | None = Field(None, max_length=200)
    aspect_column: str | None = Field(None, max_length=200)

    @model_validator(mode="after")
    def _consistent(self) -> AskPredict:
        _texts_or_file(self, "format", "text_column", "pros", "cons", "by", "target_column", "aspect_column")
        _read_one_way(self)
        if self.finds:
            for name in ("targets", "target_column", "threshold"):
                if getattr(self, name) not in (None, []):
                    raise ValueError(f"{name} is about an aspect that is asked: give aspects")
        elif self.domain:
            raise ValueError("domain is about what is found: leave it out, or ask no aspects")
        elif self.by is not None:
            raise ValueError("by compares what is found: leave it out, or ask no aspects")
        questions = len(self.texts) * len(self.aspects) * max(1, len(self.targets))
        if questions > _MOST:
            raise ValueError(f"{questions} questions; one request may have {_MOST}: send the texts as a file")
        return self

    @property
    def finds(self) -> bool:
        """Whether nothing is asked, so that what the texts judge is found."""
        return not self.aspects and self.aspect_column is None

    @property
    def is_long(self) -> bool:
        """Whether its texts are more than are answered at once."""
        return len(self.aspects) * max(1, len(self.targets)) * sum(map(len, self.texts)) > _AT_ONCE


def _texts_or_file(asked: AskFind, *of_file: str) -> None:
    """Refuse both or none of them, and of texts what is said about a file."""
    if bool(asked.texts) == (asked.file is not None):
        raise ValueError("give texts, or the file that holds them")
    for name in of_file:
        given = getattr(asked, name)
        # Before there were others, the column's name was "text" where nobody said it.
        usual = (type(asked).model_fields[name].default, "text" if name == "text_column" else None)
        if asked.file is None and given not in usual:
            raise ValueError(f"{name} is about a file: leave it out, or send the texts as a file")
    if asked.side is not None and (asked.pros or asked.cons):
        raise ValueError("give the side of all texts, or the columns of each side, not both")


def _read_one_way(asked: AskFind | AskWords) -> None:
    if asked.as_written and asked.words:
        raise ValueError("words beside as_written, which reads every word as it stands")


class Finding(Told):
    """Something that a text judges."""

    row: int | None = Field(None, description="Of a table, from 1.")
    group: str | None = Field(None, description="What it is compared by, where a column is named.")
    column: str | None = Field(None, description="Of the text, where a row has several.")
    text: str
    term: str | None
    start: int | None
    stop: int | None
    category: str | None
    polarity: str
    confidence: float
    words: str | None
    note: str | None


class Findings(RootModel[list[Finding]]):
    """As `weft absa find TEXT --json`, for each text."""


class JudgedAspect(Told):
    """How an aspect is judged in a table."""

    aspect: str
    count: int
    polarities: dict[str, int]
    terms: dict[str, int]
    examples: dict[str, list[str]]


class GroupJudged(Told):
    """What the texts of one group judge, faint judgements with them."""

    group: str
    texts: int
    aspects: dict[str, dict[str, int]]


class Difference(Told):
    """What one group praises, or blames, more or less often than the others: so many of how many texts."""

    aspect: str
    group: str
    measure: Literal["praised", "blamed"]
    here: tuple[int, int]
    elsewhere: tuple[int, int]
    p: float = Field(description="How likely by chance, with all that is compared in view.")


class Compared(Told):
    """Groups of texts, and what stands out in one of them."""

    column: str
    texts_without: int
    groups: list[GroupJudged]
    differences: list[Difference]


class Judged(Told):
    """As `weft absa find FILE --json`."""

    texts: int
    without_findings: int
    other_languages: int
    mended: int
    aspects: list[JudgedAspect]
    by: Compared | None = Field(None, description="Where a column to compare by is named.")


class TableFindings(Told):
    """The summary and the records of `weft absa find FILE --json -o`, and the rows that could not be used."""

    schema_: Literal[1] = Field(alias="schema")
    summary: Judged
    records: list[Finding]
    problems: list[str]
    unused: int


class AskWords(Asked):
    """A text, and the answers to explain."""

    text: Text = Field(examples=["The food was great, the service slow."])
    aspects: list[Aspect] = Field(min_length=1, max_length=16, examples=[["service"]])
    targets: list[Aspect] = Field([], max_length=16)
    method: (
        Literal["shapley", "occlusion", "search", "gradient", "integrated", "attention", "quasi"] | None
    ) = Field(
        None,
        description="The one that the deletion test found best where null. Signs of `gradient` are often wrong.",
    )
    polarity: str | None = Field(
        None, max_length=40, description="Explain this answer; the model's where null."
    )
    model: Literal["absa-small", "absa-any"] | None = Field(
        None, description="The one that answers `/v1/absa/predict` where null."
    )
    as_written: AsWritten = False
    words: list[OwnWord] = Field([], max_length=1000, description=_WORDS)

    @model_validator(mode="after")
    def _consistent(self) -> AskWords:
        _read_one_way(self)
        return self


class Opinion(Told):
    """An answer."""

    row: int | None = Field(None, description="Of a table, from 1.")
    column: str | None = Field(None, description="Of the text, where a row has several.")
    text: str
    target: str | None
    aspect: str
    polarity: str
    target_found: bool
    probabilities: dict[str, float]
    note: str | None


class Opinions(RootModel[list[Opinion]]):
    """As `weft absa predict TEXT --json`, for each text."""


class TableOpinions(Told):
    """The records that `weft absa predict FILE` writes, and the rows that could not be used."""

    schema_: Literal[1] = Field(alias="schema")
    records: list[Opinion]
    problems: list[str]
    unused: int


class Word(Told):
    """A word and its weight."""

    text: str
    start: int
    end: int
    score: float


class Explained(Told):
    """Which words made an answer."""

    text: str
    target: str | None
    aspect: str
    polarity: str
    target_found: bool
    probabilities: dict[str, float]
    method: str
    words: list[Word]
    window: tuple[int, int] = Field(
        description="Characters that were read: of a long text the window that answers."
    )


class Explanations(RootModel[list[Explained]]):
    """As `weft absa explain --json`."""


__all__ = [
    "AskFind",
    "AskPredict",
    "AskWords",
    "Explanations",
    "Findings",
    "Opinions",
    "TableFindings",
    "TableOpinions",
]

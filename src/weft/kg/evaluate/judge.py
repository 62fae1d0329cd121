"""A model that reads raw text, judged on files of labelled documents of any of the formats that are read."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from random import Random
from typing import Literal

from weft.errors import ConfigError, InputError
from weft.kg.evaluate.apart import apart_answers
from weft.kg.evaluate.confidence import Confidence
from weft.kg.evaluate.raw import LabelledScore, RawScore, b_cubed, judge, score_labelled, score_raw
from weft.kg.extraction.entities import EntityExtractor
from weft.kg.mentions.document import mentions_in
from weft.kg.read.documents import TextDocument
from weft.kg.read.funnel import Funnel
from weft.kg.read.labelled_texts import read_labelled_texts
from weft.kg.read.redocred import read_redocred
from weft.kg.read.sentences import pieces
from weft.kg.read.sentences_with_entities import read_crossre
from weft.kg.read.together import in_groups
from weft.kg.worded.judge import WordsScore, words_answers, words_score
from weft.platform.reading import read_object

Format = Literal["texts", "redocred", "crossre"]
VALID = "valid"
"""The part on which confidences are fitted and thresholds chosen."""
_PRIOR = 1000
"""A relation has some seventy answers in 75 documents, too few for a map of its own: see :meth:`Confidence.fit`."""


@dataclass(frozen=True)
class Verdict:
    """What a model makes of labelled documents, nothing given.

    Args:
        mentions: Share of found mentions that stand just where a given one does, of given ones that are found, and F1;
            None for texts without labelled mentions.
        typed_f1: F1 where the type must be right, too; None where the types are not the model's.
        b_cubed: F1 of entities; None likewise.
        facts: At least 0.5 sure; None where facts are labelled in other relations.
        chosen: At least as sure as gives the highest F1 on the split's part valid; None without one.
        texts: Of labelled texts.
        across: Of the facts at least 0.5 sure those between names of two documents that were read as one text; None
            where each was read by itself.
        words: Of relations by words, of which the types are said; None where they are not asked for.
        bare_words: The same without types.
    """

    mentions: tuple[float, float, float] | None = None
    typed_f1: float | None = None
    b_cubed: float | None = None
    facts: RawScore | None = None
    chosen: RawScore | None = None
    texts: LabelledScore | None = None
    across: int | None = None
    words: WordsScore | None = None
    bare_words: WordsScore | None = None

    def record(self) -> dict[str, object]:
        """As JSON."""
        found = {name: value for name, value in asdict(self).items() if value is not None}
        for name in ("facts", "chosen", "texts", "words", "bare_words"):
            score = getattr(self, name)
            if score is not None:
                found[name] = score.record()
        return found


def documents_of(
    path: Path, form: Format, split: Path | None, part: str, funnel: Funnel
) -> list[TextDocument]:
    """The documents of a file, those of one part where a split names the parts.

    Args:
        path: The file.
        form: Of Re-DocRED or CrossRE.
        split: A JSON object of parts and their documents' ids.
        part: Which.
        funnel: Counts and lists what cannot be read.

    Raises:
        InputError: It cannot be read, or holds no document of that part.
    """
    documents = list(read_redocred(path, funnel) if form == "redocred" else read_crossre(path, funnel))
    if split is not None:
        chosen = set(read_object(split).get(part, ()))
        documents = [document for document in documents if document.id in chosen]
    if not documents:
        raise InputError(f"no documents{f' of the part {part}' if split else ''}", where=str(path))
    return documents


def verdict(
    extractor: EntityExtractor,
    path: Path,
    form: Format,
    split: Path | None = None,
    part: str = "test",
    funnel: Funnel | None = None,
    size: int = 1,
    headings: bool = False,
) -> Verdict:
    """Judge a model on a file.

    Args:
        extractor: The model.
        path: The file.
        form: Of the file.
        split: Names the parts.
        part: Which.
        funnel: Counts and lists what cannot be read.
        size: So many documents after each other are read as one text (:func:`weft.kg.read.together.together`): how
            well long texts are read, and how often what has nothing in common is connected.
        headings: Whether each has its title as a heading then.

    Raises:
        ConfigError: The model finds no mentions, or labelled texts are to be read together.
        InputError: The file cannot be read.
    """
    _finds(extractor)
    funnel = funnel or Funnel()
    if form == "texts" and size > 1:
        raise ConfigError("labelled texts are judged one by one", where=str(path))
    if form == "texts":
        texts = read_labelled_texts(path, frozenset(extractor.schema.names))
        return Verdict(texts=score_labelled(extractor, texts))
    documents, starts = in_groups(documents_of(path, form, split, part, funnel), size, headings=headings)
    same_schema = form == "redocred"
    spans, typed = mention_figures(extractor, documents)
    facts = chosen = across = None
    if same_schema:
        judged = judge(extractor, documents)
        facts = score_raw(judged, documents, 0.5)
        if size > 1:
            sure = [item for item in judged if item.fact.confidence >= facts.threshold]
            across = sum(
                _lies(item.fact.place, starts[item.document])
                != _lies(item.fact.tail_place, starts[item.document])
                for item in sure
            )
        if split is not None and part != VALID:
            held_out, _ = in_groups(documents_of(path, form, split, VALID, funnel), size, headings=headings)
            threshold = score_raw(judge(extractor, held_out), held_out).threshold
            chosen = score_raw(judged, documents, threshold)
    return Verdict(
        mentions=spans,
        typed_f1=typed[2] if same_schema else None,
        b_cubed=b_cubed(extractor, documents) if same_schema else None,
        facts=facts,
        chosen=chosen,
        across=across,
    )


def _lies(place: tuple[int, int], starts: Sequence[int]) -> int:
    return bisect_right(starts, place[0])


def words_verdict(
    extractor: EntityExtractor, path: Path, split: Path | None, part: str, funnel: Funnel
) -> Verdict:
    """Judge what relations by words are worth: each of the model's own left out in turn.

    Raises:
        ConfigError: The model finds no mentions, or has no confidence for such relations.
        InputError: The file cannot be read.
    """
    _finds(extractor)
    if extractor.confidence is None or extractor.confidence.worded is None:
        raise ConfigError(
            "the model has no confidence for relations by words", hint="fit one with --calibrate"
        )
    documents = documents_of(path, "redocred", split, part, funnel)
    words, bare = (words_score(extractor, documents, typed=typed) for typed in (True, False))
    return Verdict(words=words, bare_words=bare)


def calibrated(
    extractor: EntityExtractor,
    path: Path,
    split: Path | None,
    part: str = VALID,
    others: Sequence[TextDocument] = (),
) -> EntityExtractor:
    """The model with confidences fitted on what it reads out of raw documents: on mentions that it found itself.

    Those of short texts are fitted on the same documents cut into runs of one to three sentences, those of texts that
    are read in several passages on the same put together (:func:`weft.kg.evaluate.apart.apart_answers`), those of
    relations by words on the model's own relations, each left out in turn, half of them asked for with types and half
    without.

    Args:
        extractor: Any; its own confidences are not looked at.
        path: Re-DocRED.
        split: Names the parts.
        part: One that no training saw.
        others: Labelled texts of other kinds that no training saw; they count as short ones.

    Raises:
        ConfigError: The model finds no mentions.
        InputError: The file cannot be read.
    """
    _finds(extractor)
    bare = replace(extractor, confidence=None, worded=None, left_out=False)
    documents = documents_of(path, "redocred", split, part, Funnel())
    short = [piece for number, whole in enumerate(documents) for piece in pieces(whole, Random(number))]
    long, brief = (
        [(item.fact.relation, item.fact.confidence, item.gold is not None) for item in judge(bare, part)]
        for part in (documents, [*short, *others])
    )
    fitted = Confidence.fit(long, prior=_PRIOR).with_short(brief, prior=_PRIOR)
    fitted = fitted.with_apart(apart_answers(bare, documents, _PRIOR))
    if all(relation.definition for relation in extractor.schema.relations):
        fitted = fitted.with_worded(words_answers(bare, documents))
    return replace(extractor, confidence=fitted)


def _finds(extractor: EntityExtractor) -> None:
    if not extractor.model.config.finds_mentions:
        raise ConfigError("the model finds no mentions, so it cannot be asked about raw text")


def mention_figures(
    extractor: EntityExtractor, documents: Sequence[TextDocument]
) -> tuple[tuple[float, float, float], tuple[float, float, float]]:
    """Precision, recall and F1 of spans, and of spans with their types."""
    counts: Mapping[bool, list[int]] = {False: [0, 0, 0], True: [0, 0, 0]}
    for document in documents:
        found = mentions_in(extractor.model, extractor.tokenizer, document)
        for typed, count in counts.items():
            ours = {(item.start, item.end, item.type if typed else "") for item in found}
            theirs = {(item.start, item.end, item.type if typed else "") for item in document.mentions}
            count[0] += len(ours & theirs)
            count[1] += len(ours)
            count[2] += len(theirs)
    bare, typed = (
        (right / max(taken, 1), right / max(known, 1), 2 * right / max(taken + known, 1))
        for right, taken, known in counts.values()
    )
    return bare, typed

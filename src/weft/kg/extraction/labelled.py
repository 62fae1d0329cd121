"""Facts of tables and forms: a label says which relation its thing has with what stands behind or below it."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from weft.kg.extraction.entity_fact import EntityFact
from weft.kg.mentions.join import ALONE, PLACE
from weft.kg.mentions.records import Record, records
from weft.kg.read.documents import Mention, TextDocument
from weft.kg.read.labels import Labels, Stated
from weft.kg.read.records import Form, Span, Table, records_of
from weft.kg.read.sentences import sentence_starts

LABELLED = 0.9
"""How sure a fact is that a label states."""
ACROSS = 0.3
"""What is left of the model's confidence between cells that no label connects so."""
RULES = 1
"""Counts up where labels say otherwise than before: stores are read anew."""
_SEATS = frozenset(
    (
        "headquarters",
        "location",
        "location_of_formation",
        "narrative_location",
        "place_of_birth",
        "place_of_death",
        "residence",
        "work_location",
    )
)
"""Relations with a place of which a wider one may stand behind it: "Head office: Sheffield, England"."""


def by_labels(document: TextDocument, facts: Iterable[EntityFact], labels: Labels) -> list[EntityFact]:
    """The facts of a text with those that the labels of its tables and forms state.

        c = max(0.9, c_model)      a label states it: "Employer: Meridian Optics" below "Rosalind Achterberg"
        c = 0.3 c_model            a label states another tail where a head has one at most; or both names stand in
                                   tables and forms, in different cells, no label states it of them, and no
                                   sentence elsewhere has both
        c = c_model                else

    Args:
        document: With its mentions.
        facts: What the model reads out of it.
        labels: Those of its relations.
    """
    blocks = records_of(document.text)
    if not blocks:
        return list(facts)
    spans = [(item.start, item.end) for item in document.mentions if item.type not in ALONE]
    at = {item.start: item for item in document.mentions}
    stated: dict[tuple[str, str, str], EntityFact] = {}
    subjects: set[int] = set()
    for record in records(document.text, blocks, labels, spans):
        subject = _subject(record, at)
        if subject is not None:
            subjects.add(subject.start)
            for fact in _stated(record, subject, at, document.text, labels):
                stated.setdefault((fact.head, fact.relation, fact.tail), fact)
    only = {(head, relation) for head, relation, _ in stated if labels.relations[relation].one_tail}
    places = _Places(document, blocks)
    found: list[EntityFact] = []
    for fact in facts:
        key = fact.head, fact.relation, fact.tail
        if key in stated:
            own = stated.pop(key)
            found.append(replace(own, confidence=max(own.confidence, fact.confidence)))
            continue
        if (fact.head, fact.relation) in only:
            found.append(replace(fact, confidence=ACROSS * fact.confidence))
            continue
        head, tail = places.cell(fact.place[0]), places.cell(fact.tail_place[0])
        apart = head != tail and not places.together(fact.head, fact.tail)
        if head is None:
            # Outside stands what a form is about, or prose, of which the model knows more.
            apart &= fact.place[0] in subjects
        if tail is None:
            apart &= fact.tail_place[0] in subjects
        found.append(replace(fact, confidence=ACROSS * fact.confidence) if apart else fact)
    return [*found, *stated.values()]


class _Places:
    """In which cells of its tables and forms the names of a document stand."""

    def __init__(self, document: TextDocument, blocks: Iterable[Form | Table]) -> None:
        self._cells: list[Span] = []
        for block in blocks:
            if isinstance(block, Table):
                self._cells += [*block.head, *(cell for row in block.rows for cell in row)]
            else:
                self._cells += [field.value for field in block.fields]
        starts = document.sentences or sentence_starts(document.text)
        self._sentences: dict[str, set[int]] = defaultdict(set)
        for item in document.mentions:
            if self.cell(item.start) is None:
                self._sentences[item.name].add(bisect_right(starts, item.start))

    def cell(self, place: int) -> int | None:
        """The number of the cell that holds a character; None outside of all."""
        number = bisect_right(self._cells, place, key=lambda cell: cell[0]) - 1
        return number if number >= 0 and place < self._cells[number][1] else None

    def together(self, one: str, other: str) -> bool:
        """Whether a sentence that is no row has both names."""
        return not self._sentences[one].isdisjoint(self._sentences[other])


def _subject(record: Record, at: Mapping[int, Mention]) -> Mention | None:
    """The longest mention of what a record is about."""
    inside = [at[place] for place in range(*record.subject) if place in at]
    return max(inside, key=lambda item: item.end - item.start, default=None)


def _stated(
    record: Record, subject: Mention, at: Mapping[int, Mention], text: str, labels: Labels
) -> Iterator[EntityFact]:
    for cell in record.cells:
        taken: set[str] = set()
        before: Mention | None = None
        for item in (at[place] for place in range(*cell.value) if place in at):
            around = before is not None and before.type == item.type == PLACE
            wider = around and before is not None and text[before.end : item.start].strip() == ","
            before = item
            if item.entity == subject.entity:
                continue
            for said in cell.said:
                only = labels.relations[said.relation].one_tail and said.relation in taken
                if (
                    only
                    or (wider and said.relation in _SEATS)
                    or not labels.fits(said, subject.type, item.type)
                ):
                    continue
                taken.add(said.relation)
                yield _fact(said, subject, item, cell.place)


def _fact(said: Stated, subject: Mention, value: Mention, label: Span) -> EntityFact:
    head, tail = (value, subject) if said.turned else (subject, value)
    return EntityFact(
        head=head.name,
        relation=said.relation,
        tail=tail.name,
        confidence=LABELLED,
        place=(head.start, head.end),
        tail_place=(tail.start, tail.end),
        span=(min(head.start, tail.start), max(head.end, tail.end)),
        head_type=head.type,
        tail_type=tail.type,
        label=label,
    )

"""Facts of tables and forms: a label says which relation its thing has with what stands behind or below it."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from weft.kg.extraction.entity_fact import EntityFact
from weft.kg.mentions.cells import is_date, is_no_name
from weft.kg.mentions.join import ALONE, ORGANISATION, PERSON, PLACE
from weft.kg.mentions.records import Record, cells_of, holding, records, told_blocks
from weft.kg.read.documents import Mention, TextDocument
from weft.kg.read.labels import Labels, Stated
from weft.kg.read.records import Form, Span, Table
from weft.kg.read.sentences import sentence_starts
from weft.kg.values import DATE

LABELLED = 0.9
"""How sure a fact is that a label states."""
ACROSS = 0.3
"""What is left of the model's confidence between cells that no label connects so."""
RULES = 1
"""Counts up where labels say otherwise than before: stores are read anew."""
_PLAIN = frozenset((PERSON, ORGANISATION, PLACE))
"""Types that the label of a record's name tells for sure; a "Work" may be anything."""
_SINGULAR = frozenset(("address", "headquarters", "office address"))
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
    blocks = told_blocks(document.text, labels)
    if not blocks:
        return list(facts)
    spans = [(item.start, item.end) for item in document.mentions if item.type not in ALONE]
    at = {item.start: item for item in document.mentions}
    stated: dict[tuple[str, str, str], EntityFact] = {}
    subjects: set[int] = set()
    telling: set[int] = set()
    reader = _Reader(document.text, at, labels)
    for record in records(document.text, blocks, labels, spans):
        subject = reader.subject(record)
        if subject is None:
            continue
        for fact in reader.stated(record, subject):
            subjects.add(subject.start)
            telling.add(record.block)
            stated.setdefault((fact.head, fact.relation, fact.tail), fact)
    only = {(head, relation) for head, relation, _ in stated if labels.relations[relation].one_tail}
    places = _Places(document, [block for number, block in enumerate(blocks) if number in telling])
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
        self._cells = cells_of(blocks)
        starts = sentence_starts(document.text) if document.sentences is None else document.sentences
        self._sentences: dict[str, set[int]] = defaultdict(set)
        for item in document.mentions:
            if self.cell(item.start) is None:
                self._sentences[item.name].add(bisect_right(starts, item.start))

    def cell(self, place: int) -> int | None:
        """The number of the cell that holds a character; None outside of all."""
        return holding(self._cells, place)

    def together(self, one: str, other: str) -> bool:
        """Whether a sentence that is no row has both names."""
        return not self._sentences[one].isdisjoint(self._sentences[other])


class _Reader:
    """Reads facts off records.

    Args:
        text: Of the document.
        at: Its mentions by where they begin.
        labels: Of the relations.
    """

    def __init__(self, text: str, at: Mapping[int, Mention], labels: Labels) -> None:
        self._text, self._at, self._labels = text, at, labels

    def subject(self, record: Record) -> Mention | None:
        """The longest mention of what a record is about; none where that is of another type than its label says."""
        longest = max(self._inside(record.subject), key=lambda item: item.end - item.start, default=None)
        if longest is None or is_no_name(self._text[slice(*record.subject)]):
            return None
        is_other = record.kind in _PLAIN and self._kind(longest, record.kind) != record.kind
        return None if is_other else longest

    def stated(self, record: Record, subject: Mention) -> Iterator[EntityFact]:
        """The facts of a record."""
        own = self._kind(subject, record.kind)
        for cell in record.cells:
            taken: set[str] = set()
            before: Mention | None = None
            for item in self._inside(cell.value):
                kind = self._kind(item)
                is_wider = before is not None and kind == PLACE and self._is_wider(before, item, cell.label)
                before = item
                if item.entity == subject.entity:
                    continue
                said = [one for one in cell.said if self._labels.fits(one, own, kind)]
                if (not own or not kind) and len(said) > 1:
                    # Of what is of no known type nobody can tell which of them it is.
                    continue
                for one in said:
                    only = self._labels.relations[one.relation].one_tail and one.relation in taken
                    if not only and not (is_wider and one.relation in _SEATS):
                        taken.add(one.relation)
                        yield _fact(one, subject, item, cell.place)

    def _inside(self, span: Span) -> list[Mention]:
        return [self._at[place] for place in range(*span) if place in self._at]

    def _kind(self, item: Mention, default: str = "") -> str:
        """The type of a mention; that of a date by its letters, where the relations know no such type."""
        if item.type in self._labels.kinds:
            return item.type
        return DATE if DATE in self._labels.kinds and is_date(self._text[item.start : item.end]) else default

    def _is_wider(self, before: Mention, item: Mention, label: str) -> bool:
        """Whether a place is the one around the place before it: "Sheffield, England", but "Offices: London, Paris"."""
        is_list = label.endswith("s") and label not in _SINGULAR
        return not is_list and before.type == item.type and self._text[before.end : item.start].strip() == ","


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

"""The names in the cells of tables and forms: a label tells where a name ends, and what it is."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from weft.kg.mentions.join import ALONE, ORGANISATION, PERSON, PLACE, TITLES, Mention
from weft.kg.mentions.records import Cell, Record, parts_of, records
from weft.kg.read.labels import Labels
from weft.kg.read.records import Form, Span, Table, records_of

_DATE, _OTHER = "TIME", "MISC"
_ORDER = (PERSON, ORGANISATION, PLACE, _OTHER)
"""Of types that fit alike the first is taken."""
_FORCED = 2
"""A label that lets so many types be, besides dates, says what its names are."""
_WORDS = 8
"""Most words of a name."""
_LONGEST = 400
"""Most characters of a cell in which names are looked for."""
_SEVERAL, _MOST = 3, 2 / 3
"""So many cells of a column, and such a share of them, tell the type of all."""
_MONTH = r"(?i:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}\.?"
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
_YEAR = r"(?:1\d{3}|20\d\d)"
_DATES = re.compile(
    rf"\b(?:\d{{4}}-\d\d(?:-\d\d)?|\d{{1,2}}[./]\s?\d{{1,2}}[./]\s?\d{{2,4}}"
    rf"|(?:{_DAY}\.?[ ]{_MONTH},?[ ]|{_MONTH}(?:[ ]{_DAY})?,?[ ])?{_YEAR})(?!\w)"
)
_PARTS = re.compile(r"[,;/\n•()\[\]]|[ ][–—][ ]")
_AND = re.compile(r"\s(?:and|&)\s")
_BRACKET = re.compile(r"\s[(\[]|\n")
_SMALL = frozenset(
    re.findall(
        r"\S+",
        "of the and for in on at de la le les du des del della di da dos do van von zu zur der den und et e y a al ten "
        "ter te i na nad of' d' l' el bin ibn ap af av og och & z o.o.",
    )
)
"""Words of names that begin with a small letter."""
_NONE = frozenset(
    ("n/a", "none", "unknown", "vacant", "various", "tbd", "tba", "yes", "no", "nil", "self", "same")
)
_LEGAL = re.compile(r"\s*(?:Inc|Ltd|LLC|PLC|Co|Corp|Limited|GmbH|S\.A|Jr|Sr)\b\.?")
"""What belongs to the name before a comma: "Nordlys, Inc."."""
_TITLE = re.compile(r"(\w+)\.?\s+")


def with_cells(text: str, mentions: Sequence[Mention], labels: Labels) -> list[Mention]:
    """The mentions of a text, those of tables and forms as their labels have them.

    What stands in a label is no name, and none reaches out of its cell. Below a label that is known an item of the
    cell is one name, and of a type that the label lets be; a thing that a record is about is of the type that most of
    its labels want.

    Args:
        text: Of the document.
        mentions: That a model found, in any order; none over another.
        labels: Of its schema.
    """
    blocks = records_of(text)
    if not blocks:
        return sorted(mentions)
    found = _Found(text, mentions, blocks)
    told = records(text, blocks, labels, found.spans())
    liked: dict[str, Counter[str]] = defaultdict(Counter)
    for record in told:
        liked[record.kind].update(item.type for item in found.over(record.subject))
    asked: list[tuple[Cell, frozenset[str]]] = []
    below: dict[str, Counter[str]] = defaultdict(Counter)
    for record in told:
        kind = _kind(record, labels, liked[record.kind])
        if not kind or _is_long(record.subject):
            continue
        name = next(parts_of(text, record.subject, _BRACKET), record.subject)
        found.put([_named(text, name, kind)], record.subject)
        for cell in record.cells:
            allowed = labels.types(cell.said, kind)
            if allowed and not _is_long(cell.value):
                asked.append((cell, allowed))
                below[cell.label].update({item.type for item in found.inside(cell.value)})
    # Labels that leave one type come first: what they say of a name the others take from them.
    for cell, allowed in sorted(asked, key=lambda item: len(item[1] - {_DATE})):
        inside = found.inside(cell.value)
        allowed = _of_column(below[cell.label], allowed)
        found.put(_names(text, cell.value, allowed, inside, found.types), cell.value)
    return found.all()


def _is_long(span: Span) -> bool:
    return span[1] - span[0] > _LONGEST


def _of_column(types: Counter[str], allowed: frozenset[str]) -> frozenset[str]:
    """The types that names of a column may have: where most are places all are."""
    kind, count = types.most_common(1)[0] if types else ("", 0)
    if kind in allowed and count >= _SEVERAL and count >= _MOST * types.total():
        return frozenset((kind, *allowed & {_DATE}))
    return allowed


class _Found:
    """Mentions that are put in the place of others.

    Attributes:
        types: Those of the names that were put, by their letters, small.
    """

    def __init__(self, text: str, mentions: Iterable[Mention], blocks: Iterable[Form | Table]) -> None:
        labels, cells = list[Span](), list[Span]()
        for block in blocks:
            if isinstance(block, Table):
                labels += block.head
                cells += (cell for row in block.rows for cell in row)
            else:
                labels += (field.label for field in block.fields)
                cells += (field.value for field in block.fields)
        self._text = text
        self._by_start: dict[int, Mention] = {}
        self.types: dict[str, str] = {}
        for item in mentions:
            if _holding(labels, item.start) is not None:
                continue
            cell = _holding(cells, item.start)
            end = item.end if cell is None else min(item.end, cell[1])
            if text[item.start : end].strip() and (cell is None or end - item.start > 1):
                self._by_start[item.start] = item._replace(end=end)

    def spans(self) -> list[Span]:
        """Where things are named: dates and numbers are no thing that a record is about."""
        return [(item.start, item.end) for item in self._by_start.values() if item.type not in ALONE]

    def all(self) -> list[Mention]:
        """The mentions, those that read like a name of a cell of its type."""
        kinds = ((item, self.types.get(self._said(item), item.type)) for item in self._by_start.values())
        return sorted(item if item.type in ALONE else item._replace(type=kind) for item, kind in kinds)

    def _said(self, item: Mention) -> str:
        return self._text[item.start : item.end].casefold()

    def inside(self, span: Span) -> list[Mention]:
        """Those that begin in a span, in order."""
        return [self._by_start[place] for place in range(*span) if place in self._by_start]

    def over(self, span: Span) -> list[Mention]:
        """Those that stand over a part of a span, in order."""
        before = (self._by_start.get(place) for place in range(span[0] - 1, max(-1, span[0] - _LONGEST), -1))
        last = next(filter(None, before), None)
        reaching = [last] if last is not None and last.end > span[0] else []
        return [*reaching, *self.inside(span)]

    def put(self, names: Sequence[Mention], span: Span) -> None:
        """Put names into a span, in the place of those that they stand over."""
        over = self.over(span)
        for name in names:
            for item in over:
                if item.start < name.end and name.start < item.end:
                    self._by_start.pop(item.start, None)
            self._by_start[name.start] = name
            self.types.setdefault(self._said(name), name.type)


def _holding(spans: Sequence[Span], place: int) -> Span | None:
    number = bisect_right(spans, place, key=lambda span: span[0]) - 1
    return spans[number] if number >= 0 and place < spans[number][1] else None


def _kind(record: Record, labels: Labels, liked: Counter[str]) -> str:
    """The type of what a record is about: that which fits most of its labels, of such the likeliest."""
    wanted = Counter[str]()
    for cell in record.cells:
        wanted.update({kind for kind in _ORDER if labels.types(cell.said, kind)} if cell.said else ())
    if wanted[record.kind]:
        wanted[record.kind] += 1
    most = max(wanted.values(), default=0)
    best = [kind for kind in _ORDER if most and wanted[kind] == most]
    return record.kind if record.kind in best else max(best, key=lambda kind: liked[kind], default="")


def _named(text: str, span: Span, kind: str) -> Mention:
    """What stands in a cell as one name, without a person's title."""
    start, end = span
    title = _TITLE.match(text, start, end)
    while kind == PERSON and title is not None and title[1].lower() in TITLES:
        start = title.end()
        title = _TITLE.match(text, start, end)
    return Mention(start, end, kind)


def _names(
    text: str, value: Span, allowed: Collection[str], found: Sequence[Mention], known: Mapping[str, str]
) -> list[Mention]:
    """The names of a cell below a label that lets some types be.

    Args:
        text: Of the document.
        value: The cell.
        allowed: The types.
        found: What a model found there.
        known: Types of names, by their letters, small.
    """
    names: list[Mention] = []
    rest = [value]
    if _DATE in allowed:
        dates = [
            match.span()
            for match in _DATES.finditer(text, *value)
            if not _bracketed(text, value, match.start())
        ]
        names += (Mention(*date, _DATE) for date in dates)
        edges = [value[0], *(edge for date in dates for edge in date), value[1]]
        rest = list(zip(edges[::2], edges[1::2], strict=True))
    kinds = [kind for kind in _ORDER if kind in allowed]
    if not kinds:
        return names
    for number, item in enumerate(item for part in rest for item in _items(text, part, kinds, found)):
        inside = [name for name in found if item[0] <= name.start < item[1] and name.type not in ALONE]
        types = [known.get(text[slice(*item)].casefold(), ""), *(name.type for name in inside)]
        types = [kind for kind in types if kind in kinds]
        is_behind = number and kinds[0] in (PERSON, ORGANISATION)
        if is_behind and inside and not types and inside[0].type == PLACE:
            # "Employer: Hartsop Books, Hull": a place may stand behind every name.
            continue
        if not types and len(kinds) > _FORCED:
            continue
        kind = types[0] if types else kinds[0]
        if _is_name(text[slice(*item)], kind):
            names.append(_named(text, item, kind))
        else:
            names += (name._replace(type=kind) for name in inside)
    return names


def _bracketed(text: str, value: Span, place: int) -> bool:
    before = text[value[0] : place]
    return before.count("(") > before.count(")")


def _items(text: str, span: Span, kinds: Sequence[str], found: Sequence[Mention]) -> Iterator[Span]:
    """The items of a cell: what stands between commas, and "and" where persons, or several names, stand around it."""
    parts = list(parts_of(text, span, _PARTS))
    merged: list[Span] = []
    for part in parts:
        if merged and _LEGAL.fullmatch(text[slice(*part)]):
            merged[-1] = merged[-1][0], part[1]
        elif not _bracketed(text, span, part[0]):
            merged.append(part)
    for part in merged:
        both = list(parts_of(text, part, _AND))
        is_last = len(merged) > 1 and part == merged[-1]
        apart = all(any(item[0] <= name.start < item[1] for name in found) for item in both)
        if len(both) > 1 and (kinds == [PERSON] or is_last or apart):
            yield from both
        else:
            yield part


def _is_name(said: str, kind: str) -> bool:
    """Whether an item may be a name, by its letters."""
    words = said.split()
    is_said = len(said) > 1 and said.casefold() not in _NONE and len(words) <= _WORDS
    if not is_said or not said[0].isalpha() or said[0].islower():
        return False
    small = sum(word[0].islower() and word not in _SMALL for word in words)
    return small == 0 if kind == PERSON else 2 * small < len(words)

"""The names in the cells of tables and forms: a label tells where a name ends, and what it is."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence

from weft.kg.mentions.join import ALONE, ORGANISATION, PERSON, PLACE, TITLES, Mention
from weft.kg.mentions.records import Cell, Record, cells_of, holding, parts_of, records, told_blocks
from weft.kg.read.labels import Labels, kind_of_label, plain_label
from weft.kg.read.records import Form, Span, Table
from weft.kg.values import DATE

_OTHER = "MISC"
_KNOWN = frozenset((PERSON, ORGANISATION, PLACE, _OTHER, *ALONE))
"""Types of which labels know what they are."""
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
_AND = re.compile(r"\sand\s")
_BRACKET = re.compile(r"\s[(\[]|\n")
_INVERTED = re.compile(r"[^\W\d_][\w'’-]+,\s+[^\W\d_][\w.'’-]+(?:\s+[^\W\d_][\w.'’-]*){0,2}")
_NO_NAME = re.compile(
    r"(?i:n/?a|none|nil|unknown|vacant|various|tb[acd]|yes|no|self|same|ditto|idem|ibid\.?|see \w+|cv|independent|"
    r"several|as above|to be \w+|retired|deceased|self-employed|unemployed|freelance|private|many|others?|abode|"
    r"surname|pending)\.?"
    r"|[\W_]*"
)
"""What stands in a cell for want of a name."""
_DENIED = re.compile(
    r"(?i:not|never|no longer|formerly|previously|applied to|perhaps|possibly|probably|maybe|allegedly|step-?\w*|"
    r"née|nee|born|geb\.|ex|\?|~)(?:\s|-)"
)
"""How an item begins that names what is not, or not surely, what its label says."""
_PART = 0.6
"""Share of an item that a name has at least, where not all of it is one."""
_SMALL = frozenset(
    re.findall(
        r"\S+",
        "of the and for in on at de la le les du des del della di da dos do van von zu zur der den und et e y a al ten "
        "ter te i na nad of' d' l' el bin ibn ap af av og och & z o.o.",
    )
)
"""Words of names that begin with a small letter."""
_LEGAL = re.compile(r"\s*(?:Inc|Ltd|LLC|PLC|Co|Corp|Limited|GmbH|S\.A|Jr|Sr)\b\.?")
"""What belongs to the name before a comma: "Nordlys, Inc."."""
_PARTNERS = re.compile(
    r"\s(?:and|&)\s(?:Associates|Bros|Brothers|Co|Company|Daughters?|Partners|Sons?)\b\.?\s*$"
)
_BRACKETS = re.compile(r"[()\[\]].*")
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
    blocks = told_blocks(text, labels)
    if not blocks:
        return sorted(mentions)
    found = _Found(text, mentions, blocks, labels)
    if labels.kinds - _KNOWN:
        # What types of one's own are is the model's to say.
        return found.all()
    told = records(text, blocks, labels, found.spans())
    liked: dict[str, Counter[str]] = defaultdict(Counter)
    for record in told:
        liked[record.kind].update(item.type for item in found.over(record.subject))
    asked: list[tuple[Cell, frozenset[str]]] = []
    below: dict[str, Counter[str]] = defaultdict(Counter)
    for record in told:
        kind = _kind(record, labels, liked[record.kind])
        if not kind or _is_long(record.subject) or _NO_NAME.fullmatch(text, *record.subject):
            continue
        if not record.is_row_of_heading:
            name = next(parts_of(text, record.subject, _BRACKET), record.subject)
            found.put([(name, _named(text, name, kind))], record.subject)
        for cell in record.cells:
            allowed = labels.types(cell.said, kind)
            if allowed and not _is_long(cell.value):
                # What a label says of other kinds of things tells nothing here.
                said = tuple(one for one in cell.said if labels.types((one,), kind))
                asked.append((cell._replace(said=said), allowed))
                below[cell.label].update({item.type for item in found.inside(cell.value)})
    # Labels that leave one type come first: what they say of a name the others take from them.
    for cell, allowed in sorted(asked, key=lambda item: len(item[1] - {DATE})):
        kinds = _of_column(below[cell.label], allowed)
        found.put(_names(text, cell, kinds or allowed, found, bool(kinds)), cell.value)
    return found.all()


def is_date(said: str) -> bool:
    """Whether some words are a day, a month or a year."""
    return _DATES.fullmatch(said) is not None


def is_no_name(said: str) -> bool:
    """Whether some words stand in a cell for want of a name: "vacant", "n/a"."""
    return _NO_NAME.fullmatch(said) is not None


def _is_long(span: Span) -> bool:
    return span[1] - span[0] > _LONGEST


def _of_column(types: Counter[str], allowed: frozenset[str]) -> frozenset[str]:
    """The types that names of a column have: where most are places all are; none where none is that of most."""
    kind, count = types.most_common(1)[0] if types else ("", 0)
    if kind in allowed and count >= _SEVERAL and count >= _MOST * types.total():
        return frozenset((kind, *allowed & {DATE}))
    return frozenset()


class _Found:
    """Mentions that are put in the place of others.

    Attributes:
        types: Those of the names that were put, by their letters, small.
        outside: Those of names that stand in no cell, but twice at least elsewhere.
    """

    def __init__(
        self, text: str, mentions: Iterable[Mention], blocks: Sequence[Form | Table], labels: Labels
    ) -> None:
        told = [place for place in _labels_of(blocks) if _is_label(text[slice(*place)], labels)]
        cells = cells_of(blocks)
        self._text = text
        self._by_start: dict[int, Mention] = {}
        self.types: dict[str, str] = {}
        outside: dict[str, Counter[str]] = defaultdict(Counter)
        for item in mentions:
            if holding(told, item.start) is not None:
                continue
            cell = holding(cells, item.start)
            if cell is None:
                outside[self._said(item)][item.type] += 1
            else:
                item = item._replace(end=min(item.end, cells[cell][1]))
            if text[item.start : item.end].strip() and (cell is None or item.end - item.start > 1):
                self._by_start[item.start] = item

        often = ((said, kinds.most_common(1)[0]) for said, kinds in outside.items())
        self.outside = {said: kind for said, (kind, count) in often if count > 1}

    def spans(self) -> list[Span]:
        """Where things are named: dates and numbers are no thing that a record is about."""
        return [(item.start, item.end) for item in self._by_start.values() if item.type not in ALONE]

    def all(self) -> list[Mention]:
        """The mentions, in order."""
        return sorted(self._by_start.values())

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

    def put(self, names: Sequence[tuple[Span, Mention | None]], span: Span) -> None:
        """Put names, or nothing, into a span, each in the place of those that stand over the item it is taken from."""
        over = self.over(span)
        for (start, stop), name in names:
            for item in over:
                if item.start < stop and start < item.end and self._by_start.get(item.start) is item:
                    del self._by_start[item.start]
            if name is not None:
                self._by_start[name.start] = name
                self.types.setdefault(self._said(name), name.type)


def _labels_of(blocks: Iterable[Form | Table]) -> list[Span]:
    """Where the labels of tables and forms stand, in order."""
    found: list[Span] = []
    for block in blocks:
        found += block.head if isinstance(block, Table) else (field.label for field in block.fields)
    return found


def _is_label(written: str, labels: Labels) -> bool:
    """Whether a label is known; what is not may be a name: "Anna Lind: chair"."""
    label = plain_label(written)
    return kind_of_label(label) is not None or bool(labels.said(label)) or label in labels.stated


def _kind(record: Record, labels: Labels, liked: Counter[str]) -> str:
    """The type of what a record is about: that which fits most of its labels, of such the likeliest.

    That of its own label, if it has one: a "Company" is no person. Empty where none fits.
    """
    wanted = Counter[str]()
    for cell in record.cells:
        wanted.update({kind for kind in _ORDER if labels.types(cell.said, kind)} if cell.said else ())
    if record.kind in (PERSON, ORGANISATION, PLACE):
        return record.kind if wanted[record.kind] else ""
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
    text: str, cell: Cell, allowed: Collection[str], found: _Found, is_column: bool
) -> list[tuple[Span, Mention | None]]:
    """The names of a cell below a label that lets some types be, and the items that they are taken from.

    None is that of an item that says that there is no name ("n/a"), or that it is not so ("not Tom Weir").

    Args:
        text: Of the document.
        cell: The cell.
        allowed: The types.
        found: The mentions.
        is_column: Whether the other cells of its column tell the type.
    """
    value, inside = cell.value, found.inside(cell.value)
    names: list[tuple[Span, Mention | None]] = []
    rest = [value]
    if DATE in allowed:
        matches = (match.span() for match in _DATES.finditer(text, *value))
        dates = [date for date in matches if not _bracketed(text, value, date[0])]
        names += ((date, Mention(*date, DATE)) for date in dates)
        edges = [value[0], *(edge for date in dates for edge in date), value[1]]
        rest = list(zip(edges[::2], edges[1::2], strict=True))
    kinds = [kind for kind in _ORDER if kind in allowed]
    is_telling = len(kinds) <= _FORCED and (is_column or not all(item.is_weak for item in cell.said))
    is_list = cell.label.endswith(("s", "children", "and"))
    items = (item for part in rest for item in _items(text, part, kinds, inside, is_list)) if kinds else ()
    for number, item in enumerate(items):
        if _NO_NAME.fullmatch(text, *item) or _DENIED.match(text, *item) or text[item[0] - 1] in "?~":
            names.append((item, None))
            continue
        here = [name for name in inside if item[0] <= name.start < item[1] and name.type not in ALONE]
        said = text[slice(*item)].casefold()
        types = [found.types.get(said, found.outside.get(said, "")), *(name.type for name in here)]
        fitting = [kind for kind in types if kind in kinds]
        is_behind = number > 0 and kinds[0] in (PERSON, ORGANISATION)
        if not fitting and (not is_telling or said in found.outside):
            continue
        if not fitting and is_behind and here and here[0].type == PLACE:
            # "Employer: Hartsop Books, Hull": a place may stand behind every name.
            continue
        kind = fitting[0] if fitting else kinds[0]
        if _is_name(text[slice(*item)], kind):
            names.append((item, _named(text, item, kind)))
        else:
            # What is a part of more words may be another: "Holm family" is not Jens Holm.
            whole = [name for name in here if name.end - name.start >= _PART * (item[1] - item[0])]
            whole = [name for name in whole if _is_name(text[name.start : name.end], kind)]
            names += ((item, None) for _ in here[:1] if not whole)
            names += ((item, name._replace(type=kind)) for name in whole if is_telling or name.type in kinds)
    return names


def _bracketed(text: str, value: Span, place: int) -> bool:
    before = text[value[0] : place]
    return before.count("(") > before.count(")")


def _items(
    text: str, span: Span, kinds: Sequence[str], found: Sequence[Mention], is_list: bool
) -> Iterator[Span]:
    """The items of a cell: what stands between commas, and "and" where persons, or several names, stand around it.

    "Smith, Jones and Partners" is one, and "Korn, Max" below "Father".
    """
    inverted = _INVERTED.fullmatch(text, *span)
    if _PARTNERS.search(text, *span) or (inverted is not None and kinds == [PERSON] and not is_list):
        yield from parts_of(text, span, _BRACKETS)
        return
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
    is_said = len(said) > 1 and len(words) <= _WORDS
    if not is_said or not said[0].isalpha() or said[0].islower():
        return False
    small = sum(word[0].islower() and word not in _SMALL for word in words)
    return small == 0 if kind == PERSON else 2 * small < len(words)

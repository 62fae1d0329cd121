"""Where sentences start, by punctuation, line breaks and the letters around them; those that hold some places."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from random import Random

from weft.kg.read.datelines import datelines
from weft.kg.read.documents import TextDocument
from weft.kg.read.items import line_starts

EMPTY_LINE = r"(?:\r\n|\n|\r(?!\n))[ \t]*(?:\r\n|\n|\r)"
"""A pattern for two ends of lines with nothing between; ``\\r\\n`` is one."""
# After an end mark (and what closes with it) comes white space, unless the script is written without.
_END = re.compile(
    # A mark, closing quotes and brackets, marks of notes ("[1]", "[citation needed]"), then white space.
    r"(?<![.!?…؟۔।॥])[.!?…؟۔।॥]+[\"'”’»)\]]*(?:\[[^\[\]\n]{1,30}\])*(?=\s)"
    r"|[。！？｡]+[”’」』）]*"  # scripts without spaces
    rf"|{EMPTY_LINE}"
)
_GOES_ON = "!?…"
"""Marks that end no sentence before a small letter: "Yahoo! was founded"."""
_OPENING = "\"'“‘«([¿¡-–—•*"
_ABBREVIATIONS = frozenset(
    re.findall(
        r"\S+",
        "mr mrs ms messrs dr prof st mt ft vs bros pty gen col lt sgt capt cmdr maj adm gov sen rep rev hon ave blvd "
        "fig figs eq approx cf e.g i.e vol ch",
    )
)
_MAY_END = frozenset(
    re.findall(
        r"\S+",
        "etc jr sr inc ltd co corp al u.s u.k jan feb mar apr jun jul aug sep sept oct nov dec ed eds dept est",
    )
)
"""Abbreviations that sentences end with as well: "He left Apple Inc. Then he rested."."""
_BEFORE_DIGITS = frozenset(("no", "nos", "p", "pp", "c", "ca"))
"""Abbreviations where a number follows, words elsewhere: "He said no."."""
_OPENERS = frozenset(
    re.findall(
        r"\w+",
        "The This That These Those There Then They She It Its His Their When But However Although While",
    )
)
"""Words that go on after a sentence and are no names."""
_OPENERS_BESIDE_NAMES = _OPENERS | {
    "He",
    "In",
    "On",
    "At",
    "After",
    "And",
    "A",
    "An",
    "Her",
    "We",
    "I",
    "As",
    "For",
}
"""Those, and words that may be a person's last name after an initial: "K. He"."""
RULES = 3
"""Counts up where sentences begin elsewhere than before: stores are read anew."""
_LENGTHS = (1, 1, 1, 2, 2, 3)
"""Sentences of a piece."""
_LONGEST = 400
"""Most characters of what is quoted."""
_INITIALS = re.compile(r"(?:[^\W\d_]\.)*[^\W\d_]")
_LAST_WORD = re.compile(r"[\w.]*\Z")
_FIRST_WORD = re.compile(r"\w+")
_NUMBER_OF_ITEM = re.compile(r"(?:^|[\r\n])[ \t]*\d{1,2}\Z")
"""The number of an item of a list, at the beginning of its line."""


def sentence_starts(text: str) -> tuple[int, ...]:
    """Offsets at which sentences start, 0 first.

    A full stop ends no sentence after an abbreviation, initials or the number of an item, unless a word goes on that
    begins sentences ("the U.S. The bill"), and no mark does before a lower-case letter. Items of lists, rows of tables
    and what a dateline stands before begin one whatever stands before them.
    """
    starts = [0]
    after = 0
    for match in _END.finditer(text):
        # White space behind an earlier mark was walked already.
        after = max(after, match.end())
        while after < len(text) and text[after].isspace():
            after += 1
        mark = match[0][0]
        if after == len(text) or (mark == "." and not _ends(text, match.start(), after)):
            continue
        if mark not in _GOES_ON or not text[after].islower():
            starts.append(after)
    return tuple(sorted({*starts, *line_starts(text), *(line.end for line in datelines(text))}))


def sentences_of(text: str, starts: Sequence[int], *places: tuple[int, int]) -> str:
    """The sentences that hold some places, in order, with … between those that do not follow each other.

    Of long ones (a list without full stops is one sentence) as much is kept as shows the places: their beginning where
    that holds them, else what stands around them.

    Args:
        text: The document.
        starts: Offsets at which sentences start, ascending.
        places: Spans.
    """
    first_later = int(bool(starts) and starts[0] == 0)

    def begin(number: int) -> int:
        place = number - 1 + first_later
        return 0 if number == 0 else starts[place] if place < len(starts) else len(text)

    reach = [
        (bisect_right(starts, start) - first_later, bisect_left(starts, end) - first_later)
        for start, end in places
    ]
    said, before, moved = "", None, dict[int, int]()
    for number in sorted({number for first, last in reach for number in range(first, last + 1)}):
        start = begin(number)
        sentence = text[start : begin(number + 1)].rstrip()
        bare = sentence.removeprefix("\ufeff").lstrip()
        between = "" if before is None else " " if number == before + 1 else " … "
        moved[number] = len(said) + len(between) - start - (len(sentence) - len(bare))
        said, before = f"{said}{between}{bare}", number
    if len(said) <= _LONGEST:
        return said
    spans = [
        (start + moved[first], end + moved[last])
        for (start, end), (first, last) in zip(places, reach, strict=True)
    ]
    return _shortened(said, spans)


def _shortened(said: str, spans: Sequence[tuple[int, int]]) -> str:
    """At most so many characters as are quoted, with … for what is left out: the beginning, or what is around spans."""
    first, last = min(spans), max(spans, key=lambda span: span[1])
    if last[1] < _LONGEST:
        return f"{said[: _LONGEST - 1]}…"
    if first == last or last[1] - first[0] <= _LONGEST - 2:
        return _around(said, (first[0], last[1]), _LONGEST)
    half = (_LONGEST - 1) // 2
    one, other = _around(said, first, half), _around(said, last, half)
    return f"{one.removesuffix('…')} … {other.removeprefix('…')}"


def _around(said: str, span: tuple[int, int], most: int) -> str:
    """So many characters around a span, cut between words, with … on each side that is cut."""
    start, end = span[0], min(span[1], span[0] + most - 2)
    room = most - 2 - (end - start)
    first = max(0, min(start - room // 2, len(said) - (most - 2)))
    last = min(len(said), first + most - 2)
    if first > 0:
        space = said.find(" ", first - 1, start)
        first = space + 1 if space >= 0 else first
    if last < len(said):
        space = said.rfind(" ", end, last + 1)
        last = space if space >= 0 else last
    return f"{'…' * (first > 0)}{said[first:last]}{'…' * (last < len(said))}"


def pieces(document: TextDocument, random: Random) -> Iterator[TextDocument]:
    """A document cut into runs of one to three sentences, each with the facts between the entities it mentions."""
    starts = document.sentences or sentence_starts(document.text)
    edges = [*dict.fromkeys(starts), len(document.text)]
    first = 0
    while first < len(edges) - 1:
        stop = min(first + random.choice(_LENGTHS), len(edges) - 1)
        yield piece(document, edges[first], edges[stop])
        first = stop


def piece(document: TextDocument, start: int, end: int) -> TextDocument:
    """The characters of a document from one place to another."""
    text = document.text[start:end]
    start += len(text) - len(text.lstrip())
    inside = [item for item in document.mentions if start <= item.start and item.end <= end]
    entities = {item.entity for item in inside}
    return TextDocument(
        f"{document.id}:{start}",
        text.strip(),
        tuple(item._replace(start=item.start - start, end=item.end - start) for item in inside),
        tuple(fact for fact in document.facts if fact.head in entities and fact.tail in entities),
    )


def _ends(text: str, stop: int, after: int) -> bool:
    following = after
    while following < len(text) - 1 and text[following] in _OPENING:
        following += 1
    if text[following].islower():
        return False
    found = _LAST_WORD.search(text, max(0, stop - 24), stop)
    word = found[0] if found else ""
    first = _FIRST_WORD.match(text, following)
    goes_on = first[0] if first else ""
    if word.isupper() and _INITIALS.fullmatch(word):
        return goes_on in (_OPENERS_BESIDE_NAMES if "." in word else _OPENERS)
    lower = word.lower()
    if lower in _BEFORE_DIGITS:
        return not goes_on[:1].isdigit()
    if lower in _MAY_END:
        return goes_on in _OPENERS_BESIDE_NAMES
    if word.isdigit():
        return _NUMBER_OF_ITEM.search(text, max(0, stop - 24), stop) is None
    return word != "v" and lower not in _ABBREVIATIONS

"""What a question is about: the longest name in it that a store knows, also shortened, or in other letters."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from weft.errors import InputError
from weft.kg.mentions.join import TITLES
from weft.kg.storage.graph import Graph

WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_ENDED = re.compile(r"[.!]+")
"""What a name may end with: "Apple Inc.", "Yahoo!"."""
_OWNED = re.compile(r"['’]s$")
_LONGEST = 12
_PERSON = "PER"
_SHOWN = 5
"""Most names that an error lists."""
EMPTY = frozenset(
    re.findall(
        r"\w+",
        "the a an is was are were do did does of to in on at for by its his her there please tell me has have been "
        "now currently today still ever",
    )
)
ASKING = frozenset(("who", "what", "when", "where", "which", "how", "whose"))
"""Words that ask, as stems: alone they ask for nothing, and the small words beside them count."""
COMMON = EMPTY | ASKING | {"whom"}
"""Words that are no names, though a store may know a name that is one of them."""
_FORMS = frozenset(
    re.findall(
        r"\w+",
        "ab ag co company corp corporation gmbh group holding holdings inc incorporated limited llc ltd nv oyj plc sa "
        "se technologies technology",
    )
)
"""Words that a firm's name may end with and that people leave out."""
_LETTERS = str.maketrans(
    {"ł": "l", "ø": "o", "đ": "d", "ð": "d", "ß": "ss", "æ": "ae", "œ": "oe", "þ": "th", "ı": "i"}
)
"""Letters that are no other letter with a mark, as keyboards without them write them."""
_Words = Sequence[re.Match[str]]


@dataclass(frozen=True)
class Named:
    """The name in a question.

    Args:
        entity: What it names.
        before: The words before it.
        after: The words after it.
        owns: Whether it stands in the genitive: "Kestrel Line's founder".
    """

    entity: str
    before: tuple[str, ...]
    after: tuple[str, ...]
    owns: bool


@dataclass(frozen=True)
class _Run:
    """Words of a question that name an entity."""

    entity: str
    first: int
    length: int

    def of(self, question: str, words: _Words) -> Named:
        said = [word[0] for word in words]
        last = self.first + self.length - 1
        after = question[words[last].end() : words[last].end() + 1]
        owned = _OWNED.search(said[last]) is not None and _OWNED.search(self.entity) is None
        return Named(
            self.entity, tuple(said[: self.first]), tuple(said[last + 1 :]), owned or after in tuple("'’")
        )


@dataclass
class _Names:
    """The names of a store by what may be left of them."""

    ends: dict[tuple[str, str], set[str]] = field(default_factory=lambda: defaultdict(set))
    last: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    firms: dict[tuple[str, ...], set[str]] = field(default_factory=lambda: defaultdict(set))
    letters: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))

    @staticmethod
    def of(graph: Graph) -> _Names:
        found = _Names()
        for name in graph.entities:
            said, kind = name.casefold().split(), graph.kind(name)
            if kind in ("", _PERSON) and len(said) > 1:
                bare = said
                while len(bare) > 1 and (bare[0] == "the" or bare[0].rstrip(".") in TITLES):
                    bare = bare[1:]
                for ends in {(said[0], said[-1]), (bare[0], bare[-1])}:
                    found.ends[ends].add(name)
                if kind == _PERSON:
                    found.last[said[-1]].add(name)
            parts = tuple(word[0].casefold() for word in WORD.finditer(name))
            end = len(parts)
            while end > 0:
                found.firms[parts[:end]].add(name)
                if parts[end - 1] not in _FORMS:
                    break
                end -= 1
            found.letters[_plain(name)].add(name)
        return found


_known: WeakKeyDictionary[Graph, _Names] = WeakKeyDictionary()


def named(graph: Graph, question: str, words: _Words) -> Named:
    """The entity of a question, and the words around its name.

    The longest run of words that is a name: as the store knows it; a person's first and last name; a firm's without
    its form; with another article. Where there is none, the last name of one person, or a name in plain letters.

    Raises:
        InputError: There is none, or a last name is that of several persons.
    """
    exact = _exact(graph, question, words)
    if exact is not None and not any(
        word[0][0].isupper() for word in _beside(words, exact.first, exact.length)
    ):
        return exact.of(question, words)
    if graph not in _known:
        _known[graph] = _Names.of(graph)
    names = _known[graph]
    ways = (_person, _short)
    longer = min(len(words), _LONGEST), 0 if exact is None else exact.length
    found = _first(words, *longer, lambda first, length: _any(ways, graph, names, words, first, length))
    if found is None and exact is None:
        found = _by_last_name(graph, names, words)
    if found is None and exact is None:
        found = _first(
            words, *longer, lambda first, length: _in_plain_letters(names, question, words, first, length)
        )
    found = found or exact
    if found is not None:
        return found.of(question, words)
    said = [word[0] for word in words[1:] if word[0][0].isupper() or word[0][0].isdigit()]
    near = graph.near(" ".join(said)) if said else []
    raise InputError(
        f"no name that the store knows in {question!r}",
        where=str(graph.folder),
        hint=f"near: {', '.join(near)}" if near else "name an entity as the texts do",
    )


def _exact(graph: Graph, question: str, words: _Words) -> _Run | None:
    """The longest name as the store knows it, the first of equally long ones."""
    for length in range(min(len(words), _LONGEST), 0, -1):
        # Of equally long ones that which is written as a name: "president" may be one, too.
        written = [
            _as_name(words[max(1, first) : first + length]) for first in range(len(words) - length + 1)
        ]
        for first in sorted(range(len(written)), key=lambda first: not written[first]):
            part = words[first : first + length]
            surface = question[part[0].start() : part[-1].end()]
            if length == 1 and surface.casefold() in COMMON:
                continue
            ended = _ENDED.match(question, part[-1].end())
            whole = surface + ended[0] if ended else surface
            for name in dict.fromkeys((whole, surface, _OWNED.sub("", surface))):
                found = graph.find(name)
                if found is not None:
                    return _Run(found, first, length)
    return None


def _first(words: _Words, most: int, least: int, find: Callable[[int, int], str | None]) -> _Run | None:
    """The longest run of words, longer than ``least``, that means an entity."""
    for length in range(most, least, -1):
        for first in range(len(words) - length + 1):
            entity = find(first, length)
            if entity is not None:
                return _Run(entity, first, length)
    return None


def _beside(words: _Words, first: int, length: int) -> _Words:
    """The words on both sides of a run, but for the first of the question."""
    return (*words[max(1, first - 1) : first], *words[first + length : first + length + 1])


def _as_name(words: _Words) -> bool:
    return any(word[0][0].isupper() or word[0][0].isdigit() for word in words)


_Way = Callable[[Graph, _Names, _Words, int, int], str | None]


def _any(
    ways: Sequence[_Way], graph: Graph, names: _Names, words: _Words, first: int, length: int
) -> str | None:
    return next((found for way in ways if (found := way(graph, names, words, first, length))), None)


def _person(graph: Graph, names: _Names, words: _Words, first: int, length: int) -> str | None:
    """The only person of the store whose name begins and ends as these words do: with more between, or after titles."""
    part = [word[0] for word in words[first : first + length]]
    # Who writes everything in small letters writes names so, too.
    small = not any(word[0][0].isupper() for word in words[1:])
    if length < 2 or not (small or all(word[0].isupper() for word in part)):
        return None
    found = names.ends.get((part[0].casefold(), _OWNED.sub("", part[-1]).casefold()), ())
    longer = [name for name in found if len(name.split()) > length]
    return longer[0] if len(longer) == 1 else None


def _short(graph: Graph, names: _Names, words: _Words, first: int, length: int) -> str | None:
    """The only name that is these words and what firms' names end with, or these with another article."""
    part = [word[0] for word in words[first : first + length]]
    if not part[0][0].isupper() or part[0].casefold() in COMMON:
        return None
    if any(word[0][0].isupper() for word in _beside(words, first, length)):
        return None  # a part of a longer name, which the store does not know
    articled = graph.with_other_article(_OWNED.sub("", " ".join(part)))
    found = names.firms.get(tuple(_OWNED.sub("", word).casefold() for word in part), ())
    return articled or (next(iter(found)) if len(found) == 1 else None)


def _by_last_name(graph: Graph, names: _Names, words: _Words) -> _Run | None:
    """The only person of the store with a last name in the question, after a title or alone.

    Raises:
        InputError: There are several.
    """
    for place in range(1, len(words)):
        said = _OWNED.sub("", words[place][0])
        begin = place
        while begin > 1 and words[begin - 1][0].casefold() in TITLES:
            begin -= 1
        if not said[0].isupper() or any(
            word[0][0].isupper() for word in _beside(words, begin, place + 1 - begin)
        ):
            continue
        found = sorted(names.last.get(said.casefold(), ()))
        if len(found) > 1:
            more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
            raise InputError(
                f"{said!r} is the last name of {len(found)} persons",
                where=str(graph.folder),
                hint=f"ask of one of them: {', '.join(found[:_SHOWN])}{more}",
            )
        if found:
            return _Run(found[0], begin, place + 1 - begin)
    return None


def _in_plain_letters(names: _Names, question: str, words: _Words, first: int, length: int) -> str | None:
    """The only name that is these words but for the marks on letters: "Zielinska" for "Zielińska"."""
    part = words[first : first + length]
    surface = _OWNED.sub("", question[part[0].start() : part[-1].end()])
    if length == 1 and (surface.casefold() in COMMON or not surface[0].isupper()):
        return None
    found = names.letters.get(_plain(surface), ())
    return next(iter(found)) if len(found) == 1 else None


def _plain(name: str) -> str:
    parts = unicodedata.normalize("NFKD", " ".join(name.casefold().split())).translate(_LETTERS)
    return "".join(letter for letter in parts if not unicodedata.combining(letter))

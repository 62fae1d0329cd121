"""Mentions of one document joined to entities: by name, by a part of a person's name, by an acronym."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from weft.kg.read.kin import is_relative
from weft.kg.spelling import plain


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


RULES = 5
"""Counts up where names are found or joined otherwise than before: stores are read anew."""
PERSON, ORGANISATION, PLACE = "PER", "ORG", "LOC"
ALONE = frozenset({"TIME", "NUM"})
"""Types whose mentions are one only where they read alike."""
TITLES = _words(
    "mr mrs ms miss dr prof professor sir dame lord lady king queen prince princess president general captain "
    "colonel major saint st pope bishop rev revd reverend judge senator governor"
)
_FORMS = _words(
    "inc incorporated corp corporation ltd limited llc llp plc gmbh ag sa spa bv nv oy ab as co company group "
    "holding holdings"
)
_SMALL = _words("of the and for in on at de la le du des von van der den und et a an to")
_WORD = re.compile(r"[^\W_]+(?:['’.\-][^\W_]+)*\.?")
_CALLED = re.compile(
    r"(?P<first>\w[^\"“”()]*?)\s+"
    r"(?:[\"“](?P<quoted>[^\"“”]+)[\"”]|\((?P<put>[^()]+)\))\s+"
    r"(?P<last>\w[^\"“”()]*)"
)
"""A person's name with the one that others use: 'Margarethe "Greta" Holloway', "Robert (Bob) Pryce"."""
_LONGEST_ACRONYM = 8


class Mention(NamedTuple):
    """A mention in characters.

    Args:
        start: First character.
        end: After the last character.
        type: Name of its type.
        probability: That it is a mention of that type.
    """

    start: int
    end: int
    type: str
    probability: float = 1.0


class Joined(NamedTuple):
    """An entity of a document.

    Args:
        name: Its longest mention; of equally long ones the first that is not in capitals alone. That with a name in use
            in quotation marks or brackets only where the others are of one word: one asks by the other.
        type: What most of its mentions are, weighed by their probability.
        mentions: Numbers of its mentions, ascending.
        probability: Of its surest mention.
    """

    name: str
    type: str
    mentions: tuple[int, ...]
    probability: float


class _Name(NamedTuple):
    """What is compared of a mention."""

    surface: str
    words: tuple[str, ...]
    type: str


def with_agreed_types(text: str, mentions: Sequence[Mention]) -> list[Mention]:
    """The mentions of a document, those that read alike but for case of one type.

        type = argmax_t Σ_i p_i · [t_i = t]   over the mentions i of the same characters

    A name means one thing in one document, and where it stands among clues to what it is, the model is surer.

    Args:
        text: Of the document.
        mentions: In any order.
    """
    weights: dict[str, dict[str, float]] = {}
    for item in mentions:
        of_name = weights.setdefault(text[item.start : item.end].casefold(), {})
        of_name[item.type] = of_name.get(item.type, 0.0) + item.probability
    agreed = {name: _heaviest(found) for name, found in weights.items()}
    return [item._replace(type=agreed[text[item.start : item.end].casefold()]) for item in mentions]


def _heaviest(weights: Mapping[str, float]) -> str:
    return min(weights, key=lambda name: (-weights[name], name))


def join_mentions(text: str, mentions: Sequence[Mention]) -> list[Joined]:
    """The entities of a document, in order of their first mention.

    Mentions are joined in this order, each rule only where it points at one entity:

    1. They read alike, but for case, accents, articles, possessives, a person's titles and a firm's legal form.
    2. A person's full name that has the name in use in quotation marks or brackets ('Margarethe "Greta" Holloway') is
       that of "Greta Holloway", of "Margarethe Holloway" and of "Greta".
    3. A person's name with initials ("K. Weber") is the only fuller one that has them, unless the later of the two is
       introduced as a relative.
    4. A person's mention of one word is the first or last word of a fuller name; of several the one that was named
       last before it. Who is introduced as a relative ("His father, Wilhelm Kessler, …") comes after the one whose
       relative he is: by the last name alone a text calls whom it is about. A last name in capitals above all of them
       is a headline's, of the one who is no relative.
    5. An acronym has the initials of a name of several words, which is of the same type or stands right before it.

    Dates and numbers are joined by the first rule alone. Mentions of different types stay apart, except where they read
    alike and neither is a person or a date.

    Args:
        text: Of the document.
        mentions: In any order; none over another.
    """
    order = sorted(range(len(mentions)), key=lambda number: mentions[number].start)
    names = [_name(text[item.start : item.end], item.type) for item in mentions]
    owner = list(range(len(mentions)))

    def root(number: int) -> int:
        while owner[number] != number:
            number = owner[number]
        return number

    def unite(first: int, second: int) -> None:
        low, high = sorted((root(first), root(second)), key=lambda number: mentions[number].start)
        owner[high] = low

    alike: dict[tuple[str, tuple[str, ...]], int] = {}
    for number in order:
        name = names[number]
        if name.words:
            unite(number, alike.setdefault((_kind(name.type), name.words), number))
    for number in order:
        for words in _in_use(names[number]):
            unite(number, alike.get((PERSON, words), number))
    fuller, spelled = _fuller_persons(order, names), _initials(order, names)
    for number in order:
        fitting = _with_given_names(number, fuller, names, mentions, text)
        if len({root(other) for other in fitting}) == 1:
            unite(number, fitting[0])
    for number in order:
        found = _fuller_person(number, fuller, names, mentions, text)
        if found is None:
            found = _spelled_out(number, spelled, names, mentions)
        if found is not None:
            unite(number, found)
    groups: dict[int, list[int]] = {}
    for number in order:
        groups.setdefault(root(number), []).append(number)
    return [_joined(group, names, mentions) for group in groups.values()]


def _name(surface: str, kind: str) -> _Name:
    folded = unicodedata.normalize("NFKD", plain(surface)).casefold()
    folded = "".join(character for character in folded if not unicodedata.combining(character))
    words = [word.removesuffix("'s").removesuffix("’s").rstrip(".") for word in _WORD.findall(folded)]
    if kind not in ALONE:
        while words and words[0] in ("the", "a", "an"):
            words = words[1:]
        while len(words) > 1 and kind == PERSON and words[0] in TITLES:
            words = words[1:]
        while len(words) > 1 and kind == ORGANISATION and words[-1] in _FORMS:
            words = words[:-1]
    return _Name(" ".join(surface.split()), tuple(words), kind)


def _kind(kind: str) -> str:
    """Types that may be joined where they read alike."""
    return kind if kind == PERSON or kind in ALONE else ""


def _in_use(name: _Name) -> list[tuple[str, ...]]:
    """What a person is called whose full name tells the name in use: by that one, and by the others."""
    called = _CALLED.fullmatch(name.surface) if name.type == PERSON else None
    if called is None:
        return []
    first, last = called["first"], called["last"]
    return [_name(f"{one} {last}", PERSON).words for one in (called["quoted"] or called["put"], first)]


def _fuller_persons(order: Sequence[int], names: Sequence[_Name]) -> dict[str, list[int]]:
    """Persons of several words by the first and by the last of these, and by the name in use, in order."""
    found: dict[str, list[int]] = defaultdict(list)
    for number in order:
        name = names[number]
        if name.type == PERSON and len(name.words) > 1:
            for word in {name.words[0], name.words[-1], *(words[0] for words in _in_use(name))}:
                found[word].append(number)
    return found


def _fuller_person(
    number: int,
    fuller: Mapping[str, Sequence[int]],
    names: Sequence[_Name],
    mentions: Sequence[Mention],
    text: str,
) -> int | None:
    """A person of several words that a single word is the first or last of; the last one named before it.

    Of a last name it is no relative of another of them, where he is named as that.
    """
    name = names[number]
    if name.type != PERSON or len(name.words) != 1:
        return None
    known = fuller.get(name.words[0], ())
    before = bisect_left(known, mentions[number].start, key=lambda other: mentions[other].start)
    if before:
        namesakes = [other for other in known[:before] if names[other].words[-1] == name.words[0]]
        others = (other for other in reversed(namesakes) if not is_relative(text, *mentions[other][:2]))
        return next(others, known[before - 1]) if known[before - 1] in namesakes else known[before - 1]
    if name.surface.isupper():
        known = [other for other in known if not is_relative(text, *mentions[other][:2])]
    return known[0] if len({names[other].words for other in known}) == 1 else None


def _given_initials(name: _Name) -> list[str]:
    """The initials of a person who is named by these and a last name: "J. P. Tremaine"; none of other names."""
    letters = [letter for word in name.words[:-1] for letter in word.split(".")]
    return letters if name.type == PERSON and all(len(letter) == 1 for letter in letters) else []


def _with_given_names(
    number: int,
    fuller: Mapping[str, Sequence[int]],
    names: Sequence[_Name],
    mentions: Sequence[Mention],
    text: str,
) -> list[int]:
    """Persons with the last name and the initials of one who has initials alone: Klaus Weber for "K. Weber"."""
    name = names[number]
    letters = _given_initials(name)
    if not letters:
        return []
    found: list[int] = []
    for other in fuller.get(name.words[-1], ()):
        *given, last = names[other].words
        shared = min(len(given), len(letters))
        if last != name.words[-1] or _given_initials(names[other]):
            continue
        later = max(number, other, key=lambda one: mentions[one].start)
        same = [word[0] for word in given[:shared]] == letters[:shared]
        if same and not is_relative(text, *mentions[later][:2]):
            found.append(other)
    return found


def _initials(order: Sequence[int], names: Sequence[_Name]) -> dict[str, list[int]]:
    """Names of several words by their initials, with and without those of small words, in order."""
    found: dict[str, list[int]] = defaultdict(list)
    for number in order:
        words = names[number].words
        if len(words) > 1 and names[number].type not in ALONE:
            short = "".join(word[0] for word in words if word not in _SMALL)
            for initials in {"".join(word[0] for word in words), short}:
                found[initials].append(number)
    return found


def _spelled_out(
    number: int, spelled: Mapping[str, Sequence[int]], names: Sequence[_Name], mentions: Sequence[Mention]
) -> int | None:
    """The name of several words whose initials a mention in capitals is made of."""
    name = names[number]
    letters = "".join(character for character in name.surface if character.isalpha())
    if name.type in ALONE or name.type == PERSON or not 2 <= len(letters) <= _LONGEST_ACRONYM:
        return None
    if not letters.isupper() or len(name.words) > 1:
        return None
    fitting = [
        other
        for other in spelled.get(letters.casefold(), ())
        if names[other].type == name.type or 0 <= mentions[number].start - mentions[other].end <= 3
    ]
    distinct = {names[other].words for other in fitting}
    return fitting[0] if len(distinct) == 1 else None


def _joined(group: Sequence[int], names: Sequence[_Name], mentions: Sequence[Mention]) -> Joined:
    weights: dict[str, float] = {}
    for number in group:
        kind = mentions[number].type
        weights[kind] = weights.get(kind, 0.0) + mentions[number].probability
    called = {number for number in group if _in_use(names[number])}
    others = [
        number
        for number in group
        if len(names[number].words) > 1 and number not in called and not _given_initials(names[number])
    ]
    longest = max(
        others if called and others else group,
        key=lambda number: (
            len(names[number].surface),
            not names[number].surface.isupper(),
            -mentions[number].start,
        ),
    )
    surest = max(mentions[number].probability for number in group)
    return Joined(names[longest].surface, _heaviest(weights), tuple(group), surest)

"""Slips of the keyboard: an English word that no list knows, read as the likeliest word near it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from importlib.resources import files
from typing import NamedTuple, TypeAlias

from weft.absa.represent.by_ear import ByEar
from weft.absa.represent.word_lists import unpack
from weft.errors import InputError

Places: TypeAlias = list[tuple[int, int]]
"""Of each character of a text the first one and the last + 1 that it stands for in another."""
LISTS = "words.txt.bz2"
"""Three lists: frequent words, most frequent first; common ones; others that are known."""
_COMMON = 40_000
"""The rank of a common word that is not among the frequent ones."""
_SHORTEST, _LONGEST = 4, 30
_MOST = {4: 2.0, 5: 4.0, 6: 5.0}
"""The highest cost of reading a word of so many letters as another; a longer one may cost anything."""
_RARE = 2.0
"""The highest cost of an edit that leads to a word which is not frequent; of a word of :data:`_MOST`, ½."""
_AT_START = 3.5
"""The highest cost of reading a capitalised word, which may be a name, as another."""
BY_EAR = 7
"""From how many letters on a word may be spelled by ear."""
_NAME = 0.4
"""The highest cost for each letter of reading a capitalised word as one further away."""
_USUAL = {
    "abit": "a bit",
    "allday": "all day",
    "alot": "a lot",
    "aswell": "as well",
    "atleast": "at least",
    "definantly": "definitely",
    "definatly": "definitely",
    "defiantely": "definitely",
    "donot": "do not",
    "eachother": "each other",
    "eventhough": "even though",
    "incase": "in case",
    "infact": "in fact",
    "inspite": "in spite",
    "luved": "loved",
    "mussles": "mussels",
    "noone": "no one",
    "prolly": "probably",
    "restraunt": "restaurant",
    "restraunts": "restaurants",
    "rlly": "really",
    "smth": "something",
    "thanx": "thanks",
}
"""Usual slips that are further away from what is meant than from other words."""
_FREQUENT = 5_000
_JOINING = (
    "the and it in is was to of for with but so not no nor my your our you they we he she that this at on "
    "by from as are were be all very too or if when then has have had will would can do did just me us "
    "its there their them what which who how than also even never ever only still yet again about around "
    "over out up after before because while some any where here got get into more most every behind "
    "across without"
)
_JOINED = frozenset(_JOINING.split())
"""Words of which one is among two that are run together."""
TOGETHER = 5
"""Letters that two words run together have at least; one more where only one of them is of those that join."""
_BOTH = 1.5
"""The highest cost of two words that are run together."""
_VOWELS = frozenset("aeiouy")
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_WORD = re.compile(r"(?<![\w@#./'’-])[A-Za-z]{3,}(?![\w@/-])(?![.'’](?!s\b)\w)")
"""A word by itself: no part of an address, a tag, a compound, or a contraction."""
LONG = 8
"""From how many letters on further doubled letters may be missing, or there, where no word is one edit away."""
_DOUBLED = re.compile(r"(.)\1+")
_LETTERED = re.compile("[A-Za-z]+")
_CAPITALS = re.compile("[A-Z]+")
_STRETCHED = re.compile(r"(.)\1\1+")
_BETWEEN = 16
"""Characters before a word among which the end of a sentence is looked for."""
_WORD_BEFORE = re.compile(r"([^\W\d_]+)[ \t]+\Z")
_WORD_BEHIND = re.compile(r"[ \t]+([^\W\d_]+)")
_GRAMMAR = (
    "aber alles auch beim eine einem einen einer einfach für gibt haben hier immer ist kein keine keinen leider "
    "mehr nicht nichts noch schlecht schon sehr sind und viel viele wenig wieder wir wurde wurden ziemlich zu"
)
_GERMAN = frozenset(_GRAMMAR.split())
"""Words of German that English has not; none of names ("zur"), of chats ("im"), nor a usual slip ("wird", "oder")."""
_BEGINS = re.compile(r"(?:\A|[.!?…\n])\W*\Z")


class Slip(NamedTuple):
    """A word that is likely another.

    Args:
        start: Its first character.
        stop: Its last character + 1.
        word: What is likely meant.
    """

    start: int
    stop: int
    word: str


class Words:
    """The words of a language, and how a word that is none of them may be meant.

    Args:
        rank: Words that may be meant, each with its rank by frequency.
        known: Further words that stay as they are.
    """

    def __init__(self, rank: Mapping[str, int], known: Iterable[str] = ()) -> None:
        self.rank = rank
        self.known = frozenset((*rank, *known))
        # The same slips come again and again; a text is asked about when it is read, and when its note is written.
        self.meant = lru_cache(maxsize=1 << 14)(self._meant)
        self.near = lru_cache(maxsize=1 << 14)(self._near)
        self.slips = lru_cache(maxsize=1 << 12)(self._slips)

    def knowing(self, own: Iterable[str]) -> Words:
        """The same lists, with further words that stay as they are, in small letters."""
        found = Words(self.rank, (*self.known, *own))
        # Of what may be meant nothing changes.
        found.__dict__ |= {"_by_ear": self._by_ear, "_single": self._single}
        return found

    @cached_property
    def _by_ear(self) -> ByEar:
        return ByEar(self.rank)

    @cached_property
    def _single(self) -> dict[str, str]:
        """The most frequent word that is left of each when letters typed twice count once."""
        found: dict[str, str] = {}
        for word in sorted(self.rank, key=self.rank.__getitem__):
            found.setdefault(_DOUBLED.sub(r"\1", word), word)
        return found

    def _meant(self, word: str, name: bool = False) -> str:
        """The word that is likely meant by one in small letters; the same where it is known or nothing is likely.

        The one that :meth:`near` gives, or two that are run together, or, of a word of seven letters or more, the one
        that :class:`weft.absa.represent.by_ear.ByEar` gives.

        Args:
            word: In small letters.
            name: Whether it may be a name, so that little may speak against it.
        """
        near = self.near(word, name)
        if near != word or word in self.known or len(word) > _LONGEST:
            return near
        apart = word if name else self._apart(word)
        if apart != word or len(word) < BY_EAR:
            return apart
        return self._by_ear.meant(word, _NAME) if name else self._by_ear.meant(word)

    def _near(self, word: str, name: bool = False) -> str:
        """The likeliest word one edit away; the same where none is.

        Of all words one edit away, the first letter staying, the one of the lowest cost::

            cost = log(1 + rank / 1000) + c

        with c = 0 for two letters exchanged, and for one doubled or not; 0 for a vowel left out, ½ for another letter,
        1½ for a vowel in place of another, 2 for a letter too many, 3 for a letter in place of another, and of these
        ½ more where it is the last one. A letter typed three times or more stands for one or two. Where no word is one
        edit away from a long one, further letters may be doubled or not for ½ ("dissapointed").

        Args:
            word: In small letters.
            name: Whether it may be a name.
        """
        if word in self.known or word in _USUAL:
            return _USUAL.get(word, word)
        if _STRETCHED.search(word):
            once, twice = (_STRETCHED.sub(lambda match, n=times: match[1] * n, word) for times in (1, 2))
            if self.rank.get(twice, _COMMON) < _FREQUENT:
                return twice
            return once if once in self.known else twice if twice in self.known else word
        if not _SHORTEST <= len(word) <= _LONGEST:
            return word
        rare = _RARE if len(word) > max(_MOST) else 0.5
        near = [(other, _cost(word, other)) for other in _near(word) & self.rank.keys()]
        if not near and len(word) >= LONG:
            single = _DOUBLED.sub(r"\1", word)
            below = ({single} | _near(single)) & self._single.keys()
            near = [
                (self._single[other], 0.5 + (other != single and _cost(single, other))) for other in below
            ]
        found = [
            (math.log1p(self.rank[other] / 1000) + cost, other)
            for other, cost in near
            if self.rank[other] < _COMMON or cost <= rare
        ]
        least, other = min(found, default=(math.inf, word))
        most = min(_AT_START if name else math.inf, _MOST.get(len(word), math.inf))
        return other if least <= most else word

    def _apart(self, word: str) -> str:
        """Two frequent words that are run together, one of them of those that join others; the same where none are.

        The cost of two words is ``Σ log(1 + rank / 1000)``, :data:`_BOTH` at most.
        """
        found = [
            (sum(math.log1p(self.rank[part] / 1000) for part in parts), " ".join(parts))
            for at in range(2, len(word) - 1)
            for parts in [(word[:at], word[at:])]
            if len(word) >= TOGETHER + (not _JOINED.issuperset(parts))
            and not _JOINED.isdisjoint(parts)
            and all(self.rank.get(part, _COMMON) < _FREQUENT for part in parts)
            and all(len(part) > 2 or part in _JOINED for part in parts)
        ]
        least, apart = min(found, default=(math.inf, word))
        return apart if least <= _BOTH else word

    def _slips(self, text: str) -> tuple[Slip, ...]:
        """The words of a text that are likely others.

        A word with a capital may be a name: it is read as another at the beginning of a sentence alone, and there only
        where little speaks against it; what has a capital elsewhere in the text stays in every place. In a text of
        capitals case says nothing. A text of which more than a third is neither known, nor one edit away from what is,
        nor two words run together, is in another language, or about what no list has, and stays. So do words of German
        grammar ("leider") in other texts, and what stands beside one ("ist mies").

        Args:
            text: The text.
        """
        # Letters of ASCII alone: others may become two.
        small = _CAPITALS.sub(lambda match: match[0].lower(), text) if text.isupper() else text
        words = list(_WORD.finditer(small))
        unknown = [match for match in words if match[0].lower() not in self.known]
        found = tuple(self._mended(small, unknown))
        sure = sum(
            " " in slip.word or slip.word == self.near(small[slip.start : slip.stop].lower())
            for slip in found
        )
        if len(unknown) - sure > max(1, len(words) // 3):
            return ()
        return tuple(slip for slip in found if not _in_german(small, slip))

    def _mended(self, text: str, unknown: list[re.Match[str]]) -> Iterator[Slip]:
        capitals = [match for match in unknown if not match[0].islower()]
        names = {
            match[0].lower()
            for match in capitals
            if not (match[0][1:].islower() and _begins(text, match.start()))
        }
        for match in unknown:
            word = match[0].lower()
            if word in names:
                continue
            meant = self.meant(word, match[0] != word)
            if meant != word:
                yield Slip(match.start(), match.end(), meant)


def own_words(lines: Iterable[str]) -> frozenset[str]:
    """The words of a user's list, in small letters: "Sony WH-1000" has two, "sony" and "wh".

    Raises:
        InputError: One string in place of a list.
    """
    if isinstance(lines, str):
        raise InputError("words is one string", hint=f"give a list: [{lines!r}]")
    return frozenset(word.lower() for line in lines for word in _LETTERED.findall(line))


@lru_cache(maxsize=8)
def english(own: frozenset[str] = frozenset()) -> Words:
    """The lists that the package brings, as ``recipes/absa_words.py`` made them.

    Args:
        own: Further words that stay as they are: see :func:`own_words`.
    """
    if own:
        return english().knowing(own)
    data = files("weft.absa.represent").joinpath(LISTS).read_bytes()
    frequent, common, others = unpack(data)
    rank = {word: place for place, word in enumerate(frequent)}
    rank |= dict.fromkeys(common, _COMMON)
    return Words(rank, others)


def mended(text: str, places: Places | None, own: frozenset[str] = frozenset()) -> tuple[str, Places | None]:
    """A text with what is likely meant by its slips, and the place of each character in what was written.

    Args:
        text: The text, as :func:`weft.absa.represent.spelling.spelled` gives it.
        places: First character and last + 1 of what each of its characters stands for; None where it is itself.
        own: See :func:`english`.
    """
    return replaced(text, places, english(own).slips(text))


def replaced(text: str, places: Places | None, found: Sequence[Slip]) -> tuple[str, Places | None]:
    """A text with other words in some places, in order; each of these stands for the whole of what was written.

    Args:
        text: The text.
        places: As for :func:`mended`.
        found: The places of the text, and the words.
    """
    if not found:
        return text, places
    places = [(at, at + 1) for at in range(len(text))] if places is None else places
    parts: list[str] = []
    kept: Places = []
    at = 0
    for start, stop, word in found:
        parts += text[at:start], word
        kept += places[at:start] + [(places[start][0], places[stop - 1][1])] * len(word)
        at = stop
    return "".join((*parts, text[at:])), kept + places[at:]


def _begins(text: str, at: int) -> bool:
    """Whether a word that stands there begins a sentence."""
    before = text[max(0, at - _BETWEEN) : at]
    return _BEGINS.search(before if at < _BETWEEN else f"x{before}") is not None


def _in_german(text: str, slip: Slip) -> bool:
    """Whether a word is of German grammar, or stands beside one that is, with nothing but spaces between."""
    before = _WORD_BEFORE.search(text, max(0, slip.start - _BETWEEN), slip.start)
    behind = _WORD_BEHIND.match(text, slip.stop)
    words = [text[slip.start : slip.stop], *(found[1] for found in (before, behind) if found is not None)]
    return any(word.lower() in _GERMAN for word in words)


def _near(word: str) -> set[str]:
    """Everything one edit away from a word, its first letter staying."""
    cut = [(word[:at], word[at:]) for at in range(1, len(word) + 1)]
    return {
        *(before + new + after for before, after in cut for new in _LETTERS),
        *(before + new + after[1:] for before, after in cut[:-1] for new in _LETTERS),
        *(before + after[1:] for before, after in cut[:-1]),
        *(before + after[1] + after[0] + after[2:] for before, after in cut[:-2]),
    } - {word}


def _cost(word: str, other: str) -> float:
    """What the one edit between two words costs."""
    at = next((at for at, (one, two) in enumerate(zip(word, other, strict=False)) if one != two), None)
    at = min(len(word), len(other)) if at is None else at
    longer = len(other) - len(word)
    if longer == 0 and word[at + 1 :] != other[at + 1 :]:
        return 0.0
    letter, new = word[at : at + 1], other[at : at + 1]
    if longer and (letter, new)[longer > 0] == word[at - 1]:
        return 0.0
    kind = {
        1: 0.0 if new in _VOWELS else 0.5,
        0: 1.5 if new in _VOWELS and letter in _VOWELS else 3.0,
        -1: 2.0,
    }[longer]
    return kind + 0.5 * (at >= len(word) - (longer < 1))

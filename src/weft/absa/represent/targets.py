"""Where a text mentions a target: as written, in another letter case, in singular or plural."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache

from weft.absa.represent.slips import mended
from weft.absa.represent.spelling import APOSTROPHES, HYPHENS, as_shown, shown

_NO_SPACES = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")
_LAST_WORD = re.compile(rf"(?<![\w{APOSTROPHES}])\w\w+$")
_ABBREVIATION = 4
"""Letters of the longest word that may be an abbreviation although the target has no dot behind it."""
_ONE_NUMBER = frozenset({"news"})
_OWN_S = frozenset({"bus", "gas", "yes", "gps", "ios", "sms"})
_IRREGULAR = (
    *(("man", "men"), ("person", "people"), ("child", "children"), ("foot", "feet"), ("tooth", "teeth")),
    *(("mouse", "mice"), ("louse", "lice"), ("goose", "geese"), ("quiz", "quizzes"), ("axe", "axes")),
    *(("knife", "knives"), ("wife", "wives"), ("life", "lives"), ("leaf", "leaves"), ("loaf", "loaves")),
    *(("elf", "elves"), ("half", "halves"), ("calf", "calves"), ("wolf", "wolves"), ("thief", "thieves")),
    *(("scarf", "scarves"), ("hoof", "hooves"), ("sis", "ses"), ("curriculum", "curricula")),
    *(("criterion", "criteria"), ("phenomenon", "phenomena")),
)
"""Ends of words in singular and plural: "man" is of "woman" as well, "elf" of "shelf"."""


def target_spans(
    text: str, target: str | None, as_meant: bool = False, own: frozenset[str] = frozenset()
) -> list[tuple[int, int]]:
    """Where a text mentions a target, as first characters and last + 1.

    Whole words are looked for as written, then in any letter case, then as singular or plural; the first kind that is
    found counts. Which apostrophe or hyphen is written, whether an accent is a character of its own, how wide a space
    is, and the dots of abbreviations and at the target's end do not matter; what web pages write for a character is
    that character, a tag a space. Inside words only a target of a script without spaces between words is looked for.
    Nothing is found for a target that the text does not mention. With ``as_meant`` the text is also looked at as what
    is likely meant: "batery" mentions a battery then, unless it is one of a user's ``own`` words.
    """
    if target is None:
        return []
    written, places = as_shown(text)
    spans = _spans(written, places, target)
    meant, origins = mended(written, places, own) if as_meant else (written, places)
    # A target that is itself spelled oddly stands in the text as written, others in what is meant by it.
    return spans if meant == written else sorted({*spans, *_spans(meant, origins, target)})


def _spans(written: str, places: list[tuple[int, int]] | None, target: str) -> list[tuple[int, int]]:
    """Where a text as a page shows it, of which each character has its place, mentions a target."""
    sought = shown(target).strip()
    forms = dict.fromkeys((sought, unicodedata.normalize("NFC", sought)))
    patterns = [_target_forms(form) for form in forms]
    tried = [(exact, flags) for flags in (0, re.IGNORECASE) for exact, _ in patterns]
    for pattern, flags in (*tried, *((other, re.IGNORECASE) for _, other in patterns)):
        spans = [match.span() for match in re.finditer(pattern, written, flags)]
        if spans:
            return spans if places is None else [(places[a][0], places[b - 1][1]) for a, b in spans]
    return []


def target_positions(
    text: str,
    target: str | None,
    offsets: Sequence[tuple[int, int]],
    as_meant: bool = False,
    own: frozenset[str] = frozenset(),
) -> list[int]:
    """The tokens that the mentions of a target cover; see :func:`target_spans`."""
    spans = target_spans(text, target, as_meant, own)
    stops = [stop for _, stop in spans]
    # Of mentions in order the first that does not end before a token decides, so that a long text takes no longer.
    return [
        index
        for index, (start, end) in enumerate(offsets)
        if end > start and (place := bisect_right(stops, start)) < len(spans) and end > spans[place][0]
    ]


def mentioning(
    text: str,
    target: str | None,
    begins: Sequence[int],
    windows: Sequence[str],
    as_meant: bool = False,
    own: frozenset[str] = frozenset(),
) -> list[bool]:
    """Which windows of a text mention the target, each given by its first character's place and what it holds.

    Of a name with capitals the whole text says what a mention is: "us" is none of "US" where another window has "US".
    Of words in small letters each window says it, so that "Camera" at a sentence's begin counts beside "camera".
    """
    if target is None:
        return [True] * len(windows)
    if target == target.lower():
        return [bool(target_spans(window, target, as_meant, own)) for window in windows]
    spans = target_spans(text, target, as_meant, own)
    firsts = [first for first, _ in spans]
    return [
        (place := bisect_left(firsts, begin)) < len(spans) and spans[place][1] <= begin + len(window)
        for begin, window in zip(begins, windows, strict=True)
    ]


@lru_cache(maxsize=1 << 10)
def _target_forms(target: str) -> tuple[str, str]:
    """Patterns for a target as it is, and for its other number."""
    if _NO_SPACES.search(target):
        return re.escape(target), re.escape(target)
    *before, last = target.split()
    last = last.rstrip(".") or last
    whole = r"(?<!\w){}{}(?!\w)"
    start = "".join(f"{_word_before(word)}\\s+" for word in before)
    exact = other = _written(last)
    word = _LAST_WORD.search(last)
    if word is not None:
        forms = dict.fromkeys([word[0], *_other_number(word[0])])
        other = f"{_written(last[: word.start()])}(?:{'|'.join(map(_written, forms))})"
    return whole.format(start, exact), whole.format(start, other)


def _word_before(word: str) -> str:
    """A pattern for a word that others follow: the dot of an abbreviation may be there or not."""
    bare = word.rstrip(".")
    if not bare or (bare == word and not (word.isalpha() and len(word) <= _ABBREVIATION)):
        return _written(word)
    return _written(bare) + r"\.*"


def _written(words: str) -> str:
    return "".join(map(_letter, words))


def _letter(letter: str) -> str:
    """A pattern for a letter: any apostrophe or hyphen for one, what has an accent as one character or as two."""
    for alike in (APOSTROPHES, HYPHENS):
        if letter in alike:
            return f"[{alike}]"
    apart = unicodedata.normalize("NFD", letter)
    return re.escape(letter) if apart == letter else f"(?:{re.escape(letter)}|{re.escape(apart)})"


def _other_number(written: str) -> Iterator[str]:
    """What a word is in plural if it is a singular, and in singular if it is a plural; some of it may be no word."""
    word = written.lower()
    if word in _ONE_NUMBER:
        return
    for singular, plural in _IRREGULAR:
        for end, other in ((singular, plural), (plural, singular)):
            if word.endswith(end):
                yield word.removesuffix(end) + other
    if word.endswith(("s", "x", "z", "ch", "sh", "o")):
        yield f"{word}es"
    if re.search("[^aeiou]y$", word):
        yield f"{word[:-1]}ies"
    if not word.endswith(("s", "x", "z", "sh", "xe", "she")):
        yield f"{word}s"
    if word.endswith(("xes", "ches", "shes", "sses")) or re.search("..[osz]es$", word):
        yield word[:-2]
    if word.endswith("ies"):
        yield f"{word[:-3]}y"
    if word.endswith("s") and not word.endswith(("ss", "xes", "shes")) and not _no_plural(written):
        yield word[:-1]


def _no_plural(written: str) -> bool:
    """Whether the s of a short word is its own: "US", "GPS", "bus"; "TVs" and "ads" are plurals."""
    return len(written) < 3 or (len(written) == 3 and (written.isupper() or written.lower() in _OWN_S))

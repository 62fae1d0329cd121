"""Texts as people type them: slips, words spelled by ear, short forms, words run together, no punctuation.

The labels of a text stay what they are, and so does what it means: a model that is trained on such texts is told by
teachers, who read the text as it was written, what to answer.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from random import Random

import torch

from weft.absa.records import Sentence

_ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
_BESIDE = {
    letter: "".join(
        row[at + step]
        for row in _ROWS
        for at in [row.find(letter)]
        if at >= 0
        for step in (-1, 1)
        if 0 <= at + step < len(row)
    )
    for letter in "".join(_ROWS)
}
SHORT = {
    **{
        "you": "u",
        "your": "ur",
        "are": "r",
        "to": "2",
        "too": "2",
        "for": "4",
        "great": "gr8",
        "before": "b4",
    },
    **{"because": "cuz", "with": "w/", "without": "w/o", "and": "n", "people": "ppl", "please": "pls"},
    **{
        "thanks": "thx",
        "really": "rly",
        "though": "tho",
        "although": "altho",
        "through": "thru",
        "was": "woz",
    },
    **{"what": "wat", "the": "da", "them": "em", "about": "abt", "minutes": "mins", "hours": "hrs"},
    **{"is not": "aint", "going to": "gonna", "want to": "wanna", "kind of": "kinda", "have to": "hafta"},
    **{"never": "nvr", "very": "v", "service": "svc", "restaurant": "resto", "week": "wk", "okay": "k"},
    **{
        "see": "c",
        "why": "y",
        "love": "luv",
        "night": "nite",
        "right": "rite",
        "good": "gud",
        "nothing": "nuthin",
    },
}
"""Usual short forms."""
_BY_EAR = (
    *(("ei", "ie"), ("ie", "ei"), ("ph", "f"), ("ght", "te"), ("ough", "uff"), ("tion", "shun"), ("ck", "k")),
    *(
        ("ce", "se"),
        ("ss", "s"),
        ("ll", "l"),
        ("tt", "t"),
        ("mm", "m"),
        ("nn", "n"),
        ("cc", "c"),
        ("pp", "p"),
    ),
    *(
        ("ea", "ee"),
        ("ee", "ea"),
        ("ai", "ay"),
        ("ou", "ow"),
        ("oo", "u"),
        ("qu", "kw"),
        ("wh", "w"),
        ("kn", "n"),
    ),
    *(
        ("ent", "ant"),
        ("ant", "ent"),
        ("ible", "able"),
        ("able", "ible"),
        ("er", "ar"),
        ("or", "er"),
        ("al", "le"),
    ),
    *(("le", "el"), ("ous", "us"), ("sc", "s"), ("x", "cks"), ("y", "i"), ("i", "e"), ("e", "i"), ("a", "e")),
    *(("o", "a"), ("u", "o"), ("s", "z"), ("c", "k"), ("rr", "r"), ("ff", "f"), ("mb", "m"), ("ui", "i")),
)
"""What stands in a word, and what someone who spells by ear puts there."""


class Typed:
    """What a model sees of some of the sentences; the others as they are.

    Args:
        share: Of the sentences.
    """

    def __init__(self, share: float) -> None:
        self.share = share

    def __call__(self, sentence: Sentence, generator: torch.Generator) -> Sentence:
        """The sentence, its text as someone may have typed it. Names that are asked about stay."""
        random = Random(int(torch.randint(2**31, (), generator=generator)))
        if random.random() >= self.share:
            return sentence
        targets = {context.target for context in sentence.contexts if context.target}
        return replace(sentence, text=typed(sentence.text, targets, random))


def typed(text: str, kept: set[str], random: Random) -> str:
    """A text with one or two habits of typing; what is ``kept`` stays as it is."""
    for habit in random.sample(HABITS, 1 if random.random() < 0.6 else 2):
        text = _outside(text, kept, lambda part, habit=habit: habit(part, random))
    return text


def _outside(text: str, kept: set[str], change: Callable[[str], str]) -> str:
    """The text with everything between what is kept changed."""
    if not kept:
        return change(text)
    names = "|".join(re.escape(name) for name in sorted(kept, key=len, reverse=True))
    parts = re.split(rf"((?<!\w)(?:{names})(?!\w))", text, flags=re.IGNORECASE)
    return "".join(part if number % 2 else change(part) for number, part in enumerate(parts))


def _words(text: str, share: float, least: int, change: Callable[[str], str], random: Random) -> str:
    """The text with a share of its words of small letters changed."""
    return re.sub(
        rf"\b[a-z]{{{least},}}\b",
        lambda match: change(match[0]) if random.random() < share else match[0],
        text,
    )


def slipped(text: str, random: Random) -> str:
    """Two letters exchanged, one left out, twice, or beside the right one."""
    return _words(text, random.choice((0.1, 0.2, 0.3)), 3, lambda word: _slip(word, random), random)


def _slip(word: str, random: Random) -> str:
    at = random.randrange(0 if random.random() < 0.1 else 1, len(word))
    before, letter, after = word[:at], word[at], word[at + 1 :]
    ways = [before + after, before + 2 * letter + after, before + random.choice(_BESIDE[letter]) + after]
    ways += [before + after[0] + letter + after[1:]] if after else []
    return random.choice(ways)


def by_ear(text: str, random: Random) -> str:
    """Words spelled as they sound, one or two places of each."""

    def change(word: str) -> str:
        for _ in range(random.choice((1, 1, 2))):
            able = [pair for pair in _BY_EAR if pair[0] in word[1:]]
            if able:
                one, other = random.choice(able)
                word = word[0] + word[1:].replace(one, other, 1)
        return word

    return _words(text, random.choice((0.15, 0.3, 0.45)), 4, change, random)


def shortened(text: str, random: Random) -> str:
    """Usual short forms, no apostrophes, no articles."""
    share = random.choice((0.4, 0.8))
    for long, short in SHORT.items():
        text = re.sub(rf"\b{long}\b", lambda match, s=short: s if random.random() < share else match[0], text)
    if random.random() < 0.5:
        text = re.sub(r"(?<=\w)['’](?=\w)", "", text)
    if random.random() < 0.4:
        text = re.sub(r"\b(?:the|a|an) (?=\w)", "", text)
    return text


def together(text: str, random: Random) -> str:
    """Some spaces between words left out."""
    share = random.choice((0.05, 0.1, 0.2))
    return re.sub(r"(?<=[a-z]) (?=[a-z])", lambda _: "" if random.random() < share else " ", text)


def unpunctuated(text: str, random: Random) -> str:
    """No punctuation, or no commas and full stops."""
    marks = random.choice((r"[.,;:!?()\"]", r"[.,;:!?()\"]", r"[.,]", r"[.,;!?]"))
    return re.sub(r" {2,}", " ", re.sub(marks + r"(?!\d)", random.choice(("", "", " ")), text))


def stretched(text: str, random: Random) -> str:
    """A vowel of some words several times."""

    def change(word: str) -> str:
        vowels = [at for at, letter in enumerate(word) if letter in "aeiou"]
        if not vowels:
            return word
        at = random.choice(vowels)
        return word[:at] + random.randint(3, 6) * word[at] + word[at + 1 :]

    return _words(text, 0.12, 2, change, random)


HABITS: tuple[Callable[[str, Random], str], ...] = (
    *(slipped, slipped, by_ear, by_ear, unpunctuated, unpunctuated),
    *(shortened, together, stretched),
)
"""Each as often as it stands here."""

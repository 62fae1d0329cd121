"""The lists that ``absa_any.py`` draws from: aspects with their words and sentences, and names, by kind of thing."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from random import Random

LISTS = Path(__file__).parent / "absa_any"
_POLARITY = {"+": "positive", "-": "negative", "=": "neutral"}
GENERAL = "general"


@dataclass(frozen=True, eq=False)
class Aspect:
    """One aspect.

    Args:
        kinds: What can be judged by it: ``eat``, ``hotel``, …
        names: How it is asked for; the first is the usual one.
        gloss: Words that explain it.
        stems: Words of texts that belong to it, matched with their plurals.
        said: Sentences about ``{X}`` by polarity.
        good: Words that praise the thing that the first name is.
        bad: Words that do not.
    """

    kinds: frozenset[str]
    names: tuple[str, ...]
    gloss: tuple[str, ...]
    stems: frozenset[str]
    said: dict[str, list[str]] = field(default_factory=dict)
    good: tuple[str, ...] = ()
    bad: tuple[str, ...] = ()

    def mentioned(self, words: frozenset[str]) -> bool:
        """Whether one of these words belongs to it."""
        return not self.stems.isdisjoint(words)

    def near(self, other: Aspect) -> bool:
        """Whether the two share words: then neither is a safe wrong answer for the other."""
        return _near(self, other)

    def asked(self, random: Random) -> str:
        """The aspect as somebody may ask for it: one of its names, now and then with a gloss."""
        name = self.names[0] if random.random() < 0.5 else random.choice(self.names)
        if self.gloss and random.random() < 0.2:
            name += ": " + ", ".join(random.sample(self.gloss, min(len(self.gloss), random.randint(1, 3))))
        return name


@cache
def _near(first: Aspect, second: Aspect) -> bool:
    names = (words_of(" ".join(aspect.names)) for aspect in (first, second))
    return bool(first.stems & second.stems or next(names) & next(names))


@cache
def words_of(text: str) -> frozenset[str]:
    """The words of a text in lower case, each also without a plural's ending."""
    words = re.findall(r"[a-z]+(?:-[a-z]+)*", text.lower())
    return frozenset(
        form for word in words for form in (word, word.removesuffix("s"), word.removesuffix("es")) if form
    )


def read_aspects(path: Path = LISTS / "aspects.txt") -> list[Aspect]:
    """The aspects, in the order of the file."""
    found: list[Aspect] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        if line[0] in _POLARITY and line[1] == " ":
            found[-1].said.setdefault(_POLARITY[line[0]], []).append(line[2:].strip())
        elif line.startswith("adj "):
            good, bad = line[4:].split("/")
            last = found.pop()
            found.append(
                Aspect(last.kinds, last.names, last.gloss, last.stems, last.said, _words(good), _words(bad))
            )
        else:
            kinds, names, gloss, stems = (part.strip() for part in line.split("|"))
            split = tuple(name.strip() for name in names.split(";"))
            found.append(
                Aspect(
                    frozenset(kinds.split()),
                    split,
                    tuple(part.strip() for part in gloss.split(",")),
                    words_of(stems),
                )
            )
    return found


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


def read_names(path: Path = LISTS / "names.txt", frames: Path = LISTS / "frames.txt") -> dict[str, list[str]]:
    """The names of things, by kind: as many made up by frames as are listed, three times over."""
    names, parts, random = _listed(path), _listed(frames), Random(0)
    for kind, listed in names.items():
        fillers = {letter: parts[letter] for letter in "wsft"}
        wanted, made = 3 * len(listed), dict.fromkeys(listed)
        while len(made) < len(listed) + wanted:
            name = random.choice(parts[kind])
            for letter, words in fillers.items():
                while "{" + letter + "}" in name:
                    word = random.choice(words) if letter != "w" or random.random() < 0.5 else _coined(random)
                    name = name.replace("{" + letter + "}", word, 1)
            made[name.replace("{n}", str(random.randint(2, 99)))] = None
        names[kind] = list(made)
    return names


def _coined(random: Random) -> str:
    """A word that does not exist."""
    syllables = (
        random.choice("bdfgklmnprstvz") + random.choice("aeiou") for _ in range(random.randint(2, 3))
    )
    return ("".join(syllables) + random.choice(("", "", "n", "r", "x", "s"))).capitalize()


def _listed(path: Path) -> dict[str, list[str]]:
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line and line[0] != "#"]
    pairs = [line.split(":", 1) for line in lines]
    return {kind: [name.strip() for name in names.split(";")] for kind, names in pairs}

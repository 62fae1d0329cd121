"""Made texts: short documents of many kinds, with their mentions and facts, put together from sentences with blanks.

What is not said to be a fact is none: half of the sentences state nothing between the names in them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from weft.kg.read.documents import GivenFact, Mention, TextDocument

HERE = Path(__file__).parent / "kg_text_small"
_BLANK = re.compile(r"\{(\w)(?:\.(\w+))?(?::(\w+))?\}")
_MOST = 6
"""Sentences of one part of a made text."""
_PARTS = (1, 1, 2, 2, 3, 4)
"""Parts of a text, about different things."""
INVERSE: Mapping[str, str] = {
    "parent_organization": "subsidiary",
    "part_of": "has_part",
    "follows": "followed_by",
    "replaces": "replaced_by",
    "capital_of": "capital",
    "participant": "participant_of",
    "characters": "present_in_work",
    "spouse": "spouse",
    "sibling": "sibling",
    "author": "notable_work",
    "director": "notable_work",
    "performer": "notable_work",
}
"""What follows for tail and head, as Re-DocRED states it."""
_PRONOUNS = {"he": ("he", "she"), "He": ("He", "She"), "his": ("his", "her"), "His": ("His", "Her")}


@dataclass(frozen=True)
class Thing:
    """What fills a blank.

    Args:
        name: In full.
        type: Of Re-DocRED.
        short: What it may be called when it was named before.
        female: Of a person.
        country: Of a city: its name and what its people are called.
    """

    name: str
    type: str
    short: str = ""
    female: bool = False
    country: tuple[str, str] = ("", "")


@dataclass(frozen=True)
class Scene:
    """Blanks and the sentences that have them.

    Args:
        blanks: Letter to kind.
        groups: Of sentences with their facts.
    """

    blanks: Mapping[str, str]
    groups: Sequence[Sequence[tuple[str, str]]]


@dataclass
class _Text:
    """A text in the making."""

    text: str = ""
    numbers: dict[str, int] = field(default_factory=dict)
    names: dict[str, tuple[str, str]] = field(default_factory=dict)
    places: list[tuple[int, int, str]] = field(default_factory=list)

    def name(self, key: str, surface: str, kind: str) -> None:
        """Write a name."""
        start = len(self.text)
        self.text += surface
        self.numbers.setdefault(key, len(self.numbers))
        self.names.setdefault(key, (surface, kind))
        self.places.append((start, len(self.text), key))


def read_scenes(path: Path = HERE / "texts.txt") -> list[Scene]:
    """The sentences with blanks."""
    scenes = []
    for block in path.read_text(encoding="utf-8").split("@")[1:]:
        head, _, body = block.partition("\n")
        blanks = dict(item.split("=") for item in head.split()[1:])
        groups = []
        for part in body.split("\n\n"):
            rows = [line.partition(" |") for line in part.splitlines() if line.strip()]
            if rows:
                groups.append([(text.strip(), facts.strip(" |")) for text, _, facts in rows])
        scenes.append(Scene(blanks, groups))
    return scenes


class Maker:
    """Makes texts.

    Args:
        scenes: What is said.
        names: Kind to names.
        random: Draws.
        more: Further names by kind, such as those of real texts.
    """

    def __init__(
        self,
        scenes: Sequence[Scene],
        random: Random,
        more: Mapping[str, Sequence[str]] | None = None,
        names: Path = HERE / "names.txt",
    ) -> None:
        self.scenes, self.random, self.more = scenes, random, more or {}
        self.names: dict[str, list[str]] = {}
        for line in names.read_text(encoding="utf-8").splitlines():
            kind, _, rest = line.removeprefix("[").partition("] ")
            self.names[kind] = rest.split("|") if "|" in rest else rest.split()

    def __call__(self, name: str) -> TextDocument:
        """One text."""
        random = self.random
        parts = [self._part(name) for _ in range(random.choice(_PARTS))]
        between = random.choice((" ", "\n", "\n\n"))
        text, mentions, facts = "", list[Mention](), list[GivenFact]()
        for part in parts:
            text += between if text else ""
            first = max((mention.entity for mention in mentions), default=-1) + 1
            mentions += [
                item._replace(
                    start=item.start + len(text), end=item.end + len(text), entity=item.entity + first
                )
                for item in part.mentions
            ]
            facts += [GivenFact(fact.head + first, fact.relation, fact.tail + first) for fact in part.facts]
            text += part.text
        return TextDocument(name, text, tuple(mentions), tuple(facts))

    def _part(self, name: str) -> TextDocument:
        random = self.random
        scene = random.choice(self.scenes)
        sentences = [
            random.choice(group) for group in scene.groups for _ in range(random.choice((1, 1, 2, 2)))
        ]
        sentences = list(dict.fromkeys(sentences))
        if random.random() < 0.3:
            random.shuffle(sentences)
        return self._write(name, scene, sentences[:_MOST])

    def _write(self, name: str, scene: Scene, sentences: Sequence[tuple[str, str]]) -> TextDocument:
        random, written = self.random, _Text()
        things = {letter: self._thing(kind) for letter, kind in scene.blanks.items()}
        stated: set[tuple[str, str, str]] = set()
        joint = random.choice((" ", " ", " ", "\n", "\n\n"))
        for number, (sentence, facts) in enumerate(sentences):
            self._sentence(written, things, sentence, joint if number else "")
            for fact in filter(None, (item.strip() for item in facts.split(";"))):
                head, relation, tail = fact.split(" ", 2)
                stated.add((head, relation, self._outside(written, tail)))
        if random.random() < 0.1:
            written.text = written.text.rstrip(".")
        keys = written.numbers
        for letter, thing in things.items():
            for relation in ("country", "located_in"):
                if thing.country[0] and thing.type == "LOC":
                    stated.add((letter, relation, f"{letter}.n"))
        for head, relation, tail in list(stated):
            if relation == "headquarters":
                stated.add((head, "located_in", tail))
            if relation in INVERSE:
                stated.add((tail, INVERSE[relation], head))
            if relation in ("father", "mother"):
                stated.add((tail, "child", head))
        return TextDocument(
            name,
            written.text,
            tuple(
                sorted(
                    Mention(start, end, keys[key], *written.names[key]) for start, end, key in written.places
                )
            ),
            tuple(
                sorted(
                    GivenFact(keys[head], relation, keys[tail])
                    for head, relation, tail in stated
                    if head in keys and tail in keys
                )
            ),
        )

    @staticmethod
    def _outside(written: _Text, tail: str) -> str:
        """A name that stands in the sentence itself, ``#name/TYPE``."""
        if not tail.startswith("#"):
            return tail
        name, _, kind = tail[1:].partition("/")
        start = written.text.rfind(name)
        if (start, start + len(name), tail) not in written.places:
            written.numbers.setdefault(tail, len(written.numbers))
            written.names.setdefault(tail, (name, kind))
            written.places.append((start, start + len(name), tail))
        return tail

    def _sentence(self, written: _Text, things: Mapping[str, Thing], sentence: str, joint: str) -> None:
        written.text += joint
        at = 0
        for blank in _BLANK.finditer(sentence):
            written.text += sentence[at : blank.start()]
            at = blank.end()
            letter, part, form = blank.groups()
            thing = things[letter]
            if form in _PRONOUNS and letter in written.numbers:
                written.text += _PRONOUNS[form][thing.female]
                continue
            if form in ("his", "His"):
                written.name(letter, f"{thing.name}'s", thing.type)
                start, end, key = written.places[-1]
                written.places[-1] = (start, end - 2, key)
                written.names[letter] = (thing.name, thing.type)
                continue
            name = thing.country[part == "adj"] if part else thing.name
            if name[0] in "AEIOU" and written.text.endswith((" a ", "A ")):
                written.text = f"{written.text[:-1]}n "
            if part:
                written.name(f"{letter}.n", name, "LOC")
                continue
            short = thing.short and letter in written.numbers and self.random.random() < 0.6
            written.name(letter, thing.short if short else thing.name, thing.type)
        written.text += sentence[at:]

    def _thing(self, kind: str) -> Thing:
        random = self.random
        made: dict[str, Callable[[], Thing]] = {
            "person": self._person, "politician": self._person, "character": self._person,
            "city": self._city, "company": self._company, "team": self._team,
            "university": self._university, "institute": self._institute,
        }  # fmt: skip
        if kind in made:
            return made[kind]()
        if kind in ("year", "date", "number"):
            return self._amount(kind)
        if kind in ("country", "region"):
            land = self._pick("city").split(",")[1]
            return Thing(land if kind == "country" else self._real("LOC"), "LOC")
        if kind in ("lake", "river", "continent", "mountain", "island"):
            name = self._pick(kind) if kind in self.names else f"{kind.title()} of {self._pick('last')}"
            name = f"Mount {self._pick('last')}" if kind == "mountain" else name
            return Thing(name, "LOC")
        if kind in ("language", "platform", "war", "award", "genre"):
            return Thing(self._pick(kind), "MISC")
        if kind in ("religion", "branch", "ministry"):
            return Thing(self._pick(kind), "ORG")
        if kind in ("book", "film", "song", "album", "series"):
            return Thing(self._title(), "MISC")
        if kind in ("software", "goods", "medal", "summit", "games"):
            return Thing(self._work(kind), "MISC")
        return self._body(kind)

    def _pick(self, kind: str) -> str:
        return self.random.choice(self.names[kind])

    def _real(self, kind: str) -> str:
        return self.random.choice(self.more[kind]) if self.more.get(kind) else self._pick("noun")

    def _person(self) -> Thing:
        female = self.random.random() < 0.5
        if self.more.get("PER") and self.random.random() < 0.2:
            name = self._real("PER")
            return Thing(name, "PER", name.split()[-1], female)
        first, last = self._pick("she" if female else "he"), self._pick("last")
        draw = self.random.random()
        middle = f" {self.random.choice('ABCDEFGHJKLMNPRST')}." if draw < 0.08 else ""
        title = "Dr. " if 0.9 < draw < 0.93 else ""
        return Thing(f"{title and ''}{first}{middle} {last}", "PER", last, female)

    def _city(self) -> Thing:
        city, country, people = self._pick("city").split(",")
        return Thing(city, "LOC", country=(country, people))

    def _company(self) -> Thing:
        random, draw = self.random, self.random.random()
        if draw < 0.15 and self.more.get("ORG"):
            return Thing(self._real("ORG"), "ORG")
        if draw < 0.4:
            base = self._pick("last")
        elif draw < 0.7:
            base = self._pick("word") + self._pick("tail")
        elif draw < 0.8:
            return Thing("".join(random.choice("ABCDEFGHKLMNPRSTV") for _ in range(3)), "ORG")
        else:
            base = f"{self._pick('word')} {self._pick('noun')}"
        more = random.choice((self._pick("trade"), self._pick("trade"), self._pick("form"), ""))
        return Thing(f"{base} {more}".strip(), "ORG", base)

    def _team(self) -> Thing:
        city = self._pick("city").split(",")[0]
        after = self.random.choice(
            ("United", "FC", "City", "Rovers", "Wolves", "Hawks", "Tigers", "Athletic")
        )
        return Thing(f"{city} {after}", "ORG")

    def _university(self) -> Thing:
        city = self._pick("city").split(",")[0]
        return Thing(
            self.random.choice(
                (f"University of {city}", f"{city} University", f"{city} University of Technology",
                 f"{self._pick('last')} College", f"{self._pick('last')} University")
            ),
            "ORG",
        )  # fmt: skip

    def _institute(self) -> Thing:
        head = self.random.choice(
            ("Institute for", "Institute of", "Centre for", "Laboratory of", "Max Planck Institute for")
        )
        subject = self._pick("subject")
        name = f"{head} {subject}" if self.random.random() < 0.6 else f"{self._pick('last')} Institute"
        return Thing(name, "ORG")

    def _amount(self, kind: str) -> Thing:
        random = self.random
        year = random.randint(1840, 2025)
        if kind == "year":
            return Thing(str(year), "TIME")
        if kind == "number":
            words = (
                "two",
                "three",
                "four",
                "twelve",
                f"{random.randint(2, 900)}",
                f"{random.randint(2, 90)},000",
            )
            return Thing(random.choice((*words, f"{random.randint(2, 99)} million")), "NUM")
        day, month = random.randint(1, 28), self._pick("month")
        forms = (
            f"{day} {month} {year}",
            f"{month} {day}, {year}",
            f"{month} {year}",
            f"{year}-0{day % 9 + 1}-{day:02}",
        )
        return Thing(
            random.choice((*forms, f"{day} {month}", random.choice(("Monday", "Tuesday", "Friday")))), "TIME"
        )

    def _title(self) -> str:
        noun, other, adjective = self._pick("noun"), self._pick("noun"), self._pick("adjective")
        return self.random.choice(
            (f"The {adjective} {noun}", f"The {noun} of {other}", f"{adjective} {noun}", f"A {noun} in {other}",
             f"{noun}s", f"The {noun}", f"{other} and {noun}", noun)
        )  # fmt: skip

    def _work(self, kind: str) -> str:
        word, tail, number = self._pick("word"), self._pick("tail"), self.random.randint(2, 900)
        city = self._pick("city").split(",")[0]
        year = self.random.randint(1950, 2030)
        choices = {
            "software": (
                f"{word}{tail.title()}",
                f"Lib{tail}",
                f"{word} {number % 12}",
                f"Open{word}",
                f"{word}DB",
            ),
            "goods": (f"{word} {number}", f"{word}{tail} Pro", f"Model {word[0]}{number}", f"{word} Mini"),
            "medal": (f"Order of {self._pick('noun')}", f"{word} Star", "Distinguished Service Cross"),
            "summit": (
                f"{city} Summit",
                f"{word} Conference",
                f"{city} Climate Conference",
                f"G{number % 20 + 3} summit",
            ),
            "games": (f"{year} Summer Olympics", f"{year} Winter Olympics", f"{year} European Championships"),
        }
        return self.random.choice(choices[kind])

    def _body(self, kind: str) -> Thing:
        city, last, word = self._pick("city").split(",")[0], self._pick("last"), self._pick("word")
        choices = {
            "bank": (f"Bank of {city}", f"{last} Bank", f"{word} Capital", f"{last} & {self._pick('last')}"),
            "party": (f"{word} Party", "Labour Party", "Liberal Democrats", "Social Democratic Party", "People's Party"),
            "newspaper": (f"The {city} Times", f"{city} Herald", f"{city} Post", f"Daily {word}", f"The {word} Review"),
            "journal": (f"Journal of {self._pick('subject')}", f"{self._pick('subject')} Letters", "Nature", "Science"),
            "hospital": (f"{city} General Hospital", f"St. {last} Hospital", f"{city} Medical Centre"),
            "publisher": (f"{last} Press", f"{word} Books", f"{last} & {self._pick('last')}", f"{city} University Press"),
            "studio": (f"{word} Pictures", f"{last} Films", f"{word} Studios"),
            "network": (f"{word} TV", "".join(self.random.choice("ABCNTVS") for _ in range(3)), f"Channel {last}"),
            "band": (f"The {self._pick('noun')}s", f"{word} {self._pick('noun')}", f"The {word} {self._pick('noun')}s"),
            "label": (f"{word} Records", f"{last} Music", f"{word} Sound"),
            "league": ("Premier League", f"{city} League", f"{word} League", "Bundesliga", "Serie A"),
            "museum": (f"Museum of {self._pick('noun')}", f"{city} Art Museum", f"{last} Gallery", f"{last} Museum"),
            "airport": (f"{city} Airport", f"{last} International Airport"),
            "foundation": (f"{word} Foundation", f"{last} Foundation"),
            "school": (f"{last} School", f"{city} High School"),
        }  # fmt: skip
        return Thing(self.random.choice(choices[kind]), "LOC" if kind == "airport" else "ORG")

"""Names for the blanks of made texts: persons, places, bodies and works, out of lists and parts of words."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

_SYLLABLES = re.findall(
    r"\w+",
    "vo ka ri mex no va tel lu max or ix del ta sam so ny sie mens bos ch fi lip ge ra do er zo ki pan sa fa com "
    "ne tro val be nor co len mar ti ro sta qua dex po sto ber li an el ma hon da to yo",
)


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


class Things:
    """Draws things of every kind.

    Args:
        names: A file of lists, ``[kind] name name …``, with bars between names of several words.
        random: Draws.
        more: Further names by type, such as those of real texts.
        coined: How often a company is one coined word, or one of the further names.
    """

    def __init__(
        self,
        names: Path,
        random: Random,
        more: Mapping[str, Sequence[str]] | None = None,
        coined: float = 0.0,
    ) -> None:
        self.random, self.more, self.coined = random, more or {}, coined
        self.names: dict[str, list[str]] = {}
        for line in names.read_text(encoding="utf-8").splitlines():
            kind, _, rest = line.removeprefix("[").partition("] ")
            self.names[kind] = rest.split("|") if "|" in rest else rest.split()

    def __call__(self, kind: str) -> Thing:
        """A thing of a kind that a blank asks for."""
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

    def _coined(self) -> Thing:
        """A company that is one word, such as a brand, or one of real texts."""
        random = self.random
        if self.more.get("ORG") and random.random() < 0.4:
            return Thing(self._real("ORG"), "ORG")
        word = "".join(random.choice(_SYLLABLES) for _ in range(random.choice((2, 2, 3))))
        after = random.choice(("", "", "", f" {self._pick('trade')}", f" {self._pick('form')}"))
        before = random.choice(("", "", "", "", "Banco ", "Banque ", "Grupo ", "Casa ", "Groupe "))
        return Thing(f"{before}{word.title()}{after}", "ORG")

    def _company(self) -> Thing:
        if self.coined and self.random.random() < self.coined:
            return self._coined()
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
            "party": (f"{word} Party", "Labour Party", "Liberal Democrats", "Social Democratic Party",
                      "People's Party"),
            "newspaper": (f"The {city} Times", f"{city} Herald", f"{city} Post", f"Daily {word}", f"The {word} Review"),
            "journal": (f"Journal of {self._pick('subject')}", f"{self._pick('subject')} Letters", "Nature",
                        "Science"),
            "hospital": (f"{city} General Hospital", f"St. {last} Hospital", f"{city} Medical Centre"),
            "publisher": (f"{last} Press", f"{word} Books", f"{last} & {self._pick('last')}",
                          f"{city} University Press"),
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

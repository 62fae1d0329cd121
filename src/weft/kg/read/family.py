"""What a text states of couples and parents in plain words, and which other kinship between its people that excludes.

"Ada and Karl had two children, Otto and Ida. Ida married the smith Jan" makes Jan no husband of Ada. A model of text
sees the names beside each other and the words for marriage and children, and joins across the generations.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from weft.kg.read.documents import Mention, TextDocument
from weft.kg.read.family_words import (
    CHILD_OF,
    CLOSE,
    CONTROL,
    COUPLES,
    ENGAGED,
    FIANCE,
    HAD,
    HIS_SPOUSE,
    IN_WORDS,
    INTRODUCED,
    LEFT,
    LEFT_FOR,
    MARRIAGE,
    MARRIED,
    NAME,
    NUMBER,
    OF_DAUGHTER,
    OPEN,
    OWN_CHILD,
    PARENTS,
    PRONOUN,
    SUBJECT,
    THEIR,
    TOLD_OF_THEM,
    VERB,
    WHO,
)
from weft.kg.read.sentences import sentence_starts

LONGEST = 2_000
"""Characters of a sentence that is looked at; what is longer is a list or a table without full stops."""


@dataclass
class Family:
    """Who is whose spouse and child by plain words of a text; persons by their numbers.

    Args:
        numbers: Of each person's name.
        sentences: Of the text, with a number between control characters in place of each person's name.
        couples: Who are told to be spouses.
        parents: Of each child, as far as they are told.
        engaged: Couples that are told to be engaged, and who is called somebody's fiancé or fiancée.
        either: Who married whom, of each couple that was engaged before.
        named: The sentences that name a person.
        introduced: Who is first named as somebody's spouse: in which sentence, and the couple.
    """

    numbers: dict[str, int]
    sentences: list[str]
    couples: set[frozenset[int]] = field(default_factory=set)
    parents: dict[int, set[int]] = field(default_factory=dict)
    engaged: set[int | frozenset[int]] = field(default_factory=set)
    either: set[frozenset[int]] = field(default_factory=set)
    named: dict[int, list[int]] = field(default_factory=dict)
    introduced: dict[int, tuple[int, frozenset[int]]] = field(default_factory=dict)

    @staticmethod
    def of(document: TextDocument) -> Family:
        """Read a document.

        Args:
            document: With its mentions; persons are those of the type PER.
        """
        numbers: dict[str, int] = {}
        sentences = list(_marked(document, numbers))
        family = Family(numbers, sentences)
        last: list[frozenset[int]] = []
        subject: tuple[int, str] | None = None
        for number, sentence in enumerate(sentences):
            for person in dict.fromkeys(_numbers(sentence)):
                family.named.setdefault(person, []).append(number)
            last, subject = family._read(number, sentence, last, subject)
        return family

    def _read(
        self, number: int, sentence: str, last: list[frozenset[int]], subject: tuple[int, str] | None
    ) -> tuple[list[frozenset[int]], tuple[int, str] | None]:
        """Take what one sentence states.

        Args:
            number: Of the sentence.
            sentence: With numbers for names.
            last: Couples of the sentence before.
            subject: Whom the sentence before says to be a son or daughter, and the pronoun of that.

        Returns:
            The same of this sentence.
        """
        if OPEN not in sentence or len(sentence) > LONGEST:
            return [], None
        couples = [_pair(found) for form in COUPLES for found in form.finditer(sentence)]
        couples += [
            _pair(found) for found in MARRIED.finditer(sentence) if SUBJECT.search(sentence[: found.start()])
        ]
        told: tuple[int, str] | None = None
        for found in CHILD_OF.finditer(sentence):
            child, parents = _number(found["one"]), [_number(found["parent"])]
            if found["second"]:
                parents.append(_number(found["second"]))
                couples += [frozenset(parents)] if HIS_SPOUSE.search(found[0]) else []
            self._add_child(child, *parents)
            told = child, OF_DAUGHTER.get(found["sex"], "")
        for found in HAD.finditer(sentence):
            if SUBJECT.search(sentence[: found.start()]):
                parents = [_number(found[name]) for name in ("one", "second") if found[name]]
                for child in _numbers(found["all"]):
                    self._add_child(child, *parents)
        for found in OWN_CHILD.finditer(sentence):
            self._add_child(_number(found["other"]), _number(found["one"]))
        if subject is not None and subject[1] and re.match(rf"\W*{subject[1]}\b", sentence):
            found = re.search(rf"\bmarried\s+{WHO}(?P<other>{NAME})(?!['’])", sentence)
            if found is not None and OPEN not in sentence[: found.start()]:
                couples.append(frozenset((subject[0], _number(found["other"]))))
        self._add_their(sentence, couples or last)
        couples += self._engaged(sentence)
        couples = [pair for pair in couples if len(pair) > 1]
        self.couples.update(couples)
        self._add_introduced(number, [*couples, *self._of_one(sentence)])
        return couples, told

    def _add_child(self, child: int, *parents: int) -> None:
        self.parents.setdefault(child, set()).update(parent for parent in parents if parent != child)

    def _add_their(self, sentence: str, couples: Sequence[frozenset[int]]) -> None:
        """Children of the only couple that "their" can mean."""
        for found in THEIR.finditer(sentence):
            if found.start() and sentence.startswith("Their"):
                return  # "Their daughter Ruth married Tom; their son …" may be of either couple
            if len(set(couples)) == 1 and (
                found.start() == 0 or couples[0] <= set(_numbers(sentence[: found.start()]))
            ):
                for child in _numbers(found["all"]):
                    if child not in couples[0]:
                        self._add_child(child, *couples[0])

    def _of_one(self, sentence: str) -> Iterator[frozenset[int]]:
        """Couples of which one is named alone before: "Given by Karl in memory of his wife, Ada"."""
        for found in HIS_SPOUSE.finditer(sentence):
            before = sentence[: found.start()]
            if len(_numbers(before)) == 1 and not PRONOUN.search(before):
                yield frozenset((*_numbers(before), _number(found["other"])))

    def _add_introduced(self, number: int, couples: Sequence[frozenset[int]]) -> None:
        """Note who is first named as somebody's spouse."""
        for pair in couples:
            for person in pair:
                if self.named[person][0] == number and person not in self.introduced:
                    self.introduced[person] = number, pair

    def _engaged(self, sentence: str) -> list[frozenset[int]]:
        """Note who are told to be engaged; couples that one of them makes with another are returned."""
        couples: list[frozenset[int]] = []
        for found in (found for form in ENGAGED for found in form.finditer(sentence)):
            pair = _pair(found)
            self.engaged.add(pair)
            left = LEFT.match(sentence, found.end())
            if left is not None:
                self.either.update(frozenset((one, _number(left["other"]))) for one in pair)
            left = LEFT_FOR.match(sentence, found.end())
            if left is not None:
                couples.append(frozenset((_number(found["one"]), _number(left["other"]))))
        for found in FIANCE.finditer(sentence):
            self.engaged.add(_number(found["one"] or found["other"]))
        return couples

    def excludes(self, relation: str, head: str, tail: str) -> bool:
        """Whether what the text states of two people and others lets them not have a relation of kinship.

        False of what is stated, of relations that are none of kinship, and of names that are no persons'.

        Args:
            relation: Its name.
            head: Name of the head.
            tail: Of the tail.
        """
        if head not in self.numbers or tail not in self.numbers or head == tail:
            return False
        one, other = self.numbers[head], self.numbers[tail]
        if relation == "spouse":
            return self._no_spouses(one, other)
        if relation == "sibling":
            return self._generations(one, other) or self._generations(other, one) or self._married(one, other)
        if relation in PARENTS:
            return self._no_parent(other, one)
        return relation == "child" and self._no_parent(one, other)

    def is_one_of_two(self, relation: str, head: str, tail: str) -> bool:
        """Whether a spouse is that of one of two, and words alone do not say of which.

        "Hugo was engaged to Irene, but she broke it off and married Ivan": a reader knows who "she" is by the names.

        Args:
            relation: Its name.
            head: Name of the head.
            tail: Of the tail.
        """
        numbers = self.numbers.get(head), self.numbers.get(tail)
        return relation == "spouse" and frozenset(numbers) in self.either

    def _married(self, one: int, other: int) -> bool:
        return frozenset((one, other)) in self.couples

    def _is_parent(self, parent: int, child: int) -> bool:
        return parent in self.parents.get(child, ())

    def _generations(self, elder: int, younger: int) -> bool:
        """Whether one is the parent, a grandparent or a parent-in-law of the other."""
        between = [child for child, parents in self.parents.items() if elder in parents]
        return younger in between or any(
            self._is_parent(child, younger) or self._married(child, younger) for child in between
        )

    def _no_spouses(self, one: int, other: int) -> bool:
        if self._married(one, other):
            return False
        if self._generations(one, other) or self._generations(other, one):
            return True
        if self.parents.get(one, set()) & self.parents.get(other, set()):
            return True
        if self._is_merely_engaged(one, other):
            return True
        if any(
            frozenset((person, left)) in self.engaged and self._married(person, taken)
            for person in self.numbers.values()
            for left, taken in ((one, other), (other, one))
        ):
            return True
        shared = list(self._between(one, other))
        if not any(map(VERB.search, shared)) and all(
            any(person in pair for pair in self.couples) for person in (one, other)
        ):
            return True
        if shared:
            return False
        return any(
            self._is_anothers(*ends) or self._is_relative(*ends) for ends in ((one, other), (other, one))
        )

    def _no_parent(self, parent: int, child: int) -> bool:
        if self._is_parent(parent, child):
            return False
        known = self.parents.get(child, set())
        return (
            len(known) > 1
            or self._married(parent, child)
            or self._generations(parent, child)
            or self._generations(child, parent)
            or bool(known & self.parents.get(parent, set()))
        )

    def _is_merely_engaged(self, one: int, other: int) -> bool:
        """Whether two are told to be engaged, or one somebody's fiancée, and no words tell that they married."""
        pair = frozenset((one, other))
        if pair not in self.engaged and not {one, other} & self.engaged:
            return False
        near = {number + step for person in pair for number in self.named[person] for step in (0, 1)}
        if any(IN_WORDS.search(self.sentences[number]) for number in near & set(range(len(self.sentences)))):
            return False
        return pair in self.engaged or not any(map(MARRIAGE.search, self._between(one, other)))

    def _is_anothers(self, person: int, earlier: int) -> bool:
        """Whether somebody is first named as another's spouse, after one in no sentence with him."""
        number, pair = self.introduced.get(person, (0, frozenset[int]()))
        if not pair or earlier in pair or self.named[earlier][0] >= number:
            return False
        return not any(map(TOLD_OF_THEM.search, self.sentences[number:]))

    def _is_relative(self, person: int, earlier: int) -> bool:
        """Whether somebody is first named as "his brother", after one in no sentence with him; nobody marries there."""
        number = self.named[person][0]
        if self.named[earlier][0] >= number:
            return False
        sentence = self.sentences[number]
        before = sentence[: sentence.index(f"{OPEN}{person}{CLOSE}")]
        near = " ".join(self.sentences[number : number + 2])
        return INTRODUCED.search(before) is not None and not IN_WORDS.search(near)

    def _between(self, one: int, other: int) -> Iterator[str]:
        """What stands between two persons in each sentence that names both."""
        for number in sorted({*self.named[one]} & {*self.named[other]}):
            sentence = self.sentences[number]
            places = [
                (found.start(), found.end(), int(found[1]))
                for found in NUMBER.finditer(sentence)
                if int(found[1]) in (one, other)
            ]
            for (_, end, first), (start, _, second) in pairwise(places):
                if first != second:
                    yield sentence[end:start]


def _marked(document: TextDocument, numbers: dict[str, int]) -> Iterator[str]:
    """The sentences of a document with a number for each person's name, which are added to ``numbers``.

    Namesakes, father and son, are left out: by "Paul Orr" a text may mean Paul Orr Jr.
    """
    text = document.text
    starts = [*(document.sentences or sentence_starts(text)), len(text)]
    people = sorted(item for item in document.mentions if item.type == "PER")
    names = sorted({item.name for item in people})
    namesakes = {name for pair in pairwise(names) if pair[1].startswith(f"{pair[0]} ") for name in pair}
    place = 0
    for start, end in pairwise(starts):
        parts, at = list[str](), start
        while place < len(people) and people[place].start < end:
            item: Mention = people[place]
            place += 1
            if item.start < at or item.end > end or item.name in namesakes:
                continue
            number = numbers.setdefault(item.name, len(numbers))
            parts += [text[at : item.start].translate(CONTROL), f"{OPEN}{number}{CLOSE}"]
            at = item.end
        yield "".join([*parts, text[at:end].translate(CONTROL)])


def _number(name: str) -> int:
    return int(name[1:-1])


def _numbers(text: str) -> list[int]:
    return [int(found) for found in NUMBER.findall(text)]


def _pair(found: re.Match[str]) -> frozenset[int]:
    return frozenset((_number(found["one"]), _number(found["other"])))

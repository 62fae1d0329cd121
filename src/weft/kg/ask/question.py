"""A question in words to the facts of a store that answer it: its entity, its relation, which end is asked for."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from weft.errors import InputError
from weft.kg.ask.names import ASKING, EMPTY, WORD, named
from weft.kg.ask.voice import acts
from weft.kg.storage.graph import Fact, Graph

LEAST = 0.5
"""Least likeness of a question to a phrase."""
SURE = 0.3
"""Least confidence of an answer: about where precision and recall of raw text to facts balance."""
_NEARLY = 0.9
"""Phrases so near to the best one are meant as well: who wrote a film may be asked of books and of scripts."""
_NOT = re.compile(r"not|never|nobody|none|\w+n['’]t", re.IGNORECASE)
_WHETHER = frozenset(("is", "are", "was", "were", "do", "does", "did", "has", "have", "had"))
"""What a question begins with that asks whether something is so."""
_WHEN = re.compile(r"\b(?:(?:in|on|during)\s+)?(?:what|which)\s+(?:year|date|day|month)\b", re.IGNORECASE)
"""What is the same as "when"."""
_HOW_MANY = re.compile(r"\bhow (?:many|much)\b", re.IGNORECASE)
_IN_LAW = re.compile(r"[\s-]in[\s-]law\b", re.IGNORECASE)
"""A mother-in-law is no mother, and makes no laws."""
_ENDINGS = ("ing", "ed", "es", "s", "e")
_PERSON, _TIME = "PER", "TIME"
_KINDS = {
    "when": (),
    "where": (_PERSON, "NUM"),
    **dict.fromkeys(("who", "whom", "whose"), ("LOC", "NUM")),
}
"""Words that ask, and kinds that do not answer them."""
_AT = frozenset(("of", "to", "in", "on", "at", "for", "by"))
_CHANGING = frozenset(
    re.findall(
        r"\w+",
        "almost nearly hardly want wish tri try refus fail plan plann hop intend offer attempt sued sold deputy vic "
        "assistant associat step god grand foster why",
    )
)
"""Stems that make another question of the words beside them: who wants to buy a firm did not, a vice president is no
president, and why somebody married is not whom. They are asked for where a phrase has them."""
_EVENTS = frozenset(("die", "kill", "born"))
"""Stems of what has a place and a time in a store, and nothing that "what" alone asks for: "What did X die of?"."""
_WITH_WHAT = frozenset(("what", "from", "with"))
_CIRCUMSTANCES = frozenset(("when", "where", "how"))
_EITHER = frozenset(("spouse", "sibling", "sister_city"))
"""Relations that say the same of both ends."""
_PARENTS = frozenset(("father", "mother"))
"""Relations of which a child's parent is one: which one, ``child`` does not say."""
_OLD = {"founded": "found", "wrote": "write", "written": "write", "won": "win", "made": "make", "bought": "buy",
        "born": "born", "died": "die", "dies": "die", "built": "build", "sang": "sing", "spoken": "speak",
        "taken": "take", "took": "take", "began": "begin", "held": "hold", "led": "lead", "ran": "run", "got": "get",
        "whom": "who", "woman": "women", "man": "men", "children": "child", "kids": "child",
        "kid": "child", "succeeded": "succeeds", "succeed": "succeeds"}  # fmt: skip


@dataclass(frozen=True)
class Phrase:
    """A way to ask for one end of a relation.

    Args:
        relation: Its name.
        for_tail: Whether the tail is asked for, the head being named; else the other way round.
        words: The question without its entity.
        at: Small words of it that say where or whose something is.
        acts: Whether the entity is the one who acts (:func:`weft.kg.ask.voice.acts`).
    """

    relation: str
    for_tail: bool
    words: tuple[str, ...]
    at: frozenset[str]
    acts: bool | None


@dataclass(frozen=True)
class Answer:
    """What a store says to a question.

    Args:
        entity: What the question is about.
        asked: Relations that it may mean, the likeliest first, and whether it asks for the tail.
        facts: That answer it, the surest first.
    """

    entity: str
    asked: tuple[tuple[str, bool], ...]
    facts: tuple[Fact, ...]

    def name(self, fact: Fact) -> str:
        """The end of a fact that was asked for."""
        return fact.tail if fact.head == self.entity else fact.head


def answer(graph: Graph, question: str, least: float = SURE) -> Answer:
    """Answer a question from a store.

    The entity is what :func:`weft.kg.ask.names.named` finds. What is left is compared with phrases for every relation
    of the store, words weighed by how few phrases have them (facts whose other end is of a kind that the question does
    not ask for are left out):

        s(q, p) = Σ_{w in both} i_w² / sqrt(Σ_{w in q} i_w² · Σ_{w in p} i_w²)        i_w = log(1 + P / P_w)

    Args:
        graph: A store.
        question: In English, with the name of one entity.
        least: Facts of a lower confidence are no answer.

    Raises:
        InputError: The store knows no name in the question, no relation comes near it, it asks what is not so, or
            how many, or whether something is so between two names; the store is of source code.
    """
    if graph.manifest.spelling == "exact":
        raise InputError(
            "holds source code, and questions in words are about texts",
            where=str(graph.folder),
            hint="`weft kg show` and `weft kg query` read it",
        )
    question = _IN_LAW.sub("inlaw", _WHEN.sub("when", question))
    name = named(graph, question, list(WORD.finditer(question)))
    entity, left = name.entity, [*name.before, *name.after]
    if _HOW_MANY.search(" ".join(left)):
        raise InputError(
            f"asks how many or how much of {entity!r}, and a store counts nothing",
            where=str(graph.folder),
            hint="ask who or which they are, and count the answers: there may be more than the texts say",
        )
    if any(_NOT.fullmatch(word) for word in left):
        raise InputError(
            f"asks of {entity!r} what is not so",
            where=str(graph.folder),
            hint="a store holds what texts state; ask without the denial",
        )
    if _asks_whether(left) and any(word[0].isupper() for word in left[1:]):
        raise InputError(
            f"asks whether something is so of {entity!r} and of another name, and not what",
            where=str(graph.folder),
            hint="ask who, what, when or where",
        )
    relations = set(graph.relations["relation"].to_pylist())
    ways = ask_ways(left, relations, acts(name.before, name.after, name.owns))
    if not ways:
        raise InputError(
            f"asks {' '.join(left)!r} of {entity!r}, which is no relation of the store"
            if left
            else f"names {entity!r}, and asks nothing of it",
            where=str(graph.folder),
            hint="`weft kg show` prints all that is known of an entity",
        )
    facts = [
        fact
        for fact in graph.facts(entity)
        if fact.confidence >= least
        and _may_answer(graph, question, fact.tail if fact.head == entity else fact.head)
        and any(
            fact.relation == relation and (fact.head if for_tail else fact.tail) == entity
            for relation, for_tail in ways
        )
    ]
    facts = _right_parents(graph, entity, ways, facts)
    # Facts that name one answer, such as an author's work and the work's author, are one.
    best: dict[str, Fact] = {}
    for fact in facts:
        best.setdefault(fact.tail if fact.head == entity else fact.head, fact)
    return Answer(entity, tuple(ways), tuple(best.values()))


def ask_ways(
    words: Sequence[str], relations: Iterable[str], acting: bool | None = None
) -> list[tuple[str, bool]]:
    """The relations that words ask for, and whether for the tail, the likeliest first; those of a store alone.

    Args:
        words: The question without its entity.
        relations: Those of the store.
        acting: Whether the entity is the one who acts: "What did X buy?" is no "Who bought X?". None where that is
            not known. Of times, places and ways it is not asked: "When did X open?" is "When was X opened?".
    """
    phrases, weight = _phrases()
    unknown = max(weight.values())
    asked = _stems(words)
    wanted = set(relations)
    at = _at(words) if ASKING.issuperset(asked) else None
    changing = _CHANGING.intersection(asked)
    if "what" in asked and set(asked) <= _EVENTS | _WITH_WHAT and not _EVENTS.isdisjoint(asked):
        return []
    if "how" in asked and "old" not in asked:
        return []
    if not _CIRCUMSTANCES.isdisjoint(asked):
        acting = None
    scored = [
        (_likeness(asked, phrase.words, weight, unknown), phrase)
        for phrase in phrases
        if phrase.relation in wanted
        and at in (None, phrase.at)
        and changing.issubset(phrase.words)
        and (phrase.relation in _EITHER or acting is None or phrase.acts in (None, acting))
    ]
    best = max((score for score, _ in scored), default=0.0)
    if best < LEAST:
        return []
    near = sorted((item for item in scored if item[0] >= _NEARLY * best), key=lambda item: -item[0])
    ways = dict.fromkeys((phrase.relation, phrase.for_tail) for _, phrase in near)
    ways |= dict.fromkeys((name, not for_tail) for name, for_tail in ways if name in _EITHER)
    return list(ways)


def _asks_whether(words: Sequence[str]) -> bool:
    """Whether a question asks if something is so, and not what."""
    return (
        bool(words) and words[0].casefold() in _WHETHER and ASKING.isdisjoint(_stem(word) for word in words)
    )


def _may_answer(graph: Graph, question: str, name: str) -> bool:
    """Whether what is named is of a kind that is asked for: a time for "when", none for "where" and "who"."""
    asked = next((word for word in question.casefold().split() if word in _KINDS), "")
    kind = graph.kind(name)
    if not kind or not asked:
        return True
    timely = kind == _TIME or graph.value(name) is not None
    return timely if asked == "when" else not timely and kind not in _KINDS[asked]


def _right_parents(
    graph: Graph, entity: str, ways: Sequence[tuple[str, bool]], facts: list[Fact]
) -> list[Fact]:
    """What is left where a mother or a father is asked for: a parent of whom the store says which one, if any."""
    asked = {relation for relation, for_tail in ways if for_tail and relation in _PARENTS}
    if len(asked) != 1:
        return facts
    sure: dict[str, float] = {}
    for fact in graph.facts(entity):
        if fact.head == entity and fact.relation in _PARENTS:
            sign = 1.0 if fact.relation in asked else -1.0
            sure[fact.tail] = sure.get(fact.tail, 0.0) + sign * fact.confidence
    parents = {fact.head for fact in facts if fact.relation == "child" and fact.tail == entity}
    right = {name for name in parents if sure.get(name, 0.0) > 0}
    wrong = parents - right if right else {name for name in parents if sure.get(name, 0.0) < 0}
    return [fact for fact in facts if fact.head not in wrong]


def _stem(word: str) -> str:
    word = re.sub(r"['’]s$", "", word.casefold())
    word = _OLD.get(word, word)
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) > 2:
            return word.removesuffix(ending)
    return word


def _stems(words: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_stem(word) for word in words if word.casefold() not in EMPTY))


def _at(words: Iterable[str]) -> frozenset[str]:
    return _AT.intersection(word.casefold() for word in words)


def _likeness(asked: Sequence[str], phrase: Sequence[str], weight: dict[str, float], unknown: float) -> float:
    both = sum(weight[word] ** 2 for word in set(asked) & set(phrase))
    sizes = [sum(weight.get(word, unknown) ** 2 for word in words) for words in (asked, phrase)]
    return both / math.sqrt(sizes[0] * sizes[1]) if all(sizes) else 0.0


@cache
def _phrases() -> tuple[tuple[Phrase, ...], dict[str, float]]:
    """All phrases, and the weight of every stem."""
    found: list[Phrase] = []
    for line in files("weft.kg.ask").joinpath("phrases.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            relation, *sides = (part.strip() for part in line.split("|"))
            for for_tail, side in zip((True, False), sides, strict=True):
                for phrase in side.split(";"):
                    words = [word[0] for word in WORD.finditer(phrase)]
                    name = words.index("X")
                    before, after = words[:name], words[name + 1 :]
                    words = [*before, *after]
                    found.append(Phrase(relation, for_tail, _stems(words), _at(words), acts(before, after)))
    counts = Counter(word for phrase in found for word in phrase.words)
    return tuple(found), {word: math.log(1 + len(found) / count) for word, count in counts.items()}

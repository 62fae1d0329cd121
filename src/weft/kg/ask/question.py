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
from weft.kg.mentions.join import TITLES
from weft.kg.storage.graph import Fact, Graph

LEAST = 0.5
"""Least likeness of a question to a phrase."""
SURE = 0.3
"""Least confidence of an answer: about where precision and recall of raw text to facts balance."""
_NEARLY = 0.9
"""Phrases so near to the best one are meant as well: who wrote a film may be asked of books and of scripts."""
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_ENDED = re.compile(r"[.!]+")
"""What a name may end with: "Apple Inc.", "Yahoo!"."""
_EMPTY = frozenset(
    re.findall(
        r"\w+",
        "the a an is was are were did do does of to in on at for by its his her there please tell me has have been",
    )
)
_NOT = re.compile(r"not|never|nobody|none|\w+n['’]t", re.IGNORECASE)
_WHETHER = frozenset(("is", "are", "was", "were", "do", "does", "did", "has", "have", "had"))
"""What a question begins with that asks whether something is so."""
_ENDINGS = ("ing", "ed", "es", "s", "e")
_LONGEST = 12
_PERSON, _TIME = "PER", "TIME"
_KINDS = {
    "when": (),
    "where": (_PERSON, "NUM"),
    **dict.fromkeys(("who", "whom", "whose"), ("LOC", "NUM")),
}
"""Words that ask, and kinds that do not answer them."""
_ASKING = frozenset(("who", "what", "when", "where", "which", "how", "whose"))
"""Words that ask, as stems: alone they ask for nothing, and the small words beside them count."""
_AT = frozenset(("of", "to", "in", "on", "at", "for", "by"))
_PARENTS = frozenset(("father", "mother"))
"""Relations of which a child's parent is one: which one, ``child`` does not say."""
_FORMS = frozenset(
    re.findall(
        r"\w+",
        "ab ag co company corp corporation gmbh group holding holdings inc incorporated limited llc ltd nv oyj plc sa "
        "se technologies technology",
    )
)
"""Words that a firm's name may end with and that people leave out."""
_OLD = {"founded": "found", "wrote": "write", "written": "write", "won": "win", "made": "make", "bought": "buy",
        "born": "born", "died": "die", "dies": "die", "built": "build", "sang": "sing", "spoken": "speak",
        "taken": "take", "took": "take", "began": "begin", "held": "hold", "led": "lead", "ran": "run", "got": "get",
        "whom": "who", "woman": "women", "man": "men", "children": "child", "kids": "child",
        "kid": "child"}  # fmt: skip


@dataclass(frozen=True)
class Phrase:
    """A way to ask for one end of a relation.

    Args:
        relation: Its name.
        for_tail: Whether the tail is asked for, the head being named; else the other way round.
        words: The question without its entity.
        at: Small words of it that say where or whose something is.
    """

    relation: str
    for_tail: bool
    words: tuple[str, ...]
    at: frozenset[str]


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

    The entity is the longest run of words that the store knows as a name. What is left is compared with phrases for
    every relation of the store, words weighed by how few phrases have them (facts whose other end is of a kind that the
    question does not ask for are left out):

        s(q, p) = Σ_{w in both} i_w² / sqrt(Σ_{w in q} i_w² · Σ_{w in p} i_w²)        i_w = log(P / P_w)

    Args:
        graph: A store.
        question: In English, with the name of one entity.
        least: Facts of a lower confidence are no answer.

    Raises:
        InputError: The store knows no name in the question, no relation comes near it, it asks what is not so, or
            whether something is so between two names; the store is of source code.
    """
    if graph.manifest.spelling == "exact":
        raise InputError(
            "holds source code, and questions in words are about texts",
            where=str(graph.folder),
            hint="`weft kg show` and `weft kg query` read it",
        )
    words = list(_WORD.finditer(question))
    entity, left = _entity(graph, question, words)
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
    ways = ask_ways(left, set(graph.relations["relation"].to_pylist()))
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


def ask_ways(words: Sequence[str], relations: Iterable[str]) -> list[tuple[str, bool]]:
    """The relations that words ask for, and whether for the tail, the likeliest first; those of a store alone."""
    phrases, weight = _phrases()
    asked = _stems(words)
    wanted = set(relations)
    at = _at(words) if _ASKING.issuperset(asked) else None
    scored = [
        (_likeness(asked, phrase.words, weight), phrase)
        for phrase in phrases
        if phrase.relation in wanted and at in (None, phrase.at)
    ]
    best = max((score for score, _ in scored), default=0.0)
    if best < LEAST:
        return []
    near = sorted((item for item in scored if item[0] >= _NEARLY * best), key=lambda item: -item[0])
    return list(dict.fromkeys((phrase.relation, phrase.for_tail) for _, phrase in near))


def _entity(graph: Graph, question: str, words: Sequence[re.Match[str]]) -> tuple[str, list[str]]:
    """The longest known name, the first of equally long ones, and the words that are left."""
    for length in range(min(len(words), _LONGEST), 0, -1):
        # Of equally long ones that which is written as a name: "president" may be one, too.
        written = [
            _as_name(words[max(1, first) : first + length]) for first in range(len(words) - length + 1)
        ]
        for first in sorted(range(len(written)), key=lambda first: not written[first]):
            part = words[first : first + length]
            surface = question[part[0].start() : part[-1].end()]
            if length == 1 and surface.casefold() in _common_words():
                continue
            ended = _ENDED.match(question, part[-1].end())
            whole = surface + ended[0] if ended else surface
            for name in dict.fromkeys((whole, surface, re.sub(r"['’]s$", "", surface))):
                found = graph.find(name)
                if found is not None:
                    return found, [word[0] for word in (*words[:first], *words[first + length :])]
    for length in range(min(len(words), _LONGEST), 1, -1):
        for first in range(len(words) - length + 1):
            part = [word[0] for word in words[first : first + length]]
            found = _person(graph, part)
            if found is not None:
                return found, [word[0] for word in (*words[:first], *words[first + length :])]
    for length in reversed(range(1, 1 + min(len(words), _LONGEST))):
        for first in range(len(words) - length + 1):
            beside = (*words[max(1, first - 1) : first], *words[first + length : first + length + 1])
            if any(word[0][0].isupper() for word in beside):
                continue  # a part of a longer name, which the store does not know
            part = [word[0] for word in words[first : first + length]]
            found = _articled(graph, part) or _firm(graph, part)
            if found is not None:
                return found, [word[0] for word in (*words[:first], *words[first + length :])]
    names = [word[0] for word in words[1:] if word[0][0].isupper() or word[0][0].isdigit()]
    near = graph.near(" ".join(names)) if names else []
    raise InputError(
        f"no name that the store knows in {question!r}",
        where=str(graph.folder),
        hint=f"near: {', '.join(near)}" if near else "name an entity as the texts do",
    )


def _asks_whether(words: Sequence[str]) -> bool:
    """Whether a question asks if something is so, and not what."""
    return (
        bool(words) and words[0].casefold() in _WHETHER and _ASKING.isdisjoint(_stem(word) for word in words)
    )


def _as_name(words: Sequence[re.Match[str]]) -> bool:
    return any(word[0][0].isupper() or word[0][0].isdigit() for word in words)


def _person(graph: Graph, words: Sequence[str]) -> str | None:
    """The only person of the store whose name begins and ends as these words do: with more between, or after titles."""
    if not all(word[0].isupper() for word in words):
        return None
    first, last = words[0].casefold(), re.sub(r"['’]s$", "", words[-1]).casefold()
    found: set[str] = set()
    for name in graph.entities:
        said = name.casefold().split()
        bare = said
        while len(bare) > len(words) and (bare[0] == "the" or bare[0].rstrip(".") in TITLES):
            bare = bare[1:]
        if (
            len(said) > len(words)
            and (first, last) in ((said[0], said[-1]), (bare[0], bare[-1]))
            and graph.kind(name) in ("", _PERSON)
        ):
            found.add(name)
    return found.pop() if len(found) == 1 else None


def _articled(graph: Graph, words: Sequence[str]) -> str | None:
    """The name of the store that is these words with an article."""
    if not words[0][0].isupper() or words[0].casefold() in _common_words():
        return None
    return graph.with_other_article(re.sub(r"['’]s$", "", " ".join(words)))


def _firm(graph: Graph, words: Sequence[str]) -> str | None:
    """The only name of the store that is these words and what firms' names end with."""
    if not words[0][0].isupper() or words[0].casefold() in _common_words():
        return None
    said = [re.sub(r"['’]s$", "", word).casefold() for word in words]
    found: set[str] = set()
    for name in graph.entities:
        parts = [word[0].casefold() for word in _WORD.finditer(name)]
        if len(parts) >= len(said) and parts[: len(said)] == said and _FORMS.issuperset(parts[len(said) :]):
            found.add(name)
    return found.pop() if len(found) == 1 else None


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
    return tuple(dict.fromkeys(_stem(word) for word in words if word.casefold() not in _EMPTY))


def _at(words: Iterable[str]) -> frozenset[str]:
    return _AT.intersection(word.casefold() for word in words)


def _likeness(asked: Sequence[str], phrase: Sequence[str], weight: dict[str, float]) -> float:
    unknown = max(weight.values())
    both = sum(weight[word] ** 2 for word in set(asked) & set(phrase))
    sizes = [sum(weight.get(word, unknown) ** 2 for word in words) for words in (asked, phrase)]
    return both / math.sqrt(sizes[0] * sizes[1]) if all(sizes) else 0.0


@cache
def _common_words() -> frozenset[str]:
    return _EMPTY | _ASKING | {"whom"}


@cache
def _phrases() -> tuple[tuple[Phrase, ...], dict[str, float]]:
    """All phrases, and the weight of every stem."""
    found: list[Phrase] = []
    for line in files("weft.kg.ask").joinpath("phrases.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            relation, *sides = (part.strip() for part in line.split("|"))
            for for_tail, side in zip((True, False), sides, strict=True):
                for phrase in side.split(";"):
                    words = [word[0] for word in _WORD.finditer(phrase) if word[0] != "X"]
                    found.append(Phrase(relation, for_tail, _stems(words), _at(words)))
    counts = Counter(word for phrase in found for word in phrase.words)
    return tuple(found), {word: math.log(1 + len(found) / count) for word, count in counts.items()}

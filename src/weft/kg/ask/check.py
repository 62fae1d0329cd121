"""Questions with their answers, asked of a store: how many it answers, how many wrongly."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from weft.errors import InputError
from weft.kg.ask.question import SURE, answer
from weft.kg.read.labelled_texts import fold
from weft.kg.storage.graph import Graph
from weft.platform.reading import read_yaml


@dataclass(frozen=True)
class Question:
    """A question and what a reader answers.

    Args:
        text: In English.
        about: Folded names of the entity that it asks about.
        relations: Those of its answer, read either way.
        answers: Folded names, any of which is right; none where the texts do not say it.
    """

    text: str
    about: frozenset[str]
    relations: frozenset[str]
    answers: frozenset[str]


@dataclass(frozen=True)
class Asked:
    """What became of a question.

    Args:
        question: As read.
        known: Whether the store holds a fact that answers it.
        said: The surest answer; None where it says that it has none.
    """

    question: Question
    known: bool
    said: str | None

    @property
    def right(self) -> bool:
        """Whether that answer is one of the reader's."""
        return self.said is not None and fold(self.said) in self.question.answers


@dataclass(frozen=True)
class Marks:
    """All questions together.

    Args:
        asked: How many.
        known: Of how many the store holds an answer.
        found: Share of these that are answered rightly; None where there are none.
        wrong: Share of all that are answered wrongly.
        silent: Share of all without an answer.
    """

    asked: int
    known: int
    found: float | None
    wrong: float
    silent: float


def read_questions(path: Path) -> list[Question]:
    """Questions of a YAML file: a list of objects of ``ask``, ``about``, ``relations`` and ``answers``.

    Raises:
        InputError: It is none.
    """
    records = read_yaml(path)
    if not isinstance(records, list) or not records:
        raise InputError("questions are a list of objects", where=str(path))
    return [_question(record, f"{path}: question {number}") for number, record in enumerate(records, 1)]


def _question(record: Any, where: str) -> Question:
    lists = ("about", "relations", "answers")
    if not isinstance(record, dict) or record.keys() != {"ask", *lists}:
        raise InputError("a question has ask, about, relations and answers", where=where)
    if not all(isinstance(record[name], list) for name in lists):
        raise InputError("about, relations and answers are lists", where=where)
    about, relations, answers = ([str(item) for item in record[name]] for name in lists)
    return Question(
        str(record["ask"]), frozenset(map(fold, about)), frozenset(relations), frozenset(map(fold, answers))
    )


def ask_all(graph: Graph, questions: Sequence[Question], least: float = SURE) -> list[Asked]:
    """Ask every question.

    Args:
        graph: A store.
        questions: With their answers.
        least: Facts of a lower confidence are no answer.

    Raises:
        InputError: A question names a relation that the store does not have.
    """
    relations = graph.relations["relation"].to_pylist()
    for question in questions:
        for name in sorted(question.relations.difference(relations)):
            near = difflib.get_close_matches(name, relations, 1)
            raise InputError(
                f"the store has no relation {name!r}",
                where=f"question {question.text!r}",
                hint=f"did you mean {near[0]}?" if near else "a question names relations as the store does",
            )
    merged = [_merged(question, graph) for question in questions]
    facts = [graph.fact(row) for row in range(len(graph))]
    known = {(fold(fact.head), fact.relation, fold(fact.tail)) for fact in facts if fact.confidence >= least}
    return [Asked(question, _is_known(question, known), _said(graph, question, least)) for question in merged]


def marks(asked: Sequence[Asked]) -> Marks:
    """Count them.

    Raises:
        InputError: There are none.
    """
    if not asked:
        raise InputError("no questions")
    known = [item for item in asked if item.known]
    wrong = sum(item.said is not None and not item.right for item in asked)
    return Marks(
        asked=len(asked),
        known=len(known),
        found=sum(item.right for item in known) / len(known) if known else None,
        wrong=wrong / len(asked),
        silent=sum(item.said is None for item in asked) / len(asked),
    )


def _merged(question: Question, graph: Graph) -> Question:
    """A question with the names of the entities that its own names were merged into."""

    def entities(names: frozenset[str]) -> frozenset[str]:
        return names | {fold(entity) for name in names if (entity := graph.find(name)) is not None}

    return replace(question, about=entities(question.about), answers=entities(question.answers))


def _is_known(question: Question, known: set[tuple[str, str, str]]) -> bool:
    return any(
        (one, relation, other) in known or (other, relation, one) in known
        for one in question.about
        for relation in question.relations
        for other in question.answers
    )


def _said(graph: Graph, question: Question, least: float) -> str | None:
    try:
        found = answer(graph, question.text, least)
    except InputError:
        return None
    return found.name(found.facts[0]) if found.facts else None

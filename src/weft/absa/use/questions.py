"""What is asked from Python: an aspect, a target with its aspect, a context; alone, or with its text as a row."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from weft.absa.records import Context, Sentence
from weft.errors import InputError

Question: TypeAlias = Context | str | tuple[str, str]
"""A context; or an aspect alone; or (target, aspect)."""


def as_context(question: Question) -> Context:
    """A question as a :class:`Context`.

    Raises:
        InputError: It is none of the three forms.
    """
    if isinstance(question, Context):
        return question
    if isinstance(question, str):
        return Context(question)
    if isinstance(question, tuple) and len(question) == 2:
        target, aspect = question
        return Context(aspect, target)
    raise InputError(f"{question!r} is no question", hint="give an aspect, (target, aspect) or a Context")


def sentence_of_row(row: object, where: str) -> Sentence:
    """A row of a text and a question: a tuple, or what else gives two things.

    Raises:
        InputError: It is no such row; the text is empty, or no text.
    """
    pair = tuple(row) if isinstance(row, Iterable) and not isinstance(row, str | bytes) else ()
    if len(pair) != 2:
        hint = "give (text, question); predict() asks several texts the same"
        raise InputError(f"{row!r} is no row", where=where, hint=hint)
    text, question = pair
    return Sentence(text, (as_context(question),), (), where)

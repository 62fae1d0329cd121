"""A model's answers to what nothing states, without those that the code rules out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from weft.kg.languages.language import Language, ParsedFile
from weft.kg.languages.unit import Open


class Inferred(NamedTuple):
    """What a model answers to an open question.

    Args:
        asked: The question.
        candidates: Names of types with how often such an answer is right, the likeliest first.
        span: Characters of the chunk that was read.
        combined: Name of the endpoint's model that put the first one together; empty where the model spelled it.
    """

    asked: Open
    candidates: tuple[tuple[str, float], ...]
    span: tuple[int, int]
    combined: str = ""


def possible(answers: Sequence[Inferred], file: ParsedFile, language: Language) -> list[Inferred]:
    """The answers with the candidates that the code of a file does not rule out; none where no candidate is left.

    Args:
        answers: To questions of the file.
        file: Parsed.
        language: Of the file.
    """
    ruled_out = language.impossible(file)
    found = []
    for answer in answers:
        left = tuple(pair for pair in answer.candidates if not ruled_out(answer.asked, pair[0]))
        if left:
            combined = answer.combined if left[0] == answer.candidates[0] else ""
            found.append(answer._replace(candidates=left, combined=combined))
    return found

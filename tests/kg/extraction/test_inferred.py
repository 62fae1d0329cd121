"""What a model answers and the code rules out is stated by nobody."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from weft.kg.extraction.code import CodeReader
from weft.kg.extraction.corpus import Source
from weft.kg.extraction.facts import Extractor
from weft.kg.extraction.inferred import Inferred, possible
from weft.kg.languages.python import LANGUAGE
from weft.kg.languages.python.tree import PythonTree
from weft.kg.languages.unit import Open
from weft.kg.model.leafy_chain import LeafyChainModel

SOURCE = """\
def average(values):
    if not values:
        raise ZeroDivisionError
    return sum(values) / len(values)

class Point:
    @cached
    def half(self): return self.x / 2
    def whole(self): return self.x // 2
    def __eq__(self, other): return self.x == other.x
    def below(self, other): return self.x < other.x
"""
STATED = [
    ("average", "float", 0.6),
    ("half", "float", 0.6),
    ("whole", "int", 0.9),
    ("other", "int", 0.9),
]
"""The last one is what ``below`` is given, and not what ``__eq__`` is."""


def questions() -> list[Open]:
    tree = PythonTree(["m.py"])
    file = LANGUAGE.parse(SOURCE, "m.py")
    tree.add("m.py", file)
    return tree.open_questions("m.py", file)


class Guess(Extractor):
    """Answers ``int`` first and ``float`` second, whatever is asked."""

    def __init__(self) -> None:
        super().__init__(cast(LeafyChainModel, None), None, None, LANGUAGE)  # type: ignore[arg-type]

    def asked(self, text: str, where: str) -> list:
        return []

    def inferred(self, text: str, where: str, asked: Sequence[Open], **_: int) -> list[Inferred]:
        about = [item for item in asked if item.name in ("average", "half", "whole", "other")]
        return [Inferred(item, (("int", 0.9), ("float", 0.6)), (0, 9), "llm") for item in about]


def test_the_next_answer_takes_the_place_of_one_that_is_ruled_out() -> None:
    answers = Guess().inferred(SOURCE, "m.py", questions())
    found = possible(answers, LANGUAGE.parse(SOURCE, "m.py"), LANGUAGE)
    assert [(item.asked.name, *item.candidates[0]) for item in found] == STATED
    # Only what the endpoint put together is the endpoint's.
    assert [item.combined for item in found] == ["", "", "llm", "llm"]


def test_a_store_gets_no_whole_number_of_a_division() -> None:
    source = Source("m.py", "hash", SOURCE.encode(), "", tuple(questions()))
    found = CodeReader(Guess(), 4, "version").read(source).evidence
    assert [(item.head.rpartition(".")[2], item.tail, item.confidence) for item in found] == STATED


def test_the_facts_of_a_file_have_no_whole_number_of_a_division() -> None:
    found = Guess().facts_of(SOURCE, "m.py", questions())
    assert [(fact.head, fact.tail, fact.confidence) for fact in found] == STATED

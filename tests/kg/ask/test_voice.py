"""Who does what to whom: the end of a relation that a question's wording asks for, and never the other one."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import pytest

from weft.cli.main import main
from weft.errors import InputError
from weft.kg.ask.names import WORD
from weft.kg.ask.question import answer, ask_ways
from weft.kg.ask.voice import acts
from weft.kg.read.redocred import redocred_schema
from weft.kg.storage.graph import Graph

SYMMETRIC = {"spouse", "sibling", "sister_city"}
FACTS = (
    # Gull bought Tern and was bought by Kite; so with all others: who stands between two is asked for both.
    ("Tern", "owned_by", "Gull", 0.9),
    ("Gull", "owned_by", "Kite", 0.8),
    ("Tern", "founded_by", "Gull", 0.9),
    ("Gull", "founded_by", "Kite", 0.8),
    ("Tern", "employer", "Gull", 0.9),
    ("Gull", "employer", "Kite", 0.8),
    ("Tern", "chairperson", "Gull", 0.9),
    ("Gull", "chairperson", "Kite", 0.8),
    ("Tern", "replaced_by", "Gull", 0.9),
    ("Gull", "replaced_by", "Kite", 0.8),
    ("Tern", "author", "Gull", 0.9),
    ("Gull", "author", "Kite", 0.8),
    ("Tern", "influenced_by", "Gull", 0.9),
    ("Gull", "influenced_by", "Kite", 0.8),
    ("Tern", "part_of", "Gull", 0.9),
    ("Gull", "part_of", "Kite", 0.8),
    ("Tern", "member_of", "Gull", 0.9),
    ("Gull", "member_of", "Kite", 0.8),
    ("Tern", "child", "Gull", 0.9),
    ("Gull", "child", "Kite", 0.8),
    ("Nord", "owned_by", "Sild", 0.2996),
)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Who bought Gull?", "Kite"),
        ("Who acquired Gull?", "Kite"),
        ("Who has acquired Gull?", "Kite"),
        ("Who took over Gull in 2019?", "Kite"),
        ("Who is the person who owns Gull?", "Kite"),
        ("Which company is Gull owned by?", "Kite"),
        ("Who was Gull bought by?", "Kite"),
        ("By whom was Gull acquired?", "Kite"),
        ("Gull was acquired by whom?", "Kite"),
        ("Who is the owner of Gull?", "Kite"),
        ("Who is Gull's owner?", "Kite"),
        ("Who's the owner of Gull?", "Kite"),
        ("What did Gull acquire?", "Tern"),
        ("Who did Gull buy?", "Tern"),
        ("What has Gull acquired?", "Tern"),
        ("What does the company Gull own?", "Tern"),
        ("What was bought by Gull?", "Tern"),
        ("Which firm is owned by Gull?", "Tern"),
        ("Name the company acquired by Gull.", "Tern"),
        ("Who founded Gull?", "Kite"),
        ("Who was Gull founded by?", "Kite"),
        ("What did Gull found?", "Tern"),
        ("What was founded by Gull?", "Tern"),
        ("Who employs Gull?", "Kite"),
        ("Who is Gull employed by?", "Kite"),
        ("Who does Gull employ?", "Tern"),
        ("Who is employed by Gull?", "Tern"),
        ("Who works for Gull?", "Tern"),
        ("Who does Gull work for?", "Kite"),
        ("Who leads Gull?", "Kite"),
        ("What does Gull lead?", "Tern"),
        ("Who succeeded Gull?", "Kite"),
        ("Who was Gull succeeded by?", "Kite"),
        ("Who did Gull succeed?", "Tern"),
        ("Who was succeeded by Gull?", "Tern"),
        ("Who replaced Gull?", "Kite"),
        ("Who did Gull replace?", "Tern"),
        ("Who took over from Gull?", "Kite"),
        ("Who wrote Gull?", "Kite"),
        ("Who was Gull written by?", "Kite"),
        ("What did Gull write?", "Tern"),
        ("What was written by Gull?", "Tern"),
        ("Who influenced Gull?", "Kite"),
        ("Who did Gull influence?", "Tern"),
        ("Who was influenced by Gull?", "Tern"),
        ("What is Gull part of?", "Kite"),
        ("What are the parts of Gull?", "Tern"),
        ("What is Gull a member of?", "Kite"),
        ("Who are the members of Gull?", "Tern"),
        ("Who is a child of Gull?", "Kite"),
        ("Who are the parents of Gull?", "Tern"),
        ("Who is Gull the son of?", "Tern"),
        ("Who is Gull the father of?", "Kite"),
        ("Whose daughter is Gull?", "Tern"),
    ],
)
def test_the_wording_tells_the_end(store: Path, question: str, expected: str) -> None:
    found = answer(Graph.load(store), question)
    assert [found.name(fact) for fact in found.facts] == [expected]


@pytest.mark.parametrize("question", ["What did Kite acquire?", "Who bought Tern?", "Who succeeded Tern?"])
def test_the_ends_are_asked_too(store: Path, question: str) -> None:
    found = answer(Graph.load(store), question)
    assert [found.name(fact) for fact in found.facts] == ["Gull"]


@pytest.mark.parametrize("question", ["Who bought Kite?", "What did Tern acquire?", "Who succeeded Kite?"])
def test_the_other_end_is_no_answer(store: Path, question: str) -> None:
    assert answer(Graph.load(store), question).facts == ()


@pytest.mark.parametrize(
    ("before", "after", "owns", "expected"),
    [
        ("what did", "buy", False, True),
        ("who bought", "", False, False),
        ("who bought", "recently", False, False),
        ("who was", "bought by", False, False),
        ("what was bought by", "", False, True),
        ("books by", "", False, False),
        ("who is", "founder", True, False),
        ("which units does", "have", False, False),
        ("companies", "owns", False, True),
        ("tell me who", "succeeded", False, True),
        ("companies based in", "", False, True),
        ("who lived in", "", False, False),
        ("who is to succeed", "", False, False),
        ("", "founder", False, None),
    ],
)
def test_who_acts(before: str, after: str, owns: bool, expected: bool | None) -> None:
    assert acts(before.split(), after.split(), owns) is expected


def test_every_phrase_asks_for_its_own_end_alone() -> None:
    """But of "the country of X" and the like, where the wording does not tell a thing from a time or a place."""
    names = redocred_schema().names[1:]
    weak = {"country", "end_time"}
    for line in files("weft.kg.ask").joinpath("phrases.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            continue
        relation, *sides = (part.strip() for part in line.split("|"))
        for for_tail, side in zip((True, False), sides, strict=True):
            for phrase in side.split(";"):
                words = [word[0] for word in WORD.finditer(phrase)]
                place = words.index("X")
                before, after = words[:place], words[place + 1 :]
                ways = ask_ways([*before, *after], names, acts(before, after))
                assert (relation, for_tail) in ways, phrase
                if relation not in SYMMETRIC | weak:
                    assert (relation, not for_tail) not in ways, phrase


@pytest.mark.parametrize(
    ("wording", "relation"),
    [
        ("Who is CEO of X", "chairperson"),
        ("Who is the chief executive of X", "chairperson"),
        ("Who is the managing director of X", "chairperson"),
        ("Who leads X", "chairperson"),
        ("Who is in charge of X", "chairperson"),
        ("Who manages X", "chairperson"),
        ("Who succeeded X", "replaced_by"),
        ("Who took over from X", "replaced_by"),
        ("Who preceded X", "follows"),
        ("Who owns X", "owned_by"),
        ("Which firm purchased X", "owned_by"),
        ("Who invented X", "creator"),
        ("Where is X employed", "employer"),
        ("Where did X pass away", "place_of_death"),
        ("Which city is X based in", "headquarters"),
        ("What is X famous for", "notable_work"),
    ],
)
def test_usual_wordings_are_understood(wording: str, relation: str) -> None:
    words = wording.split()
    place = words.index("X")
    before, after = words[:place], words[place + 1 :]
    ways = ask_ways([*before, *after], redocred_schema().names[1:], acts(before, after))
    assert (relation, True) in ways
    if "managing" in wording:
        assert ("director", True) not in ways


@pytest.mark.parametrize(
    "question",
    [
        "Who wants to buy Gull?",
        "Who tried to acquire Gull?",
        "Who almost bought Gull?",
        "Who sold Gull?",
        "Who is the vice president of Gull?",
        "Who is the deputy director of Gull?",
        "Who is the mother-in-law of Gull?",
        "Who praises Gull?",
        "What does Gull cost?",
    ],
)
def test_what_is_another_question_is_not_understood(store: Path, question: str) -> None:
    with pytest.raises(InputError, match="no relation of the store"):
        answer(Graph.load(store), question)


def test_what_is_not_sure_enough_is_told_below_the_least(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["kg", "ask", str(store), "Who owns Nord?"]) == 3
    assert "0.29 sure: --at-least" in capsys.readouterr().err

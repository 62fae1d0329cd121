"""A phone, a hotel and two people: what texts feel about aspects of a target, and which words say so."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from weft.absa.explain.attribution import Explanation, explain
from weft.absa.records import Context
from weft.absa.use.decide import decide
from weft.absa.use.store import load

ASKED = (
    (
        "Lovely screen, but the battery is empty by noon",
        (Context("screen"), Context("battery"), Context("price")),
    ),
    ("The staff were friendly, but the room was dirty", (Context("staff"), Context("cleanliness"))),
    (
        "Anna is friendly and patient, while Boris is rude to everyone",
        (Context("friendliness", "Anna"), Context("friendliness", "Boris")),
    ),
)


def show(console: Console) -> None:
    """Ask, answer, and colour the words that made the answers."""
    asker = load()
    console.print("[bold]Targeted aspect sentiment.[/] A phone, a hotel and two people.\n")
    for text, questions in ASKED:
        rows = asker.predict([text], questions)[0]
        console.print(Text(text, style="italic"))
        table = Table(show_edge=False, header_style="bold")
        for heading in ("target", "aspect", "answer"):
            table.add_column(heading)
        for name in asker.classes_:
            table.add_column(name, justify="right")
        answers = decide(rows, asker.config.threshold)
        for question, row, answer in zip(questions, rows, answers, strict=True):
            shares = [f"{share:.2f}" for share in row]
            table.add_row(question.target or "–", question.aspect, asker.classes_[answer], *shares)
        console.print(table)
        console.print()
    text, question = ASKED[0][0], ASKED[0][1][1]
    found = explain(asker, text, question)
    colours = console.color_system is not None and not console.no_color
    for_it, against = ("green", "red") if colours else ("+", "-")
    console.print(f"why the {question.aspect} is {found.polarity}: {for_it} speaks for it, {against} against")
    console.print(coloured(found) if colours else signed(found), highlight=False)


def signed(explanation: Explanation) -> str:
    """The text with the sign of its attribution before each word that :func:`coloured` colours."""
    strongest = max((abs(word.score) for word in explanation.words), default=0.0) or 1.0
    shown = explanation.text
    for word in reversed(explanation.words):
        if abs(word.score) > 0.2 * strongest:
            shown = shown[: word.start] + ("+" if word.score > 0 else "-") + shown[word.start :]
    return shown


def coloured(explanation: Explanation) -> Text:
    """The text with every word as strong in colour as its attribution."""
    strongest = max((abs(word.score) for word in explanation.words), default=0.0) or 1.0
    shown = Text(explanation.text)
    for word in explanation.words:
        if abs(word.score) > 0.2 * strongest:
            weight = "bold " if abs(word.score) > 0.6 * strongest else ""
            shown.stylize(weight + ("green" if word.score > 0 else "red"), word.start, word.end)
    return shown

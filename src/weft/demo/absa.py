"""Three questions about two texts: what they feel about aspects of a target, and which words say so."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from weft.absa.explain.attribution import Explanation, explain
from weft.absa.records import Context
from weft.absa.use.store import load

TEXTS = (
    "LOCATION1 is lovely but far too expensive, LOCATION2 is cheap and well connected",
    "I would not walk around LOCATION1 at night, though LOCATION2 feels perfectly safe",
)
QUESTIONS = (
    Context("price", "LOCATION1"),
    Context("transit-location", "LOCATION2"),
    Context("safety", "LOCATION1"),
)


def show(console: Console) -> None:
    """Ask, answer, and colour the words that made the answers."""
    asker = load()
    answers = asker.predict(TEXTS, QUESTIONS)
    console.print("[bold]Targeted aspect sentiment.[/] Three questions, each asked of two texts.\n")
    for text, rows in zip(TEXTS, answers, strict=True):
        console.print(Text(text, style="italic"))
        table = Table(show_edge=False, header_style="bold")
        for heading in ("target", "aspect", "answer"):
            table.add_column(heading)
        for name in asker.classes_:
            table.add_column(name, justify="right")
        for question, row in zip(QUESTIONS, rows, strict=True):
            shares = [f"{share:.2f}" for share in row]
            table.add_row(question.target, question.aspect, asker.classes_[row.argmax()], *shares)
        console.print(table)
        console.print()
    text, question = TEXTS[0], QUESTIONS[0]
    found = explain(asker, text, question, method="gradient")
    console.print(
        f"why {question.target} / {question.aspect} is {found.polarity}: green speaks for it, red against"
    )
    console.print(coloured(found))


def coloured(explanation: Explanation) -> Text:
    """The text with every word as strong in colour as its attribution."""
    strongest = max((abs(word.score) for word in explanation.words), default=0.0) or 1.0
    shown = Text(explanation.text)
    for word in explanation.words:
        if abs(word.score) > 0.2 * strongest:
            weight = "bold " if abs(word.score) > 0.6 * strongest else ""
            shown.stylize(weight + ("green" if word.score > 0 else "red"), word.start, word.end)
    return shown

"""The summary as one HTML page: a bar for each aspect, and the sentences behind it."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from weft.absa.find.summary import Aspect, Example, Summary
from weft.errors import counted
from weft.platform.page import render

_COLOURS = {"positive": "for18", "conflict": "torn", "negative": "against18"}
"""Of polarities; others are plain."""
_MOST = 60
"""Aspects that are shown; the rest are counted."""
_STYLE = """main { max-width: 60rem; padding-bottom: 40px; font-size: 16px }
details { border-top: 1px solid var(--line); padding: 8px 0 } summary { cursor: pointer }
summary span, .key span { display: inline-block; vertical-align: middle }
.name { width: 12rem; overflow-wrap: anywhere; font-weight: 600 } .count { width: 13rem; font-size: 14px }
.stack { width: 22rem; max-width: 90%; height: 14px; vertical-align: middle }
.plain { fill: rgb(128 128 128 / .45); background: rgb(128 128 128 / .45) }
.torn { fill: rgb(225 160 40 / .55); background: rgb(225 160 40 / .55) }
.key span { padding: 0 6px; border-radius: 3px } h3 { font-size: 14px; margin: 10px 0 4px }
details p { margin: 4px 0 4px 12px; white-space: pre-wrap; overflow-wrap: anywhere } mark { color: inherit }
details p mark { border-radius: 3px } u { text-decoration-thickness: 2px }
"""


def page(summary: Summary, title: str = "What the texts judge") -> str:
    """The page; it loads nothing.

    Args:
        summary: What was found.
        title: Its heading.
    """
    aspects, order = summary.aspects(), summary.polarities()
    most = aspects[0].total if aspects else 1
    shown = "\n".join(_aspect(aspect, most, order) for aspect in aspects[:_MOST])
    found = sum(aspect.total for aspect in aspects)
    left = (
        f"<p><small>… and {counted(len(aspects) - _MOST, 'rarer aspect')}.</small></p>"
        if len(aspects) > _MOST
        else ""
    )
    told = "".join(f"<p>{note}.</p>" for note in summary.notes())
    key = " ".join(f'<span class="{_colour(name)}">{escape(name)}</span>' for name in order)
    read = (
        f'<p class="key">{key} <small>A bar is as long as its aspect is frequent. Open an aspect for the sentences '
        "that the model is surest of: what is judged is coloured, the words that judge are underlined.</small></p>\n"
    )
    body = (
        f"<main><h1>{escape(title)}</h1><p>{counted(summary.texts, 'text')}, {counted(found, 'judgement')}, "
        f"{counted(len(aspects), 'aspect')}; {summary.silent:,} without a judgement.</p>"
        f"{told}{read if aspects else ''}{shown}{left}</main>"
    )
    return render(title, body, style=_STYLE)


def _colour(polarity: str) -> str:
    return _COLOURS.get(polarity, "plain")


def _aspect(aspect: Aspect, most: int, order: Sequence[str]) -> str:
    counts = " · ".join(
        f"{aspect.polarities[name]:,} {escape(name)}" for name in order if aspect.polarities[name]
    )
    terms = ", ".join(escape(term) for term, _ in aspect.terms.most_common(12))
    parts = "".join(_examples(aspect, name) for name in order)
    said = f"<p><small>as {terms}</small></p>" if terms and list(aspect.terms) != [aspect.name] else ""
    return (
        f'<details><summary><span class="name">{escape(aspect.name)}</span> '
        f'<span class="count">{counts}</span> {_bar(aspect, most, order)}</summary>{said}{parts}</details>'
    )


def _bar(aspect: Aspect, most: int, order: Sequence[str]) -> str:
    left, parts = 0.0, []
    for name in order:
        width = 100 * aspect.polarities[name] / most
        if width:
            parts.append(f'<rect class="{_colour(name)}" x="{left:.2f}" width="{width:.2f}" height="8"/>')
        left += width
    return (
        f'<svg class="stack" viewBox="0 0 100 8" preserveAspectRatio="none" role="img" '
        f'aria-label="{aspect.total}">{"".join(parts)}</svg>'
    )


def _examples(aspect: Aspect, polarity: str) -> str:
    examples = aspect.examples(polarity)
    if not examples:
        return ""
    total = aspect.polarities[polarity]
    more = f" (the surest {len(examples)} of {total:,})" if total > len(examples) else ""
    return f"<h3>{escape(polarity)}{more}</h3>" + "".join(
        _sentence(example, polarity) for example in examples
    )


def _sentence(example: Example, polarity: str) -> str:
    marks = [(start, stop, "u") for start, stop in example.words]
    if example.term is not None:
        marks.append((*example.term, "mark"))
    parts: list[str] = []
    end = 0
    for start, stop, element in sorted(marks):
        if start < end:
            continue
        colour = f' class="{_colour(polarity)}"' if element == "mark" else ""
        inner = escape(example.text[start:stop])
        parts.append(f"{escape(example.text[end:start])}<{element}{colour}>{inner}</{element}>")
        end = stop
    parts.append(escape(example.text[end:]))
    return f"<p>{''.join(parts)} <small>row {example.row}, {example.confidence:.2f}</small></p>"

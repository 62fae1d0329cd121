"""The summary as one HTML page: a bar for each aspect, and the sentences behind it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from html import escape

from weft.absa.find.groups import Groups, Told
from weft.absa.find.summary import Aspect, Example, Summary
from weft.absa.records import UNSURE
from weft.errors import counted
from weft.platform.page import render

_COLOURS = {"positive": "for18", "conflict": "torn", "negative": "against18", UNSURE: "pale"}
"""Of polarities; others are plain."""
_MOST = 60
"""Aspects that are shown; the rest are counted."""
_GROUPS = 40
"""Groups that are shown of an aspect, and differences; the rest are counted."""
_STYLE = """main { max-width: 60rem; padding-bottom: 40px; font-size: 16px }
details { border-top: 1px solid var(--line); padding: 8px 0 } summary { cursor: pointer }
summary span, .key span { display: inline-block; vertical-align: middle }
.name { width: 12rem; overflow-wrap: anywhere; font-weight: 600 } .count { width: 13rem; font-size: 14px }
.stack { width: 22rem; max-width: 90%; height: 14px; vertical-align: middle }
.plain { fill: rgb(128 128 128 / .45); background: rgb(128 128 128 / .45) }
.pale { fill: rgb(128 128 128 / .18); background: rgb(128 128 128 / .18) }
.torn { fill: rgb(225 160 40 / .55); background: rgb(225 160 40 / .55) }
.key span { padding: 0 6px; border-radius: 3px } h3 { font-size: 14px; margin: 10px 0 4px }
details p { margin: 4px 0 4px 12px; white-space: pre-wrap; overflow-wrap: anywhere } mark { color: inherit }
details p mark { border-radius: 3px } u { text-decoration-thickness: 2px }
.by { border-collapse: collapse; font-size: 14px; margin: 8px 0 8px 12px }
.by th { text-align: left; font-weight: 600 } .by th, .by td { padding: 1px 12px 1px 0 } .by .stack { width: 16rem }
"""


def page(summary: Summary, title: str = "What the texts judge") -> str:
    """The page; it loads nothing.

    Args:
        summary: What was found.
        title: Its heading.
    """
    aspects, order = summary.aspects(), summary.polarities()
    most = aspects[0].total if aspects else 1
    groups = summary.groups
    shown = "\n".join(_aspect(aspect, most, order, groups) for aspect in aspects[:_MOST])
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
        f"{told}{'' if groups is None else _differences(groups)}{read if aspects else ''}{shown}{left}</main>"
    )
    return render(title, body, style=_STYLE)


def _colour(polarity: str) -> str:
    return _COLOURS.get(polarity, "plain")


def _differences(groups: Groups) -> str:
    """What stands out in one group."""
    found = groups.differences()
    heads = ("aspect", groups.column, "stands out", "texts here", "elsewhere", "p")
    rows = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in one.cells()) + "</tr>"
        for one in found[:_GROUPS]
    )
    told = (
        f'<table class="by"><tr>{"".join(f"<th>{escape(head)}</th>" for head in heads)}</tr>{rows}</table>'
        if found
        else "<p>Nothing stands out: what differs may be chance.</p>"
    )
    left = f"<p><small>… and {len(found) - _GROUPS:,} more.</small></p>" if len(found) > _GROUPS else ""
    without = f"; {counted(groups.without, 'text')} without" if groups.without else ""
    size = counted(len(groups.texts), "group")
    return (
        f"<h2>By {escape(groups.column)}</h2><p><small>{size}{without}. What one of them praises or blames more or "
        f"less often than the others do; p is how likely that is by chance.</small></p>{told}{left}"
    )


def _by_group(aspect: Aspect, groups: Groups, order: Sequence[str]) -> str:
    """A bar for each group: so many judgements in a hundred texts."""
    told, sizes = groups.of(aspect.name), groups.texts
    most = max((own.polarities.total() / sizes[name] for name, own in told.items()), default=0.0)
    rows: list[str] = []
    for name in groups.names[:_GROUPS]:
        own = told.get(name, Told())
        bar = _bar(own.polarities, sizes[name] * most, order) if own.judging else ""
        rows.append(
            f"<tr><td>{escape(name)}</td><td>{own.judging:,} of {sizes[name]:,}</td><td>{bar}</td></tr>"
        )
    left = len(groups.names) - _GROUPS
    more = f"<tr><td>… and {left:,} more</td></tr>" if left > 0 else ""
    head = f"<tr><th>{escape(groups.column)}</th><th>texts</th><th></th></tr>"
    return f'<table class="by">{head}{"".join(rows)}{more}</table>'


def _aspect(aspect: Aspect, most: int, order: Sequence[str], groups: Groups | None) -> str:
    counts = " · ".join(
        f"{aspect.polarities[name]:,} {escape(name)}" for name in order if aspect.polarities[name]
    )
    terms = ", ".join(escape(term) for term, _ in aspect.terms.most_common(12))
    parts = "".join(_examples(aspect, name) for name in order)
    said = f"<p><small>as {terms}</small></p>" if terms and list(aspect.terms) != [aspect.name] else ""
    return (
        f'<details><summary><span class="name">{escape(aspect.name)}</span> '
        f'<span class="count">{counts}</span> {_bar(aspect.polarities, most, order)}</summary>'
        f"{said}{'' if groups is None else _by_group(aspect, groups, order)}{parts}</details>"
    )


def _bar(polarities: Counter[str], most: float, order: Sequence[str]) -> str:
    left, parts = 0.0, []
    for name in order:
        width = 100 * polarities[name] / most
        if width:
            parts.append(f'<rect class="{_colour(name)}" x="{left:.2f}" width="{width:.2f}" height="8"/>')
        left += width
    return (
        f'<svg class="stack" viewBox="0 0 100 8" preserveAspectRatio="none" role="img" '
        f'aria-label="{polarities.total()}">{"".join(parts)}</svg>'
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

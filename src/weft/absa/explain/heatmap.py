"""Explanations as one HTML page: every text with its words coloured by what they did."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from weft.absa.explain.attribution import Explanation
from weft.platform.page import bar, heat, render

# These attributions are changes of a log-probability: a text whose words hardly change it stays pale.
_FULL_COLOUR = 0.5

_STYLE = """main { max-width: 50rem; padding-bottom: 40px; font-size: 16px }
article { border-top: 1px solid var(--line); padding: 14px 0; margin-top: 14px }
h2 { font-size: 16px; margin: 0 } .text { font-size: 18px; white-space: pre-wrap; overflow-wrap: anywhere }
.text span, .key span { border-radius: 3px } .unread { opacity: .45 } .key span { padding: 0 6px }
article div { display: flex; gap: 8px; align-items: center } article div small { width: 8rem; overflow-wrap: anywhere }
"""
_HEAD = """<h1>What the words did</h1>
<p class="key"><span class="for18">speaks for the answer</span>
<span class="against18">speaks against it</span>
<small>The stronger the colour, the stronger the word; a text whose words hardly matter stays pale.</small></p>
"""


def heatmap(explanations: Sequence[Explanation]) -> str:
    """The page: every text with its words coloured by their attribution."""
    articles = "\n".join(map(_article, explanations))
    return render("weft absa: explanations", f"<main>{_HEAD}{articles}</main>", style=_STYLE)


def _article(explanation: Explanation) -> str:
    question = " / ".join(
        escape(part) for part in (explanation.context.target, explanation.context.aspect) if part
    )
    bars = "".join(
        f"<div><small>{escape(name)} {share:.2f}</small>{bar(share, 'long')}</div>"
        for name, share in explanation.probabilities.items()
    )
    part = ", of a long text the window that answers" if explanation.is_part else ""
    missing = "" if explanation.target_found else ", not mentioned: the words are about the whole text"
    return (
        f"<article><h2>{question}: {escape(explanation.polarity)} "
        f"<small>({escape(explanation.method)}{missing}{part})</small></h2>\n"
        f'<p class="text">{_coloured(explanation)}</p>\n{bars}</article>'
    )


def _coloured(explanation: Explanation) -> str:
    strongest = max((abs(word.score) for word in explanation.words), default=0.0) or 1.0
    if explanation.method in ("shapley", "occlusion", "search", "gradient", "integrated"):
        strongest = max(strongest, _FULL_COLOUR)
    end, stop = explanation.window
    parts = [_unread(explanation.text[:end])]
    for word in explanation.words:
        parts.append(escape(explanation.text[end : word.start]))
        parts.append(
            f'<span class="{heat(word.score, strongest)}" title="{word.score:+.3f}">'
            f"{escape(explanation.text[word.start : word.end])}</span>"
        )
        end = word.end
    parts += [escape(explanation.text[end:stop]), _unread(explanation.text[stop:])]
    return "".join(parts)


def _unread(text: str) -> str:
    return f'<span class="unread">{escape(text)}</span>' if text else ""

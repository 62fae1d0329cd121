"""Explanations as one HTML page that needs nothing but itself."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from weft.absa.explain.attribution import Explanation

# These attributions are changes of a log-probability: a text whose words hardly change it stays pale.
_FULL_COLOUR = 0.5

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>weft absa: explanations</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
body {{ font: 16px/1.6 system-ui, sans-serif; max-width: 50rem; margin: 2rem auto; padding: 0 1rem; color: #1a1a1a }}
h1 {{ font-size: 1.3rem }} article {{ border-top: 1px solid #ccc; padding: 1rem 0 }}
h2 {{ font-size: 1rem; margin: 0 }} .text {{ font-size: 1.1rem; white-space: pre-wrap }}
.text span {{ border-radius: .2rem }} small {{ color: #555 }}
small.name {{ display: inline-block; width: 7rem }}
.bar {{ display: inline-block; height: .6rem; background: #777; vertical-align: middle }}
.key span {{ padding: 0 .4rem }}
</style></head><body>
<h1>What the words did</h1>
<p class="key"><span style="background:rgba(0,120,60,.6)">speaks for the answer</span>
<span style="background:rgba(200,30,30,.6)">speaks against it</span>
<small>The stronger the colour, the stronger the word; a text whose words hardly matter stays pale.</small></p>
{body}
</body></html>
"""


def heatmap(explanations: Sequence[Explanation]) -> str:
    """The page: every text with its words coloured by their attribution."""
    return _PAGE.format(body="\n".join(map(_article, explanations)))


def _article(explanation: Explanation) -> str:
    question = " / ".join(
        escape(part) for part in (explanation.context.target, explanation.context.aspect) if part
    )
    bars = "".join(
        f'<div><small class="name">{escape(name)} {share:.2f}</small> '
        f'<span class="bar" style="width:{12 * share:.2f}rem"></span></div>'
        for name, share in explanation.probabilities.items()
    )
    missing = "" if explanation.target_found else ", not mentioned: the words are about the whole text"
    return (
        f"<article><h2>{question}: {escape(explanation.polarity)} "
        f"<small>({escape(explanation.method)}{missing})</small></h2>\n"
        f'<p class="text">{_coloured(explanation)}</p>\n{bars}</article>'
    )


def _coloured(explanation: Explanation) -> str:
    strongest = max((abs(word.score) for word in explanation.words), default=0.0) or 1.0
    if explanation.method in ("occlusion", "search", "gradient", "integrated"):
        strongest = max(strongest, _FULL_COLOUR)
    parts: list[str] = []
    end = 0
    for word in explanation.words:
        strength = abs(word.score) / strongest
        colour = "0,120,60" if word.score > 0 else "200,30,30"
        parts.append(escape(explanation.text[end : word.start]))
        parts.append(
            f'<span title="{word.score:+.3f}" style="background:rgba({colour},{0.65 * strength:.2f})">'
            f"{escape(explanation.text[word.start : word.end])}</span>"
        )
        end = word.end
    parts.append(escape(explanation.text[end:]))
    return "".join(parts)

"""The shell of every page that is handed over: one file that loads nothing and trusts nothing that it shows.

The content policy allows the page's own style sheet and scripts, by their hashes, and nothing else: no request, no
inline handler, no style attribute. What a corpus or a binary says reaches a page as escaped text, or as
JSON that a script writes with ``textContent``. Colours come from the style sheet, for light and dark screens and
for paper: heat by :func:`heat`, bars by :func:`bar`.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from typing import Any

from weft.errors import NonFiniteError

_NONE = "'none'"
_SHADES = 20
_DARKEST = 0.5
_SHELL = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><meta name="referrer" content="no-referrer">
<title>{title}</title>
<style>{style}</style></head><body>
{body}
{scripts}</body></html>
"""


def render(title: str, body: str, *, style: str = "", scripts: Sequence[str] = (), data: Any = None) -> str:
    """The page.

    Args:
        title: As text.
        body: As markup: whatever is not the caller's own words went through ``html.escape``.
        style: Rules of this page beside those of all.
        scripts: Run in order, after the body.
        data: What the scripts find as JSON in the element ``data``; none where None.

    Raises:
        NonFiniteError: NaN or infinity in the data: JSON has none.
    """
    sheet = asset("weft.platform", "page.css") + _shades() + style
    policy = [
        "default-src 'none'",
        f"style-src {_hash(sheet)}",
        f"script-src {' '.join(map(_hash, scripts)) if scripts else _NONE}",
        "base-uri 'none'",
        "form-action 'none'",
    ]
    elements = [f"<script>{script}</script>\n" for script in scripts]
    if data is not None:
        elements.insert(0, f'<script type="application/json" id="data">{embedded(data)}</script>\n')
    page = _SHELL.format(
        policy="; ".join(policy), title=escape(title), style=sheet, body=body, scripts="".join(elements)
    )
    # Names of files need not be Unicode: what cannot be written is shown by its number.
    return page.encode(errors="backslashreplace").decode()


def embedded(value: Any) -> str:
    """JSON that may stand inside a ``script`` element: no character of it can end one or begin a comment.

    Raises:
        NonFiniteError: A number that JSON does not have.
    """
    try:
        text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    except ValueError as error:
        raise NonFiniteError("NaN or infinity in what a page shows") from error
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def asset(package: str, name: str) -> str:
    """A text file of a package: a style sheet, a script."""
    return files(package).joinpath(name).read_text(encoding="utf-8")


def heat(score: float, strongest: float) -> str:
    """The class that colours what speaks for something (above 0) or against it (below).

    Args:
        score: NaN has no colour.
        strongest: The score of the full colour; above 0.
    """
    if math.isnan(score):
        return "none"
    shade = round(_SHADES * min(abs(score) / strongest, 1.0))
    return f"{'for' if score > 0 else 'against'}{shade}" if shade else "none"


def bar(share: float, kind: str = "") -> str:
    """A bar as long as a share in [0, 1].

    Args:
        share: Of the whole.
        kind: A further class: ``long``; ``low`` or ``lowest`` for what is to be doubted.
    """
    return (
        f'<svg class="{f"bar {kind}".strip()}" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">'
        f'<rect width="{100 * share:.1f}" height="8"/></svg>'
    )


def _shades() -> str:
    return "".join(
        f".{name}{n}{{background:rgb(var(--{name})/{(alpha := _DARKEST * n / _SHADES):.3f});"
        f"fill:rgb(var(--{name})/{alpha:.3f})}}\n"
        for name in ("for", "against")
        for n in range(1, _SHADES + 1)
    )


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

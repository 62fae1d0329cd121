"""Griffe extension for the site: equations are shown as they are written, line by line; names lose their roles."""

from __future__ import annotations

import re
from typing import Any

import griffe

_EQUATION = re.compile(r"^\S.*(\s[=≈∈]\s|\s\*\*\s)")
_ROLE = re.compile(r":(?:meth|class|func|mod|data|attr|exc):`~?([^`]+)`")


def with_equations(text: str) -> str:
    """The docstring with every paragraph of equations indented: Markdown for "leave it alone"."""
    paragraphs = re.split(r"\n[ \t]*\n", text)
    return "\n\n".join(
        "\n".join(f"    {line}" for line in paragraph.splitlines()) if _is_equation(paragraph) else paragraph
        for paragraph in paragraphs
    )


def _is_equation(paragraph: str) -> bool:
    """Whether it begins with an equation and no line ends as a sentence does."""
    lines = [line for line in paragraph.splitlines() if line.strip()]
    return (
        bool(lines)
        and bool(_EQUATION.match(lines[0]))
        and not any(line.endswith((".", ":")) for line in lines)
    )


class Equations(griffe.Extension):
    """Applies it to every docstring."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        """Called for each module, class, function and attribute."""
        if obj.docstring is not None:
            obj.docstring.value = with_equations(_ROLE.sub(r"`\1`", obj.docstring.value))

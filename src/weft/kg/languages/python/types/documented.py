"""Types that a docstring names, of parameters and of what is returned, in the three usual styles."""

from __future__ import annotations

import ast
import re

from weft.kg.languages.python.facts import type_name
from weft.kg.languages.python.units import Function

RETURNED = "return"
"""Key of the type that is returned; a keyword, so no parameter has this name."""

_WORDS = {
    "string": "str",
    "strings": "str",
    "text": "str",
    "unicode": "str",
    "integer": "int",
    "number": "int",
    "boolean": "bool",
    "dictionary": "dict",
    "function": "Callable",
    "callable": "Callable",
    "iterable": "Iterable",
    "iterator": "Iterator",
    "sequence": "Sequence",
    "mapping": "Mapping",
    "generator": "Generator",
    "none": "None",
}
_FIELD = re.compile(
    r"^\s*:(?P<what>param|parameter|arg|type|rtype)(?P<words>[^:\n]*(?::\w+:`[^`]*`)?[^:\n]*):[ \t]*(?P<rest>.*)$",
    re.M,
)
_GOOGLE = re.compile(
    r"^(?P<margin>[ \t]+)\*{0,2}(?P<name>\w+)[ \t]*\((?P<kind>[^()\n]+(?:\([^()]*\))?)\)[ \t]*:", re.M
)
_NUMPY = re.compile(r"^[ \t]*(?P<names>\w+(?:, *\w+)*)[ \t]+:[ \t]+(?P<kind>\S.*)$", re.M)
_RETURNS = re.compile(r"^[ \t]*Returns?:[ \t]*\n[ \t]+(?P<kind>[^:\n]+):", re.M)
_UNDERLINED = re.compile(
    r"^[ \t]*Returns?[ \t]*\n[ \t]*-+[ \t]*\n[ \t]*(?:\w+[ \t]+:[ \t]+)?(?P<kind>\S.*)$", re.M
)
_ROLE = re.compile(r":\w+(?::\w+)?:`~?([^`<]+)`")
_NOISE = re.compile(r",?\s*\(?\b(?:optional|default(?:s| is)?\b.*|required|keyword-only)\b\)?.*$", re.I)
_CONTAINER = re.compile(
    r"(list|dict|set|tuple|sequence|iterable|iterator|mapping|generator)s?\s+(?:of|from)\b", re.I
)
_LONGEST = 60


def documented(node: Function) -> dict[str, str]:
    """The type of each parameter whose docstring names one, and under :data:`RETURNED` what is returned.

    Args:
        node: A function.
    """
    text = ast.get_docstring(node)
    if not text or len(text) > 20_000:
        return {}
    found: dict[str, str] = {}
    for match in _FIELD.finditer(text):
        words = match["words"].split()
        if match["what"] == "rtype":
            _put(found, RETURNED, match["rest"])
        elif match["what"] == "type" and len(words) == 1:
            _put(found, words[0].lstrip("*"), match["rest"])
        elif match["what"] != "type" and len(words) > 1:
            _put(found, words[-1].lstrip("*"), " ".join(words[:-1]))
    for match in _GOOGLE.finditer(text):
        _put(found, match["name"], match["kind"])
    for match in _NUMPY.finditer(text):
        for name in match["names"].split(","):
            _put(found, name.strip(), match["kind"])
    for pattern in (_RETURNS, _UNDERLINED):
        for match in pattern.finditer(text):
            _put(found, RETURNED, match["kind"])
    return found


def _put(found: dict[str, str], name: str, kind: str) -> None:
    named = _type(kind)
    if named:
        found.setdefault(name, named)


def _type(kind: str) -> str:
    """The class of a type in words; empty where they are no type."""
    kind = _NOISE.sub("", _ROLE.sub(r"\1", kind)).replace("`", "").strip().rstrip(".,")
    if not kind or len(kind) > _LONGEST:
        return ""
    kind = re.sub(r"\s+or\s+", " | ", kind)
    first = _CONTAINER.match(kind)
    if first is not None:
        word = first[1].lower()
        return _WORDS.get(word, word)
    parts = [_WORDS.get(part.strip().lower(), part.strip()) for part in kind.split("|")]
    try:
        return type_name(ast.parse(" | ".join(parts), mode="eval").body) or ""
    except (SyntaxError, ValueError):
        return ""

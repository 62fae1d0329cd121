"""Readable names in columns: templates and parameters of C++ are cut before the function's own name."""

from __future__ import annotations

_CUT = "…"
_OPERATOR = "operator"


def shortened(name: str, most: int) -> str:
    """A name of so many letters: without the arguments of templates, then of calls, then without what it lies in.

    Args:
        name: As a programmer wrote it.
        most: Letters that there is room for.
    """
    for cut in (_without_templates, _without_parameters, _without_scopes):
        if len(name) <= most:
            return name
        name = cut(name)
    return name if len(name) <= most else name[: most - 1] + _CUT


def _without_templates(name: str) -> str:
    """``a<b<c>>::d(e<f>)`` → ``a<…>::d(e<…>)``; the sign of an operator is no bracket."""
    found, depth, place = "", 0, 0
    while place < len(name):
        letter = name[place]
        if name.startswith(_OPERATOR, place) and not (
            place and (name[place - 1].isalnum() or name[place - 1] == "_")
        ):
            place += len(_OPERATOR)
            sign = _sign(name[place:])
            found += _OPERATOR + sign if not depth else ""
            place += len(sign)
            continue
        if letter == ">" and name[place - 1 : place] == "-":
            found += letter if not depth else ""
        elif letter == "<":
            found += f"<{_CUT}>" if not depth else ""
            depth += 1
        elif letter == ">" and depth:
            depth -= 1
        elif not depth:
            found += letter
        place += 1
    return found


def _sign(text: str) -> str:
    """What an operator is called by signs, in front of the rest of a name."""
    signs = ("<=>", "->*", "<<=", ">>=", "<<", ">>", "<=", ">=", "->", "()", "<", ">")
    return next((sign for sign in signs if text.startswith(sign)), "")


def _without_parameters(name: str) -> str:
    """``a::b(c, d(e)) const`` → ``a::b(…) const``: the last brackets that hold anything."""
    end = name.rfind(")")
    depth = 0
    for place in range(end, -1, -1):
        depth += (name[place] == ")") - (name[place] == "(")
        if depth == 0:
            return name if end - place < 2 else f"{name[: place + 1]}{_CUT}{name[end:]}"
    return name


def _without_scopes(name: str) -> str:
    """``c a::b::f(…)`` → ``…::f(…)``: the last name of all, with what it is given."""
    end = name.find("(")
    while end >= 0 and name[:end].endswith(_OPERATOR):
        end = name.find("(", end + 2)
    scope = name.rfind("::", 0, end if end >= 0 else len(name))
    return name if scope < 0 else f"{_CUT}{name[scope:]}"

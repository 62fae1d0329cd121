"""Scripts that carry the names of A over to B inside Ghidra or IDA.

A script holds its data as one JSON literal, counts addresses from the image base, renames only functions that
have no name of a person's, and says what it left alone. Start-up code is not named: which of it a function is tells
nothing, and every program has it. It runs in Ghidra's Jython 2.7 and Python 3 and in
IDAPython.
"""

from __future__ import annotations

import json
import os
import re
from importlib.resources import files
from typing import Literal

from weft.bcsd.matching.match import Matching
from weft.bcsd.read.names import is_made_up
from weft.bcsd.read.runtime import is_stub
from weft.errors import InputError

Tool = Literal["ghidra", "ida"]

_ODD = re.compile(r"[^0-9A-Za-z_.$@?:~<>,*&()\[\]+=!|^%/-]")


def rename_script(matching: Matching, tool: Tool, floor: float) -> str:
    """The script.

    Args:
        matching: What was found.
        tool: For which program.
        floor: Matches less sure than this are left out.

    Raises:
        InputError: A has no names to carry over, or B is an object.
    """
    a, b = matching.a, matching.b
    if b.base is None:
        raise InputError(
            "an object, whose sections each program lays out in its own way: no address of it is known there",
            where=b.path,
            hint="link it first, or give it as A",
        )
    if all(map(is_made_up, a.names)):
        raise InputError(
            "no function of it has a name to carry over",
            where=a.path,
            hint="give the file with symbols first",
        )
    entries = [
        [b.addresses[j] - b.base, _safe(a.names[i]), round(float(confidence), 4)]
        for i, j, confidence in zip(matching.rows, matching.columns, matching.confidence, strict=True)
        if confidence >= floor and not is_made_up(a.names[i]) and not is_stub(a.names[i])
    ]
    template = files("weft.bcsd.report").joinpath(f"rename_{tool}.py.txt").read_text(encoding="ascii")
    # JSON within a Python literal within a script: ASCII, and every quote and backslash escaped twice.
    literal = repr(json.dumps(entries, separators=(",", ":")))
    source = f"{_safe(os.path.basename(a.path))} -> {_safe(os.path.basename(b.path))}"
    return (
        template.replace("@SOURCE@", source)
        .replace("@SHA256@", b.sha256)
        .replace("@FLOOR@", repr(floor))
        .replace("@ENTRIES@", literal)
    )


def _safe(name: str) -> str:
    """A name that neither program refuses: printable ASCII without blanks, quotes and backslashes."""
    return _ODD.sub("_", name)

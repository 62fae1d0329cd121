"""Packages that no training of ours saw: some to measure with, others to fit confidences on.

They are read from ``$WEFT_DATA/packages/NAME``, where ``pip install --no-deps --target`` puts them.
Chosen by name, before anything was asked of them.
"""

from __future__ import annotations

import ast
import os
import re
from pathlib import Path

from weft.errors import InputError

MEASURED = (
    "aiosqlite",
    "arrow",
    "black",
    "cattrs",
    "dulwich",
    "flask",
    "httpx",
    "sphinx",
    "starlette",
    "structlog",
    "trio",
    "uvicorn",
)
"""Never used for a choice or a fit."""
FITTED = (
    "beautifulsoup4",
    "falcon",
    "httpcore",
    "marshmallow",
    "mkdocs",
    "poetry-core",
    "textual",
    "tornado",
)
"""For the ranking and the calibration of types that nothing states."""
FITTED_TOO = (
    "GitPython",
    "astroid",
    "hypercorn",
    "isort",
    "nox",
    "prompt-toolkit",
    "psycopg",
    "pymongo",
    "redis",
    "sanic",
    "scrapy",
    "tox",
    "websockets",
    "xarray",
    "zarr",
)
"""The same, fewer files of each: eight packages alone said too much of the next twelve."""


def package(name: str) -> Path:
    """The folder of a package.

    Raises:
        InputError: It is not there.
    """
    folder = Path(os.environ.get("WEFT_DATA", "data")) / "packages" / name
    if not folder.is_dir():
        raise InputError(
            "no such folder", where=str(folder), hint=f"pip install --no-deps --target {folder} {name}"
        )
    return folder


_BETWEEN = re.compile(rb"[\s)]|#[^\n]*")
"""What stands between an annotation and the bracket that closes around it."""
_SAID = re.compile(rb"""#[^\n]*|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'""")
"""Comments and strings: brackets in them are none."""


def stripped(text: str) -> str:
    """A source without annotations, wherever they stand: of parameters, returns and variables."""
    lines = [line.encode() for line in text.split("\n")]
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    data = b"\n".join(lines)

    def place(line: int, column: int) -> int:
        return starts[line - 1] + column

    def end_of(node: ast.expr) -> int:
        return place(node.end_lineno or node.lineno, node.end_col_offset or 0)

    cuts: list[tuple[int, int]] = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.arg) and node.annotation is not None:
            cuts.append(
                (place(node.lineno, node.col_offset) + len(node.arg.encode()), end_of(node.annotation))
            )
        elif isinstance(node, ast.AnnAssign):
            cuts.append((end_of(node.target), end_of(node.annotation)))
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.returns is not None:
            arrow = data.rindex(b"->", 0, place(node.returns.lineno, node.returns.col_offset))
            cuts.append((arrow, end_of(node.returns)))
    result = bytearray(data)
    for start, end in sorted(cuts, reverse=True):
        # Brackets around an annotation go with it, and the comments inside of them.
        while _opens(data[start:end]) and (after := _BETWEEN.match(data, end)) is not None:
            end = after.end()
        result[start:end] = b""
    return result.decode()


def _opens(piece: bytes) -> bool:
    bare = _SAID.sub(b"", piece)
    return bare.count(b"(") > bare.count(b")")

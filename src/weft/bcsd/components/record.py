"""What a program consists of as JSON values: the documented, stable form of ``weft bcsd identify``."""

from __future__ import annotations

from typing import Any

from weft.bcsd.components.explain import Library
from weft.bcsd.components.identify import Identified
from weft.bcsd.read.names import spelled


def identified_record(found: Identified) -> dict[str, Any]:
    """The object that ``--json`` prints; see ``docs/bcsd.md``."""
    functions = [function.__dict__ for function in found.functions]
    return {
        "schema": 1,
        "binary": spelled(found.path),
        "sha256": found.sha256,
        "model": found.model,
        "functions": len(functions),
        "libraries": [_library(library, functions) for library in found.libraries],
        "unexplained": [functions[place] for place in found.unexplained],
        "remarks": list(found.remarks),
    }


def _library(library: Library, functions: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "name": library.name,
        "sure": round(library.sure, 3),
        "versions": [
            {"version": name, "share": None if library.share is None else round(share, 3)}
            for name, share in library.versions
        ],
        "versions_held": library.held,
        "file_says": [{"version": one.version, "text": spelled(one.text)} for one in library.said],
        "packages": list(library.packages),
        "functions_in_index": library.of,
        "functions": [functions[place] for place in library.functions],
    }

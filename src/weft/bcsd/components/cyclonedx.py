"""What was identified as a CycloneDX 1.6 bill of materials.

Source: CycloneDX 1.6 (ECMA-424), JSON; https://cyclonedx.org/docs/1.6/json.
"""

from __future__ import annotations

import uuid
from pathlib import PurePath
from typing import Any
from urllib.parse import quote

from weft import __version__
from weft.bcsd.components.explain import Library
from weft.bcsd.components.identify import Identified
from weft.bcsd.read.names import spelled

_SPACE = uuid.UUID("8a7be0a6-2f5c-4ad4-9b1d-0b8a4f6b0f59")


def bill(identified: Identified) -> dict[str, Any]:
    """The bill of materials; the same program and index give the same one.

    Each library is a component with evidence: how sure its name is, and what its version is from. The version is what
    the file itself says, where that is one; else the nearest of several that the index holds. Where it holds one
    alone, nothing tells it from others, and there is none. The package's own version stands in the purl where it is
    the nearest of several and the file says no other.
    """
    path = spelled(PurePath(identified.path).name)
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(_SPACE, identified.sha256 + identified.model)}",
        "version": 1,
        "metadata": {
            "tools": {"components": [{"type": "application", "name": "weft", "version": __version__}]},
            "component": {
                "type": "application",
                "bom-ref": "program",
                "name": path,
                "hashes": [{"alg": "SHA-256", "content": identified.sha256}],
                "properties": [
                    {"name": "weft:functions", "value": str(len(identified.functions))},
                    {"name": "weft:unexplained", "value": str(len(identified.unexplained))},
                ],
            },
        },
        "components": [_component(library) for library in identified.libraries],
        "dependencies": [
            {"ref": "program", "dependsOn": [_reference(library) for library in identified.libraries]},
            *({"ref": _reference(library)} for library in identified.libraries),
        ],
    }


def _component(library: Library) -> dict[str, Any]:
    version, evidence = _version(library)
    others = ", ".join(f"{name} ({part:.2f})" for name, part in library.versions[1:])
    told = library.share is not None and not library.contradicted
    at = f"@{quote(library.version, safe='')}" if told else ""
    properties = {
        "weft:functions": str(len(library.functions)),
        "weft:packages": ", ".join(library.packages),
        "weft:versions-held": str(library.held),
        "weft:nearest-version-held": library.version,
        **({"weft:other-versions": others} if others else {}),
        **({"weft:file-says": "; ".join(spelled(one.text) for one in library.said)} if library.said else {}),
    }
    return {
        "type": "library",
        "bom-ref": _reference(library),
        "name": library.name,
        **({} if version is None else {"version": version}),
        "purl": f"pkg:deb/debian/{quote(library.packages[0], safe='')}{at}",
        "evidence": {
            "identity": [
                _identity(
                    "name", library.sure, f"{len(library.functions)} functions like those of the library"
                ),
                *evidence,
            ]
        },
        "properties": [{"name": name, "value": value} for name, value in properties.items()],
    }


def _version(library: Library) -> tuple[str | None, list[dict[str, Any]]]:
    """A library's version, and the evidence of it; None where nothing tells it."""
    if len(library.said) == 1:
        said = library.said[0].version
        return said, [{"field": "version", "concludedValue": said}]
    if library.share is None or library.contradicted:
        return None, []
    how = f"the nearest of the {library.held} versions that the index holds, by functions whose code differs"
    return library.version, [_identity("version", library.sure * library.share, how)]


def _identity(field: str, sure: float, how: str) -> dict[str, Any]:
    confidence = round(sure, 3)
    method = {"technique": "binary-analysis", "confidence": confidence, "value": how}
    return {"field": field, "confidence": confidence, "methods": [method]}


def _reference(library: Library) -> str:
    return f"library-{library.name}"

"""What kind of model a folder holds, and the version that tells one state of it from another."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from weft.errors import CheckpointError
from weft.kg.languages import find_language
from weft.kg.languages.language import Language

_FILES = ("config.json", "model.safetensors", "tokenizer.json", "schema.json", "calibration.json")


def model_kind(folder: Path) -> str:
    """What kind of model a folder holds.

    Raises:
        CheckpointError: Its ``config.json`` cannot be read.
    """
    path = folder / "config.json"
    try:
        return str(json.loads(path.read_text(encoding="utf-8"))["kind"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CheckpointError(f"no model's configuration: {error!r}", where=str(path)) from error


def model_language(folder: Path) -> Language:
    """The language that a model of source code reads.

    Raises:
        CheckpointError: Its ``config.json`` cannot be read.
        ConfigError: No such language.
    """
    path = folder / "config.json"
    try:
        name = json.loads(path.read_text(encoding="utf-8"))["config"].get("language", "python")
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise CheckpointError(f"no model's configuration: {error!r}", where=str(path)) from error
    return find_language(str(name))


def model_version(folder: Path, *settings: object) -> str:
    """Hash of weights, configuration, vocabulary and calibration, and of what else decides the answers.

    Args:
        folder: The model.
        settings: Such as the number of beams.

    Raises:
        CheckpointError: A file cannot be read.
    """
    digest = hashlib.sha256(repr(settings).encode())
    for name in _FILES:
        path = folder / name
        if not path.is_file():
            continue
        digest.update(name.encode())
        try:
            with path.open("rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
        except OSError as error:
            raise CheckpointError(f"cannot be read: {error.strerror}", where=str(path)) from error
    return digest.hexdigest()[:16]

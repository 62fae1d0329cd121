"""The record of a checkpoint, ``config.json``: what it is, and the digests of its files. Read without torch."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from weft.errors import CheckpointError, ConfigError, with_article
from weft.platform.reading import raising, read_object

CONFIG = "config.json"
SAFETENSORS = "model.safetensors"
FORMAT = 1


def read_config(directory: str | Path, kind: str | None = None) -> dict[str, Any]:
    """The configuration that :func:`weft.encoder.checkpoint.storage.save_model` was given.

    Args:
        directory: A weft checkpoint.
        kind: What it must be.

    Raises:
        CheckpointError: No weft checkpoint, one of another kind, or of a later format.
    """
    record = record_of(Path(directory))
    if kind is not None and record["kind"] != kind:
        raise CheckpointError(
            f"holds {with_article(str(record['kind']))}; {with_article(kind)} is needed", where=str(directory)
        )
    return record["config"]


def record_of(directory: Path) -> dict[str, Any]:
    """The record of a weft checkpoint.

    Raises:
        CheckpointError: It has none, or one of another format.
    """
    path = directory / CONFIG
    if not path.is_file():
        raise CheckpointError(
            f"has no {CONFIG}", where=str(directory), hint="is it a checkpoint's directory?"
        )
    record = read_json(path)
    if record.get("model_type") != "weft" or not isinstance(record.get("config"), dict):
        raise CheckpointError(
            f"model_type is {record.get('model_type')!r}: no weft checkpoint",
            where=str(path),
            hint="load_pretrained reads BERT and RoBERTa",
        )
    if record.get("format") != FORMAT:
        raise CheckpointError(
            f"format is {record.get('format')!r}; this weft reads {FORMAT}", where=str(path)
        )
    return record


def verify(directory: Path, record: Mapping[str, Any]) -> None:
    """Hold the files of a checkpoint against its record.

    Raises:
        CheckpointError: One is missing, or is another one.
    """
    named = record.get("files")
    for name, digest in (named if isinstance(named, dict) else {}).items():
        path = directory / Path(str(name)).name
        if not path.is_file():
            raise CheckpointError("is missing", where=str(path))
        if digest_of(path) != digest:
            raise CheckpointError(
                f"is not the file that {CONFIG} was saved with: damaged, truncated or from another save",
                where=str(path),
            )


def read_json(path: Path) -> dict[str, object]:
    """Read a JSON object.

    Raises:
        CheckpointError: It cannot be read, or is no JSON object.
    """
    with raising(CheckpointError):
        return read_object(path)


def digest_of(path: Path) -> str:
    """The SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def check_replaceable(directory: str | Path) -> None:
    """Refuse to save over a model that another program wrote: nobody means that, and it is lost.

    Args:
        directory: Where a model is to be saved; it may be absent, empty, or hold one of ours.

    Raises:
        ConfigError: Its ``config.json`` is another program's.
    """
    path = Path(directory) / CONFIG
    try:
        record = read_json(path) if path.is_file() else None
    except CheckpointError:  # of a damaged one nobody can say whose it is
        return
    if record is not None and record.get("model_type") != "weft":
        name = record.get("model_type")
        raise ConfigError(
            f"holds a model of another program (model_type {name!r}), which would be written over",
            where=str(directory),
            hint="choose another folder",
        )

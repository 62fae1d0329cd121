"""weft's own checkpoints: ``model.safetensors``, ``config.json``, ``tokenizer.json``.

All files are written under temporary names; then they are forced to the disk and renamed, and
``config.json``, which holds the digests of the others, comes last. A save that is cut short leaves the old
checkpoint, or (between two renames) files that loading tells apart from a whole one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol, TypeVar, runtime_checkable

import torch
from tokenizers import Tokenizer
from torch import nn

from weft import __version__
from weft.encoder.checkpoint.record import (
    CONFIG,
    FORMAT,
    SAFETENSORS,
    check_replaceable,
    digest_of,
    read_config,
    record_of,
    verify,
)
from weft.encoder.checkpoint.tensors import (
    check_shapes,
    fill,
    listed,
    own_tensors,
    read_safetensors,
    write_safetensors,
)
from weft.encoder.checkpoint.tokenizer import TOKENIZER
from weft.errors import CheckpointError, ConfigError
from weft.platform import files
from weft.platform.models import build_within, read_shapes, without_drawing

_STORED = (None, torch.float32, torch.float16, torch.bfloat16)
_Module = TypeVar("_Module", bound=nn.Module)


@runtime_checkable
class Config(Protocol):
    """A configuration that can say itself in plain values."""

    def to_dict(self) -> dict[str, Any]:
        """The fields as plain values."""
        ...


def save_model(
    directory: str | Path,
    module: nn.Module,
    config: Config | Mapping[str, Any],
    tokenizer: Tokenizer | None = None,
    *,
    kind: str | None = None,
    dtype: torch.dtype | None = None,
) -> None:
    """Save a model, atomically: every file appears whole under its name, and ``config.json`` last.

    Args:
        directory: Where to; made where absent, its checkpoint replaced where there is one.
        module: What to save; tied tensors are stored once.
        config: What builds the module again, as JSON values.
        tokenizer: The tokenizer that belongs to it.
        kind: What it is; the module's class name by default.
        dtype: How to store floating tensors: ``torch.float16`` or ``torch.bfloat16`` halve the file; as
            they are where None. They are read back in the dtype of the module that reads them.

    Raises:
        OutputError: The directory cannot be written; what it held is as it was.
        CheckpointError: NaN, infinity, or a value that ``dtype`` cannot hold.
        ConfigError: A dtype that is none of these, a configuration that is no JSON, or another program's model in that
            directory.
    """
    check_replaceable(directory)
    if dtype not in _STORED:
        raise ConfigError(
            f"dtype is {dtype}; it must be torch.float32, torch.float16, torch.bfloat16 or None"
        )
    values = config.to_dict() if isinstance(config, Config) else dict(config)
    tensors: dict[str, torch.Tensor] = {}
    for name, tensor in own_tensors(module).items():
        stored = tensor.detach().to("cpu", dtype if tensor.is_floating_point() else None)
        tensors[name] = stored.contiguous()
    infinite = [name for name, tensor in tensors.items() if not bool(torch.isfinite(tensor).all())]
    if infinite:
        raise CheckpointError(f"NaN or infinity, as stored in {dtype or 'its dtype'}, in {listed(infinite)}")
    record: dict[str, Any] = {
        "model_type": "weft",
        "kind": type(module).__name__ if kind is None else kind,
        "format": FORMAT,
        "weft": __version__,
        "files": {},
        "config": values,
    }
    _json(record)  # refuses what is no JSON before anything is written
    directory = files.make_folder(directory)
    with files.replaced_files(directory, (SAFETENSORS, TOKENIZER, CONFIG)) as part:
        record["files"][SAFETENSORS] = write_safetensors(part / SAFETENSORS, tensors, {"format": "pt"})
        if tokenizer is not None:
            (part / TOKENIZER).write_text(tokenizer.to_str(pretty=False), encoding="utf-8")
            record["files"][TOKENIZER] = digest_of(part / TOKENIZER)
        (part / CONFIG).write_text(_json(record), encoding="utf-8")
    if tokenizer is None:
        (directory / TOKENIZER).unlink(missing_ok=True)


def load_weights(module: _Module, directory: str | Path) -> _Module:
    """Fill a module with the tensors of a weft checkpoint, all of them and no other; returns the module.

    Raises:
        CheckpointError: A file that is missing, damaged or from another save than ``config.json``;
            missing, unexpected or misshapen tensors, listed.
    """
    directory = Path(directory)
    verify(directory, record_of(directory))
    fill(own_tensors(module), read_safetensors(directory / SAFETENSORS), str(directory / SAFETENSORS))
    return module


def load_model(
    directory: str | Path, build: Callable[[dict[str, Any]], _Module], kind: str | None = None
) -> _Module:
    """Build a module from its saved configuration and fill it.

    What the configuration asks for is held against the weights first, with nothing allocated.

    Args:
        directory: A weft checkpoint.
        build: From the configuration's values to a module; called twice, the first time without storage.
        kind: What the checkpoint must be.

    Returns:
        The module in the mode in which it was built, which for modules of torch is that of training: call ``eval()``
        before asking it anything.

    Raises:
        CheckpointError: As :func:`read_config` and :func:`load_weights`; a configuration that breaks a rule.
    """
    values, directory = read_config(directory, kind), Path(directory)
    verify(directory, record_of(directory))
    weights = directory / SAFETENSORS
    shapes = read_shapes(weights)
    try:
        check_shapes(
            own_tensors(build_within(lambda: build(values), shapes, str(directory))), shapes, str(weights)
        )
        with without_drawing():
            module = build(values)
    except (ConfigError, TypeError, KeyError) as error:
        raise CheckpointError(f"its configuration does not build: {error}", where=str(directory)) from error
    fill(own_tensors(module), read_safetensors(weights), str(weights))
    return module


def _json(record: Mapping[str, Any]) -> str:
    try:
        return json.dumps(record, indent=1, allow_nan=False) + "\n"
    except (TypeError, ValueError) as error:
        raise ConfigError(f"the configuration is no JSON: {error}") from error

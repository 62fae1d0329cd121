"""Models on disk: weights in int8 or as they are, configuration, tokenizer; found by name or directory."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from torch import nn

from weft.absa.config import AbsaConfig
from weft.absa.model.build import AnyModel, build_model
from weft.absa.use.asker import Asker
from weft.condition.quasi import QuasiContext
from weft.encoder.checkpoint.int8 import Bits, Int8Storage
from weft.encoder.checkpoint.storage import load_model, save_model
from weft.encoder.checkpoint.tensors import own_tensors
from weft.encoder.checkpoint.tokenizer import load_tokenizer
from weft.errors import CheckpointError, ConfigError
from weft.platform.models import find_model

DEFAULT_MODEL = "absa-any"
_KIND = "absa"


def save(directory: str | Path, asker: Asker, *, int8: bool = False, bits: Bits = 8) -> None:
    """Save a model, atomically.

    Args:
        directory: Where to; made where absent.
        asker: The model.
        int8: Store matrices in bytes.
        bits: How fine these are, see :class:`weft.encoder.checkpoint.int8.Int8Storage`.

    Raises:
        CheckpointError: It cannot be written.
        ConfigError: No such number of bits, or bits without ``int8``.
    """
    if bits != 8 and not int8:
        raise ConfigError(f"bits is {bits} for a model stored in floats", hint="give int8=True, too")
    module: nn.Module = Int8Storage(own_tensors(asker.module), bits) if int8 else asker.module
    values = {"model": asker.config.to_dict(), "int8": int8}
    save_model(directory, module, values, asker.tokenizer, kind=_KIND)


def recalibrate(
    name_or_dir: str | Path,
    directory: str | Path,
    temperature: float,
    threshold: float,
    length_power: float | None = None,
) -> None:
    """Save a stored model under another temperature and decision threshold, its weights bit by bit as they are.

    Args:
        name_or_dir: A shipped model or a directory.
        directory: Where to; it may be the same one.
        temperature: Of the probabilities.
        threshold: Of the decision.
        length_power: How confidence falls with a text's length; None keeps the model's.

    Raises:
        CheckpointError: There is no such model, it is damaged, or it cannot be written.
        ConfigError: A temperature that is not positive, or a threshold outside [0, 1].
    """
    stored, asker, int8 = _stored(name_or_dir)
    power = asker.config.length_power if length_power is None else length_power
    config = replace(asker.config, temperature=temperature, threshold=threshold, length_power=power)
    save_model(directory, stored, {"model": config.to_dict(), "int8": int8}, asker.tokenizer, kind=_KIND)


def load(name_or_dir: str | Path = DEFAULT_MODEL) -> Asker:
    """Load a shipped model by its name, or a model from its directory.

    Raises:
        CheckpointError: There is none, or it is damaged.
    """
    stored, asker, _ = _stored(name_or_dir)
    model = asker.module
    if isinstance(stored, Int8Storage):
        stored.fill(model)
    model.eval()
    conditioner = model.encoder.conditioner
    if isinstance(conditioner, QuasiContext):
        conditioner.fold()
    return asker


def _stored(name_or_dir: str | Path) -> tuple[nn.Module, Asker, bool]:
    """What lies on disk, the model that it fills (and is, where it is not in int8), and whether it is in int8."""
    directory = find(name_or_dir)
    built: list[AnyModel] = []

    def build(values: dict[str, Any]) -> nn.Module:
        # In single precision, whatever torch makes by default: the answers are those of the commands.
        model = build_model(AbsaConfig.from_dict(values["model"])).float()
        built.append(model)
        return Int8Storage.empty(own_tensors(model)) if values["int8"] else model

    stored = load_model(directory, build, _KIND)
    tokenizer = load_tokenizer(directory)
    if tokenizer is None:
        raise CheckpointError("has no tokenizer", where=str(directory))
    return stored, Asker(built[-1], tokenizer), isinstance(stored, Int8Storage)


def find(name_or_dir: str | Path) -> Path:
    """The directory of a model of this kind: see :func:`weft.platform.models.find_model`."""
    return find_model("absa", name_or_dir)

"""Models on disk: weights in int8 or as they are, configuration, tokenizer; found by name or directory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from weft.absa.config import AbsaConfig
from weft.absa.model.build import AnyModel, build_model
from weft.absa.use.asker import Asker
from weft.condition.quasi import QuasiContext
from weft.encoder.checkpoint.storage import load_model, save_model
from weft.encoder.checkpoint.tensors import own_tensors
from weft.encoder.checkpoint.tokenizer import load_tokenizer
from weft.errors import CheckpointError
from weft.platform.models import find_model

DEFAULT_MODEL = "absa-small"
_KIND = "absa"
_SCALE = "/scale"


class Int8Storage(nn.Module):
    """The tensors of a model as they lie on disk: matrices in int8 with a scale for each row.

    W_ij ≈ s_i·q_ij,   s_i = max_j |W_ij| / 127,   q_ij = round(W_ij / s_i)

    What is not a matrix stays as it is. The file has a quarter of the size; the model computes in float
    as before.

    Args:
        tensors: Names and tensors of a model.
    """

    def __init__(self, tensors: Mapping[str, Tensor]) -> None:
        super().__init__()
        for name, tensor in tensors.items():
            key = name.replace(".", "/")
            if tensor.dim() < 2 or not tensor.is_floating_point():
                self.register_buffer(key, tensor.detach().clone())
                continue
            values = tensor.detach().float()
            scale = values.abs().amax(dim=-1, keepdim=True) / 127
            rounded = (values / scale.clamp(min=torch.finfo(torch.float32).tiny)).round()
            self.register_buffer(key, rounded.to(torch.int8))
            self.register_buffer(key + _SCALE, scale)

    def fill(self, module: nn.Module) -> None:
        """Copy the tensors into the module from whose names and shapes this storage was made."""
        stored = dict(self.named_buffers())
        with torch.no_grad():
            for name, tensor in own_tensors(module).items():
                key = name.replace(".", "/")
                values = stored[key]
                scale = stored.get(key + _SCALE)
                tensor.copy_(values if scale is None else values.float() * scale)


def save(directory: str | Path, asker: Asker, *, int8: bool = False) -> None:
    """Save a model, atomically.

    Args:
        directory: Where to; made where absent.
        asker: The model.
        int8: Store matrices in eight bits.

    Raises:
        CheckpointError: It cannot be written.
    """
    module: nn.Module = Int8Storage(own_tensors(asker.module)) if int8 else asker.module
    values = {"model": asker.config.to_dict(), "int8": int8}
    save_model(directory, module, values, asker.tokenizer, kind=_KIND)


def recalibrate(name_or_dir: str | Path, directory: str | Path, temperature: float, threshold: float) -> None:
    """Save a stored model under another temperature and decision threshold, its weights bit by bit as they are.

    Args:
        name_or_dir: A shipped model or a directory.
        directory: Where to; it may be the same one.
        temperature: Of the probabilities.
        threshold: Of the decision.

    Raises:
        CheckpointError: There is no such model, it is damaged, or it cannot be written.
        ConfigError: A temperature that is not positive, or a threshold outside [0, 1].
    """
    stored, asker, int8 = _stored(name_or_dir)
    config = replace(asker.config, temperature=temperature, threshold=threshold)
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
        model = build_model(AbsaConfig.from_dict(values["model"]))
        built.append(model)
        return Int8Storage(own_tensors(model)) if values["int8"] else model

    stored = load_model(directory, build, _KIND)
    tokenizer = load_tokenizer(directory)
    if tokenizer is None:
        raise CheckpointError("has no tokenizer", where=str(directory))
    return stored, Asker(built[-1], tokenizer), isinstance(stored, Int8Storage)


def find(name_or_dir: str | Path) -> Path:
    """The directory of a model of this kind: see :func:`weft.platform.models.find_model`."""
    return find_model("absa", name_or_dir)

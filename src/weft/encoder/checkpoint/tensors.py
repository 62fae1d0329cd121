"""Tensor files read with suspicion: nothing in them runs, and every tensor has its one place."""

from __future__ import annotations

import errno
import pickle
import re
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from weft.encoder.checkpoint.record import SAFETENSORS, digest_of, read_json
from weft.errors import CheckpointError

PICKLE = "pytorch_model.bin"
_LISTED = 12
_FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


def read_tensors(directory: Path) -> dict[str, Tensor]:
    """Read the tensors of a checkpoint directory: safetensors first, single or sharded, then a pickle.

    A pickle is read with ``weights_only=True``: tensors and plain containers, no code.

    Raises:
        CheckpointError: No weights, a truncated or damaged file, a pickle that holds anything else than
            named tensors, a shard that is missing or lies elsewhere, one tensor in two shards.
    """
    for name, read in ((SAFETENSORS, read_safetensors), (PICKLE, _read_pickle)):
        if (directory / name).is_file():
            return read(directory / name)
        index = directory / f"{name}.index.json"
        if index.is_file():
            tensors: dict[str, Tensor] = {}
            for shard in _shards(index):
                part = read(shard)
                twice = sorted(tensors.keys() & part.keys())
                if twice:
                    raise CheckpointError(f"{listed(twice)} also in another shard", where=str(shard))
                tensors.update(part)
            return tensors
    raise CheckpointError(f"neither {SAFETENSORS} nor {PICKLE}, nor an index of either", where=str(directory))


def read_safetensors(path: Path) -> dict[str, Tensor]:
    """Read one safetensors file.

    Raises:
        CheckpointError: It cannot be read, or is no whole safetensors file.
    """
    try:
        return load_file(path)
    except SafetensorError as error:
        raise CheckpointError(f"damaged or truncated: {error}", where=str(path)) from error
    except OSError as error:
        raise CheckpointError(f"cannot be read: {error.strerror or error}", where=str(path)) from error


def write_safetensors(
    path: Path, tensors: Mapping[str, Tensor], metadata: dict[str, str] | None = None
) -> str:
    """Write tensors to a file of :func:`weft.platform.files.replaced`, and return its digest.

    Raises:
        OSError: It cannot be written; safetensors has an error of its own, which tells the number in words.
    """
    try:
        save_file(dict(tensors), path, metadata=metadata)
    except SafetensorError as error:
        number = re.search(r"os error (\d+)", str(error))
        raise OSError(int(number[1]) if number else errno.EIO, str(error)) from error
    return digest_of(path)


def fill(targets: Mapping[str, Tensor], tensors: Mapping[str, Tensor], where: str) -> None:
    """Copy every tensor into the target of the same name; the names must be the same, all of them.

    Raises:
        CheckpointError: Missing or unexpected tensors, other shapes, integers for numbers, NaN or
            infinity; all of a kind are listed at once.
    """
    faults = _misfits(targets, {name: tuple(tensor.shape) for name, tensor in tensors.items()})
    common = [name for name in targets if name in tensors]
    mistyped = [
        f"{name} {_kind(tensors[name])}" for name in common if not _alike(tensors[name], targets[name])
    ]
    if mistyped:
        faults.append(f"{len(mistyped)} of another kind of number: {listed(mistyped)}")
    plain = [name for name in common if _alike(tensors[name], targets[name])]
    infinite = [name for name in plain if not bool(torch.isfinite(tensors[name]).all())]
    if infinite:
        faults.append(f"{len(infinite)} with NaN or infinity: {listed(infinite)}")
    _refuse(faults, where)
    with torch.no_grad():
        for name in common:
            targets[name].copy_(tensors[name])


def _alike(tensor: Tensor, target: Tensor) -> bool:
    """Whether a tensor holds numbers, all of them, of the target's kind."""
    if tensor.layout != torch.strided or tensor.is_quantized or tensor.is_meta:
        return False
    if target.is_floating_point():
        return tensor.dtype in _FLOATS
    return not tensor.is_floating_point() and not tensor.is_complex()


def _kind(tensor: Tensor) -> str:
    forms = {
        "sparse": tensor.layout != torch.strided,
        "quantized": tensor.is_quantized,
        "empty": tensor.is_meta,
    }
    return " ".join([*(name for name, held in forms.items() if held), str(tensor.dtype)])


def check_shapes(targets: Mapping[str, Tensor], shapes: Mapping[str, tuple[int, ...]], where: str) -> None:
    """Check that a file has every tensor in its shape, and no other.

    Raises:
        CheckpointError: Missing, unexpected or misshapen tensors; all of a kind are listed at once.
    """
    _refuse(_misfits(targets, shapes), where)


def _misfits(targets: Mapping[str, Tensor], shapes: Mapping[str, tuple[int, ...]]) -> list[str]:
    kinds = {
        "missing": [name for name in targets if name not in shapes],
        "unexpected": [name for name in shapes if name not in targets],
        "of another shape": [
            f"{name} {shapes[name]} instead of {tuple(target.shape)}"
            for name, target in targets.items()
            if name in shapes and shapes[name] != tuple(target.shape)
        ],
    }
    return [f"{len(names)} {kind}: {listed(names)}" for kind, names in kinds.items() if names]


def _refuse(faults: Sequence[str], where: str) -> None:
    if faults:
        raise CheckpointError(f"the tensors do not fit: {'; '.join(faults)}", where=where)


def own_tensors(module: nn.Module) -> dict[str, Tensor]:
    """Parameters and persistent buffers by name; a tied one only under its first name."""
    distinct: dict[str, Tensor] = {}
    seen: set[int] = set()
    for name, tensor in module.state_dict(keep_vars=True).items():
        if id(tensor) not in seen:
            seen.add(id(tensor))
            distinct[name] = tensor
    return distinct


def listed(names: Sequence[str]) -> str:
    """The names with commas, the first dozen of many."""
    rest = len(names) - _LISTED
    return ", ".join(names[:_LISTED]) + (f" and {rest} more" if rest > 0 else "")


def _read_pickle(path: Path) -> dict[str, Tensor]:
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Detected pickle protocol", UserWarning)
            loaded = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        raise CheckpointError(
            "refused: the pickle is damaged or holds more than tensors, which could run code",
            where=str(path),
            hint="ask its author for model.safetensors",
        ) from error
    except Exception as error:  # on damaged bytes the unpickler raises whatever it runs into
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise CheckpointError(f"damaged or truncated: {reason}", where=str(path)) from error
    if not isinstance(loaded, dict) or not all(
        isinstance(name, str) and isinstance(tensor, Tensor) for name, tensor in loaded.items()
    ):
        raise CheckpointError("holds something else than named tensors", where=str(path))
    return loaded


def _shards(index: Path) -> list[Path]:
    weight_map = read_json(index).get("weight_map")
    if not isinstance(weight_map, dict) or not weight_map:
        raise CheckpointError("has no weight_map", where=str(index))
    shards: list[Path] = []
    for name in sorted({str(file) for file in weight_map.values()}):
        if Path(name).name != name:
            raise CheckpointError(f"names {name!r}, outside its directory", where=str(index))
        if not (index.parent / name).is_file():
            raise CheckpointError(f"names {name}, which is not there", where=str(index))
        shards.append(index.parent / name)
    return shards

"""The whole state of a training run as named tensors and JSON, and back."""

from __future__ import annotations

import base64
import random
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from weft.errors import CheckpointError


def model_tensors(model: nn.Module) -> dict[str, Tensor]:
    """Parameters and buffers; a tensor shared under several names is kept under its first."""
    seen: dict[tuple[int, int, tuple[int, ...], torch.device], str] = {}
    tensors: dict[str, Tensor] = {}
    for name, tensor in model.state_dict().items():
        if tensor.numel() and seen.setdefault(_identity(tensor), name) != name:
            continue
        tensors[name] = tensor
    return tensors


def load_model_tensors(model: nn.Module, tensors: Mapping[str, Tensor], where: str) -> None:
    """Load what :func:`model_tensors` gave, strictly.

    Raises:
        CheckpointError: Missing, unexpected or misshapen tensors, listed.
    """
    own = model_tensors(model)
    missing, unexpected = sorted(own.keys() - tensors.keys()), sorted(tensors.keys() - own.keys())
    misshapen = sorted(name for name in own.keys() & tensors.keys() if own[name].shape != tensors[name].shape)
    problems = [
        f"{kind}: {', '.join(names[:5])}{' …' if len(names) > 5 else ''}"
        for kind, names in (("missing", missing), ("unexpected", unexpected), ("of another shape", misshapen))
        if names
    ]
    if problems:
        raise CheckpointError(f"does not fit the model; {'; '.join(problems)}", where=where)
    with torch.no_grad():
        for name, tensor in own.items():
            tensor.copy_(tensors[name])


def optimizer_tensors(optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """The optimiser's moments, under ``parameter name|moment``."""
    return {
        f"{name}|{key}": torch.as_tensor(value)
        for group in optimizer.param_groups
        for name, parameter in zip(group["names"], group["params"], strict=True)
        for key, value in optimizer.state[parameter].items()
    }


def load_optimizer_tensors(
    optimizer: torch.optim.Optimizer, tensors: Mapping[str, Tensor], where: str
) -> None:
    """Load what :func:`optimizer_tensors` gave.

    Raises:
        CheckpointError: Moments of a parameter that the optimiser does not train.
    """
    moments: dict[str, dict[str, Tensor]] = {}
    for key, tensor in tensors.items():
        name, _, moment = key.rpartition("|")
        moments.setdefault(name, {})[moment] = tensor
    names = [name for group in optimizer.param_groups for name in group["names"]]
    unknown = sorted(moments.keys() - set(names))
    if unknown:
        raise CheckpointError(
            f"holds moments of parameters that are not trained: {', '.join(unknown[:5])}", where=where
        )
    state = optimizer.state_dict()
    state["state"] = {index: moments[name] for index, name in enumerate(names) if name in moments}
    optimizer.load_state_dict(state)


def random_state(device: torch.device) -> dict[str, Any]:
    """The states of this process's generators (torch on host and device, Python, NumPy), as JSON."""
    version, words, gauss = random.getstate()
    _, keys, position, has_gauss, cached = np.random.get_state()
    state = {
        "python": [version, list(words), gauss],
        "numpy": [np.asarray(keys).tolist(), int(position), int(has_gauss), float(cached)],
        "torch": _encode(torch.get_rng_state()),
    }
    if device.type == "cuda":
        state["cuda"] = _encode(torch.cuda.get_rng_state(device))
    return state


def set_random_state(state: Mapping[str, Any], device: torch.device) -> None:
    """Set what :func:`random_state` gave."""
    version, words, gauss = state["python"]
    random.setstate((version, tuple(words), gauss))
    keys, position, has_gauss, cached = state["numpy"]
    np.random.set_state(("MT19937", np.array(keys, dtype=np.uint32), position, has_gauss, cached))
    torch.set_rng_state(_decode(state["torch"]))
    if device.type == "cuda" and "cuda" in state:
        torch.cuda.set_rng_state(_decode(state["cuda"]), device)


def seed_everything(seed: int) -> None:
    """Seed torch on every device, Python and NumPy."""
    random.seed(seed)
    np.random.seed(seed % 2**32)
    torch.manual_seed(seed)


def _encode(state: Tensor) -> str:
    return base64.b64encode(state.numpy().tobytes()).decode()


def _decode(text: str) -> Tensor:
    return torch.frombuffer(bytearray(base64.b64decode(text)), dtype=torch.uint8)


def _identity(tensor: Tensor) -> tuple[int, int, tuple[int, ...], torch.device]:
    return tensor.data_ptr(), tensor.numel(), tuple(tensor.stride()), tensor.device

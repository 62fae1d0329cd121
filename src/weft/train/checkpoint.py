"""Checkpoints on disk: whole or absent, checked when read, never a pickle.

    checkpoints/step-00000100/model.safetensors  optimizer.safetensors  state.json

A checkpoint is written into a hidden folder, flushed to the disk and renamed: a killed process leaves
the one before it. ``state.json`` holds the digests of the other files and of itself.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from weft.encoder.checkpoint.tensors import digest_of, write_safetensors
from weft.errors import CheckpointError
from weft.platform import files

_NAME = re.compile(r"step-(\d{8,})")
_FORMAT = 1


@dataclass(frozen=True)
class Checkpoint:
    """What a checkpoint holds.

    Args:
        name: ``step-00000100``.
        tensors: Named groups of named tensors.
        state: The rest, as JSON.
    """

    name: str
    tensors: dict[str, dict[str, Tensor]]
    state: dict[str, Any]


class Checkpoints:
    """The checkpoints of one run.

    Args:
        directory: Where they lie; made when the first is saved.
        keep: How many of the newest are kept.
    """

    def __init__(self, directory: Path, keep: int = 2) -> None:
        self.directory = directory
        self.keep = keep

    def names(self) -> list[str]:
        """The checkpoints' names, oldest first."""
        if not self.directory.is_dir():
            return []
        found = [entry.name for entry in self.directory.iterdir() if _NAME.fullmatch(entry.name)]
        return sorted(found, key=_step_of)

    def save(self, step: int, tensors: Mapping[str, Mapping[str, Tensor]], state: Mapping[str, Any]) -> Path:
        """Write the checkpoint of a step; then remove those beyond ``keep`` and those of later steps.

        Raises:
            OutputError: It cannot be written (no space, no permission); the one before it is untouched.
        """
        name = f"step-{step:08d}"
        place = files.make_folder(self.directory) / name
        with files.replaced_folder(place) as part:
            digests = {
                group: _write_tensors(part / f"{group}.safetensors", tensors[group]) for group in tensors
            }
            content = {"format": _FORMAT, "step": step, "files": digests, "state": dict(state)}
            (part / "state.json").write_text(json.dumps({"sha256": digest_of_json(content), **content}))
        reached = [other for other in self.names() if _step_of(other) <= step]
        # Later ones are of a future that was given up when the run was taken up before them.
        with files.writing_to(self.directory):
            for other in set(self.names()) - set(reached[-self.keep :]):
                shutil.rmtree(self.directory / other)
        return place

    def load(self, name: str | None = None) -> Checkpoint:
        """Read a checkpoint, the newest unless one is named, after checking all its digests.

        Raises:
            CheckpointError: No such checkpoint, or a damaged one; the newest intact one before it is named.
        """
        names = self.names()
        if name is None and names:
            name = names[-1]
        if name not in names:
            known = ", ".join(names) or "none"
            raise CheckpointError(
                f"no checkpoint {name or ''}".strip(), where=str(self.directory), hint=f"there: {known}"
            )
        damage = self._damage(name)
        if damage is not None:
            earlier = [other for other in names if _step_of(other) < _step_of(name)]
            intact = next((other for other in reversed(earlier) if self._damage(other) is None), None)
            way_out = (
                f"resume from {intact!r}, which is intact" if intact else "start again in another directory"
            )
            raise CheckpointError(f"damaged: {damage}", where=str(self.directory / name), hint=way_out)
        content = json.loads((self.directory / name / "state.json").read_bytes())
        tensors = {
            group: load_tensors(self.directory / name / f"{group}.safetensors") for group in content["files"]
        }
        return Checkpoint(name, tensors, content["state"])

    def states(self) -> list[dict[str, Any]]:
        """The states of all checkpoints, oldest first, as they stand there; without those that are none."""
        found: list[dict[str, Any]] = []
        for name in self.names():
            with suppress(OSError, ValueError, KeyError, TypeError):
                found.append(dict(json.loads((self.directory / name / "state.json").read_bytes())["state"]))
        return found

    def _damage(self, name: str) -> str | None:
        """What is wrong with a checkpoint; None if nothing is."""
        place = self.directory / name
        try:
            content = json.loads((place / "state.json").read_bytes())
            claimed = content.pop("sha256")
            if claimed != digest_of_json(content):
                return "state.json does not match its digest"
            if content["format"] != _FORMAT:
                return f"format {content['format']}, this version reads {_FORMAT}"
            for group, digest in content["files"].items():
                if digest_of(place / f"{group}.safetensors") != digest:
                    return f"{group}.safetensors does not match its digest"
        except OSError as error:
            return f"{Path(error.filename or 'a file').name} cannot be read: {error.strerror}"
        except (ValueError, KeyError, TypeError, AttributeError):
            return "state.json is not a checkpoint's"
        return None


def save_tensors(path: Path, tensors: Mapping[str, Tensor]) -> None:
    """Write tensors to one file, atomically.

    Raises:
        OutputError: The file cannot be written.
    """
    files.make_folder(path.parent)
    with files.replaced(path) as part:
        _write_tensors(part, tensors)


def load_tensors(path: Path) -> dict[str, Tensor]:
    """Read tensors from one file.

    Raises:
        CheckpointError: The file is missing or is not a whole safetensors file.
    """
    try:
        return load_file(path)
    except (OSError, SafetensorError) as error:
        raise CheckpointError(f"cannot be read: {error}", where=str(path)) from error


def _write_tensors(path: Path, tensors: Mapping[str, Tensor]) -> str:
    # safetensors refuses tensors that share memory: every tensor gets its own, on the host.
    own = {
        name: torch.empty_like(tensor, device="cpu").copy_(tensor).contiguous()
        for name, tensor in tensors.items()
    }
    return write_safetensors(path, own)


def digest_of_json(content: Any) -> str:
    """SHA-256 of a value as JSON, whatever the order of its keys."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _step_of(name: str) -> int:
    match = _NAME.fullmatch(name)
    return int(match[1]) if match else -1

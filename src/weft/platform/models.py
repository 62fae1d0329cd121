"""Models: found by name or folder, listed, and held against their weights before anything is allocated."""

from __future__ import annotations

import difflib
import math
import os
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib.resources import files
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from weft.errors import CheckpointError, InputError, LimitError, with_article
from weft.platform.memory import lacks_memory
from weft.platform.reading import open_input, parse_json

if TYPE_CHECKING:
    from torch import nn

_CONFIG = "config.json"
_HEADER_BYTES = 100_000_000
"""What safetensors itself allows a header."""
_SHOWN = 200
_SPARE = 64
_MOST_TENSORS = 10_000
_SMALLER = "fewer layers, or smaller ones"
_Shapes = Mapping[str, tuple[int, ...]]
_Module = TypeVar("_Module", bound="nn.Module")


def shipped_models(kind: str = "") -> dict[str, Path]:
    """The models that come with the package, by name: those of one kind, such as ``"bcsd"``, or all."""
    weights = Path(str(files("weft"))) / "weights"
    pattern = f"{kind}-*/{_CONFIG}" if kind else f"*/{_CONFIG}"
    return {path.parent.name: path.parent for path in sorted(weights.glob(pattern))}


def find_model(kind: str, name_or_dir: str | Path) -> Path:
    """The folder of a model: the shipped one of that name, or one of that path.

    A shipped model's bare name is always that model: a folder that happens to be called so where one works is
    ``./NAME``.

    Args:
        kind: ``"absa"``, ``"bcsd"`` or ``"kg"``: which shipped models it may be.
        name_or_dir: A folder with a ``config.json``, or a name.

    Raises:
        CheckpointError: There is neither; the nearest name is told.
    """
    name, shipped, beside = str(name_or_dir), shipped_models(kind), dict[str, str]()
    folder = Path(name)
    try:
        if name in shipped and not isinstance(name_or_dir, Path):
            return shipped[name]
        if name and (folder / _CONFIG).is_file():
            return folder
        if name in shipped:
            return shipped[name]
        if name and folder.exists():
            what = f"has no {_CONFIG}" if folder.is_dir() else "is a file"
            raise CheckpointError(what, where=name, hint="name a model's folder")
        found = islice(folder.parent.glob(f"*/{_CONFIG}"), 1000)
        beside = {path.parent.name: str(path.parent) for path in found}
    except (OSError, ValueError):
        pass  # a name that no file system takes
    near = _near(folder.name, [*shipped, *beside])
    listed = f"give a folder, or a shipped model: {', '.join(shipped) or 'none'}"
    hint = f"did you mean {beside.get(near, near)}?" if near else listed
    raise CheckpointError("no such model", where=repr(_shown(name)), hint=hint)


def read_shapes(path: Path) -> dict[str, tuple[int, ...]]:
    """The shapes of the tensors of a safetensors file, from its header alone.

    Raises:
        CheckpointError: It cannot be read, or has no such header.
    """
    try:
        with open_input(path) as file:
            length = int.from_bytes(file.read(8), "little")
            text = file.read(length) if length <= _HEADER_BYTES else b""
        entries = parse_json(text.decode("utf-8"), str(path))
        shapes = {
            name: tuple(int(size) for size in entry["shape"])
            for name, entry in entries.items()
            if name != "__metadata__"
        }
    except InputError as error:
        raise CheckpointError(error.what, where=error.where, hint=error.hint) from error
    except (UnicodeDecodeError, AttributeError, KeyError, TypeError, ValueError) as error:
        raise CheckpointError("damaged or truncated: no header of safetensors", where=str(path)) from error
    return shapes


def build_within(build: Callable[[], _Module], shapes: _Shapes, where: str) -> _Module:
    """Build a module without storage, and stop as soon as it holds more than its weights' file.

    A configuration of a million layers, or of a width of a billion, ends here: nothing is allocated, and no more
    layers are made than the file has tensors for.

    Args:
        build: Makes the module.
        shapes: Of the tensors of the file.
        where: The file or folder, for the message.

    Raises:
        CheckpointError: There are more, or larger, parameters than in the file.
    """
    most, largest = 2 * len(shapes) + _SPARE, max(map(math.prod, shapes.values()), default=0)
    made = 0

    def count(name: str, parameter: Any) -> None:
        nonlocal made
        made += 1
        if made > most:
            raise CheckpointError(
                f"its configuration asks for more tensors than its weights have, which are {len(shapes):,}",
                where=where,
            )
        if parameter is not None and parameter.numel() > largest:
            raise CheckpointError(
                f"its configuration asks for {with_article(name)} of {tuple(parameter.shape)}; the largest of its "
                f"weights' tensors holds {largest:,} numbers",
                where=where,
            )

    try:
        with _watched(count), without_storage():
            return build()
    except RuntimeError as error:  # sizes whose product no machine word holds
        raise CheckpointError(
            f"its configuration's sizes are beyond all bounds: {str(error).splitlines()[0]}", where=where
        ) from error


class _Watch(threading.local):
    """What looks at the parameters that a thread's modules are given."""

    look: Callable[[str, Any], None] | None = None


_watch, _hooking = _Watch(), threading.Lock()


@contextmanager
def _watched(look: Callable[[str, Any], None]) -> Iterator[None]:
    """Every parameter that a module of this thread is given is shown to ``look``, by name.

    PyTorch has such hooks for the whole process: one that came and went would see what other threads build, and stop
    them where it changes while they go through it. So there is one that stays.
    """
    with _hooking:
        _hook()
    before, _watch.look = _watch.look, look
    try:
        yield
    finally:
        _watch.look = before


@cache
def _hook() -> None:
    from torch.nn.modules.module import register_module_parameter_registration_hook

    def show(_module: nn.Module, name: str, parameter: Any) -> None:
        if _watch.look is not None:
            _watch.look(name, parameter)

    register_module_parameter_registration_hook(show)


@contextmanager
def without_storage() -> Iterator[None]:
    """Tensors have a shape and no numbers, and nothing draws any: PyTorch would load its compiler to do so."""
    import torch

    with torch.device("meta"), without_drawing():
        yield


@contextmanager
def without_drawing() -> Iterator[None]:
    """Nothing is drawn at random: parameters hold whatever their memory held, until a file fills them."""
    import torch
    from torch.overrides import TorchFunctionMode

    init, method = torch.nn.init, torch.Tensor
    drawing = {init.normal_, init.uniform_, init.kaiming_uniform_, method.normal_, method.uniform_}

    class Undrawn(TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if func in drawing:
                return args[0] if args else kwargs["tensor"]
            if func is torch.eye and kwargs and "out" in kwargs:  # of `init.eye_`
                return kwargs["out"]
            return (torch.empty if func in (torch.randn, torch.rand) else func)(*args, **(kwargs or {}))

    with Undrawn():
        yield


@contextmanager
def within_memory() -> Iterator[None]:
    """Stop the making of modules that this machine cannot train, before their parameters are written to.

    AdamW holds a parameter, its gradient and two moments: four numbers for each. A configuration of a million layers
    ends after the first few thousand.

    Raises:
        LimitError: There are more or larger parameters.
    """
    most = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    made = size = 0

    def count(_name: str, parameter: Any) -> None:
        nonlocal made, size
        made += 1
        size += 0 if parameter is None else parameter.numel() * parameter.element_size()
        if made > _MOST_TENSORS:
            raise LimitError(f"the settings ask for more than {_MOST_TENSORS:,} tensors", hint=_SMALLER)
        if 4 * size > most:
            raise LimitError(
                f"the settings ask for more than {size / 1e9:,.1f} GB of parameters; training takes four times as "
                f"much, and this machine has {most / 1e9:,.1f} GB",
                hint=_SMALLER,
            )

    try:
        with _watched(count):
            yield
    except (RuntimeError, MemoryError) as error:
        if not lacks_memory(error):
            raise
        asked = re.search(r"allocate (\d+) bytes", str(error))
        told = f"one tensor of {int(asked[1]) / 1e9:,.1f} GB" if asked else "tensors"
        raise LimitError(
            f"the settings ask for {told} that this machine cannot hold", hint=_SMALLER
        ) from error


def describe_models() -> list[dict[str, Any]]:
    """For each shipped model its name, size in megabytes, and the first sentence of its card."""
    found: list[dict[str, Any]] = []
    for name, folder in shipped_models().items():
        paragraphs = (" ".join(part.split()) for part in model_card(name).split("\n\n"))
        prose = next((part for part in paragraphs if part and not part.startswith(("#", "---", "|"))), "")
        summary = re.split(r"(?<=[.!?]) ", prose, maxsplit=1)[0]
        size = sum(path.stat().st_size for path in folder.iterdir() if path.is_file())
        found.append({"name": name, "megabytes": round(size / 1e6, 1), "summary": summary})
    return found


def model_card(name: str) -> str:
    """The card of a shipped model.

    Raises:
        CheckpointError: There is none of that name; the nearest one is told.
    """
    shipped = shipped_models()
    if name not in shipped:
        near = _near(name, list(shipped))
        hint = f"did you mean {near}?" if near else f"there are: {', '.join(shipped)}"
        raise CheckpointError(f"no shipped model {_shown(name)!r}", hint=hint)
    return (shipped[name] / "README.md").read_text(encoding="utf-8")


def _shown(name: str) -> str:
    return name if len(name) <= _SHOWN else f"{name[:_SHOWN]}… ({len(name):,} characters)"


def _near(name: str, known: list[str]) -> str:
    return next(iter(difflib.get_close_matches(name[:_SHOWN], known, n=1)), "")

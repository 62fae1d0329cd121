"""A tiny source tree, its data set, and a small model for it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from weft.kg.config import ModelConfig
from weft.kg.dataset.code import BuildConfig, build_code
from weft.kg.learn.code import named_config
from weft.kg.model.leafy_chain import LeafyChainModel
from weft.kg.read.funnel import Funnel
from weft.kg.represent.dataset import Dataset, load_dataset

MODULE = '''
"""Shapes of module {n}."""
from collections import OrderedDict, deque


class Shape{n}(Base):
    """A shape.

    With a long text.
    """

    sides = {n}
    names = []

    def __init__(self, width: int, height: int = {n}) -> None:
        self.width = width
        self.height_{n} = height

    @property
    def area(self) -> float:
        return self.width * self.height_{n}

    def grow(self, factor=None, *, limit=True):
        if factor is None:
            raise ValueError("no factor")
        for side in self.names:
            self.scale(side, factor)
        table = {{}}
        text = "".join(self.names)
        try:
            first = open_shape(text)
        except (OSError, KeyError):
            return None
        first.close()
        table.update(limit=limit)
        return table


@register
def load_{n}(path, mode="r"):
    # Reads a shape_{n} file.
    lines = path.read_lines()
    count = len(lines)
    total_{n} = count + {n}
    return Shape{n}(total_{n}, count)
'''


def write_tree(folder: Path, names: list[str]) -> Path:
    """Modules that differ in a number."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, name in enumerate(names, 1):
        (folder / f"{name}.py").write_text(MODULE.format(n=number), encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    # Names whose hash puts some of them into each part.
    return write_tree(tmp_path_factory.mktemp("tree"), [f"module_{letter}" for letter in "abcdefghijklmnop"])


@pytest.fixture(scope="session")
def built(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Funnel]:
    folder = tmp_path_factory.mktemp("dataset")
    config = BuildConfig(vocab_size=420, valid_percent=15, test_percent=25, overlap=1.0, stubs=False)
    return folder, build_code([tree], folder, config)


@pytest.fixture(scope="session")
def dataset(built: tuple[Path, Funnel]) -> Dataset:
    return load_dataset(built[0])


@pytest.fixture
def small(dataset: Dataset) -> ModelConfig:
    return named_config("weft-kg", dataset, hidden_size=32, layers=2, heads=2)


@pytest.fixture
def model(small: ModelConfig) -> LeafyChainModel:
    torch.manual_seed(0)
    return LeafyChainModel(small).eval()


@pytest.fixture
def close(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], None]:
    """Makes a folder one that may not be opened, for root too, whom no mode keeps out."""

    def closing(folder: Path) -> None:
        def guard(real: Callable[..., Any]) -> Callable[..., Any]:
            def ask(path: Any = ".", *rest: Any, **options: Any) -> Any:
                below = path == str(folder) if real is listed else str(path).startswith(f"{folder}/")
                if below:
                    raise PermissionError(13, "Permission denied", str(path))
                return real(path, *rest, **options)

            return ask

        listed = os.scandir
        monkeypatch.setattr(os, "scandir", guard(listed))
        monkeypatch.setattr(os, "stat", guard(os.stat))

    return closing

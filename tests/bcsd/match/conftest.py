"""A small untrained model, mostly lexical, and two builds of the committed sample as matching reads them."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from weft.bcsd.match.side import SideRequest, read_side
from weft.bcsd.model.config import ModelConfig
from weft.bcsd.model.function_model import FunctionModel
from weft.bcsd.represent.lexical import Lexical
from weft.bcsd.use.embedder import Embedder
from weft.bcsd.use.score import ScoreWeights
from weft.bcsd.use.store import save

FILES = Path(__file__).parents[1] / "files"
CONFIG = ModelConfig(hidden_size=16, layers=2, heads=2, intermediate_size=32, max_instructions=24)


@pytest.fixture(scope="session")
def side_of():
    """File name → its side, with listings."""
    kept = {}

    def read(name):
        if name not in kept:
            kept[name] = read_side(SideRequest(str(FILES / name), listings=True))
        return kept[name]

    return read


@pytest.fixture(scope="session")
def model_dir(side_of, tmp_path_factory):
    """A model on disk."""
    torch.manual_seed(0)
    folder = tmp_path_factory.mktemp("models") / "tiny"
    lexical = Lexical.fit(side_of("gcc-O1-x86_64.so").table)
    save(folder, FunctionModel(CONFIG), lexical, ScoreWeights(lexical=10.0, hubness=0.5, neighbours=3))
    return folder


@pytest.fixture(scope="session")
def embedder(model_dir):
    """The same model, loaded."""
    return Embedder.load(model_dir)

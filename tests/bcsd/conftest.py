"""Committed binaries: `source/` is what they were made from, `expected/` what must be found in them."""

from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import torch

from weft.bcsd.dataset.assemble import dataset_schema
from weft.bcsd.disassemble.native import NativeDisassembler
from weft.bcsd.matching.match import match
from weft.bcsd.matching.rule import DEFAULT_RULE
from weft.bcsd.matching.side import SideRequest, read_side
from weft.bcsd.model.config import ModelConfig
from weft.bcsd.model.function_model import FunctionModel
from weft.bcsd.read import open_image
from weft.bcsd.represent.lexical import Lexical
from weft.bcsd.use.embedder import Embedder
from weft.bcsd.use.extract_files import build_table
from weft.bcsd.use.score import ScoreWeights
from weft.bcsd.use.store import save

FILES = Path(__file__).parent / "files"


@lru_cache(maxsize=64)
def _functions(name):
    image = open_image(FILES / name)
    found = sorted(NativeDisassembler().functions(image), key=lambda f: (f.address, f.size))
    return image, {function.name: function for function in found}


@pytest.fixture(scope="session")
def functions_of():
    """Name of a committed file → its image and its functions by name."""
    return _functions


@pytest.fixture(scope="session")
def files():
    """The folder of committed binaries."""
    return FILES


BUILDS = (
    "gcc-O0-x86_64",
    "gcc-O1-x86_64",
    "gcc-O2-x86_64",
    "gcc-O3-x86_64",
    "clang-O2-x86_64",
    "gcc-O2-aarch64",
    "clang-O3-aarch64",
)


@pytest.fixture(scope="session")
def labelled():
    """A small data set: every function of every build, once for each role under another package's name."""
    tables = []
    for role in ("test", "valid", "train"):
        for build in BUILDS:
            table = pa.concat_tables(list(build_table(str(FILES / f"{build}.so"))[0].tables()))
            names = table.column("name").to_pylist()
            named = [i for i, name in enumerate(names) if name and not name.startswith(("sub_", "_"))]
            table = table.take(pa.array(named, pa.int64()))
            names = table.column("name").to_pylist()
            compiler, level, _ = build.split("-")
            columns = {
                "package": [f"package-{role}"] * len(names),
                "role": [role] * len(names),
                "group": [f"package-{role}/{name}" for name in names],
                "build": [build] * len(names),
                "compiler": [compiler] * len(names),
                "level": [level] * len(names),
            }
            for column, values in columns.items():
                table = table.append_column(column, pa.array(values, pa.string()))
            table = table.append_column("duplicate", pa.array(np.zeros(len(names), bool)))
            tables.append(table.cast(dataset_schema()))
    return pa.concat_tables(tables)


@pytest.fixture(scope="session")
def side_of():
    """Name of a committed file → what matching reads of it, instructions included."""

    @lru_cache(maxsize=16)
    def read(name):
        return read_side(SideRequest(str(FILES / name), listings=True))

    return read


@pytest.fixture(scope="session")
def lexical_model(side_of, tmp_path_factory):
    """The folder of an untrained model whose score is mostly TF-IDF: it matches what is much alike."""
    torch.manual_seed(0)
    config = ModelConfig(hidden_size=16, layers=2, heads=2, intermediate_size=32, max_instructions=24)
    folder = tmp_path_factory.mktemp("models") / "lexical"
    idf = Lexical.fit(side_of("gcc-O1-x86_64.so").table)
    save(folder, FunctionModel(config), idf, ScoreWeights(lexical=10.0, hubness=0.5, neighbours=3))
    return folder


@pytest.fixture(scope="session")
def matching(side_of, lexical_model):
    """Two builds of the committed sample, matched; no pair is left out."""
    rule = replace(DEFAULT_RULE, floor=0.0)
    files = side_of("gcc-O2-x86_64.so"), side_of("clang-O2-x86_64.so")
    return match(*files, Embedder.load(lexical_model), rule)

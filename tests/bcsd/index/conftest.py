"""A small untrained model on disk, an index of committed binaries made with it, and rows made up."""

import shutil

import numpy as np
import pyarrow as pa
import pytest
import torch

from weft.bcsd.index import update
from weft.bcsd.model.config import ModelConfig
from weft.bcsd.model.function_model import FunctionModel
from weft.bcsd.represent.lexical import Lexical
from weft.bcsd.table import read_table
from weft.bcsd.use.embed_files import Embedding
from weft.bcsd.use.embedded import embedded_schema
from weft.bcsd.use.extract_files import Extraction, extract
from weft.bcsd.use.score import ScoreWeights
from weft.bcsd.use.store import save

NAMES = ("gcc-O0-x86_64.so", "gcc-O2-x86_64.so", "clang-O2-x86_64.so", "gcc-O2-aarch64.so")


@pytest.fixture(scope="session")
def make_model(files, tmp_path_factory):
    """Saves a small untrained model; other seeds, other weights."""
    table = tmp_path_factory.mktemp("fitted") / "functions.parquet"
    extract([str(files / NAMES[1])], table, Extraction())
    lexical = Lexical.fit(read_table(table))

    def make(folder, seed):
        torch.manual_seed(seed)
        shape = ModelConfig(hidden_size=32, layers=1, heads=2, intermediate_size=64, graph_layers=1)
        save(folder, FunctionModel(shape), lexical, ScoreWeights())
        return str(folder)

    return make


@pytest.fixture(scope="session")
def model(make_model, tmp_path_factory):
    return make_model(tmp_path_factory.mktemp("model") / "m", seed=0)


@pytest.fixture(scope="session")
def options(model):
    return Embedding(model=model, precision="fp32")


@pytest.fixture(scope="session")
def built(files, options, tmp_path_factory):
    """A folder of four binaries and an index of it: not to be changed."""
    place = tmp_path_factory.mktemp("built")
    (place / "in").mkdir()
    for name in NAMES:
        shutil.copy(files / name, place / "in" / name)
    changes = update.add([str(place / "in")], place / "index", options)
    assert [change.status for change in changes] == ["added"] * 4
    return place


@pytest.fixture
def copied(built, tmp_path):
    """The index of `built`, to be changed or damaged."""
    shutil.copytree(built / "index", tmp_path / "index")
    return tmp_path / "index"


@pytest.fixture(scope="session")
def make_rows():
    """Rows of one file, made up: unit vectors about `centres`, two lexical features."""

    def make(binary, count, seed=0, dimension=16, centres=None, spread=0.3):
        random = np.random.default_rng(seed)
        vectors = random.standard_normal((count, dimension))
        if centres is not None:
            vectors = centres[random.integers(0, len(centres), count)] + spread * vectors
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        digests = [f"{binary}-{seed}-{number}" for number in range(count)]
        columns = {
            "binary": [binary] * count,
            "binary_sha256": [f"{seed:064x}"] * count,
            "architecture": ["x86_64"] * count,
            "name": [f"f{number}" for number in range(count)],
            "aliases": [[]] * count,
            "address": list(range(0, 16 * count, 16)),
            "size": [16] * count,
            "num_blocks": [int(value) for value in random.integers(1, 30, count)],
            "num_edges": [3] * count,
            "num_instructions": [10] * count,
            "flags": [[]] * count,
            "digest": digests,
            "token_digest": digests,
            "embedding": list(vectors.astype(np.float32)),
            "lexical_tokens": [[1, 2]] * count,
            "lexical_values": [np.array([0.6, 0.8], np.float16)] * count,
            "operations": [None] * count,
            "inlined_operations": [None] * count,
            "inlined_tokens": [None] * count,
            "inlined_values": [None] * count,
            "sketch": [np.zeros(128, np.float16)] * count,
            "calls": [None] * count,
            "called_imports": [None] * count,
        }
        return pa.table(columns, schema=embedded_schema(dimension, "made up"))

    return make

"""Embeddings for use: order, length, batches, versions, files."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest
import torch

from weft.bcsd.model.batch import collate
from weft.bcsd.model.config import ModelConfig
from weft.bcsd.model.function_model import FunctionModel
from weft.bcsd.represent.arrays import FunctionArrays
from weft.bcsd.represent.lexical import Lexical
from weft.bcsd.use.embedder import Embedder
from weft.bcsd.use.extract_files import build_table
from weft.bcsd.use.score import ScoreWeights
from weft.bcsd.use.store import save
from weft.errors import CheckpointError, ConfigError, InputError

SMALL = ModelConfig(hidden_size=16, layers=2, heads=2, intermediate_size=32, max_instructions=24)


@pytest.fixture(scope="module")
def table(files) -> pa.Table:
    return pa.concat_tables(list(build_table(str(files / "gcc-O3-x86_64.so"))[0].tables()))


@pytest.fixture
def embedder(table) -> Embedder:
    torch.manual_seed(0)
    network = FunctionModel(SMALL)
    conditioner = network.encoder.conditioner
    for linear in conditioner.graph_to_v:  # leave the zero start, or the graph would not be read
        torch.nn.init.normal_(linear.weight, std=0.1)
    return Embedder(network, Lexical.fit(table), ScoreWeights(0.3, 0.4, 5))


def test_rows_are_unit_vectors_in_the_tables_order(embedder, table) -> None:
    vectors = embedder.embed(table, batch_size=7)
    assert vectors.shape == (table.num_rows, embedder.dimension)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    for i in (0, 5, table.num_rows - 1):
        np.testing.assert_allclose(embedder.embed(table.slice(i, 1))[0], vectors[i], atol=1e-5)


def test_the_same_table_gives_the_same_bits(embedder, table) -> None:
    assert embedder.embed(table).tobytes() == embedder.embed(table).tobytes()


def test_batches_and_padding_change_nothing(embedder, table) -> None:
    np.testing.assert_allclose(embedder.embed(table, 1), embedder.embed(table, 64), atol=1e-5)


def test_shapes_are_few_however_many_functions_there_are(embedder, table, monkeypatch) -> None:
    """Half precision on a CPU compiles code for every shape, and keeps it."""
    seen = set()
    inner = embedder.network._read

    def note(batch, *rest):
        seen.update(tuple(part.index.shape) for part in batch.sequences)
        return inner(batch, *rest)

    monkeypatch.setattr(embedder.network, "_read", note)
    for count in range(1, table.num_rows + 1):
        embedder.embed(table.slice(0, count), batch_size=8)
    assert {functions for functions, _ in seen} <= {1, 2, 4, 8}
    assert all(length % 8 == 0 for _, length in seen)


def test_blocks_are_read_in_full_precision_on_a_cpu(embedder, table) -> None:
    batch = collate(FunctionArrays.from_table(table), np.arange(4), embedder.network.config)
    with torch.inference_mode():
        full = embedder.network(batch).graph_summary
        with torch.autocast("cpu", torch.bfloat16):
            torch.testing.assert_close(embedder.network(batch).graph_summary, full, atol=0, rtol=0)
            embedder.network.train()
            in_training = embedder.network(batch).graph_summary
            embedder.network.eval()
    assert not torch.equal(in_training, full)


def test_half_precision_stays_near(embedder, table) -> None:
    half = Embedder(embedder.network, embedder.lexical, precision="bf16")
    alike = (half.embed(table) * embedder.embed(table)).sum(axis=1)
    assert alike.min() > 0.995


def test_an_empty_table_gives_no_rows(embedder, table) -> None:
    assert embedder.embed(table.slice(0, 0)).shape == (0, embedder.dimension)


def test_saved_and_loaded_it_is_the_same(embedder, table, tmp_path) -> None:
    save(tmp_path / "model", embedder.network, embedder.lexical, embedder.weights)
    again = Embedder.load(tmp_path / "model")
    assert again.version == embedder.version
    assert again.weights == embedder.weights
    np.testing.assert_array_equal(again.embed(table), embedder.embed(table))
    np.testing.assert_array_equal(again.lexical.idf, embedder.lexical.idf)


def test_the_version_follows_the_weights(embedder, table, tmp_path) -> None:
    with torch.no_grad():
        embedder.network.from_graph.weight[0, 0] += 1
    assert Embedder(embedder.network, embedder.lexical).version != embedder.version


def test_half_the_file_is_nearly_the_same_model(embedder, table, tmp_path) -> None:
    save(tmp_path / "model", embedder.network, embedder.lexical, embedder.weights, half=True)
    again = Embedder.load(tmp_path / "model")
    assert (again.embed(table) * embedder.embed(table)).sum(axis=1).min() > 0.999


def test_what_cannot_be_loaded_is_named(embedder, tmp_path) -> None:
    with pytest.raises(CheckpointError, match="no such model"):
        Embedder.load("nothing-like-it")
    save(tmp_path / "model", embedder.network, embedder.lexical, embedder.weights)
    path = tmp_path / "model" / "config.json"
    record = json.loads(path.read_text())
    record["config"]["vocabulary"] = "another"
    path.write_text(json.dumps(record))
    with pytest.raises(CheckpointError, match="another normaliser or vocabulary"):
        Embedder.load(tmp_path / "model")


def test_wrong_arguments_are_named(embedder, table) -> None:
    with pytest.raises(ConfigError, match="batch_size"):
        embedder.embed(table, 0)
    with pytest.raises(ConfigError, match="precision"):
        Embedder(embedder.network, embedder.lexical, precision="int4")
    with pytest.raises(InputError, match="no column 'edges'"):
        embedder.embed(table.drop_columns(["edges"]))

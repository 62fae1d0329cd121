"""The function model in NumPy: what torch computes, to the last digits; what it does not compute it says."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
import torch
from safetensors.numpy import load_file, save_file

from weft.bcsd.model.array_model import ArrayModel, known
from weft.bcsd.model.config import ModelConfig
from weft.bcsd.model.function_model import FunctionModel
from weft.bcsd.model.layout import lay_out
from weft.bcsd.represent.arrays import FunctionArrays
from weft.bcsd.represent.lexical import Lexical
from weft.bcsd.use.alone import ArrayEmbedder, fits
from weft.bcsd.use.embedder import Embedder
from weft.bcsd.use.extract_files import build_table
from weft.bcsd.use.score import ScoreWeights
from weft.bcsd.use.store import save
from weft.encoder.checkpoint.record import SAFETENSORS, digest_of
from weft.encoder.checkpoint.tensors import own_tensors
from weft.errors import CheckpointError

#: Every bound is met by some function: of instructions, of instructions of a block, of blocks.
TIGHT = ModelConfig(
    hidden_size=16,
    dimension=24,
    layers=2,
    heads=2,
    intermediate_size=32,
    max_instructions=8,
    max_blocks=8,
    max_block_instructions=3,
    prefix_tokens=3,
)
OTHERS = {
    "prefix": "none",
    "gated": True,
    "edges": False,
    "branches": "graph",
    "token_set": False,
    "share_jump_positions": True,
    "typed_edges": False,
    "reverse_edges": False,
    "node_features": "facts",
    "block_decay": "scores",
    "block_tokens": True,
    "kind": "contract",
    "graph": "operations",
    "operation_set": 64,
}


@pytest.fixture(scope="module")
def table(files) -> pa.Table:
    names = ("gcc-O3-x86_64.so", "gcc-O2-aarch64.so")
    return pa.concat_tables(table for name in names for table in build_table(str(files / name))[0].tables())


def network_of(config: ModelConfig) -> FunctionModel:
    torch.manual_seed(3)
    network = FunctionModel(config).eval()
    with torch.no_grad():
        for parameter in network.parameters():  # nothing stays where it would not be seen: zeros, ones
            parameter.add_(torch.randn_like(parameter) * 0.2)
    return network


def test_the_shipped_model_is_what_torch_computes(table):
    alone, whole = ArrayEmbedder("bcsd-small"), Embedder.load("bcsd-small", precision="fp32")
    np.testing.assert_allclose(alone.embed(table), whole.embed(table), atol=1e-6)
    assert (alone.version, alone.trained, alone.dimension) == (whole.version, whole.trained, whole.dimension)
    assert np.array_equal(alone.lexical.weights, whole.lexical.weights)


def test_every_part_and_every_bound_is_as_torch_has_it(table):
    network, arrays = network_of(TIGHT), FunctionArrays.from_table(table)
    laid = lay_out(arrays, np.arange(len(arrays)), TIGHT)
    assert len(laid.tokens) < len(arrays.tokens)
    assert len(laid.block_first) < len(arrays.block_start)
    tensors = {name: tensor.detach().numpy() for name, tensor in own_tensors(network).items()}
    expected = Embedder(network, Lexical.fit(table)).embed(arrays)
    np.testing.assert_allclose(ArrayModel(TIGHT, tensors, "here").embed(arrays), expected, atol=2e-6)


@pytest.mark.parametrize("name", OTHERS)
def test_another_option_is_left_to_torch(name):
    options = {name: OTHERS[name]} | ({"prefix": "none"} if name in ("branches", "token_set") else {})
    assert known(TIGHT)
    assert not known(replace(TIGHT, **options))


def test_tensors_that_do_not_fit_are_named(table):
    tensors = {name: tensor.detach().numpy() for name, tensor in own_tensors(network_of(TIGHT)).items()}
    name = "graph.pooling.value.weight"
    for other in (None, tensors[name][:-1], np.full_like(tensors[name], np.nan)):
        some = {key: value for key, value in tensors.items() if key != name}
        some |= {} if other is None else {name: other}
        with pytest.raises(CheckpointError, match=name):
            ArrayModel(TIGHT, some, "here")


def test_a_damaged_checkpoint_is_told_as_torch_tells_it(table, tmp_path):
    save(tmp_path, network_of(TIGHT), Lexical.fit(table), ScoreWeights(), half=True)
    assert fits(tmp_path, "auto")
    weights = tmp_path / SAFETENSORS
    tensors = load_file(weights)
    weights.write_bytes(weights.read_bytes()[:-4])
    for load in (ArrayEmbedder, Embedder.load):
        with pytest.raises(CheckpointError, match="damaged, truncated or from another save"):
            load(tmp_path)
    tensors["idf"] = tensors["idf"][:-1]
    save_file(tensors, weights)
    record = json.loads((tmp_path / "config.json").read_text())
    record["files"][SAFETENSORS] = digest_of(weights)
    (tmp_path / "config.json").write_text(json.dumps(record))
    with pytest.raises(CheckpointError, match="idf"):
        ArrayEmbedder(tmp_path)

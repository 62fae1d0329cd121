"""Leaves that move roots, and those that do not."""

from __future__ import annotations

import json

import pytest
import torch

from weft.cli.main import main
from weft.kg.evaluate.moves import moves
from weft.kg.model.leafy_chain import LeafyChainModel
from weft.kg.represent.dataset import Dataset
from weft.kg.represent.dense import compact_batch


def model_of(dataset: Dataset, named, name: str) -> LeafyChainModel:
    torch.manual_seed(0)
    return LeafyChainModel(named(name, dataset, hidden_size=16, layers=2, heads=2)).eval()


@pytest.fixture
def named():
    from weft.kg.learn.code import named_config

    return named_config


def test_leaves_move_roots_where_attention_goes_both_ways(dataset: Dataset, named) -> None:
    graph, _ = dataset.chain(int(dataset.corpus.chunk[0]))
    both = moves(model_of(dataset, named, "graphmert"), graph)
    assert both.share.shape == (len(graph.triples), len(graph.root_ids))
    assert (both.share > 0).all()
    assert not moves(model_of(dataset, named, "weft-kg"), graph).share.any()


def test_a_share_is_what_the_graph_without_the_triple_makes_of_a_root(dataset: Dataset, named) -> None:
    graph, _ = dataset.chain(int(dataset.corpus.chunk[0]))
    model = model_of(dataset, named, "graphmert")
    found = moves(model, graph)
    less = type(graph)(graph.root_ids, graph.triples[1:], graph.shape, graph.pad_id)
    with torch.no_grad():
        whole, without = (model(compact_batch([g])[0])[0, : len(graph.root_ids)] for g in (graph, less))
    expected = (whole - without).norm(dim=1) / whole.norm(dim=1)
    torch.testing.assert_close(found.share[0], expected, rtol=1e-3, atol=1e-5)


def test_the_command(built, dataset: Dataset, named, tmp_path, capsys) -> None:
    model_of(dataset, named, "graphmert").save(tmp_path / "model", dataset.tokenizer)
    chunk = str(int(dataset.corpus.chunk[0]))
    arguments = ["kg", "moves", str(built[0]), "--model", str(tmp_path / "model"), "--chunk", chunk]
    assert main([*arguments, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert len(told["triples"][0]["share"]) == len(told["tokens"])
    assert main(arguments) == 0
    assert told["triples"][0]["relation"] in capsys.readouterr().out
    assert main([*arguments[:-1], "99999"]) == 3
    assert "no chunk 99999" in capsys.readouterr().err
    assert main(arguments[:3]) == 2
    assert "required: --model" in capsys.readouterr().err

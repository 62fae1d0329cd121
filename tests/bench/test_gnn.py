"""The baselines of `weft bench gnn` compute what they stand for, and its extra is named where it is missing."""

import sys

import pytest
import torch

from weft.bench import gnn
from weft.condition import HGAT
from weft.errors import MissingExtraError
from weft.graph import Triples


def test_the_loop_is_the_same_fusion() -> None:
    torch.manual_seed(0)
    hgat, x = HGAT(8, 4, relation_dropout=0.0, initializer_range=0.5), torch.randn(2, 10, 8)
    triples = Triples.from_spans(
        *(torch.tensor(v) for v in ([0, 1, 1], [1, 3, 1], [0, 1, 2], [2, 1, 3], [4, 5, 6], [3, 1, 2]))
    )
    torch.testing.assert_close(hgat.embed(x, hgat.prepare(triples)), gnn.fusion_by_loop(hgat, x, triples))


def test_graphs_look_like_control_flow() -> None:
    batch = gnn.control_flow_graphs(10)
    assert batch.num_graphs == 10
    assert batch.batch.bincount().min() >= 5
    assert batch.batch.bincount().max() < 60
    assert not (batch.edge_index[0] == batch.edge_index[1]).any()
    assert torch.equal(gnn.control_flow_graphs(10).edge_index, batch.edge_index)


def test_every_row_has_its_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch_geometric", reason="PyG is the baseline: pip install '.[dev]'")
    monkeypatch.setattr(gnn, "GRAPHS", 2)
    monkeypatch.setattr(gnn, "medians", lambda ours, baseline, repeats: (ours() is None, 1.0))
    rows = list(gnn.rows(quick=True))
    assert {row.name for row in rows} == {
        "GAT layer vs PyG GATConv",
        "GAT encoder vs PyG GATConv",
        "H-GAT vs loop over triples",
        "decay table vs recomputing",
    }
    equality = [row for row in rows if row.unit.startswith("max")]
    assert len(equality) == 5
    assert all(row.ok for row in equality)


def test_a_missing_pyg_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch_geometric.nn", None)
    monkeypatch.setitem(sys.modules, "torch_geometric", None)
    with pytest.raises(MissingExtraError, match=r"pip install '\.\[dev\]'"):
        next(gnn.rows(quick=True))

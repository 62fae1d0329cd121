"""The leafy chain design, statement by statement; each deviation is named where it is tested."""

from __future__ import annotations

import pytest
import torch

from weft.attention.operation import attend
from weft.attention.terms import Decay, Terms
from weft.documents.leafy_chain import ChainShape, ChainTriple, LeafyChainGraph, dense_distances
from weft.documents.tails import mask_tails
from weft.kg.config import graphmert
from weft.kg.model.leafy_chain import LeafyChainModel
from weft.kg.represent.batch import IGNORED
from weft.kg.represent.dense import dense_batch
from weft.objective.masking import MaskVocabulary, mask_spans

PAD = 0


@pytest.fixture
def graph() -> LeafyChainGraph:
    generator = torch.Generator().manual_seed(0)
    roots = torch.randint(5, 90, (100,), generator=generator).tolist()
    triples = [
        ChainTriple(0, 2, 1, (11, 12, 13)),
        ChainTriple(40, 1, 2, (21,)),
        ChainTriple(99, 1, 3, (31, 32, 33, 34, 35, 36, 37)),
    ]
    built, refused = LeafyChainGraph.build(roots, triples, num_relations=4)
    assert not refused
    return built


def test_output_keys_and_shapes(graph: LeafyChainGraph) -> None:
    tensors = graph.to_tensors()
    assert {name: tuple(tensor.shape) for name, tensor in tensors.items()} == {
        "input_ids": (1024,),
        "attention_mask": (1024,),
        "token_type_ids": (1024,),
        "graph_structure": (128, 7),
        "relation_ids": (128, 7),
        "is_leaf": (1024,),
    }
    assert tensors["is_leaf"].dtype == torch.bool
    assert all(tensor.dtype == torch.int64 for name, tensor in tensors.items() if name != "is_leaf")


def test_sequence_length_is_1024_for_all_examples(graph: LeafyChainGraph) -> None:
    smallest, _ = LeafyChainGraph.build([7])
    fullest, _ = LeafyChainGraph.build([7] * 128, [ChainTriple(i, 1, 1, (9,) * 7) for i in range(128)])
    for one in (smallest, graph, fullest):
        assert one.to_tensors()["input_ids"].shape == (1024,)
    assert fullest.to_tensors()["attention_mask"].all()


def test_roots_stand_first_and_hold_the_chunk(graph: LeafyChainGraph) -> None:
    ids = graph.to_tensors()["input_ids"]
    assert ids[:100].tolist() == list(graph.root_ids)
    assert (ids[100:128] == PAD).all()


def test_leaves_hold_tail_tokens_or_padding(graph: LeafyChainGraph) -> None:
    ids = graph.to_tensors()["input_ids"]
    filled = {128: 11, 129: 12, 130: 13, 128 + 40 * 7: 21, **{128 + 99 * 7 + k: 31 + k for k in range(7)}}
    expected = torch.zeros(1024, dtype=torch.int64)
    for node, token in filled.items():
        expected[node] = token
    assert torch.equal(ids[128:], expected[128:])


def test_all_tokens_of_a_tail_are_placed(graph: LeafyChainGraph) -> None:
    """Deviation: one place of the design takes the first token only, another all; a tail is all its tokens."""
    assert graph.to_tensors()["input_ids"][128:131].tolist() == [11, 12, 13]


def test_a_tail_longer_than_seven_is_refused_not_cut() -> None:
    """Deviation: the design does not say; half a name would be a wrong fact."""
    built, refused = LeafyChainGraph.build([5, 6], [ChainTriple(0, 1, 1, (9,) * 8)])
    assert built.triples == ()
    assert refused == {"tail too long": 1}


def test_each_root_connects_to_exactly_seven_leaf_positions(graph: LeafyChainGraph) -> None:
    structure = graph.to_tensors()["graph_structure"]
    for root in range(128):
        assert structure[root].tolist() == [128 + root * 7 + k for k in range(7)]
    distances = dense_distances(ChainShape())
    neighbours = (distances == 1) & (torch.arange(1024) >= 128)
    for root in (0, 63, 127):
        assert torch.equal(torch.nonzero(neighbours[root]).flatten(), structure[root])


def test_token_types_label_roots_and_leaves(graph: LeafyChainGraph) -> None:
    tensors = graph.to_tensors()
    assert torch.equal(tensors["token_type_ids"], (torch.arange(1024) >= 128).long())
    assert torch.equal(tensors["is_leaf"], tensors["token_type_ids"].bool())


def test_attention_mask_is_one_for_real_tokens(graph: LeafyChainGraph) -> None:
    tensors = graph.to_tensors()
    assert torch.equal(tensors["attention_mask"].bool(), tensors["input_ids"] != PAD)
    assert int(tensors["attention_mask"].sum()) == 100 + 3 + 1 + 7


def test_relation_ids_name_each_leaf_and_zero_is_none(graph: LeafyChainGraph) -> None:
    """Deviation: 0 is "none", so relations count from 1."""
    relations = graph.to_tensors()["relation_ids"]
    assert relations[0].tolist() == [1, 1, 1, 0, 0, 0, 0]
    assert relations[40].tolist() == [2, 0, 0, 0, 0, 0, 0]
    assert relations[99].tolist() == [3] * 7
    assert int((relations != 0).sum()) == 11


def test_position_table_of_the_dense_form() -> None:
    """The design's 1024 positions: a configuration that the encoder accepts."""
    config = graphmert(
        97, 4, max_position_embeddings=1024, hidden_size=16, num_attention_heads=2, num_hidden_layers=1
    )
    assert LeafyChainModel(config).encoder.config.max_position_embeddings == 1024


def test_distances_follow_the_chain_not_shared_leaves() -> None:
    """Deviation: roots that share no leaf would be infinitely far, and every logit between roots 0."""
    distances = dense_distances(ChainShape())
    assert distances[:128, :128].max() == 127
    logits = torch.randn(1, 1, 128, 16)
    value = torch.randn(1, 1, 128, 4)
    infinitely_far = Decay(torch.eye(128)[None, None], "scores")
    output, _ = attend(logits, logits, value, terms=Terms(decay=infinitely_far), path="reference")
    # With F = 0 between roots every other root weighs the same: the output is all but their mean.
    others = (value.sum(dim=2, keepdim=True) - value) / 127
    assert (output - others).abs().mean() < (value - others).abs().mean()
    followed, _ = attend(
        logits,
        logits,
        value,
        terms=Terms(decay=Decay(0.6 ** (distances[:128, :128] / 16)[None, None], "scores")),
        path="reference",
    )
    assert not torch.allclose(output, followed, atol=1e-3)


def test_mlm_masks_roots_only(graph: LeafyChainGraph) -> None:
    tensors = graph.to_tensors()
    vocabulary = MaskVocabulary(97, 2, (0, 1, 2, 3, 4))
    ids = tensors["input_ids"].expand(64, -1)
    masked = mask_spans(
        ids, vocabulary, torch.Generator().manual_seed(0), maskable=~tensors["is_leaf"].expand(64, -1)
    )
    assert torch.equal(masked.input_ids[:, 128:], ids[:, 128:])
    assert (masked.labels[:, 128:] == IGNORED).all()
    share = (masked.labels[:, :100] != IGNORED).float().mean()
    assert 0.12 < float(share) < 0.17


def test_mnm_masks_whole_leaves_only(graph: LeafyChainGraph) -> None:
    tensors = graph.to_tensors()
    vocabulary = MaskVocabulary(97, 2, (0, 1, 2, 3, 4))
    node = torch.arange(1024)
    tails = torch.where((node >= 128) & tensors["attention_mask"].bool(), (node - 128) // 7, -1).expand(
        200, -1
    )
    ids = tensors["input_ids"].expand(200, -1)
    masked = mask_tails(ids, tails.contiguous(), vocabulary, torch.Generator().manual_seed(0))
    assert torch.equal(masked.input_ids[:, :128], ids[:, :128])
    for start, length in ((128, 3), (128 + 280, 1), (128 + 693, 7)):
        hidden = masked.labels[:, start : start + length] != IGNORED
        assert torch.equal(hidden.any(dim=1), hidden.all(dim=1))
        assert 0.05 < float(hidden.float().mean()) < 0.25


@pytest.mark.parametrize("official", [False, True])
def test_model_loads_and_processes_the_format(graph: LeafyChainGraph, official: bool) -> None:
    torch.manual_seed(0)
    config = graphmert(97, 4, official=official, hidden_size=32, num_attention_heads=2, num_hidden_layers=2)
    model = LeafyChainModel(config).eval()
    hidden = model(dense_batch([graph]))
    assert hidden.shape == (1, 1024, 32)
    assert torch.isfinite(hidden).all()


def test_hgat_changes_leaves_from_their_heads_not_roots(graph: LeafyChainGraph) -> None:
    """Deviation: the design lets roots attend to leaves; the paper, and this, fuse the head into the leaf."""
    torch.manual_seed(0)
    model = LeafyChainModel(
        graphmert(97, 4, hidden_size=32, num_attention_heads=2, num_hidden_layers=1)
    ).eval()
    batch = dense_batch([graph])
    conditioner = model.encoder.conditioner
    assert conditioner is not None
    words = torch.randn(1, 1024, 32)
    fused = conditioner.embed(words, conditioner.prepare([batch.triples(), batch.distances()]))
    changed = (fused != words).any(dim=2)[0]
    leaves = torch.zeros(1024, dtype=torch.bool)
    leaves[[128, 129, 130, 128 + 280, *range(128 + 693, 128 + 700)]] = True
    assert torch.equal(changed, leaves)

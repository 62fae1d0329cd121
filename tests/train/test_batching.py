import threading
from collections import Counter, namedtuple
from dataclasses import dataclass

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from weft.errors import ConfigError, InputError
from weft.graph.graph import GraphBatch
from weft.train import Batches, LengthBuckets, pad
from weft.train.batching import map_tensors, seeded, to_device

LENGTHS = st.lists(st.integers(1, 60), min_size=1, max_size=70)


@settings(deadline=None, max_examples=60)
@given(LENGTHS, st.integers(1, 9), st.integers(0, 5), st.booleans())
def test_an_epoch_holds_every_example_once(lengths, batch_size, epoch, shuffle):
    plan = LengthBuckets(lengths, batch_size, seed=3, pool=2, shuffle=shuffle)
    batches = plan.epoch(epoch)
    assert len(batches) == len(plan)
    assert sorted(i for batch in batches for i in batch) == list(range(len(lengths)))
    assert all(1 <= len(batch) <= batch_size for batch in batches)
    assert batches == LengthBuckets(lengths, batch_size, seed=3, pool=2, shuffle=shuffle).epoch(epoch)
    if not shuffle:
        assert [i for batch in batches for i in batch] == list(range(len(lengths)))


@settings(deadline=None, max_examples=60)
@given(LENGTHS, st.integers(1, 4), st.integers(1, 3), st.integers(0, 3))
def test_processes_share_every_batch_equally(lengths, share, world_size, epoch):
    whole = LengthBuckets(lengths, share * world_size, seed=1).epoch(epoch)
    shares = [
        LengthBuckets(lengths, share * world_size, seed=1, rank=rank, world_size=world_size).epoch(epoch)
        for rank in range(world_size)
    ]
    assert {len(plan) for plan in shares} == {len(whole)}
    for batch, *parts in zip(whole, *shares, strict=True):
        assert len({len(part) for part in parts}) == 1
        joint = Counter(i for part in parts for i in part)
        assert not Counter(batch) - joint
        assert sum(joint.values()) - len(batch) == -len(batch) % world_size


def test_epochs_and_seeds_differ_and_lengths_are_alike():
    lengths = torch.randint(1, 200, (2000,), generator=torch.Generator().manual_seed(0)).tolist()
    plan = LengthBuckets(lengths, 16, seed=0)
    assert plan.epoch(0) != plan.epoch(1)
    assert plan.epoch(0) != LengthBuckets(lengths, 16, seed=1).epoch(0)

    def padding(batches):
        padded = sum(max(lengths[i] for i in batch) * len(batch) for batch in batches)
        return 1 - sum(lengths) / padded

    assert padding(plan.epoch(0)) < 0.05
    assert padding(LengthBuckets(lengths, 16, seed=0, pool=0).epoch(0)) > 0.4
    # Batches do not come shortest first: their order is random.
    means = torch.tensor([sum(lengths[i] for i in batch) / len(batch) for batch in plan.epoch(0)])
    assert abs(torch.corrcoef(torch.stack([means, torch.arange(len(means)).float()]))[0, 1].item()) < 0.4


def test_shares_are_of_similar_length():
    lengths = list(range(1, 33))
    plans = [LengthBuckets(lengths, 8, rank=rank, world_size=2, pool=4) for rank in (0, 1)]
    for one, other in zip(plans[0].epoch(0), plans[1].epoch(0), strict=True):
        assert all(other[place] - one[place] == 1 for place in range(4))


@pytest.mark.parametrize("shuffle", [True, False])
def test_drop_last(shuffle):
    plan = LengthBuckets([1] * 10, 4, drop_last=True, shuffle=shuffle)
    batches = plan.epoch(0)
    assert [len(batch) for batch in batches] == [4, 4]
    assert len(plan) == 2


@pytest.mark.parametrize("prefetch", [0, 3])
def test_batches_can_be_entered_anywhere(prefetch):
    def collate(indices, generator):
        return indices, torch.rand(2, generator=generator).tolist()

    def source():
        return Batches(LengthBuckets([3] * 20, 4), collate, seed=5, prefetch=prefetch)

    whole = list(source().epoch(2))
    assert len(whole) == len(source()) == 5
    for start in range(6):
        assert list(source().epoch(2, start)) == whole[start:]
    draws = [draw for _, draw in whole] + [draw for _, draw in source().epoch(3)]
    assert len({tuple(draw) for draw in draws}) == len(draws)


def test_prefetching_ends_with_its_reader_and_passes_errors_on():
    def collate(indices, generator):
        if 5 in indices:
            raise InputError("example 5 is broken")
        return indices

    plan = LengthBuckets([1] * 8, 1, shuffle=False)
    before = threading.active_count()
    stream = Batches(plan, collate, prefetch=2).epoch(0)
    assert [next(stream) for _ in range(3)] == [[0], [1], [2]]
    stream.close()
    assert threading.active_count() == before
    with pytest.raises(InputError, match="example 5 is broken"):
        list(Batches(plan, collate, prefetch=2).epoch(0))
    assert threading.active_count() == before


def test_seeded_generators_are_independent():
    draws = {
        torch.rand(1, generator=seeded(*numbers)).item()
        for numbers in [(0,), (0, 0), (0, 1), (1, 0), (1,), (0, 0, 1)]
    }
    assert len(draws) == 6
    assert torch.equal(torch.rand(3, generator=seeded(4, 2)), torch.rand(3, generator=seeded(4, 2)))


@settings(deadline=None, max_examples=40)
@given(st.lists(st.lists(st.integers(1, 99), max_size=9), min_size=1, max_size=5), st.integers(1, 8))
def test_pad(sequences, multiple_of):
    ids, mask = pad(sequences, 0, multiple_of=multiple_of)
    assert ids.shape == mask.shape
    assert ids.shape[1] % multiple_of == 0 or ids.shape[1] == 1
    assert ids.shape[1] - max(map(len, sequences)) < max(2, multiple_of)
    assert [ids[row][mask[row]].tolist() for row in range(len(sequences))] == sequences
    assert (ids[~mask] == 0).all()


def test_pad_to_a_length():
    ids, mask = pad([torch.tensor([1, 2]), [3]], 9, length=4)
    assert ids.tolist() == [[1, 2, 9, 9], [3, 9, 9, 9]]
    assert mask.sum().item() == 3
    with pytest.raises(InputError, match="3 ids does not fit into 2"):
        pad([[1, 2, 3]], 0, length=2)
    with pytest.raises(InputError, match="empty batch"):
        pad([], 0)


Pair = namedtuple("Pair", "left right")


@dataclass(frozen=True)
class Example:
    ids: Tensor
    name: str
    more: tuple[Tensor, ...] = ()


def test_every_tensor_of_a_batch_is_moved():
    graph = GraphBatch(torch.tensor([[0], [1]]), torch.zeros(2, dtype=torch.int64), 1)
    one = torch.ones(1, dtype=torch.int64)
    batch = {
        "a": one,
        "b": [one, 3],
        "c": Pair(one, "x"),
        "d": Example(one, "y", (one,)),
        "e": graph,
        "f": None,
    }
    doubled = map_tensors(batch, lambda tensor: tensor * 2)
    assert doubled["a"].item() == doubled["b"][0].item() == doubled["c"].left.item() == 2
    assert doubled["d"].ids.item() == doubled["d"].more[0].item() == 2
    assert (doubled["b"][1], doubled["c"].right, doubled["d"].name, doubled["f"]) == (3, "x", "y", None)
    assert doubled["e"].edge_index.tolist() == [[0], [2]]
    assert isinstance(doubled["e"], GraphBatch)
    assert one.item() == 1
    assert to_device(batch, torch.device("cpu")) is batch
    moved = to_device(batch, torch.device("meta"))
    assert moved["d"].more[0].device.type == "meta"


def test_batches_are_of_the_host_whatever_torch_s_default_device_is():
    expected = LengthBuckets([3, 1, 2, 5], 2).epoch(1), pad([[1, 2], [3]], 0)
    with torch.device("meta"):
        plan, (ids, mask) = LengthBuckets([3, 1, 2, 5], 2).epoch(1), pad([[1, 2], [3]], 0)
    assert plan == expected[0]
    assert torch.equal(ids, expected[1][0])
    assert torch.equal(mask, expected[1][1])


def test_bad_plans_are_named():
    with pytest.raises(
        ConfigError, match="batch_size is 3; it must be a positive multiple of the 2 processes"
    ):
        LengthBuckets([1], 3, world_size=2)
    with pytest.raises(ConfigError, match="rank is 2"):
        LengthBuckets([1], 2, world_size=2, rank=2)
    with pytest.raises(InputError, match="no examples"):
        LengthBuckets([], 2)
    with pytest.raises(InputError, match="1 examples do not fill one batch of 2"):
        LengthBuckets([1], 2, drop_last=True)

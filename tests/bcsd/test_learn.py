"""Training: batches, lessons, the loss, runs that resume, models that come out."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
import torch

from weft.bcsd.learn.sampling import GroupPlan, SamplingConfig
from weft.bcsd.learn.setup import Setup
from weft.bcsd.learn.training import Collator, Learning, course, loss_step
from weft.bcsd.model.config import ModelConfig
from weft.bcsd.model.function_model import FunctionModel
from weft.bcsd.represent.arrays import FunctionArrays
from weft.bcsd.represent.vocabulary import load_vocabulary
from weft.bcsd.use.embedder import Embedder
from weft.bcsd.use.store import load
from weft.errors import CheckpointError, ConfigError, InputError
from weft.train import TrainConfig, run_setup

SMALL = ModelConfig(
    hidden_size=16, dimension=24, layers=1, heads=2, intermediate_size=32, max_instructions=32
)
SAMPLING = SamplingConfig(groups=8, steps_per_epoch=5, min_blocks=2)
TRAIN = TrainConfig(
    steps=6,
    learning_rate=3e-3,
    metric="recall",
    mode="max",
    eval_every=3,
    save_every=3,
    device="cpu",
    restore_best=False,
)


@pytest.fixture(scope="module")
def training(labelled) -> pa.Table:
    return labelled.filter(pc.field("role") == "train")


def test_groups_come_in_two_builds(training) -> None:
    plan = GroupPlan(training, SAMPLING, seed=3)
    groups, builds = training["group"].to_pylist(), training["build"].to_pylist()
    batches = plan.epoch(0)
    assert len(batches) == len(plan) == 5
    for batch in batches:
        assert len(batch) == 16
        pairs = [(groups[a], groups[b]) for a, b in zip(batch[::2], batch[1::2], strict=True)]
        assert all(a == b for a, b in pairs)
        assert len({a for a, _ in pairs}) == 8
        assert all(builds[a] != builds[b] for a, b in zip(batch[::2], batch[1::2], strict=True))


def test_hard_groups_share_one_pair_of_binaries(training) -> None:
    plan = GroupPlan(training, replace(SAMPLING, hard=1.0), seed=1)
    builds = training["build"].to_pylist()
    shared = [{(builds[a], builds[b]) for a, b in zip(p[::2], p[1::2], strict=True)} for p in plan.epoch(0)]
    # Where the package has too few groups in the two builds, others fill the batch.
    assert min(len(pairs) for pairs in shared) == 1


def test_hard_groups_come_from_builds_that_the_package_has(training) -> None:
    other = training.set_column(
        training.schema.get_field_index("build"),
        "build",
        pa.array([f"another-{build}" for build in training["build"].to_pylist()]),
    )
    for name in ("package", "group"):
        values = pa.array([f"another {value}" for value in other[name].to_pylist()])
        other = other.set_column(other.schema.get_field_index(name), name, values)
    both = pa.concat_tables([training, other])
    names = both["build"].to_pylist()
    # Of one build of each package no group is in both: such a batch would have no hard half.
    for batch in GroupPlan(both, replace(SAMPLING, hard=1.0, steps_per_epoch=20), seed=1).epoch(0):
        pairs = Counter((names[a], names[b]) for a, b in zip(batch[::2], batch[1::2], strict=True))
        assert max(pairs.values()) >= 5


def test_an_epoch_is_the_same_again_and_processes_differ(training) -> None:
    assert GroupPlan(training, SAMPLING).epoch(2) == GroupPlan(training, SAMPLING).epoch(2)
    assert GroupPlan(training, SAMPLING).epoch(2) != GroupPlan(training, SAMPLING).epoch(3)
    first, second = (GroupPlan(training, SAMPLING, rank=rank, world_size=2).epoch(0) for rank in (0, 1))
    assert [len(batch) for batch in first] == [8] * 5
    assert first != second


def test_duplicates_and_small_functions_are_not_drawn(training) -> None:
    marked = training.set_column(
        training.schema.get_field_index("duplicate"),
        "duplicate",
        pa.array([group.endswith(("a", "e", "i")) for group in training["group"].to_pylist()]),
    )
    plan = GroupPlan(marked, replace(SAMPLING, groups=2))
    drawn = {row for epoch in range(5) for batch in plan.epoch(epoch) for row in batch}
    assert not any(marked["duplicate"][row].as_py() for row in drawn)
    assert all(marked["num_blocks"][row].as_py() >= 2 for row in drawn)


def test_too_few_groups_are_named(training) -> None:
    with pytest.raises(InputError, match="groups in two builds"):
        GroupPlan(training, replace(SAMPLING, groups=512))
    with pytest.raises(ConfigError, match="cannot be shared"):
        GroupPlan(training, SAMPLING, world_size=3)
    with pytest.raises(ConfigError, match="hard"):
        SamplingConfig(hard=1.5)


def test_a_lesson_hides_instructions_and_remembers_them(training) -> None:
    arrays = FunctionArrays.from_table(training)
    rows = GroupPlan(training, SAMPLING).epoch(0)[0]
    plain = Collator(arrays, SMALL, Learning(mask=0.0, drop_tokens=0.0, length_groups=2))
    hiding = Collator(arrays, SMALL, Learning(mask=0.5, drop_tokens=0.5, length_groups=2, mlm_positions=40))
    whole, hidden = (make(rows, torch.Generator().manual_seed(1)) for make in (plain, hiding))
    mask = load_vocabulary().ids["[MASK]"]
    masked = (hidden.batch.tokens == mask).all(dim=1)
    assert 0.3 < masked.float().mean() < 0.7
    assert torch.equal(hidden.batch.tokens[~masked], whole.batch.tokens[~masked])
    asked = hidden.labels >= 0
    assert int(asked.sum()) == 40
    assert bool(masked[asked].all())
    assert torch.equal(hidden.labels[asked], whole.batch.tokens[asked, 0])
    assert len(hidden.batch.held) < 0.7 * len(whole.batch.held)
    assert int(hidden.batch.held_first[-1]) <= len(hidden.batch.held)
    # The partner of each function has its number.
    assert sorted(whole.groups.tolist()) == sorted([i // 2 for i in range(16)])


def test_it_overfits_and_structure_shuffled_in_training_is_another_loss(training) -> None:
    torch.manual_seed(0)
    model = FunctionModel(SMALL)
    learning = Learning(mask=0.1, length_groups=2)
    config = TrainConfig(steps=25, learning_rate=5e-3, device="cpu", eval_every=100)
    history = course(model, training, SAMPLING, learning, config).run().history
    assert np.mean(history.losses[-5:]) < 0.6 * np.mean(history.losses[:5])
    rows = GroupPlan(training, SAMPLING).epoch(0)[0]
    arrays = FunctionArrays.from_table(training)
    values = [
        loss_step(learning)(
            model.eval(),
            Collator(arrays, SMALL, replace(learning, shuffle_graphs=shuffle))(
                rows, torch.Generator().manual_seed(0)
            ),
        )
        for shuffle in (False, True)
    ]
    assert not torch.equal(values[0]["loss"], values[1]["loss"])
    assert set(values[0]) == {"loss", "contrastive", "branches", "nearest", "mlm"}


def test_a_run_makes_a_model_and_another_goes_on_from_it(labelled, tmp_path) -> None:
    data = tmp_path / "functions.parquet"
    pq.write_table(labelled, data)
    setup = Setup(data, tmp_path / "first", SMALL, SAMPLING, Learning(length_groups=2), TRAIN)
    outcome = run_setup(setup, quiet=True)
    assert [e["step"] for e in outcome.history.evaluations] == [3, 6]
    assert outcome.results["recall"] >= 0
    first = Embedder.load(tmp_path / "first")
    assert asdict(first.weights).items() <= outcome.results.items()
    longer = replace(SMALL, max_instructions=48)
    second = replace(setup, out=tmp_path / "second", model=longer, begin=tmp_path / "first")
    run_setup(second, quiet=True)
    assert Embedder.load(tmp_path / "second").network.config.max_instructions == 48
    # Run again, a finished run trains no more and gives the same model.
    again = run_setup(setup, quiet=True)
    assert again.history.losses == []
    assert Embedder.load(tmp_path / "first").version == first.version
    other = replace(second, out=tmp_path / "third", model=replace(longer, layers=2))
    with pytest.raises(CheckpointError, match="does not fit the model"):
        run_setup(other, quiet=True)


def test_another_processor_starts_as_in_a_new_model_and_is_named(labelled, tmp_path) -> None:
    data = tmp_path / "functions.parquet"
    pq.write_table(labelled, data)
    setup = Setup(data, tmp_path / "first", SMALL, SAMPLING, Learning(length_groups=2), TRAIN)
    run_setup(setup, quiet=True)
    first = load(tmp_path / "first")
    assert first.trained == ("x86_64", "aarch64")
    # The rows of one architecture called another one's, with a token that the first training never saw.
    unseen = int(np.flatnonzero(first.lexical.idf[:4096] >= first.lexical.idf.max())[-1])
    place = labelled.schema.get_field_index("architecture")
    other = np.where(np.array(labelled["architecture"].to_pylist()) == "aarch64", "riscv64", "x86_64")
    tokens = labelled["tokens"].combine_chunks()
    flat = tokens.values.flatten().to_numpy().copy()
    flat[::5] = unseen
    changed = pa.ListArray.from_arrays(tokens.offsets, pa.FixedSizeListArray.from_arrays(pa.array(flat), 5))
    table = labelled.set_column(place, labelled.schema.field(place), pa.array(other.tolist()))
    where = table.schema.get_field_index("tokens")
    pq.write_table(
        table.set_column(where, table.schema.field(where), changed.cast(table.schema.field(where).type)), data
    )
    still = replace(TRAIN, steps=1, learning_rate=1e-9)
    second = replace(setup, out=tmp_path / "second", begin=tmp_path / "first", train=still, tune=False)
    run_setup(second, quiet=True)
    after = load(tmp_path / "second")
    assert after.trained == ("riscv64", "x86_64")
    assert after.weights == first.weights
    before, now = (one.network.state_dict()["token_set.weight"] for one in (first, after))
    seen = torch.from_numpy(first.lexical.idf < first.lexical.idf.max())
    assert torch.allclose(before[seen], now[seen], atol=1e-3)
    # A token of every function tells nothing: its row is next to 0, and was the longest.
    assert before[unseen].norm() > 0.5
    assert now[unseen].norm() < 0.01


def test_without_training_packages_nothing_is_trained(labelled, tmp_path) -> None:
    data = tmp_path / "functions.parquet"
    pq.write_table(labelled.filter(pc.field("role") == "test"), data)
    with pytest.raises(InputError, match="no function of a training package"):
        run_setup(Setup(data, tmp_path / "model"), quiet=True)


@pytest.mark.parametrize(
    "field",
    [
        {"temperature": 0.0},
        {"temperature": float("inf")},
        {"mlm_weight": -1.0},
        {"branch_weight": 1e40},
        {"mask": 1.0},
        {"length_groups": 0},
    ],
)
def test_wrong_settings_are_named(field) -> None:
    with pytest.raises(ConfigError, match=next(iter(field))):
        Learning(**field)

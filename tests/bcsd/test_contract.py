"""The contract's model on a table of real functions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
import torch

from weft.bcsd.learn.contract import (
    Collator,
    build,
    contract_batch,
    course,
    embed,
    load,
    with_features,
)
from weft.bcsd.learn.sampling import SamplingConfig
from weft.bcsd.learn.setup import Setup
from weft.bcsd.learn.training import Learning
from weft.bcsd.model.config import ModelConfig
from weft.bcsd.represent.arrays import FunctionArrays
from weft.bcsd.represent.vocabulary import load_vocabulary
from weft.errors import ConfigError
from weft.train import TrainConfig, run_setup

SMALL = ModelConfig(
    kind="contract", hidden_size=16, layers=2, heads=2, intermediate_size=32, prefix_tokens=1, dropout=0.1
)


@pytest.fixture(scope="module")
def arrays(labelled) -> FunctionArrays:
    return FunctionArrays.from_table(labelled)


def test_a_batch_of_a_table_is_what_the_contract_reads(arrays) -> None:
    chosen = np.array([5, 0, 3])
    batch = contract_batch(arrays, chosen, SMALL)
    ids = load_vocabulary().ids
    for row, function in enumerate(chosen):
        first, last = arrays.first_instruction[function : function + 2]
        words = arrays.tokens[first:last][: SMALL.max_instructions].reshape(-1)
        words = words[(words != ids["none"]) & (words != ids["[PAD]"])][:511].tolist()
        mask = batch["attention_mask"][row]
        assert batch["input_ids"][row][mask].tolist() == [ids["[CLS]"], *words]
        assert not batch["input_ids"][row][~mask].any()
        assert mask[: int(mask.sum())].all()
    model = build(SMALL)
    graph = with_features(model, batch)["graph"]
    assert graph.num_graphs == 3
    block = batch["block_tokens"][batch["block_first"][0] : batch["block_first"][1]]
    expected = model.bert.word_embeddings(block[block != ids["none"]]).mean(dim=0)
    torch.testing.assert_close(graph.x[0], expected)
    outputs = model(with_features(model, batch))
    assert outputs["embeddings"].shape == (3, 16)
    assert outputs["mlm_logits"].shape == (*batch["input_ids"].shape, len(ids))
    (outputs["embeddings"] * torch.randn(3, 16)).sum().backward()
    assert model.bert.word_embeddings.weight.grad[block[block != ids["none"]]].any()


def test_hidden_tokens_are_the_labels(arrays) -> None:
    collate = Collator(arrays, SMALL, Learning(mask=0.2))
    batch = collate([0, 1, 2, 3], torch.Generator().manual_seed(0))
    plain = contract_batch(arrays, np.arange(4), SMALL)["input_ids"]
    asked = batch["mlm_mask"]
    assert torch.equal(asked, batch["labels"] != -100)
    assert torch.equal(batch["labels"][asked], plain[asked])
    assert torch.equal(batch["input_ids"][~asked], plain[~asked])
    assert not asked[:, 0].any()
    assert batch["pair_labels"].tolist() == [0, 0, 1, 1]


def test_embeddings_do_not_depend_on_the_batch(arrays) -> None:
    model = build(SMALL).eval()
    together = embed(SMALL, model, arrays, batch_size=7)
    assert together.shape == (len(arrays), 16)
    np.testing.assert_allclose(together, embed(SMALL, model, arrays, batch_size=3), atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(together, axis=1), 1.0, atol=1e-5)


def test_a_run_learns_and_saves_the_model(labelled, arrays, tmp_path) -> None:
    pq.write_table(labelled, tmp_path / "functions.parquet")
    setup = Setup(
        data=tmp_path / "functions.parquet",
        out=tmp_path / "model",
        model=replace(SMALL, dropout=0.0),
        sampling=SamplingConfig(groups=4, steps_per_epoch=5, min_blocks=2),
        train=TrainConfig(
            steps=6, learning_rate=3e-3, metric="recall", mode="max", eval_every=3, save_every=3, device="cpu"
        ),
    )
    outcome = run_setup(setup, quiet=True)
    assert outcome.history.step == 6
    assert 0 <= outcome.results.get("recall", 0) <= 1
    model = load(tmp_path / "model").eval()
    first = build(setup.model).state_dict()
    assert set(model.state_dict()) == set(first)
    assert embed(setup.model, model, arrays).shape == (len(arrays), 16)
    assert ("recall" not in outcome.results) == (labelled.filter(pc.field("role") == "valid").num_rows == 0)


def test_each_process_has_its_share(labelled, tmp_path, monkeypatch) -> None:
    sampling = SamplingConfig(groups=4, steps_per_epoch=3, min_blocks=2)

    def plan() -> list[list[int]]:
        lessons = course(SMALL, labelled, sampling, Learning(), TrainConfig(steps=1), tmp_path)
        assert lessons.batches.rank == lessons.batches.plan.rank
        return lessons.batches.plan.epoch(0)

    monkeypatch.setenv("WORLD_SIZE", "2")
    shares = []
    for rank in range(2):
        monkeypatch.setenv("RANK", str(rank))
        shares.append(plan())
    assert [len(rows) for share in shares for rows in share] == [4] * 6  # two of four groups, two rows each
    assert all(set(first).isdisjoint(second) for first, second in zip(*shares, strict=True))


def test_kinds_that_are_none() -> None:
    with pytest.raises(
        ConfigError, match=r"ModelConfig\.kind is 'both'; it must be one of function, contract"
    ):
        ModelConfig(kind="both")
    assert "kind" not in ModelConfig().to_dict()
    assert ModelConfig.from_dict(SMALL.to_dict()) == SMALL

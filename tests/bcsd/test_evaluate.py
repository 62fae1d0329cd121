"""Retrieval figures against brute force; tasks against the table; the commands on a small data set."""

from __future__ import annotations

import json
from itertools import combinations, pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.bcsd.evaluate.baselines import MnemonicNgrams, TokenTfidf
from weft.bcsd.evaluate.report import evaluate
from weft.bcsd.evaluate.retrieval import retrieve
from weft.bcsd.evaluate.tasks import SETTINGS, Labels
from weft.bcsd.evaluate.tune import tune
from weft.bcsd.model.config import ModelConfig
from weft.bcsd.model.function_model import FunctionModel
from weft.bcsd.represent.arrays import FunctionArrays
from weft.bcsd.represent.lexical import Lexical
from weft.bcsd.use.embedder import Embedder
from weft.cli.main import main
from weft.errors import ConfigError, InputError

SMALL = ModelConfig(
    hidden_size=16, dimension=24, layers=1, heads=2, intermediate_size=32, max_instructions=32
)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.integers(3, 7), st.integers(2, 7))
def test_expected_figures_equal_all_pools(seed, base, pool) -> None:
    draw = np.random.default_rng(seed)
    pool = min(pool, base)
    scores = draw.integers(0, 3, size=(2, base)).astype(float)  # few values, so that there are ties
    right = draw.integers(0, base, size=2)
    result = retrieve(scores, right, pool)
    first, reciprocal = [], []
    for s, column in zip(scores, right, strict=True):
        others = np.delete(s, column)
        # A tie counts half over the whole base, so the figure is the mean of its two whole neighbours.
        above = (others > s[column]).sum() + (others == s[column]).sum() / 2
        if pool == base:
            first.append(float(above == 0))
            reciprocal.append(1 / (1 + above))
            continue
        found = []
        for whole in {int(np.floor(above)), int(np.ceil(above))}:
            drawn = [sum(i < whole for i in pick) for pick in combinations(range(base - 1), pool - 1)]
            found.append((np.mean([n == 0 for n in drawn]), np.mean([1 / (1 + n) for n in drawn])))
        first.append(np.mean([f for f, _ in found]))
        reciprocal.append(np.mean([r for _, r in found]))
    assert result.recall_1.estimate == pytest.approx(np.mean(first))
    assert result.mrr == pytest.approx(np.mean(reciprocal))


def test_negative_scores_and_ties() -> None:
    scores = np.array([[-0.9, -0.1, -0.5], [0.2, 0.2, 0.1], [0.3, 0.1, 0.3]])
    result = retrieve(scores, np.array([1, 2, 0]))
    assert result.recall_1.estimate == pytest.approx(1 / 3)  # right, third, tied with one
    assert result.mrr == pytest.approx((1 + 1 / 3 + 1 / 1.5) / 3)
    assert result.recall_10 == 1.0


def test_a_pool_that_there_is_not_is_named() -> None:
    with pytest.raises(ConfigError, match="a pool of 4 functions out of 3"):
        retrieve(np.zeros((1, 3)), np.array([0]), 4)


def test_sizes_are_counted() -> None:
    result = retrieve(np.eye(3), np.arange(3), sizes=np.array([10, 40, 500]))
    record = result.record()
    assert [count for count, _ in record["sizes"].values()] == [1, 1, 0, 0, 1]
    assert record["sizes"]["<32"] == [1, 1.0]
    assert record["sizes"]["64–127"] == [0, None]


def test_tasks_pair_the_same_function_of_two_builds(labelled) -> None:
    labels = Labels(labelled)
    groups, builds = labelled["group"].to_pylist(), labelled["build"].to_pylist()
    blocks, roles = labelled["num_blocks"].to_pylist(), labelled["role"].to_pylist()
    assert not labels.holds("x86-64→MIPS32")
    for setting, (query_build, base_build) in SETTINGS.items():
        if not labels.holds(setting):
            continue
        task = labels.task(setting, "test", 3)
        for query, column in zip(task.queries, task.right, strict=True):
            right = task.base[column]
            assert groups[query] == groups[right]
            assert (builds[query], builds[right]) == (query_build, base_build)
        used = [*task.queries, *task.base]
        assert all(blocks[row] >= 3 and roles[row] == "test" for row in used)
    wider = labels.task("XA", "test", 3, extra=("valid",))
    plain = labels.task("XA", "test", 3)
    assert len(wider.base) >= len(plain.base)
    assert wider.queries.tolist() == plain.queries.tolist()


def test_duplicates_are_in_no_task(labelled) -> None:
    marks = [group.endswith(("t", "e")) for group in labelled["group"].to_pylist()]
    at = labelled.schema.get_field_index("duplicate")
    task = Labels(labelled.set_column(at, "duplicate", pa.array(marks))).task("XO O1-O3", "test", 1)
    assert not any(marks[row] for row in [*task.queries, *task.base])
    with pytest.raises(InputError, match="no function of role"):
        Labels(labelled.set_column(at, "duplicate", pa.array([True] * len(marks)))).task("XA", "test")
    with pytest.raises(InputError, match="no column 'role'"):
        Labels(labelled.drop_columns(["role"]))


def test_ngrams_equal_a_count_by_hand(labelled) -> None:
    arrays = FunctionArrays.from_table(labelled.slice(0, 30))
    rows = MnemonicNgrams(2, arrays).vectors(arrays)
    for i in (0, 7, 29):
        first, last = arrays.first_instruction[i : i + 2]
        mnemonics = arrays.tokens[first:last, 0].tolist()
        grams = set(pairwise(mnemonics)) or {tuple(mnemonics)}
        assert rows[i].nnz == len(grams)
        assert np.linalg.norm(rows[i].data) == pytest.approx(1, abs=1e-5)


def test_counted_tfidf_equals_the_formula(labelled) -> None:
    table = labelled.slice(0, 20)
    arrays = FunctionArrays.from_table(table)
    rows = TokenTfidf(arrays).vectors(arrays)
    assert rows[3].multiply(rows[3]).sum() == pytest.approx(1, abs=1e-5)
    assert (rows @ rows.T).diagonal() == pytest.approx(np.ones(20), abs=1e-5)


@pytest.fixture(scope="module")
def embedder(labelled) -> Embedder:
    torch.manual_seed(0)
    lexical = Lexical.fit(labelled.filter(pc.field("role") == "train"))
    model = FunctionModel(SMALL)
    model.weigh_tokens(torch.from_numpy(lexical.weights))
    return Embedder(model, lexical)


def test_the_table_has_every_system_and_skips_impossible_pools(labelled, embedder) -> None:
    cells = evaluate(labelled, embedder, min_blocks=(3,), pools=(2, 1000, None), settings=("XA",))
    systems = [cell.system for cell in cells if cell.pool is None]
    lifted = [
        "model, hybrid without operations",
        "model, hybrid without callees",
        "model, hybrid",
        "operations",
    ]
    assert len(systems) == 10
    assert systems[5:] == ["model, cosine", *lifted]
    assert {cell.pool for cell in cells} == {2, None}
    alone = evaluate(labelled, None, min_blocks=(3,), pools=(None,), settings=("XA",))
    assert [cell.system for cell in alone] == [*systems[:5], "operations"]
    by_system = {cell.system: cell.result for cell in cells if cell.pool is None}
    # The same code built twice: tokens alone must do far better than chance, and n-grams of mnemonics not.
    assert by_system["tf-idf, all tokens, by presence"].recall_1.estimate > 0.4


def test_tuning_never_loses_to_the_plain_cosine(labelled, embedder) -> None:
    validation = labelled.filter(pc.field("role") == "valid")
    weights, recall = tune(validation, embedder)
    assert 0 <= recall <= 1
    assert weights.lexical >= 0


def test_train_and_eval_commands(labelled, tmp_path, capsys) -> None:
    data, config = tmp_path / "functions.parquet", tmp_path / "train.yaml"
    pq.write_table(labelled, data)
    config.write_text(
        f"data: {data}\nout: {tmp_path / 'model'}\n"
        "model: {hidden_size: 16, dimension: 24, layers: 1, heads: 2, intermediate_size: 32, max_instructions: 32}\n"
        "sampling: {groups: 8, steps_per_epoch: 4, min_blocks: 2}\n"
        "train: {steps: 4, learning_rate: 1e-3, device: cpu, threads: 1}\n"
    )
    assert main(["bcsd", "train", str(config), "--quiet", "--train.steps", "3", "--train.metric=recall"]) == 0
    assert "3 steps" in capsys.readouterr().out
    arguments = ["bcsd", "eval", str(data), "--model", str(tmp_path / "model"), "--sizes", "3"]
    assert main([*arguments, "--pools", "4,all", "--settings", "XA,XC"]) == 0
    shown = capsys.readouterr().out
    assert "XA, ≥ 3 blocks, pool all" in shown
    assert "model, hybrid" in shown
    assert main([*arguments, "--json", "--settings", "XA", "--pools", "all"]) == 0
    records = json.loads(capsys.readouterr().out)
    assert {"system", "setting", "recall_1", "interval", "recall_10", "mrr", "sizes"} <= set(records[0])
    assert main([*arguments, "--settings", "XX"]) == ConfigError.exit_code
    assert "no setting 'XX'" in capsys.readouterr().err
    assert main([*arguments, "--pools", "many"]) == ConfigError.exit_code
    config.write_text("data: x\nout: y\nmodell: {layers: 2}\n")
    assert main(["bcsd", "train", str(config)]) == ConfigError.exit_code
    assert "modell" in capsys.readouterr().err

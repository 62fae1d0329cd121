"""A data set of the builds that somebody has: one compiler, one processor, no further packages."""

from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from weft.bcsd.evaluate.report import evaluate
from weft.bcsd.evaluate.tasks import HEADLINE, Labels
from weft.bcsd.learn.sampling import SamplingConfig
from weft.bcsd.learn.setup import Setup
from weft.bcsd.model.config import ModelConfig
from weft.cli.main import main
from weft.errors import ConfigError, InputError
from weft.train import run_setup

SMALL = ModelConfig(hidden_size=16, layers=1, max_instructions=32)


def built(table, *builds, role=None):
    """The rows of some builds; of another role than ``role`` all."""
    kept = pc.is_in(table["build"], pa.array(builds))
    return table.filter(kept if role is None else pc.or_(kept, pc.not_equal(table["role"], role)))


def trained(table, folder, **changes):
    """What a training on a table says, and what it gives; its settings name no metric."""
    pq.write_table(table, folder / "functions.parquet")
    setup = Setup(
        data=folder / "functions.parquet",
        out=folder / "model",
        model=SMALL,
        sampling=SamplingConfig(groups=4, steps_per_epoch=3, min_blocks=2),
    )
    setup = replace(setup, train=replace(setup.train, steps=2, eval_every=1, device="cpu", **changes))
    said = []
    outcome = run_setup(setup, tell=said.append)
    assert said[-1].startswith("2 steps done")
    return said[:-1], outcome


def test_a_training_is_measured_by_the_settings_that_there_are(labelled, tmp_path):
    gcc = built(labelled, "gcc-O0-x86_64", "gcc-O1-x86_64", "gcc-O3-x86_64")
    said, outcome = trained(gcc, tmp_path)
    assert said == [
        "measured by XO O0-O3, XO O1-O3 alone: the validation packages lack a build of XC, XA, XM"
    ]
    assert set(outcome.history.final) == {"recall", "XO O0-O3", "XO O1-O3"}
    assert 0 <= outcome.results["recall"] <= 1
    with pytest.raises(ConfigError, match="metric is 'XA'; the evaluation gives recall, XO O0-O3, XO O1-O3"):
        trained(gcc, tmp_path, metric="XA")
    with pytest.raises(ConfigError, match=r"mode is 'min'.*of 'XO O0-O3' the higher is better"):
        trained(gcc, tmp_path, metric="XO O0-O3", mode="min")
    assert [task.setting for task in Labels(labelled).tasks("valid", 2)] == list(HEADLINE)
    # None of the headline: any that there is.
    further = built(labelled, "gcc-O2-x86_64", "gcc-O3-x86_64")
    assert [task.setting for task in Labels(further).tasks("valid", 2)] == ["XO O2-O3"]


def test_a_training_that_is_not_measured_says_so(labelled, tmp_path):
    builds = ("gcc-O1-x86_64", "gcc-O2-x86_64")
    said, outcome = trained(built(labelled, *builds), tmp_path)
    assert len(said) == 1
    assert said[0].startswith(
        "no function of at least 5 blocks of the validation packages is in both builds of"
    )
    assert "as gcc-O0-x86_64 and gcc-O3-x86_64 (gcc-O1-x86_64, gcc-O2-x86_64 are there)" in said[0]
    assert outcome.history.evaluations == []
    assert "recall" not in outcome.results
    (tmp_path / "other").mkdir()
    said, _ = trained(labelled.filter(pc.not_equal(labelled["role"], "valid")), tmp_path / "other")
    assert [line.split(", ")[0] for line in said] == [
        "no function of a validation package: nothing is evaluated"
    ]


def test_settings_that_the_asked_packages_lack_are_left_out(labelled, tmp_path, capsys):
    some = built(labelled, "gcc-O0-x86_64", "gcc-O3-x86_64", role="test")
    cells = evaluate(some, None, min_blocks=(2,), pools=(None,))
    assert {cell.setting for cell in cells} == {"XO O0-O3"}
    with pytest.raises(
        InputError, match="'test' of at least 2 blocks is in both gcc-O2-x86_64 and gcc-O2-aarch64"
    ):
        evaluate(some, None, min_blocks=(2,), pools=(None,), settings=("XA",))
    none = built(labelled, "gcc-O1-x86_64", "gcc-O2-x86_64")
    pq.write_table(none, tmp_path / "none.parquet")
    assert main(["bcsd", "eval", str(tmp_path / "none.parquet")]) == 3
    assert "both builds of a setting, as gcc-O0-x86_64 and gcc-O3-x86_64; its builds are gcc-O1" in (
        capsys.readouterr().err
    )
    with pytest.raises(InputError, match="no pool that was asked for can be made"):
        evaluate(labelled, None, min_blocks=(2,), pools=(1000,))


def test_a_model_is_measured_where_there_is_no_training_package(labelled, tmp_path):
    alone = labelled.filter(pc.equal(labelled["role"], "test"))
    with pytest.raises(InputError, match="no function of a training package"):
        evaluate(alone, None)
    pq.write_table(alone, tmp_path / "test.parquet")
    arguments = ["--model", "bcsd-small", "--pools", "all", "--sizes", "2", "--settings", "XC", "--json"]
    assert main(["bcsd", "eval", str(tmp_path / "test.parquet"), *arguments]) == 0

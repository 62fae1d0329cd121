"""Whose functions are asked for, and which others fill up a pool."""

import numpy as np
import pyarrow as pa
import pytest

from weft.bcsd.evaluate.report import _task, evaluate
from weft.bcsd.evaluate.tasks import Labels
from weft.errors import InputError

#: Package, role, functions.
PACKAGES = (("asked", "test", 4), ("beside", "test", 3), ("valid", "valid", 5), ("train", "train", 6))


@pytest.fixture(scope="module")
def table():
    rows = []
    for build in ("gcc-O0-x86_64", "gcc-O3-x86_64"):
        for package, role, count in PACKAGES:
            rows += [(package, role, f"{package}/{number}", build) for number in range(count)]
    columns = dict(
        zip(("package", "role", "group", "build"), map(list, zip(*rows, strict=True)), strict=True)
    )
    blocks = pa.array([9] * len(rows))
    digests = [f"{group} {build}" for _, _, group, build in rows]
    return pa.table(
        {**columns, "token_digest": digests, "duplicate": [False] * len(rows), "num_blocks": blocks}
    ).append_column("num_instructions", blocks)


@pytest.mark.parametrize(
    ("pool", "held"),
    [(None, {"asked"}), (4, {"asked"}), (5, {"asked", "beside", "valid"}), (12, {"asked", "beside", "valid"}),
     (13, {"asked", "beside", "valid", "train"}), (18, {"asked", "beside", "valid", "train"})],
)  # fmt: skip
def test_a_pool_takes_the_nearest_packages_that_suffice(table, pool, held):
    labels = Labels(table)
    task = _task(labels, "XO O0-O3", "test", 5, pool, ["asked"])
    assert task is not None
    assert set(labels.package[task.base]) == held
    assert set(labels.build[task.base]) == {"gcc-O3-x86_64"}
    assert set(labels.package[task.queries]) == {"asked"}
    np.testing.assert_array_equal(labels.group[task.base[task.right]], labels.group[task.queries])


def test_a_pool_that_is_larger_than_all_is_left_out(table):
    assert _task(Labels(table), "XO O0-O3", "test", 5, 19, ["asked"]) is None


def test_without_names_the_whole_role_is_asked_for(table):
    labels = Labels(table)
    task = _task(labels, "XO O0-O3", "test", 5, None, [])
    assert task is not None
    assert set(labels.package[task.queries]) == {"asked", "beside"}


def test_a_package_that_is_not_there_is_named(table):
    with pytest.raises(InputError, match="no package 'train' of role 'test'"):
        evaluate(table, None, settings=["XO O0-O3"], packages=["train"])

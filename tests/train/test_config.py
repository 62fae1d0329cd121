import dataclasses
import math
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.errors import ConfigError
from weft.train import TrainConfig


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"epochs": None}, "give exactly one"),
        ({"steps": 3}, r"give exactly one .*set that one to null"),
        ({"epochs": 0}, r"epochs is 0; it must be an integer of at least 1"),
        ({"epochs": 1.5}, "epochs is 1.5"),
        ({"batch_size": True}, "batch_size is True"),
        ({"learning_rate": 0.0}, "learning_rate is 0.0; it must be above 0"),
        ({"learning_rate": True}, "learning_rate is True; it must be above 0"),
        ({"learning_rate": math.nan}, "learning_rate is nan"),
        ({"weight_decay": -0.1}, "weight_decay is -0.1"),
        ({"betas": (0.9, 1.0)}, r"betas is \(0.9, 1.0\)"),
        ({"betas": 0.9}, "betas is 0.9; it must be two numbers"),
        ({"warmup": 1.0}, r"warmup is 1.0; it must be in \[0, 1\)"),
        ({"final_rate": 2.0}, "final_rate"),
        ({"layer_decay": 0.0}, "layer_decay"),
        ({"max_grad_norm": 0.0}, "max_grad_norm"),
        ({"schedule": "step"}, "schedule is 'step'; it must be one of cosine, linear, constant"),
        ({"precision": "fp16"}, "precision is 'fp16'"),
        ({"mode": "best"}, "mode"),
        ({"metric": ""}, "metric"),
        ({"seed": -1}, "seed"),
        (
            {"seed": 1 << 63},
            r"seed is 9223372036854775808; it must be an integer of at least 0 and below 2\^63",
        ),
        ({"patience": 0}, "patience"),
        ({"keep": 0}, "keep"),
        ({"threads": 0}, "threads"),
    ],
)
def test_every_broken_rule_is_named(changes, message):
    with pytest.raises(ConfigError, match=message):
        TrainConfig(**({"epochs": 1} | changes))


def test_it_is_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        TrainConfig(epochs=1).epochs = 2  # type: ignore[misc] # the error is the point


@settings(deadline=None, max_examples=60)
@given(
    st.integers(1, 200),
    st.sampled_from([0.0, 0.1, 0.5]),
    st.sampled_from(["cosine", "linear"]),
    st.sampled_from([0.0, 0.1]),
)
def test_the_rate_rises_and_falls(total, warmup, schedule, final_rate):
    config = TrainConfig(steps=total, warmup=warmup, schedule=schedule, final_rate=final_rate)
    rates = [config.factor(step, total) for step in range(total)]
    warm = math.ceil(warmup * total)
    assert all(a < b for a, b in pairwise(rates[:warm]))
    assert all(a >= b for a, b in pairwise(rates[warm:]))
    assert all(0 < rate <= 1 for rate in rates)
    if warm < total:
        assert rates[warm] == 1.0
        assert config.factor(total, total) == pytest.approx(final_rate)


def test_known_rates():
    cosine = TrainConfig(steps=100, warmup=0.1)
    assert cosine.factor(0, 100) == pytest.approx(1 / 11)
    assert cosine.factor(55, 100) == pytest.approx(0.5)
    assert TrainConfig(steps=100, warmup=0.0, schedule="linear").factor(25, 100) == 0.75
    assert TrainConfig(steps=100, warmup=0.0, schedule="constant").factor(99, 100) == 1.0


def test_only_fields_that_change_the_model_differ():
    config = TrainConfig(epochs=1)
    other = dataclasses.asdict(dataclasses.replace(config, log_every=1, threads=2, keep=9, learning_rate=1.0))
    assert config.differing(other) == ["learning_rate"]
    assert config.differing({**dataclasses.asdict(config), "betas": [0.9, 0.999]}) == []
    listed = TrainConfig(epochs=1, betas=[0.9, 0.999])  # type: ignore[arg-type] # as a caller may
    assert listed == config
    assert listed.differing({**dataclasses.asdict(config), "betas": [0.9, 0.999]}) == []

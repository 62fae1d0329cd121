"""A training as a tool describes it: which figures it reports, and what is refused before its first step."""

import pytest
from tests.train.runs import train

from weft.errors import ConfigError
from weft.train import Course


def scripted(values):
    numbers = iter(values)
    return lambda model: {"loss": next(numbers), "step_of_it": 0.5}


def test_the_final_figures_are_those_of_the_weights_that_are_kept(tiny, tmp_path):
    falling_and_rising = [3.0, 1.0, 2.0, 2.5, 4.0, 5.0]
    _, history = train(tiny, tmp_path / "best", evaluate=scripted(falling_and_rising))
    assert history.best_step == 10
    assert history.final == {"loss": 1.0, "step_of_it": 0.5}
    assert history.evaluations[-1]["loss"] == 5.0
    _, again = train(tiny, tmp_path / "best", evaluate=scripted([]))
    assert (again.losses, again.final) == ([], history.final)
    _, last = train(tiny, evaluate=scripted(falling_and_rising), restore_best=False)
    assert last.final["loss"] == 5.0
    assert train(tiny, evaluate=False)[1].final == {}


def lessons(tiny, **changes):
    config = tiny.config(**changes)
    return Course(
        tiny.model(),
        tiny.batches(config),
        tiny.loss_step,
        config,
        tiny.evaluate,
        measures=("loss", "accuracy"),
    )


def test_a_metric_that_no_evaluation_gives_is_refused_before_the_first_step(tiny, tmp_path):
    with pytest.raises(ConfigError, match="metric is 'acuracy'; the evaluation gives loss, accuracy"):
        lessons(tiny, metric="acuracy").run(tmp_path)
    assert not list(tmp_path.iterdir())
    assert lessons(tiny, metric="accuracy", mode="max").run(tmp_path).history.step == 30

"""A training as a tool describes it: which figures it reports, and what is refused before its first step."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from tests.train.runs import train

from weft.errors import ConfigError
from weft.train import Course, run_setup


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


def test_a_mode_that_keeps_the_worst_weights_is_refused_before_the_first_step(tiny, tmp_path):
    for mode, better, which in (("max", "min", "lower"), ("min", "max", "higher")):
        course = replace(lessons(tiny, mode=mode), better=better)
        with pytest.raises(
            ConfigError, match=f"mode is '{mode}', which would keep the worst .* of 'loss' the {which} is"
        ):
            course.run(tmp_path)
        assert not list(tmp_path.iterdir())
        # Where nothing is evaluated, nothing is chosen.
        assert replace(course, evaluate=None).run().history.step == 30


@dataclass(frozen=True)
class Data:
    train: str
    column: str = "text"


@dataclass(frozen=True)
class Setup:
    """As a tool describes a training; what it names as a folder is a word here, a path there."""

    lessons: Any
    out: Path
    data: Data
    start: Path | None = None
    teacher: tuple[str, ...] | str | None = None
    kind: str = "pair"

    @property
    def train(self):
        return self.lessons.config

    def course(self):
        return self.lessons


@pytest.mark.parametrize(
    ("precision", "has", "told"), [("bf16", False, 1), ("bf16", True, 0), ("fp32", False, 0)]
)
def test_who_asks_a_processor_for_what_it_does_slowly_is_told(
    tiny, tmp_path, monkeypatch, precision, has, told
):
    monkeypatch.setattr("weft.train.course.cpu_multiplies_bf16", lambda: has)
    said = list[str]()
    run_setup(
        Setup(lessons(tiny, precision=precision, device="cpu", steps=1, epochs=None), tmp_path, Data("a")),
        tell=said.append,
    )
    assert sum("no instructions for bfloat16" in line for line in said) == told


def test_how_a_training_may_end_and_ended_is_told_in_time(tiny, tmp_path):
    said = list[str]()

    def finish(history):
        said.append("finishing")
        return {}

    def trained(name, **changes):
        said.clear()
        course = lessons(tiny, **changes)
        course = replace(
            course, finish=finish, evaluate=scripted([3.0, 1.0, 2.0, 2.5, 4.0, 5.0]), measures=()
        )
        return run_setup(Setup(course, tmp_path / name, Data("a")), tell=said.append).history

    assert trained("early", patience=2).stopped == "early"
    assert said == [
        "ends early where loss is not better in 2 evaluations (train.patience)",
        "20 steps done: loss was not better in the last 2 evaluations; the weights of step 10 are kept (loss 1). Now "
        "what is left is fitted, measured and saved",
        "finishing",
    ]
    assert trained("end").stopped == "end"
    assert said == [
        "30 steps done; the weights of step 10 are kept (loss 1). Now what is left is fitted, measured and saved",
        "finishing",
    ]
    trained("last", restore_best=False)
    assert said[0] == "30 steps done. Now what is left is fitted, measured and saved"


def test_a_model_is_not_written_over_what_it_is_made_of(tiny, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    (tmp_path / "link").symlink_to("one")
    given = {
        "start": {"start": Path("one")},
        "teacher": {"teacher": ("two", "one/")},
        "train": {"data": Data("one")},
    }
    for name, values in given.items():
        for out in ("one", "link"):
            setup = Setup(lessons(tiny), Path(out), **{"data": Data("two.csv"), **values})
            with pytest.raises(
                ConfigError, match=f"^{out}: out is the folder of {name}, which would be written over"
            ):
                run_setup(setup)
    assert not list((tmp_path / "one").iterdir())
    assert run_setup(Setup(lessons(tiny), Path("new"), Data("one"), Path("two"))).history.step == 30


def test_a_model_may_be_called_as_a_kind_or_a_column_is(tiny, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("pair", "text"):
        setup = Setup(lessons(tiny), Path(name), Data("none.csv"))
        assert len(run_setup(setup).history.losses) == 30
        Path(name, "config.json").write_text('{"model_type": "weft"}')
        # It is the same run, although a folder of that name holds a model now.
        assert run_setup(setup).history.losses == []


def test_a_model_is_not_written_over_another_program_s(tiny, tmp_path):
    (tmp_path / "bert").mkdir()
    config = tmp_path / "bert" / "config.json"
    config.write_text('{"model_type": "bert"}')
    with pytest.raises(
        ConfigError, match=r"bert: holds a model of another program \(model_type 'bert'\), which would"
    ):
        run_setup(Setup(lessons(tiny), tmp_path / "bert", Data("none.csv")))
    assert [path.name for path in (tmp_path / "bert").iterdir()] == ["config.json"]
    config.write_text("{")
    assert run_setup(Setup(lessons(tiny), tmp_path / "bert", Data("none.csv"))).history.step == 30

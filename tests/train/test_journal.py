"""What a run writes of itself: its log, its bar, TensorBoard events."""

import json

import pytest
from tests.train.runs import stop_after, train

from weft.errors import ConfigError, Interrupted, MissingExtraError
from weft.train import fit


def test_the_log_holds_means_rates_and_evaluations(tiny, tmp_path):
    _, history = train(tiny, tmp_path)
    records = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    steps = [r for r in records if "loss" in r]
    # Every third step, and before every evaluation and checkpoint.
    assert [r["step"] for r in steps] == sorted({*range(3, 31, 3), *range(4, 31, 4), *range(5, 31, 5)})
    assert steps[0]["loss"] == pytest.approx(sum(history.losses[:3]) / 3)
    assert {"step", "epoch", "loss", "accuracy", "grad_norm", "learning_rate", "seconds"} <= steps[0].keys()
    assert [r["epoch"] for r in steps][:2] == [0, 1]
    assert steps[-1]["learning_rate"] < steps[3]["learning_rate"]


def test_a_figure_that_is_not_finite_is_null_in_the_log(tiny, tmp_path):
    def refuse(constant):
        raise AssertionError(f"{constant} is no JSON")

    train(tiny, tmp_path, steps=2, eval_every=2, evaluate=lambda model: {"loss": 1.0, "f1": float("nan")})
    lines = (tmp_path / "log.jsonl").read_text().splitlines()
    records = [json.loads(line, parse_constant=refuse) for line in lines]
    assert [record["evaluation/f1"] for record in records if "evaluation/f1" in record] == [None]


def test_tensorboard_is_optional(tiny, tmp_path):
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(__import__("sys").modules, "torch.utils.tensorboard", None)
        with pytest.raises(MissingExtraError, match=r"pip install '\.\[tensorboard\]'"):
            train(tiny, tmp_path, steps=1, tensorboard=True)


def test_tensorboard_needs_a_directory(tiny):
    with pytest.raises(ConfigError, match="tensorboard is True, and there is no directory"):
        train(tiny, steps=1, tensorboard=True)


def test_the_bar_shows_where_the_run_is_only_on_a_terminal(tiny, monkeypatch, capsys):
    def run(quiet):
        config = tiny.config(steps=4)
        fit(tiny.model(), tiny.batches(config), tiny.loss_step, config, quiet=quiet)
        out, err = capsys.readouterr()
        assert out == ""
        return err

    assert run(quiet=False) == ""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")
    shown = run(quiet=False)
    assert "train" in shown
    assert "4/4" in shown
    assert "loss 0." in shown
    assert run(quiet=True) == ""


def test_a_log_cut_off_by_a_kill_is_mended(tiny, tmp_path):
    with pytest.raises(Interrupted):
        train(tiny, tmp_path, loss_step=stop_after(tiny, 9))
    with (tmp_path / "log.jsonl").open("a") as file:
        file.write('{"step": 7, "loss": 0.5}\n{"step": 8, "lo')
    train(tiny, tmp_path)
    steps = [json.loads(line)["step"] for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert steps == sorted(steps)


def test_tensorboard_events_are_written(tiny, tmp_path):
    pytest.importorskip("tensorboard")
    train(tiny, tmp_path, steps=3, tensorboard=True)
    assert list((tmp_path / "tensorboard").glob("events.*"))

"""Sizes that nobody means: refused by one line, before anything is allocated, for every tool and every field."""

from __future__ import annotations

import dataclasses
import time
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path

import pytest
from torch import nn

from weft.cli.main import main
from weft.errors import LimitError
from weft.platform.models import within_memory
from weft.platform.settings import listing
from weft.train import Course, TrainConfig, run_setup

AMOUNTS = {"epochs", "steps", "patience", "log_every", "eval_every", "save_every", "seed"}
DATA = {"bcsd": ("--data=no.parquet",), "kg": ("--data=no",), "absa": ("--data.train=no.csv", "--start=no")}


def integers(tool: str) -> list[str]:
    kind = import_module(f"weft.{tool}.learn.setup").Setup
    names = [name for name, what, _ in listing(kind) if what.startswith("integer")]
    return [name for name in names if name.rpartition(".")[2] not in AMOUNTS]


CASES = [(tool, name) for tool in DATA for name in integers(tool)]


@pytest.mark.parametrize(("tool", "name"), CASES, ids=str)
def test_no_size_of_a_file_of_settings_is_taken_at_its_word(
    tool: str, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = tmp_path / "train.yaml"
    settings.write_text("{}\n")
    flags = [*DATA[tool], f"--{name}=1000000000000", "--quiet", "-o", str(tmp_path / "out")]
    began = time.process_time()
    assert main([tool, "train", str(settings), *flags]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    # The other refusals: a divisor, a bound of its own, a field that is said elsewhere.
    assert name.rpartition(".")[2] in error or "num_attention_heads" in error
    assert time.process_time() - began < 10
    assert not (tmp_path / "out").exists()


def test_there_are_such_fields() -> None:
    names = {name for _, name in CASES}
    assert {
        "model.hidden_size",
        "model.layers",
        "model.max_length",
        "train.batch_size",
        "train.threads",
    } <= names


@dataclass(frozen=True)
class Setup:
    out: Path
    layers: int = 1
    width: int = 4
    train: TrainConfig = field(default_factory=lambda: TrainConfig(steps=1, device="cpu"))

    def course(self) -> Course[nn.Module, None]:
        nn.ModuleList(nn.Linear(self.width, self.width) for _ in range(self.layers))
        raise AssertionError("the model was made")


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"layers": 1_000_000}, "ask for more than 10,000 tensors"),
        ({"width": 1_000_000}, "one tensor of 4,000.0 GB that this machine cannot hold"),
        ({"layers": 1_000_000, "width": 10_000}, "GB of parameters; training takes four times as much"),
    ],
)
def test_a_model_beyond_the_memory_is_refused_while_it_is_made(
    sizes: dict[str, int], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Nothing is written to: what is refused costs no memory.
    monkeypatch.setattr(nn.Linear, "reset_parameters", lambda self: None)
    setup = dataclasses.replace(Setup(tmp_path), **sizes)
    with pytest.raises(LimitError, match=message):
        run_setup(setup)


def test_other_faults_pass_through_the_bound() -> None:
    with pytest.raises(RuntimeError, match="another fault"), within_memory():
        raise RuntimeError("another fault")
    with within_memory():
        nn.Linear(3, 3)

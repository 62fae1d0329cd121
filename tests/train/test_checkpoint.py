import json
import os
import random

import numpy as np
import pytest
import torch
from torch import nn

from weft.errors import CheckpointError, OutputError
from weft.platform import files
from weft.train.checkpoint import Checkpoints, load_tensors, save_tensors
from weft.train.snapshot import (
    load_model_tensors,
    load_optimizer_tensors,
    model_tensors,
    random_state,
    seed_everything,
    set_random_state,
)

CPU = torch.device("cpu")


def content(value=1.0):
    return {
        "model": {"weight": torch.full((3, 2), value), "steps": torch.tensor(7)},
        "optimizer": {"weight|exp_avg": torch.arange(6.0).view(2, 3).T},
    }


def names(directory):
    return sorted(entry.name for entry in directory.iterdir())


def test_round_trip(tmp_path):
    checkpoints = Checkpoints(tmp_path / "deep" / "checkpoints")
    assert checkpoints.names() == []
    place = checkpoints.save(12, content(), {"best": None, "names": ["a"]})
    assert names(place) == ["model.safetensors", "optimizer.safetensors", "state.json"]
    found = checkpoints.load()
    assert found.name == "step-00000012"
    assert found.state == {"best": None, "names": ["a"]}
    assert torch.equal(found.tensors["model"]["weight"], torch.ones(3, 2))
    assert torch.equal(found.tensors["optimizer"]["weight|exp_avg"], torch.arange(6.0).view(2, 3).T)
    assert found.tensors["model"]["steps"].item() == 7


def test_the_newest_are_kept_and_steps_beyond_are_given_up(tmp_path):
    checkpoints = Checkpoints(tmp_path, keep=2)
    for step in (5, 10, 15):
        checkpoints.save(step, content(step), {})
    assert checkpoints.names() == ["step-00000010", "step-00000015"]
    checkpoints.save(12, content(), {})
    assert checkpoints.names() == ["step-00000010", "step-00000012"]


def test_a_step_saved_again_replaces_itself(tmp_path):
    checkpoints = Checkpoints(tmp_path)
    checkpoints.save(5, content(1.0), {})
    checkpoints.save(5, content(2.0), {})
    assert names(tmp_path) == ["step-00000005"]
    assert checkpoints.load().tensors["model"]["weight"][0, 0].item() == 2.0


def test_what_a_kill_left_behind_is_not_a_checkpoint_and_is_cleared(tmp_path):
    checkpoints = Checkpoints(tmp_path)
    checkpoints.save(5, content(), {})
    (tmp_path / ".step-00000010.0.part").mkdir()
    (tmp_path / ".step-00000010.0.part" / "model.safetensors").write_bytes(b"half")
    assert checkpoints.load().name == "step-00000005"
    checkpoints.save(10, content(), {})
    assert names(tmp_path) == ["step-00000005", "step-00000010"]


@pytest.mark.parametrize("killed_at", ["mkdir", "write", "rename", "remove"])
def test_a_kill_at_any_point_leaves_a_whole_checkpoint(tmp_path, monkeypatch, killed_at):
    class Killed(BaseException):
        pass

    def die(*_args, **_kwargs):
        raise Killed

    checkpoints = Checkpoints(tmp_path, keep=1)
    checkpoints.save(5, content(5.0), {})
    targets = {
        "mkdir": "weft.train.checkpoint._write_tensors",
        "write": "weft.platform.files._sync",
        "rename": "weft.platform.files.os.rename",
        "remove": "weft.train.checkpoint.shutil.rmtree",
    }
    with monkeypatch.context() as patch:
        patch.setattr(targets[killed_at], die)
        with pytest.raises(Killed):
            checkpoints.save(10, content(10.0), {})
    found = checkpoints.load()
    expected = 10 if killed_at == "remove" else 5
    assert found.name == f"step-{expected:08d}"
    assert found.tensors["model"]["weight"][0, 0].item() == expected
    files._sweep.cache_clear()  # the next process begins so
    checkpoints.save(11, content(11.0), {})
    assert names(tmp_path) == ["step-00000011"]


def flip(path):
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(bytes(data))


def rewrite_state(path, change):
    record = json.loads(path.read_text())
    change(record)
    path.write_text(json.dumps(record))


DAMAGES = {
    "a flipped bit": (
        lambda place: flip(place / "model.safetensors"),
        r"model\.safetensors does not match its digest",
    ),
    "a truncated file": (
        lambda place: os.truncate(place / "optimizer.safetensors", 20),
        r"optimizer\.safetensors does not match its digest",
    ),
    "a missing file": (
        lambda place: (place / "model.safetensors").unlink(),
        r"model\.safetensors cannot be read",
    ),
    "no state": (lambda place: (place / "state.json").unlink(), r"state\.json cannot be read"),
    "an empty state": (
        lambda place: (place / "state.json").write_text(""),
        r"state\.json is not a checkpoint's",
    ),
    "a state of another kind": (
        lambda place: (place / "state.json").write_text("[1]"),
        r"state\.json is not",
    ),
    "an edited state": (
        lambda place: rewrite_state(place / "state.json", lambda record: record.update(step=99)),
        r"state\.json does not match its digest",
    ),
}


@pytest.mark.parametrize("kind", DAMAGES)
def test_damage_is_an_error_that_offers_the_one_before(tmp_path, kind):
    damage, message = DAMAGES[kind]
    checkpoints = Checkpoints(tmp_path, keep=3)
    for step in (5, 10, 15):
        checkpoints.save(step, content(step), {})
    damage(tmp_path / "step-00000015")
    with pytest.raises(CheckpointError, match=message + r".*resume from 'step-00000010', which is intact"):
        checkpoints.load()
    assert checkpoints.load("step-00000010").tensors["model"]["weight"][0, 0].item() == 10
    damage(tmp_path / "step-00000010")
    with pytest.raises(CheckpointError, match="resume from 'step-00000005'"):
        checkpoints.load()
    damage(tmp_path / "step-00000005")
    with pytest.raises(CheckpointError, match="start again in another directory") as caught:
        checkpoints.load()
    assert caught.value.exit_code == 4


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "run").write_text("a file")
    with pytest.raises(OutputError, match="cannot be written: Not a directory"):
        Checkpoints(tmp_path / "run" / "checkpoints").save(1, content(), {})


def test_a_full_disk_leaves_the_one_before(tmp_path, monkeypatch):
    checkpoints = Checkpoints(tmp_path)
    checkpoints.save(5, content(5.0), {})

    def full(*_args):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(files, "_sync", full)
        with pytest.raises(OutputError, match="cannot be written: No space left on device"):
            checkpoints.save(10, content(), {})
    assert checkpoints.load().name == "step-00000005"


def test_single_files(tmp_path):
    path = tmp_path / "best.safetensors"
    save_tensors(path, {"a": torch.ones(2)})
    assert names(tmp_path) == ["best.safetensors"]
    assert torch.equal(load_tensors(path)["a"], torch.ones(2))
    os.truncate(path, 10)
    with pytest.raises(CheckpointError, match=r"best\.safetensors: cannot be read"):
        load_tensors(path)
    with pytest.raises(CheckpointError, match="cannot be read"):
        load_tensors(tmp_path / "absent.safetensors")
    with pytest.raises(OutputError, match="cannot be written"):
        save_tensors(path / "below-a-file" / "x.safetensors", {"a": torch.ones(2)})


def test_every_generator_is_restored():
    seed_everything(5)
    state = json.loads(json.dumps(random_state(CPU)))
    draws = [
        (torch.rand(3).tolist(), random.gauss(0, 1), np.random.standard_normal(3).tolist()) for _ in range(2)
    ]
    set_random_state(state, CPU)
    again = [
        (torch.rand(3).tolist(), random.gauss(0, 1), np.random.standard_normal(3).tolist()) for _ in range(2)
    ]
    assert draws == again


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.embeddings = nn.Embedding(5, 3)
        self.decoder = nn.Linear(3, 5)
        self.decoder.weight = self.embeddings.weight
        self.register_buffer("scale", torch.ones(3).expand(3))


def test_tied_and_strided_tensors_survive(tmp_path):
    source, target = Tied(), Tied()
    save_tensors(tmp_path / "m.safetensors", model_tensors(source))
    assert sorted(load_tensors(tmp_path / "m.safetensors")) == ["decoder.bias", "embeddings.weight", "scale"]
    load_model_tensors(target, load_tensors(tmp_path / "m.safetensors"), "m")
    assert torch.equal(target.decoder.weight, source.embeddings.weight)
    assert target.decoder.weight is target.embeddings.weight


def test_moments_of_unknown_parameters_are_refused():
    model = nn.Linear(2, 2)
    optimizer = torch.optim.AdamW([{"params": [model.weight], "names": ["weight"]}])
    with pytest.raises(CheckpointError, match="not trained: bias"):
        load_optimizer_tensors(optimizer, {"bias|exp_avg": torch.zeros(2)}, "step-1")

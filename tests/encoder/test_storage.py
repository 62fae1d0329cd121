"""weft's own checkpoints: whole or refused."""

import json
import os

import pytest
import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer, models
from torch import nn

from weft.encoder import (
    Encoder,
    EncoderConfig,
    load_model,
    load_pretrained,
    load_tokenizer,
    load_weights,
    read_config,
    save_model,
)
from weft.errors import CheckpointError, ConfigError, OutputError
from weft.platform import files


def build(values):
    return Encoder(EncoderConfig.from_dict(values))


def tokenizer():
    return Tokenizer(models.WordLevel({"[UNK]": 0, "a": 1, "b": 2}, unk_token="[UNK]"))


@pytest.fixture
def saved(tmp_path, config):
    encoder = Encoder(config)
    save_model(tmp_path / "model", encoder, config, tokenizer())
    return tmp_path / "model", encoder


def test_round_trip(saved, config):
    directory, encoder = saved
    assert sorted(path.name for path in directory.iterdir()) == [
        "config.json",
        "model.safetensors",
        "tokenizer.json",
    ]
    assert read_config(directory, "Encoder") == config.to_dict()
    loaded = load_model(directory, build, "Encoder")
    assert all(torch.equal(a, b) for a, b in zip(loaded.parameters(), encoder.parameters(), strict=True))
    assert load_tokenizer(directory).encode("b").ids == [2]
    pretrained = load_pretrained(directory)
    ids = torch.randint(0, 40, (2, 4))
    found = pretrained.encoder(ids).last_hidden_state
    assert torch.equal(found, encoder.eval()(ids).last_hidden_state)
    assert pretrained.tokenizer.get_vocab_size() == 3


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_halves_the_file_and_is_read_back_in_fp32(tmp_path, config, dtype):
    encoder = Encoder(config)
    save_model(tmp_path / "full", encoder, config)
    save_model(tmp_path / "half", encoder, config, dtype=dtype)
    sizes = [(tmp_path / name / "model.safetensors").stat().st_size for name in ("full", "half")]
    assert sizes[1] < 0.7 * sizes[0]
    assert {tensor.dtype for tensor in load_file(tmp_path / "half" / "model.safetensors").values()} == {dtype}
    loaded = load_model(tmp_path / "half", build)
    for found, expected in zip(loaded.parameters(), encoder.parameters(), strict=True):
        assert found.dtype == torch.float32
        assert torch.equal(found, expected.to(dtype).float())


def test_a_value_that_half_precision_cannot_hold(tmp_path, config):
    encoder = Encoder(config)
    with torch.no_grad():
        encoder.layers[1].output.bias[3] = 1e6
    with pytest.raises(CheckpointError, match=r"layers\.1\.output\.bias"):
        save_model(tmp_path, encoder, config, dtype=torch.float16)
    assert not list(tmp_path.iterdir())
    with pytest.raises(ConfigError, match=r"dtype is torch\.int8"):
        save_model(tmp_path, encoder, config, dtype=torch.int8)


def test_tied_tensors_are_stored_once(tmp_path):
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = nn.Linear(3, 3)
            self.second = nn.Linear(3, 3, bias=False)
            self.second.weight = self.first.weight
            self.register_buffer("steps", torch.tensor(7))

    module = Tied()
    save_model(tmp_path, module, {})
    assert sorted(load_file(tmp_path / "model.safetensors")) == ["first.bias", "first.weight", "steps"]
    loaded = load_weights(Tied(), tmp_path)
    assert torch.equal(loaded.second.weight, module.first.weight)
    assert loaded.second.weight is loaded.first.weight
    assert loaded.steps == 7


def test_saving_again_replaces_and_leaves_no_old_tokenizer(saved, config):
    directory, _ = saved
    other = Encoder(config)
    save_model(directory, other, config)
    assert sorted(path.name for path in directory.iterdir()) == ["config.json", "model.safetensors"]
    assert torch.equal(load_model(directory, build).layers[0].output.weight, other.layers[0].output.weight)


@pytest.mark.parametrize("broken", ["model.safetensors", "tokenizer.json", "config.json"])
def test_a_save_that_fails_keeps_the_old_checkpoint(saved, config, monkeypatch, broken):
    directory, encoder = saved

    def full(path):
        if broken in path.name:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(files, "_sync", full)
    with pytest.raises(OutputError, match=r"cannot be written: .*No space left"):
        save_model(directory, Encoder(config), config, tokenizer())
    monkeypatch.undo()
    assert sorted(path.name for path in directory.iterdir()) == [
        "config.json",
        "model.safetensors",
        "tokenizer.json",
    ]
    assert torch.equal(load_model(directory, build).layers[0].output.weight, encoder.layers[0].output.weight)


@pytest.mark.parametrize("after", [1, 2])
def test_a_save_that_dies_between_two_renames_is_told_apart(saved, config, monkeypatch, after):
    directory, _ = saved
    replace, done = os.replace, []

    def die(source, target):
        if len(done) == after:
            raise KeyboardInterrupt
        done.append(target)
        replace(source, target)

    monkeypatch.setattr(os, "replace", die)
    with pytest.raises(KeyboardInterrupt):
        save_model(directory, Encoder(config), config, tokenizer())
    monkeypatch.undo()
    with pytest.raises(
        CheckpointError, match=r"model\.safetensors: is not the file that config\.json was saved with"
    ):
        load_model(directory, build)


def test_a_directory_that_cannot_be_made(tmp_path, config):
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="cannot be written"):
        save_model(tmp_path / "file", Encoder(config), config)


def test_a_configuration_that_is_no_json(tmp_path, config):
    with pytest.raises(ConfigError, match="no JSON"):
        save_model(tmp_path, Encoder(config), {"x": object()})
    with pytest.raises(ConfigError, match="no JSON"):
        save_model(tmp_path, Encoder(config), {"x": float("nan")})
    assert not list(tmp_path.iterdir())


def test_damaged_files(saved):
    directory, _ = saved
    weights = directory / "model.safetensors"
    whole = weights.read_bytes()
    for damaged in (whole[:-100], whole[:5], b"", whole[:-1] + bytes([whole[-1] ^ 1])):
        weights.write_bytes(damaged)
        with pytest.raises(CheckpointError, match="damaged, truncated or from another save"):
            load_model(directory, build)
    weights.unlink()
    with pytest.raises(CheckpointError, match=r"model\.safetensors: is missing"):
        load_model(directory, build)


def test_another_model(saved, config):
    directory, _ = saved
    with pytest.raises(CheckpointError, match="holds an Encoder; a BCSModel is needed"):
        read_config(directory, "BCSModel")
    smaller = {**config.to_dict(), "num_hidden_layers": 2}
    with pytest.raises(CheckpointError, match=r"16 unexpected: layers\.2\..* and 4 more"):
        load_weights(build(smaller), directory)
    larger = {**config.to_dict(), "num_hidden_layers": 4}
    with pytest.raises(CheckpointError, match=r"16 missing: layers\.3\."):
        load_weights(build(larger), directory)
    wider = {**config.to_dict(), "intermediate_size": 32}
    with pytest.raises(
        CheckpointError, match=r"layers\.0\.intermediate\.weight \(24, 16\) instead of \(32, 16\)"
    ):
        load_weights(build(wider), directory)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model_type": "bert"}, "model_type is 'bert': no weft checkpoint.*load_pretrained"),
        ({"format": 9}, "format is 9; this weft reads 1"),
        ({"config": {"vocab_size": -1}}, "configuration does not build: EncoderConfig.vocab_size is -1"),
        ({"config": {"colour": 1}}, "has no key 'colour'"),
        ({"config": None}, "no weft checkpoint"),
    ],
)
def test_wrong_records(saved, change, message):
    directory, _ = saved
    record = json.loads((directory / "config.json").read_text())
    (directory / "config.json").write_text(json.dumps({**record, **change}))
    with pytest.raises(CheckpointError, match=message):
        load_model(directory, build)


def test_no_checkpoint_at_all(tmp_path):
    with pytest.raises(CheckpointError, match=r"has no config\.json"):
        read_config(tmp_path)


def test_the_weights_of_another_save_of_the_same_shape(saved, config, tmp_path):
    directory, _ = saved
    save_model(tmp_path / "other", Encoder(config), config)
    (directory / "model.safetensors").write_bytes((tmp_path / "other" / "model.safetensors").read_bytes())
    with pytest.raises(CheckpointError, match="from another save"):
        load_model(directory, build)

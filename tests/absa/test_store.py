"""Models on disk: what is saved is loaded, in eight bits as well; damage and absence are one clear error."""

import json
import pickle
import subprocess
import sys
import zlib

import numpy as np
import pytest
import torch

from weft.absa import load, save
from weft.absa.use.store import DEFAULT_MODEL, find
from weft.bcsd import Embedding
from weft.cli.absa import arguments, calibrate, explain, predict
from weft.cli.absa import eval as measure
from weft.cli.absa import find as finding
from weft.encoder.checkpoint.int8 import Int8Storage
from weft.encoder.checkpoint.tensors import own_tensors
from weft.errors import CheckpointError, ConfigError
from weft.kg import Extraction
from weft.platform.models import shipped_models

TEXT = "LOCATION1 is cheap but not very safe"
QUESTIONS = [("LOCATION1", "price"), ("LOCATION1", "safety")]


@pytest.mark.parametrize("kind", ["weft-absa", "pair", "qacg", "qacg-official", "cg"])
def test_what_is_saved_is_loaded(make, tmp_path, kind):
    asker = make(kind).calibrated(1.7)
    save(tmp_path / "model", asker)
    loaded = load(tmp_path / "model")
    assert loaded.config == asker.config
    assert np.allclose(loaded.predict([TEXT], QUESTIONS), asker.predict([TEXT], QUESTIONS), atol=1e-6)


@pytest.mark.parametrize("kind", ["weft-absa", "pair", "qacg"])
def test_an_asker_goes_to_another_process(make, kind):
    asker = make(kind).calibrated(1.7)
    asker.predict([TEXT], QUESTIONS)
    sent = pickle.loads(pickle.dumps(asker))  # noqa: S301 - what multiprocessing does
    assert sent.config == asker.config
    asker.compute_in("bf16")
    assert type(pickle.loads(pickle.dumps(asker))._answering) is type(asker.module)  # noqa: S301 - as above
    asker.compute_in("fp32")
    assert np.allclose(sent.predict([TEXT], QUESTIONS), asker.predict([TEXT], QUESTIONS), atol=1e-6)


@pytest.mark.parametrize("precision", ["fp8", "FP32", None])
def test_an_arithmetic_that_there_is_not_is_refused(make, precision):
    asker = make()
    before = asker.predict([TEXT], QUESTIONS)
    with pytest.raises(ConfigError, match=f"precision is {precision!r}; it must be one of fp32, bf16"):
        asker.compute_in(precision)
    assert np.array_equal(asker.predict([TEXT], QUESTIONS), before)
    with pytest.raises(ConfigError, match="it must be auto, fp32 or bf16"):
        Embedding(precision=precision)
    with pytest.raises(ConfigError, match="arithmetic is"):
        Extraction(arithmetic=precision)


def test_eight_bits_are_a_quarter_and_nearly_the_same(make, tmp_path):
    asker = make()
    save(tmp_path / "whole", asker)
    save(tmp_path / "small", asker, int8=True)
    sizes = [(tmp_path / name / "model.safetensors").stat().st_size for name in ("whole", "small")]
    assert sizes[1] < 0.6 * sizes[0]  # the sixteen-wide rows here spend a fifth on their scales
    found = load(tmp_path / "small").predict([TEXT], QUESTIONS)
    assert np.abs(found - asker.predict([TEXT], QUESTIONS)).max() < 0.05


def test_eight_bits_by_hand(make):
    module = make().module
    storage = dict(Int8Storage(own_tensors(module)).named_buffers())
    weight = module.head.classifier.weight
    for row, stored, scale in zip(
        weight, storage["head/classifier/weight"], storage["head/classifier/weight/scale"], strict=True
    ):
        assert stored.dtype == torch.int8
        assert float(scale) == pytest.approx(float(row.detach().abs().max()) / 127)
        assert torch.equal(stored, (row / scale).round().to(torch.int8))
    assert storage["head/classifier/bias"].dtype == torch.float32


def test_bytes_of_seven_bits_pack_smaller_and_say_nearly_the_same(make, tmp_path):
    asker = make()
    for bits in (8, 7):
        save(tmp_path / str(bits), asker, int8=True, bits=bits)
    packed = [len(zlib.compress((tmp_path / b / "model.safetensors").read_bytes())) for b in ("8", "7")]
    assert packed[1] < packed[0]
    stored = Int8Storage(own_tensors(asker.module), 7).get_buffer("head/classifier/weight")
    assert int(stored.abs().max()) == 63
    parts = Int8Storage(own_tensors(asker.module), {"head.": 7})
    assert int(parts.get_buffer("head/classifier/weight").abs().max()) == 63
    assert int(parts.get_buffer("context/aspect/weight").abs().max()) == 127
    found = load(tmp_path / "7").predict([TEXT], QUESTIONS)
    assert np.abs(found - asker.predict([TEXT], QUESTIONS)).max() < 0.05
    with pytest.raises(ConfigError, match="bits is 9"):
        save(tmp_path / "9", asker, int8=True, bits=9)
    with pytest.raises(ConfigError, match="bits is 7 for a model stored in floats"):
        save(tmp_path / "9", asker, bits=7)
    assert not (tmp_path / "9").exists()


def test_a_row_of_zeros_survives_eight_bits(make, tmp_path):
    asker = make()
    torch.nn.init.zeros_(asker.module.head.classifier.weight)
    save(tmp_path, asker, int8=True)
    assert not load(tmp_path).module.head.classifier.weight.any()


def test_no_such_model(tmp_path):
    with pytest.raises(CheckpointError, match="no such model"):
        load(tmp_path / "absent")
    with pytest.raises(CheckpointError, match="no such model"):
        find("absa-huge")


def test_damage(make, tmp_path):
    folder = tmp_path / "model"
    save(folder, make())
    tokenizer = (folder / "tokenizer.json").read_bytes()
    (folder / "tokenizer.json").unlink()
    with pytest.raises(CheckpointError, match="tokenizer"):
        load(folder)
    (folder / "tokenizer.json").write_bytes(tokenizer[:100])
    with pytest.raises(CheckpointError):
        load(folder)
    (folder / "tokenizer.json").write_bytes(tokenizer)
    weights = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(weights[: len(weights) // 2])
    with pytest.raises(CheckpointError):
        load(folder)
    (folder / "model.safetensors").write_bytes(weights)
    load(folder)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "kind": "bcsd"}))
    with pytest.raises(CheckpointError):
        load(folder)


def test_the_model_for_any_review():
    """It is the default, small enough, has its card, and tells two named things apart."""
    folder = shipped_models("absa")[DEFAULT_MODEL]
    assert sum(path.stat().st_size for path in folder.iterdir()) < 40e6
    card = (folder / "README.md").read_text(encoding="utf-8")
    for word in (
        "MAMS",
        "ABSADatasets",
        "ACOS",
        "SentiHood",
        "Apache-2.0",
        "MIT",
        "recipes/absa_any.py",
        "seed",
    ):
        assert word in card
    asker = load()
    assert asker.classes_ == ("none", "positive", "negative", "neutral", "conflict")
    answers = asker.predict(
        ["The staff were friendly, but the room was dirty."],
        ["staff", "service: how one is treated", "room", "prices", "parking"],
    )
    assert answers.argmax(axis=-1).tolist() == [[1, 1, 2, 0, 0]]
    texts = ["The staff were lovely, but hopelessly slow and forgetful.", "The staff were lovely."]
    conflict = asker.predict(texts, ["staff", "parking"])[..., asker.classes_.index("conflict")]
    assert conflict[0, 0] > 0.3
    assert conflict[[0, 1, 1], [1, 0, 1]].max() < 0.1


def test_the_model_for_neighbourhoods():
    """It is there, small enough, has its card, and answers the questions of the documentation."""
    folder = shipped_models("absa")["absa-small"]
    assert sum(path.stat().st_size for path in folder.iterdir()) < 30e6
    card = (folder / "README.md").read_text(encoding="utf-8")
    for word in ("CC-BY-4.0", "SentiHood", "recipes/absa_small.py", "seed"):
        assert word in card
    answers = load("absa-small").predict(
        ["LOCATION1 is a bit pricey, but it is safe and well connected"],
        [("LOCATION1", "price"), ("LOCATION1", "safety"), ("LOCATION1", "nightlife")],
    )
    assert answers.argmax(axis=-1).tolist() == [[2, 1, 0]]


def test_a_shipped_model_is_loaded_without_pytorchs_compiler_and_nothing_of_it_is_drawn():
    code = (
        "import sys, torch\nfrom weft.absa.use.store import load\n"
        "state = torch.get_rng_state()\n"
        "load('absa-any')\n"
        "assert torch.equal(state, torch.get_rng_state())\n"
        "sys.exit('torch._dynamo' in sys.modules or 'sympy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_every_command_asks_the_same_model_unless_another_is_named():
    commands = (predict, finding, explain, measure, calibrate)
    assert {command.parser().get_default("model") for command in commands} == {DEFAULT_MODEL}
    assert arguments.DEFAULT_MODEL == DEFAULT_MODEL

"""Models by name and folder, and configurations that ask for more than their weights hold."""

from __future__ import annotations

import json
import resource
import shutil
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from weft.encoder.checkpoint.pretrained import load_pretrained
from weft.encoder.checkpoint.storage import load_model, save_model
from weft.encoder.config import EncoderConfig
from weft.encoder.encoder import Encoder
from weft.errors import CheckpointError
from weft.kg import Extractor
from weft.platform.models import (
    build_within,
    describe_models,
    find_model,
    model_card,
    read_shapes,
    shipped_models,
    within_memory,
)

SMALL = EncoderConfig(
    vocab_size=40, hidden_size=8, num_hidden_layers=2, num_attention_heads=2, intermediate_size=16
)


def test_a_shipped_name_and_a_folder_are_found(tmp_path: Path):
    assert find_model("bcsd", "bcsd-small") == shipped_models("bcsd")["bcsd-small"]
    (tmp_path / "config.json").write_text("{}")
    assert find_model("bcsd", tmp_path) == tmp_path


def test_a_folder_that_is_called_as_a_shipped_model_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "bcsd-small").mkdir()
    (tmp_path / "bcsd-small" / "config.json").write_text("{}")
    monkeypatch.chdir(tmp_path)
    shipped = shipped_models("bcsd")["bcsd-small"]
    assert find_model("bcsd", "bcsd-small") == shipped
    assert find_model("bcsd", "./bcsd-small") == Path("./bcsd-small")
    assert find_model("bcsd", Path("bcsd-small")) == Path("bcsd-small")
    assert find_model("kg", "bcsd-small") == Path("bcsd-small")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("bcsd-smal", ["no such model", "did you mean bcsd-small?"]),
        ("kg-python-small", ["no such model", "bcsd-small"]),
        ("", ["''", "no such model"]),
        ("x" * 5000, ["xxx…", "5,000 characters", "no such model"]),
        ("a\0b", ["no such model"]),
    ],
    ids=["near", "another kind's", "empty", "long", "zero byte"],
)
def test_a_name_that_is_none_is_told_in_one_line(name: str, words: list[str]):
    with pytest.raises(CheckpointError) as caught:
        find_model("bcsd", name)
    text = str(caught.value)
    assert all(word in text for word in words), text
    assert len(text) < 300
    assert "\n" not in text


def test_a_near_folder_is_named(tmp_path: Path):
    (tmp_path / "my-model").mkdir()
    (tmp_path / "my-model" / "config.json").write_text("{}")
    with pytest.raises(CheckpointError, match=r"did you mean .*my-model"):
        find_model("bcsd", tmp_path / "my-modle")


def test_a_folder_without_configuration_and_a_file(tmp_path: Path):
    with pytest.raises(CheckpointError, match=r"has no config\.json"):
        find_model("kg", tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(CheckpointError, match="is a file"):
        find_model("kg", tmp_path / "file")


def test_every_shipped_model_has_a_card_and_a_size():
    assert {record["name"] for record in describe_models()} == set(shipped_models())
    for record in describe_models():
        assert record["megabytes"] > 0
        assert record["summary"].endswith(".")
        assert "\n" not in record["summary"]
        assert ". " not in record["summary"]
        assert record["name"] in model_card(record["name"])
    with pytest.raises(CheckpointError, match="did you mean absa-small"):
        model_card("absa-smal")


def test_shapes_are_read_from_the_header_alone(tmp_path: Path):
    tensors = {"a": torch.zeros(3, 5), "b": torch.zeros(())}
    save_file(tensors, tmp_path / "w.safetensors", metadata={"format": "pt"})
    assert read_shapes(tmp_path / "w.safetensors") == {"a": (3, 5), "b": ()}
    for content in (b"", b"\xff" * 8, b"\x04\0\0\0\0\0\0\0[1]", b"\x02\0\0\0\0\0\0\0\xff\xff"):
        (tmp_path / "bad").write_bytes(content)
        with pytest.raises(CheckpointError):
            read_shapes(tmp_path / "bad")


ABSURD = [
    ("num_hidden_layers", 10**6),
    ("hidden_size", 10**9),
    ("intermediate_size", 10**18),
    ("vocab_size", 10**12),
    ("num_hidden_layers", 3),
    ("hidden_size", 16),
]


@pytest.mark.parametrize(("field", "value"), ABSURD)
@pytest.mark.parametrize("kind", ["weft", "bert"])
def test_absurd_sizes_are_refused_before_anything_is_allocated(
    tmp_path: Path, field: str, value: int, kind: str, tiny_bert: Path
):
    folder = tmp_path / "model"
    if kind == "weft":
        save_model(folder, Encoder(SMALL), SMALL)
    else:
        shutil.copytree(tiny_bert, folder)
    record = json.loads((folder / "config.json").read_text())
    (record["config"] if kind == "weft" else record)[field] = value
    (folder / "config.json").write_text(json.dumps(record))
    load = load_encoder if kind == "weft" else load_pretrained
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begin = time.process_time()
    with pytest.raises(CheckpointError) as caught:
        load(folder)
    assert time.process_time() - begin < 2
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000  # kilobytes
    assert "\n" not in str(caught.value)


def load_encoder(folder: Path) -> Encoder:
    return load_model(folder, lambda values: Encoder(EncoderConfig.from_dict(values)))


@pytest.fixture(scope="session")
def tiny_bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    transformers = pytest.importorskip("transformers")
    folder = tmp_path_factory.mktemp("bert")
    config = transformers.BertConfig(
        vocab_size=40, hidden_size=8, num_hidden_layers=2, num_attention_heads=2, intermediate_size=16
    )
    transformers.BertModel(config).save_pretrained(folder)
    return folder


def test_what_fits_is_built_once_more_with_storage():
    shapes = {"weight": (3, 2), "bias": (3,)}
    module = build_within(lambda: nn.Linear(2, 3), shapes, "here")
    assert module.weight.is_meta
    assert not nn.Linear(2, 3).weight.is_meta
    with pytest.raises(CheckpointError, match="here: its configuration asks for a weight"):
        build_within(lambda: nn.Linear(2, 4), shapes, "here")


def test_what_has_no_storage_draws_nothing_and_loads_no_compiler():
    code = (
        "import sys, torch\nfrom torch import nn\nfrom weft.platform.models import without_storage\n"
        "state = torch.get_rng_state()\n"
        "with without_storage():\n"
        "    parts = [nn.Linear(3, 4), nn.Embedding(5, 6), nn.LayerNorm(3), nn.Conv1d(2, 2, 1)]\n"
        "    nn.init.xavier_uniform_(parts[0].weight)\n"
        "    parts.append(nn.Linear(3, 3))\n"
        "    nn.init.eye_(parts[-1].weight)\n"
        "    parts.append(nn.ParameterList([torch.randn(2, 3), torch.rand(4)]))\n"
        "    own = torch.empty(3).normal_(std=0.1)\n"
        "assert own.is_meta and all(one.is_meta for part in parts for one in part.parameters())\n"
        "assert torch.equal(state, torch.get_rng_state())\n"
        "assert float(nn.Linear(3, 4).weight.detach().std()) > 0\n"
        "sys.exit('torch._dynamo' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_what_other_threads_build_meanwhile_is_not_counted():
    """A server loads several models at once, and whoever embeds weft builds modules of his own."""
    shapes = {"weight": (3, 2), "bias": (3,)}
    made: list[nn.Module] = []

    def build() -> nn.Linear:
        other = threading.Thread(target=lambda: made.extend(nn.Linear(9, 9) for _ in range(100)))
        other.start()
        other.join()
        return nn.Linear(2, 3)

    assert build_within(build, shapes, "here").weight.device.type == "meta"
    assert len(made) == 100
    with within_memory():
        build_within(lambda: nn.Linear(2, 3), shapes, "here")
        nn.Linear(2, 4)
    with pytest.raises(CheckpointError, match="asks for"):
        build_within(lambda: nn.Linear(2, 4), shapes, "here")


def test_models_are_loaded_by_several_threads_at_once():
    def load() -> list[int]:
        return [Extractor.load("kg-python-small").model.config.leaves for _ in range(3)]

    with ThreadPoolExecutor(4) as pool:
        leaves = {count for work in [pool.submit(load) for _ in range(4)] for count in work.result()}
    assert leaves == {7}

"""Checkpoints of others: read strictly, refused clearly."""

import json
import pickle
import random

import pytest
import torch
from safetensors.torch import load_file, save_file

from weft.encoder import Encoder, EncoderConfig, load_pretrained, load_tokenizer
from weft.encoder.checkpoint import pretrained
from weft.errors import CheckpointError

HF_CONFIG = {
    "model_type": "bert",
    "vocab_size": 40,
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 24,
    "max_position_embeddings": 12,
    "type_vocab_size": 2,
    "hidden_act": "gelu",
    "pad_token_id": 0,
}


def hf_tensors(prefix=""):
    """A BERT's tensors under its own names, written out here so that the rename table is checked against them."""

    def linear(name, rows, columns):
        return {f"{name}.weight": torch.randn(rows, columns), f"{name}.bias": torch.randn(rows)}

    def norm(name):
        return {f"{name}.weight": torch.rand(16) + 0.5, f"{name}.bias": torch.randn(16)}

    tensors = {
        "embeddings.word_embeddings.weight": torch.randn(40, 16),
        "embeddings.position_embeddings.weight": torch.randn(12, 16),
        "embeddings.token_type_embeddings.weight": torch.randn(2, 16),
        **norm("embeddings.LayerNorm"),
    }
    for layer in range(2):
        base = f"encoder.layer.{layer}"
        for part in ("query", "key", "value"):
            tensors |= linear(f"{base}.attention.self.{part}", 16, 16)
        tensors |= linear(f"{base}.attention.output.dense", 16, 16) | norm(
            f"{base}.attention.output.LayerNorm"
        )
        tensors |= linear(f"{base}.intermediate.dense", 24, 16) | linear(f"{base}.output.dense", 16, 24)
        tensors |= norm(f"{base}.output.LayerNorm")
    return {prefix + name: tensor for name, tensor in tensors.items()}


def write(directory, tensors=None, config=None, safetensors=True):
    directory.mkdir(exist_ok=True)
    tensors = hf_tensors() if tensors is None else tensors
    (directory / "config.json").write_text(json.dumps(HF_CONFIG if config is None else config))
    if safetensors:
        save_file(tensors, directory / "model.safetensors", metadata={"format": "pt"})
    else:
        torch.save(tensors, directory / "pytorch_model.bin")
    return directory


def hidden(directory):
    return load_pretrained(directory).encoder(torch.arange(6)[None] + 3).last_hidden_state


@pytest.fixture
def checkpoint(tmp_path):
    return write(tmp_path / "plain")


def test_prefixes_old_names_and_irrelevant_tensors_change_nothing(tmp_path, checkpoint):
    expected, tensors = hidden(checkpoint), load_file(checkpoint / "model.safetensors")
    prefixed = {f"bert.{name}": tensor for name, tensor in tensors.items()}
    old = {
        name.replace("LayerNorm.weight", "LayerNorm.gamma").replace(
            "LayerNorm.bias", "LayerNorm.beta"
        ): tensor
        for name, tensor in prefixed.items()
    }
    more = {
        **old,
        "bert.embeddings.position_ids": torch.arange(12)[None],
        "cls.seq_relationship.weight": torch.randn(2, 16),
        "classifier.bias": torch.randn(3),
    }
    for number, variant in enumerate((prefixed, old, more)):
        assert torch.equal(hidden(write(tmp_path / str(number), variant)), expected)
    assert torch.equal(hidden(write(tmp_path / "bin", old, safetensors=False)), expected)


@pytest.mark.parametrize("safetensors", [True, False])
def test_sharded(tmp_path, checkpoint, safetensors):
    tensors = load_file(checkpoint / "model.safetensors")
    names = sorted(tensors)
    suffix = "safetensors" if safetensors else "bin"
    stem = "model" if safetensors else "pytorch_model"
    weight_map = {}
    for number, part in enumerate((names[:7], names[7:]), start=1):
        file = f"{stem}-0000{number}-of-00002.{suffix}"
        chunk = {name: tensors[name] for name in part}
        save_file(chunk, tmp_path / file) if safetensors else torch.save(chunk, tmp_path / file)
        weight_map |= dict.fromkeys(part, file)
    (tmp_path / "config.json").write_text(json.dumps(HF_CONFIG))
    index = tmp_path / f"{stem}.{suffix}.index.json"
    index.write_text(json.dumps({"weight_map": weight_map}))
    assert torch.equal(hidden(tmp_path), hidden(checkpoint))

    index.write_text(json.dumps({"weight_map": {**weight_map, names[0]: "../elsewhere.safetensors"}}))
    with pytest.raises(CheckpointError, match=r"names '\.\./elsewhere\.safetensors', outside its directory"):
        load_pretrained(tmp_path)
    index.write_text(json.dumps({"weight_map": {**weight_map, names[0]: "gone.bin"}}))
    with pytest.raises(CheckpointError, match=r"names gone\.bin, which is not there"):
        load_pretrained(tmp_path)
    index.write_text("{}")
    with pytest.raises(CheckpointError, match="has no weight_map"):
        load_pretrained(tmp_path)


def test_missing_unexpected_and_misshapen_tensors_are_all_listed(tmp_path):
    tensors = hf_tensors("bert.")
    del tensors["bert.encoder.layer.1.output.dense.bias"]
    tensors["bert.encoder.layer.1.crossattention.self.key.bias"] = torch.zeros(16)
    tensors["bert.embeddings.word_embeddings.weight"] = torch.randn(41, 16)
    with pytest.raises(CheckpointError) as caught:
        load_pretrained(write(tmp_path, tensors))
    message = str(caught.value)
    assert "1 missing: encoder.layer.1.output.dense.bias" in message
    assert "1 unexpected: encoder.layer.1.crossattention.self.key.bias" in message
    assert "1 of another shape: embeddings.word_embeddings.weight (41, 16) instead of (40, 16)" in message


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        (
            "integers",
            lambda t: t.long(),
            "1 of another kind of number: embeddings.LayerNorm.bias torch.int64",
        ),
        ("nan", lambda t: t * float("nan"), "1 with NaN or infinity: embeddings.LayerNorm.bias"),
    ],
)
def test_tensors_of_the_wrong_kind(tmp_path, name, change, message):
    tensors = hf_tensors()
    tensors["embeddings.LayerNorm.bias"] = change(tensors["embeddings.LayerNorm.bias"])
    with pytest.raises(CheckpointError, match=message):
        load_pretrained(write(tmp_path, tensors))


def test_one_tensor_under_two_names(tmp_path):
    tensors = hf_tensors()
    tensors["embeddings.LayerNorm.gamma"] = torch.ones(16)
    with pytest.raises(CheckpointError, match="is there twice, under an old and a new name"):
        load_pretrained(write(tmp_path, tensors))


@pytest.mark.parametrize("part", ["pooler.dense.weight", "cls.predictions.bias"])
def test_half_a_pooler_or_head(tmp_path, part):
    tensors = {**hf_tensors(), part: torch.randn(16, 16)}
    with pytest.raises(CheckpointError, match="tensors are missing"):
        load_pretrained(write(tmp_path, tensors))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model_type": "distilbert"}, "model_type is 'distilbert'; it must be one of bert, roberta"),
        ({"model_type": None}, "model_type is None"),
        ({"hidden_act": "gelu_new"}, "hidden_act is 'gelu_new'"),
        ({"position_embedding_type": "relative_key"}, "position_embedding_type is 'relative_key'"),
        ({"is_decoder": True}, "is_decoder is True"),
        (
            {"num_attention_heads": 3},
            "num_attention_heads is 3; it must be a divisor of hidden_size, which is 16",
        ),
        ({"vocab_size": "40"}, "vocab_size is '40'"),
    ],
)
def test_another_architecture(tmp_path, change, message):
    with pytest.raises(CheckpointError, match=message):
        load_pretrained(write(tmp_path, config={**HF_CONFIG, **change}))


def test_a_configuration_that_lacks_sizes(tmp_path):
    with pytest.raises(CheckpointError, match="lacks hidden_size"):
        load_pretrained(write(tmp_path, config={k: v for k, v in HF_CONFIG.items() if k != "hidden_size"}))


def test_roberta_tensors_under_a_bert_configuration(tmp_path):
    with pytest.raises(CheckpointError, match=r"37 missing: .*37 unexpected: roberta\."):
        load_pretrained(write(tmp_path, hf_tensors("roberta.")))


def test_roberta_counts_from_its_padding(tmp_path):
    config = {**HF_CONFIG, "model_type": "roberta", "pad_token_id": 1}
    loaded = load_pretrained(write(tmp_path, hf_tensors("roberta."), config))
    assert loaded.encoder.config.position_offset == 2
    assert loaded.encoder.config.max_length == 10
    assert (loaded.pooler, loaded.mlm_head, loaded.tokenizer) == (None, None, None)
    assert not loaded.encoder.training


@pytest.mark.parametrize("safetensors", [True, False])
@pytest.mark.parametrize("keep", [0, 6, 500, -20])
def test_truncated(tmp_path, safetensors, keep):
    directory = write(tmp_path, safetensors=safetensors)
    file = directory / ("model.safetensors" if safetensors else "pytorch_model.bin")
    file.write_bytes(file.read_bytes()[:keep])
    with pytest.raises(CheckpointError, match="damaged"):
        load_pretrained(directory)


class _Bomb:
    def __reduce__(self):
        return (pytest.fail, ("the pickle was run",))


@pytest.mark.parametrize("plain", [None, 2, 4])
def test_a_pickle_with_code_is_not_run(tmp_path, plain):
    directory = write(tmp_path, safetensors=False)
    content = {**hf_tensors(), "extra": _Bomb()}
    if plain is not None:
        (directory / "pytorch_model.bin").write_bytes(pickle.dumps(content, protocol=plain))
    else:
        torch.save(content, directory / "pytorch_model.bin")
    with pytest.raises(CheckpointError, match="refused: the pickle"):
        load_pretrained(directory)


@pytest.mark.parametrize("safetensors", [True, False])
def test_mutated_files_load_or_are_refused(tmp_path, safetensors):
    directory = write(tmp_path, safetensors=safetensors)
    file = directory / ("model.safetensors" if safetensors else "pytorch_model.bin")
    whole, draw = file.read_bytes(), random.Random(0)
    refused = 0
    for _ in range(60):
        mutated = bytearray(whole)
        for _ in range(4):
            mutated[draw.randrange(2000)] = draw.randrange(256)
        file.write_bytes(mutated)
        try:
            load_pretrained(directory)
        except CheckpointError:
            refused += 1
    assert refused > 20


def test_a_pickle_of_something_else(tmp_path):
    directory = write(tmp_path, safetensors=False)
    torch.save([torch.zeros(2)], directory / "pytorch_model.bin")
    with pytest.raises(CheckpointError, match="something else than named tensors"):
        load_pretrained(directory)


def test_places_without_a_checkpoint(tmp_path):
    with pytest.raises(CheckpointError, match=r"has no config\.json"):
        load_pretrained(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps(HF_CONFIG))
    with pytest.raises(CheckpointError, match=r"neither model\.safetensors nor pytorch_model\.bin"):
        load_pretrained(tmp_path)
    with pytest.raises(CheckpointError, match="no such directory"):
        load_pretrained(tmp_path / "none")
    with pytest.raises(CheckpointError, match="no such directory"):
        load_pretrained("./none")
    with pytest.raises(CheckpointError, match="is a file"):
        load_pretrained(tmp_path / "config.json")
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(CheckpointError, match="is not JSON"):
        load_pretrained(tmp_path)


def test_names_go_to_the_hub_and_pickles_only_where_there_is_nothing_else(tmp_path, monkeypatch):
    import huggingface_hub

    asked = []

    def snapshot(name, allow_patterns):
        asked.append((name, tuple(allow_patterns)))
        return str(write(tmp_path / "hub", safetensors="pytorch_model.bin" not in allow_patterns and good))

    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot)
    good = True
    assert load_pretrained("someone/some-bert").encoder.config.hidden_size == 16
    assert [name for name, _ in asked] == ["someone/some-bert"]
    assert not any(".bin" in pattern for pattern in asked[0][1])
    good = False
    (tmp_path / "hub" / "model.safetensors").unlink()
    load_pretrained("bert-plain")
    assert [any(".bin" in pattern for pattern in patterns) for _, patterns in asked[1:]] == [False, True]


def test_the_hub_cannot_be_reached(monkeypatch):
    import huggingface_hub
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError

    for error in (
        LocalEntryNotFoundError("no network\nmore"),
        HFValidationError("bad name"),
        OSError("disk"),
    ):

        def snapshot(name, allow_patterns, error=error):
            raise error

        monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot)
        with pytest.raises(
            CheckpointError, match=r"someone/thing: neither a directory nor to be had from the hub"
        ):
            load_pretrained("someone/thing")


def test_a_local_directory_comes_before_the_hub(tmp_path, monkeypatch):
    write(tmp_path / "bert-base-uncased")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(pretrained, "_download", lambda name: pytest.fail("asked the hub"))
    assert load_pretrained("bert-base-uncased").encoder.config.vocab_size == 40


def test_loading_draws_no_random_numbers(checkpoint):
    state = torch.get_rng_state()
    load_pretrained(checkpoint)
    assert torch.equal(torch.get_rng_state(), state)


def test_tokenizer_files(tmp_path, checkpoint):
    assert load_tokenizer(tmp_path / "nowhere") is None
    (checkpoint / "vocab.txt").write_text(
        "\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "##b"]) + "\n"
    )
    tokenizer = load_pretrained(checkpoint).tokenizer
    assert tokenizer.encode("AB a!").ids == [2, 5, 6, 5, 1, 3]
    assert tokenizer.get_vocab_size() == 7
    (checkpoint / "tokenizer_config.json").write_text(json.dumps({"do_lower_case": False}))
    assert load_tokenizer(checkpoint).encode("AB a").ids == [2, 1, 5, 3]
    (checkpoint / "vocab.txt").write_text("[PAD]\n[UNK]\na\n")
    with pytest.raises(CheckpointError, match=r"lacks the special tokens \[SEP\], \[CLS\], \[MASK\]"):
        load_tokenizer(checkpoint)
    (checkpoint / "vocab.txt").write_bytes(b"\xff\xfe")
    with pytest.raises(CheckpointError, match="is not UTF-8"):
        load_tokenizer(checkpoint)
    (checkpoint / "tokenizer.json").write_text('{"model": 3}')
    with pytest.raises(CheckpointError, match="is no tokenizer"):
        load_tokenizer(checkpoint)


def test_a_tokenizer_larger_than_the_model(checkpoint):
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *(f"w{i}" for i in range(40))]
    (checkpoint / "vocab.txt").write_text("\n".join(words))
    with pytest.raises(CheckpointError, match="the tokenizer has 45 tokens, the model 40"):
        load_pretrained(checkpoint)


def test_every_tensor_lands_in_its_place(checkpoint):
    tensors = load_file(checkpoint / "model.safetensors")
    ours = load_pretrained(checkpoint).encoder.state_dict()
    expected = {
        "embeddings.word_embeddings.weight": "embeddings.word_embeddings.weight",
        "embeddings.norm.bias": "embeddings.LayerNorm.bias",
        "layers.0.attention.query.bias": "encoder.layer.0.attention.self.query.bias",
        "layers.1.attention.output.weight": "encoder.layer.1.attention.output.dense.weight",
        "layers.1.attention_norm.weight": "encoder.layer.1.attention.output.LayerNorm.weight",
        "layers.0.output_norm.weight": "encoder.layer.0.output.LayerNorm.weight",
        "layers.1.output.bias": "encoder.layer.1.output.dense.bias",
    }
    for name, theirs in expected.items():
        assert torch.equal(ours[name], tensors[theirs]), name
    assert (
        ours.keys()
        == Encoder(EncoderConfig.from_dict({**load_pretrained(checkpoint).encoder.config.to_dict()}))
        .state_dict()
        .keys()
    )

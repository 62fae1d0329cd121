import json

import pytest

from weft.encoder import EncoderConfig
from weft.errors import ConfigError


def test_defaults_are_bert_base():
    config = EncoderConfig()
    assert (config.hidden_size, config.num_hidden_layers, config.num_attention_heads) == (768, 12, 12)
    assert (config.intermediate_size, config.vocab_size, config.head_size, config.max_length) == (
        3072,
        30522,
        64,
        512,
    )


@pytest.mark.parametrize(
    ("field", "value", "rule"),
    [
        ("vocab_size", 0, "positive integer"),
        ("hidden_size", -8, "positive integer"),
        ("num_hidden_layers", 2.0, "positive integer"),
        ("num_attention_heads", True, "positive integer"),
        ("num_attention_heads", 7, "divisor of hidden_size, which is 768"),
        ("intermediate_size", "3072", "positive integer"),
        ("max_position_embeddings", 0, "positive integer"),
        ("type_vocab_size", -1, "0 for no token types"),
        ("layer_norm_eps", 0.0, "positive number"),
        ("layer_norm_eps", float("nan"), "positive number"),
        ("initializer_range", -1.0, "positive number"),
        ("hidden_dropout_prob", 1.0, "[0, 1)"),
        ("attention_probs_dropout_prob", -0.1, "[0, 1)"),
        ("pad_token_id", 30522, "vocab_size is 30522"),
        ("position", "learnt", "absolute, rotary, none"),
        ("position_offset", 2, "pad_token_id + 1 = 1"),
        ("relative_buckets", 6, "a multiple of 4"),
        ("relative_distance", 0, "a quarter of relative_buckets"),
    ],
)
def test_a_field_that_breaks_its_rule_is_named_with_value_and_rule(field, value, rule):
    with pytest.raises(ConfigError) as caught:
        EncoderConfig(**{field: value})
    message = str(caught.value)
    assert f"EncoderConfig.{field} is {value!r}" in message
    assert rule in message


def test_rotary_needs_an_even_head_and_the_table_more_rows_than_the_offset():
    with pytest.raises(ConfigError, match="even multiple of num_attention_heads = 4"):
        EncoderConfig(hidden_size=12, num_attention_heads=4, position="rotary")
    with pytest.raises(ConfigError, match="greater than position_offset"):
        EncoderConfig(pad_token_id=1, position_offset=2, max_position_embeddings=2)


def test_json_and_dict_round_trip(tmp_path):
    config = EncoderConfig(
        vocab_size=50, hidden_size=8, num_attention_heads=2, pad_token_id=1, position_offset=2
    )
    config.to_json(tmp_path / "config.json")
    assert EncoderConfig.from_json(tmp_path / "config.json") == config
    assert EncoderConfig.from_dict(config.to_dict()) == config
    assert json.loads((tmp_path / "config.json").read_text())["position_offset"] == 2
    assert config.max_length == 510
    assert EncoderConfig(position="none").max_length is None


def test_unknown_keys_are_errors_with_the_nearest_one():
    with pytest.raises(ConfigError, match=r"no key 'hiden_size' \(did you mean hidden_size\?\)"):
        EncoderConfig.from_dict({"hiden_size": 8})
    with pytest.raises(ConfigError, match="there are vocab_size"):
        EncoderConfig.from_dict({"zzz": 8})


@pytest.mark.parametrize(
    ("text", "message"),
    [("{", "is not JSON"), ("[1]", "a mapping of fields is needed"), (None, "is not there")],
)
def test_a_file_that_is_no_configuration(tmp_path, text, message):
    path = tmp_path / "config.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(ConfigError, match=message):
        EncoderConfig.from_json(path)


def test_it_is_frozen():
    with pytest.raises(AttributeError):
        EncoderConfig().hidden_size = 4

import json

import pytest

from weft.absa.config import AbsaConfig, ModelOptions
from weft.absa.model.build import build_model
from weft.documents.qacg import BertConfig
from weft.encoder.config import EncoderConfig
from weft.encoder.pooling import ClsPooler, GatePooler
from weft.errors import ConfigError

# Google's bert_config.json, which the review's loader reads, small.
GOOGLE = {
    "attention_probs_dropout_prob": 0.1,
    "hidden_act": "gelu",
    "hidden_dropout_prob": 0.1,
    "hidden_size": 16,
    "initializer_range": 0.02,
    "intermediate_size": 24,
    "max_position_embeddings": 64,
    "num_attention_heads": 2,
    "num_hidden_layers": 2,
    "type_vocab_size": 2,
    "vocab_size": 40,
}


def test_defaults_are_the_reviews():
    config = BertConfig()
    assert (config.vocab_size, config.type_vocab_size, config.hidden_act) == (32000, 16, "gelu")
    assert config.pooling == "cls"


@pytest.mark.parametrize("full_pooler", [None, False, True])
def test_a_json_file_of_the_review_makes_its_model(tmp_path, full_pooler):
    values = GOOGLE if full_pooler is None else {**GOOGLE, "full_pooler": full_pooler}
    (tmp_path / "config.json").write_text(json.dumps(values))
    config = BertConfig.from_json_file(tmp_path / "config.json")
    assert config.encoder == EncoderConfig(
        **{name: value for name, value in GOOGLE.items() if name != "hidden_act"}
    )
    options = ModelOptions(kind="qacg-official", pooling=config.pooling, max_length=32)
    model = build_model(AbsaConfig(config.encoder, options, ("none", "good"), ("price",)))
    assert isinstance(model.pooler, GatePooler if full_pooler else ClsPooler)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"hidden_act": "relu"}, "BertConfig.hidden_act is 'relu'; it must be 'gelu'"),
        ({"full_pooler": "yes"}, "full_pooler is 'yes'"),
        ({"hidden_sizes": 3}, "hidden_sizes"),
    ],
)
def test_what_it_does_not_know_is_refused(changes, message):
    with pytest.raises(ConfigError, match=message):
        BertConfig.from_dict({**GOOGLE, **changes})


@pytest.mark.parametrize(
    ("kind", "pooler"),
    [("qacg-official", GatePooler), ("qacg", ClsPooler), ("pair", ClsPooler), ("cg", ClsPooler)],
)
def test_only_the_reviews_model_pools_as_the_review_does_unless_told(kind, pooler):
    encoder = EncoderConfig(**{name: value for name, value in GOOGLE.items() if name != "hidden_act"})

    def made(**options):
        config = AbsaConfig(
            encoder,
            ModelOptions(kind=kind, context_from=1, max_length=32, **options),
            ("none", "good"),
            ("price",),
        )
        return build_model(config).pooler

    assert isinstance(made(), pooler)
    assert isinstance(made(pooling="cls"), ClsPooler)
    assert isinstance(made(pooling="gate"), GatePooler)

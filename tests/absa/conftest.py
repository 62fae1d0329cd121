from dataclasses import replace
from pathlib import Path

import pytest
import torch

from weft.absa.config import AbsaConfig, ModelOptions
from weft.absa.model.build import build_model
from weft.absa.use.asker import Asker
from weft.encoder.checkpoint.pretrained import Pretrained
from weft.encoder.checkpoint.tokenizer import load_tokenizer
from weft.encoder.config import EncoderConfig
from weft.encoder.encoder import Encoder
from weft.encoder.pooling import ClsPooler

EXAMPLES = Path(__file__).parents[2] / "examples" / "absa"
WORDS = """
location is cheap dear but and safe quiet price safety general transit the a not very good bad rent
in of green nature , . ! - 1 2 ##1 ##2
""".split()  # noqa: SIM905 - a list of 31 strings reads worse


@pytest.fixture(autouse=True)
def _one_thread():
    torch.manual_seed(0)


@pytest.fixture(scope="session")
def tokenizer(tmp_path_factory):
    folder = tmp_path_factory.mktemp("vocabulary")
    letters = [chr(c) for c in range(ord("a"), ord("z") + 1)]
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS, *letters, *(f"##{c}" for c in letters)]
    (folder / "vocab.txt").write_text("\n".join(dict.fromkeys(pieces)) + "\n")
    return load_tokenizer(folder)


@pytest.fixture(scope="session")
def shape(tokenizer):
    return EncoderConfig(
        vocab_size=tokenizer.get_vocab_size(),
        hidden_size=16,
        num_hidden_layers=3,
        num_attention_heads=4,
        intermediate_size=24,
        max_position_embeddings=64,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        initializer_range=0.3,
    )


@pytest.fixture
def start(tokenizer, shape):
    return Pretrained(Encoder(shape).eval(), tokenizer, ClsPooler(shape), None)


@pytest.fixture
def make(tokenizer, shape):
    """A random model of a kind: ``make("qacg", pooling="gate")``."""

    def build(kind="weft-absa", *, dropout=0.0, aspects=("price", "safety", "quiet"), **options):
        sizes = replace(shape, hidden_dropout_prob=dropout, attention_probs_dropout_prob=dropout)
        defaults = {
            "similarity_layers": 1,
            "context_from": 1,
            "max_length": 32,
            "classifier_dropout": dropout,
        }
        chosen = ModelOptions(kind=kind, **{**defaults, **options})
        config = AbsaConfig(
            encoder=sizes, options=chosen, aspects=aspects, targets=("LOCATION1", "LOCATION2")
        )
        model = build_model(config)
        # Parameters that start at 0 would hide what they do.
        for parameter in model.parameters():
            if not parameter.detach().any():
                torch.nn.init.normal_(parameter, std=0.3)
        return Asker(model.eval(), tokenizer)

    return build

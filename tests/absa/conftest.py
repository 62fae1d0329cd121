import csv
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from weft.absa.config import AbsaConfig, ModelOptions
from weft.absa.model.build import build_model
from weft.absa.records import Context, Corpus, Sentence
from weft.absa.use.asker import Asker
from weft.cli.main import main
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
            "pooling": "cls",
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


@pytest.fixture(scope="session")
def bert_directory(tmp_path_factory, tokenizer):
    """A tiny checkpoint as the hub holds them: config.json, model.safetensors, tokenizer.json."""
    import transformers

    transformers.logging.disable_progress_bar()
    folder = tmp_path_factory.mktemp("bert")
    sizes = {"hidden_size": 16, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 24}
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=tokenizer.get_vocab_size(), max_position_embeddings=64, initializer_range=0.3, **sizes
    )
    transformers.BertModel(config).save_pretrained(folder)
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


LABELLED = [
    ("LOCATION1 is cheap and quiet", "LOCATION1", "positive", "none"),
    ("LOCATION1 is dear", "LOCATION1", "negative", "none"),
    ("LOCATION1 is safe", "LOCATION1", "none", "positive"),
    ("LOCATION1 is not safe", "LOCATION1", "none", "negative"),
    ("LOCATION2 is cheap but not safe", "LOCATION2", "positive", "negative"),
    ("LOCATION2 is dear but safe", "LOCATION2", "negative", "positive"),
    ("the rent in LOCATION2 is good", "LOCATION2", "positive", "none"),
    ("a bad rent in LOCATION2", "LOCATION2", "negative", "none"),
]


@pytest.fixture(scope="session")
def corpus():
    sentences = tuple(
        Sentence(
            text, (Context("price", target), Context("safety", target)), (price, safety), f"row {number}"
        )
        for number, (text, target, price, safety) in enumerate(LABELLED, start=1)
    )
    return Corpus(sentences, ("none", "positive", "negative"))


@pytest.fixture(scope="session")
def labelled_csv(tmp_path_factory):
    path = tmp_path_factory.mktemp("labelled") / "labelled.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "target", "aspect", "polarity"])
        for text, target, price, safety in LABELLED:
            writer.writerow([text, target, "price", price])
            writer.writerow([text, target, "safety", safety])
    return path


@pytest.fixture(scope="session")
def trained(tmp_path_factory, bert_directory, labelled_csv):
    """A model that the command line trained, in its directory."""
    out = tmp_path_factory.mktemp("trained") / "model"
    arguments = [
        *("--start", str(bert_directory), "--out", str(out), "--data.train", str(labelled_csv)),
        *(
            "--data.dev_share",
            "0.3",
            "--train.epochs",
            "2",
            "--train.batch_size",
            "4",
            "--train.device",
            "cpu",
        ),
        *("--model.target_layers", "1", "--model.max_length", "32", "--int8", "true", "--quiet"),
    ]
    assert main(["absa", "train", str(EXAMPLES / "train.yaml"), *arguments]) == 0
    return out

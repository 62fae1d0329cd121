"""``[MASK]`` as a word that is not there: fitted last, one row, nothing else."""

import json

import pytest
import torch
import torch.nn.functional as F
from tokenizers import Tokenizer, models

from weft.absa.config import ModelOptions
from weft.absa.learn.augment import mask_words
from weft.absa.learn.blank import fit_blank
from weft.absa.learn.training import Learning, train
from weft.absa.records import Context, Sentence
from weft.absa.use.asker import Asker
from weft.errors import ConfigError
from weft.train import TrainConfig


@pytest.mark.parametrize(
    ("kind", "precision"),
    [
        ("weft-absa", "fp32"),
        ("weft-absa", "bf16"),
        ("pair", "fp32"),
        ("qacg", "fp32"),
        ("qacg-official", "fp32"),
    ],
)
def test_masked_texts_are_answered_better_and_others_as_before(make, corpus, kind, precision):
    asker = make(kind)
    generator = torch.Generator().manual_seed(9)
    masked = asker.represent([mask_words(sentence, 0.5, generator) for sentence in corpus.sentences])
    whole = asker.represent(corpus.sentences)

    def loss():
        with torch.no_grad():
            return float(F.cross_entropy(asker.module(masked).logits, masked.labels))

    weights = {name: value.clone() for name, value in asker.module.state_dict().items()}
    answers, first = asker.logits(whole), loss()
    fit_blank(asker, corpus, texts=800, precision=precision)
    assert loss() < first
    assert torch.equal(asker.logits(whole), answers)
    for name, value in asker.module.state_dict().items():
        changed = (value != weights[name]).nonzero()
        if name.endswith("word_embeddings.weight"):
            assert set(changed[:, 0].tolist()) == {asker.mask_id}
        else:
            assert not len(changed), name


def test_the_same_seed_fits_the_same_blank(make, corpus):
    asker = make()
    table = asker.module.encoder.embeddings.word_embeddings.weight
    first = table.detach().clone()
    asker.module.train()
    fit_blank(asker, corpus, texts=0)
    assert torch.equal(table, first)
    fits = []
    for seed in (0, 0, 1):
        with torch.no_grad():
            table.copy_(first)
        fit_blank(asker, corpus, texts=64, seed=seed)
        fits.append(table.detach().clone())
    assert asker.module.training
    assert torch.equal(fits[0], fits[1])
    assert not torch.equal(fits[0], fits[2])


def test_an_unknown_piece_is_no_blank(make, corpus):
    """Where the vocabulary has no mask, what stands for unknown words keeps its meaning."""
    known = make()
    pieces = {piece: number for piece, number in known.tokenizer.get_vocab().items() if piece != "[MASK]"}
    pieces["absent"] = known.mask_id
    asker = Asker(known.module, Tokenizer(models.WordPiece(pieces, unk_token="[UNK]")))
    before = known.module.encoder.embeddings.word_embeddings.weight.detach().clone()
    fit_blank(asker, corpus)
    assert torch.equal(known.module.encoder.embeddings.word_embeddings.weight, before)


def test_a_mask_that_is_no_special_piece_is_one_piece_all_the_same(make, corpus):
    """MPNet has its own mask and BERT's: the second was cut into three pieces, and fitting it did nothing."""
    known = make()
    described = json.loads(known.tokenizer.to_str())
    described["added_tokens"] = [t for t in described["added_tokens"] if t["content"] != "[MASK]"]
    described["pre_tokenizer"] = {"type": "BertPreTokenizer"}
    tokenizer = Tokenizer.from_str(json.dumps(described))
    assert tokenizer.encode("the [MASK]", add_special_tokens=False).ids[-1] != known.mask_id
    asker = Asker(known.module, tokenizer)
    assert asker.representation.pieces("the [MASK] is").ids[2] == known.mask_id
    table = asker.module.encoder.embeddings.word_embeddings.weight
    before = table[asker.mask_id].detach().clone()
    fit_blank(asker, corpus, texts=64)
    assert not torch.equal(table[asker.mask_id], before)


def test_a_negative_number_of_texts_is_refused():
    with pytest.raises(ConfigError, match="blank_texts is -1"):
        Learning(blank_texts=-1)


def test_masks_are_fitted_on_what_is_drawn(start, corpus, monkeypatch):
    """A corpus that sentences are drawn for holds stand-ins: their answers teach nothing."""
    seen = []

    def draw(indices, _generator):
        return [
            Sentence("LOCATION1 is dear", (Context("price", "LOCATION1"),), ("negative",)) for _ in indices
        ]

    monkeypatch.setattr(
        "weft.absa.learn.training.fit_blank",
        lambda asker, known, *, texts, precision: seen.append((known, texts)),
    )
    options = ModelOptions(max_length=32, similarity_layers=1)
    train(corpus, start, options, TrainConfig(steps=1, batch_size=4, device="cpu"), draw=draw)
    ((known, texts),) = seen
    assert {sentence.text for sentence in known.sentences} == {"LOCATION1 is dear"}
    assert len(known.sentences) == len(corpus.sentences)
    assert texts == 800

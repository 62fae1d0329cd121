"""Models that read sentence pairs, on encoders without types of tokens (MPNet) or with one (RoBERTa)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from weft.absa.config import AbsaConfig, ModelOptions
from weft.absa.model.build import build_model
from weft.absa.records import Context, Sentence
from weft.absa.use.asker import Asker

ASKED = [
    Sentence(
        "LOCATION1 is cheap but not very safe",
        (Context("price", "LOCATION1"), Context("safety", "LOCATION1")),
    )
]


@pytest.mark.parametrize("types", [0, 1, 2])
@pytest.mark.parametrize("kind", ["pair", "qacg-official", "cg", "qacg", "weft-absa"])
def test_every_kind_answers_on_every_encoder(tokenizer, shape, kind, types):
    options = ModelOptions(kind=kind, similarity_layers=1, context_from=1, max_length=32, pooling="cls")
    encoder = replace(shape, type_vocab_size=types)
    config = AbsaConfig(
        encoder=encoder, options=options, aspects=("price", "safety"), targets=("LOCATION1", "LOCATION2")
    )
    (answers,) = Asker(build_model(config), tokenizer).answer(ASKED)
    assert answers.shape == (2, 3)
    assert np.isfinite(answers).all()
    assert np.allclose(answers.sum(axis=1), 1.0, atol=1e-5)

from dataclasses import replace
from itertools import product

import pytest
import torch

from weft.absa.config import AbsaConfig, ModelOptions
from weft.absa.learn.terms import marked, train_tagger, with_tagger
from weft.absa.model.build import build_model
from weft.absa.read.reviews import Opinion, Review
from weft.absa.use.asker import Asker
from weft.train.config import TrainConfig

NAMES, JUDGING = ("rent", "location", "transit"), ("dear", "bad", "good", "cheap")
FRAMES = ("the {} is {}", "the {} is {} .")


def reviews():
    """Texts of one to four clauses, each with what it judges."""
    clauses = [
        (frame.format(name, word), Opinion("positive", name, "x", word))
        for frame, name, word in product(FRAMES, NAMES, JUDGING)
    ]
    found: list[Review] = []
    for count in (1, 1, 2, 4):
        for first in range(len(clauses)):
            some = [clauses[(first + 7 * n) % len(clauses)] for n in range(count)]
            text = " , ".join(clause for clause, _ in some)
            found.append(Review(text, tuple(opinion for _, opinion in some), "places", True))
    found += [Review(f"the {word} is not in the", (), "places", True) for word in ("a", "very", "but")]
    return found


@pytest.fixture(scope="session")
def tagging(tokenizer, shape):
    """A tiny model whose tagger has learnt :func:`reviews` and that finds all judged; tests leave it as it is."""
    torch.manual_seed(0)
    options = ModelOptions(
        open_aspects=True, aspect_dropout=0.0, similarity_layers=3, frozen_layers=1, max_length=32
    )
    sizes = replace(shape, initializer_range=0.1)
    polarities = ("none", "positive", "negative")
    model = build_model(AbsaConfig(encoder=sizes, options=options, polarities=polarities))
    asker = with_tagger(Asker(model.eval(), tokenizer), 2)
    config = TrainConfig(epochs=12, batch_size=12, learning_rate=1e-2, device="cpu", restore_best=False)
    train_tagger(asker, marked(reviews(), opinions=True), config)
    asker.module.eval()
    return asker.calibrated(1.0, 0.0)

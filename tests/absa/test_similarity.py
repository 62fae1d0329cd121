"""The similarity weights, fitted last: an optimum, used for unseen aspects only, and worth having."""

from dataclasses import replace

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from weft.absa.learn.similarity import _regress, fit_similarity
from weft.absa.records import Context, Sentence
from weft.errors import ConfigError


def test_the_fit_is_an_optimum(make, corpus):
    """The gradient of the loss by the fitted numbers, through the model itself, vanishes, or pulls below 0."""
    asker = make(aspects=("price", "safety"))
    fit_similarity(asker, corpus)
    head = asker.module.similarity_head.requires_grad_()
    assert head.weight.abs().max() > 0.01
    batch = asker.represent(corpus.sentences)
    batch = replace(batch, aspect_known=torch.zeros_like(batch.aspect_known))
    F.cross_entropy(asker.module(batch).logits, batch.labels).backward()
    features = asker.module.similarity_features(batch)
    # What is left is the ridge, which pulls on the standardised weights.
    ridge = 2e-3 * (head.weight * features.std(dim=0)).abs().max() / features.std(dim=0).min()
    bound = 2 * ridge * features.std(dim=0).max() + 1e-3
    for weight, gradient in zip(head.weight[0].tolist(), head.weight.grad[0].tolist(), strict=True):
        assert weight >= 0
        assert abs(gradient) < bound if weight else gradient > -bound
    assert head.bias.grad.abs().max() < 1e-3


def test_the_features_by_hand(make, corpus):
    asker = make()
    batch = asker.represent(corpus.sentences[:3])
    found = asker.module.similarity_features(batch)
    states = asker.module.encoder.embeddings(batch.input_ids)
    words = asker.module.encoder.embeddings(batch.aspect_ids)
    (layer,) = asker.module.anchor
    states, words = layer(states, batch.attention_mask)[0], layer(words, batch.aspect_mask)[0]
    for row, (text, aspect) in enumerate(zip(batch.context_text, batch.context_aspect, strict=True)):
        real = int(batch.attention_mask[text].sum())
        mean = words[aspect, 1 : int(batch.aspect_mask[aspect].sum()) - 1].mean(dim=0)
        named = batch.target_mask[batch.context_view[row], 1 : real - 1]
        tokens = states[text, 1 : real - 1][~named]
        each = [float(torch.cosine_similarity(token, mean, dim=0).detach()) for token in tokens]
        whole = float(torch.cosine_similarity(tokens.mean(dim=0), mean, dim=0).detach())
        nearest = sorted(each)[-2:]
        assert found[row].tolist() == pytest.approx([whole, sum(nearest) / len(nearest)], abs=1e-5)


def test_of_a_gloss_the_likest_part_speaks(make):
    """Each token by the part that is nearest to it, the whole text by the part nearest to its mean."""
    asker = make()
    sentence = Sentence("the rent is bad but the transit is good", ())
    parts = ("nature", "rent", "transit")
    alone = asker.represent([replace(sentence, contexts=tuple(map(Context, parts)))])
    batch = asker.represent(
        [replace(sentence, contexts=(Context("price"), Context("nature: rent, transit")))]
    )
    assert batch.aspect_part.tolist() == [0, 1, 1, 1]
    found, each = (asker.module.similarity_features(one) for one in (batch, alone))
    assert float(found[1, 0]) == pytest.approx(float(each[:, 0].max()), abs=1e-5)
    states = asker.module.frozen_states(alone.input_ids, alone.attention_mask, 1)
    words = asker.module.read_words(alone.aspect_ids, alone.aspect_mask)
    cosines = F.normalize(states[0, 1:-1], dim=-1) @ F.normalize(words, dim=-1).T
    nearest = cosines.amax(dim=1).topk(2).values.mean()
    assert float(found[1, 1]) == pytest.approx(float(nearest), abs=1e-5)
    for order in ("rent: transit, nature", "transit: nature, rent"):
        turned = asker.represent([replace(sentence, contexts=(Context(order),))])
        torch.testing.assert_close(asker.module.similarity_features(turned), found[1:])


def test_a_gloss_leaves_what_is_known_as_it_was(make):
    asker = make(aspects=("price", "safety"))
    text = "the rent is bad"
    plain, worded = asker.predict([text], ["price", "price: rent, dear"])[0]
    assert np.allclose(plain, worded, atol=1e-6)
    asker.module.similarity_head.weight.data += 3.0
    before, after = asker.predict([text], ["nature", "nature: rent"])[0]
    assert after[0] < before[0]


def test_likeness_never_speaks_against_an_opinion():
    """Where the unbounded optimum is negative, the weight is 0 and the other as it is without that feature."""
    generator = torch.Generator().manual_seed(0)
    features = torch.randn(400, 2, generator=generator, dtype=torch.float64)
    logits = torch.zeros(400, 3, dtype=torch.float64)
    chance = torch.rand(400, generator=generator, dtype=torch.float64)
    against = (chance < (2 * features[:, 1] - features[:, 0]).sigmoid()).long()
    weight, _ = _regress(logits, features, against)
    assert weight[0, 0] == 0
    alone, _ = _regress(logits, features[:, 1:], against)
    assert weight[0, 1] == pytest.approx(float(alone[0, 0]), rel=1e-6)
    both, _ = _regress(logits, features, (chance < features.sum(dim=1).sigmoid()).long())
    assert both.min() > 0.5
    neither, _ = _regress(logits, -features.abs(), (chance < features.abs().sum(dim=1).sigmoid()).long())
    assert neither.tolist() == [[0, 0]]


def test_known_aspects_are_answered_as_before(make, corpus):
    asker = make(aspects=("price", "safety"))
    before = asker.predict(["LOCATION1 is cheap"], ["price", "safety", "green nature"])[0]
    fit_similarity(asker, corpus)
    after = asker.predict(["LOCATION1 is cheap"], ["price", "safety", "green nature"])[0]
    assert np.allclose(before[:2], after[:2])
    assert not np.allclose(before[2], after[2])


def test_an_unseen_aspect_by_hand(make):
    """The odds of an opinion are α of the trained layers' odds and the similarity's; the polarity is theirs alone."""
    asker = make()
    batch = asker.represent([Sentence("location 1 is cheap", (Context("green nature", "location 1"),))])
    head = asker.module.similarity_head
    features = asker.module.similarity_features(batch)
    asker.module.train()
    with torch.no_grad():
        trained = asker.module(batch).logits[0]
        asker.module.eval()
        found = asker.module(batch).logits[0]
        odds = trained[1:].logsumexp(0) - trained[0]
        expected = 0.1 * odds + head(features)[0, 0]
    assert found[1:].tolist() == pytest.approx(trained[1:].tolist(), abs=1e-5)
    assert float(found[1:].logsumexp(0) - found[0]) == pytest.approx(float(expected), abs=1e-5)


def test_the_name_of_the_target_is_not_compared(make):
    """Whatever the asked target is called, the aspect is compared with the rest of the text."""
    asker = make()
    texts = ["location 1 is cheap", "location 2 is cheap"]
    batches = [asker.represent([Sentence(text, (Context("transit location", text[:10]),))]) for text in texts]
    batch = batches[0]
    assert batch.target_mask.any()
    nameless = replace(batch, target_mask=torch.zeros_like(batch.target_mask))
    named, whole = (asker.module.similarity_features(one)[0, 1] for one in (batch, nameless))
    assert named < whole
    alone = asker.represent([Sentence("location 1", (Context("transit location", "location 1"),))])
    assert asker.module.similarity_features(alone).isfinite().all()


def test_models_without_similarity_are_left_alone(make, corpus):
    for asker in (make("pair"), make(similarity_layers=-1)):
        state = {name: tensor.clone() for name, tensor in asker.module.state_dict().items()}
        fit_similarity(asker, corpus)
        assert all(torch.equal(tensor, state[n]) for n, tensor in asker.module.state_dict().items())
    batch = make(similarity_layers=-1)
    with pytest.raises(ConfigError, match="compares no aspect"):
        batch.module.similarity_features(batch.represent(corpus.sentences))

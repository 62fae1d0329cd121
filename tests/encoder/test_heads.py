import pytest
import torch
import torch.nn.functional as F

from weft.encoder import ClassificationHead, ClsPooler, GatePooler, MeanPooler, MLMHead, SBOHead, build_pooler

MASK = torch.tensor([[True, True, True, False], [True, False, False, False], [False, False, False, False]])


def hidden_states():
    hidden = torch.randn(3, 4, 16)
    hidden[~MASK] = float("nan")  # whatever stands in padding must not come through
    return hidden


def test_mean_pooling_equals_a_loop():
    hidden = hidden_states()
    pooled = MeanPooler()(hidden, MASK)
    torch.testing.assert_close(pooled[0], hidden[0, :3].mean(0))
    torch.testing.assert_close(pooled[1], hidden[1, 0])
    assert torch.equal(pooled[2], torch.zeros(16))
    real = torch.randn(2, 4, 16)
    torch.testing.assert_close(MeanPooler()(real), real.mean(1))


def test_gate_pooling_equals_a_loop(config):
    pooler = GatePooler(config).eval()
    hidden = torch.randn(3, 4, 16)
    pooled, weights = pooler(hidden, MASK), pooler.weights(hidden, MASK)
    first, second = pooler.attention_gate[0], pooler.attention_gate[3]
    for row, length in ((0, 3), (1, 1)):
        scores = torch.stack([second(F.relu(first(hidden[row, i])))[0] for i in range(length)])
        expected = scores.softmax(0)
        torch.testing.assert_close(weights[row, :length], expected)
        torch.testing.assert_close(pooled[row], torch.tanh(pooler.dense(expected @ hidden[row, :length])))
    assert not weights[2].any()
    torch.testing.assert_close(pooler.weights(hidden).sum(1), torch.ones(3))


def test_cls_pooling_takes_the_first_token(config):
    pooler = ClsPooler(config)
    hidden = torch.randn(2, 4, 16)
    torch.testing.assert_close(pooler(hidden), torch.tanh(pooler.dense(hidden[:, 0])))


def test_poolers_by_name(config):
    assert [type(build_pooler(name, config)) for name in ("cls", "mean", "gate")] == [
        ClsPooler,
        MeanPooler,
        GatePooler,
    ]


def test_mlm_logits_at_masked_positions_only(config):
    head, words, hidden = MLMHead(config), torch.randn(40, 16), torch.randn(3, 4, 16)
    torch.nn.init.normal_(head.bias)
    everywhere = head(hidden, words)
    assert everywhere.shape == (3, 4, 40)
    some = head(hidden, words, MASK)
    assert some.shape == (4, 40)
    torch.testing.assert_close(some, everywhere[MASK])
    assert head(hidden, words, torch.zeros_like(MASK)).shape == (0, 40)
    by_hand = head.norm(F.gelu(head.dense(hidden))) @ words.T + head.bias
    torch.testing.assert_close(everywhere, by_hand)


def test_sbo_sees_the_boundaries_and_the_place_and_nothing_else(config):
    head, words, hidden = SBOHead(config, max_span=3), torch.randn(40, 16), torch.randn(2, 5, 16)
    index = [torch.tensor(values) for values in ([0, 0, 1], [0, 0, 1], [3, 3, 4], [0, 1, 0])]
    logits = head(hidden, words, *index)
    assert logits.shape == (3, 40)
    assert (logits[0] - logits[1]).abs().max() > 1e-3
    inside = hidden.clone()
    inside[0, 1:3] += 1
    inside[1, 2:4] += 1
    torch.testing.assert_close(head(inside, words, *index), logits)
    around = torch.cat([hidden[1, 1], hidden[1, 4], head.position_embeddings.weight[0]])
    mixed = head.first_norm(F.gelu(head.first(around)))
    mixed = head.second_norm(F.gelu(head.second(mixed)))
    torch.testing.assert_close(logits[2], words @ mixed + head.bias)


@pytest.mark.parametrize("build", [MLMHead, SBOHead])
def test_every_parameter_of_a_head_gets_a_gradient(config, build):
    head, words, hidden = build(config), torch.randn(40, 16, requires_grad=True), torch.randn(2, 8, 16)
    span = torch.arange(7)
    index = (
        (torch.zeros_like(span), torch.zeros_like(span), torch.full_like(span, 7), span)
        if build is SBOHead
        else ()
    )
    logits = head(hidden, words, *index)
    logits.square().sum().backward()
    assert all(parameter.grad.any() for parameter in head.parameters())
    assert words.grad.any()


def test_classification(config):
    head = ClassificationHead(config, 5, input_size=32)
    pooled = torch.randn(4, 32)
    torch.testing.assert_close(head(pooled), head.classifier(pooled))
    assert ClassificationHead(config, 3)(torch.randn(2, 16)).shape == (2, 3)


@pytest.mark.parametrize("width", [None, 5])
def test_the_gate_is_as_wide_as_the_review_says_or_as_asked(config, width):
    pooler = GatePooler(config) if width is None else GatePooler(config, width)
    shapes = [tuple(pooler.attention_gate[place].weight.shape) for place in (0, 3)]
    assert shapes == [(width or 32, config.hidden_size), (1, width or 32)]

"""The review's QACG-BERT, one example, one head and one position at a time, and a model small enough for it."""

from __future__ import annotations

import math

import torch

from weft.absa.config import AbsaConfig, ModelOptions
from weft.absa.model.qacg import QacgOfficial
from weft.absa.represent.batch import Pairs
from weft.encoder.config import EncoderConfig
from weft.encoder.pooling import ClsPooler

HIDDEN, HEADS, LAYERS, VOCAB = 8, 2, 2, 30
WIDTH = HIDDEN // HEADS
ASPECTS, TARGETS = ("price", "safety", "general", "transit-location"), ("LOCATION1", "LOCATION2")
SHAPE = EncoderConfig(
    vocab_size=VOCAB,
    hidden_size=HIDDEN,
    num_hidden_layers=LAYERS,
    num_attention_heads=HEADS,
    intermediate_size=12,
    max_position_embeddings=16,
    type_vocab_size=2,
    hidden_dropout_prob=0.0,
    attention_probs_dropout_prob=0.0,
    initializer_range=0.6,
)


def config(kind="qacg-official", shape=SHAPE, **options):
    chosen = ModelOptions(kind=kind, max_length=12, similarity_layers=-1, context_from=1, **options)
    return AbsaConfig(encoder=shape, options=chosen, aspects=ASPECTS, targets=TARGETS)


def build(kind="qacg-official", **options):
    torch.manual_seed(0)
    model = QacgOfficial(config(kind, **options)).double().eval()
    for name, parameter in model.named_parameters():
        # Biases start at 0 and λ near it: larger values so that an error in them shows.
        if name.endswith("bias") or "lambda" in name:
            torch.nn.init.normal_(parameter, std=0.7)
    return model


def pairs():
    ids = torch.randint(1, VOCAB, (3, 7), generator=torch.Generator().manual_seed(1))
    mask = torch.ones(3, 7, dtype=torch.bool)
    mask[1, 5:] = False
    types = torch.zeros(3, 7, dtype=torch.long)
    types[:, 4:] = 1
    return Pairs(ids * mask, types * mask, mask, torch.tensor([0, 5, 7]), torch.tensor([0, 2, 1]))


# The review's classes, one example, one head and one position at a time.


def norm(x, layer_norm):
    """BERTLayerNorm: ε is inside the root, 1e-12."""
    mu = x.mean()
    return layer_norm.weight * (x - mu) / math.sqrt(((x - mu) ** 2).mean() + 1e-12) + layer_norm.bias


def gelu(x):
    return x * 0.5 * (1.0 + torch.erf(x / math.sqrt(2.0)))


def embed(brick, ids, types):
    """BERTEmbeddings."""
    rows = [
        brick.word_embeddings.weight[i]
        + brick.position_embeddings.weight[p]
        + brick.token_type_embeddings.weight[t]
        for p, (i, t) in enumerate(zip(ids, types, strict=True))
    ]
    return [norm(row, brick.norm) for row in rows]


def projections(attention, context, states, deep_context, rows):
    """One head's Q, K, V of the states, and Q and K of the deep context, by position."""
    own = (attention.query, attention.key, attention.value)
    for linears, inputs in ((own, states), ((context.context_query, context.context_key), deep_context)):
        for linear in linears:
            yield [linear(x)[rows] for x in inputs]


def self_attention(attention, quasi, states, deep_context, real):
    """ContextBERTSelfAttention: A1 the softmax part, A2 the gated quasi part, A their sum."""
    n = len(states)
    maps = {name: torch.zeros(HEADS, n, n, dtype=torch.float64) for name in ("A", "A1", "A2", "G")}
    lambdas = torch.zeros(HEADS, n, dtype=torch.float64)
    outputs = [torch.zeros(HIDDEN, dtype=torch.float64) for _ in range(n)]
    for head in range(HEADS):
        rows = slice(head * WIDTH, (head + 1) * WIDTH)
        Q, K, V, Qc, Kc = projections(attention, quasi, states, deep_context, rows)
        for i in range(n):
            powers = [math.exp(float(Q[i] @ K[j]) / math.sqrt(WIDTH)) if real[j] else 0.0 for j in range(n)]
            lambda_q = torch.sigmoid(quasi.lambda_query(Q[i]) + quasi.lambda_context_query(Qc[i]))
            lambda_k = torch.sigmoid(quasi.lambda_key(K[i]) + quasi.lambda_context_key(Kc[i]))
            lambdas[head, i] = 1 - (lambda_q + lambda_k)
            for j in range(n):
                maps["A1"][head, i, j] = powers[j] / sum(powers)
                if real[j]:
                    maps["G"][head, i, j] = torch.sigmoid(Qc[i] @ Kc[j] / math.sqrt(WIDTH))
                maps["A2"][head, i, j] = lambdas[head, i] * maps["G"][head, i, j]
                maps["A"][head, i, j] = maps["A1"][head, i, j] + maps["A2"][head, i, j]
                outputs[i][rows] += maps["A"][head, i, j] * V[j]
    return [attention.output(o) for o in outputs], maps, lambdas


def gated_attention(attention, gate, states, deep_context, real):
    """CG-BERT: queries and keys are moved towards the context's before an ordinary softmax."""
    n = len(states)
    A = torch.zeros(HEADS, n, n, dtype=torch.float64)
    outputs = [torch.zeros(HIDDEN, dtype=torch.float64) for _ in range(n)]
    for head in range(HEADS):
        rows = slice(head * WIDTH, (head + 1) * WIDTH)
        Q, K, V, Qc, Kc = projections(attention, gate, states, deep_context, rows)
        mixed_q, mixed_k = [], []
        for i in range(n):
            lambda_q = torch.sigmoid(gate.lambda_query(Q[i]) + gate.lambda_context_query(Qc[i]))
            lambda_k = torch.sigmoid(gate.lambda_key(K[i]) + gate.lambda_context_key(Kc[i]))
            mixed_q.append((1 - lambda_q) * Q[i] + lambda_q * Qc[i])
            mixed_k.append((1 - lambda_k) * K[i] + lambda_k * Kc[i])
        for i in range(n):
            powers = [
                math.exp(float(mixed_q[i] @ mixed_k[j]) / math.sqrt(WIDTH)) if real[j] else 0.0
                for j in range(n)
            ]
            for j in range(n):
                A[head, i, j] = powers[j] / sum(powers)
                outputs[i][rows] += A[head, i, j] * V[j]
    return [attention.output(o) for o in outputs], {"A": A}, None


def context_layer(linear, embedding, states):
    """ContextBERTEncoder: cat, linear, and the context added once more."""
    return [linear(torch.cat([embedding, h])) + embedding for h in states]


def pool(pooler, states, real):
    """ContextBERTPooler, or BERT's own."""
    if isinstance(pooler, ClsPooler):
        return torch.tanh(pooler.dense(states[0]))
    first, _, _, last = pooler.attention_gate
    scores = [float(last(torch.relu(first(h)))) for h in states]
    powers = [math.exp(s) if r else 0.0 for s, r in zip(scores, real, strict=True)]
    return torch.tanh(pooler.dense(sum(p / sum(powers) * h for p, h in zip(powers, states, strict=True))))


@torch.no_grad()
def oracle(model, batch):
    """ContextBertModel and QACGBertForSequenceClassification; logits and the maps of every layer."""
    attend = gated_attention if model.config.kind == "cg" else self_attention
    logits, everything = [], []
    for ids, types, mask, number in zip(
        batch.input_ids, batch.token_type_ids, batch.attention_mask, batch.context_ids, strict=True
    ):
        real, states = mask.tolist(), embed(model.encoder.embeddings, ids, types)
        embedding = model.context_embeddings.weight[number]
        layers = []
        for layer, quasi in zip(model.encoder.layers, model.encoder.conditioner.layers, strict=True):
            deep = context_layer(quasi.context_layer, embedding, states)
            attended, maps, lambdas = attend(layer.attention, quasi, states, deep, real)
            states = [norm(h + a, layer.attention_norm) for h, a in zip(states, attended, strict=True)]
            states = [norm(h + layer.output(gelu(layer.intermediate(h))), layer.output_norm) for h in states]
            layers.append((maps, lambdas))
        everything.append(layers)
        logits.append(model.head.classifier(pool(model.pooler, states, real)))
    return torch.stack(logits), everything

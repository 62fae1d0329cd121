"""How much a frozen similarity says about an aspect that training never saw: three numbers, fitted last."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import torch
import torch.nn.functional as F
from torch import Tensor

from weft.absa.model.weft_absa import WeftAbsa
from weft.absa.records import Corpus, Sentence
from weft.absa.represent.batch import Questions
from weft.absa.use.asker import Asker

_BATCH = 32
_RIDGE = 1e-3


def fit_similarity(asker: Asker, corpus: Corpus, *, sentences: int = 800, seed: int = 0) -> None:
    """Fit the weights of the similarity features on texts whose aspects are all treated as unseen.

        min over w ≥ 0, b:  mean −log softmax(z_none − w·f − b, z_others)[gold] + ridge·|w|²

    z are the logits that the model gives unseen aspects without the similarity (``unseen_share`` is in
    them), f the cosines of the frozen layers. Likeness never speaks against an opinion (w ≥ 0): what would is the
    training's own aspects, of which some, such as "general", are like no text and often meant. The problem is convex.
    Stochastic steps of the size that suits the encoder hardly move these three numbers from 0 (after eight epochs:
    0.02 and 0.05, where about 10 is right).

    Args:
        asker: A ``weft-absa`` model; another kind, one without frozen similarity, and one whose similarity was
            trained (``open_aspects``) are left as they are.
        corpus: The sentences that it was trained on.
        sentences: How many of them are used, drawn at random.
        seed: Of the draw.
    """
    module = asker.module
    if (
        not isinstance(module, WeftAbsa)
        or module.options.similarity_layers < 0
        or module.options.open_aspects
    ):
        return
    head = module.similarity_head
    torch.nn.init.zeros_(head.weight)
    torch.nn.init.zeros_(head.bias)
    order = torch.randperm(len(corpus.sentences), generator=torch.Generator().manual_seed(seed)).tolist()
    chosen = [corpus.sentences[i] for i in order[:sentences]]
    parts = [_as_unseen(asker, module, chosen[i : i + _BATCH]) for i in range(0, len(chosen), _BATCH)]
    logits, features, labels = (torch.cat(column) for column in zip(*parts, strict=True))
    weight, bias = _regress(logits, features, labels)
    with torch.no_grad():
        head.weight.copy_(weight)
        head.bias.copy_(bias)


@torch.no_grad()
def _as_unseen(asker: Asker, module: WeftAbsa, sentences: list[Sentence]) -> tuple[Tensor, Tensor, Tensor]:
    """Logits, similarity features and labels of a batch, in float64 on the host."""
    batch = asker.represent(sentences)
    assert isinstance(batch, Questions)  # what this kind of model reads
    batch = replace(batch, aspect_known=torch.zeros_like(batch.aspect_known)).to(asker.device)
    assert batch.labels is not None  # a corpus is labelled
    logits, features = asker.logits(batch), module.similarity_features(batch)
    return logits.double().cpu(), features.double().cpu(), batch.labels.cpu()


def _regress(logits: Tensor, features: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    # On standardised features the steps of the search fit all directions.
    mean, spread = (
        features.mean(dim=0),
        features.std(dim=0, correction=min(1, len(features) - 1)).clamp(min=1e-6),
    )
    scaled = (features - mean) / spread
    # The best weights that are not negative are those of the features that are used, found without the bound.
    count = features.shape[1]
    best, lowest = (
        (torch.zeros(count, dtype=torch.float64), torch.zeros((), dtype=torch.float64)),
        float("inf"),
    )
    for kept in (kept for size in range(count + 1) for kept in combinations(range(count), size)):
        weight, bias, loss = _search(logits, scaled[:, list(kept)], labels)
        if loss < lowest and bool((weight >= 0).all()):
            full = torch.zeros(count, dtype=torch.float64)
            full[list(kept)] = weight
            best, lowest = (full, bias), loss
    found = best[0] / spread
    return found[None], (best[1] - found @ mean)[None]


def _search(logits: Tensor, features: Tensor, labels: Tensor) -> tuple[Tensor, Tensor, float]:
    """Weights, bias and loss of the best, weights of any sign."""
    weight = torch.zeros(features.shape[1], dtype=torch.float64, requires_grad=True)
    bias = torch.zeros((), dtype=torch.float64, requires_grad=True)
    search = torch.optim.LBFGS([weight, bias], max_iter=100, line_search_fn="strong_wolfe")

    def loss() -> Tensor:
        search.zero_grad()
        shift = features @ weight + bias
        shifted = torch.cat([logits[:, :1] - shift[:, None], logits[:, 1:]], dim=1)
        value = F.cross_entropy(shifted, labels) + _RIDGE * weight.square().sum()
        value.backward()
        return value

    search.step(loss)  # pyright: ignore[reportArgumentType] - the closure returns a tensor, as documented
    return weight.detach(), bias.detach(), float(loss().detach())

"""The few words that carry an answer together: found by searching for what to take away."""

from __future__ import annotations

import torch
from torch import Tensor

from weft.absa.explain.occlusion import log_shares, text_tokens
from weft.absa.model.build import AnyModel
from weft.absa.represent.batch import Pairs, Questions

# Sets that are kept after every step.
_BEAM = 3


@torch.no_grad()
def search(
    model: AnyModel, batch: Questions | Pairs, chosen: int, mask_id: int, *, size: int = 3, beam: int = _BEAM
) -> Tensor:
    """The set of tokens without which least is left of the answer, by a beam search.

    ::

        S   = argmin over sets of `size` tokens of p(x without S)
        m_j = log p(x without S∖{j}) − log p(x without S)           what j alone brings back
        φ_j = (log p(x) − log p(x without S)) · m_j / Σ_i m_i       for j in S, else 0

    The methods that score every token for itself miss words of which two say the same: without one of them
    nothing changes. This one looks at them together. It optimises what the deletion test measures, so its
    figure there says how much a set of words *can* take away; that it is highest is no news.

    Args:
        model: The model, in ``eval`` mode.
        batch: One text with one question.
        chosen: The class to explain.
        mask_id: The id of ``[MASK]``.
        size: Tokens of the set; all of a shorter text.
        beam: Sets that are kept after every step.

    Returns:
        ``(seq,)``, positive on the set and 0 elsewhere.

    Source:
        Hase, Xie, Bansal 2021, "The Out-of-Distribution Problem in Explainability and Search Methods for
        Feature Importance Explanations", section 5, where such a search beats LIME, integrated
        gradients and others on the same measure. There it is a local search from random sets.
    """
    ids = batch.input_ids
    places = text_tokens(batch).nonzero()[:, 0].tolist()
    size = min(size, len(places))
    scores = torch.zeros(ids.shape[1])
    if not size:
        return scores
    measured: dict[frozenset[int], float] = {}

    def measure(sets: list[frozenset[int]]) -> None:
        new = [chosen_set for chosen_set in dict.fromkeys(sets) if chosen_set not in measured]
        if not new:
            return
        masked = ids.repeat(len(new), 1)
        for row, chosen_set in zip(masked, new, strict=True):
            row[list(chosen_set)] = mask_id
        measured.update(zip(new, log_shares(model, batch, masked, chosen).tolist(), strict=True))

    best = [frozenset[int]()]
    measure(best)
    for _ in range(size):
        grown = list(dict.fromkeys(kept | {place} for kept in best for place in places if place not in kept))
        measure(grown)
        best = sorted(grown, key=measured.__getitem__)[:beam]
    found = sorted(best[0])
    without = [best[0] - {place} for place in found]
    measure(without)
    least = measured[best[0]]
    # A word that brings nothing back is in the set all the same: it must not fall behind those outside.
    brings = [max(measured[rest] - least, 1e-6) for rest in without]
    whole = max(measured[frozenset[int]()] - least, 1e-6)
    for place, back in zip(found, brings, strict=True):
        scores[place] = whole * back / sum(brings)
    return scores

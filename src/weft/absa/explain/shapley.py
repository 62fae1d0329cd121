"""Which words made the answer: what each adds, in the mean over orders in which the text is taken apart."""

from __future__ import annotations

import torch
from torch import Tensor

from weft.absa.explain.occlusion import by_places, changes, log_shares, text_tokens
from weft.absa.model.build import AnyModel
from weft.absa.represent.batch import Pairs, Questions

ORDERS = 4
"""Orders that are drawn: half of them, and each of these once more from its end."""


@torch.no_grad()
def shapley(
    model: AnyModel, batch: Questions | Pairs, chosen: int, mask_id: int, *, orders: int = ORDERS
) -> Tensor:
    """The Shapley value of every token, from few orders.

    ::

        φ_j = mean over orders o of  log p(x without those before j in o) − log p(x without these and j)

    A token that is left out becomes ``[MASK]``. An order and its reverse see each token with many others and with few,
    so that words of which two say the same are found, and words that only mean something together. The values of a
    text add up to log p(x) − log p(nothing of x). Costs a pass a token and order, many at once.

    In a text of more than 128 tokens runs of tokens are left out first, as :mod:`weft.absa.explain.occlusion` does it,
    and the orders are of the tokens of those runs that change most, the others staying.

    Args:
        model: The model, in ``eval`` mode.
        batch: One text with one question.
        chosen: The class to explain.
        mask_id: The id of ``[MASK]``.
        orders: How many, an even number; drawn alike for every text of a length.

    Returns:
        ``(seq,)``; 0 at the marks and at the question of a sentence pair, which stay.

    Source:
        Shapley 1953, "A Value for n-Person Games"; orders in pairs: Mitchell et al. 2022, "Sampling Permutations for
        Shapley Value Estimation", section 4.3.
    """

    def in_orders(groups: Tensor) -> Tensor:
        places, ids = groups[:, 0], batch.input_ids
        draw = torch.Generator().manual_seed(len(places))
        drawn = [torch.randperm(len(places), generator=draw) for _ in range(orders // 2)]
        taken = torch.stack([order for one in drawn for order in (one, one.flip(0))]).to(ids.device)
        # Row i of an order has lost its first i tokens.
        lost = torch.ones(len(places) + 1, len(places), dtype=torch.bool, device=ids.device).tril(-1)
        hidden = torch.zeros(len(taken), *lost.shape, dtype=torch.bool, device=ids.device)
        hidden.scatter_(2, taken[:, None].expand_as(hidden), lost.expand_as(hidden))
        changed = ids.repeat(hidden[..., 0].numel(), 1)
        changed[:, places] = changed[:, places].masked_fill(hidden.flatten(0, 1), mask_id)
        shares = log_shares(model, batch, changed, chosen).view(len(taken), -1)
        scores = shares.new_zeros(ids.shape[1])
        added = torch.zeros_like(taken, dtype=shares.dtype).scatter_(1, taken, shares[:, :-1] - shares[:, 1:])
        scores[places] = added.mean(dim=0)
        return scores

    def as_runs(groups: Tensor) -> Tensor:
        return changes(model, batch, chosen, mask_id, groups)

    return by_places(text_tokens(batch), as_runs, in_orders)

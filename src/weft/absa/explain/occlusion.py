"""Which words made the answer, by asking again without each of them, and with each of them alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

import torch
import torch.nn.functional as F
from torch import Tensor

from weft.absa.model.build import AnyModel
from weft.absa.represent.batch import Pairs, Questions

Scores: TypeAlias = Callable[[Tensor], Tensor]
# Changed texts of one pass, and tokens of it: what a layer makes of them stays in a processor's cache.
_PASS = 64
_PASS_TOKENS = 4096
LONG = 128
"""Tokens of a text up to which each is left out by itself."""
RUN = 8
"""Tokens that are left out together, at first, of a longer text."""
_NEAR = 8
"""Runs whose tokens are then left out one by one."""


@torch.no_grad()
def occlusion(model: AnyModel, batch: Questions | Pairs, chosen: int, mask_id: int) -> Tensor:
    """What each token changes, beside all the others and alone.

    φ_j = ½·[log p(x) − log p(x without j)] + ½·[log p(only j of x) − log p(nothing of x)]

    A token that is left out becomes ``[MASK]``. These are the first and the last terms of the average that
    the Shapley value takes over all sets of tokens: the first misses words of which two say the same, the
    second words that only mean something together. Costs two passes a token, many at once.

    Args:
        model: The model, in ``eval`` mode.
        batch: One text with one question.
        chosen: The class to explain.
        mask_id: The id of ``[MASK]``.

    Returns:
        ``(seq,)``; 0 at the marks and at the question of a sentence pair, which stay.

    Source:
        Zeiler & Fergus 2014, "Visualizing and Understanding Convolutional Networks", section 4.2; Shapley
        1953, "A Value for n-Person Games".
    """

    def each(groups: Tensor) -> Tensor:
        return changes(model, batch, chosen, mask_id, groups)

    return by_places(text_tokens(batch), each, each)


def by_places(text: Tensor, runs_by: Scores, tokens_by: Scores) -> Tensor:
    """``(seq,)``, scores of a text's tokens; of a long one those that change little are told in runs.

    Args:
        text: ``(seq,)`` bool, the tokens of the text.
        runs_by: Scores ``(seq,)`` of groups ``(groups, tokens)`` of places.
        tokens_by: The same of groups of one token.
    """
    places = text.nonzero()[:, 0]
    if len(places) <= LONG:
        return tokens_by(places[:, None])
    # The last run may be shorter: it names its last token several times.
    runs = F.pad(places[None], (0, -len(places) % RUN), mode="replicate")[0].view(-1, RUN)
    scores = runs_by(runs)
    near = runs[scores[runs[:, 0]].abs().topk(min(_NEAR, len(runs))).indices].unique()
    scores[places] /= torch.cat([torch.full_like(run, len(run)) for run in places.split(RUN)])
    scores[near] = tokens_by(near[:, None])[near]
    return scores


def changes(model: AnyModel, batch: Questions | Pairs, chosen: int, mask_id: int, groups: Tensor) -> Tensor:
    """``(seq,)``, what each group of tokens ``(groups, tokens)`` changes, at each of its tokens; 0 elsewhere."""
    ids, text = batch.input_ids, text_tokens(batch)
    one = torch.zeros(len(groups), len(text), dtype=torch.bool, device=ids.device).scatter_(1, groups, True)
    changed = torch.cat(
        [
            ids,
            ids.masked_fill(text, mask_id),
            ids.masked_fill(one, mask_id),
            ids.masked_fill(text & ~one, mask_id),
        ]
    )
    shares = log_shares(model, batch, changed, chosen)
    whole, nothing = shares[:2]
    without, only = shares[2:].chunk(2)
    scores = shares.new_zeros(len(text))
    scores[groups] = ((whole - without + only - nothing) / 2)[:, None].expand(groups.shape)
    return scores


def text_tokens(batch: Questions | Pairs) -> Tensor:
    """``(seq,)`` bool, the tokens of the text without its marks."""
    text = batch.attention_mask[0].clone()
    if isinstance(batch, Pairs):
        text &= batch.token_type_ids[0] == 0
    last = int(text.sum()) - 1
    text[[0, last]] = False
    return text


def log_shares(model: AnyModel, batch: Questions | Pairs, ids: Tensor, chosen: int) -> Tensor:
    """Logarithms of p(chosen) of several texts ``(texts, seq)`` that are asked the one question of the batch."""
    size = max(1, min(_PASS, _PASS_TOKENS // ids.shape[1]))
    return torch.cat([_of_one_pass(model, batch, part, chosen) for part in ids.split(size)])


def _of_one_pass(model: AnyModel, batch: Questions | Pairs, ids: Tensor, chosen: int) -> Tensor:
    count = len(ids)
    repeated = {
        name: value.expand(count, -1)
        for name in ("attention_mask", "token_type_ids", "target_mask", "slot_aspect", "slot_mask")
        if isinstance(value := getattr(batch, name, None), Tensor)
    }
    if isinstance(batch, Questions):
        each = torch.arange(count, device=ids.device)
        repeated |= {
            "view_text": each,
            "context_view": each,
            "context_slot": batch.context_slot.expand(count),
        }
    else:
        repeated["context_ids"] = batch.context_ids.expand(count)
    many = replace(batch, input_ids=ids, labels=None, **repeated)
    logits = model(many).logits
    return torch.log_softmax(logits, dim=-1)[:, chosen]

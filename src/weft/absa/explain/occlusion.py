"""Which words made the answer, by asking again without each of them, and with each of them alone."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from weft.absa.model.build import AnyModel
from weft.absa.represent.batch import Pairs, Questions

# Changed texts of one pass.
_PASS = 64


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
    ids = batch.input_ids
    text = text_tokens(batch)
    places = text.nonzero()[:, 0]
    one = torch.eye(len(text), dtype=torch.bool, device=ids.device)[places]
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
    scores[places] = (whole - without + only - nothing) / 2
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
    return torch.cat([_of_one_pass(model, batch, part, chosen) for part in ids.split(_PASS)])


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
    logits = model(many).logits  # pyright: ignore[reportArgumentType] - the asker pairs models and batches
    return torch.log_softmax(logits, dim=-1)[:, chosen]

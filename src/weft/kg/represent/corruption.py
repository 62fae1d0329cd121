"""What training hides from the model beside spans of roots: every occurrence of a tail, in whole batches."""

from __future__ import annotations

import torch
from torch import Tensor

from weft.kg.dataset.tokens import MASK, NO_WORD, PAD


def hide_words(ids: Tensor, words: Tensor, hidden: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Replace every occurrence of some identifiers by one mask each, whatever their length in tokens.

    Args:
        ids: ``(B, R)`` int64 token ids, padded at the end.
        words: ``(B, R)`` int64 word index of each token; 255 for none.
        hidden: ``(B, 256)`` bool: which word indices to hide; entry 255 is False.

    Returns:
        The new ids and words ``(B, R)``, shorter rows padded again, and ``place (B, R)``: where each old
        token now stands (the token of a hidden word: where its mask stands).
    """
    gone = hidden.gather(1, words)
    starts = torch.ones_like(gone)
    starts[:, 1:] = words[:, 1:] != words[:, :-1]
    keep = ~(gone & ~starts)
    place = keep.long().cumsum(dim=1) - 1
    masked = torch.where(gone, MASK, ids)
    width = ids.shape[1]
    # Dropped tokens are written to one column beyond the last, which is cut off.
    target = torch.where(keep, place, width)
    new_ids = torch.full((ids.shape[0], width + 1), PAD, dtype=ids.dtype, device=ids.device)
    new_words = torch.full_like(new_ids, NO_WORD)
    new_ids.scatter_(1, target, masked)
    new_words.scatter_(1, target, torch.where(gone, NO_WORD, words))
    return new_ids[:, :width], new_words[:, :width], place

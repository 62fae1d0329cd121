"""What training hides from the model: spans of roots, and every occurrence of a tail.

Everything here works on whole batches on the device, without a loop over examples.
"""

from __future__ import annotations

import torch
from torch import Tensor

from weft.kg.read.tokens import MASK, NO_WORD, PAD, SPECIALS
from weft.kg.represent.batch import IGNORED


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


def mask_spans(
    ids: Tensor,
    words: Tensor,
    rows: Tensor,
    vocab_size: int,
    generator: torch.Generator | None,
    share: float = 0.15,
    longest: int = 7,
    stop: float = 0.2,
) -> tuple[Tensor, Tensor]:
    """Mask spans of roots: lengths geometric(0.2) cut to 1..7, starting at word starts, 80/10/10.

    Args:
        ids: ``(B, R)`` int64, padded.
        words: ``(B, R)`` int64 word indices.
        rows: ``(B,)`` bool: which rows to mask.
        vocab_size: Random replacements are drawn from the ids after the special ones.
        generator: Of the draws, on the tensors' device.
        share: Expected share of a row's tokens.
        longest: Longest span.
        stop: Parameter of the geometric distribution.

    Returns:
        Corrupted ids and targets ``(B, R)``, −100 where nothing is to be predicted.
    """

    def draw() -> Tensor:
        return torch.rand(ids.shape, generator=generator, device=ids.device)

    real = ids != PAD
    begins = (words == NO_WORD) | torch.nn.functional.pad(words[:, 1:] != words[:, :-1], (1, 0), value=True)
    length = (draw().clamp(min=1e-9).log() / torch.tensor(1 - stop, device=ids.device).log()).floor() + 1
    length = length.clamp(max=longest)
    mean = (1 - (1 - stop) ** longest) / stop
    candidates = (begins & real & rows[:, None]).sum(dim=1, keepdim=True).clamp(min=1)
    # One start covers `mean` tokens, less what spans share: −log(1 − share) instead of share.
    rate = (
        -torch.log1p(torch.tensor(-share, device=ids.device))
        * real.sum(dim=1, keepdim=True)
        / (mean * candidates)
    )
    start = begins & real & rows[:, None] & (draw() < rate)
    reach = torch.where(start, length, 0.0)
    covered = torch.zeros_like(start)
    for offset in range(min(longest, ids.shape[1])):
        covered[:, offset:] |= reach[:, : ids.shape[1] - offset] > offset
    covered &= real & (ids >= len(SPECIALS))
    choice = draw()
    random = (draw() * (vocab_size - len(SPECIALS))).long() + len(SPECIALS)
    corrupted = torch.where(choice < 0.8, MASK, torch.where(choice < 0.9, random, ids))
    return torch.where(covered, corrupted, ids), torch.where(covered, ids, IGNORED)


def span_edges(targets: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """For each masked token, the tokens around its span and its place in it, for SBO.

    Spans at an edge of the row, or longer than seven tokens after merging, have no complete boundary and
    are left out.

    Args:
        targets: ``(B, R)`` int64, −100 where not masked.

    Returns:
        ``example, left, right, offset``, each ``(n,)`` int64.
    """
    masked = targets != IGNORED
    width = targets.shape[1]
    column = torch.arange(width, device=targets.device).expand_as(targets)
    left = torch.where(masked, -1, column).cummax(dim=1).values
    right = torch.where(masked, width, column).flip(1).cummin(dim=1).values.flip(1)
    usable = masked & (left >= 0) & (right < width) & (right - left <= 8)
    example, place = torch.nonzero(usable, as_tuple=True)
    return example, left[example, place], right[example, place], place - left[example, place] - 1

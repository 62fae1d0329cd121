"""Hypotheses leaf by leaf: each step encodes the newest leaf of every hypothesis and remembers the earlier ones."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor

from weft.encoder.layer import KeyValue
from weft.kg.dataset.tokens import END, PAD, START
from weft.kg.model.leafy_chain import LeafyChainModel
from weft.kg.model.memory import RootMemory, can_remember, encoder_layers, turn_of
from weft.kg.represent.batch import IGNORED, ChainBatch

_LOWEST = -1e9


@dataclass(frozen=True)
class Leaves:
    """The newest leaf of n hypotheses, in the order of their chunks.

    Args:
        row: ``(n,)`` int64, the chunk.
        relation: ``(n,)`` int64.
        head_start: ``(n,)`` int64, column of the head's first token.
        head_length: ``(n,)`` int64.
        parent: ``(n,)`` int64: which leaf of the step before stands before it; not looked at in the first step.
        token: ``(n,)`` int64: what that leaf said; not looked at in the first step.
    """

    row: Tensor
    relation: Tensor
    head_start: Tensor
    head_length: Tensor
    parent: Tensor
    token: Tensor


def can_spell_by_leaf(model: LeafyChainModel) -> bool:
    """Whether leaves can be encoded one after the other: roots apart from them, no words before a tail."""
    return can_remember(model) and model.config.decoding == "causal" and not model.config.prompt


class Spelling:
    """Encodes and scores leaves step by step.

    Every leaf attends to the roots of its chunk and to the leaves before it in its own tail, whose keys and
    values are kept from the steps before:

        softmax([q·K_roots ‖ q·K_before] / √D) [V_roots ; V_before]

    Args:
        model: One that :func:`can_spell_by_leaf`, in eval mode.
        roots: ``(B, R)`` int64, token ids, padded.
        memory: The roots' keys, values and hidden states.
    """

    def __init__(self, model: LeafyChainModel, roots: Tensor, memory: RootMemory) -> None:
        self._model = model
        self._roots = roots
        self._memory = memory
        self._step = 0
        # For each layer the keys and values (n, heads, steps, D) of the leaves before.
        self._before: list[KeyValue] = []
        if model.copy_path is not None:
            self._copy_keys = model.copy_path.key(memory.hidden)
            self._allowed = memory.ids > END
            same = memory.ids[:, :, None] == memory.ids[:, None, :]
            # A leaf reads the roots and what is shown of one head: the first of its tokens is among these.
            same &= (memory.head[:, None, :] < 0) | (memory.head[:, :, None] == memory.head[:, None, :])
            self._first = same.long().argmax(dim=2)

    @torch.no_grad()
    def likeliest(self, leaves: Leaves, count: int) -> tuple[Tensor, Tensor]:
        """The likeliest tokens of the next leaf of each hypothesis.

        Only the likeliest tokens of the vocabulary path and the tokens of the chunk can be among them, so that
        the mixture of both paths is computed for these alone.

        Args:
            leaves: One leaf more of each hypothesis than in the call before.
            count: How many; at most the size of the vocabulary.

        Returns:
            Log-probabilities ``(n, count)`` float32 by falling probability, and the tokens ``(n, count)``.
        """
        hidden, place = self._encode(leaves)
        logits = self._model.tail_logits(hidden)
        total = logits.logsumexp(dim=1, keepdim=True)
        best, token = logits.topk(count, dim=1)
        best = best - total
        if self._model.copy_path is None:
            return best, token
        rows, width = place
        padded = hidden.new_zeros(self._roots.shape[0], width, hidden.shape[1])
        padded[rows] = hidden
        allowed, first, roots = (item[leaves.row] for item in (self._allowed, self._first, self._memory.ids))
        allowed = allowed & self._readable(leaves)
        open_to = torch.zeros(*padded.shape[:2], roots.shape[1], dtype=torch.bool, device=roots.device)
        open_to[rows] = allowed
        log_copy, gate = self._model.copy_path.point(padded, self._copy_keys, open_to)
        log_copy, gate = log_copy[rows], gate[rows][:, None]
        # A token that stands at several roots is copied from all of them, and counted at the first.
        copied = torch.zeros_like(log_copy).scatter_add_(1, first, log_copy.exp())
        column = torch.arange(roots.shape[1], device=roots.device)
        mixed = torch.logaddexp(
            F.logsigmoid(-gate) + logits.gather(1, roots) - total,
            F.logsigmoid(gate) + copied.clamp(min=1e-30).log(),
        ).masked_fill(~allowed | (first != column), _LOWEST)
        here = ((token[:, :, None] == roots[:, None, :]) & allowed[:, None, :]).any(dim=2)
        best = (F.logsigmoid(-gate) + best).masked_fill(here, _LOWEST)
        best, choice = torch.cat([best, mixed], dim=1).topk(count, dim=1)
        return best, torch.cat([token, roots], dim=1).gather(1, choice)

    def _encode(self, leaves: Leaves) -> tuple[Tensor, tuple[tuple[Tensor, Tensor], int]]:
        """Hidden states ``(n, hidden)`` of the newest leaves, their places ``(B, L)``, and L."""
        count = torch.bincount(leaves.row, minlength=self._roots.shape[0])
        first = count.cumsum(0) - count
        column = torch.arange(len(leaves.row), device=leaves.row.device) - first[leaves.row]
        place, width = (leaves.row, column), int(count.max())
        hidden = self._embedded(leaves, place, width)
        turn = turn_of(self._model, leaves.head_start[None], hidden)
        real = self._readable(leaves)
        before, self._before = self._before, []
        for number, layer in enumerate(encoder_layers(self._model)):
            newest = layer.attention.key_value(hidden[None], turn)
            leaves_seen = KeyValue(*(item[0].transpose(0, 1)[:, :, None] for item in newest))
            if before:
                parents = KeyValue(*(old[leaves.parent] for old in before[number]))
                leaves_seen = leaves_seen.after(parents)
            self._before.append(leaves_seen)
            answer = partial(self._attend, leaves_seen, self._memory.layers[number], real, place, width)
            hidden = layer(hidden[None], memory=answer, turn=turn)[0][0]
        self._step += 1
        return hidden, (place, width)

    def _readable(self, leaves: Leaves) -> Tensor:
        """Which roots and shown leaves each leaf may read, ``(n, S)`` bool."""
        head = self._memory.head[leaves.row]
        return self._memory.real[leaves.row] & ((head < 0) | (head == leaves.head_start[:, None]))

    @staticmethod
    def _attend(
        own: KeyValue,
        roots_seen: KeyValue,
        real: Tensor,
        place: tuple[Tensor, Tensor],
        width: int,
        queries: Tensor,
    ) -> Tensor:
        """Attention of queries ``(1, heads, n, D)`` to their chunk's roots and their own tail."""
        query, (root_key, root_value) = queries[0].transpose(0, 1), roots_seen
        batch, heads, roots, size = root_key.shape
        padded = query.new_zeros(batch, width, heads, size)
        padded[place] = query / math.sqrt(size)
        at_roots = torch.matmul(padded.transpose(1, 2), root_key.transpose(2, 3)).transpose(1, 2)[place]
        at_roots = at_roots.masked_fill(~real[:, None, :], torch.finfo(query.dtype).min)
        at_leaves = torch.matmul(own.key, padded[place][..., None]).squeeze(3)
        weights = torch.softmax(torch.cat([at_roots, at_leaves], dim=2), dim=2)
        spread = weights.new_zeros(batch, width, heads, roots)
        spread[place] = weights[..., :roots]
        from_roots = torch.matmul(spread.transpose(1, 2), root_value).transpose(1, 2)[place]
        found = from_roots + torch.matmul(weights[:, :, None, roots:], own.value).squeeze(2)
        return found.transpose(0, 1)[None]

    def _embedded(self, leaves: Leaves, place: tuple[Tensor, Tensor], width: int) -> Tensor:
        """Embeddings ``(n, hidden)`` of the newest leaves, relations fused."""
        roots, device = self._roots, self._roots.device
        B, R = roots.shape
        token = torch.full_like(leaves.token, START) if self._step == 0 else leaves.token
        shown = torch.full((B, width), PAD, dtype=torch.int64, device=device)
        slot = torch.full_like(shown, -1)
        head = torch.zeros_like(shown)
        shown[place], slot[place], head[place] = token, self._step, leaves.head_start
        column = torch.arange(R, device=device).expand(B, -1)
        ids = torch.cat([roots, shown], dim=1)
        slots = torch.cat([torch.full_like(roots, -1), slot], dim=1)
        nothing = torch.full_like(ids, IGNORED)
        batch = ChainBatch(
            num_roots=R,
            input_ids=ids,
            real=torch.cat([roots != PAD, slot >= 0], dim=1),
            root=torch.cat([column, head], dim=1),
            slot=slots,
            group=slots,
            tail_targets=nothing,
            copyable=torch.zeros_like(ids, dtype=torch.bool),
            root_targets=nothing,
            example=leaves.row,
            relation=leaves.relation,
            head_start=leaves.head_start,
            head_length=leaves.head_length,
            tail_start=R + place[1],
            tail_length=torch.ones_like(leaves.row),
        )
        return self._model(batch, layers=slice(0, 0))[:, R:][place]

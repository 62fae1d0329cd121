"""Context-conditioned pooling: the question attends to the text and comes back as the answer's state."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from weft.attention.operation import Maps, attend
from weft.attention.terms import Decay, Terms
from weft.encoder.config import EncoderConfig
from weft.encoder.initialisation import initialise
from weft.encoder.layer import EncoderLayer


class ContextBlock(nn.Module):
    """A decoder block whose queries are contexts and whose keys are [the context itself ; the text].

    A post-LayerNorm layer of the same parameters as an encoder layer, so that it starts as a copy of a
    pretrained one::

        A  = softmax([q·k_selfᵀ ‖ Q·K_textᵀ] · D^-½ + log F)
        y  = LayerNorm(x + W_O · A · [v_self ; V_text])
        x' = LayerNorm(y + W_2 · GELU(W_1 · y))

    The contexts of one view stand side by side and share the text's keys and values; a context sees
    itself and the text, never another context.

    Args:
        layer: The encoder layer that is copied.
    """

    def __init__(self, layer: EncoderLayer) -> None:
        super().__init__()
        self.layer = copy.deepcopy(layer)

    def forward(
        self,
        context: Tensor,
        text: Tensor,
        text_mask: Tensor,
        factor: Tensor | None = None,
        need_maps: bool = False,
    ) -> tuple[Tensor, Maps | None]:
        """Answer the contexts.

        Args:
            context: ``(views, slots, hidden)``.
            text: ``(views, seq, hidden)``, the states that are attended to.
            text_mask: ``(views, seq)`` bool.
            factor: F > 0 on the text's weights before they are normalised,
                broadcastable to ``(views, heads, slots, seq)``; 1 where None.
            need_maps: Whether to return the weights.

        Returns:
            ``(views, slots, hidden)``, and the maps with keys [slots ; text].
        """
        slots, length = context.shape[1], text.shape[1]
        itself = torch.eye(slots, dtype=torch.bool, device=text.device).expand(len(context), 1, -1, -1)
        mask = torch.cat([itself, text_mask[:, None, None].expand(-1, 1, slots, -1)], dim=3)
        terms = Terms()
        if factor is not None:
            factor = factor.expand(len(context), self.layer.attention.heads, slots, length)
            terms = Terms(decay=Decay(F.pad(factor, (slots, 0), value=1.0), "weights"))
        # Keys and values of the contexts and of the text come from one product.
        memory = self.layer.attention.key_value(torch.cat([context, text], dim=1))
        return self.layer(context, mask=mask, memory=memory, condition=lambda *_: terms, need_maps=need_maps)


class PlainPooling(nn.Module):
    """The text's states, weighed by the question, beside the question; nothing of it is pretrained.

    ::

        A = softmax(W_q·c · (W_k·h)ᵀ · D^-½ + log F)         one head, D = hidden
        z = GELU(W·dropout([A·h ; c]) + b)

    What the encoder makes of the text reaches the classifier through one product. Measured on a few thousand texts
    alone (``docs/results.md``, "With a base-size start").

    Args:
        config: The encoder's configuration.
        dropout: Before W.
    """

    def __init__(self, config: EncoderConfig, dropout: float) -> None:
        super().__init__()
        size = config.hidden_size
        self.query = nn.Linear(size, size)
        self.key = nn.Linear(size, size)
        self.dense = nn.Linear(2 * size, size)
        self.dropout = nn.Dropout(dropout)
        initialise(self, config.initializer_range)

    def forward(
        self,
        context: Tensor,
        text: Tensor,
        text_mask: Tensor,
        factor: Tensor | None = None,
        need_maps: bool = False,
    ) -> tuple[Tensor, Maps | None]:
        """As :meth:`ContextBlock.forward`; ``factor`` is broadcastable to ``(views, 1, slots, seq)``."""
        query, key = self.query(context)[:, None], self.key(text)[:, None]
        terms = Terms()
        if factor is not None:
            shape = (len(context), 1, context.shape[1], text.shape[1])
            terms = Terms(decay=Decay(factor.expand(shape), "weights"))
        pooled, maps = attend(query, key, text[:, None], key_mask=text_mask, terms=terms, need_maps=need_maps)
        if maps is not None and maps.weights is not None:
            # A question does not see itself here.
            maps = replace(maps, weights=F.pad(maps.weights, (context.shape[1], 0)))
        state = self.dense(self.dropout(torch.cat([pooled[:, 0], context], dim=2)))
        return F.gelu(state), maps


class ContextVector(nn.Module):
    """The question as a vector.

    c = LayerNorm(W_a·ā + W_t·t̄), with ā the mean state of the aspect's words and t̄ the mean state of the
    target's tokens in this text; a learnt vector stands for an unseen aspect (after W_a) and for no
    target (after W_t).

    Args:
        config: The encoder's configuration.
    """

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        size = config.hidden_size
        self.aspect = nn.Linear(size, size)
        self.target = nn.Linear(size, size, bias=False)
        self.unseen_aspect = nn.Parameter(torch.zeros(size))
        self.no_target = nn.Parameter(torch.zeros(size))
        self.norm = nn.LayerNorm(size, eps=config.layer_norm_eps)
        # The copied block knows the encoder's states: start from them, not from a random rotation of them.
        for linear in (self.aspect, self.target):
            nn.init.eye_(linear.weight)
        nn.init.zeros_(self.aspect.bias)
        nn.init.normal_(self.unseen_aspect, std=config.initializer_range)
        nn.init.normal_(self.no_target, std=config.initializer_range)

    def forward(self, aspects: Tensor, unseen: Tensor, targets: Tensor, has_target: Tensor) -> Tensor:
        """The context vectors.

        Args:
            aspects: ``(views, slots, hidden)``, ā.
            unseen: ``(views, slots)`` bool.
            targets: ``(views, hidden)``, t̄.
            has_target: ``(views,)`` bool.

        Returns:
            ``(views, slots, hidden)``.
        """
        aspect = torch.where(unseen[..., None], self.unseen_aspect, self.aspect(aspects))
        target = torch.where(has_target[:, None], self.target(targets), self.no_target)
        return self.norm(aspect + target[:, None])


class TargetDistance(nn.Module):
    """A learnt factor on a token's weight by its signed distance to the nearest token of the target.

    F_hj = exp(b_h,bucket(j − nearest target token)); distances 0, 1, 2, 3–4, 5–8, 9–16, beyond, on
    either side, have a bucket each. F = 1 at the start, and where there is no target.

    Args:
        heads: Number of heads.
    """

    EDGES = (1, 2, 3, 5, 9, 17)

    def __init__(self, heads: int) -> None:
        super().__init__()
        self.bias = nn.Embedding(2 * len(self.EDGES) + 2, heads)
        nn.init.zeros_(self.bias.weight)
        self.register_buffer("edges", torch.tensor(self.EDGES), persistent=False)

    def forward(self, target_mask: Tensor) -> Tensor:
        """The logarithm of F, ``(views, heads, 1, seq)``, from the target's tokens ``(views, seq)`` bool."""
        length = target_mask.shape[1]
        place = torch.arange(length, device=target_mask.device)
        far = torch.full_like(place, 2 * length).expand_as(target_mask)
        # Distance to the nearest target token at or before, and at or after, each token.
        before = place - torch.where(target_mask, place, -far).cummax(dim=1).values
        after = torch.where(target_mask, place, far).flip(1).cummin(dim=1).values.flip(1) - place
        bucket = torch.bucketize(torch.minimum(before, after), cast(Tensor, self.edges), right=True)
        # A token before the target and a token after it are different things: "cheap LOCATION1".
        bucket = bucket + (before <= after) * (len(self.EDGES) + 1)
        bias = self.bias(bucket).transpose(1, 2)[:, :, None]
        return bias * target_mask.any(dim=1)[:, None, None, None]

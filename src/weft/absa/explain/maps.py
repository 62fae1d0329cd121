"""What a model looked at, as matrices: attention weights, quasi-attention and its gate, layer by layer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from weft.absa.use.asker import Asker, Question
from weft.attention.reference import Maps


@dataclass(frozen=True)
class QuestionMaps:
    """The maps of one question.

    Args:
        tokens: The tokens that were read. In ``weft-absa`` the one query is the question, and its own key stands
            before those of the tokens; in the other models queries and keys are the tokens.
        layers: Of the pooling's blocks, or of the encoder's layers. ``weights (heads, query, key)``;
            with quasi-attention ``quasi`` likewise and ``gate``, λ_A ``(heads, query, key or 1)``, else None.
    """

    tokens: tuple[str, ...]
    layers: tuple[Maps, ...]

    def record(self) -> dict[str, Any]:
        """The maps as plain values, six digits each."""
        return {
            "tokens": list(self.tokens),
            "layers": [
                {name: _plain(getattr(layer, name)) for name in ("weights", "quasi", "gate")}
                for layer in self.layers
            ],
        }


@torch.no_grad()
def question_maps(asker: Asker, text: str, question: Question) -> QuestionMaps:
    """The maps of one question to one text.

    Args:
        asker: The model.
        text: The text; of one that is longer than the model reads at once, the window that answers is looked at.
        question: The question.
    """
    _, window = asker.window(text, question)
    batch = asker.represent([window]).to(asker.device)
    found = asker.module.eval()(batch, need_maps=True).maps
    name = asker.representation.tokenizer.id_to_token
    tokens = tuple(name(number) or "" for number in batch.input_ids[0].tolist())
    return QuestionMaps(tokens, tuple(Maps(*map(_first, (m.weights, m.quasi, m.gate))) for m in found))


def _first(values: Tensor | None) -> Tensor | None:
    return None if values is None else values[0]


def _plain(values: Tensor | None) -> Any:
    return None if values is None else values.double().mul(1e6).round().div(1e6).tolist()

"""A relation's score from what trained relations say of a pair, weighed by how alike the definitions are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from weft.errors import ConfigError
from weft.kg.dataset.tokens import CodeTokenizer
from weft.kg.model.entity_graph import EntityGraphModel
from weft.kg.represent.passages import sentence_edges
from weft.kg.schema import Relation, Schema
from weft.kg.worded.relation import turned

LEAST_WORDED = -11.0
"""Scores below are not kept. They lie lower than those of trained relations: most of a mean of these is a no."""
_RIDGE, _TYPE_RIDGE = 1.0, 0.3
_TYPE_SHARE = 0.3
"""How much the whole definition counts beside the words *head* and *tail* where it tells of what type those are."""
_TYPE_WEIGHT = 3.0
_COMPETITION = 0.5
_LEAST_SHARE = 0.02
_ENDS = ("head", "tail")


@dataclass(frozen=True)
class WordedScores:
    """Scores of relations that were not trained, from those of the R that were.

        s_ij = Σ_r a_r l_ijr + b_r l_jir  −  γ max(0, max_r l_ijr)  +  t_ij

    Args:
        forward: ``(asked, R)``, a.
        backward: ``(asked, R)``, b: of the trained relations read from tail to head.
        speaking: ``(asked, R)`` bool: the trained relations that may speak.
        types: ``(asked, types, types)``, t by the types of head and tail; 0 where the user says what types there are.
    """

    forward: Tensor
    backward: Tensor
    speaking: Tensor
    types: Tensor

    def __call__(self, margin: Tensor, kinds: Tensor) -> Tensor:
        """Scores of all pairs.

        Args:
            margin: ``(B, N, N, R)``, l: by how much each trained relation beats its pair's threshold.
            kinds: ``(B, N)`` int64, types of entities.

        Returns:
            ``(B, N, N, asked)``.
        """
        result = margin @ self.forward.T + margin.transpose(1, 2) @ self.backward.T
        for place, speaking in enumerate(self.speaking):
            highest = margin[..., speaking].amax(dim=-1).clamp(min=0)
            known = self.types[place][kinds[:, :, None], kinds[:, None, :]]
            result[..., place] += known - _COMPETITION * highest
        return result


@torch.no_grad()
def worded_scores(
    model: EntityGraphModel,
    tokenizer: CodeTokenizer,
    schema: Schema,
    asked: Sequence[Relation],
    *,
    left_out: bool = False,
) -> WordedScores:
    """What is needed to score relations by their definitions.

        e(d) = states of d's words, of "head" and of "tail", each less its mean over all definitions and of length 1
        k(d, d') = sum of the three products
        a, b = (K + λ)⁻¹ k(d)        over the trained definitions and the same turned round

    and what is left to 1 is shared by all, so that an unlike definition gets their mean. Where a relation has no types,
    the same regression, of the words *head* and *tail* above all, says which types such trained relations have:

        t_ij = τ (log q_head(type_i) + log q_tail(type_j))        q as a share of the likeliest type's

    Args:
        model: Of texts.
        tokenizer: Its.
        schema: Its relations.
        asked: Relations by words.
        left_out: The relations asked for are the schema's own, each without itself and its inverse.

    Raises:
        ConfigError: The schema has no definitions to compare with.
    """
    own = schema.relations
    if not all(relation.definition for relation in own):
        raise ConfigError(
            "the model's schema has relations without a definition, so none can be asked for by words"
        )
    texts = [item.definition for item in own] + [turned(item.definition) for item in own]
    trained = _states(model, tokenizer, texts)
    mean = trained.mean(dim=1, keepdim=True)
    known = torch.nn.functional.normalize(trained - mean, dim=2)
    new = torch.nn.functional.normalize(
        _states(model, tokenizer, [item.definition for item in asked]) - mean, dim=2
    )
    inner, outer = known @ known.transpose(1, 2), new @ known.transpose(1, 2)
    heads, tails = (_allowed(model.config.types, own, end) for end in _ENDS)
    sides = (torch.cat([heads, tails]), torch.cat([tails, heads]))
    R = len(own)
    forward, backward = torch.zeros(len(asked), R), torch.zeros(len(asked), R)
    speaking = torch.ones(len(asked), R, dtype=torch.bool)
    types = torch.zeros(len(asked), len(model.config.types), len(model.config.types))
    for place, relation in enumerate(asked):
        if left_out:
            speaking[place] = torch.tensor(
                [item.name not in (relation.name, relation.inverse) for item in own]
            )
        chosen = speaking[place].repeat(2).nonzero()[:, 0]
        weights = _ridge(inner.sum(dim=0), outer[:, place].sum(dim=0), chosen, _RIDGE)
        weights += (1 - weights.sum()) / len(weights)
        half = len(chosen) // 2
        forward[place, chosen[:half]] = weights[:half]
        backward[place, chosen[:half]] = weights[half:]
        if not (relation.head_types or relation.tail_types):
            shares = []
            for end, allowed in enumerate(sides, 1):
                mixed = _TYPE_SHARE * inner[0] + inner[end], _TYPE_SHARE * outer[0, place] + outer[end, place]
                share = _ridge(*mixed, chosen, _TYPE_RIDGE)
                middle = allowed[chosen].mean(dim=0)
                found = (middle + share @ (allowed[chosen] - middle)).clamp(_LEAST_SHARE, 1.0)
                # Type 0 is "not known", which may be any.
                shares.append(
                    (found / found[1:].max()).clamp(max=1.0).log() if len(found) > 1 else found.log()
                )
            types[place] = _TYPE_WEIGHT * (shares[0][:, None] + shares[1][None, :])
    return WordedScores(forward, backward, speaking, types)


def _ridge(inner: Tensor, outer: Tensor, chosen: Tensor, ridge: float) -> Tensor:
    """(K + λ)⁻¹ k over some of the definitions."""
    known = inner[chosen][:, chosen].double()
    known += ridge * torch.eye(len(chosen), dtype=torch.float64)
    return torch.linalg.solve(known, outer[chosen].double()).float()


def _allowed(types: Sequence[str], relations: Sequence[Relation], end: str) -> Tensor:
    """``(relations, types)``: 1 where a relation allows a type at one end; an unknown type fits everywhere."""
    rows = [item.head_types if end == "head" else item.tail_types for item in relations]
    return torch.tensor([[float(not row or not kind or kind in row) for kind in types] for row in rows])


def _states(model: EntityGraphModel, tokenizer: CodeTokenizer, texts: Sequence[str]) -> Tensor:
    """``(3, texts, hidden)``: the mean state of the words of each text, that of "head", that of "tail".

    States are the mean of the last two layers'. They are computed one text at a time: padding changes last bits.
    """
    before, after = sentence_edges(tokenizer)
    layers = model.config.encoder.num_hidden_layers
    ends = [tokenizer.tokenizer.token_to_id(end) for end in _ENDS]
    rows: list[Tensor] = []
    for text in texts:
        words = tokenizer.encode(text).ids.tolist()
        ids = [*([] if before is None else [before]), *words, *([] if after is None else [after])]
        first = 0 if before is None else 1
        inputs = torch.tensor([ids], device=model.relations.weight.device)
        real = torch.ones_like(inputs, dtype=torch.bool)
        lower = model.encoder(inputs, real, layers=slice(0, layers - 1)).last_hidden_state
        upper = model.encoder(lower, real, layers=slice(layers - 1, layers)).last_hidden_state
        state = ((lower + upper) / 2)[0, first : first + len(words)].float().cpu()
        places = [[place for place, word in enumerate(words) if word == end] for end in ends]
        others = [place for place, word in enumerate(words) if word not in ends]
        rows.append(
            torch.stack(
                [state[chosen or list(range(len(words)))].mean(dim=0) for chosen in (others, *places)]
            )
        )
    return torch.stack(rows, dim=1)

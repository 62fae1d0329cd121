"""From queries to tails: beam search that spells them, scores of given tails, iterative mask-predict.

Where leaf groups ignore each other, all queries of a chunk run beside one encoding of its roots; elsewhere each runs
alone. :func:`find_tails` asks a model in its own manner.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from weft.errors import ConfigError, ShapeError
from weft.kg.dataset.tokens import END, MASK, PAD
from weft.kg.model.leafy_chain import LeafyChainModel
from weft.kg.model.memory import RootMemory, can_remember, encode_leaves, remember
from weft.kg.model.spelling import Leaves, Spelling, can_spell_by_leaf
from weft.kg.model.trie import Trie
from weft.kg.represent.batch import IGNORED, ChainBatch
from weft.kg.represent.given import Clues, attach
from weft.kg.represent.sampling import LeafRows, assemble, group_lengths, prompts

_LOWEST = -1e9
_AT_ONCE = 64
"""Queries of a pass where each runs alone."""


@dataclass(frozen=True)
class Queries:
    """Questions to B chunks, Q to each at most; tensors ``(B, Q)`` but ``roots (B, R)``.

    Args:
        roots: Token ids, padded.
        there: bool: which questions exist.
        relation: Relation id.
        head_start: Column of the head's first token.
        head_length: Number of its tokens.
        clues: What is shown of the heads; nothing where None.

    Raises:
        ShapeError: Tensors whose shapes do not fit.
    """

    roots: Tensor
    there: Tensor
    relation: Tensor
    head_start: Tensor
    head_length: Tensor
    clues: Clues | None = None

    def __post_init__(self) -> None:
        shapes = {
            tuple(getattr(self, name).shape) for name in ("there", "relation", "head_start", "head_length")
        }
        if len(shapes) != 1 or self.there.dim() != 2 or self.there.shape[0] != self.roots.shape[0]:
            raise ShapeError(f"queries have shapes {sorted(shapes)} for roots {tuple(self.roots.shape)}")


@dataclass(frozen=True)
class Answers:
    """Tails by falling probability.

    Args:
        tokens: ``(B, Q, W, K)`` int64, padded.
        log_probability: ``(B, Q, W)``; −1e9 where there are fewer than W.
    """

    tokens: Tensor
    log_probability: Tensor

    def tail(self, row: int, query: int, rank: int) -> tuple[int, ...]:
        """One tail's token ids."""
        return tuple(token for token in self.tokens[row, query, rank].tolist() if token != PAD)

    def slots(self, row: int, query: int) -> list[list[int]]:
        """The tokens at each place of the tails, those of likelier tails first; as many places as the longest has."""
        tails = [self.tail(row, query, rank) for rank in range(self.tokens.shape[2])]
        longest = max(map(len, tails), default=0)
        return [
            list(dict.fromkeys(tail[place] for tail in tails if place < len(tail)))
            for place in range(longest)
        ]


def find_tails(
    model: LeafyChainModel, queries: Queries, beams: int = 10, *, first_only: bool = False
) -> Answers:
    """Tails in the model's own manner: spelled left to right, or masked and filled in rounds.

    A model with masked decoding gives one answer to each query, and its probability is that of its tokens. One
    without slots knows no end of a tail: every length is tried, and the likeliest stands, argmax_n Σ_{k<n} log p(t_k);
    by the mean of its tokens, a tail that says one of them again and again would.

    Args:
        model: In eval mode.
        queries: What to ask.
        beams: Hypotheses of each query, where it spells.
        first_only: As for :func:`spell`.

    Raises:
        ConfigError: ``beams`` is below 1.
    """
    if model.config.decoding == "causal":
        return spell(model, queries, beams, first_only=first_only)
    B, Q = queries.there.shape
    tokens = torch.full((B, Q, 1, model.config.leaves), PAD, dtype=torch.int64, device=queries.roots.device)
    score = torch.full((B, Q, 1), _LOWEST, device=queries.roots.device)
    for row, column in zip(
        *(part.split(_AT_ONCE) for part in queries.there.nonzero(as_tuple=True)), strict=True
    ):
        one = Queries(
            queries.roots[row],
            *(
                getattr(queries, name)[row, column][:, None]
                for name in ("there", "relation", "head_start", "head_length")
            ),
        )
        lengths = [model.config.leaves] if model.config.slots else range(1, model.config.leaves + 1)
        found = [mask_predict(model, one, length) for length in lengths]
        totals = torch.stack([item.log_probability[:, 0, 0] for item in found])
        best, here = totals.argmax(dim=0), torch.arange(len(row), device=row.device)
        tokens[row, column] = torch.stack([item.tokens[:, 0] for item in found])[best, here]
        score[row, column] = torch.stack([item.log_probability[:, 0] for item in found])[best, here]
    return Answers(tokens, score)


@torch.no_grad()
def spell(
    model: LeafyChainModel,
    queries: Queries,
    beams: int = 10,
    tries: list[list[Trie]] | None = None,
    *,
    first_only: bool = False,
) -> Answers:
    """Spell tails left to right by beam search.

    Args:
        model: With causal decoding, in eval mode.
        queries: What to ask.
        beams: W, hypotheses kept of each query.
        tries: For row b and query q the tails that are allowed; any where None.
        first_only: Give the first answer of each query alone, the same as without: a hypothesis below one that has
            ended can only lose, and is not followed any further.

    Raises:
        ConfigError: The model does not spell, or ``beams`` is below 1.
    """
    if model.config.decoding != "causal" or beams < 1:
        raise ConfigError(
            f"decoding is {model.config.decoding!r} with {beams} beams; spelling needs 'causal' and 1"
        )
    B, Q = queries.there.shape
    K, device = model.config.leaves, queries.roots.device
    # Step 0 has one hypothesis, the empty tail; every later step has W.
    tokens = torch.full((B, Q, 1, K), PAD, dtype=torch.int64, device=device)
    score = torch.zeros(B, Q, 1, dtype=torch.float32, device=device)
    done = torch.zeros(B, Q, 1, dtype=torch.bool, device=device)
    memory, spelling = None, None
    if can_remember(model):
        memory = remember(
            model, _batch(model, queries, tokens[:, :, 0], torch.zeros_like(queries.relation))[0]
        )
        if tries is None and can_spell_by_leaf(model):
            spelling = Spelling(model, queries.roots, memory)
    branches = min(beams, model.config.encoder.vocab_size)
    # Where in the step before the hypothesis before each one stood.
    parent = torch.zeros(B, Q, 1, dtype=torch.int64, device=device)
    for step in range(K):
        W = tokens.shape[2]
        live = queries.there[..., None] & ~done
        if first_only:
            live = live & (score > torch.where(done, score, _LOWEST).amax(dim=2, keepdim=True))
        if not bool(live.any()):
            break
        best = score.new_full((B, Q, W, branches), _LOWEST)
        token = torch.full((B, Q, W, branches), PAD, dtype=torch.int64, device=device)
        if spelling is not None:
            newest = _leaves(queries, live, parent, tokens[..., max(step - 1, 0)])
            best[live], token[live] = spelling.likeliest(newest, branches)
        else:
            following = _next_log_probability(model, queries, tokens, step, live, memory)
            if tries is not None:
                allowed = _allowed(tries, tokens, step, following.shape[-1])[live]
                following = following.masked_fill(~allowed, _LOWEST)
            best[live], token[live] = following.topk(branches, dim=-1)
        number = torch.zeros(B, Q, W, dtype=torch.int64, device=device)
        number[live] = torch.arange(int(live.sum()), device=device)
        # A finished hypothesis has one continuation: itself.
        going = torch.where(done[..., None], _LOWEST, score[..., None] + best).flatten(2)
        total = torch.cat([going, torch.where(done, score, _LOWEST)], dim=2)
        score, choice = total.topk(min(beams, total.shape[2]), dim=2)
        extended = choice < W * branches
        source = torch.where(extended, choice // branches, choice - W * branches)
        added = token.flatten(2).gather(2, choice.clamp(max=W * branches - 1))
        tokens = tokens.gather(2, source[..., None].expand(-1, -1, -1, K)).clone()
        ended = extended & (added == END)
        tokens[..., step] = torch.where(extended & ~ended, added, PAD)
        done = ~extended | ended
        parent = number.gather(2, source)
    score = torch.where(queries.there[..., None], score, _LOWEST)
    return Answers(tokens[:, :, :1], score[:, :, :1]) if first_only else Answers(tokens, score)


def _leaves(queries: Queries, live: Tensor, parent: Tensor, said: Tensor) -> Leaves:
    """The newest leaf of each live hypothesis; the arguments beside the queries are ``(B, Q, W)``."""
    row, query, _ = live.nonzero(as_tuple=True)
    return Leaves(
        row,
        queries.relation[row, query],
        queries.head_start[row, query],
        queries.head_length[row, query],
        parent[live],
        said[live],
    )


@torch.no_grad()
def score_tails(model: LeafyChainModel, queries: Queries, tail_ids: Tensor, tail_length: Tensor) -> Tensor:
    """Score given tails: log p of one for each query, ``(B, Q)``; 0 where there is no query.

    Args:
        model: With causal decoding, in eval mode.
        queries: ``(B, Q)``; repeat a query to score several tails of it.
        tail_ids: ``(B, Q, K)`` int64, padded.
        tail_length: ``(B, Q)`` int64.
    """
    batch, _ = _batch(model, queries, tail_ids, tail_length)
    hidden = model(batch)
    R = batch.num_roots
    targets = batch.tail_targets[:, R:]
    log_p = next_token_log_probability(model, hidden[:, R:], hidden, batch)
    picked = log_p.gather(2, targets.clamp(min=0)[..., None]).squeeze(2)
    picked = torch.where(targets != IGNORED, picked, 0.0)
    sums = torch.zeros_like(tail_length, dtype=picked.dtype)
    group = batch.group[:, R:]
    return sums.scatter_add(1, group.clamp(min=0), torch.where(group >= 0, picked, 0.0))


@torch.no_grad()
def mask_predict(
    model: LeafyChainModel, queries: Queries, length: int | None = None, iterations: int = 3
) -> Answers:
    """Fill masked tails in rounds, the surest tokens first; one answer to each query.

    In round r of n the ⌈K·r/n⌉ surest slots keep their token and the others are masked again. With slots
    the tail ends at the first end token; the published model has none and needs the ``length``.

    Args:
        model: With masked decoding, in eval mode.
        queries: What to ask.
        length: Tokens of every tail; K where None.
        iterations: n.

    Raises:
        ConfigError: The model spells instead, or several queries of a chunk hang from one another's leaves.
    """
    config = model.config
    if config.decoding != "masked":
        raise ConfigError("decoding is 'causal'; mask-predict needs a model with masked decoding")
    K = config.leaves if length is None else length
    if iterations < 1 or not 0 < K <= config.leaves:
        raise ConfigError(
            f"{iterations} iterations for {K} tokens; both must be at least 1, tokens at most K"
        )
    shown = torch.full((*queries.there.shape, K), MASK, dtype=torch.int64, device=queries.roots.device)
    token, best = _fill(model, queries, shown)
    for turn in range(1, iterations):
        surest = best.argsort(dim=-1, descending=True).argsort(dim=-1) < -(-K * turn // iterations)
        token, best = _fill(model, queries, torch.where(surest, token, MASK))
    ended = (token == END).long().cumsum(dim=-1) > 0
    total = torch.where(ended & (token != END), 0.0, best).sum(dim=-1)
    tokens = torch.nn.functional.pad(torch.where(ended, PAD, token), (0, config.leaves - K), value=PAD)
    return Answers(tokens[:, :, None], torch.where(queries.there, total, _LOWEST)[..., None])


def _fill(model: LeafyChainModel, queries: Queries, shown: Tensor) -> tuple[Tensor, Tensor]:
    """The likeliest token at every slot and its log-probability, ``(B, Q, K)`` each; shown ones stay."""
    log_p = filled_log_probability(model, queries, shown)
    best, token = log_p.max(dim=-1)
    given = shown != MASK
    kept = log_p.gather(-1, shown.clamp(min=0)[..., None]).squeeze(-1)
    return torch.where(given, shown, token), torch.where(given, kept, best)


def filled_log_probability(model: LeafyChainModel, queries: Queries, shown: Tensor) -> Tensor:
    """The log-probability of every token at every slot, ``(B, Q, K, vocab)``.

    Args:
        model: With masked decoding, in eval mode.
        queries: ``(B, Q)``.
        shown: ``(B, Q, K)`` what the slots hold, masks included.
    """
    B, Q, K = shown.shape
    batch, start = _batch(model, queries, shown, torch.full_like(queries.relation, K))
    hidden = model(batch)
    column = (batch.num_roots + start)[..., None] + torch.arange(K, device=shown.device)
    column = column.clamp(max=hidden.shape[1] - 1).flatten(1)
    leaves = hidden.gather(1, column[..., None].expand(-1, -1, hidden.shape[2]))
    return next_token_log_probability(model, leaves, hidden, batch).view(B, Q, K, -1)


def next_token_log_probability(
    model: LeafyChainModel, leaves: Tensor, hidden: Tensor, batch: ChainBatch, wanted: Tensor | None = None
) -> Tensor:
    """The log-probability of every token at some leaves, ``(B, n, vocab)`` float32.

    Args:
        model: The model.
        leaves: ``(B, n, hidden)``, hidden states of the leaves.
        hidden: ``(B, N, hidden)``, all hidden states.
        batch: The batch that they are of.
        wanted: ``(B, n)`` bool; where given, the result is ``(m, vocab)`` for the m leaves that it names.
    """
    picked = torch.ones_like(leaves[..., 0], dtype=torch.bool) if wanted is None else wanted
    log_vocabulary = model.log_vocabulary(leaves[picked])
    if model.copy_path is not None:
        roots = batch.beside_leaves(batch.input_ids)
        heads = batch.root[:, batch.num_roots :] if batch.num_given else batch.root[:, :1]
        allowed = batch.readable(heads) & (roots > END)[:, None]
        log_copy, gate = model.copy_path(leaves, batch.beside_leaves(hidden), allowed)
        copied = torch.zeros_like(log_vocabulary)
        gate, token = gate[picked][:, None], roots[:, None].expand(-1, leaves.shape[1], -1)[picked]
        copied.scatter_add_(1, token, log_copy[picked].exp())
        mixed = F.logsigmoid(gate) + copied.clamp(min=1e-30).log()
        log_vocabulary = torch.logaddexp(F.logsigmoid(-gate) + log_vocabulary, mixed)
    return log_vocabulary if wanted is not None else log_vocabulary.unflatten(0, leaves.shape[:2])


def _next_log_probability(
    model: LeafyChainModel,
    queries: Queries,
    tokens: Tensor,
    step: int,
    live: Tensor,
    memory: RootMemory | None,
) -> Tensor:
    """The log-probability of every next token of the n live hypotheses, ``(n, vocab)``."""
    B, Q, W, K = tokens.shape
    spread = Queries(
        queries.roots,
        live.flatten(1),
        *(
            getattr(queries, name)[..., None].expand(-1, -1, W).reshape(B, Q * W)
            for name in ("relation", "head_start", "head_length")
        ),
    )
    length = torch.full_like(spread.relation, step)
    batch, start = _batch(model, spread, tokens.view(B, Q * W, K), length)
    hidden = model(batch) if memory is None else encode_leaves(model, batch, memory)
    before = prompts(model.config, tokens.device)[1][spread.relation]
    column = (batch.num_roots + start + before + step).clamp(max=hidden.shape[1] - 1)
    leaves = hidden.gather(1, column[..., None].expand(-1, -1, hidden.shape[2]))
    return next_token_log_probability(model, leaves, hidden, batch, live.flatten(1))


def _batch(
    model: LeafyChainModel, queries: Queries, tail_ids: Tensor, tail_length: Tensor
) -> tuple[ChainBatch, Tensor]:
    """Queries with (beginnings of) tails as a batch, and the first leaf column of each."""
    config = model.config
    prompt, prompt_lengths = prompts(config, queries.roots.device)
    no = torch.zeros_like(queries.there)
    rows = LeafRows(
        queries.there,
        queries.relation,
        queries.head_start,
        queries.head_length,
        tail_ids,
        tail_length,
        visible=no,
        hidden=no if config.decoding == "causal" else ~no,
    )
    if config.decoding == "masked":
        # The tokens as given, masks included: nothing more is to be hidden.
        rows = LeafRows(**{**vars(rows), "hidden": no})
        lengths = tail_length
    else:
        lengths = group_lengths(config, tail_length, prompt_lengths[queries.relation])
    lengths = torch.where(queries.there, lengths, 0)
    columns = max(int(lengths.sum(dim=1).max()), 1)
    root_targets = torch.full_like(queries.roots, IGNORED)
    batch = assemble(config, queries.roots, root_targets, rows, columns, prompt, prompt_lengths)
    if queries.clues is not None:
        batch = attach(batch, queries.clues)
    return batch, lengths.cumsum(dim=1) - lengths


def _allowed(tries: list[list[Trie]], tokens: Tensor, step: int, vocab: int) -> Tensor:
    """Which tokens may follow each hypothesis, ``(B, Q, W, vocab)`` bool."""
    B, Q, W, _ = tokens.shape
    allowed = torch.zeros(B, Q, W, vocab, dtype=torch.bool)
    begun = tokens[..., :step].tolist()
    for row, of_row in enumerate(tries):
        for query, trie in enumerate(of_row):
            for beam in range(W):
                allowed[row, query, beam, trie.following(begun[row][query][beam])] = True
    return allowed.to(tokens.device)

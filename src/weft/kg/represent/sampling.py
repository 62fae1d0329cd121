"""Training batches, made on the device from a corpus: which chunks, which triples, what is hidden."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from weft.errors import ConfigError, InputError
from weft.kg.config import Decoding, ModelConfig
from weft.kg.dataset.tokens import END, MASK, NO_WORD, PAD, SPECIALS, START
from weft.kg.represent.batch import IGNORED, ChainBatch, pack
from weft.kg.represent.corruption import hide_words
from weft.kg.represent.dataset import ClueTable, Corpus
from weft.kg.represent.given import Clues, attach
from weft.objective.masking import MaskVocabulary, mask_spans
from weft.platform.ranges import require
from weft.train.batching import Batches, LengthBuckets
from weft.train.distributed import World

_MULTIPLE = 8


@dataclass(frozen=True)
class SamplingConfig:
    """What a training batch holds.

    Args:
        batch_size: Chunks of a batch.
        leaf_columns: Most leaves of a chunk in one batch; a random part of its triples where it has more.
        candidates: Most triples of a chunk that are considered for one batch.
        hide_share: Share of chunks in which the tails of some queries are hidden from the text. Where None, as its
            configuration says: 0.4, and none for ``decoding="masked"``, which hides nothing as published.
        hidden_queries: How many of such a chunk's queries, far apart.
        mlm_share: Share of chunks whose roots are masked. Where None, as its configuration says: 0.3, and all for
            ``decoding="masked"``, as published.
        mask_share: Share of a masked chunk's root tokens.
        mnm_share: Share of tails that are hidden, for ``decoding="masked"``.
        oversampling: How often a chunk with triples is seen for each time that one without is.
        clue_share: Share of chunks that are shown what their tree tells, where that is known.
        shuffle_clues: Deal the clues of a batch out anew: a control that shows what they are worth.
        shuffle_relations: Give every triple a random relation: a control that shows what relations are for.
        seed: Of all draws.
    """

    batch_size: int = 64
    leaf_columns: int = 64
    candidates: int = 24
    hide_share: float | None = None
    hidden_queries: int = 1
    mlm_share: float | None = None
    mask_share: float = 0.15
    mnm_share: float = 0.15
    oversampling: int = 3
    clue_share: float = 0.9
    shuffle_clues: bool = False
    shuffle_relations: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("clue_share", "hide_share", "mlm_share", "mask_share", "mnm_share"):
            value = getattr(self, name)
            require(self, name, value is None or 0.0 <= value <= 1.0, "in [0, 1]")
        for name in ("batch_size", "leaf_columns", "candidates", "oversampling", "hidden_queries"):
            require(self, name, getattr(self, name) >= 1, "at least 1")

    def shares(self, decoding: Decoding) -> tuple[float, float]:
        """``hide_share`` and ``mlm_share`` of a model's decoding."""
        hide, mlm = (0.0, 1.0) if decoding == "masked" else (0.4, 0.3)
        return (
            hide if self.hide_share is None else self.hide_share,
            mlm if self.mlm_share is None else self.mlm_share,
        )


class Sampler:
    """Makes batches of a corpus.

    Args:
        corpus: On the device where batches are wanted.
        model: The configuration of the model that reads them.
        config: What a batch holds.
        chunks: Indices of the chunks to draw from; the training part where None.

    Raises:
        InputError: There is no chunk to draw from.
        ConfigError: A leaf group could not fit into ``leaf_columns``.
    """

    def __init__(
        self, corpus: Corpus, model: ModelConfig, config: SamplingConfig, chunks: Tensor | None = None
    ) -> None:
        self.corpus, self.model, self.config = corpus, model, config
        self.hide_share, self.mlm_share = config.shares(model.decoding)
        self.device = corpus.ids.device
        chunks = (corpus.chunks_of(0) if chunks is None else chunks).cpu()
        if not len(chunks):
            raise InputError("no chunks to train on")
        if config.leaf_columns < model.leaves + model.longest_prompt:
            raise ConfigError(
                f"SamplingConfig.leaf_columns is {config.leaf_columns}; one tail may need "
                f"{model.leaves + model.longest_prompt}"
            )
        first = corpus.first_triple.cpu()
        has = (first[1:] > first[:-1])[chunks]
        with_triples, without = chunks[has], chunks[~has]
        self.order = (
            torch.cat([with_triples.repeat(config.oversampling), without]) if len(without) else with_triples
        )
        self.root_lengths = (corpus.ids != PAD).sum(dim=1).cpu()
        sizes = torch.cat([torch.zeros(1, dtype=torch.int64), self._group_lengths(corpus).cpu().cumsum(0)])
        self.leaf_lengths = (sizes[first[1:]] - sizes[first[:-1]]).clamp(max=config.leaf_columns)
        self.prompt, self.prompt_lengths = prompts(model, self.device)
        self.vocabulary = MaskVocabulary(model.encoder.vocab_size, MASK, tuple(range(len(SPECIALS))))

    def batches(self) -> Batches[ChainBatch]:
        """Epochs of batches for :func:`weft.train.fit`, of similar length each."""
        # Chunks of as many root columns together, those of similar leaves among them: least padding.
        columns = -(-self.root_lengths // _MULTIPLE) * (self.config.leaf_columns + 1)
        lengths = (columns + self.leaf_lengths)[self.order]
        world, seed = World.launched(), self.config.seed
        plan = LengthBuckets(
            lengths.tolist(),
            world.shared(min(self.config.batch_size, len(self.order))),
            seed=seed,
            rank=world.rank,
            world_size=world.size,
            drop_last=True,
        )
        return Batches(plan, self._collate, seed=seed, rank=world.rank)

    def _collate(self, indices: list[int], generator: torch.Generator) -> ChainBatch:
        chunks = self.order[torch.tensor(indices)]
        seed = int(torch.randint(2**62, (1,), generator=generator))
        return self.make(chunks, torch.Generator(self.device).manual_seed(seed))

    def make(self, chunks: Tensor, generator: torch.Generator) -> ChainBatch:
        """One batch.

        Args:
            chunks: ``(B,)`` indices, on the CPU.
            generator: Of the draws, on the corpus's device.
        """
        corpus, config = self.corpus, self.config
        R = _rounded(int(self.root_lengths[chunks].max()), corpus.roots)
        L = _rounded(int(self.leaf_lengths[chunks].max()), config.leaf_columns)
        chunks = chunks.to(self.device)
        ids, words = corpus.ids[chunks, :R].long(), corpus.words[chunks, :R].long()
        triple, there = self._draw_triples(chunks, generator)
        ids, words, place, gone = self._hide(ids, words, triple, there, generator)
        masked_rows = self._uniform(len(chunks), generator) < self.mlm_share
        starts = (words == NO_WORD) | (words != words.roll(1, dims=1))
        starts[:, 0] = True
        masked = mask_spans(
            ids,
            self.vocabulary,
            generator,
            word_starts=starts,
            rate=config.mask_share,
            maskable=masked_rows[:, None].expand_as(ids),
        )
        tail_word = corpus.tail_word[triple]
        visible = (tail_word != NO_WORD) & ~gone.gather(1, tail_word)
        # Places of triples that do not exist belong to another chunk: they point at the first root instead.
        head_start = place.gather(1, torch.where(there, corpus.head_start[triple], 0))
        head_length = torch.where(gone.gather(1, corpus.head_word[triple]), 1, corpus.head_length[triple])
        relation = corpus.relation[triple]
        if config.shuffle_relations:
            relation = torch.randint_like(relation, 1, self.model.num_relations, generator=generator)
        hidden_tail = self._uniform(triple.numel(), generator).view_as(triple) < config.mnm_share
        batch = assemble(
            self.model,
            masked.input_ids,
            masked.labels,
            LeafRows(
                there,
                relation,
                head_start,
                head_length,
                corpus.tail_ids[triple],
                corpus.tail_length[triple],
                visible,
                hidden_tail,
            ),
            L,
            self.prompt,
            self.prompt_lengths,
        )
        if corpus.clues is None or not self.model.clues:
            return batch
        clues = self._draw_clues(corpus.clues, chunks, place, generator)
        clues = clues.shuffled(generator) if config.shuffle_clues else clues
        return attach(batch, clues, config.leaf_columns)

    def _draw_clues(
        self, known: ClueTable, chunks: Tensor, place: Tensor, generator: torch.Generator
    ) -> Clues:
        """The clues of each chunk, at their heads' places after hiding; most of them."""
        first, count = known.first[chunks], known.first[chunks + 1] - known.first[chunks]
        step = torch.arange(int(count.max().clamp(1, self.config.candidates)), device=self.device)
        there = step < count[:, None]
        index = torch.where(there, first[:, None] + step, 0)
        shown = self._uniform(len(chunks), generator) < self.config.clue_share
        kept = self._uniform(index.numel(), generator).view_as(index) < self.config.clue_share
        index = index.clamp(max=max(len(known.relation) - 1, 0))
        return Clues(
            there & kept & shown[:, None],
            known.relation[index],
            place.gather(1, torch.where(there, known.head_start[index], 0)),
            known.head_length[index],
            known.tail_ids[index],
            known.tail_length[index],
        )

    def _draw_triples(self, chunks: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Triples of each chunk ``(B, M)`` from a random one on, cyclically, and which of the M there are."""
        first = self.corpus.first_triple[chunks]
        count = self.corpus.first_triple[chunks + 1] - first
        begin = (self._uniform(len(chunks), generator) * count).long()
        step = torch.arange(self.config.candidates, device=self.device)
        there = step < count[:, None]
        triple = first[:, None] + (begin[:, None] + step) % count.clamp(min=1)[:, None]
        return torch.where(there, triple, 0), there

    def _hide(
        self, ids: Tensor, words: Tensor, triple: Tensor, there: Tensor, generator: torch.Generator
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Hide the tails of some queries of each chosen chunk; also which words are gone, ``(B, 256)``."""
        corpus = self.corpus
        chosen = (self._uniform(len(ids), generator) < self.hide_share) & there[:, 0]
        query, tail_word = corpus.query[triple], corpus.tail_word[triple]
        count, parts = there.sum(dim=1, keepdim=True), self.config.hidden_queries
        apart = torch.arange(parts, device=self.device) * count // parts
        same = (query[:, :, None] == query.gather(1, apart)[:, None]).any(dim=2)
        same &= there & chosen[:, None] & (tail_word != NO_WORD) & (tail_word != corpus.head_word[triple])
        gone = torch.zeros(len(ids), NO_WORD + 1, dtype=torch.bool, device=self.device)
        row, column = torch.nonzero(same, as_tuple=True)
        gone[row, tail_word[row, column]] = True
        return *hide_words(ids, words, gone), gone

    def _group_lengths(self, corpus: Corpus) -> Tensor:
        """Leaves that each triple takes up at most."""
        _, lengths = prompts(self.model, corpus.ids.device)
        return group_lengths(self.model, corpus.tail_length, lengths[corpus.relation])

    def _uniform(self, count: int, generator: torch.Generator) -> Tensor:
        return torch.rand(count, generator=generator, device=self.device)


@dataclass(frozen=True)
class LeafRows:
    """Candidate leaf groups of a batch; M per chunk, all tensors ``(B, M)`` but ``tail_ids (B, M, K)``.

    Args:
        there: bool: which of them exist.
        relation: Relation id.
        head_start: Column of the head's first token.
        head_length: Number of its tokens.
        tail_ids: The tail's token ids, padded.
        tail_length: Number of its tokens.
        visible: bool: the tail stands in the roots.
        hidden: bool: the tail is masked and to be predicted (for ``decoding="masked"``).
    """

    there: Tensor
    relation: Tensor
    head_start: Tensor
    head_length: Tensor
    tail_ids: Tensor
    tail_length: Tensor
    visible: Tensor
    hidden: Tensor


def group_lengths(model: ModelConfig, tail_length: Tensor, prompt_length: Tensor | int = 0) -> Tensor:
    """Leaves of a tail at most: its tokens and the end where that fits, and the words before it."""
    if model.decoding == "causal":
        return prompt_length + (tail_length + 1).clamp(max=model.leaves)
    return torch.full_like(tail_length, model.leaves) if model.slots else tail_length


def assemble(
    model: ModelConfig,
    roots: Tensor,
    root_targets: Tensor,
    rows: LeafRows,
    columns: int,
    prompt: Tensor,
    prompt_lengths: Tensor,
) -> ChainBatch:
    """Roots and leaf groups as one batch.

    Under causal decoding slot k is fed with the tail's token k − 1 (slot 0 with ``<tail>``) and predicts
    token k, and the end after the last unless the tail fills all K slots. Under masked decoding a hidden
    tail is all masks: K of them, the end among the targets, where leaves have slots; as many as the tail
    has tokens where they have none, as published.

    Args:
        model: The configuration of the model.
        roots: ``(B, R')`` int64, as shown to the model.
        root_targets: ``(B, R')``.
        rows: Candidate groups.
        columns: L.
        prompt: ``(num_relations, P)`` words before a tail.
        prompt_lengths: ``(num_relations,)``.
    """
    B, R = roots.shape
    K = rows.tail_ids.shape[2]
    before = prompt_lengths[rows.relation]
    lengths = group_lengths(model, rows.tail_length, before)
    if model.decoding == "masked" and model.slots:
        lengths = torch.where(rows.hidden, lengths, rows.tail_length)
    kept, start, group, slot = pack(torch.where(rows.there, lengths, 0), columns)
    filled, index = group >= 0, group.clamp(min=0)
    tail = rows.tail_ids.gather(1, index[:, :, None].expand(-1, -1, K))
    tail = torch.where(
        torch.arange(K, device=roots.device) < rows.tail_length.gather(1, index)[:, :, None], tail, END
    )
    place = slot - before.gather(1, index)
    here = tail.gather(2, place.clamp(0, K - 1)[:, :, None]).squeeze(2)
    past_end = place > rows.tail_length.gather(1, index)
    if model.decoding == "causal":
        previous = tail.gather(2, (place - 1).clamp(0, K - 1)[:, :, None]).squeeze(2)
        shown = torch.where(place == 0, START, previous)
        if prompt.shape[1]:
            words = prompt[rows.relation.gather(1, index)]
            word = words.gather(2, slot.clamp(0, prompt.shape[1] - 1)[:, :, None]).squeeze(2)
            shown = torch.where(place < 0, word, shown)
        asked = filled & (place >= 0)
    else:
        hidden = rows.hidden.gather(1, index)
        shown = torch.where(hidden, MASK, here)
        asked = filled & hidden & ~past_end
    visible = asked & rows.visible.gather(1, index) & (here != END)
    in_roots = (here[:, :, None] == roots[:, None, :]).any(dim=2)
    example, candidate = torch.nonzero(kept, as_tuple=True)
    column = torch.arange(R, device=roots.device).expand(B, -1)
    none = torch.full_like(column, -1)
    return ChainBatch(
        num_roots=R,
        input_ids=torch.cat([roots, torch.where(filled, shown, PAD)], dim=1),
        real=torch.cat([roots != PAD, filled], dim=1),
        root=torch.cat([column, torch.where(filled, rows.head_start.gather(1, index), 0)], dim=1),
        slot=torch.cat([none, slot], dim=1),
        group=torch.cat([none, group], dim=1),
        tail_targets=torch.cat([torch.full_like(roots, IGNORED), torch.where(asked, here, IGNORED)], dim=1),
        copyable=torch.cat([torch.zeros_like(roots, dtype=torch.bool), visible & in_roots], dim=1),
        root_targets=torch.cat([root_targets, torch.full_like(slot, IGNORED)], dim=1),
        example=example,
        relation=rows.relation[example, candidate],
        head_start=rows.head_start[example, candidate],
        head_length=rows.head_length[example, candidate],
        tail_start=R + start[example, candidate],
        tail_length=lengths[example, candidate],
    )


def prompts(model: ModelConfig, device: torch.device) -> tuple[Tensor, Tensor]:
    """The words before each relation's tails ``(num_relations, P)``, padded, and their numbers."""
    words = model.prompt or ((),) * model.num_relations
    padded = [list(ids) + [PAD] * (model.longest_prompt - len(ids)) for ids in words]
    table = torch.tensor(padded, dtype=torch.int64, device=device).view(len(words), -1)
    return table, torch.tensor([len(ids) for ids in words], device=device)


def _rounded(length: int, most: int) -> int:
    """Up to a multiple of a few columns, so that few shapes occur."""
    return min(-(-max(length, 1) // _MULTIPLE) * _MULTIPLE, -(-most // _MULTIPLE) * _MULTIPLE)

"""What an evaluation asks: queries of held-out modules in three views, and types against the stubs.

- *visible*: a right tail stands in the text;
- *hidden*: the same queries, every occurrence of their right tails replaced by one mask;
- *absent*: no right tail stands in the text;
- *parameter types*, *return types*: right tails from the typeshed, which the text never states;
- *natural*: visible and absent queries as often as they occur.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from weft.errors import InputError
from weft.kg.dataset.tokens import NO_WORD, PAD
from weft.kg.model.decode import Queries
from weft.kg.represent.corruption import hide_words
from weft.kg.represent.dataset import SPLITS, Corpus, Dataset

VIEWS = ("visible", "hidden", "absent", "parameter types", "return types", "natural")
GUESSED = ("parameter types", "return types")
"""Views whose answers no syntax tree states: only the stubs know them."""

Tail = tuple[int, ...]


@dataclass(frozen=True)
class View:
    """Queries with their right answers; n queries.

    Args:
        name: One of :data:`VIEWS`.
        triple: ``(n,)`` int64, one triple of each query: its chunk, head and relation.
        gone: ``(n, 256)`` bool, words hidden from its text.
        gold: The right tails of each.
    """

    name: str
    triple: Tensor
    gone: Tensor
    gold: list[frozenset[Tail]]

    def __len__(self) -> int:
        return len(self.gold)

    def batches(
        self, corpus: Corpus, size: int, relation: Tensor | None = None
    ) -> Iterator[tuple[Tensor, Queries]]:
        """Queries in batches, longest chunks together, with their indices.

        Args:
            corpus: On the device where they are wanted.
            size: Queries of a batch.
            relation: ``(n,)``, to ask for other relations than the true ones: a control.
        """
        lengths = (corpus.ids[corpus.chunk[self.triple.to(corpus.ids.device)]] != PAD).sum(dim=1).cpu()
        for index in torch.argsort(lengths, descending=True, stable=True).split(size):
            triple = self.triple[index].to(corpus.ids.device)
            chunk = corpus.chunk[triple]
            gone = self.gone[index].to(corpus.ids.device)
            words = corpus.words[chunk].long()
            roots, _, place = hide_words(corpus.ids[chunk].long(), words, gone)
            width = int((roots != PAD).sum(dim=1).max())
            asked = corpus.relation[triple] if relation is None else relation[index].to(triple.device)
            head_start = place.gather(1, corpus.head_start[triple][:, None])
            yield (
                index,
                Queries(
                    roots[:, :width],
                    torch.ones_like(head_start, dtype=torch.bool),
                    asked[:, None],
                    head_start,
                    corpus.head_length[triple][:, None],
                ),
            )


def make_views(
    dataset: Dataset, split: str = "test", limit: int | None = None, seed: int = 0
) -> dict[str, View]:
    """The views of one part of the split; those without queries are left out.

    Args:
        dataset: Its corpus on the CPU.
        split: ``"train"``, ``"valid"`` or ``"test"``.
        limit: Most queries of each view, drawn at random.
        seed: Of the draw.

    Raises:
        InputError: The part has no triples.
    """
    corpus = dataset.corpus
    mine = torch.nonzero(corpus.split[corpus.chunk] == SPLITS[split]).flatten()
    if not len(mine):
        raise InputError(
            f"no triples in the {split} part",
            hint="parts are made of whole top-level modules: build from more of them",
        )
    order = mine[torch.argsort(corpus.query[mine], stable=True)]
    query = corpus.query[order].numpy()
    edges = np.flatnonzero(np.append(True, query[1:] != query[:-1]))
    groups = np.split(order.numpy(), edges[1:])
    tail_word, origin = corpus.tail_word.numpy(), corpus.origin.numpy()
    head_word, relation = corpus.head_word.numpy(), corpus.relation.numpy()
    found: dict[str, list[np.ndarray]] = {name: [] for name in VIEWS}
    returns = dataset.schema.names.index("returns") if "returns" in dataset.schema.names else None
    for group in groups:
        first = group[0]
        if origin[first] == 1:
            found["return types" if relation[first] == returns else "parameter types"].append(group)
            continue
        found["natural"].append(group)
        if (tail_word[group] == NO_WORD).all():
            found["absent"].append(group)
        else:
            found["visible"].append(group)
            if (tail_word[group] != head_word[first]).all():
                found["hidden"].append(group)
    generator = np.random.default_rng(seed)
    return {name: _view(name, corpus, groups, limit, generator) for name, groups in found.items() if groups}


def _view(
    name: str, corpus: Corpus, groups: list[np.ndarray], limit: int | None, generator: np.random.Generator
) -> View:
    if limit is not None and len(groups) > limit:
        chosen = np.sort(generator.choice(len(groups), limit, replace=False))
        groups = [groups[number] for number in chosen]
    gone = torch.zeros(len(groups), NO_WORD + 1, dtype=torch.bool)
    gold = []
    for number, group in enumerate(groups):
        rows = torch.from_numpy(group)
        tails = zip(corpus.tail_ids[rows].tolist(), corpus.tail_length[rows].tolist(), strict=True)
        gold.append(frozenset(tuple(ids[:length]) for ids, length in tails))
        if name == "hidden":
            gone[number, corpus.tail_word[rows]] = True
    gone[:, NO_WORD] = False
    return View(name, torch.tensor([int(group[0]) for group in groups], dtype=torch.int64), gone, gold)

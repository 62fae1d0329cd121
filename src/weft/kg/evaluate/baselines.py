"""Answers without a model: what a number has to beat."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

import torch

from weft.kg.dataset.tokens import NO_WORD, PAD
from weft.kg.evaluate.scores import DEPTH, Ranking, Score, score
from weft.kg.evaluate.views import Tail, View
from weft.kg.represent.dataset import Corpus, Dataset


class Counts:
    """How often tails occur in the training part, by relation and by (relation, head).

    Args:
        corpus: On the CPU.
    """

    def __init__(self, corpus: Corpus) -> None:
        self.by_relation: dict[int, Counter[Tail]] = defaultdict(Counter)
        self.by_head: dict[tuple[int, Tail], Counter[Tail]] = defaultdict(Counter)
        # Names of heads matter for types alone; keeping all of them would fill the memory.
        typed = set(corpus.relation[corpus.origin == 1].unique().tolist())
        mine = torch.nonzero(corpus.split[corpus.chunk] == 0).flatten()
        columns = (corpus.relation, corpus.tail_length, corpus.chunk, corpus.head_start, corpus.head_length)
        rows = zip(
            *(column[mine].tolist() for column in columns), corpus.tail_ids[mine].tolist(), strict=True
        )
        for relation, length, chunk, start, span, ids in rows:
            tail = tuple(ids[:length])
            self.by_relation[relation][tail] += 1
            if relation in typed:
                head = tuple(corpus.ids[chunk, start : start + span].tolist())
                self.by_head[relation, head][tail] += 1


def prior(counts: Counts, corpus: Corpus, view: View) -> list[Ranking]:
    """The most frequent tails of the relation."""
    top: dict[int, Ranking] = {}
    for relation, tails in counts.by_relation.items():
        total = tails.total()
        top[relation] = [(tail, count / total) for tail, count in tails.most_common(DEPTH)]
    return [top.get(relation, []) for relation in corpus.relation[view.triple].tolist()]


def prior_in_text(counts: Counts, corpus: Corpus, view: View) -> list[Ranking]:
    """Words of the text by P(tail given relation); unseen ones after them, nearest to the head first."""
    result = []
    for relation, words in zip(corpus.relation[view.triple].tolist(), _words(corpus, view), strict=True):
        tails = counts.by_relation[relation]
        total = max(tails.total(), 1)
        # Sorting is stable: equal counts keep the order of distance.
        ordered = sorted(words, key=lambda word: -tails[word])
        result.append([(word, tails[word] / total) for word in ordered[:DEPTH]])
    return result


def nearest_word(corpus: Corpus, view: View) -> list[Ranking]:
    """The words nearest to the head."""
    return [
        [(word, 1 / (rank + 1)) for rank, word in enumerate(words[:DEPTH])] for words in _words(corpus, view)
    ]


def by_head_name(counts: Counts, corpus: Corpus, view: View) -> list[Ranking]:
    """The most frequent tails of the same head in training, else those of the relation."""
    fallback = prior(counts, corpus, view)
    result = []
    for number, triple in enumerate(view.triple.tolist()):
        start, length = int(corpus.head_start[triple]), int(corpus.head_length[triple])
        head = tuple(corpus.ids[corpus.chunk[triple], start : start + length].tolist())
        tails = counts.by_head.get((int(corpus.relation[triple]), head))
        if tails:
            total = tails.total()
            known = [(tail, count / total) for tail, count in tails.most_common(DEPTH)]
            named = {tail for tail, _ in known}
            result.append(
                (known + [(tail, 0.0) for tail, _ in fallback[number] if tail not in named])[:DEPTH]
            )
        else:
            result.append(fallback[number])
    return result


def _words(corpus: Corpus, view: View) -> Iterable[list[Tail]]:
    """The distinct words of each query's text but for its head and the hidden ones, nearest first."""
    for number, triple in enumerate(view.triple.tolist()):
        chunk, start = int(corpus.chunk[triple]), int(corpus.head_start[triple])
        ids, words = corpus.ids[chunk].tolist(), corpus.words[chunk].tolist()
        spans: dict[int, tuple[int, Tail]] = {}
        position = 0
        while position < len(ids) and ids[position] != PAD:
            end = position + 1
            word = words[position]
            while word != NO_WORD and end < len(ids) and words[end] == word:
                end += 1
            if word != NO_WORD and word != corpus.head_word[triple] and not view.gone[number, word]:
                distance = abs(position - start)
                if word not in spans or distance < spans[word][0]:
                    spans[word] = (distance, tuple(ids[position:end]))
            position = end
        yield [tail for _, tail in sorted(spans.values(), key=lambda item: item[0])]


def baseline_scores(dataset: Dataset, views: Mapping[str, View]) -> dict[str, dict[str, Score]]:
    """Scores of every baseline in every view; the name of the head decides types alone.

    Args:
        dataset: Its corpus on the CPU.
        views: What is asked.
    """
    corpus, names = dataset.corpus, dataset.schema.names
    counts = Counts(corpus)
    result: dict[str, dict[str, Score]] = {}
    for name, view in views.items():
        answers = {
            "prior": prior(counts, corpus, view),
            "prior in the text": prior_in_text(counts, corpus, view),
            "nearest word": nearest_word(corpus, view),
        }
        if name.endswith("types"):
            answers["name of the head"] = by_head_name(counts, corpus, view)
        for baseline, rankings in answers.items():
            result.setdefault(baseline, {})[name] = score(view, rankings, corpus, names)
    return result

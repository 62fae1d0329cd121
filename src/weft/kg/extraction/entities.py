"""Facts between the entities of a text, as a trained model reads them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from weft.encoder.answering.precision import Precision, arithmetic_of
from weft.errors import ConfigError
from weft.kg.agreement.agree import with_inverses, without_contradictions
from weft.kg.dataset.chunks import Chunk, ChunkMention
from weft.kg.dataset.tokens import CodeTokenizer
from weft.kg.evaluate.confidence import Confidence
from weft.kg.evaluate.triples import LEAST
from weft.kg.extraction.entity_fact import EntityFact
from weft.kg.extraction.labelled import by_labels
from weft.kg.extraction.lists import in_lists, item_documents
from weft.kg.extraction.model import vocabulary_and_schema
from weft.kg.extraction.neighbours import less_of_neighbours
from weft.kg.extraction.sections import in_sections
from weft.kg.extraction.told import in_one_sentence
from weft.kg.extraction.unsaid import less_unsaid
from weft.kg.mentions.document import with_mentions
from weft.kg.model.answering import for_answers
from weft.kg.model.entity_graph import EntityGraphModel
from weft.kg.read.apart import Breaks
from weft.kg.read.documents import TextDocument
from weft.kg.read.funnel import Funnel
from weft.kg.read.items import items_of, with_bullets
from weft.kg.read.labels import Labels
from weft.kg.read.sections import cut, section_starts
from weft.kg.represent.document import document_passages
from weft.kg.represent.entities import EntityExample, entity_batch
from weft.kg.schema import Relation, Schema
from weft.kg.worded.scores import LEAST_WORDED, WordedScores, worded_scores
from weft.platform.ranges import at_least
from weft.train.batching import to_device

WINDOW, SHARED = 256, 1
"""Tokens of a passage of a text that is too long for one, and chunks that two share. A model of documents that are
mostly shorter connects more of what has nothing in common, the more it reads at once (docs/results.md, "Long texts").
"""


@dataclass(frozen=True)
class EntityExtractor:
    """A model of texts with its vocabulary, schema and calibration.

    Args:
        model: In eval mode.
        tokenizer: The one that it was trained with.
        schema: Its relations, and after them those asked for by words. Whose types do not fit a pair is not asked.
        confidence: None for raw probabilities.
        worded: Scores the relations that are asked for by words.
        left_out: Whether these are the schema's own, each scored as if it were not trained: to judge by.
    """

    model: EntityGraphModel
    tokenizer: CodeTokenizer
    schema: Schema
    confidence: Confidence | None
    worded: WordedScores | None = None
    left_out: bool = False

    @staticmethod
    def load(
        folder: Path, device: torch.device | str = "cpu", precision: Precision = "fp32"
    ) -> EntityExtractor:
        """Read a model's folder.

        Args:
            folder: The model.
            device: Where to compute.
            precision: The arithmetic of its layers.

        Raises:
            CheckpointError: It is damaged, or its vocabulary or relations do not fit.
            ConfigError: Eight bits where the processor cannot.
            InputError: It has no schema.
        """
        model = EntityGraphModel.load(folder).to(device).eval()
        config = model.config
        tokenizer, schema = vocabulary_and_schema(folder, config.encoder.vocab_size, config.num_relations)
        arithmetic = arithmetic_of(precision, torch.device(device))
        answering = model if arithmetic is None else for_answers(model, arithmetic)
        return EntityExtractor(answering, tokenizer, schema, Confidence.load(folder))

    def with_found(self, document: TextDocument, *, typed: bool = True) -> TextDocument:
        """The document with the mentions that the model finds beside its own, where it finds any.

        Args:
            document: A text.
            typed: Whether its own mentions of no type take the type that the model finds there.
        """
        if not self.model.config.finds_mentions:
            return document
        read = replace(document, text=with_bullets(document.text))
        found = with_mentions(self.model, self.tokenizer, read, typed=typed, labels=self._labels)
        return replace(document, mentions=found.mentions)

    def facts_of(
        self,
        document: TextDocument,
        *,
        least: float = 0.05,
        batch_size: int = 8,
        funnel: Funnel | None = None,
    ) -> list[EntityFact]:
        """The facts between the entities of one document, each once, by place; none without two entities.

        A text with headings is read as a whole and section by section: :func:`weft.kg.extraction.sections.in_sections`;
        so are the items of lists, :func:`weft.kg.extraction.lists.in_lists`.
        What is merely supposed, asked or denied is less sure: :func:`weft.kg.extraction.unsaid.less_unsaid`; so is what
        connects two paragraphs' people: :func:`weft.kg.extraction.neighbours.less_of_neighbours`.

        Args:
            document: With its mentions; where it has none, a model that finds mentions looks for them.
            least: Facts of a lower confidence are left out.
            batch_size: Passages at a time.
            funnel: Counts and lists mentions that no tokens fit.

        Raises:
            ConfigError: ``batch_size`` is below 1.
        """
        at_least(1, batch_size=batch_size)
        document = document if document.mentions else self.with_found(document)
        document = replace(document, text=with_bullets(document.text))
        found = self._by_sections(document, batch_size, funnel)
        if self.confidence is not None:
            found = self._by_items(document, found, batch_size)
        own = less_of_neighbours(less_unsaid(found, document), document)
        own = by_labels(document, own, self._labels)
        said = [fact for fact in own if fact.confidence >= least]
        agreed = in_one_sentence(without_contradictions(said, self.schema), document)
        return sorted(agreed, key=lambda fact: (fact.place, fact.relation, fact.tail_place))

    def _by_sections(
        self, document: TextDocument, batch_size: int, funnel: Funnel | None
    ) -> list[EntityFact]:
        """The facts of a document as one text, and where it has headings of its sections by themselves."""
        sure = self.confidence
        starts = section_starts(document.text) if sure is not None and sure.apart is not None else (0,)
        whole, long = self._facts_in(document, 0.0, batch_size, funnel)
        if len(starts) == 1:
            return list(whole.values())
        parts = self._parts_of(cut(document, starts), batch_size)
        trained = {
            item.name for number, item in enumerate(self.schema.relations) if not self._is_worded(number)
        }
        return in_sections(document, starts, whole.values(), parts, None if long else sure, trained)

    def _by_items(self, document: TextDocument, whole: list[EntityFact], batch_size: int) -> list[EntityFact]:
        """The facts of a document, and where it has lists those of their items by themselves."""
        items = items_of(document.text)
        parts = item_documents(document, items)
        if len(parts) < 2:
            return whole
        names = self.schema.names
        inverses = {names[one]: names[other] for one, other in self.schema.inverses().items()}
        return in_lists(document, items, whole, self._parts_of(parts, batch_size), inverses)

    def _parts_of(
        self, parts: Iterable[tuple[int, TextDocument]], batch_size: int
    ) -> list[tuple[int, list[EntityFact]]]:
        """The facts of parts of a document, those with two names at least, each as a text of its own."""
        return [
            (start, list(self._facts_in(part, 0.0, batch_size, None)[0].values()))
            for start, part in parts
            if len({item.entity for item in part.mentions}) > 1
        ]

    def _facts_in(
        self, document: TextDocument, least: float, batch_size: int, funnel: Funnel | None
    ) -> tuple[dict[tuple[str, str, str], EntityFact], bool]:
        """The facts of a document as one text, the surest of each, and whether it takes several passages."""
        config = self.model.config
        passages = document_passages(
            document,
            self.tokenizer,
            config.types,
            config.encoder.max_position_embeddings,
            funnel=funnel,
            shared=SHARED,
            window=WINDOW,
        )
        asked = [item for item in passages if len(item[0].types) > 1]
        long = len(passages) > 1
        far = long and self.confidence is not None and self.confidence.apart is not None
        breaks = Breaks.of(document.text) if far else None
        sure: dict[int, float] = {}
        for mention in document.mentions:
            sure[mention.entity] = max(mention.probability, sure.get(mention.entity, 0.0))
        best: dict[tuple[str, str, str], EntityFact] = {}
        for start in range(0, len(asked), batch_size):
            for fact in self._ask(asked[start : start + batch_size], sure, least, breaks):
                key = fact.head, fact.relation, fact.tail
                if key not in best or fact.confidence > best[key].confidence:
                    best[key] = fact
        return best, long

    def asked(self, relations: Sequence[Relation]) -> EntityExtractor:
        """The same, which states facts of these relations as well; training never saw them.

        Raises:
            ConfigError: The model has no confidence for such relations, or no definitions to compare with.
        """
        if not relations:
            return self
        if self.confidence is None or self.confidence.worded is None:
            raise ConfigError(
                "the model takes no relations by words: it has no confidence for them",
                hint="`weft kg judge FILE --split SPLIT --model MODEL --calibrate` fits one",
            )
        scores = worded_scores(self.model, self.tokenizer, self.schema, relations)
        return replace(self, schema=Schema((*self.schema.relations, *relations)), worded=scores)

    def without_training(self, relations: Sequence[Relation] = ()) -> EntityExtractor:
        """The same, each of its own relations read by its definition alone, as if it and its inverse were not trained.

        The states of pairs have learnt from that relation, so this flatters what a relation by words is worth.

        Args:
            relations: The schema's, in order, with other types; as they are where none are given.
        """
        own = tuple(relations) or self.schema.relations
        scores = worded_scores(self.model, self.tokenizer, self.schema, own, left_out=True)
        plain = Schema(tuple(replace(item, inverse="", one_tail=False) for item in own))
        return replace(self, schema=plain, worded=scores, left_out=True)

    def _is_worded(self, relation: int) -> bool:
        return self.left_out or relation >= self.model.config.num_relations - 1

    @cached_property
    def _labels(self) -> Labels:
        return Labels.of(self.schema)

    @cached_property
    def _allowed(self) -> NDArray[np.bool_]:
        """``(relations, types, types)``: which types of head and tail a relation may have."""
        kinds = [kind or None for kind in self.model.config.types]
        return np.array(
            [
                [[relation.allows(head, tail) for tail in kinds] for head in kinds]
                for relation in self.schema.relations
            ]
        )

    @torch.no_grad()
    def _ask(
        self,
        part: Sequence[tuple[EntityExample, list[Chunk]]],
        sure: Mapping[int, float],
        least: float,
        breaks: Breaks | None,
    ) -> Iterator[EntityFact]:
        device = next(self.model.parameters()).device
        batch = to_device(entity_batch([example for example, _ in part]), device)
        scores = self.model(batch)
        margin = scores[..., 1:] - scores[..., :1]
        least_of = torch.full(margin.shape[-1:], LEAST)
        if self.worded is None:
            margin = with_inverses(margin, self.schema.inverses())
        else:
            others = self.worded(margin, batch.types)
            least_others = torch.full(others.shape[-1:], LEAST_WORDED)
            if self.left_out:
                margin, least_of = others, least_others
            else:
                margin = with_inverses(torch.cat([margin, others], dim=-1), self.schema.inverses())
                least_of = torch.cat([least_of, least_others])
        margin = margin.masked_fill(~batch.pairs()[..., None], float("-inf"))
        found = torch.nonzero(margin >= least_of.to(device))
        probability = margin[tuple(found.unbind(1))].double().sigmoid().cpu().numpy()
        places = found.cpu().numpy()
        for row, (example, chunks) in enumerate(part):
            mine = places[:, 0] == row
            yield from self._facts(example, chunks, places[mine, 1:], probability[mine], sure, least, breaks)

    def _facts(
        self,
        example: EntityExample,
        chunks: list[Chunk],
        places: NDArray[np.int64],
        probability: NDArray[np.float64],
        sure: Mapping[int, float],
        least: float,
        breaks: Breaks | None,
    ) -> Iterator[EntityFact]:
        """The facts of one passage: its (head, tail, relation) and their probabilities, all relations' at once.

        With the breaks of a text that is read in several passages how far apart two names stand counts, too.
        """
        numbers, types = example.entity.tolist(), example.types.numpy()
        named = np.array([sure[number] for number in numbers])
        raw = probability * named[places[:, 0]] * named[places[:, 1]]
        kinds, mentions = self.model.config.types, _mentions(chunks)
        for number in np.unique(places[:, 2]).tolist():
            relation = self.schema.relations[number]
            fits = np.flatnonzero(places[:, 2] == number)
            fits = fits[self._allowed[number, types[places[fits, 0]], types[places[fits, 1]]]]
            confidence = raw[fits]
            if self.confidence is not None:
                confidence = (
                    self.confidence.of_words(confidence)
                    if self._is_worded(number)
                    else self.confidence.of_text(relation.name, confidence, len(example.ids))
                )
            for place, value in zip(fits.tolist(), confidence.tolist(), strict=True):
                if breaks is None and value < least:
                    continue
                head, tail = places[place, :2].tolist()
                first, second = nearest(mentions[numbers[head]], mentions[numbers[tail]])
                if breaks is not None and self.confidence is not None and not self._is_worded(number):
                    between = breaks.between(first.start, second.start)
                    value = self.confidence.of_names_apart(value, *between, divided=bool(breaks.paragraphs))
                if value < least:
                    continue
                yield EntityFact(
                    head=first.name,
                    relation=relation.name,
                    tail=second.name,
                    confidence=value,
                    place=(first.start, first.end),
                    tail_place=(second.start, second.end),
                    span=(int(chunks[0].starts.min()), int(chunks[-1].ends.max())),
                    head_type=kinds[types[head]],
                    tail_type=kinds[types[tail]],
                )


def nearest(
    heads: Sequence[ChunkMention], tails: Sequence[ChunkMention]
) -> tuple[ChunkMention, ChunkMention]:
    """The mentions of two entities that stand nearest to each other; the first such pair."""
    return min(
        ((head, tail) for head in heads for tail in tails),
        key=lambda pair: (abs(pair[0].start - pair[1].start), pair[0].start),
    )


def _mentions(chunks: Sequence[Chunk]) -> dict[int, list[ChunkMention]]:
    """The mentions of each entity, in order."""
    found: dict[int, list[ChunkMention]] = {}
    for chunk in chunks:
        for mention in chunk.mentions:
            found.setdefault(mention.entity, []).append(mention)
    return found

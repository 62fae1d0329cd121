"""Facts between the entities of a text, as a trained model reads them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import torch

from weft.errors import CheckpointError
from weft.kg.dataset.chunks import Chunk, ChunkMention
from weft.kg.dataset.tokens import CodeTokenizer
from weft.kg.evaluate.confidence import Confidence
from weft.kg.evaluate.triples import LEAST
from weft.kg.extraction.agree import with_inverses, without_contradictions
from weft.kg.mentions.document import with_mentions
from weft.kg.model.entity_graph import EntityGraphModel
from weft.kg.read.documents import TextDocument
from weft.kg.read.funnel import Funnel
from weft.kg.represent.document import document_passages
from weft.kg.represent.entities import EntityExample, entity_batch
from weft.kg.schema import Schema
from weft.train.batching import to_device

Span = tuple[int, int]


@dataclass(frozen=True)
class EntityFact:
    """One fact that a model read out of a text.

    Args:
        head: Name of an entity of the text.
        relation: Name of the relation.
        tail: Name of an entity of the text.
        confidence: How often such an answer is right; for an uncalibrated model the raw probability of the fact times
            those of both its names.
        place: Characters of the head, where it stands nearest to the tail.
        tail_place: Characters of the tail there.
        span: Characters of the passage.
    """

    head: str
    relation: str
    tail: str
    confidence: float
    place: Span
    tail_place: Span
    span: Span

    def record(self) -> dict[str, object]:
        """As JSON."""
        return asdict(self)


@dataclass(frozen=True)
class EntityExtractor:
    """A model of texts with its vocabulary, schema and calibration.

    Args:
        model: In eval mode.
        tokenizer: The one that it was trained with.
        schema: Its relations; those whose types do not fit a pair are not asked.
        confidence: None for raw probabilities.
    """

    model: EntityGraphModel
    tokenizer: CodeTokenizer
    schema: Schema
    confidence: Confidence | None

    @staticmethod
    def load(folder: Path, device: torch.device | str = "cpu") -> EntityExtractor:
        """Read a model's folder.

        Raises:
            CheckpointError: It is damaged, or its vocabulary or relations do not fit.
            InputError: It has no schema.
        """
        model = EntityGraphModel.load(folder).to(device).eval()
        tokenizer, schema = CodeTokenizer.load(folder / "tokenizer.json"), Schema.load(folder / "schema.json")
        found = (model.config.encoder.vocab_size, model.config.num_relations)
        if found != (tokenizer.vocab_size, schema.size):
            raise CheckpointError(
                f"{found[0]} tokens and {found[1]} relation ids; its tokenizer has {tokenizer.vocab_size}, "
                f"its schema {schema.size}",
                where=str(folder),
            )
        return EntityExtractor(model, tokenizer, schema, Confidence.load(folder))

    def facts_of(
        self,
        document: TextDocument,
        *,
        least: float = 0.05,
        batch_size: int = 8,
        funnel: Funnel | None = None,
    ) -> list[EntityFact]:
        """The facts between the entities of one document, each once, by place; none without two entities.

        Args:
            document: With its mentions; where it has none, a model that finds mentions looks for them.
            least: Facts of a lower confidence are left out.
            batch_size: Passages at a time.
            funnel: Counts and lists mentions that no tokens fit.
        """
        if not document.mentions and self.model.config.finds_mentions:
            document = with_mentions(self.model, self.tokenizer, document)
        config = self.model.config
        passages = document_passages(
            document, self.tokenizer, config.types, config.encoder.max_position_embeddings, funnel=funnel
        )
        asked = [item for item in passages if len(item[0].types) > 1]
        sure: dict[int, float] = {}
        for mention in document.mentions:
            sure[mention.entity] = max(mention.probability, sure.get(mention.entity, 0.0))
        best: dict[tuple[str, str, str], EntityFact] = {}
        for start in range(0, len(asked), batch_size):
            for fact in self._ask(asked[start : start + batch_size], sure, least):
                key = fact.head, fact.relation, fact.tail
                if key not in best or fact.confidence > best[key].confidence:
                    best[key] = fact
        agreed = without_contradictions(list(best.values()), self.schema)
        return sorted(agreed, key=lambda fact: (fact.place, fact.relation, fact.tail_place))

    @torch.no_grad()
    def _ask(
        self, part: Sequence[tuple[EntityExample, list[Chunk]]], sure: Mapping[int, float], least: float
    ) -> Iterator[EntityFact]:
        device = next(self.model.parameters()).device
        batch = to_device(entity_batch([example for example, _ in part]), device)
        scores = self.model(batch)
        margin = with_inverses(scores[..., 1:] - scores[..., :1], self.schema.inverses())
        margin = margin.masked_fill(~batch.pairs()[..., None], float("-inf"))
        probability = margin.sigmoid().cpu()
        for row, head, tail, number in torch.nonzero(margin.cpu() >= LEAST).tolist():
            example, chunks = part[row]
            relation = self.schema.relations[number]
            kinds = self.model.config.types
            ends = [kinds[int(example.types[place])] or None for place in (head, tail)]
            if not relation.allows(*ends):
                continue
            entities = [int(example.entity[place]) for place in (head, tail)]
            raw = float(probability[row, head, tail, number]) * sure[entities[0]] * sure[entities[1]]
            confidence = raw if self.confidence is None else self.confidence(relation.name, raw)
            if confidence < least:
                continue
            first, second = nearest(_mentions(chunks, entities[0]), _mentions(chunks, entities[1]))
            yield EntityFact(
                head=first.name,
                relation=relation.name,
                tail=second.name,
                confidence=confidence,
                place=(first.start, first.end),
                tail_place=(second.start, second.end),
                span=(int(chunks[0].starts.min()), int(chunks[-1].ends.max())),
            )


def nearest(
    heads: Sequence[ChunkMention], tails: Sequence[ChunkMention]
) -> tuple[ChunkMention, ChunkMention]:
    """The mentions of two entities that stand nearest to each other; the first such pair."""
    return min(
        ((head, tail) for head in heads for tail in tails),
        key=lambda pair: (abs(pair[0].start - pair[1].start), pair[0].start),
    )


def _mentions(chunks: Sequence[Chunk], entity: int) -> list[ChunkMention]:
    return [mention for chunk in chunks for mention in chunk.mentions if mention.entity == entity]

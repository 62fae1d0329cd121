"""Facts of a text as a leafy chain model reads them: which of its entities the leaves of another hold."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from weft.kg.agreement.agree import without_contradictions
from weft.kg.dataset.chunks import Chunk
from weft.kg.dataset.text_chunks import entity_words, text_chunks
from weft.kg.dataset.tokens import CodeTokenizer
from weft.kg.evaluate.confidence import Confidence
from weft.kg.extraction.entities import EntityExtractor, nearest
from weft.kg.extraction.entity_fact import EntityFact
from weft.kg.extraction.model import vocabulary_and_schema
from weft.kg.model.choose import choose_tails
from weft.kg.model.leafy_chain import LeafyChainModel
from weft.kg.read.documents import TextDocument
from weft.kg.read.funnel import Funnel
from weft.kg.represent.standing import standing_in
from weft.kg.schema import Schema


@dataclass(frozen=True)
class TailExtractor:
    """A leafy chain model of text with its vocabulary, schema and calibration, and a model that finds mentions.

    Args:
        model: In eval mode.
        tokenizer: The one that it was trained with.
        schema: Its relations; those whose types do not fit a pair are not asked.
        confidence: None for raw probabilities.
        finder: Finds the mentions of documents that bring none, beside the seed's names; None where nothing does.
    """

    model: LeafyChainModel
    tokenizer: CodeTokenizer
    schema: Schema
    confidence: Confidence | None
    finder: EntityExtractor | None = None

    @staticmethod
    def load(
        folder: Path, device: torch.device | str = "cpu", finder: EntityExtractor | None = None
    ) -> TailExtractor:
        """Read a model's folder.

        Raises:
            CheckpointError: It is damaged, or its vocabulary or relations do not fit.
            InputError: It has no schema.
        """
        model = LeafyChainModel.load(folder).to(device).eval()
        config = model.config
        tokenizer, schema = vocabulary_and_schema(folder, config.encoder.vocab_size, config.num_relations)
        return TailExtractor(model, tokenizer, schema, Confidence.load(folder), finder)

    def with_found(self, document: TextDocument) -> TextDocument:
        """The document with the mentions that the finder finds beside its own."""
        return document if self.finder is None else self.finder.with_found(document, typed=False)

    def facts_of(
        self, document: TextDocument, *, least: float = 0.05, funnel: Funnel | None = None
    ) -> list[EntityFact]:
        """The facts between entities of a chunk, each once, by place; none without two entities.

        Args:
            document: With its mentions; where it has none they are looked for.
            least: Facts of a lower confidence are left out.
            funnel: Counts and lists mentions that no tokens fit.
        """
        document = document if document.mentions else self.with_found(document)
        tokens = self.tokenizer.encode(document.text)
        if not len(tokens):
            return []
        roots = self.model.config.encoder.max_position_embeddings
        best: dict[tuple[str, str, str], EntityFact] = {}
        for chunk in text_chunks(document, tokens, roots, funnel or Funnel()):
            for fact in self._of_chunk(chunk):
                key = fact.head, fact.relation, fact.tail
                if fact.confidence >= least and (key not in best or fact.confidence > best[key].confidence):
                    best[key] = fact
        agreed = without_contradictions(list(best.values()), self.schema)
        return sorted(agreed, key=lambda fact: (fact.place, fact.relation, fact.tail_place))

    def _of_chunk(self, chunk: Chunk) -> Iterator[EntityFact]:
        standing = standing_in(chunk, self.model.config.leaves)
        if len(standing) < 2:
            return
        mentions, named = entity_words(chunk), self.schema.types()
        for item in choose_tails(self.model, chunk.ids.tolist(), standing, self.schema):
            name = self.schema.names[item.relation]
            first, second = nearest(mentions[item.head.entity], mentions[item.tail.entity])
            sure = np.array([item.probability])
            if self.confidence is not None:
                untyped = not {item.head.kind, item.tail.kind} <= named
                sure = np.array([self.confidence(name, item.probability, guessed=untyped)])
            yield EntityFact(
                head=first.name,
                relation=name,
                tail=second.name,
                confidence=float(sure[0]),
                place=(first.start, first.end),
                tail_place=(second.start, second.end),
                span=(int(chunk.starts.min()), int(chunk.ends.max())),
                head_type=item.head.kind,
                tail_type=item.tail.kind,
            )

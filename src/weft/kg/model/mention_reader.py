"""The part of a model of texts that finds mentions: layers of its own above the model's embeddings."""

from __future__ import annotations

from dataclasses import dataclass, replace

from torch import Tensor, nn

from weft.encoder.config import EncoderConfig
from weft.encoder.embeddings import Embeddings
from weft.encoder.encoder import Encoder
from weft.kg.dataset.letter_cases import CASES


@dataclass(frozen=True)
class CasedWords:
    """Embedded tokens with the letter cases of their words.

    Args:
        hidden: ``(B, R, hidden)``: layer 0 of an encoder.
        cases: ``(B, R)`` int64, see :mod:`weft.kg.dataset.letter_cases`.
    """

    hidden: Tensor
    cases: Tensor


class CaseEmbeddings(Embeddings):
    """Adds a vector for the letter case to what another encoder's embeddings made of the tokens.

    Args:
        hidden_size: Width.
    """

    def __init__(self, hidden_size: int) -> None:
        super().__init__()
        self.cases = nn.Embedding(CASES, hidden_size)
        # A case says nothing until it has learnt to.
        nn.init.zeros_(self.cases.weight)

    def words(self, inputs: CasedWords) -> Tensor:
        """The tokens as they were embedded."""
        return inputs.hidden

    def assemble(self, words: Tensor, inputs: CasedWords, position_ids: Tensor | None) -> Tensor:
        """Add the letter cases; positions are in the words already."""
        return words + self.cases(inputs.cases)


class MentionReader(nn.Module):
    """Scores the tags of mentions of every token.

        m_0 = embeddings(text) + case        m = own layers(m_0)        tags = W · dropout(m) + b

    Tagging changes what layers know: relations read from tagged ones are worse by six points of F1. So it has its own
    layers, which start as copies of the encoder's, and shares what is large: the embeddings.

    Args:
        config: Of the encoder whose embeddings it reads.
        layers: Its own layers.
        tags: How many, see :func:`weft.kg.mentions.tags.number_of_tags`.
        dropout: Before the last map.
    """

    def __init__(self, config: EncoderConfig, layers: int, tags: int, dropout: float) -> None:
        super().__init__()
        width = config.hidden_size
        self.encoder = Encoder(replace(config, num_hidden_layers=layers), CaseEmbeddings(width))
        self.dropout = nn.Dropout(dropout)
        self.tags = nn.Linear(width, tags)

    def forward(self, words: CasedWords, real: Tensor) -> Tensor:
        """Scores ``(B, R, tags)`` float32.

        Args:
            words: Of the texts.
            real: ``(B, R)`` bool.
        """
        hidden = self.encoder(words, real).last_hidden_state
        return self.tags(self.dropout(hidden)).float()

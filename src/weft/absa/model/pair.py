"""The baseline: BERT reads text and question as a sentence pair, one pass for each question."""

from __future__ import annotations

from torch import Tensor, nn

from weft.absa.config import AbsaConfig
from weft.absa.model.weft_absa import Answer
from weft.absa.represent.batch import Pairs
from weft.encoder.encoder import Encoder
from weft.encoder.heads import ClassificationHead
from weft.encoder.pooling import ClsPooler, GatePooler


class PairBert(nn.Module):
    """logits = W · dropout(pool(encoder([CLS] text [SEP] target – aspect [SEP]))) + b.

    Args:
        config: The model's configuration.
        encoder: A pretrained encoder; a random one where None.

    Source:
        Sun, Huang, Qiu 2019, "Utilizing BERT for Aspect-Based Sentiment Analysis via Constructing
        Auxiliary Sentence", the form NLI-M.
    """

    def __init__(self, config: AbsaConfig, encoder: Encoder | None = None) -> None:
        super().__init__()
        options = config.options
        self.config = config
        self.encoder = Encoder(config.encoder) if encoder is None else encoder
        self.pooler = GatePooler(config.encoder) if options.pools_by_gate else ClsPooler(config.encoder)
        self.head = ClassificationHead(config.encoder, len(config.polarities))
        self.head.dropout.p = options.classifier_dropout

    def forward(self, pairs: Pairs, embedded: Tensor | None = None, need_maps: bool = False) -> Answer:
        """Answer a batch; arguments as :meth:`weft.absa.model.weft_absa.WeftAbsa.forward`."""
        inputs = pairs.inputs(self.config.encoder.type_vocab_size) if embedded is None else embedded
        output = self.encoder(inputs, pairs.attention_mask, need_maps=need_maps)
        pooled: Tensor = self.pooler(output.last_hidden_state, pairs.attention_mask)
        return Answer(self.head(pooled), output.maps or ())

    def embed(self, pairs: Pairs) -> Tensor:
        """The embeddings ``(contexts, seq, hidden)`` that :meth:`forward` takes as ``embedded``."""
        embedded: Tensor = self.encoder.embeddings(pairs.inputs(self.config.encoder.type_vocab_size))
        return embedded

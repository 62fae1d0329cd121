"""Quasi-attention models: as published (``qacg-official``, ``cg``), and made sound (``qacg``)."""

from __future__ import annotations

from typing import cast

import torch
from torch import Tensor, nn

from weft.absa.config import AbsaConfig
from weft.absa.model.context_gate import ContextGate
from weft.absa.model.context_pooling import ContextVector
from weft.absa.model.weft_absa import Answer, inner_tokens, masked_mean
from weft.absa.represent.batch import Pairs, Questions
from weft.condition.quasi import QuasiConfig, QuasiContext, QuasiStructure
from weft.encoder.encoder import PLAIN, Encoder
from weft.encoder.heads import ClassificationHead
from weft.encoder.layer import EncoderLayer
from weft.encoder.pooling import ClsPooler, GatePooler


class QacgOfficial(nn.Module):
    """QACG-BERT as published: a fixed context id is embedded and guides every layer.

    E_c = context_embeddings[context_id]        h = encoder(text (and question); quasi(E_c) in every layer)
    logits = W · dropout(pool(h)) + b

    With ``kind="cg"`` the context gates queries and keys of the softmax instead (CG-BERT).

    Args:
        config: The model's configuration; ``targets × aspects`` are the contexts.
        encoder: A pretrained encoder without a conditioner; a random one where None.
        published_initialisation: Also draw every weight anew as the published code does, LayerNorm's γ and
            β from N(0, 0.02²) included. Only for a random encoder: it would spoil a pretrained one.

    Source:
        Wu & Ong 2021, "Context-Guided BERT for Targeted Aspect-Based Sentiment Analysis"; the review of
        its code, ``QACGBertForSequenceClassification``.

    Differs from the spec:
        ``ontext_ids`` and ``embedding_output`` are undefined there. ``layers_wo_last`` is the last layer,
        and that is what is pooled here. The weights of a checkpoint are loaded strictly, so that its
        LayerNorms are the checkpoint's.
    """

    def __init__(
        self, config: AbsaConfig, encoder: Encoder | None = None, *, published_initialisation: bool = False
    ) -> None:
        super().__init__()
        options, shape = config.options, config.encoder
        self.config = config
        self.encoder = Encoder(shape) if encoder is None else encoder
        contexts = max(1, len(config.targets)) * max(1, len(config.aspects))
        self.context_embeddings = nn.Embedding(contexts, shape.hidden_size)
        nn.init.normal_(self.context_embeddings.weight, std=shape.initializer_range)
        quasi = QuasiConfig.named(
            "qacg-official",
            shape.hidden_size,
            shape.num_attention_heads,
            shape.num_hidden_layers,
            dropout=shape.attention_probs_dropout_prob,
            initializer_range=shape.initializer_range,
        )
        self.encoder.conditioner = ContextGate(quasi) if config.kind == "cg" else QuasiContext(quasi)
        self.pooler = GatePooler(shape) if options.pools_by_gate else ClsPooler(shape)
        self.head = ClassificationHead(shape, len(config.polarities))
        self.head.dropout.p = options.classifier_dropout
        if published_initialisation:
            self.apply(self._draw)

    def _draw(self, module: nn.Module) -> None:
        std = self.config.encoder.initializer_range
        if isinstance(module, nn.LayerNorm):
            nn.init.normal_(module.weight, std=std)
            nn.init.normal_(module.bias, std=std)

    def forward(self, pairs: Pairs, embedded: Tensor | None = None, need_maps: bool = False) -> Answer:
        """Answer a batch.

        Args:
            pairs: The batch; ``context_ids`` say what is asked.
            embedded: ``(contexts, seq, hidden)``, the embeddings where they were made outside.
            need_maps: Whether to return every layer's maps: softmax part, quasi part and gate.
        """
        inputs = pairs.inputs(self.config.encoder.type_vocab_size) if embedded is None else embedded
        structure = QuasiStructure(self.context_embeddings(pairs.context_ids))
        output = self.encoder(inputs, pairs.attention_mask, structure, need_maps=need_maps)
        pooled: Tensor = self.pooler(output.last_hidden_state, pairs.attention_mask)
        return Answer(self.head(pooled), output.maps or ())

    def embed(self, pairs: Pairs) -> Tensor:
        """The embeddings ``(contexts, seq, hidden)`` that :meth:`forward` takes as ``embedded``."""
        embedded: Tensor = self.encoder.embeddings(pairs.inputs(self.config.encoder.type_vocab_size))
        return embedded


class Qacg(nn.Module):
    """Quasi-attention made sound: contexts from text, in the upper layers only, normalised.

    ::

        h      = layers below context_from        once per text, for all its contexts
        c      = LayerNorm(W_a·ā + W_t·t̄)          the question, from these states
        h'     = layers from context_from up, with quasi-attention guided by c
        logits = W · dropout(pool(h')) + b

    Args:
        config: The model's configuration.
        encoder: A pretrained encoder without a conditioner; a random one where None.

    Differs from the paper:
        The context is made of the question's words instead of an id, so that any question can be asked; it
        is the only path to the aspect. The quasi part is divided by the number of real tokens.
    """

    def __init__(self, config: AbsaConfig, encoder: Encoder | None = None) -> None:
        super().__init__()
        options, shape = config.options, config.encoder
        self.config = config
        self.encoder = Encoder(shape) if encoder is None else encoder
        self.context = ContextVector(shape)
        quasi = QuasiContext(
            QuasiConfig.named(
                "qacg",
                shape.hidden_size,
                shape.num_attention_heads,
                shape.num_hidden_layers,
                first_layer=options.context_from,
                normalised=options.normalise_quasi,
                gate=options.gate,
                dropout=shape.attention_probs_dropout_prob,
                initializer_range=shape.initializer_range,
            )
        )
        if options.quasi_start != "published":
            shares = (1.0, 1.0) if options.quasi_start == "open" else (-0.5, 0.5)
            quasi.open([cast(EncoderLayer, layer).attention for layer in self.encoder.layers], *shares)
        self.encoder.conditioner = quasi
        self.pooler = GatePooler(shape) if options.pools_by_gate else ClsPooler(shape)
        self.head = ClassificationHead(shape, len(config.polarities))
        self.head.dropout.p = options.classifier_dropout

    def forward(
        self, questions: Questions, embedded: Tensor | None = None, need_maps: bool = False
    ) -> Answer:
        """Answer a batch.

        Args:
            questions: The batch.
            embedded: ``(texts, seq, hidden)``, the text's embeddings where they were made outside.
            need_maps: Whether to return the upper layers' maps.
        """
        inputs = questions.input_ids if embedded is None else embedded
        lower = slice(0, self.config.options.context_from)
        text = self.encoder(inputs, questions.attention_mask, PLAIN, layers=lower).last_hidden_state
        words = self.encoder(
            questions.aspect_ids, questions.aspect_mask, PLAIN, layers=lower
        ).last_hidden_state
        aspects = masked_mean(words, inner_tokens(questions.aspect_mask))
        context = self.context(
            aspects[questions.slot_aspect],
            torch.zeros_like(questions.slot_mask),
            masked_mean(text[questions.view_text], questions.target_mask),
            questions.target_mask.any(dim=1),
        )[questions.context_view, questions.context_slot]
        mask = questions.attention_mask[questions.context_text]
        output = self.encoder(
            text[questions.context_text],
            mask,
            QuasiStructure(context, mask.sum(dim=1)),
            layers=slice(lower.stop, None),
            need_maps=need_maps,
        )
        pooled: Tensor = self.pooler(output.last_hidden_state, mask)
        return Answer(self.head(pooled), output.maps or ())

    def embed(self, questions: Questions) -> Tensor:
        """The embeddings ``(texts, seq, hidden)`` that :meth:`forward` takes as ``embedded``."""
        embedded: Tensor = self.encoder.embeddings(questions.input_ids)
        return embedded

"""``weft-absa``: the text is read once, every question pools it in its own way."""

from __future__ import annotations

import copy
from typing import NamedTuple, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from weft.absa.config import AbsaConfig
from weft.absa.model.context_pooling import ContextBlock, ContextVector, PlainPooling, TargetDistance
from weft.absa.model.terms import TermTagger
from weft.absa.represent.batch import Questions
from weft.attention.operation import Maps
from weft.encoder.encoder import Encoder
from weft.encoder.heads import ClassificationHead
from weft.encoder.layer import EncoderLayer
from weft.errors import ConfigError, ShapeError

# Tokens whose cosines with an aspect are averaged; every text has at least [CLS] and [SEP].
_NEAREST = 2


class Answer(NamedTuple):
    """Logits ``(contexts, classes)`` in the order of the questions, and the maps where asked for."""

    logits: Tensor
    maps: tuple[Maps, ...] = ()

    def loss(self, labels: Tensor) -> Tensor:
        """Mean cross-entropy of gold classes ``(contexts,)``.

        Raises:
            ShapeError: Another number of labels than of questions.
        """
        if labels.shape != self.logits.shape[:1]:
            raise ShapeError(f"labels {tuple(labels.shape)} for logits {tuple(self.logits.shape)}")
        return F.cross_entropy(self.logits, labels)


class Similarity(NamedTuple):
    """How an aspect resembles a text for the frozen layers.

    Args:
        tokens: ``(views, slots, seq)``, cosine of each token with the aspect; 0 for the view's target.
        features: ``(views, slots, 2)``, cosine of the mean states, and the mean of the two largest of the tokens
            (of all but the target's and the marks; of the one where there is one).
    """

    tokens: Tensor
    features: Tensor


class WeftAbsa(nn.Module):
    """Context-conditioned pooling.

    ::

        h      = encoder(text)                            once per text
        h'     = h + m · [token belongs to the target]     once per (text, target), then target_layers layers
        c      = LayerNorm(W_a·ā + W_t·t̄)                  the question
        z      = blocks(c over [c ; h'])                   or, without blocks, plain pooling of h' by c
        logits = W·z + b

    An aspect may have a gloss, "pace: speed, delays". With ``open_aspects`` it is one with its name; else each part is
    compared by itself and the likest speaks, and the name alone says whether training saw it.

    An aspect that training did not see has a learnt vector for W_a·ā, because fine-tuning spoils what the
    encoder knew about other words. What is asked comes from frozen lower layers instead: s_j, the cosine
    of token j with the aspect, steers the pooling (F_j = exp(η_h·s_j)), and its features f (cosine of the
    means, the two largest s_j) say whether the text has an opinion on it::

        log P(opinion)/P(none) = α·(logsumexp z_opinions − z_none) + w·f + b        unseen aspects

    with α = ``unseen_share``: trained on texts that are silent about all known aspects but this one, the trained
    layers take it for no opinion. The tokens of the asked target are left out of f: "transit location" is not
    what "LOCATION1" is about. ``aspect_dropout`` trains the learnt vector on known aspects; w and b are fitted last.

    With ``open_aspects`` no aspect is unseen: ā is what the frozen stack makes of its words, so that training spoils
    none, and the text learns to meet it: s_j is the cosine of ā with h'_j itself, s steers every question, and
    z_none − w·f − b stands for z_none, with w, b and η trained like the rest.

    Args:
        config: The model's configuration.
        encoder: A pretrained encoder; a random one of ``config.encoder`` where None.

    Attributes:
        keeps_aspects: Whether what the frozen stack makes of an aspect is kept for the next batch out of training, too:
            for a model whose weights stay as they are, such as a teacher.
        learning_rate_scales: η, w and b are of order 1 to 10 and start at 0. At the encoder's rate they get to 0.07.
            With ``open_aspects``, where a text is seen a few times only, the target's mark and distance are faster
            too.

    Raises:
        ConfigError: ``config.kind`` is another.
    """

    def __init__(self, config: AbsaConfig, encoder: Encoder | None = None) -> None:
        super().__init__()
        options = config.options
        self.config, self.options = config, options
        fast = {"similarity_scale": 100.0, "similarity_head.weight": 100.0, "similarity_head.bias": 100.0}
        near = {"target_mark": 10.0, "distance.bias.weight": 30.0} if options.open_aspects else {}
        self.learning_rate_scales = fast | near
        self.encoder = Encoder(config.encoder) if encoder is None else encoder
        # One that was another model's may come with more of its layers frozen.
        self.encoder.requires_grad_(True)
        shape = config.encoder
        top = self.encoder.layers[len(self.encoder.layers) - options.pooler_blocks :]
        self.blocks = nn.ModuleList(ContextBlock(cast(EncoderLayer, layer)) for layer in top)
        plain = not options.pooler_blocks
        self.pooling = PlainPooling(shape, options.classifier_dropout) if plain else None
        heads = 1 if plain else shape.num_attention_heads
        self.context = ContextVector(shape)
        self.target_mark: nn.Parameter | None = None
        if options.target_mark:
            self.target_mark = nn.Parameter(torch.empty(shape.hidden_size))
            nn.init.normal_(self.target_mark, std=shape.initializer_range)
        self.distance = TargetDistance(heads) if options.target_distance else None
        self.head = ClassificationHead(shape, len(config.polarities))
        self.head.dropout.p = options.classifier_dropout
        if options.similarity_layers >= 0:
            self.similarity_scale = nn.Parameter(torch.zeros(heads))
            self.similarity_head = nn.Linear(2, 1)
            nn.init.zeros_(self.similarity_head.weight)
            nn.init.zeros_(self.similarity_head.bias)
            # Fitted after training by fit_similarity, unless it is a part of every answer.
            self.similarity_head.requires_grad_(options.open_aspects)
        # The frozen stack goes on where the encoder's own frozen layers end.
        first = max(0, options.frozen_layers)
        above = self.encoder.layers[first : max(first, options.similarity_layers)]
        self.anchor = nn.ModuleList(copy.deepcopy(layer) for layer in above)
        for part in self._frozen():
            part.requires_grad_(False)
        own = self.encoder.layers[options.term_depth : options.term_depth + options.term_layers]
        self.terms = TermTagger(shape, [*own]) if options.term_layers else None
        self.keeps_aspects = False
        self._told: dict[tuple[int, ...], Tensor] = {}

    def _frozen(self) -> list[nn.Module]:
        count = self.options.frozen_layers
        own = [self.encoder.embeddings, *self.encoder.layers[:count]] if count >= 0 else []
        if count >= 0 and self.encoder.relative is not None:
            own.append(self.encoder.relative)
        return [*own, self.anchor]

    def train(self, mode: bool = True) -> WeftAbsa:
        """Set the mode; frozen parts stay without dropout, they are the same in every pass."""
        super().train(mode)
        for part in self._frozen():
            part.eval()
        return self

    def forward(
        self, questions: Questions, embedded: Tensor | None = None, need_maps: bool = False
    ) -> Answer:
        """Answer a batch.

        Args:
            questions: The batch.
            embedded: ``(texts, seq, hidden)``, the text's embeddings where they were made outside, to
                differentiate by them.
            need_maps: Whether to return the pooling's maps, one for each block, with keys [slots ; text].
        """
        options, layers = self.options, self.config.encoder.num_hidden_layers
        shared = layers - options.target_layers
        inputs = questions.input_ids if embedded is None else embedded
        text, lower = self._encode(inputs, questions.attention_mask, shared)
        if options.open_aspects:
            aspects = frozen = self._read_aspects(questions)
        else:
            words, lower_words = self._encode(questions.aspect_ids, questions.aspect_mask, layers)
            aspects = masked_mean(words, inner_tokens(questions.aspect_mask))
            aspects = aspects[_names(questions)]
            frozen = self._frozen_mean(lower_words, questions.aspect_mask)
        text = text[questions.view_text]
        if self.target_mark is not None:
            text = text + questions.target_mask[..., None] * self.target_mark
        text_mask = questions.attention_mask[questions.view_text]
        if options.target_layers:
            text = self.encoder(text, text_mask, layers=slice(shared, layers)).last_hidden_state
        unseen = self._unseen(questions)
        context = self.context(
            aspects[questions.slot_aspect],
            unseen,
            masked_mean(text, questions.target_mask),
            questions.target_mask.any(dim=1),
        )
        log_factor = None if self.distance is None else self.distance(questions.target_mask)
        if options.open_aspects:
            similarity = self._likeness(questions, text, frozen)
        else:
            similarity = self._similarity(questions, unseen, lower, frozen)
        if similarity is not None:
            steer = self.similarity_scale[:, None, None] * similarity.tokens[:, None]
            log_factor = steer if log_factor is None else log_factor + steer
        factor = None if log_factor is None else log_factor.exp()
        maps: list[Maps] = []
        for block in self.blocks if self.pooling is None else [self.pooling]:
            context, seen = block(context, text, text_mask, factor, need_maps)
            if seen is not None:
                maps.append(seen)
        logits = self.head(context)
        if similarity is not None and options.open_aspects:
            none = logits[..., 0] - self.similarity_head(similarity.features).squeeze(-1)
            logits = torch.cat([none[..., None], logits[..., 1:]], dim=-1)
        elif similarity is not None and not self.training:
            opinion = logits[..., 1:].logsumexp(dim=-1)
            odds = options.unseen_share * (opinion - logits[..., 0])
            odds = odds + self.similarity_head(similarity.features).squeeze(-1)
            none = torch.where(unseen, opinion - odds, logits[..., 0])
            logits = torch.cat([none[..., None], logits[..., 1:]], dim=-1)
        return Answer(logits[questions.context_view, questions.context_slot], tuple(maps))

    def tag(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """Logits ``(texts, seq, tags)`` of :data:`weft.absa.model.terms.TAGS`.

        Raises:
            ConfigError: The model has no ``term_layers``.
        """
        if self.terms is None:
            raise ConfigError("a model with term_layers = 0 finds no terms")
        hidden = self.frozen_states(input_ids, attention_mask, self.options.term_depth)
        return self.terms(hidden, attention_mask, self.encoder.positions(hidden.shape[1]))

    def frozen_states(self, input_ids: Tensor, attention_mask: Tensor, depth: int) -> Tensor:
        """``(rows, seq, hidden)``, what the lowest ``depth`` pretrained layers make of a text."""
        own = max(0, self.options.frozen_layers)
        hidden = self.encoder(input_ids, attention_mask, layers=slice(0, min(depth, own))).last_hidden_state
        return self._anchored(hidden, attention_mask, depth - own)

    @property
    def frozen_depth(self) -> int:
        """How many pretrained layers the frozen stack has."""
        return max(0, self.options.frozen_layers) + len(self.anchor)

    @torch.no_grad()
    def read_words(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """``(rows, hidden)``, what the frozen stack makes of words, as of an aspect's."""
        depth = slice(0, max(0, self.options.frozen_layers))
        hidden = self.encoder(input_ids, attention_mask, layers=depth).last_hidden_state
        return self._frozen_mean(hidden, attention_mask)

    def embed(self, questions: Questions) -> Tensor:
        """The embeddings ``(texts, seq, hidden)`` that :meth:`forward` takes as ``embedded``."""
        embedded: Tensor = self.encoder.embeddings(questions.input_ids)
        return embedded

    def similarity_features(self, questions: Questions) -> Tensor:
        """``(contexts, 2)``, the cosines by which an unseen aspect is recognised, for known ones as well.

        Raises:
            ConfigError: A model that compares no aspect with the text.
        """
        depth = slice(0, max(0, self.options.frozen_layers))
        text = self.encoder(questions.input_ids, questions.attention_mask, layers=depth)
        words = self.encoder(questions.aspect_ids, questions.aspect_mask, layers=depth)
        frozen = self._frozen_mean(words.last_hidden_state, questions.aspect_mask)
        everything = torch.ones_like(questions.slot_mask)
        found = self._similarity(questions, everything, text.last_hidden_state, frozen)
        if found is None:
            raise ConfigError("a model with similarity_layers = -1 compares no aspect with the text")
        return found.features[questions.context_view, questions.context_slot]

    def _encode(self, inputs: Tensor, mask: Tensor, stop: int) -> tuple[Tensor, Tensor]:
        """The states after layer ``stop``, and on the way those after the frozen layers."""
        depth = max(0, self.options.frozen_layers)
        lower = self.encoder(inputs, mask, layers=slice(0, depth)).last_hidden_state
        return self.encoder(lower, mask, layers=slice(depth, stop)).last_hidden_state, lower

    def _unseen(self, questions: Questions) -> Tensor:
        if self.options.open_aspects:
            return torch.zeros_like(questions.slot_mask)
        unseen = ~questions.aspect_known[questions.slot_aspect]
        if self.training and self.options.aspect_dropout:
            unseen = unseen | (torch.rand(unseen.shape, device=unseen.device) < self.options.aspect_dropout)
        return unseen

    def _similarity(
        self, questions: Questions, unseen: Tensor, text: Tensor, aspects: Tensor
    ) -> Similarity | None:
        if self.options.similarity_layers < 0 or (not self.training and not bool(unseen.any())):
            # Where every aspect was trained on, the frozen layers have nothing to add.
            return None
        with torch.no_grad():
            text = self._anchored(text, questions.attention_mask)
            aspect = F.normalize(aspects, dim=-1)
            inner = inner_tokens(questions.attention_mask)[questions.view_text]
            beside = inner & ~questions.target_mask
            beside = torch.where(beside.any(dim=1, keepdim=True), beside, inner)
            # (texts, seq, aspects) → (views, slots, seq)
            chosen = questions.slot_aspect
            token = _nearest_part(F.normalize(text, dim=-1) @ aspect.T, questions)
            token = token[questions.view_text].transpose(1, 2)
            token = token.gather(1, chosen[..., None].expand(-1, -1, token.shape[2]))
            nearest = token.masked_fill(~beside[:, None], -torch.inf).topk(_NEAREST, dim=2).values
            # A text of one token has no second.
            nearest = torch.where(nearest.isfinite(), nearest, nearest[..., :1]).mean(dim=2)
            token = token.masked_fill(~beside[:, None], 0.0)
            whole = F.normalize(masked_mean(text[questions.view_text], beside), dim=-1) @ aspect.T
            whole = _nearest_part(whole, questions)
            features = torch.stack([whole.gather(1, chosen), nearest], dim=-1)
        return Similarity(token * unseen[..., None], features)

    def _likeness(self, questions: Questions, text: Tensor, aspects: Tensor) -> Similarity:
        """The similarity of the text's own states ``(views, seq, hidden)`` with the frozen aspects."""
        inner = inner_tokens(questions.attention_mask)[questions.view_text]
        beside = inner & ~questions.target_mask
        beside = torch.where(beside.any(dim=1, keepdim=True), beside, inner)
        aspect = F.normalize(aspects, dim=-1)[questions.slot_aspect]
        token = aspect @ F.normalize(text, dim=-1).transpose(1, 2)
        nearest = token.masked_fill(~beside[:, None], -1.0).topk(min(_NEAREST, token.shape[2]), dim=2).values
        whole = (aspect @ F.normalize(masked_mean(text, beside), dim=-1)[..., None]).squeeze(-1)
        features = torch.stack([whole, nearest.mean(dim=2)], dim=-1)
        return Similarity(token.masked_fill(~beside[:, None], 0.0), features)

    @torch.no_grad()
    def _frozen_mean(self, words: Tensor, mask: Tensor) -> Tensor:
        """``(aspects, hidden)``, the mean state of each aspect's words after the frozen stack."""
        return masked_mean(self._anchored(words, mask), inner_tokens(mask))

    @torch.no_grad()
    def _read_aspects(self, questions: Questions) -> Tensor:
        """``(aspects, hidden)`` by the frozen stack; in training, or where they are kept, each is read once."""
        ids, mask = questions.aspect_ids, questions.aspect_mask
        if not self.training and not self.keeps_aspects:
            return self.read_words(ids, mask)
        # Copied to the host at once: on a GPU each copy is a wait.
        padded = torch.where(mask, ids, -1).tolist()
        rows = [tuple(number for number in row if number >= 0) for row in padded]
        fresh = [number for number, row in enumerate(rows) if row not in self._told]
        if fresh:
            found = self.read_words(ids[fresh], mask[fresh])
            self._told.update((rows[number], state) for number, state in zip(fresh, found, strict=True))
        return torch.stack([self._told[row] for row in rows])

    def _anchored(self, hidden: Tensor, mask: Tensor, many: int | None = None) -> Tensor:
        """On through the frozen copies: so many of them, all where None."""
        positions = self.encoder.positions(hidden.shape[1])
        for layer in [*self.anchor][: None if many is None else max(0, many)]:
            hidden, _ = layer(hidden, mask, condition=positions)
        return hidden


def _names(questions: Questions) -> Tensor | slice:
    """The row of each aspect's name among those of its parts."""
    part = questions.aspect_part
    return slice(None) if part is None else F.pad(part[1:] != part[:-1], (1, 0), value=True)


def _nearest_part(cosines: Tensor, questions: Questions) -> Tensor:
    """Cosines ``(…, aspects)`` out of those of every part ``(…, rows)``: the largest of an aspect's."""
    part = questions.aspect_part
    if part is None:
        return cosines
    found = cosines.new_full((*cosines.shape[:-1], len(questions.aspect_known)), -torch.inf)
    return found.scatter_reduce(-1, part.expand_as(cosines), cosines, "amax")


def masked_mean(states: Tensor, mask: Tensor) -> Tensor:
    """Mean of the states ``(batch, seq, hidden)`` where ``mask (batch, seq)`` is True; 0 where nowhere."""
    total = torch.einsum("bsh,bs->bh", states, mask.to(states.dtype))
    return total / mask.sum(dim=1, keepdim=True).clamp(min=1).to(states.dtype)


def inner_tokens(mask: Tensor) -> Tensor:
    """The real tokens without ``[CLS]`` and ``[SEP]``; all of them where there are no others."""
    inner = mask.clone()
    inner[:, 0] = False
    inner[torch.arange(len(mask), device=mask.device), mask.sum(dim=1) - 1] = False
    return inner | (~inner.any(dim=1, keepdim=True) & mask)

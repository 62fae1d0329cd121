"""The contract's BERT and its attention: a graph summary injected into every layer as keys and values."""

from __future__ import annotations

from pathlib import Path

import torch
from tokenizers import Tokenizer
from torch import Tensor, nn

from weft.attention import Prefix, Terms, attend
from weft.condition.prefix import KVPrefix, check_sizes, check_summary, split_tokens, zero_linear
from weft.encoder.checkpoint.pretrained import Pretrained, load_pretrained
from weft.encoder.config import EncoderConfig
from weft.encoder.embeddings import TokenEmbeddings, TokenInputs
from weft.encoder.encoder import Encoder
from weft.encoder.pooling import ClsPooler
from weft.errors import ConfigError, DtypeError


class BERTWithGraphPrefix(nn.Module):
    """BERT whose tokens attend to a graph summary in every layer (deep prefix injection).

    prefix_k^l, prefix_v^l = split(W_K^l g), split(W_V^l g)        g the graph summary, the same for all layers
    context^l = softmax(Q [prefix_k ‖ K]ᵀ / √D) [prefix_v ‖ V]     the prefix at position 0, always seen

    Args:
        bert_model_name: A checkpoint's directory, a name on the hub, a checkpoint already loaded, or an
            ``EncoderConfig`` for a new model.
        graph_dim: Width of the graph summary.
        freeze_embeddings: Whether the word, position and type embeddings stay as they are.
        num_prefix_tokens: Keys and values per layer and head that the summary becomes.

    Attributes:
        config: The encoder's configuration.
        tokenizer: The checkpoint's, or None.

    Raises:
        CheckpointError: A checkpoint that cannot be loaded.
        ConfigError: A size that breaks a rule.

    Source:
        The model contract, "BERT Integration Module API".

    Differs from the spec:
        ``freeze_embeddings`` is False by default: frozen English word pieces do not fit instructions, and
        the contract also wants a gradient for every parameter. ``attention_weights`` come on request: for
        12 layers, 16 examples and 512 tokens the maps are 2.4 GB.
    """

    def __init__(
        self,
        bert_model_name: str | Path | Pretrained | EncoderConfig = "bert-base-uncased",
        graph_dim: int = 256,
        freeze_embeddings: bool = False,
        num_prefix_tokens: int = 1,
    ) -> None:
        super().__init__()
        if isinstance(bert_model_name, EncoderConfig):
            loaded = Pretrained(Encoder(bert_model_name), None, None, None)
        elif isinstance(bert_model_name, Pretrained):
            loaded = bert_model_name
        else:
            loaded = load_pretrained(bert_model_name)
        config = loaded.encoder.config
        self.config = config
        self.graph_dim = graph_dim
        self.tokenizer: Tokenizer | None = loaded.tokenizer
        self.encoder = loaded.encoder
        self.encoder.conditioner = KVPrefix(
            graph_dim,
            config.hidden_size,
            config.num_attention_heads,
            config.num_hidden_layers,
            num_prefix_tokens,
        )
        self.pooler = ClsPooler(config) if loaded.pooler is None else loaded.pooler
        if freeze_embeddings:
            self.encoder.embeddings.requires_grad_(False)
        self.train()

    @property
    def word_embeddings(self) -> nn.Embedding:
        """The word embeddings."""
        embeddings = self.encoder.embeddings
        if not isinstance(embeddings, TokenEmbeddings):
            raise ConfigError(f"{type(embeddings).__name__} has no word embeddings")
        return embeddings.word_embeddings

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor,
        graph_summary: Tensor,
        token_type_ids: Tensor | None = None,
        need_weights: bool = False,
        need_prefix_attention: bool = False,
    ) -> dict[str, Tensor]:
        """Encode tokens beside their graph.

        Args:
            input_ids: ``(batch, seq)``.
            attention_mask: ``(batch, seq)``, bool, or the 1 and 0 that tokenizers give.
            graph_summary: ``(batch, graph_dim)``.
            token_type_ids: ``(batch, seq)``; 0 where None.
            need_weights: Whether to return the last layer's attention weights.
            need_prefix_attention: Whether to return the weight on the prefix in every layer.

        Returns:
            ``sequence_output (batch, seq, hidden)``; ``cls_embedding (batch, hidden)``, its first token;
            ``pooled_output (batch, hidden)``, that token through the tanh pooler; on request
            ``attention_weights (batch, heads, seq, P + seq)`` and ``prefix_attention (layers, batch, heads, seq)``.

        Raises:
            InputError: Ids out of range, shapes that do not fit, NaN in the summary.
            DtypeError: A mask that is neither boolean nor of ones and zeros.
        """
        inputs = TokenInputs(input_ids, token_type_ids)
        real = as_boolean_mask(attention_mask)
        prefix_maps = "prefix" if need_prefix_attention else False
        weights: Tensor | None = None
        if need_weights:
            # The map is wanted of the last layer alone: run that layer by itself.
            last = self.config.num_hidden_layers - 1
            lower = self.encoder(inputs, real, graph_summary, layers=slice(0, last), need_maps=prefix_maps)
            upper = self.encoder(
                lower.last_hidden_state, real, graph_summary, layers=slice(last, None), need_maps=True
            )
            hidden, weights = upper.last_hidden_state, upper.maps[0].weights
            columns = [part.prefix_weights for part in (lower, upper) if part.prefix_weights is not None]
        else:
            output = self.encoder(inputs, real, graph_summary, need_maps=prefix_maps)
            hidden, columns = output.last_hidden_state, [output.prefix_weights]
        outputs = {
            "cls_embedding": hidden[:, 0],
            "sequence_output": hidden,
            "pooled_output": self.pooler(hidden, real),
        }
        if weights is not None:
            outputs["attention_weights"] = weights
        if need_prefix_attention:
            outputs["prefix_attention"] = torch.cat(columns)
        return outputs


class KVPrefixAttention(nn.Module):
    """The contract's attention: one prefix token from a graph summary, then the tokens.

    context = softmax(Q · [prefix_k ‖ K]ᵀ · D^-½) · [prefix_v ‖ V]

    Args:
        hidden_size: Width of the encoder.
        num_heads: Number of heads; D = hidden_size / num_heads.
        graph_dim: Width of the graph summary.

    Raises:
        ConfigError: A size below 1, heads that do not divide ``hidden_size``.

    Source:
        The model module contract, "Custom Attention Module".

    Differs from the spec:
        Padding is masked by a boolean, not by adding -1e9, which overflows in half precision.
        ``graph_to_v`` starts at zero. Weights can be declined (``need_weights=False``), which lets
        the fused kernels run. ``merge_heads`` is there for the layer around this one: the contract
        lists it and returns split heads.
    """

    def __init__(self, hidden_size: int = 768, num_heads: int = 12, graph_dim: int = 256) -> None:
        super().__init__()
        check_sizes(hidden_size, num_heads, graph_dim=graph_dim)
        self.hidden_size = hidden_size
        self.num_heads = num_heads
        self.head_dim = hidden_size // num_heads
        self.graph_dim = graph_dim
        self.graph_to_k = nn.Linear(graph_dim, hidden_size)
        self.graph_to_v = zero_linear(graph_dim, hidden_size)

    def split_heads(self, x: Tensor) -> Tensor:
        """``(batch, hidden)`` to ``(batch, heads, 1, D)``."""
        return split_tokens(x, self.num_heads, 1)

    def merge_heads(self, x: Tensor) -> Tensor:
        """``(batch, heads, seq, D)`` to ``(batch, seq, hidden)``."""
        return x.transpose(1, 2).flatten(2)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        graph_summary: Tensor,
        attention_mask: Tensor,
        need_weights: bool = True,
    ) -> tuple[Tensor, Tensor | None]:
        """Attend to the graph and to the tokens.

        Args:
            query: ``(batch, heads, seq, D)``.
            key: ``(batch, heads, seq, D)``.
            value: ``(batch, heads, seq, D)``.
            graph_summary: ``(batch, graph_dim)``.
            attention_mask: ``(batch, seq)``, boolean or 1 and 0; the prefix is always attended to.
            need_weights: Whether to return the weights.

        Returns:
            ``context (batch, heads, seq, D)`` and ``attention_weights (batch, heads, seq, 1 + seq)``, whose
            position 0 is the graph; None for the weights where they were declined.

        Raises:
            ShapeError: Shapes that do not fit; both are named.
            DtypeError: A mask that is neither boolean nor made of ones and zeros.
            NonFiniteError: NaN or infinity in an input.
        """
        check_summary(graph_summary, self.graph_dim)
        prefix = Prefix(
            self.split_heads(self.graph_to_k(graph_summary)), self.split_heads(self.graph_to_v(graph_summary))
        )
        context, maps = attend(
            query,
            key,
            value,
            key_mask=as_boolean_mask(attention_mask),
            terms=Terms(prefix=prefix),
            need_maps=need_weights,
        )
        return context, None if maps is None else maps.weights


def as_boolean_mask(mask: Tensor) -> Tensor:
    """The mask as booleans: boolean as it is, integers 1 and 0 as True and False.

    Raises:
        DtypeError: Floating, which may be an additive mask, or other integers than 0 and 1.
    """
    if mask.dtype == torch.bool:
        return mask
    if mask.is_floating_point() or not bool(((mask == 0) | (mask == 1)).all()):
        raise DtypeError(
            f"attention_mask is {mask.dtype} and not of ones and zeros only",
            hint="torch.bool, or integers 1 = attend and 0 = padding",
        )
    return mask == 1

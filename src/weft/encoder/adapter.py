"""Prefix and decay inside a model of the ``transformers`` library, or a clear refusal.

``transformers`` dispatches attention by a name in the model's configuration and hands extra arguments to
whatever runs under that name. A function that does not know them ignores them. So a model that was reloaded
with the default name would run without the structure, and nothing would say so. Here the name is forced,
looked at before every pass, and after every pass the layers that did see the structure are counted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from torch import Tensor, nn

from weft.attention.operation import attend
from weft.condition.conditioner import Conditioner, Stack
from weft.condition.decay import DistanceDecay
from weft.condition.prefix import KVPrefix
from weft.errors import ConfigError, InputError, MissingExtraError

if TYPE_CHECKING:
    from transformers import PreTrainedModel

NAME = "weft"
_ARGUMENT = "weft_call"
_MODELS = ("bert", "roberta")


@dataclass
class _Call:
    """One pass: what the conditioner prepared, and which layers have looked at it."""

    conditioner: Conditioner
    state: Any
    layers: set[int]


class TransformersAdapter(nn.Module):
    """A ``transformers`` BERT or RoBERTa whose attention sees a prefix and a decay.

    Args:
        model: Any BERT or RoBERTa model of ``transformers``, with its head. Its attention implementation is
            set to ``"weft"``.
        conditioner: ``KVPrefix``, ``DistanceDecay``, or a ``Stack`` of them: the conditioners that need
            neither hidden states nor embeddings, to which the interface gives no access.

    Raises:
        MissingExtraError: ``transformers`` is not installed.
        ConfigError: Another architecture, another conditioner, or a model that does not take the
            implementation.
    """

    def __init__(self, model: PreTrainedModel, conditioner: Conditioner) -> None:
        super().__init__()
        _register()
        if getattr(model.config, "model_type", None) not in _MODELS:
            raise ConfigError(
                f"model_type is {model.config.model_type!r}; it must be one of {', '.join(_MODELS)}"
            )
        if getattr(model.config, "is_decoder", False):
            raise ConfigError(
                "the model is a decoder, whose tokens must not see those after them; the adapter is for encoders"
            )
        _check_conditioner(conditioner)
        model.set_attn_implementation(NAME)
        self.model = model
        self.conditioner = conditioner
        self._check_implementation()

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor | None = None, structure: Any = None, **inputs: Any
    ) -> Any:
        """Run the model.

        Args:
            input_ids: ``(batch, seq)``.
            attention_mask: ``(batch, seq)``, as the model takes it.
            structure: What the conditioner's ``prepare`` takes.
            **inputs: Further arguments of the model, such as ``token_type_ids`` and ``labels``.

        Returns:
            The model's own output.

        Raises:
            InputError: No structure.
            ConfigError: The implementation's name was changed, a layer ran without the structure, or attention maps
                are asked for.
        """
        if structure is None:
            raise InputError(f"no structure for {type(self.conditioner).__name__}", hint="give structure=…")
        self._check_implementation()
        if inputs.get("output_attentions"):
            raise ConfigError(
                "output_attentions of a model in the adapter, whose attention keeps no maps",
                hint="weft.encoder.Encoder with need_maps=True gives them",
            )
        call = _Call(self.conditioner, self.conditioner.prepare(structure), set())
        output = self.model(input_ids=input_ids, attention_mask=attention_mask, **{_ARGUMENT: call}, **inputs)
        count = self.model.config.num_hidden_layers
        if len(call.layers) != count:
            raise ConfigError(f"{count - len(call.layers)} of {count} layers ran without the structure")
        return output

    def _check_implementation(self) -> None:
        for part in self.model.modules():
            name = getattr(getattr(part, "config", None), "_attn_implementation", NAME)
            if name != NAME:
                raise ConfigError(
                    f"{type(part).__name__} has the attention implementation {name!r}, which ignores the structure",
                    hint=f"model.set_attn_implementation({NAME!r}), or wrap the model again",
                )


def _attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    dropout: float = 0.0,
    **arguments: Any,
) -> tuple[Tensor, None]:
    """The function behind the name; ``(batch, heads, seq, D)`` in, ``(batch, seq, heads, D)`` out."""
    call = arguments.get(_ARGUMENT)
    if not isinstance(call, _Call):
        raise ConfigError(
            f"the attention implementation {NAME!r} ran outside its adapter, without structure",
            hint="call the TransformersAdapter, not the model inside it",
        )
    layer = getattr(module, "layer_idx", None)
    if not isinstance(layer, int):
        raise ConfigError(f"{type(module).__name__} does not know its layer")
    call.layers.add(layer)
    # The interface hands over no hidden states; _check_conditioner lets in only what looks at none.
    hidden = query.new_empty(0)
    terms = call.conditioner.terms(layer, hidden, query, key, call.state)
    output, _ = attend(query, key, value, mask=attention_mask, terms=terms, dropout_p=dropout, scale=scaling)
    return output.transpose(1, 2).contiguous(), None


def _register() -> None:
    try:
        from transformers import AttentionInterface
        from transformers.masking_utils import AttentionMaskInterface, sdpa_mask
    except ImportError as error:
        raise MissingExtraError("transformers", "transformers") from error
    AttentionInterface.register(NAME, _attention)
    # Without a mask function under the same name transformers hands over no mask at all: padding is attended.
    AttentionMaskInterface.register(NAME, sdpa_mask)


def _check_conditioner(conditioner: Conditioner) -> None:
    members = conditioner.members if isinstance(conditioner, Stack) else [conditioner]
    for member in members:
        if not isinstance(member, (KVPrefix, DistanceDecay)):
            raise ConfigError(
                f"{type(member).__name__} in a transformers model; it takes KVPrefix, DistanceDecay or a Stack of them",
                hint="use weft.encoder.Encoder, which has the whole seam",
            )

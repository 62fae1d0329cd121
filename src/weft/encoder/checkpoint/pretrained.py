"""Hugging Face BERT, RoBERTa and MPNet checkpoints in: strictly, through a rename table, without running code."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypeVar

import torch
from tokenizers import Tokenizer
from torch import Tensor

from weft.encoder.checkpoint.storage import CONFIG, load_model
from weft.encoder.checkpoint.tensors import PICKLE, SAFETENSORS, fill, listed, read_json, read_tensors
from weft.encoder.checkpoint.tokenizer import load_tokenizer
from weft.encoder.config import EncoderConfig
from weft.encoder.encoder import Encoder
from weft.encoder.heads import MLMHead
from weft.encoder.pooling import ClsPooler
from weft.errors import CheckpointError, ConfigError
from weft.platform.models import build_within, without_storage


class Pretrained(NamedTuple):
    """A checkpoint's parts.

    Args:
        encoder: The encoder, in fp32 and in eval mode, without a conditioner: set ``encoder.conditioner``.
        tokenizer: None where the checkpoint has none.
        pooler: The tanh pooler; None where the checkpoint has none.
        mlm_head: None where the checkpoint has none, or one that is not tied to the word embeddings.
    """

    encoder: Encoder
    tokenizer: Tokenizer | None
    pooler: ClsPooler | None
    mlm_head: MLMHead | None


@dataclass(frozen=True)
class _Family:
    """What an architecture calls its things.

    Args:
        head: From the language-model head's names to ours.
        head_bias: Other names of the head's bias, copies of the first.
        decoder: The head's matrix, tied to the word embeddings.
        irrelevant: Beginnings of names of tensors that an encoder has no place for.
        pad_token_id: Its padding id where the configuration names none.
        layer_norm_eps: Likewise.
        type_vocab_size: Likewise; 0 where the family has no types at all.
        layer: From its names of a layer's modules to ours.
        counts_from_padding: Whether positions are counted as RoBERTa counts them.
        relative: Its name of the relative bias, where it has one.
        fixed: Fields whose value ``transformers`` takes for granted, whatever a configuration says.
    """

    head: Mapping[str, str]
    head_bias: str
    decoder: str
    irrelevant: tuple[str, ...]
    pad_token_id: int
    layer_norm_eps: float
    type_vocab_size: int
    layer: Mapping[str, str]
    counts_from_padding: bool = False
    relative: str | None = None
    fixed: tuple[tuple[str, int], ...] = ()


_BUFFERS = ("embeddings.position_ids", "embeddings.token_type_ids")
_TASKS = ("classifier.", "qa_outputs.")
_LAYER = {
    "attention.self.query": "attention.query",
    "attention.self.key": "attention.key",
    "attention.self.value": "attention.value",
    "attention.output.dense": "attention.output",
    "attention.output.LayerNorm": "attention_norm",
    "intermediate.dense": "intermediate",
    "output.dense": "output",
    "output.LayerNorm": "output_norm",
}
_MPNET_LAYER = {
    "attention.attn.q": "attention.query",
    "attention.attn.k": "attention.key",
    "attention.attn.v": "attention.value",
    "attention.attn.o": "attention.output",
    "attention.LayerNorm": "attention_norm",
    "intermediate.dense": "intermediate",
    "output.dense": "output",
    "output.LayerNorm": "output_norm",
}
_LM_HEAD = {
    "lm_head.dense.weight": "dense.weight",
    "lm_head.dense.bias": "dense.bias",
    "lm_head.layer_norm.weight": "norm.weight",
    "lm_head.layer_norm.bias": "norm.bias",
    "lm_head.bias": "bias",
}
_FAMILIES = {
    "bert": _Family(
        head={
            "cls.predictions.transform.dense.weight": "dense.weight",
            "cls.predictions.transform.dense.bias": "dense.bias",
            "cls.predictions.transform.LayerNorm.weight": "norm.weight",
            "cls.predictions.transform.LayerNorm.bias": "norm.bias",
            "cls.predictions.bias": "bias",
        },
        head_bias="cls.predictions.decoder.bias",
        decoder="cls.predictions.decoder.weight",
        irrelevant=(*_BUFFERS, *_TASKS, "cls.seq_relationship."),
        pad_token_id=0,
        layer_norm_eps=1e-12,
        type_vocab_size=2,
        layer=_LAYER,
    ),
    "roberta": _Family(
        head=_LM_HEAD,
        head_bias="lm_head.decoder.bias",
        decoder="lm_head.decoder.weight",
        irrelevant=(*_BUFFERS, *_TASKS),
        pad_token_id=1,
        layer_norm_eps=1e-12,
        type_vocab_size=2,
        layer=_LAYER,
        counts_from_padding=True,
    ),
    "mpnet": _Family(
        head=_LM_HEAD,
        head_bias="lm_head.decoder.bias",
        decoder="lm_head.decoder.weight",
        irrelevant=(*_BUFFERS, *_TASKS),
        pad_token_id=1,
        layer_norm_eps=1e-12,
        type_vocab_size=0,
        layer=_MPNET_LAYER,
        counts_from_padding=True,
        relative="encoder.relative_attention_bias",
        fixed=(("pad_token_id", 1), ("relative_attention_num_buckets", 32)),
    ),
}
_Part = TypeVar("_Part", ClsPooler, MLMHead)
_POOLER = {"pooler.dense.weight": "dense.weight", "pooler.dense.bias": "dense.bias"}
_EMBEDDINGS = {
    "word_embeddings": "word_embeddings",
    "position_embeddings": "position_embeddings",
    "token_type_embeddings": "token_type_embeddings",
    "LayerNorm": "norm",
}
_OLD_NAMES = {"LayerNorm.gamma": "LayerNorm.weight", "LayerNorm.beta": "LayerNorm.bias"}
_SAFE_FILES = (
    "config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "vocab.txt",
    SAFETENSORS,
    f"{SAFETENSORS}.index.json",
    "model-*-of-*.safetensors",
)
_PICKLES = (PICKLE, f"{PICKLE}.index.json", "pytorch_model-*-of-*.bin")


def load_pretrained(name_or_dir: str | Path) -> Pretrained:
    """Load a BERT, RoBERTa or MPNet checkpoint.

    Args:
        name_or_dir: A directory with ``config.json`` and weights (safetensors, or a pickle of plain
            tensors; single or sharded), or a name on the Hugging Face hub, which is downloaded. A
            directory of that name comes first. An ``Encoder`` saved by weft is read as well.

    Returns:
        Encoder, tokenizer, pooler and language-model head; what the checkpoint lacks is None.

    Raises:
        CheckpointError: Not found; another architecture; a truncated or damaged file; a pickle with code;
            missing, unexpected or misshapen tensors, all listed under the checkpoint's own names.
    """
    directory = _find(name_or_dir)
    if not (directory / CONFIG).is_file():
        raise CheckpointError(f"has no {CONFIG}", where=str(directory))
    values = read_json(directory / CONFIG)
    tokenizer = load_tokenizer(directory)
    if values.get("model_type") == "weft":
        encoder = load_model(directory, lambda saved: Encoder(EncoderConfig.from_dict(saved)), "Encoder")
        return Pretrained(encoder.eval(), tokenizer, None, None)
    family_name, config = _read_config(values, str(directory / CONFIG))
    family = _FAMILIES[family_name]
    if tokenizer is not None and tokenizer.get_vocab_size() > config.vocab_size:
        raise CheckpointError(
            f"the tokenizer has {tokenizer.get_vocab_size()} tokens, the model {config.vocab_size}",
            where=str(directory),
        )
    tensors = _canonical(read_tensors(directory), f"{family_name}.", str(directory))
    pooler_part = _take(tensors, _POOLER, "pooler", str(directory))
    head_part = _take(tensors, family.head, "language-model head", str(directory))
    decoder, copy = tensors.pop(family.decoder, None), tensors.pop(family.head_bias, None)
    relevant = {name: tensor for name, tensor in tensors.items() if not name.startswith(family.irrelevant)}
    # Built without storage: every parameter comes from the file, and no random number is drawn.
    shapes = {name: tuple(tensor.shape) for name, tensor in relevant.items()}
    encoder = build_within(lambda: Encoder(config), shapes, str(directory)).to_empty(device="cpu")
    with without_storage():
        pooler, head = ClsPooler(config), MLMHead(config)
    names = _encoder_names(config, family)
    ours = encoder.state_dict()
    fill({theirs: ours[name] for theirs, name in names.items()}, relevant, str(directory))
    if head_part is not None and _untied(decoder, copy, head_part["bias"], encoder):
        head_part = None
    return Pretrained(
        encoder.eval(),
        tokenizer,
        None if pooler_part is None else _filled(pooler, pooler_part, directory),
        None if head_part is None else _filled(head, head_part, directory),
    )


def _read_config(values: Mapping[str, object], where: str) -> tuple[str, EncoderConfig]:
    """The family's name and our configuration, from a Hugging Face ``config.json``."""
    name = values.get("model_type")
    if not isinstance(name, str) or name not in _FAMILIES:
        raise CheckpointError(
            f"model_type is {name!r}; it must be one of {', '.join(_FAMILIES)}", where=where
        )
    family = _FAMILIES[name]
    for key, allowed in (
        ("hidden_act", ("gelu", "gelu_python")),
        ("position_embedding_type", ("absolute",)),
        ("is_decoder", (False,)),
        ("add_cross_attention", (False,)),
    ):
        if key in values and values[key] not in allowed:
            raise CheckpointError(f"{key} is {values[key]!r}; this encoder has {allowed[0]!r}", where=where)
    for key, only in family.fixed:
        if values.get(key) not in (None, only):
            raise CheckpointError(
                f"{key} is {values[key]!r}; transformers computes this family with {only} whatever is said",
                where=where,
            )
    needed = (
        "vocab_size",
        "hidden_size",
        "num_hidden_layers",
        "num_attention_heads",
        "intermediate_size",
        "max_position_embeddings",
    )
    absent = [key for key in needed if key not in values]
    if absent:
        raise CheckpointError(f"lacks {', '.join(absent)}", where=where)
    optional = ("hidden_dropout_prob", "attention_probs_dropout_prob", "initializer_range")
    fields: dict[str, object] = {key: values[key] for key in (*needed, *optional) if key in values}
    for key in ("pad_token_id", "layer_norm_eps", "type_vocab_size"):
        given = values.get(key)
        fields[key] = getattr(family, key) if given is None else given
    if family.relative is not None:
        # transformers writes a count of types for this family that no part of its model reads.
        fields["type_vocab_size"] = family.type_vocab_size
        fields["relative_buckets"] = values.get("relative_attention_num_buckets", 32)
    pad = fields["pad_token_id"]
    fields["position_offset"] = pad + 1 if family.counts_from_padding and isinstance(pad, int) else 0
    try:
        return name, EncoderConfig.from_dict(fields)
    except ConfigError as error:
        raise CheckpointError(str(error), where=where) from error


def _encoder_names(config: EncoderConfig, family: _Family) -> dict[str, str]:
    """The rename table: from the checkpoint's name of every tensor of the encoder to ours."""
    table: dict[str, str] = {}

    def add(theirs: str, ours: str, parts: Iterable[str]) -> None:
        table.update({f"{theirs}.{part}": f"{ours}.{part}" for part in parts})

    for theirs, ours in _EMBEDDINGS.items():
        if ours == "token_type_embeddings" and not config.type_vocab_size:
            continue
        add(
            f"embeddings.{theirs}",
            f"embeddings.{ours}",
            ("weight", "bias") if ours == "norm" else ("weight",),
        )
    for layer in range(config.num_hidden_layers):
        for theirs, ours in family.layer.items():
            add(f"encoder.layer.{layer}.{theirs}", f"layers.{layer}.{ours}", ("weight", "bias"))
    if family.relative is not None:
        add(family.relative, "relative.bias", ("weight",))
    return table


def _canonical(tensors: Mapping[str, Tensor], prefix: str, where: str) -> dict[str, Tensor]:
    """The tensors without the model's prefix, and with LayerNorm's old names replaced."""
    renamed: dict[str, Tensor] = {}
    for name, tensor in tensors.items():
        short = name.removeprefix(prefix)
        for old, new in _OLD_NAMES.items():
            if short.endswith(old):
                short = short.removesuffix(old) + new
        if short in renamed:
            raise CheckpointError(f"{name} is there twice, under an old and a new name", where=where)
        renamed[short] = tensor
    return renamed


def _take(
    tensors: dict[str, Tensor], table: Mapping[str, str], part: str, where: str
) -> dict[str, Tensor] | None:
    """Take a whole part out of the tensors, under our names; None where nothing of it is there."""
    present = [name for name in table if name in tensors]
    if not present:
        return None
    missing = [name for name in table if name not in tensors]
    if missing:
        raise CheckpointError(
            f"of its {part} {len(missing)} tensors are missing: {listed(missing)}", where=where
        )
    return {table[name]: tensors.pop(name) for name in present}


def _untied(decoder: Tensor | None, copy: Tensor | None, bias: Tensor, encoder: Encoder) -> bool:
    words = encoder.state_dict()["embeddings.word_embeddings.weight"]
    if decoder is not None and not (
        decoder.shape == words.shape and torch.equal(decoder.to(words.dtype), words)
    ):
        return True
    return copy is not None and not torch.equal(copy, bias)


def _filled(module: _Part, tensors: Mapping[str, Tensor], directory: Path) -> _Part:
    module = module.to_empty(device="cpu")
    fill(module.state_dict(), tensors, str(directory))
    return module.eval()


def _find(name_or_dir: str | Path) -> Path:
    path = Path(name_or_dir).expanduser()
    if path.is_dir():
        return path
    if path.exists():
        raise CheckpointError("is a file; a checkpoint's directory is needed", where=str(path))
    if isinstance(name_or_dir, Path) or path.is_absolute() or str(name_or_dir).startswith((".", "~")):
        raise CheckpointError("no such directory", where=str(path))
    return _download(name_or_dir)


def _download(name: str) -> Path:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError

    try:
        directory = Path(snapshot_download(name, allow_patterns=list(_SAFE_FILES)))
        if not any((directory / file).is_file() for file in (SAFETENSORS, f"{SAFETENSORS}.index.json")):
            directory = Path(snapshot_download(name, allow_patterns=[*_SAFE_FILES, *_PICKLES]))
    except (OSError, HFValidationError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise CheckpointError(
            f"neither a directory nor to be had from the hub: {reason}",
            where=name,
            hint="check the name and the network, or give a directory",
        ) from error
    return directory

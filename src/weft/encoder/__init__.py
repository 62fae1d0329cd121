"""BERT-family encoders with one seam for structure; checkpoints in and out."""

from typing import TYPE_CHECKING

from weft.platform.lazy import lazily

if TYPE_CHECKING:
    from weft.encoder.checkpoint.pretrained import Pretrained, load_pretrained
    from weft.encoder.checkpoint.storage import load_model, load_weights, read_config, save_model
    from weft.encoder.checkpoint.tokenizer import load_tokenizer
    from weft.encoder.config import EncoderConfig
    from weft.encoder.embeddings import Embeddings, TokenEmbeddings, TokenInputs
    from weft.encoder.encoder import PLAIN, Encoder, EncoderOutput
    from weft.encoder.heads import ClassificationHead, MLMHead, SBOHead
    from weft.encoder.pooling import ClsPooler, GatePooler, MeanPooler, Pooling, build_pooler

__all__ = [
    "PLAIN",
    "ClassificationHead",
    "ClsPooler",
    "Embeddings",
    "Encoder",
    "EncoderConfig",
    "EncoderOutput",
    "GatePooler",
    "MLMHead",
    "MeanPooler",
    "Pooling",
    "Pretrained",
    "SBOHead",
    "TokenEmbeddings",
    "TokenInputs",
    "build_pooler",
    "load_model",
    "load_pretrained",
    "load_tokenizer",
    "load_weights",
    "read_config",
    "save_model",
]

__getattr__, __dir__ = lazily(
    __name__,
    {
        **dict.fromkeys(("Pretrained", "load_pretrained"), "checkpoint.pretrained"),
        **dict.fromkeys(("load_model", "load_weights", "read_config", "save_model"), "checkpoint.storage"),
        "load_tokenizer": "checkpoint.tokenizer",
        "EncoderConfig": "config",
        **dict.fromkeys(("Embeddings", "TokenEmbeddings", "TokenInputs"), "embeddings"),
        **dict.fromkeys(("Encoder", "EncoderOutput", "PLAIN"), "encoder"),
        **dict.fromkeys(("ClassificationHead", "MLMHead", "SBOHead"), "heads"),
        **dict.fromkeys(("ClsPooler", "GatePooler", "MeanPooler", "Pooling", "build_pooler"), "pooling"),
    },
)

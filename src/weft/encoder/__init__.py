"""BERT-family encoders with one seam for structure; checkpoints in and out."""

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

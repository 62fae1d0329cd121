"""BERT-family encoders with one seam for structure; checkpoints in and out."""

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
    "SBOHead",
    "TokenEmbeddings",
    "TokenInputs",
    "build_pooler",
]

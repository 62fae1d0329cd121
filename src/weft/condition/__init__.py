"""The learnt parts that turn structure into attention terms and embeddings."""

from weft.condition.conditioner import Conditioner, Stack
from weft.condition.decay import DistanceDecay
from weft.condition.gat import AttentionPooling, GATEncoder, GATLayer, IncomingEdges, segment_softmax
from weft.condition.hgat import HGAT
from weft.condition.prefix import KVPrefix, Register
from weft.condition.quasi import QuasiConfig, QuasiContext, QuasiStructure

__all__ = [
    "HGAT",
    "AttentionPooling",
    "Conditioner",
    "DistanceDecay",
    "GATEncoder",
    "GATLayer",
    "IncomingEdges",
    "KVPrefix",
    "QuasiConfig",
    "QuasiContext",
    "QuasiStructure",
    "Register",
    "Stack",
    "segment_softmax",
]


def __dir__() -> list[str]:
    return __all__

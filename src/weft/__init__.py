"""weft: structure woven into the attention of BERT-family encoders.

``weft.bcsd``, ``weft.kg``, ``weft.absa`` are the tools, ``weft.attention`` and the others the core; each is imported
when it is first used, and ``dir()`` of each lists what is public.
"""

from typing import TYPE_CHECKING

from weft.platform.lazy import lazily

if TYPE_CHECKING:
    from weft import absa, attention, bcsd, condition, encoder, errors, graph, kg, objective, train

__version__ = "0.1.0"
__all__ = [
    "__version__",
    "absa",
    "attention",
    "bcsd",
    "condition",
    "encoder",
    "errors",
    "graph",
    "kg",
    "objective",
    "train",
]

__getattr__, __dir__ = lazily(__name__, {name: "" for name in __all__ if name != "__version__"})

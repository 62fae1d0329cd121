"""Knowledge graphs from text and code: read → represent → model → extract → store → evaluate."""

from typing import TYPE_CHECKING

from weft.platform.lazy import lazily

if TYPE_CHECKING:
    from weft.kg import extract, store
    from weft.kg.extract.facts import Extractor
    from weft.kg.store.graph import Graph

__all__ = ["Extractor", "Graph", "extract", "store"]

__getattr__, __dir__ = lazily(
    __name__, {"Extractor": "extract.facts", "Graph": "store.graph", "extract": "", "store": ""}
)

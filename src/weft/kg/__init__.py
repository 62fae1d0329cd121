"""Knowledge graphs from text and code: read → represent → model → extract → store → evaluate.

::

    weft.kg.extract("src", "facts")
    graph = weft.kg.store("facts")
    graph.facts(graph.entity("Extractor"))
"""

from typing import TYPE_CHECKING

from weft.platform.lazy import lazily

if TYPE_CHECKING:
    from weft.kg.extraction.extract import Extraction, extract
    from weft.kg.extraction.facts import Extractor
    from weft.kg.storage.graph import Graph

    store = Graph.load
    """The kept facts of a store and where they come from: see :meth:`Graph.load`."""

__all__ = ["Extraction", "Extractor", "Graph", "extract", "store"]

__getattr__, __dir__ = lazily(
    __name__,
    {
        "Extraction": "extraction.extract",
        "Extractor": "extraction.facts",
        "Graph": "storage.graph",
        "extract": "extraction.extract",
        "store": "storage.graph:Graph.load",
    },
)

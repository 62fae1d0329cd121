"""Documents read on a Ray cluster, and committed here, by the one writer; the documents themselves are sent there."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from weft.kg.extraction.corpus import Loader, Reader, Reading, Source, loaded
from weft.platform.processes import Outcome
from weft.platform.processes.cluster import Cluster

_BLOCK = 8
"""Most documents that an actor reads before they are sent back."""


class ClusterReadings:
    """Reads documents on the nodes of a cluster; what ``extract_corpus`` takes as ``readings``.

    Args:
        loader: Loads the model on each node; it, and the seeds of a model of text, must lie at the same paths there.
        cluster: Where.
    """

    def __init__(self, loader: Loader, cluster: Cluster) -> None:
        self._loader = loader
        self._cluster = cluster

    def __call__(self, sources: Iterator[Source], reader: Reader) -> Iterator[Outcome[Source, Reading]]:
        """Read documents, each given back once.

        Args:
            sources: The documents.
            reader: Not asked: every node loads its own.

        Raises:
            WeftError: The cluster failed.
        """
        return self._cluster.run(partial(loaded, self._loader), sources, _BLOCK)

"""Documents read on a Ray cluster, and committed here, by the one writer; the documents themselves are sent there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from weft.kg.extraction.corpus import Loader, Reader, Reading, Source, reading_of
from weft.platform.cluster import Cluster

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

    def __call__(self, sources: Iterator[Source], reader: Reader) -> Iterator[tuple[Source, Reading]]:
        """Read documents, each given back once.

        Args:
            sources: The documents.
            reader: Not asked: every node loads its own.

        Raises:
            WeftError: The cluster failed.
        """
        for outcome in self._cluster.run(partial(_loaded, self._loader), sources, _BLOCK):
            if outcome.value is not None:
                yield outcome.item, outcome.value
            elif outcome.error is not None:
                yield outcome.item, Reading("failed", [], outcome.error.what)


def _loaded(loader: Loader) -> Callable[[Source], Reading]:
    return partial(reading_of, loader())

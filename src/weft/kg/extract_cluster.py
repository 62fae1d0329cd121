"""Documents read on a Ray cluster by Ray Data, and committed here, by the one writer.

The model, and the seeds of a model of text, must lie at the same paths on every node; the documents themselves
are sent there.
"""

from __future__ import annotations

import logging
import pickle
import socket
from collections.abc import Iterator
from importlib import import_module
from itertools import islice
from typing import Any
from urllib.parse import urlsplit

from weft.errors import ConfigError, MissingExtraError, WeftError
from weft.kg.extract_corpus import Loader, Reader, Reading, Source, reading_of

_WAVE = 2_000
"""Documents sent to the cluster at a time: a corpus need not fit its memory."""
_BLOCK = 8
"""Most documents that an actor reads before they are sent back."""


class ReadOnNode:
    """What an actor of Ray does with documents.

    Args:
        loader: Loads the model.
    """

    def __init__(self, loader: Loader) -> None:
        self._reader = loader()

    def __call__(self, batch: dict[str, Any]) -> dict[str, list[Any]]:
        """Read the pickled documents of a batch."""
        sources = [pickle.loads(source) for source in batch["source"]]  # noqa: S301 - pickled by this run
        readings = [reading_of(self._reader, source) for source in sources]
        return {
            "number": [int(number) for number in batch["number"]],
            "reading": [pickle.dumps(reading) for reading in readings],
        }


class Cluster:
    """Reads documents on the nodes of a Ray cluster; what ``extract_corpus`` takes as ``readings``.

    Args:
        loader: Loads the model on each node.
        address: Of the cluster; ``"local"`` starts one on this machine, unless one is connected.
        workers: Most actors, of one processor each; as many as the cluster has processors where None.

    Raises:
        MissingExtraError: Ray is not installed.
        ConfigError: No cluster at that address, or no worker.
    """

    def __init__(self, loader: Loader, address: str, workers: int | None = None) -> None:
        try:
            # By name: a type checker need not have the extra.
            self._ray: Any = import_module("ray")
            import_module("ray.data")
        except ModuleNotFoundError as error:
            raise MissingExtraError("ray", "scale") from error
        if not self._ray.is_initialized():
            _reach(address)
            try:
                self._ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
            except (ConnectionError, ValueError, RuntimeError) as error:
                first = str(error).strip().partition("\n")[0]
                raise ConfigError(f"no Ray cluster at {address!r}: {first}") from error
        self._loader = loader
        self._workers = int(self._ray.cluster_resources().get("CPU", 1)) if workers is None else workers
        if self._workers < 1:
            raise ConfigError(f"workers is {workers}; it must be at least 1")

    def __call__(self, sources: Iterator[Source], reader: Reader) -> Iterator[tuple[Source, Reading]]:
        """Read documents, each given back once, in the order in which they are finished.

        Args:
            sources: The documents.
            reader: Not asked: every node loads its own.

        Raises:
            WeftError: The cluster failed.
        """
        while wave := dict(enumerate(islice(sources, _WAVE))):
            try:
                for row in self._rows(wave):
                    # A node that is lost has its documents read again: the first answer counts.
                    source = wave.pop(row["number"], None)
                    if source is not None:
                        yield source, pickle.loads(row["reading"])  # noqa: S301 - pickled by this run
            except self._ray.exceptions.RayError as error:
                raise WeftError(
                    f"the Ray cluster failed: {str(error).strip().splitlines()[-1]}",
                    hint="what was finished is kept and the next run goes on; the model must lie at the same path on "
                    "every node",
                ) from error
            if wave:
                raise WeftError(
                    f"the Ray cluster gave {len(wave)} documents no answer", hint="the next run goes on"
                )

    def _rows(self, wave: dict[int, Source]) -> Iterator[dict[str, Any]]:
        data = self._ray.data
        data.DataContext.get_current().enable_progress_bars = False
        items = [{"number": number, "source": pickle.dumps(source)} for number, source in wave.items()]
        # Small blocks: a document is committed when its block is through.
        blocks = max(-(-len(items) // _BLOCK), min(len(items), self._workers))
        done = data.from_items(items, override_num_blocks=blocks).map_batches(
            ReadOnNode,
            fn_constructor_args=(self._loader,),
            batch_size=None,
            batch_format="numpy",
            concurrency=(1, self._workers),
        )
        return done.iter_rows()


def _reach(address: str) -> None:
    """Knock at an address of host and port: Ray itself goes on trying for minutes."""
    try:
        parts = urlsplit(address if "//" in address else f"//{address}")
        if parts.hostname is not None and parts.port is not None:
            socket.create_connection((parts.hostname, parts.port), timeout=10).close()
    except (OSError, ValueError) as error:
        raise ConfigError(f"no Ray cluster at {address!r}: {error}") from error

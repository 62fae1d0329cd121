"""Work on the nodes of a Ray cluster, spread by Ray Data; each item comes back once, in order.

Ray has no limit of time or memory per item: an item that needs one belongs into
:func:`weft.platform.processes.run_bounded`. What is loaded on a node must lie at the same path on every node.
"""

from __future__ import annotations

import logging
import pickle
import socket
import time
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from itertools import islice
from typing import Any, TypeVar
from urllib.parse import urlsplit

from weft.errors import ConfigError, MissingExtraError, WeftError
from weft.platform.processes.bounded import Outcome, answered

Item = TypeVar("Item")
Value = TypeVar("Value")

_WAVE = 2_000
"""Items sent to the cluster at a time: all of them need not fit its memory."""


class Cluster:
    """A Ray cluster.

    Args:
        address: Of the cluster; ``"local"`` starts one on this machine, unless one is connected.
        workers: Most actors, of one processor each; as many as the cluster has processors where None.

    Raises:
        MissingExtraError: Ray is not installed.
        ConfigError: No cluster at that address, or no worker.
    """

    def __init__(self, address: str, workers: int | None = None) -> None:
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
        self._workers = int(self._ray.cluster_resources().get("CPU", 1)) if workers is None else workers
        if self._workers < 1:
            raise ConfigError(f"workers is {workers}; it must be at least 1")

    def run(
        self, load: Callable[[], Callable[[Item], Value]], items: Iterable[Item], block: int = 1
    ) -> Iterator[Outcome[Item, Value]]:
        """Work on every item.

        Args:
            load: Called once by each actor, on its node: gives what is called with each item. Pickled, as the items
                and the values are.
            items: What to work on; not asked for faster than they are worked on.
            block: Most items of an actor before their values are sent back.

        Yields:
            One outcome per item.

        Raises:
            WeftError: The cluster failed, or a model could not be loaded on a node.
        """
        waiting = iter(items)
        while wave := dict(enumerate(islice(waiting, _WAVE))):
            try:
                for row in self._rows(load, wave, block):
                    # A node that is lost has its items worked on again: the first answer counts.
                    if row["number"] in wave:
                        value, error = pickle.loads(row["answer"])  # noqa: S301 - pickled by this run
                        yield Outcome(wave.pop(row["number"]), value, error, row["seconds"])
            except self._ray.exceptions.RayError as error:
                raise WeftError(
                    f"the Ray cluster failed: {str(error).strip().splitlines()[-1]}",
                    hint="what is loaded there must lie at the same path on every node",
                ) from error
            if wave:
                raise WeftError(f"the Ray cluster gave {len(wave)} of the items no answer")

    def _rows(
        self, load: Callable[[], Callable[[Any], Any]], wave: dict[int, Any], block: int
    ) -> Iterator[dict[str, Any]]:
        data = self._ray.data
        context = data.DataContext.get_current()
        context.enable_progress_bars = False
        context.execution_options.preserve_order = True
        rows = [{"number": number, "item": pickle.dumps(item)} for number, item in wave.items()]
        done = data.from_items(
            rows, override_num_blocks=max(-(-len(rows) // block), min(len(rows), self._workers))
        ).map_batches(
            OnNode,
            fn_constructor_args=(load,),
            batch_size=None,
            batch_format="numpy",
            concurrency=(1, self._workers),
        )
        return done.iter_rows()


class OnNode:
    """What an actor of Ray does with a block of items.

    Args:
        load: See :meth:`Cluster.run`.
    """

    def __init__(self, load: Callable[[], Callable[[Any], Any]]) -> None:
        self._work = load()

    def __call__(self, batch: dict[str, Any]) -> dict[str, list[Any]]:
        """The answers to the pickled items of a block."""
        answers, seconds = [], []
        for packed in batch["item"]:
            begun = time.perf_counter()
            item = pickle.loads(packed)  # noqa: S301 - pickled by this run
            answers.append(answered(self._work, item, "the memory of its node"))
            seconds.append(time.perf_counter() - begun)
        return {
            "number": [int(number) for number in batch["number"]],
            "answer": answers,
            "seconds": seconds,
        }


def _reach(address: str) -> None:
    """Knock at an address of host and port: Ray itself goes on trying for minutes."""
    try:
        parts = urlsplit(address if "//" in address else f"//{address}")
        if parts.hostname is not None and parts.port is not None:
            socket.create_connection((parts.hostname, parts.port), timeout=10).close()
    except (OSError, ValueError) as error:
        raise ConfigError(f"no Ray cluster at {address!r}: {error}") from error

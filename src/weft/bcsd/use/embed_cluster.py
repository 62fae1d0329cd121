"""Files to embedded functions on a Ray cluster: the callable of :mod:`weft.bcsd.use.embed_files`, spread by Ray Data.

The files must lie at the same paths on every node. Ray has no limit of time or memory per file: a file that
needs one belongs into ``embed_files``.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow as pa
import torch

from weft.bcsd.use.embed_files import Embedding, EmbedFile, EmbedReport, embedder_of, write_embedded
from weft.bcsd.use.extract_files import find_binaries
from weft.errors import InputError, MissingExtraError, WeftError


class EmbedOnNode:
    """What an actor of Ray does with one file: its rows as an Arrow stream, or what was wrong.

    Args:
        options: How.
    """

    def __init__(self, options: Embedding) -> None:
        torch.set_num_threads(1)
        self._embed = EmbedFile(options)

    def __call__(self, batch: dict[str, Any]) -> dict[str, list[Any]]:
        """Embed the one path of a batch."""
        begun = time.perf_counter()
        (path,) = batch["path"]
        rows, error = b"", ""
        try:
            rows = _packed(self._embed(str(path)))
        except WeftError as failure:
            error = str(failure)
        except Exception as failure:  # noqa: BLE001 - an untrusted file may break a parser in any way; the run goes on
            error = f"{path}: cannot be analysed ({type(failure).__name__}: {failure})"
        seconds = time.perf_counter() - begun
        return {"path": [str(path)], "rows": [rows], "error": [error], "seconds": [seconds]}


def embed_on_cluster(
    paths: Sequence[str],
    output: Path,
    options: Embedding,
    address: str,
    progress: Callable[[EmbedReport], None] = lambda report: None,
) -> list[EmbedReport]:
    """As :func:`weft.bcsd.use.embed_files.embed_files`, on the nodes of a Ray cluster.

    Args:
        paths: Files and folders, at the same place on every node.
        output: The table to write, on this machine.
        options: How; ``workers`` actors in all.
        address: Of the cluster; ``"local"`` starts one on this machine, unless one is connected.
        progress: Called after each file.

    Returns:
        One report per file, in order.

    Raises:
        MissingExtraError: Ray is not installed.
        InputError: A path that cannot be worked on at all.
        CheckpointError: The model cannot be loaded.
        StoreError: The output cannot be written.
    """
    try:
        # By name: a type checker need not have the extra.
        ray: Any = import_module("ray")
        import_module("ray.data")
    except ModuleNotFoundError as error:
        raise MissingExtraError("ray", "scale") from error
    files = find_binaries(paths)
    embedder_of(options.model, options.precision)
    if not ray.is_initialized():
        ray.init(address=address, log_to_driver=False)
    context = ray.data.DataContext.get_current()
    context.execution_options.preserve_order = True
    context.enable_progress_bars = False
    dataset = ray.data.from_items([{"path": path} for path in files], override_num_blocks=len(files))
    done = dataset.map_batches(
        EmbedOnNode,
        fn_constructor_args=(options,),
        batch_size=1,
        batch_format="numpy",
        concurrency=options.workers,
    )

    def each() -> Iterator[tuple[EmbedReport, pa.Table | None]]:
        for row in done.iter_rows():
            error = InputError(row["error"]) if row["error"] else None
            table = None if error else pa.ipc.open_stream(row["rows"]).read_all()
            yield EmbedReport(row["path"], table.num_rows if table else 0, error, row["seconds"]), table

    return write_embedded(each(), output, options, progress)


def _packed(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()

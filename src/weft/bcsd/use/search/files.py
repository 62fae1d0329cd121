"""Searching an index for the functions of a file."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from weft.bcsd.index.store import FunctionStore
from weft.bcsd.index.update import check_model, in_step, not_compared
from weft.bcsd.presence.model import presence_of
from weft.bcsd.use.embed_files import Embedding
from weft.bcsd.use.embed_one import embed_one
from weft.bcsd.use.named import find, score_weights
from weft.bcsd.use.remarks import NOT_FITTED
from weft.bcsd.use.search.answers import SMALL, Answer
from weft.bcsd.use.search.doubts import doubts
from weft.bcsd.use.search.searcher import Searcher
from weft.errors import WeftError
from weft.platform.ranges import at_least


class Found(NamedTuple):
    """A search of a file.

    Args:
        model: The version of the model.
        rows: Functions of the index.
        answers: One for each function asked for, with its hits; they come as they are found, and once.
        remarks: What a reader should know.
    """

    model: str
    rows: int
    answers: Iterator[Answer]
    remarks: tuple[str, ...] = ()


def search_file(
    path: str | Path,
    function: str | None,
    index: str | Path,
    options: Embedding | None = None,
    count: int = 10,
    min_blocks: int = SMALL,
) -> Found:
    """Search an index for the functions of a file.

    Args:
        path: The file.
        function: One of its functions, by name or address; None for all of at least ``min_blocks`` blocks.
        index: The index.
        options: How to embed; the model must be the one that made the index.
        count: Hits per function.
        min_blocks: See :meth:`Searcher.search`.

    Returns:
        What was found; its ``answers`` come once: ``list(found.answers)`` keeps them.

    Raises:
        ConfigError: ``count`` is below 1, or ``min_blocks`` below 0.
        InputError: The file cannot be used, there is no such function, nothing to search for, or no such index.
        LimitError: The file took too long or too much memory.
        CheckpointError: The model cannot be loaded.
        StoreError: The folder is no index, was made with another model, or is damaged.
    """
    found = look_up(path, function, index, options, count, min_blocks)
    if function is not None:
        return found
    answers = list(found.answers)
    return found._replace(answers=iter(answers), remarks=(*found.remarks, *doubts(answers)))


def look_up(
    path: str | Path,
    function: str | None,
    index: str | Path,
    options: Embedding | None = None,
    count: int = 10,
    min_blocks: int = SMALL,
) -> Found:
    """The same as :func:`search_file`, without a remark on hits that may be chance."""
    at_least(1, count=count)
    at_least(0, min_blocks=min_blocks)
    path, index = str(path), Path(index)
    asked = options or Embedding()
    options = in_step(index, asked)
    directory = find(options.model)
    weights = score_weights(directory)
    of_file: list[str] = []
    with ThreadPoolExecutor(1) as pool:
        # The index is opened while a process embeds the file; what is wrong with it is told first.
        opening = pool.submit(lambda: Searcher(FunctionStore.open(index), weights))
        try:
            queries = embed_one(path, replace(options, min_blocks=min_blocks), function, of_file)
        except WeftError:
            opening.result()
            raise
        searcher = opening.result()
    version = queries.schema.metadata[b"weft.model"].decode()
    check_model(index, version)
    searcher.presence, fitted = presence_of(directory, version)
    remarks = [*([] if fitted else [NOT_FITTED]), *not_compared(index, asked)]
    answers = searcher.search(queries, count, min_blocks)
    return Found(version, searcher.rows, answers, (*remarks, *of_file))

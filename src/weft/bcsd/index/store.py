"""The table of an index: LanceDB on disk, with the few operations that indexing and searching need.

Every method that changes the table is one commit of Lance: a new version that exists whole or not at all. A
process that is killed leaves at most files that no version names.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa

from weft.bcsd.index.engine import lancedb
from weft.bcsd.index.failures import as_store_error
from weft.bcsd.index.packed import PACKED, to_read, unpack
from weft.bcsd.index.rows import DEBUG_FILES, ORIGIN, IndexedFile, Near, row_schema, to_store
from weft.bcsd.represent.sketch import COLUMN as SKETCH
from weft.errors import MissingExtraError, StoreError

if TYPE_CHECKING:
    from numpy.typing import NDArray

TABLE = "functions"
#: Up to so many rows a search compares with all of them.
EXACT_ROWS = 200_000
#: The approximate index has a list for so many rows, and reads so many lists: a million rows take as long as 200,000.
_ROWS_PER_LIST = 800
_PROBES = 64
#: Times as many of the nearest rows as are wanted, among which there should be enough of the right size.
_MORE = 3
#: Rows for each list that its middle is learnt from, and rounds of learning: with more, a million rows take an hour.
_SAMPLED, _ROUNDS = 64, 15
#: Times as many of the smallest draws as a sample has rows: hardly any function stands there so often.
_SMALLEST = 8
#: Rows that a pass over all of them hands over at once: by the thousand it takes twenty times as long.
_BATCH = 1 << 16
#: Threads that ask the engine at once.
_AT_ONCE = 2
#: What an approximate index is called behind the column that it is of, before its number of lists.
_LISTS = "_lists_"
#: The columns that have one, and how near is measured: a sketch of nothing is near to nothing.
_NEAR: dict[str, Literal["cosine", "dot"]] = {"embedding": "cosine", SKETCH: "dot"}
#: Old versions stay this long for searches that began with them.
_KEPT = timedelta(hours=1)


class FunctionStore:
    """The rows of an index.

    Args:
        folder: The index.
        table: Lance's table, at one version.
    """

    def __init__(self, folder: Path, table: Any) -> None:
        self.folder = folder
        self._table = table

    @staticmethod
    def open(folder: Path) -> FunctionStore:
        """Open the table as it is now; later commits of others are not seen.

        Raises:
            StoreError: There is none, or it is damaged.
            MissingExtraError: LanceDB is not installed.
        """
        if not any(_versions(folder)):
            raise StoreError(
                "it has no table: the first `index add` was stopped too early, or the table was removed",
                where=str(folder),
                hint="run `weft bcsd index add` again",
            )
        with as_store_error(folder, "read"):
            return FunctionStore(folder, _connect(folder).open_table(TABLE))

    @staticmethod
    def open_or_create(folder: Path, dimension: int, model: str) -> FunctionStore:
        """Open the table for writing; make it where there has never been a version of it.

        Raises:
            OutputError: It cannot be written. A damaged one is a StoreError.
            MissingExtraError: LanceDB is not installed.
        """
        if any(_versions(folder)):
            return FunctionStore.open(folder)
        if any((folder / f"{TABLE}.lance").glob("data/*")):
            raise StoreError(
                "its table is damaged: no version is left", where=str(folder), hint="make the index anew"
            )
        with as_store_error(folder, "written"):
            created = _connect(folder).create_table(TABLE, schema=row_schema(dimension, model))
        return FunctionStore(folder, created)

    def __len__(self) -> int:
        with as_store_error(self.folder, "read"):
            return int(self._table.count_rows())

    def files(self) -> dict[str, IndexedFile]:
        """The files of the index by path, in the order of their paths.

        Raises:
            StoreError: The table is damaged.
        """
        columns = ["binary", "binary_sha256", "architecture"]
        rows = self._scan(columns).group_by(columns).aggregate([([], "count_all")])
        files = [IndexedFile(*row.values()) for row in rows.select([*columns, "count_all"]).to_pylist()]
        return {file.binary: file for file in sorted(files)}

    def replace(self, rows: pa.Table, gone: Iterable[str] = ()) -> None:
        """Put in the rows of whole files, in one commit.

        Args:
            rows: Of :func:`weft.bcsd.use.embedded.embedded_schema`: all functions of some files.
            gone: The files among them that have rows already, which go.

        Raises:
            OutputError: They cannot be written; the table is as before. A damaged table is a StoreError.
        """
        stored = to_store(rows)
        # An index that was made before functions were lifted, libraries named, or lists packed, has no columns for it.
        stored = stored.select([name for name in stored.column_names if name in self._table.schema.names])
        replaced = _in("binary", gone)
        with as_store_error(self.folder, "written"):
            if not replaced:
                self._table.add(stored)
                return
            (
                self._table.merge_insert(["binary", "ordinal"])
                .when_matched_update_all()
                .when_not_matched_insert_all()
                .when_not_matched_by_source_delete(replaced)
                .execute(stored)
            )

    def know_debug_files(self) -> None:
        """Give an index that was made without it the column :data:`DEBUG_FILES`; an OutputError if it cannot."""
        if DEBUG_FILES not in self._table.schema.names:
            with as_store_error(self.folder, "written"):
                self._table.add_columns(pa.field(DEBUG_FILES, pa.string()))

    def debug_files(self) -> dict[str, str]:
        """What :data:`DEBUG_FILES` says of each file, where it says anything; a StoreError if the table is damaged."""
        if DEBUG_FILES not in self._table.schema.names:
            return {}
        rows = self._scan(["binary", DEBUG_FILES], where=f"{DEBUG_FILES} IS NOT NULL")
        return dict(zip(*(rows[name].to_pylist() for name in ("binary", DEBUG_FILES)), strict=True))

    @property
    def names_libraries(self) -> bool:
        """Whether it has columns for libraries: indices made before there were any have none."""
        return set(ORIGIN) <= set(self._table.schema.names)

    def libraries(self) -> pa.Table:
        """The columns :data:`ORIGIN` and ``binary`` of each row.

        Raises:
            StoreError: The table is damaged, or names no libraries.
        """
        if not self.names_libraries:
            what = "it does not say of which library a function is"
            raise StoreError(what, where=str(self.folder), hint="`weft bcsd index build` makes one that does")
        return self._scan([*ORIGIN, "binary"])

    def rows_of(self, binaries: Iterable[str]) -> pa.Table:
        """All rows of these files, file by file, to be put into another table; a StoreError if it is damaged."""
        rows = self._scan(self._table.schema.names, where=_in("binary", binaries))
        return rows.sort_by([("binary", "ascending"), ("ordinal", "ascending")])

    def remove(self, binaries: Iterable[str]) -> None:
        """Take out all rows of these files, in one commit.

        Raises:
            OutputError: The table cannot be written; it is as before. A damaged table is a StoreError.
        """
        if condition := _in("binary", binaries):
            with as_store_error(self.folder, "written"):
                self._table.delete(condition)

    def tidy(self, exact_rows: int = EXACT_ROWS) -> None:
        """Join small pieces, drop old versions, and keep the approximate index in step.

        Args:
            exact_rows: A table with more rows than this gets one.

        Raises:
            OutputError: It cannot be written; no row is lost. A damaged table is a StoreError.
        """
        rows, wanted = len(self), _lists(len(self))
        with as_store_error(self.folder, "written"):
            lifted = self._table.count_rows("operations IS NOT NULL") if SKETCH in self._vectors() else 0
            for column in self._vectors()[: 2 if lifted else 1]:
                held = self._neighbours(column)
                # Rows that come in go to the lists that there are; once these are four times too long, they are made
                # anew.
                if rows > exact_rows and wanted >= 4 * max(held.values(), default=0):
                    from lancedb.index import IvfFlat

                    config = IvfFlat(
                        distance_type=_NEAR[column],
                        num_partitions=wanted,
                        sample_rate=_SAMPLED,
                        max_iterations=_ROUNDS,
                    )
                    self._table.create_index(column, config=config, name=f"{column}{_LISTS}{wanted}")
                    held = self._neighbours(column)
                for name in sorted(held, key=held.__getitem__)[:-1]:
                    self._table.drop_index(name)
            self._table.optimize(cleanup_older_than=_KEPT)

    def _vectors(self) -> list[str]:
        """The columns of vectors that it has: an index made before functions were sketched has one."""
        return [name for name in _NEAR if name in self._table.schema.names]

    @property
    def lists(self) -> int:
        """Lists of the approximate index; 0 where there is none."""
        with as_store_error(self.folder, "read"):
            return max(self._neighbours("embedding").values(), default=0)

    @property
    def has_neighbours(self) -> bool:
        """Whether there is an approximate index."""
        return self.lists > 0

    def _neighbours(self, column: str) -> dict[str, int]:
        """The approximate indices of a column and their lists; there are two where a writer was killed."""
        named = [index.name for index in self._table.list_indices() if column in index.columns]
        # Before they were named for it, they had 256.
        lists = [name.partition(_LISTS)[2] for name in named]
        return {name: int(number) if number else 256 for name, number in zip(named, lists, strict=True)}

    def vectors(self) -> Near:
        """All rows for an exact search.

        Raises:
            StoreError: The table is damaged: it cannot be read, or a vector in it is not of length 1.
        """
        return self._checked(self._scan([*self._vectors(), "num_blocks"], row_id=True))

    def rows(self) -> pa.Table:
        """All rows with all their columns and ids, for a searcher that keeps them in memory.

        Raises:
            StoreError: As :meth:`vectors`.
        """
        names = [name for name in self._table.schema.names if name not in (PACKED, DEBUG_FILES)]
        table = self._scan(names, row_id=True).combine_chunks()
        self._checked(table)
        return table

    def _checked(self, table: pa.Table) -> Near:
        from weft.bcsd.use.embedded import embeddings_of, sketches_of

        embeddings = embeddings_of(table)
        lengths = np.einsum("ij,ij->i", embeddings, embeddings)
        if not np.all(np.abs(lengths - 1) < 0.01):
            raise StoreError(
                "its table is damaged: an embedding is not of length 1",
                where=str(self.folder),
                hint="make the index anew",
            )
        ids, blocks = table["_rowid"].to_numpy(), table["num_blocks"].to_numpy()
        return Near(ids, embeddings, blocks, sketches_of(table))

    def nearest(
        self,
        embedding: NDArray[np.float32],
        count: int,
        min_blocks: int,
        sketch: NDArray[np.float32] | None = None,
    ) -> list[int]:
        """Row ids of about the nearest rows, from the approximate indices.

        Args:
            embedding: ``(dimension,)``.
            count: How many.
            min_blocks: Rows with fewer blocks are passed over.
            sketch: ``(DIMENSION,)``: so many more are the nearest by it, where the rows have sketches.

        Raises:
            StoreError: The table is damaged.
        """
        asked = [
            (column, vector)
            for column, vector in zip(self._vectors(), (embedding, sketch), strict=False)
            # Without an index of its own a column would be read whole.
            if vector is not None and vector.any() and (column == "embedding" or self._neighbours(column))
        ]
        with as_store_error(self.folder, "read"), ThreadPoolExecutor(_AT_ONCE) as pool:
            found = list(pool.map(lambda one: self._near(one[0], one[1], count, min_blocks), asked))
        return list(dict.fromkeys(row_id for part in found for row_id in part))

    def _near(self, column: str, vector: NDArray[np.float32], count: int, min_blocks: int) -> list[int]:
        query = self._table.search(vector, vector_column_name=column).distance_type(_NEAR[column])
        query = query.nprobes(_PROBES).select(["_distance"]).with_row_id(True)
        # What is near is mostly of a like size. To leave out beforehand what is too small, the blocks of all rows are
        # read.
        for first in (True, False):
            some = query.where(f"num_blocks >= {int(min_blocks)}", prefilter=not first)
            found = some.limit(_MORE * count if first else count).to_arrow()["_rowid"].to_pylist()
            if len(found) >= count:
                break
        return found[:count]

    def take(self, row_ids: Sequence[int], without: Collection[str] = ()) -> pa.Table:
        """Rows by their ids, in the order of these.

        Args:
            row_ids: Which.
            without: Columns that nobody will look at: each costs as much as a good part of the search.

        Raises:
            StoreError: The table is damaged.
        """
        there = self._table.schema.names
        wanted = to_read((name for name in there if name not in without), there)
        ids = list(row_ids)

        def part(columns: list[str]) -> pa.Table:
            return self._table.take_row_ids(ids).select(columns).with_row_id().to_arrow()

        # One call is one thread's work, for each column as much.
        with as_store_error(self.folder, "read"), ThreadPoolExecutor(_AT_ONCE) as pool:
            parts = pool.map(part, [wanted[turn::_AT_ONCE] for turn in range(_AT_ONCE)])
            first, *others = [rows.sort_by("_rowid") for rows in parts]
            columns = dict(zip(first.column_names, first.columns, strict=True))
            for other in others:
                columns |= zip(other.column_names, other.columns, strict=True)
            if PACKED in columns:
                columns |= unpack(columns.pop(PACKED))
            return pa.table(columns)

    def sample(self, count: int, min_blocks: int) -> list[int]:
        """Row ids of a sample that depends on what the table holds and not on how it came in.

        Args:
            count: How many, each with its own tokens.
            min_blocks: Rows with fewer blocks are passed over, where enough have more.

        Raises:
            StoreError: The table is damaged.
        """
        table = self._scan(["draw", "num_blocks"], row_id=True)
        draw, ids = table["draw"].to_numpy(), table["_rowid"].to_numpy()
        large = table["num_blocks"].to_numpy() >= min_blocks
        if large.sum() >= count:
            draw, ids = draw[large], ids[large]
        # Of a million only the smallest need be put in order; the largest of these may have its like among the others.
        first = some = np.zeros(0, np.int64)
        for few in (_SMALLEST * count, len(draw)):
            some = np.sort(np.argpartition(draw, few)[:few]) if few < len(draw) else np.arange(len(draw))
            _, first = np.unique(draw[some], return_index=True)
            if len(first) > count:
                break
        return ids[some[first[:count]]].tolist()

    def _scan(self, columns: list[str], row_id: bool = False, where: str = "") -> pa.Table:
        with as_store_error(self.folder, "read"):
            query = self._table.search().select(columns)
            query = query.where(where) if where else query
            found = query.with_row_id(True) if row_id else query
            return found.to_batches(batch_size=_BATCH).read_all()


def _versions(folder: Path) -> Iterator[Path]:
    """The versions of the table; each is whole, because it gets its name last."""
    return (folder / f"{TABLE}.lance").glob("_versions/*.manifest")


def _connect(folder: Path) -> Any:
    # The engine's own log would stand beside our one line; it is read from the environment when it is loaded.
    os.environ.setdefault("LANCEDB_LOG", "error")
    try:
        engine = lancedb()
    except ModuleNotFoundError as error:
        raise MissingExtraError("lancedb", "bcsd") from error
    return engine.connect(folder)


def _lists(rows: int) -> int:
    """Lists of the approximate index of so many rows; of a small one several, too."""
    return max(1, rows // _ROWS_PER_LIST, min(256, rows // 40))


def _in(column: str, values: Iterable[str]) -> str:
    """The condition that a column holds one of these values; empty where there are none."""
    quoted = ["'" + value.replace("'", "''") + "'" for value in values]
    return f"{column} IN ({', '.join(quoted)})" if quoted else ""

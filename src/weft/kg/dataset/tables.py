"""The Parquet tables of a data set."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType

import numpy as np

from weft.errors import InputError, MissingExtraError
from weft.kg.dataset.chunks import Chunk
from weft.kg.dataset.tokens import CodeTokenizer
from weft.kg.schema import Schema
from weft.platform.files import replaced_files
from weft.platform.reading import open_input

try:
    import pyarrow as pa
    import pyarrow.parquet as pq
except ImportError as error:
    raise MissingExtraError("pyarrow", "kg") from error

DOCUMENTS = pa.schema(
    [("path", pa.string()), ("module", pa.string()), ("split", pa.string()), ("sha256", pa.string())]
)
CHUNKS = pa.schema(
    [
        ("document", pa.int32()),
        ("start", pa.int32()),
        ("end", pa.int32()),
        ("ids", pa.list_(pa.uint16())),
        ("words", pa.list_(pa.uint8())),
    ]
)
TRIPLES = pa.schema(
    [
        ("chunk", pa.int32()),
        ("head_word", pa.uint8()),
        ("relation", pa.uint8()),
        ("tail", pa.list_(pa.uint16())),
        ("tail_word", pa.uint8()),
        ("offset", pa.int32()),
        ("origin", pa.uint8()),
    ]
)
MENTIONS = pa.schema(
    [
        ("document", pa.int32()),
        ("chunk", pa.int32()),
        ("word", pa.uint8()),
        ("first", pa.uint8()),
        ("length", pa.uint8()),
        ("entity", pa.int32()),
        ("name", pa.string()),
        ("type", pa.string()),
        ("start", pa.int32()),
        ("end", pa.int32()),
        ("text", pa.string()),
    ]
)
FACTS = pa.schema(
    [
        ("document", pa.int32()),
        ("head", pa.int32()),
        ("relation", pa.uint8()),
        ("tail", pa.int32()),
        ("chunks", pa.int32()),
    ]
)
SCHEMAS = {"documents": DOCUMENTS, "chunks": CHUNKS, "triples": TRIPLES}
TEXT_CHUNKS = CHUNKS.append(pa.field("cases", pa.list_(pa.uint8())))
TEXT_SCHEMAS = {**SCHEMAS, "chunks": TEXT_CHUNKS, "mentions": MENTIONS, "facts": FACTS}
"""Tables of a data set of text: where each entity is mentioned, and what is known of whole documents."""
TEXT_ALONE = (*(f"{name}.parquet" for name in TEXT_SCHEMAS if name not in SCHEMAS), "entities.json")
"""Files of a data set of text that one of code has not."""
_ROWS = 20_000


class TableWriter:
    """Writes a data set's tables row group by row group.

    Args:
        folder: Where to write them; complete only after the writer is closed.
        schemas: Which tables: :data:`SCHEMAS` or :data:`TEXT_SCHEMAS`.
    """

    def __init__(self, folder: Path, schemas: Mapping[str, pa.Schema] = SCHEMAS) -> None:
        self.folder, self.schemas = folder, schemas
        self.chunks = 0
        self.documents = 0
        self._rows: dict[str, list[tuple[object, ...]]] = {name: [] for name in schemas}
        self._writers: dict[str, pq.ParquetWriter] = {}
        self._stack = ExitStack()

    def add(
        self,
        path: str,
        module: str,
        split: str,
        text: str,
        chunks: list[Chunk],
        facts: Iterable[tuple[int, int, int, int]] = (),
    ) -> None:
        """Add a document with its chunks and, for text, its known facts ``(head, relation, tail, chunks)``."""
        self._put(
            "documents", (path, module, split, hashlib.sha256(text.encode(errors="replace")).hexdigest())
        )
        for chunk in chunks:
            ids, words = chunk.ids.astype(np.uint16), chunk.words.astype(np.uint8)
            row = (self.documents, int(chunk.starts.min()), int(chunk.ends.max()), ids, words)
            cases = () if chunk.cases is None else (chunk.cases.astype(np.uint8),)
            self._put("chunks", (*row, *cases))
            for triple in chunk.triples:
                self._put(
                    "triples",
                    (
                        self.chunks,
                        triple.head_word,
                        triple.relation,
                        triple.tail_ids,
                        triple.tail_word,
                        triple.offset,
                        triple.origin,
                    ),
                )
            if "mentions" in self.schemas:
                for mention in chunk.mentions:
                    self._put("mentions", (self.documents, self.chunks, *mention))
            self.chunks += 1
        for fact in facts:
            self._put("facts", (self.documents, *fact))
        self.documents += 1

    def _put(self, table: str, row: tuple[object, ...]) -> None:
        self._rows[table].append(row)
        if len(self._rows[table]) >= _ROWS:
            self._flush(table)

    def _flush(self, table: str) -> None:
        rows, schema = self._rows[table], self.schemas[table]
        columns = list(zip(*rows, strict=True)) if rows else [()] * len(schema)
        arrays = [pa.array(column, type=field.type) for column, field in zip(columns, schema, strict=True)]
        self._writers[table].write_table(pa.Table.from_arrays(arrays, schema=schema))
        rows.clear()

    def __enter__(self) -> TableWriter:
        with ExitStack() as stack:
            part = stack.enter_context(
                replaced_files(self.folder, [f"{name}.parquet" for name in self.schemas])
            )
            for name, schema in self.schemas.items():
                writer = pq.ParquetWriter(
                    part / f"{name}.parquet", schema, compression="zstd", compression_level=9
                )
                self._writers[name] = stack.enter_context(writer)
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._stack:
            if error is not None:
                raise error
            for name in self._writers:
                self._flush(name)


def read_table(folder: Path, name: str) -> pa.Table:
    """One table of a data set.

    Raises:
        InputError: The table is missing or has other columns.
    """
    path = folder / f"{name}.parquet"
    if path.exists():
        open_input(path).close()  # of a pipe the reader would wait for ever
    try:
        table = pq.read_table(path)
    except (OSError, pa.ArrowException) as error:
        raise InputError(
            f"no table can be read: {error}", where=str(path), hint="run `weft kg build`"
        ) from error
    known = [schemas[name].names for schemas in (TEXT_SCHEMAS, SCHEMAS) if name in schemas]
    if table.schema.names not in known:
        raise InputError(
            f"columns {table.schema.names}, not {known[0]}", where=str(path), hint="run `weft kg build` again"
        )
    return table


def complete(output: Path, tokenizer: CodeTokenizer, schema: Schema, foreign: Sequence[str]) -> None:
    """Put vocabulary and relations beside tables that are whole, and take out what only data of another kind has.

    A build that ends before leaves what stood there: never old tokens under a new vocabulary.
    """
    tokenizer.save(output / "tokenizer.json")
    schema.save(output / "schema.json")
    for name in foreign:
        (output / name).unlink(missing_ok=True)

"""An index of as many functions as one likes, made of those of a few files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from weft.bcsd.index.store import FunctionStore
from weft.bcsd.index.update import add
from weft.bcsd.represent.sketch import COLUMN as SKETCH
from weft.bcsd.use.embed_files import Embedding, embedder_of
from weft.bcsd.use.embedded import embeddings_of, sketches_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

_AT_ONCE = 50_000
_TO_A_FILE = 2_000
#: Cosines of a made function with the one that it is made of: from the other end of a library to a copy.
_ALIKE = (0.6, 0.999)


def made_index(index: Path, files: Sequence[Path], rows: int, options: Embedding) -> pa.Table:
    """Make an index of so many functions.

        e' = c · e + √(1 − c²) · u,  c uniform in :data:`_ALIKE`, u of length 1 and of chance

    e is the embedding of a function of the files, drawn with replacement, and its sketch is turned in the same way; its
    tokens, operations, calls, names and sizes stay as they are, so that rows are as long as real ones. Digests are new:
    no two made functions are taken for one.

    Args:
        index: The folder, which is new.
        files: Whose functions they are made of.
        rows: How many.
        options: The model.

    Returns:
        The functions of the files, which are not in the index: what may be asked for.

    Raises:
        InputError: No file can be used.
    """
    add([str(file) for file in files], index, options)
    embedder = embedder_of(options.model, options.precision)
    store = FunctionStore.open_or_create(index, embedder.dimension, embedder.version)
    held = sorted(store.files())
    base = store.take(store.sample(1 << 20, 0)).drop_columns(["_rowid", "ordinal", "draw"]).combine_chunks()
    for some in _made(base, rows):
        store.replace(some)
    store.remove(held)
    store.tidy()
    return base


def _made(base: pa.Table, rows: int) -> Iterator[pa.Table]:
    draw = np.random.default_rng(0)
    for first in range(0, rows, _AT_ONCE):
        count = min(_AT_ONCE, rows - first)
        some = base.take(pa.array(draw.integers(0, base.num_rows, count)))
        numbers = range(first, first + count)
        cosines = draw.uniform(*_ALIKE, (count, 1)).astype(np.float32)
        sketched = sketches_of(some)
        assert sketched is not None  # the index was made a moment ago
        # A function that was not lifted has a sketch of zeros, and keeps it.
        turned = np.where(sketched.any(axis=1, keepdims=True), _turned(sketched, cosines, draw), 0)
        marks = pa.array([f"{number:064x}" for number in numbers])
        for name, column in (
            ("embedding", _vectors(_turned(embeddings_of(some), cosines, draw))),
            (SKETCH, _vectors(turned.astype(np.float16))),
            ("digest", marks),
            ("token_digest", marks),
            ("binary", pa.array([f"/made/{number // _TO_A_FILE}.so" for number in numbers])),
        ):
            at = some.schema.get_field_index(name)
            some = some.set_column(at, some.schema.field(at), column.cast(some.schema.field(at).type))
        yield some


def _turned(
    old: NDArray[np.float32], cosines: NDArray[np.float32], draw: np.random.Generator
) -> NDArray[np.float32]:
    """Vectors of these cosines with the old ones."""
    other = draw.standard_normal(old.shape, np.float32)
    other -= np.einsum("ij,ij->i", other, old)[:, None] * old
    other /= np.linalg.norm(other, axis=1, keepdims=True)
    return cosines * old + np.sqrt(1 - cosines**2) * other


def _vectors(rows: NDArray[Any]) -> pa.Array:
    return pa.FixedSizeListArray.from_arrays(pa.array(rows.reshape(-1)), rows.shape[1])

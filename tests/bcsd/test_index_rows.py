"""The rows of the index benchmark: different functions, none of them asked for, made once."""

from __future__ import annotations

import numpy as np
import pyarrow.parquet as pq
import pytest

from weft.bcsd.table import write_tables
from weft.bcsd.use.embed_files import Embedding, embedder_of
from weft.bcsd.use.embedded import embed_table, embeddings_of
from weft.bench.bcsd import index_rows
from weft.bench.bcsd.index_rows import DATA, choose, embedded_rows
from weft.errors import InputError

COUNT, ASKED = 20, 5


@pytest.fixture
def work(labelled, tmp_path, monkeypatch):
    monkeypatch.setattr(index_rows, "ASKED", ASKED)
    write_tables([labelled], tmp_path / DATA, labelled.schema)
    return tmp_path


def test_no_two_functions_are_equal_and_none_is_asked_for(work, labelled):
    chosen = choose(work / DATA, COUNT)
    digests = np.array(labelled["token_digest"].to_pylist())
    assert len(chosen.base) == COUNT
    assert 0 < len(chosen.asked) <= ASKED
    both = np.concatenate(chosen)
    assert len(set(digests[both])) == len(both)
    assert labelled["num_blocks"].to_numpy()[chosen.asked].min() >= 5
    with pytest.raises(InputError, match="different functions; 100005 are needed"):
        choose(work / DATA, 100_000)


def test_rows_are_embedded_in_order_and_kept(work, labelled, lexical_model):
    options = Embedding(model=str(lexical_model), precision="fp32")
    base, asked = embedded_rows(work, COUNT, options)
    chosen = choose(work / DATA, COUNT)
    embedder = embedder_of(options.model, options.precision)
    for rows, numbers in ((base, chosen.base), (asked, chosen.asked)):
        expected = embed_table(labelled.take(numbers), embedder)
        assert rows["token_digest"].to_pylist() == expected["token_digest"].to_pylist()
        np.testing.assert_allclose(embeddings_of(rows), embeddings_of(expected), atol=1e-5)
    (kept,) = work.glob(f"index-{COUNT}-{embedder.version}.*")
    assert pq.read_metadata(kept).num_rows == base.num_rows + asked.num_rows
    before = kept.stat().st_mtime_ns
    embedded_rows(work, COUNT, options)
    assert kept.stat().st_mtime_ns == before

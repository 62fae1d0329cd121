"""Where a data set is to be, and what lies there already."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from weft.errors import InputError, OutputError
from weft.kg.dataset.code import build_code
from weft.kg.dataset.place import check_place
from weft.kg.dataset.tables import CHUNKS, SCHEMAS, read_table
from weft.kg.dataset.text import build_redocred, build_text
from weft.kg.schema import Relation, Schema

SCHEMA = Schema((Relation("knows", "…"),))


def test_what_is_of_no_data_set_is_not_written_over(tmp_path: Path) -> None:
    schema = tmp_path / "schema.json"
    schema.write_text("[]")
    builds = (
        lambda: build_text([tmp_path / "t.txt"], tmp_path, SCHEMA, [tmp_path / "s.csv"]),
        lambda: build_redocred([tmp_path / "t.json"], tmp_path),
        lambda: build_code([tmp_path], tmp_path),
    )
    for build in builds:
        with pytest.raises(OutputError, match=r"holds schema\.json of no data set"):
            build()
    assert schema.read_text() == "[]"


def test_a_data_set_is_made_anew(tmp_path: Path) -> None:
    check_place(tmp_path / "none")
    check_place(tmp_path)
    pq.write_table(CHUNKS.empty_table(), tmp_path / "chunks.parquet")
    (tmp_path / "schema.json").write_text("[]")
    check_place(tmp_path)
    pq.write_table(pa.table({"mine": [1]}), tmp_path / "documents.parquet")
    with pytest.raises(OutputError, match=r"holds documents\.parquet of no data set"):
        check_place(tmp_path)
    (tmp_path / "documents.parquet").write_bytes(b"PAR1")
    check_place(tmp_path)  # damaged: of it nobody can say whose it is
    assert "documents" in SCHEMAS


def test_a_pipe_is_no_table(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "chunks.parquet")
    with pytest.raises(InputError, match="a device or a pipe"):
        read_table(tmp_path, "chunks")

"""What lies in a store, or where a store is to be, and is not the store's own."""

from __future__ import annotations

import builtins
import json
import os
from pathlib import Path
from typing import Any

import pytest

from weft.errors import OutputError, StoreError
from weft.kg.schema import Relation, Schema
from weft.kg.storage.graph import Graph
from weft.kg.storage.query.sparql import open_index
from weft.kg.storage.writer import create_store, open_writer

SCHEMA = Schema((Relation("knows", "…"),))


def test_tables_of_others_stay(tmp_path: Path) -> None:
    for name in ("documents-2024.parquet", "names-de.parquet"):
        folder = tmp_path / name.partition(".")[0]
        folder.mkdir()
        (folder / name).write_text("precious")
        with pytest.raises(StoreError, match=rf"not empty \({name}\)"):
            create_store(folder, SCHEMA)
        assert [path.name for path in folder.iterdir()] == [name]
    # Beside a store they stay as well, and what the writer itself left goes.
    store = tmp_path / "store"
    create_store(store, SCHEMA)
    for name in ("names-de.parquet", "triples-9.parquet"):
        (store / name).write_text("precious")
    with open_writer(store) as writer:
        writer.finish()
    assert (store / "names-de.parquet").exists()
    assert not (store / "triples-9.parquet").exists()


def test_folders_where_an_index_leads_stay(tmp_path: Path) -> None:
    store, years = tmp_path / "store", tmp_path / "years"
    create_store(store, SCHEMA)
    (years / "1").mkdir(parents=True)
    (store / "index").symlink_to(years)
    with open_index(store):
        pass
    assert (years / "1").exists()


def test_nothing_is_written_through_a_link(tmp_path: Path) -> None:
    store, mine = tmp_path / "store", tmp_path / "mine"
    create_store(store, SCHEMA)
    mine.write_text("precious")
    manifest = store / "manifest.json"
    record = json.loads(manifest.read_text())
    name = f"triples-{record['generation'] + 1}.parquet"
    record["files"]["triples"] = [name]
    manifest.write_text(json.dumps(record))
    (store / name).symlink_to(mine)
    with pytest.raises(OutputError, match="is a link"), open_writer(store) as writer:
        writer.finish()
    assert mine.read_text() == "precious"


def test_a_pipe_is_no_table(tmp_path: Path) -> None:
    create_store(tmp_path / "store", SCHEMA)
    part = next((tmp_path / "store").glob("relations-*.parquet"))
    part.unlink()
    os.mkfifo(part)
    with pytest.raises(StoreError, match="no file but a folder, a device or a pipe"):
        Graph.load(tmp_path / "store")


def test_a_manifest_that_cannot_be_read_is_not_called_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    create_store(tmp_path / "store", SCHEMA)
    closed, real = tmp_path / "store" / "manifest.json", builtins.open

    def guard(path: Any, *rest: Any, **options: Any) -> Any:
        if path == closed:  # no mode keeps root out
            raise PermissionError(13, "Permission denied", str(path))
        return real(path, *rest, **options)

    monkeypatch.setattr(builtins, "open", guard)
    with pytest.raises(StoreError, match=r"manifest\.json: cannot be read: Permission denied"):
        Graph.load(tmp_path / "store")

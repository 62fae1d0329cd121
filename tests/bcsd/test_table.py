"""The Parquet table: the documented columns, the same content back, and clear refusals."""

import os

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from weft.bcsd.disassemble.choose import choose_disassembler
from weft.bcsd.disassemble.frozen import FrozenDisassembler, save_functions, to_record
from weft.bcsd.represent import Normaliser
from weft.bcsd.table import read_table, schema, write_tables
from weft.bcsd.use.extract_files import Extraction, build_table, extract
from weft.errors import ConfigError, InputError, MissingExtraError, OutputError

WANTED = ("binary", "name", "address", "size", "blocks", "edges", "tokens", "flags")


@pytest.fixture
def written(files, tmp_path):
    builder, counts = build_table(str(files / "gcc-O2-aarch64.so"))
    path = tmp_path / "functions.parquet"
    assert write_tables(builder.tables(), path, schema()) == counts.functions
    return path


def test_rows_hold_what_the_functions_hold(written, functions_of):
    image, functions = functions_of("gcc-O2-aarch64.so")
    rows = {row["name"]: row for row in read_table(written).to_pylist()}
    assert set(rows) == set(functions)
    normaliser = Normaliser(image.architecture)
    for name, function in functions.items():
        row = rows[name]
        assert (row["address"], row["size"]) == (function.address, function.size)
        assert [(b["start"], b["end"]) for b in row["blocks"]] == list(function.blocks)
        assert [b["address"] for b in row["blocks"]] == [
            function.instructions[b.start][0] for b in function.blocks
        ]
        assert [(e["source"], e["target"], e["kind"]) for e in row["edges"]] == list(function.edges)
        assert row["tokens"] == normaliser.tokens(function).tolist()
        assert (row["num_blocks"], row["num_edges"]) == (len(function.blocks), len(function.edges))
        assert row["callees"] == function.callees
        assert row["imports"] == list(function.imports)


def test_columns_addresses_and_versions(written):
    table = read_table(written)
    assert set(WANTED) <= set(table.column_names)
    assert pa.types.is_integer(table.schema.field("address").type)
    assert table.column("address").to_pylist() == sorted(table.column("address").to_pylist())
    metadata = table.schema.metadata
    assert metadata[b"weft.schema"] == b"1"
    assert metadata[b"weft.normaliser"] == b"1"
    assert metadata[b"weft.disassembler"] == b"native"


def test_extraction_is_the_same_twice_and_with_two_processes(files, tmp_path):
    one, two = tmp_path / "one.parquet", tmp_path / "two.parquet"
    places = [str(files / name) for name in ("gcc-O2-x86_64.so", "clang-O2-mips", "clang-O2-x86_64.dylib")]
    extract(places, one, Extraction(workers=1))
    extract(places, two, Extraction(workers=2))
    assert read_table(one).equals(read_table(two))
    assert one.read_bytes() == two.read_bytes()


def test_other_schemas_and_damage_are_refused(written, tmp_path):
    with pytest.raises(InputError, match="no such file"):
        read_table(tmp_path / "none.parquet")
    broken = tmp_path / "broken.parquet"
    broken.write_bytes(written.read_bytes()[:500])
    with pytest.raises(InputError, match="not a readable Parquet file"):
        read_table(broken)
    for key, value, message in (
        (b"weft.schema", b"99", "table schema 99"),
        (b"weft.vocabulary", b"other", "another vocabulary"),
    ):
        table = pq.read_table(written)
        other = tmp_path / "other.parquet"
        pq.write_table(table.replace_schema_metadata({**table.schema.metadata, key: value}), other)
        with pytest.raises(InputError, match=message):
            read_table(other)


def test_a_place_that_cannot_be_written_is_named(files):
    builder, _ = build_table(str(files / "clang-O2-mips"))
    from pathlib import Path

    with pytest.raises(OutputError, match=r"/proc/none/x\.parquet"):
        write_tables(builder.tables(), Path("/proc/none/x.parquet"), schema())


def test_frozen_functions_replay_exactly(functions_of, tmp_path):
    _, functions = functions_of("gcc-O2-x86_64.so")
    path = tmp_path / "saved.json"
    save_functions(functions.values(), path, "native")
    replayed = list(FrozenDisassembler(path).functions())
    assert [to_record(f) for f in replayed] == [to_record(f) for f in functions.values()]
    assert replayed == list(functions.values())


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("nonsense", "is not JSON"),
        ('{"weft_functions": 9}', "version 9"),
        ('{"weft_functions": 1, "functions": [{"name": 1}]}', "damaged"),
        ("[]", "version None"),
    ],
)
def test_a_file_of_other_things_is_no_frozen_extraction(tmp_path, content, message):
    path = tmp_path / "saved.json"
    path.write_text(content)
    with pytest.raises(InputError, match=message):
        FrozenDisassembler(path)


def test_disassemblers_by_name(monkeypatch):
    assert choose_disassembler("auto").name == "native"
    with pytest.raises(ConfigError, match="'ida'"):
        choose_disassembler("ida")
    import sys

    for name in ("angr", "smda"):
        monkeypatch.setitem(sys.modules, name, None)
        with pytest.raises(MissingExtraError, match=rf"pip install '\.\[{name}\]'"):
            choose_disassembler(name)


@pytest.mark.parametrize("name", ["gcc-O2-x86_64.so", "gcc-O2-aarch64.so", "gcc-O2-x86_64.o"])
def test_the_row_of_one_function_is_that_among_all(files, name):
    whole = pa.concat_tables(build_table(str(files / name))[0].tables())
    for row in range(0, whole.num_rows, 7):
        expected = whole.slice(row, 1)
        for wanted in (f"{expected['address'][0].as_py():#x}", expected["name"][0].as_py()):
            builder, counts = build_table(str(files / name), function=wanted)
            (one,) = builder.tables()
            assert one.equals(expected)
            assert counts.left_out == whole.num_rows - 1
            assert counts.instructions == expected["num_instructions"][0].as_py()


def test_a_function_that_is_not_there_is_told_and_of_a_large_file_all_have_rows(files, monkeypatch):
    path = str(files / "gcc-O2-x86_64.so")
    with pytest.raises(InputError, match=r"no function 'entrx'.*near: entry"):
        build_table(path, function="entrx")
    whole = build_table(path)[1].functions
    monkeypatch.setattr("weft.bcsd.use.extract_files._KEPT", 16)
    assert build_table(path, function="entrx")[1].functions == whole


def test_a_pipe_is_no_table(tmp_path):
    os.mkfifo(tmp_path / "functions.parquet")
    with pytest.raises(InputError, match="a device or a pipe"):
        read_table(tmp_path / "functions.parquet")

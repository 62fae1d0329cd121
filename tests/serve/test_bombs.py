"""Files that are small and would become large: refused in words, and the service goes on."""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Callable, Iterator

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.serve.conftest import FILES, Service, ended, serving

A = (FILES / "gcc-O2-x86_64.so").read_bytes()


def zipped() -> bytes:
    """A megabyte that unpacks to a gigabyte."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("a.csv", "w") as member:
        for _ in range(1024):
            member.write(bytes(1 << 20))
    return out.getvalue()


def table() -> bytes:
    """A few kilobytes whose only column has rows of half a gigabyte together, each longer than any text."""
    out = io.BytesIO()
    long = pa.array(["word " * (1 << 20)]).dictionary_encode()
    rows = pa.DictionaryArray.from_arrays(pa.array([0] * 100, pa.int32()), long.dictionary)
    pq.write_table(pa.table({"text": rows}), out, compression="zstd")
    return out.getvalue()


def sections() -> bytes:
    """An ELF file each of whose sections says that it has 2⁴⁸ bytes."""
    found = bytearray(A)
    (start,) = struct.unpack_from("<Q", found, 40)
    size, count = struct.unpack_from("<HH", found, 58)
    for number in range(count):
        struct.pack_into("<Q", found, start + number * size + 32, 1 << 48)
    return bytes(found)


def segments() -> bytes:
    """An ELF file each of whose segments takes 2⁴⁶ bytes of memory."""
    found = bytearray(A)
    (start,) = struct.unpack_from("<Q", found, 32)
    size, count = struct.unpack_from("<HH", found, 54)
    for number in range(count):
        struct.pack_into("<Q", found, start + number * size + 40, 1 << 46)
    return bytes(found)


def symbols() -> bytes:
    """An ELF file with 65,279 section headers, all of them one."""
    found = bytearray(A)
    (start,) = struct.unpack_from("<Q", found, 40)
    (size,) = struct.unpack_from("<H", found, 58)
    struct.pack_into("<H", found, 60, 0xFEFF)
    struct.pack_into("<Q", found, 40, len(found))
    return bytes(found + found[start + 6 * size : start + 7 * size] * 0xFEFF)


@pytest.fixture(scope="module")
def bounded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service whose jobs may take little."""
    with serving(tmp_path_factory.mktemp("bombs"), "--memory", "3072", "--timeout", "60") as running:
        yield running


@pytest.mark.parametrize("bomb", [zipped, sections, segments, symbols])
def test_a_binary_that_is_none_or_says_too_much(bounded: Service, bomb: Callable[[], bytes]):
    with bounded.client() as client:
        file = client.post("/v1/uploads", params={"name": "a.so"}, content=bomb()).json()["id"]
        answer = client.post("/v1/bcsd/functions", json={"file": file})
        answer = ended(client, answer)
        # What is wrong in the tables that a linker needs does not keep one from reading the code.
        assert answer.status_code in ((413, 422) if bomb is zipped else (200, 413, 422)), answer.text
        if answer.status_code != 200:
            assert answer.json()["type"] in ("urn:weft:problem:input", "urn:weft:problem:limit")
            assert answer.json()["detail"]
        assert client.get("/healthz").json()["status"] == "ok"


@pytest.mark.parametrize(("bomb", "name"), [(zipped, "a.csv"), (zipped, "a.parquet"), (table, "a.parquet")])
def test_a_table_that_is_none_or_grows(bounded: Service, bomb: Callable[[], bytes], name: str):
    with bounded.client() as client:
        content = bomb()
        assert len(content) < 2 << 20
        file = client.post("/v1/uploads", params={"name": name}, content=content).json()["id"]
        asked = {"file": file, "aspects": ["food"]}
        answer = ended(client, client.post("/v1/absa/predict", json=asked))
        assert answer.status_code in (413, 422), answer.text[:500]
        assert answer.json()["type"] in ("urn:weft:problem:input", "urn:weft:problem:limit")
        again = client.post("/v1/absa/predict", json={"texts": ["Good food."], "aspects": ["food"]})
        assert again.json()[0]["polarity"] == "positive"

"""Committed binaries: `source/` is what they were made from, `expected/` what must be found in them."""

from functools import lru_cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from weft.bcsd.dataset.assemble import dataset_schema
from weft.bcsd.disassemble.native import NativeDisassembler
from weft.bcsd.extract import build_table
from weft.bcsd.read import open_image

FILES = Path(__file__).parent / "files"


@lru_cache(maxsize=64)
def _functions(name):
    image = open_image(FILES / name)
    found = sorted(NativeDisassembler().functions(image), key=lambda f: (f.address, f.size))
    return image, {function.name: function for function in found}


@pytest.fixture(scope="session")
def functions_of():
    """Name of a committed file → its image and its functions by name."""
    return _functions


@pytest.fixture(scope="session")
def files():
    """The folder of committed binaries."""
    return FILES


BUILDS = (
    "gcc-O0-x86_64",
    "gcc-O1-x86_64",
    "gcc-O2-x86_64",
    "gcc-O3-x86_64",
    "clang-O2-x86_64",
    "gcc-O2-aarch64",
    "clang-O3-aarch64",
)


@pytest.fixture(scope="session")
def labelled():
    """A small data set: every function of every build, once for each role under another package's name."""
    tables = []
    for role in ("test", "valid", "train"):
        for build in BUILDS:
            table = pa.concat_tables(list(build_table(str(FILES / f"{build}.so"))[0].tables()))
            names = table.column("name").to_pylist()
            named = [i for i, name in enumerate(names) if name and not name.startswith(("sub_", "_"))]
            table = table.take(pa.array(named, pa.int64()))
            names = table.column("name").to_pylist()
            compiler, level, _ = build.split("-")
            columns = {
                "package": [f"package-{role}"] * len(names),
                "role": [role] * len(names),
                "group": [f"package-{role}/{name}" for name in names],
                "build": [build] * len(names),
                "compiler": [compiler] * len(names),
                "level": [level] * len(names),
            }
            for column, values in columns.items():
                table = table.append_column(column, pa.array(values, pa.string()))
            table = table.append_column("duplicate", pa.array(np.zeros(len(names), bool)))
            tables.append(table.cast(dataset_schema()))
    return pa.concat_tables(tables)

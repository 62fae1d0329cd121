"""A writer that is killed loses no committed row, doubles none, and leaves an index that opens and goes on."""

import random
import signal
import subprocess
import sys

import pytest

from weft.bcsd.index.store import FunctionStore

WRITER = """
import sys, pathlib
import numpy as np
sys.path.insert(0, sys.argv[2])
import pyarrow.parquet as pq
from weft.bcsd.index.lock import writer_lock
from weft.bcsd.index.store import FunctionStore
folder = pathlib.Path(sys.argv[1])
rows = pq.read_table(sys.argv[2])
with writer_lock(folder):
    store = FunctionStore.open_or_create(folder, 16, "v")
    for number in range(400):
        name = f"/{number % 12}"
        table = rows.set_column(0, "binary", [[name] * rows.num_rows])
        known = store.files()
        print("begin", name, flush=True)
        store.replace(table, [name] if name in known else [])
        print("done", name, flush=True)
        if number % 9 == 8:
            store.tidy()
"""


@pytest.mark.parametrize("seed", [1, 2])
def test_killed_at_a_random_moment(seed, make_rows, tmp_path):
    import pyarrow.parquet as pq

    rows = tmp_path / "rows.parquet"
    pq.write_table(make_rows("/", 150, seed=seed), rows)
    index = tmp_path / "index"
    index.mkdir()
    command = [sys.executable, "-c", WRITER, str(index), str(rows)]
    wait = random.Random(seed).randint(3, 60)
    lines = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        for line in writer.stdout:
            lines.append(line.split())
            if len(lines) == wait:
                writer.send_signal(signal.SIGKILL)
    committed = {name for state, name in lines if state == "done"}
    begun = {name for state, name in lines if state == "begin"}
    store = FunctionStore.open(index)
    held = store.files()
    assert committed <= set(held) <= begun
    assert all(file.functions == 150 for file in held.values())
    assert len(store.vectors()[0]) == 150 * len(held)
    store.replace(make_rows("/new", 10))
    store.tidy()
    assert len(FunctionStore.open(index)) == 150 * len(held) + 10

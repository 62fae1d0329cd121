"""Flat arrays and TF-IDF rows against plain Python."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

from weft.bcsd.represent.arrays import FunctionArrays, spans
from weft.bcsd.represent.lexical import CONSTANT_GAIN, LEVELS, Lexical, silent_tokens
from weft.bcsd.represent.vocabulary import load_vocabulary
from weft.bcsd.use.extract_files import build_table
from weft.errors import InputError, ShapeError


@pytest.fixture(scope="module")
def table(files) -> pa.Table:
    return pa.concat_tables(list(build_table(str(files / "gcc-O2-x86_64.so"))[0].tables()))


def test_arrays_hold_what_the_table_holds(table) -> None:
    arrays = FunctionArrays.from_table(table)
    for i, row in enumerate(table.to_pylist()):
        assert arrays.tokens[spans(arrays.first_instruction, np.array([i]))].tolist() == row["tokens"]
        starts = arrays.block_start[spans(arrays.first_block, np.array([i]))]
        assert starts.tolist() == [block["start"] for block in row["blocks"]]
        edges = arrays.edges[spans(arrays.first_edge, np.array([i]))]
        assert edges.tolist() == [[e["source"], e["target"], e["kind"]] for e in row["edges"]]


def test_a_slice_and_chunks_give_the_same_rows(table) -> None:
    whole = FunctionArrays.from_table(table)
    part = FunctionArrays.from_table(pa.concat_tables([table.slice(3, 2), table.slice(5, 4)]))
    expected = whole.tokens[spans(whole.first_instruction, np.arange(3, 9))]
    np.testing.assert_array_equal(part.tokens, expected)


def test_rows_equal_the_formula(table) -> None:
    lexical = Lexical.fit(table)
    vectors = lexical.vectors(table)
    vocabulary = load_vocabulary()
    silent = set(silent_tokens())
    documents = [Counter(t for row in tokens for t in row) for tokens in table["tokens"].to_pylist()]
    for i, document in enumerate(documents):
        row = np.zeros(len(LEVELS) * len(vocabulary))
        for token, count in document.items():
            text = vocabulary.tokens[token]
            constant = text.startswith(("h:", "i:", "d:"))
            if token in silent or text.startswith("to:"):
                continue
            for number, level in enumerate(LEVELS):
                if count < level or (number and not constant and not text.startswith(("call:", "tail:"))):
                    continue
                held = sum(other[token] >= level for other in documents)
                gain = CONSTANT_GAIN if constant and not number else 1.0
                idf = math.log((1 + len(documents)) / (1 + held))
                row[number * len(vocabulary) + token] = gain * math.sqrt(idf)
        np.testing.assert_allclose(vectors[i].toarray()[0], row / np.linalg.norm(row), atol=1e-5)


def test_no_functions_give_no_rows(table) -> None:
    lexical = Lexical.fit(table)
    assert lexical.vectors(table.slice(0, 0)).shape == (0, len(LEVELS) * len(load_vocabulary()))
    with pytest.raises(InputError, match="no functions"):
        Lexical.fit(table.slice(0, 0))


def test_a_wrong_table_and_wrong_weights_are_named(table) -> None:
    with pytest.raises(InputError, match="no column 'blocks'"):
        FunctionArrays.from_table(table.drop_columns(["blocks"]))
    with pytest.raises(ShapeError, match="idf has shape"):
        Lexical(np.ones(3))

"""Explanations: drops are what hiding does to the similarity, shares add up, pages hold no script."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from tests.platform.pages import EVIL, Page

from weft.bcsd.explain.occlusion import PROBED, explain, hidden
from weft.bcsd.explain.page import explanation_page
from weft.bcsd.explain.record import describe, explanation_record
from weft.bcsd.represent.arrays import FunctionArrays
from weft.bcsd.represent.vocabulary import load_vocabulary
from weft.bcsd.use.embedder import Embedder
from weft.cli.main import main


@pytest.fixture(scope="module")
def embedder(lexical_model):
    return Embedder.load(lexical_model)


@pytest.fixture(scope="module")
def explained(side_of, embedder):
    a, b = side_of("gcc-O2-x86_64.so"), side_of("clang-O2-aarch64.so")
    return explain(a, a.names.index("dense"), b, b.names.index("dense"), embedder)


def test_hiding_touches_one_span_of_each_copy(side_of):
    side = side_of("gcc-O2-x86_64.so")
    one = FunctionArrays.from_table(side.table.slice(side.names.index("dense"), 1))
    copies = hidden(one, [(0, 2), (5, 6)])
    assert len(copies) == 2
    length = len(one.tokens)
    mask = load_vocabulary().ids["[MASK]"]
    for copy, touched in zip(copies.tokens.reshape(2, length, 5), ([0, 1], [5]), strict=True):
        changed = np.flatnonzero((copy != one.tokens).any(axis=1)).tolist()
        assert changed == touched
        assert (copy[touched] == mask).all()
    np.testing.assert_array_equal(copies.num_blocks, [one.num_blocks[0]] * 2)


def test_a_drop_is_what_hiding_does(side_of, embedder, explained):
    a, b = side_of("gcc-O2-x86_64.so"), side_of("clang-O2-aarch64.so")
    row = a.names.index("dense")
    other = embedder.embed(b.table.slice(b.names.index("dense"), 1))[0]
    arrays = FunctionArrays.from_table(a.table.slice(row, 1))
    block = a.functions[row].blocks[1]
    without = embedder.embed(hidden(arrays, [(block.start, block.end)]))[0]
    whole = embedder.embed(arrays)[0]
    assert explained.learned == pytest.approx(float(whole @ other), abs=1e-5)
    assert explained.a.blocks[1] == pytest.approx(float(whole @ other - without @ other), abs=1e-5)
    assert explained.a.blocks.shape == (len(a.functions[row].blocks),)
    assert np.ptp(explained.a.blocks) > 0


def test_the_weightiest_blocks_are_probed_by_instruction(explained):
    for half in (explained.a, explained.b):
        probed = ~np.isnan(half.instructions)
        assert probed.sum() == min(PROBED, len(half.function.instructions))
        best = half.function.blocks[int(half.blocks.argmax())]
        assert probed[best.start : min(best.end, best.start + PROBED)].all()
        # Two layers of two heads; a weight on the prefix is a share.
        assert half.prefix.shape == (2, 2)
        assert ((half.prefix > 0) & (half.prefix < 1)).all()


def test_lexical_shares_add_up(side_of, embedder):
    side = side_of("gcc-O2-x86_64.so")
    row = side.names.index("larger")
    same = explain(side, row, side, row, embedder)
    assert same.learned == pytest.approx(1.0, abs=1e-5)
    assert same.lexical == pytest.approx(1.0, abs=1e-5)
    assert sum(share for _, share in same.tokens) <= 1.0 + 1e-5
    assert [share for _, share in same.tokens] == sorted((s for _, s in same.tokens), reverse=True)


def test_a_model_without_a_prefix_has_none_to_show(side_of, embedder):
    from weft.bcsd.model.function_model import FunctionModel

    config = replace(embedder.network.config, prefix="none")
    bare = Embedder(FunctionModel(config), embedder.lexical)
    side = side_of("gcc-O2-x86_64.so")
    found = explain(side, 0, side, 1, bare)
    assert found.a.prefix is None
    assert "prefix" not in describe(found)


def test_records_and_pages(explained):
    record = json.loads(json.dumps(explanation_record(explained)))
    assert len(record["a"]["blocks"]) == len(explained.a.function.blocks)
    assert all(not math.isnan(one["drop"]) for one in record["b"]["instructions"])
    evil = replace(explained.a, path=f"/tmp/{EVIL}")
    page = explanation_page(replace(explained, a=evil, tokens=[(EVIL, 0.5), *explained.tokens]))
    assert "script" not in Page(page).tags
    assert page.count('class="picture"') == 2
    assert page.count('<svg class="bar long"') == len(explained.tokens) + 1 + 2 * len(explained.a.prefix)
    assert page.count("<title>") == 1 + len(explained.a.blocks) + len(explained.b.blocks)


def test_the_command(files, lexical_model, tmp_path, capsys):
    first, second = f"{files / 'gcc-O2-x86_64.so'}:dense", f"{files / 'gcc-O3-x86_64.so'}:dense"
    model = ("--model", str(lexical_model))
    page = tmp_path / "why.html"
    assert main(["bcsd", "explain", first, second, *model, "--html", str(page)]) == 0
    out = capsys.readouterr().out
    assert "learned similarity" in out
    assert "attention on the graph's prefix, by layer" in out
    assert page.read_text().startswith("<!doctype html>")
    assert main(["bcsd", "explain", first, second, *model, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["a"]["name"] == "dense"
    for arguments, code, message in (
        ((str(files / "gcc-O2-x86_64.so"), second), 2, "which function?"),
        ((first + "x", second), 3, "near: dense"),
        ((first, second, "--html", "/none/x.html"), 8, "cannot be written"),
        ((first, second, "--model", "none"), 4, "no such model"),
    ):
        chosen = () if "--model" in arguments else model
        assert main(["bcsd", "explain", *arguments, *chosen]) == code
        error = capsys.readouterr().err
        assert message in error
        assert len(error.strip().splitlines()) == 1

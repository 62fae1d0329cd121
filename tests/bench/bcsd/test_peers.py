"""Other programs beside ours: what counts as found, what they are told, and a clear word where they are missing."""

import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from weft.bench.bcsd.peers import compare
from weft.bench.bcsd.peers import mcrit_pairs as mcrit
from weft.bench.bcsd.peers import qbindiff_pairs as qbindiff
from weft.cli import bench
from weft.cli.main import main
from weft.errors import MissingExtraError

FILES = Path(__file__).parents[2] / "bcsd" / "files"


def test_without_data_there_are_no_rows(monkeypatch):
    monkeypatch.delenv("WEFT_BCSD_WORK", raising=False)
    assert list(compare.rows()) == []


@pytest.mark.parametrize(
    ("module", "made"), [("qbindiff", qbindiff.QBinDiffs), ("mcrit.config", mcrit.MinHashes)]
)
def test_a_peer_that_is_missing_names_the_extra(monkeypatch, module, made):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=r"pip install '\.\[peers\]'"):
        made()


def test_a_benchmark_without_its_extra_stops_it_alone_and_not_all(monkeypatch, capsys):
    def rows(quick):
        raise MissingExtraError("qbindiff", "peers")

    monkeypatch.setattr(compare, "rows", rows)
    monkeypatch.setattr(bench, "BENCHES", {"bcsd-peers": bench.BENCHES["bcsd-peers"]})
    assert main(["bench", "bcsd-peers"]) == 5
    assert main(["bench", "all"]) == 0
    assert "left out: qbindiff is not installed" in capsys.readouterr().err


def test_found_is_the_chance_that_the_partner_is_chosen():
    side = SimpleNamespace(num_blocks=np.array([9, 9, 2, 9]), addresses=[16, 32, 48, 64])
    trial = SimpleNamespace(
        a=SimpleNamespace(side=side),
        b=SimpleNamespace(side=side),
        truth=lambda: (np.array([0, 1, 2, 3]), np.array([1, 0, 2, 3])),
    )
    partners = {16: {32: 1.0}, 32: {16: 0.5, 64: 0.5}, 48: {48: 1.0}, 64: {16: 1.0}}
    # The third is too small to be asked for; the last one went to another.
    assert compare.found(trial, partners) == [1.0, 0.5, 0.0]


def test_ties_of_minima_share():
    hashes = object.__new__(mcrit.MinHashes)
    signatures = {
        "a": {1: np.array([1, 2, 3], np.uint8), 2: np.array([9, 9, 9], np.uint8)},
        "b": {
            5: np.array([1, 2, 0], np.uint8),
            6: np.array([0, 2, 3], np.uint8),
            7: np.array([9, 9, 0], np.uint8),
        },
        "empty": {},
    }
    hashes._read = lambda path: signatures[path.name]
    assert hashes.partners(Path("a"), Path("b")) == {1: {5: 0.5, 6: 0.5}, 2: {7: 1.0}}
    assert hashes.partners(Path("a"), Path("empty")) == {}


def test_qbindiff_is_told_functions_calls_imports_and_texts():
    read = qbindiff.read_program(FILES / "gcc-O2-x86_64-stripped.so")
    assert [function.address for function in read.functions] == sorted(f.address for f in read.functions)
    assert set(read.imports) == {name for function in read.functions for name in function.imports}
    assert len(set(read.imports.values())) == len(read.imports)
    assert min(read.imports.values()) > max(function.address for function in read.functions)
    assert len(read.texts) == len(read.functions)
    assert any(read.texts)


def test_the_peers_pair_a_file_with_itself():
    pytest.importorskip("qbindiff", reason="an extra")
    pytest.importorskip("mcrit", reason="an extra")
    path = FILES / "gcc-O2-x86_64-stripped.so"
    for peer in (qbindiff.QBinDiffs(), qbindiff.QBinDiffs(structure=True), mcrit.MinHashes()):
        partners = peer.partners(path, path)
        assert partners
        right = [chosen.get(address, 0.0) for address, chosen in partners.items()]
        assert np.mean(right) > 0.7, peer.name

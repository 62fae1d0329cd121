"""The pairs of two files as a program reads them."""

from types import SimpleNamespace

import pytest

from weft.bcsd.matching import files
from weft.bcsd.matching.files import FileMatch


def test_pairs_are_read_by_their_places(monkeypatch):
    pairs = [{"confidence": 0.9}, {"confidence": 0.4}]
    monkeypatch.setattr(files, "match_records", lambda matching: iter(pairs))
    found = FileMatch(matching=SimpleNamespace(rows=pairs), model="m", calibrated=True)
    assert (found[0], found[-1]) == (pairs[0], pairs[1])
    assert list(found) == pairs
    with pytest.raises(IndexError):
        found[2]

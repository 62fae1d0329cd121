"""The benchmark of the function model says nothing where there is no data."""

from weft.bench.bcsd.model import rows


def test_without_data_there_are_no_rows(monkeypatch, tmp_path) -> None:
    monkeypatch.delenv("WEFT_BCSD_WORK", raising=False)
    assert list(rows()) == []
    monkeypatch.setenv("WEFT_BCSD_WORK", str(tmp_path))
    assert list(rows(quick=True)) == []

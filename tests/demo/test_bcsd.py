import re
from pathlib import Path

from rich.console import Console

from weft.demo import bcsd

README = Path(__file__).resolve().parents[2] / "README.md"


def test_the_demonstration_finds_most_of_zlib_and_is_right_where_it_is_sure(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    console = Console(record=True, width=110)
    bcsd.show(console)
    text = " ".join(console.export_text().split())
    found = re.search(
        r"Of the (\d+) functions of at least 5 blocks that both files hold, (\d+) are found", text
    )
    assert found is not None
    both, right = map(int, found.groups())
    assert both == 84
    assert right >= 76
    sure = re.search(r"of the (\d+) that are at least 80% sure, (\d+) are right", text)
    assert sure is not None
    assert int(sure[1]) >= 50
    # 99 of 106; over all files that are measured .986 are right.
    assert int(sure[2]) >= 0.92 * int(sure[1])
    shown = " ".join(README.read_text(encoding="utf-8").split())
    figures = re.search(r"Of the \d+ functions of at least 5 blocks.*? are right\.", text)
    assert figures is not None
    assert figures[0] in shown
    page = (tmp_path / bcsd.REPORT).read_text()
    assert "deflateInit2_" in page

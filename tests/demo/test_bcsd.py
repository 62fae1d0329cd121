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
    figures = r"Of the \d+ functions of at least 5 blocks.*? are right\."
    printed, told = re.search(figures, text), re.search(figures, shown)
    assert printed is not None
    assert told is not None
    # Another processor rounds otherwise: a function or two may change sides.
    numbers = [[int(number) for number in re.findall(r"\d+", found[0])] for found in (printed, told)]
    assert all(abs(here - there) <= 2 for here, there in zip(*numbers, strict=True))
    page = (tmp_path / bcsd.REPORT).read_text()
    assert "deflateInit2_" in page

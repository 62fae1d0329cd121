"""Tables in UTF-16, as shops of applications and spreadsheets export them."""

from __future__ import annotations

import pytest

from weft.absa.read.table import read_rows
from weft.errors import InputError


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t.csv", "text,place\r\nÄ\u4e0a😀,b\r\n"),
        ("t.tsv", "text\tplace\nÄ\u4e0a😀\tb\n"),
        ("t.txt", "Ä\u4e0a😀\n"),
        ("t.jsonl", '{"text": "Ä\u4e0a😀"}\n'),
    ],
)
@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf16_is_read_by_its_mark(tmp_path, name, content, encoding):
    file = tmp_path / name
    file.write_bytes(f"\ufeff{content}".encode(encoding))
    assert [row.cells["text"] for row in read_rows(str(file), ["text"])] == ["Ä\u4e0a😀"]


def test_half_a_character_of_utf16_spoils_its_row_and_half_a_unit_is_said(tmp_path):
    file = tmp_path / "t.csv"
    content = "\ufefftext,place\na,b\n\ud800,c\nd,e\n".encode("utf-16-le", "surrogatepass")
    file.write_bytes(content)
    rows = list(read_rows(str(file), ["text"]))
    assert [row.cells.get("text") for row in rows] == ["a", None, "d"]
    assert rows[1].problem == "column 'text' is not UTF-8"
    file.write_bytes(content + b"x")
    with pytest.raises(InputError, match="is not UTF-16"):
        list(read_rows(str(file), ["text"]))

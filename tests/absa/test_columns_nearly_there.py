"""Columns of other names than those that are asked for: what is proposed."""

from __future__ import annotations

import pytest

from weft.absa.read.table import read_rows
from weft.errors import InputError


@pytest.mark.parametrize(
    ("header", "columns", "hint"),
    [
        ("Text ,place", ["text"], "did you mean 'Text ' for 'text'? --text-column names another"),
        ("TEXT,place", ["text", "Place"], "did you mean 'TEXT' for 'text', 'place' for 'Place'?"),
        ("review_txt,place", ["review_text"], "did you mean 'review_txt' for 'review_text'?"),
        ("comment,place", ["text"], "--text-column names another"),
        ("comment,place", ["aspect"], "None"),
    ],
)
def test_a_column_that_is_nearly_there_is_proposed(tmp_path, header, columns, hint):
    file = tmp_path / "t.csv"
    file.write_text(f"{header}\na,b\n", encoding="utf-8")
    with pytest.raises(InputError, match="no column") as error:
        next(read_rows(str(file), columns))
    assert str(error.value.hint) == hint


def test_a_header_of_utf16_without_its_mark_is_told_what_converts_it(tmp_path):
    file = tmp_path / "t.csv"
    file.write_bytes("text,place\na,b\n".encode("utf-16-le"))
    with pytest.raises(InputError, match="no column 'text'") as error:
        list(read_rows(str(file), ["text"]))
    assert "iconv -f utf-16le -t utf-8" in str(error.value.hint)

"""What a spreadsheet would run is shown as text; everything else stays what it is."""

from __future__ import annotations

import io

import pytest

from weft.platform.spreadsheet import write_rows


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        ('=HYPERLINK("http://x","y")', '"\'=HYPERLINK(""http://x"",""y"")"'),
        ("+1", "'+1"),
        ("-[NSString length]", "'-[NSString length]"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("\t=1", "'\t=1"),
        ("a=b", "a=b"),
        ("a\rb", '"a\rb"'),
        ("a\r\n", '"a\r\n"'),
        ("'=1", "'=1"),
        ("", ""),
        (None, ""),
        (-1.5, "-1.5"),
    ],
)
def test_cells(value: object, cell: str) -> None:
    file = io.StringIO()
    write_rows(file, [["first", value, "last"]])
    assert file.getvalue() == f"first,{cell},last\n"

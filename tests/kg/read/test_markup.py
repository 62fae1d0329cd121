"""Markdown, HTML and PDF become paragraphs of prose; what is damaged is one listed line."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from tests.kg.read.pdf import make_pdf

from weft.errors import InputError
from weft.kg.read.corpus import read_corpus
from weft.kg.read.funnel import Funnel
from weft.kg.read.markup import html_text, markdown_text, pdf_text

PAGE = """<html><head><title>Menu</title><style>p {}</style></head><body><nav><a href="/">Home</a></nav>
<h1>Our   history</h1><p>Founded by <b>Ida</b>&nbsp;<i>Holm</i> &amp; others.<br>It is in Lund.</p>
<script>var x = "<p>not this</p>";</script><ul><li>One<li>Two</ul>
<table><tr><th>Seat</th><td>Lund</td></tr><tr><td>a</td><td>b</td><td>c</td></tr></table>
<div>Last <div>inner</div> words</div></body>"""


def test_html_is_its_prose() -> None:
    assert html_text(PAGE).split("\n\n") == [
        "Our history",
        "Founded by Ida Holm & others.\nIt is in Lund.",
        "One\nTwo",
        "Seat: Lund\na | b | c",
        "Last",
        "inner",
        "words",
    ]
    assert html_text("") == "" == html_text("<!-- nothing -->")
    assert html_text("<div>" * 30_000 + "deep") == "deep"


def test_markdown_is_its_prose() -> None:
    text = (
        "\ufeff---\ntitle: x\n---\n# Head\n\nA [link](http://x.y) and\n*more*.\n\n```\ncode\n```\n\n- a\n- b\n\n"
        "| k | v |\n|--|--|\n| x | y |\n"
    )
    assert markdown_text(text) == "Head\n\nA link and more.\n\na\nb\n\nk: v\n\nx: y"


def test_pdf_lines_become_paragraphs() -> None:
    lines = [
        "Ida Holm founded the com-",
        "pany in Lund in 1998, long before",
        "it moved.",
        "Later it was sold.",
    ]
    assert pdf_text(make_pdf([lines, ["Second page."]])) == (
        "Ida Holm founded the company in Lund in 1998, long before it moved.\n\nLater it was sold.\n\nSecond page."
    )
    with pytest.raises(InputError, match="without text"):
        pdf_text(make_pdf([[]]))
    whole = make_pdf([lines])
    for data in (b"", b"%PDF-1.4", b"nonsense" * 40, whole[:200]):
        with pytest.raises(InputError, match="PDF"):
            pdf_text(data)


def test_what_the_parser_of_pdfs_remarks_is_in_our_error_and_nowhere_else(
    caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(InputError, match=r"no PDF that can be read: \w+; .*header"):
        pdf_text(b"no header" * 30)
    assert not caplog.records
    assert capfd.readouterr() == ("", "")
    # And the logger is as it was.
    logging.getLogger("pypdf").warning("heard")
    assert [record.message for record in caplog.records] == ["heard"]


def test_a_folder_of_all_kinds(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# Lund\n\nIda.")
    (tmp_path / "b.html").write_text("<p>Ida")
    (tmp_path / "c.pdf").write_bytes(make_pdf([["Ida."]]))
    (tmp_path / "d.pdf").write_bytes(b"%PDF no")
    (tmp_path / "e.txt").write_text("# as it is")
    (tmp_path / "f.png").write_bytes(b"\x89PNG")
    funnel = Funnel()
    assert {item.id: item.text for item in read_corpus([tmp_path], funnel)} == {
        "a.md": "Lund\n\nIda.",
        "b.html": "Ida",
        "c.pdf": "Ida.",
        "e.txt": "# as it is",
    }
    assert [line.split(":")[0] for line in funnel.listed["files that cannot be read"]] == ["d.pdf"]

"""Markdown, HTML, PDF, Word documents and mails become paragraphs of prose; what is damaged is one listed line."""

from __future__ import annotations

import io
import logging
import zipfile
from contextlib import suppress
from pathlib import Path

import pytest
from tests.kg.read.pdf import make_pdf
from tests.kg.read.word import make_word

from weft.errors import InputError
from weft.kg.read.corpus import OTHERS, read_corpus
from weft.kg.read.funnel import Funnel
from weft.kg.read.markdown import markdown_text
from weft.kg.read.markup import _LIGATURES, html_text, mail_text, pdf_text, word_text

PAGE = """<html><head><title>Menu</title><style>p {}</style></head><body><nav><a href="/">Home</a></nav>
<h1>Our   history</h1><p>Founded by <b>Ida</b>&nbsp;<i>Holm</i> &amp; others.<br>It is in Lund.</p>
<script>var x = "<p>not this</p>";</script><ul><li>One<li>Two</ul>
<table><tr><th>Seat</th><td>Lund</td></tr><tr><td>a</td><td>b</td><td>c</td></tr></table>
<div>Last <div>inner</div> words</div></body>"""


def test_html_is_its_prose() -> None:
    assert html_text(PAGE).split("\n\n") == [
        "Our history",
        "Founded by Ida Holm & others.\nIt is in Lund.",
        "• One\n• Two",
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
    assert markdown_text(text) == "Head\n\nA link and more.\n\n• a\n• b\n\nk: v\n\nx: y"


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
    with pytest.raises(InputError, match=r"no PDF that can be read: \w+ [\w ]+; .*header"):
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
    (tmp_path / "g.docx").write_bytes(make_word(["Ida."]))
    (tmp_path / "h.docx").write_bytes(make_word(["Ida."])[:200])
    (tmp_path / "i.eml").write_bytes(b"Subject: Ida\n\nOf Lund.\n")
    funnel = Funnel()
    assert {item.id: item.text for item in read_corpus([tmp_path], funnel)} == {
        "a.md": "Lund\n\nIda.",
        "b.html": "Ida",
        "c.pdf": "Ida.",
        "e.txt": "# as it is",
        "g.docx": "Ida.",
        "i.eml": "Ida\n\nOf Lund.",
    }
    assert [line.split(":")[0] for line in funnel.listed["files that cannot be read"]] == ["d.pdf", "h.docx"]
    assert funnel.noted == {OTHERS: {".png": 1}}


def test_a_word_document_is_its_prose() -> None:
    data = make_word(["Ida &amp; others", "Of Lund."], [["Seat", "Lund"], ["a", "b", "c"]])
    assert word_text(data) == "Ida & others\n\nOf Lund.\n\nSeat: Lund\na | b | c"


def test_a_damaged_word_document_is_one_error_or_its_prose(monkeypatch: pytest.MonkeyPatch) -> None:
    data, read = make_word(["Ida.", "Of Lund."]), 0
    for place in range(0, len(data), 3):
        damaged = bytearray(data)
        damaged[place] ^= 0x55
        with suppress(InputError):
            word_text(bytes(damaged))
            read += 1
    assert 0 < read < len(data) / 3
    other = io.BytesIO()
    with zipfile.ZipFile(other, "w") as archive:
        archive.writestr("other.txt", b"x")
    with pytest.raises(InputError, match=r"no Word document that can be read: OSError .*document"):
        word_text(other.getvalue())
    monkeypatch.setattr("weft.kg.read.markup._WORD_BYTES", 100)
    with pytest.raises(InputError, match=r"of [\d,]+ bytes, unpacked; 100 may be read"):
        word_text(data)


MAIL = """From: a@example.org
Subject: =?utf-8?q?Ida_Holm_kommt_n=C3=A4her?=
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="x"

--x
Content-Type: {kind}; charset={charset}

{body}
--x
Content-Type: application/pdf

%PDF
--x--
"""


def test_a_page_has_no_marks_of_notes_and_no_breaks_inside_words() -> None:
    cited = '<sup class="reference"><a href="#n1">[1]</a></sup><sup>[2][note 3]</sup>'
    assert html_text(f"<p>She painted.{cited} She wed.</p>") == "She painted. She wed."
    assert (
        html_text("<p>the 19<sup>th</sup> century, 10 m<sup>2</sup>, X[1]</p>")
        == "the 19th century, 10 m2, X[1]"
    )
    notes = '<ol><li id="n1"><a href="#r1">↑</a> A life, 1931.</li><li>See <a href="/up">↑</a></li></ol>'
    assert html_text(notes) == "• A life, 1931.\n• See ↑"
    assert html_text("<p>Kes&shy;trel&#8203; Line&#xFEFF;</p>") == "Kestrel Line"


def test_elements_of_xhtml_that_are_closed_at_once_swallow_nothing() -> None:
    page = '<html xmlns="http://www.w3.org/1999/xhtml"><head><title/><script src="a.js" /></head><body>{}</body></html>'
    assert (
        html_text(page.format('<p><a id="x"/>One<br/>two</p><div class="y"/><p>three</p>'))
        == "One\ntwo\n\nthree"
    )
    assert html_text("<p>a<br/>b</p><p>5 &lt;x/&gt; 6</p>") == "a\nb\n\n5 <x/> 6"


def test_a_mail_is_its_subject_and_its_text() -> None:
    plain = MAIL.format(kind="text/plain", charset="utf-8", body="Of Lund.\r\nAnd more.")
    assert mail_text(plain.encode()) == "Ida Holm kommt näher\n\nOf Lund.\nAnd more."
    page = MAIL.format(kind="text/html", charset="utf-8", body="<p>Of <b>Lund</b>.<script>x</script>")
    assert mail_text(page.encode()) == "Ida Holm kommt näher\n\nOf Lund."
    with pytest.raises(InputError, match="whose text is not no-such, as it says"):
        mail_text(MAIL.format(kind="text/plain", charset="no-such", body="Of Lünd.").encode())
    with pytest.raises(InputError, match="a mail without a text"):
        mail_text(b"Content-Type: application/pdf\n\n%PDF")


@pytest.mark.parametrize(
    ("declared", "written"),
    [
        ("utf-8", "utf-8"),
        ("us-ascii", "utf-8"),
        ("", "utf-8"),
        ("iso-8859-1", "cp1252"),
        ("utf-16", "utf-16"),
        # What is UTF-8 is often declared as something else, by the same programs as in pages.
        ("iso-8859-1", "utf-8"),
        ("windows-1252", "utf-8"),
    ],
)
def test_a_mail_in_the_encoding_that_it_declares(declared: str, written: str) -> None:
    head = f"Subject: S\nContent-Type: text/plain{f'; charset={declared}' if declared else ''}\n\n"
    assert mail_text(head.encode() + "“Müller”".encode(written)) == "S\n\n“Müller”"


@pytest.mark.parametrize(
    ("declared", "said"), [("; charset=utf-8", "not utf-8, as it says"), ("", "text is not UTF-8: invalid")]
)
def test_a_mail_in_another_encoding_is_not_read_with_holes(declared: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        mail_text(f"Content-Type: text/plain{declared}\n\nMüller".encode("latin-1"))


def test_a_mail_full_of_zero_bytes_is_no_text() -> None:
    with pytest.raises(InputError, match="no text: full of zero bytes"):
        mail_text(b"Content-Type: text/plain\n\n" + "Ida lives.".encode("utf-16-le"))


def test_a_mail_whose_page_alone_says_its_encoding() -> None:
    head = "Subject: S\nContent-Type: text/html\n\n"
    page = "<meta charset='windows-1252'><p>“Müller”</p>"
    assert mail_text(head.encode() + page.encode("cp1252")) == "S\n\n“Müller”"
    # What is UTF-8 is read so, whatever the page says.
    assert mail_text((head + page).encode()) == "S\n\n“Müller”"


def test_a_mail_whose_plain_body_is_empty_is_its_page() -> None:
    parts = "--b\nContent-Type: text/plain\n\n \n--b\nContent-Type: text/html\n\n<p>Of Lund.</p>\n--b--\n"
    head = "Subject: S\nContent-Type: multipart/alternative; boundary=b\n\n"
    assert mail_text(f"{head}{parts}".encode()) == "S\n\nOf Lund."


def test_markdown_of_windows_has_no_front_matter_and_footnotes_no_marks() -> None:
    text = (
        "---\ntitle: x\n---\nThe river ends here.[^1] The town stands.\n\n[^1]: Ordnance Survey, sheet 97.\n"
    )
    assert (
        markdown_text(text.replace("\n", "\r\n"))
        == "The river ends here. The town stands.\n\nOrdnance Survey, sheet 97."
    )


def test_a_rule_at_the_top_of_markdown_is_no_front_matter() -> None:
    text = "---\n\nAda was born in London.\n\n---\n\nShe wrote.\n"
    assert markdown_text(text) == "Ada was born in London.\n\nShe wrote."
    assert markdown_text("---\n\ntitle: x\n---\n\nShe wrote.\n") == "She wrote."
    for front in ("---\ntitle: x\n---", "--- \ntitle: x\n---\t", "---\n---", "+++\ntitle = 'x'\n+++ "):
        assert markdown_text(f"{front}\nShe wrote.\n") == "She wrote.", front
        assert markdown_text(front) == "", front
    assert markdown_text("+++ one\n\n+++\ntwo\n+++\n") == "+++ one\n\n+++ two +++"
    assert markdown_text("---\n# ours\ntitle: x\ntags:\n  - a\n---\nShe wrote.\n") == "She wrote."


def test_a_heading_of_a_pdf_is_no_part_of_the_sentence_below_and_ligatures_are_letters() -> None:
    lines = ["The Linnet Trust", "The Linnet Trust was founded in 1953 by Lady", "Fane in the town of Lund."]
    assert pdf_text(make_pdf([lines])) == (
        "The Linnet Trust\n\nThe Linnet Trust was founded in 1953 by Lady Fane in the town of Lund."
    )
    assert "ﬁnd the oﬃce ﬂoor".translate(_LIGATURES) == "find the office floor"


def test_what_a_mail_quotes_has_no_marks() -> None:
    body = "Dear Ida,\n\nOn 8 June Bo wrote:\n> My mother was born\n> in Lund.\n>\n>> Who?\n1 > 0"
    mail = MAIL.format(kind="text/plain", charset="utf-8", body=body)
    assert mail_text(mail.encode()).endswith(
        "On 8 June Bo wrote:\nMy mother was born\nin Lund.\n\nWho?\n1 > 0"
    )


def test_what_a_page_hides_or_strikes_out_is_no_prose() -> None:
    page = (
        "<p>Seen.</p><p hidden>No.</p><p style='color: red; Display:none'>No.</p><p hidden='until-found'>Found.</p>"
        "<p>Born in <del>Oslo</del> <ins>Bergen</ins> in <s>1950</s> 1951.</p>"
        "<p><ruby>東京<rp>(</rp><rt>とうきょう</rt><rp>)</rp></ruby></p>"
    )
    assert html_text(page).split("\n\n") == ["Seen.", "Found.", "Born in Bergen in 1951.", "東京"]
    assert markdown_text("Born in ~~Oslo~~ Bergen.") == "Born in Bergen."


def test_a_raised_number_is_the_mark_of_a_note_where_it_leads_there_or_follows_a_mark() -> None:
    page = "He left.<sup>2</sup> She<sup><a href='#n3'>3</a></sup> ran 10<sup>3</sup> m<sup>2</sup>.<sup>1, 4</sup>"
    assert html_text(page) == "He left. She ran 10³ m2."


def test_links_between_notes_and_front_matter_in_toml() -> None:
    assert markdown_text("+++\ntitle = 1\n+++\n[[Ida Holm]] met [[Bo|her son]].") == "Ida Holm met her son."
    assert markdown_text("+++\nno end") == "+++ no end"

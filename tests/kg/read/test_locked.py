"""Files that a password or a cipher locks, and headers that break a parser: one listed line each, the rest is read."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pypdf
import pytest
from pypdf.errors import DependencyError
from pypdf.generic import DictionaryObject, NameObject, StreamObject
from tests.kg.read.pdf import make_pdf
from tests.kg.read.word import make_word

from weft.errors import InputError
from weft.kg.read import corpus
from weft.kg.read.corpus import SCANNED, UNREAD_FILES, read_corpus
from weft.kg.read.funnel import Funnel
from weft.kg.read.markup import mail_text, pdf_text, word_text
from weft.platform.processes import run_here

PAGE = make_pdf([["Ida Holm was born in Lund."]])


def locked(password: str, cipher: str = "RC4-128") -> bytes:
    """A PDF that its owner locked, and that this password opens."""
    writer, data = pypdf.PdfWriter(clone_from=io.BytesIO(PAGE)), io.BytesIO()
    writer.encrypt(password, "owner", algorithm=cipher)
    writer.write(data)
    return data.getvalue()


@pytest.mark.parametrize("cipher", ["RC4-128", "AES-128", "AES-256"])
def test_a_password_is_told_and_one_that_is_empty_opens(cipher: str) -> None:
    assert pdf_text(locked("", cipher)) == "Ida Holm was born in Lund."
    with pytest.raises(InputError, match="a PDF that a password locks"):
        pdf_text(locked("secret", cipher))


def test_pages_that_are_scans_are_told(tmp_path: Path) -> None:
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(PAGE))
    for resources in (None, "/Im0", "/Im1"):
        page = writer.add_blank_page(100, 100)
        if resources is not None:
            picture = writer._add_object(StreamObject())
            names = DictionaryObject({NameObject(resources): picture})
            page[NameObject("/Resources")] = DictionaryObject({NameObject("/XObject"): names})
    del writer.add_blank_page(100, 100)["/Resources"]
    writer.write(tmp_path / "report.pdf")
    funnel = Funnel()
    (document,) = read_corpus([tmp_path], funnel)
    assert document.text == "Ida Holm was born in Lund."
    # The second and the last page are empty, no scans.
    assert funnel.listed == {SCANNED: ["report.pdf: 2 pages: 3, 4"]}


@pytest.mark.parametrize(
    "error", [DependencyError("cryptography>=3.1 is required"), NotImplementedError("filter")]
)
def test_what_the_parser_of_pdfs_does_not_know_leaves_the_other_documents(
    error: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise error

    monkeypatch.setattr(pypdf.PageObject, "extract_text", refuse)
    monkeypatch.setattr(corpus, "run_bounded", lambda work, files, **_: run_here(work, files))
    (tmp_path / "a.pdf").write_bytes(PAGE)
    (tmp_path / "b.txt").write_text("Bo lives.")
    funnel = Funnel()
    assert [document.id for document in read_corpus([tmp_path], funnel)] == ["b.txt"]
    ((name, why),) = (funnel.reasons[item] for item in funnel.listed[UNREAD_FILES])
    assert name == "a.pdf"
    if isinstance(error, DependencyError):
        assert why == "a PDF encrypted with AES (`pip install cryptography`, or `qpdf --decrypt IN OUT`)"


def test_a_word_document_whose_parts_are_locked() -> None:
    data = make_word(["Ida Holm was born in Lund."])
    flagged = re.sub(rb"(?s)(PK\x03\x04..|PK\x01\x02....)\x00", lambda found: found[1] + b"\x01", data)
    with pytest.raises(InputError, match=r"no Word document that can be read: .* is encrypted"):
        word_text(flagged)


@pytest.mark.parametrize(
    "kind", ["text/plain; charset=u\0f", "text/plain; charset*0*=u\0'en'x; charset*1*=%ff"]
)
def test_a_mail_with_a_damaged_header_is_one_error(kind: str) -> None:
    with pytest.raises(InputError, match="no mail that can be read"):
        mail_text(f"Subject: S\nContent-Type: {kind}\n\nBorn in Lund.".encode())

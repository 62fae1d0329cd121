"""A file that its parser never ends with, or that fills the memory, is one listed line; the rest is read."""

from __future__ import annotations

import multiprocessing
import os
import signal
import zlib
from pathlib import Path

import pytest
from tests.kg.read.pdf import make_pdf
from tests.kg.read.word import make_word

from weft.kg.read.corpus import BROKEN, UNREAD_FILES, read_corpus
from weft.kg.read.funnel import Funnel
from weft.kg.read.markup import mail_text
from weft.platform.processes import Limits

PAGE = make_pdf([["Bo Ek lives in Lund."]])


def hang() -> bytes:
    """A PDF of a few kilobytes: 9,000 times the same page of 20,000 lines."""
    shown = zlib.compress(b"BT /F1 12 Tf 14 TL 72 720 Td " + 20_000 * b"(abc def) Tj T* " + b"ET")
    bodies = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [" + 9_000 * b"5 0 R " + b"] /Count 9000 >>",
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        b"<< /Length %d /Filter /FlateDecode >>\nstream\n%b\nendstream" % (len(shown), shown),
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R "
        b"/Resources << /Font << /F1 3 0 R >> >> >>",
    ]
    data = b"%PDF-1.4\n" + b"".join(
        b"%d 0 obj\n%b\nendobj\n" % (number, body) for number, body in enumerate(bodies, 1)
    )
    return data + b"trailer\n<< /Size 6 /Root 1 0 R >>\nstartxref\n0\n%%EOF\n"


def test_a_file_that_takes_too_long_is_named_and_the_rest_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(hang())
    (tmp_path / "b.pdf").write_bytes(PAGE)
    (tmp_path / "c.jsonl").write_text('{"text": "Bo lives."}\n')
    (tmp_path / "d.txt").write_text("Ida lives.")
    funnel = Funnel()
    found = list(read_corpus([tmp_path], funnel, Limits(seconds=12.0)))
    assert [document.id for document in found] == ["b.pdf", "c.jsonl:1", "d.txt"]
    assert funnel.listed == {
        UNREAD_FILES: ["a.pdf: took more than 12 s (split it, or save its text as .txt)"]
    }
    assert funnel.counts["files"] == 4
    assert not multiprocessing.active_children()


def test_a_file_that_takes_too_much_memory_is_named_and_the_rest_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.docx").write_bytes(make_word(["Bo Ek lives in Lund."]))
    (tmp_path / "b.html").write_bytes(b"<p>x</p>" * 6_000_000)
    (tmp_path / "c.docx").write_bytes(make_word(["Ida Holm lives in Lund."]))
    funnel = Funnel()
    found = list(read_corpus([tmp_path], funnel, Limits(seconds=120.0, mebibytes=512)))
    assert [document.id for document in found] == ["a.docx", "c.docx"]
    ((name, why),) = (funnel.reasons[item] for item in funnel.listed[UNREAD_FILES])
    assert name == "b.html"
    # Lexbor tells what malloc refuses.
    assert why.startswith(("needs more than 512 MiB (split it", "cannot be analysed (SelectolaxError"))


def test_a_damaged_page_leaves_the_others(tmp_path: Path) -> None:
    bad = [") Tj " + 20_000 * "[" + " ("]
    (tmp_path / "a.pdf").write_bytes(
        make_pdf([["Ida Holm was born in Lund."], bad, ["Bo Ek was born in Oslo."]])
    )
    (tmp_path / "b.pdf").write_bytes(make_pdf([bad, bad]))
    funnel = Funnel()
    (document,) = read_corpus([tmp_path], funnel)
    assert document.text == "Ida Holm was born in Lund.\n\nBo Ek was born in Oslo."
    assert funnel.listed == {
        BROKEN: ["a.pdf: 1 page: 2"],
        UNREAD_FILES: ["b.pdf: no PDF that can be read: its parts are nested too deeply"],
    }


def test_plain_texts_alone_need_no_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "weft.kg.read.corpus.run_bounded", lambda *_, **__: os.kill(os.getpid(), signal.SIGABRT)
    )
    (tmp_path / "a.txt").write_text("Ida lives.")
    assert [document.text for document in read_corpus([tmp_path], Funnel())] == ["Ida lives."]


def test_whoever_reads_in_a_process_of_a_pool_reads_there(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text("<p>Ida lives.</p>")
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(texts, (tmp_path,)) == ["Ida lives."]


def texts(place: Path) -> list[str]:
    """What a folder says."""
    return [document.text for document in read_corpus([place], Funnel())]


def nested(depth: int) -> bytes:
    """A mail whose text lies in a part of a part of a part."""
    head = b'Content-Type: multipart/mixed; boundary="b%d"\n\n--b%d\n'
    opened = b"".join(head % (number, number) for number in range(depth))
    closed = b"".join(b"\n--b%d--\n" % number for number in reversed(range(depth)))
    return b"Subject: S\n" + opened + b"Content-Type: text/plain\n\nIda lives.\n" + closed


def test_parts_of_a_mail_within_parts(tmp_path: Path) -> None:
    assert mail_text(nested(90)) == "S\n\nIda lives."
    (tmp_path / "a.eml").write_bytes(nested(2_000))
    funnel = Funnel()
    assert not list(read_corpus([tmp_path], funnel))
    assert funnel.listed == {
        UNREAD_FILES: ["a.eml: no mail that can be read: its parts are nested too deeply"]
    }

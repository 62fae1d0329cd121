"""Reading takes time in proportion to what is read, also where one cell, one row of dots or one word is most of it."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from weft.kg.languages.python.units import SourceFile
from weft.kg.read.markup import html_text
from weft.kg.read.prose import check_words
from weft.kg.read.sentences import sentence_starts

SECONDS = 4.0
"""Each takes well under a second; with time that grows with the square of the length it took 8 or more."""
PARAGRAPH = "<p>Ida Holm was born in Lund.</p>"
WORD = 99_999 * "f"


@pytest.mark.parametrize(
    "read",
    [
        lambda: html_text(f"<table><tr><td>{10_000 * PARAGRAPH}</td></tr></table>"),
        lambda: sentence_starts(f"Chapter one {30_000 * '.'}12"),
        lambda: check_words(f"{WORD} {WORD} {WORD}"),
        lambda: SourceFile(f"x = '{WORD}'\ny = '{WORD}'\nz = '{WORD}'\n"),
    ],
    ids=["a page in a cell", "dots", "a word", "a word of source"],
)
def test_time_grows_with_the_length(read: Callable[[], object]) -> None:
    start = time.process_time()
    read()
    assert time.process_time() - start < SECONDS


def test_what_is_all_of_a_cell_is_no_paragraph_of_its_own() -> None:
    cells = (" <p>Lund</p>\n", "<p>Two</p><p>parts</p>", "<div><p>Deep</p></div>")
    row = "".join(f"<td>{cell}</td>" for cell in cells)
    assert html_text(f"<table><tr>{row}</tr></table>") == "Lund\n\nTwo\n\nparts\n\nDeep"

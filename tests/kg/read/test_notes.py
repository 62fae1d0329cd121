"""What pages raise: marks of notes are no prose, powers and fractions are."""

from __future__ import annotations

import pytest

from weft.kg.read.markup import html_text


@pytest.mark.parametrize(
    ("page", "read"),
    [
        # As Pandoc, Word, Google Docs, DocBook, EPUB and Wikipedia write notes.
        ('1998<a href="#fn1" id="fnref1" role="doc-noteref"><sup>1</sup></a> by Ida', "1998 by Ida"),
        ('Holm<a href="#_ftn1" name="_ftnref1"><span>[1]</span></a> was', "Holm was"),
        ('Lund<sup><a href="#ftnt1">[1]</a></sup>.', "Lund."),
        ('Holm<a href="#ftn.1" class="footnote"><sup>[1]</sup></a> in', "Holm in"),
        ('Lund<a href="#f2" class="footnote">2</a> and<a href="#fn:3">3</a>', "Lund and"),
        ('more<a epub:type="noteref" href="notes.xhtml#n1">4</a>.', "more."),
        ('here.<sup><a href="#n"><sup>3</sup></a></sup>', "here."),
        # A link with a number is none for that alone.
        ('see section <a href="#s2">2</a>', "see section 2"),
        ('by <a href="/fn-herstal">FN</a>', "by FN"),
        # Behind a word, and not behind a unit or a symbol.
        ("to Oslo<sup>12</sup>. She", "to Oslo. She"),
        ("Ida Holm<sup>1,2</sup>, Bo Ek<sup>2,*</sup>", "Ida Holm, Bo Ek"),
        ("25 km<sup>2</sup>, 3 miles<sup>2</sup>, mc<sup>2</sup>", "25 km2, 3 miles2, mc2"),
        # An isotope by its element's name or symbol; nothing but a note has another number there.
        ("Uranium<sup>235</sup> and carbon<sup>14</sup>", "Uranium235 and carbon14"),
        ("lead<sup>3</sup> and gold<sup>12</sup>, uranium<sup>1</sup>.", "lead and gold, uranium."),
        ("by mass, <sup>14</sup>C and <sup>13</sup>C", "by mass, 14C and 13C"),
        ("He left. <sup>2</sup> She", "He left. She"),
        ("the 4<sup>th</sup> of May", "the 4th of May"),
        # A number behind a number would be another number.
        ("10<sup>3</sup> people, 10<sup>-6</sup> m", "10³ people, 10⁻⁶ m"),
        ("half; <sup>1</sup>/<sub>2</sub> cup", "half; 1/2 cup"),
        ("1<sup>1</sup>&frasl;<sub>2</sub> miles", "1¹⁄2 miles"),
        ("he said <q>yes</q>", 'he said "yes"'),
        ("<dialog>Cookies?</dialog><dialog open>Lund</dialog>", "Lund"),
    ],
)
def test_what_a_page_raises(page: str, read: str) -> None:
    assert html_text(f"<p>{page}</p>") == read


def test_what_wikipedia_writes_behind_headings_is_no_prose() -> None:
    edit = '<span class="mw-editsection"><span>[</span><a href="/edit">edit</a><span>]</span></span>'
    assert html_text(f"<h2>Life{edit}</h2><p>Ida.</p>") == "Life\n\nIda."

"""Items of lists and rows of tables begin a sentence, and wrapped lines with a dash in front do not."""

from __future__ import annotations

import time

import pytest

from weft.kg.read.items import items_of, line_starts, with_bullets
from weft.kg.read.markdown import markdown_text
from weft.kg.read.markup import html_text
from weft.kg.read.sentences import sentence_starts


@pytest.mark.parametrize(
    ("text", "begins"),
    [
        ("- Ida Holm, Lund\n- Bo Ek,\n  born in Oslo\n- Siv", ["- Ida", "- Bo ", "- Siv"]),
        ("Staff\n* Ida\n* Bo", ["* Ida", "* Bo"]),
        ("Staff\n+ Ida\n+ Bo", ["+ Ida", "+ Bo"]),
        ("Staff:\n– Ida\n– Bo", ["– Ida", "– Bo"]),
        ("– Who founded it?\n– Ida.", ["– Who", "– Ida"]),
        ("Staff\n•Ida\n  ◦ Bo", ["•Ida\n", "◦ Bo"]),
        ("They are\n1. Ida\n2) Bo\n3. Siv", ["1. Id", "2) Bo", "3. Si"]),
        ("4. Ida\n5. Bo", ["4. Id", "5. Bo"]),
        ("- Ida\r\n- Bo\r\n", ["- Ida", "- Bo\r"]),
        ("Ida | Lund | 1951\nBo | Oslo | 1960\nThey", ["Ida |", "Bo | ", "They"]),
        ("Born: 1951\nSeat: Lund\nThen", ["Born:", "Seat:", "Then"]),
    ],
)
def test_lines_that_begin_a_sentence(text: str, begins: list[str]) -> None:
    assert [text[start : start + 5] for start in line_starts(text)] == begins
    assert set(line_starts(text)) <= set(sentence_starts(text))


@pytest.mark.parametrize(
    "text",
    [
        "The firm\n– founded in 1990 –\nwas sold",
        "The firm\n– founded in 1990 –\nwas sold by Ida\n– its owner –\nto Bo",
        "Minus twelve is\n- 12 and no item",
        "He came in\n12. May was cold",
        "He was born in\n1951. Later he left",
        "Either a | b or\nnothing",
        "She said to\nBo: never again and\nleft",
        "Ida 5\n* 3 is",
    ],
)
def test_lines_that_begin_none(text: str) -> None:
    assert line_starts(text) == []
    assert items_of(text) == []
    assert with_bullets(text) == text


def test_items_hold_their_own_items_and_wrapped_lines() -> None:
    text = "Staff:\n\n- Ida\n  of Lund\n  - her son\n- Bo\n\n- Siv\n\nGuests.\n\n- Per alone\n\nMore\n1. Ann\n2. Eva"
    found = [(text[item.start : item.end].strip(), item.list) for item in items_of(text)]
    assert found == [
        ("- Ida\n  of Lund\n  - her son", 0),
        ("- Bo", 0),
        ("- Siv", 0),
        ("1. Ann", 1),
        ("2. Eva", 1),
    ]


def test_bullets_stand_in_place_of_other_marks() -> None:
    text = "- Ida – she\n  * Bo\n+ Siv"
    assert with_bullets(text) == "• Ida – she\n  • Bo\n• Siv"
    assert with_bullets("1. Ida\n2. Bo") == "1. Ida\n2. Bo"


def test_items_of_pages_keep_their_bullets() -> None:
    nested = "• Ida\n  • Bo\n    • Siv\n• Per"
    assert html_text("<ul><li>Ida<ul><li>Bo<ol><li>Siv</ol></ul><li>Per</ul>") == nested
    assert markdown_text("- Ida\n  - Bo\n    1. Siv\n- Per\n") == nested
    assert html_text("<ul><li><p>Ida</p></li><li><p>Bo</p><ul><li>Siv</ul></li><li></li></ul>") == (
        "• Ida\n• Bo\n  • Siv"
    )
    assert html_text("<table><tr><td>Sons<td><ul><li>Bo<li>Per</ul></table>") == "Sons: Bo, Per"


@pytest.mark.parametrize("line", ["1. Ida\n", "- Ida\n", "Ida | Bo\n", "Ida: Bo\n", "• \n", "    - x\n"])
def test_long_lists_take_no_long_time(line: str) -> None:
    text = line * 20_000
    start = time.perf_counter()
    line_starts(text)
    items_of(text)
    with_bullets(text)
    assert time.perf_counter() - start < 4

"""Rows of tables and lists of terms, as they are read."""

from __future__ import annotations

import time

import pytest

from weft.kg.read.markup import html_text

LONG = "a cell that tells a long story " * 5


@pytest.mark.parametrize(
    ("rows", "read"),
    [
        ("<td rowspan=2>1998<td>A<td>x<tr><td>B<td>y", ["1998 | A | x", "1998 | B | y"]),
        ("<td>A<td rowspan=3>x<tr><td>B<tr><td>C<tr><td>D<td>y", ["A: x", "B: x", "C: x", "D: y"]),
        ("<td rowspan=0>x<td>A<tr><td>B", ["x: A", "x: B"]),
        ("<td>1<td>2<td rowspan=2>x<tr><td colspan=2>3", ["1 | 2 | x", "3: x"]),
        ("<td rowspan=2>a<td rowspan=2>b<tr><tr><td>c<td>d", ["a: b", "c: d"]),
        ("<td rowspan=x>a<td rowspan=-2>b<tr><td rowspan=99999999>c<td>d", ["a: b", "c: d"]),
        (f"<td rowspan=2>{LONG}<td>A<td>x<tr><td>B<td>y", [f"{LONG.strip()} | A | x", "| B | y"]),
        ("<td rowspan=2><b>a</b>\n<td>A<tr>\n<td>B</td>\n", ["a: A", "a: B"]),
        ("<td>a<td><td>c", ["a |  | c"]),
        ("<th>Born:<td>1958", ["Born: 1958"]),
    ],
)
def test_rows(rows: str, read: list[str]) -> None:
    assert html_text(f"<table><tr>{rows}</table>").split("\n") == read


def test_a_cell_reaches_no_further_than_its_group_and_its_table() -> None:
    groups = "<tbody><tr><td rowspan=9>g<td>1<tr><td>2</tbody><tbody><tr><td>h<td>3</tbody>"
    assert html_text(f"<table>{groups}</table>") == "g: 1\ng: 2\n\nh: 3"
    inner = "<table><tr><td rowspan=2>n<td>1<tr><td>2</table>"
    assert html_text(f"<table><tr><td>{inner}<td>b<tr><td>c<td>d</table>") == "n: 1\nn: 2\n\nb\nc: d"


def test_a_term_and_what_it_is_are_one_line() -> None:
    page = "<dl><dt>Born</dt><dd>1958</dd><dt>Children:</dt>\n<dd>Anna</dd><dd><p>Bo</p></dd><dt>a<dt>b<dd>c</dl>"
    assert html_text(page) == "Born: 1958\nChildren: Anna\nBo\na\nb: c"


@pytest.mark.parametrize(
    "page",
    [
        "<table><tr>" + 20_000 * "<td rowspan=20000>x" + 20_000 * "<tr><td>y",
        5_000 * "<table><tr><td rowspan=2>x<tr><td>",
        "<table><tr><td rowspan=20000>" + 20_000 * "<b>x</b>" + 20_000 * "<tr><td>y",
    ],
    ids=["wide and high", "nested", "a long cell"],
)
def test_small_pages_do_not_become_large_ones(page: str) -> None:
    start = time.process_time()
    assert len(html_text(page)) < 2_000_000
    assert time.process_time() - start < 4.0

"""The report: one file that loads nothing, in which no name of a binary becomes markup or script."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pyarrow as pa
import pytest
from tests.platform.pages import EVIL, Page, browse

from weft.bcsd.disassemble.interface import Block, Function
from weft.bcsd.matching.match import Matching
from weft.bcsd.report.page import report_page
from weft.bcsd.report.picture import LISTED_INSTRUCTIONS, picture_record


@pytest.fixture(scope="module")
def page(matching):
    return report_page(matching, "0123456789abcdef", calibrated=True)


def test_every_match_has_a_row_and_both_pictures(page, matching):
    read = Page(page)
    assert read.tags.count("table") == 3
    assert len(re.findall(r'<tr class="match"', page)) == len(matching.rows)
    data = json.loads(read.texts["data"][0])
    assert len(data["matches"]) == len(matching.rows)
    for found in data["matches"]:
        for side in ("a", "b"):
            picture = data[side]["pictures"][str(found[side])]
            assert len(picture["graph"]["boxes"]) == len(picture["blocks"])
            assert picture["blocks"][-1][1] == len(picture["code"]) + picture["left_out"]
    names = {matching.a.names[row] for row in matching.unmatched_a()}
    below = page.partition('<table id="only-a"')[2].partition("</table>")[0]
    assert names
    assert all(f">{name}</td>" in below for name in names)


def test_hostile_names_and_strings_stay_text(matching: Matching):
    def evil(side):
        # Arrow holds no halves of characters; a path may.
        names = pa.array([f"{EVIL}{row}".replace("\udc80", "") for row in range(len(side))])
        index = side.table.schema.get_field_index("name")
        table = side.table.set_column(index, side.table.schema.field(index), names)
        return replace(side, path=f"/tmp/{EVIL}", table=table, strings=[[EVIL]] * len(side))

    hostile = replace(matching, a=evil(matching.a), b=evil(matching.b))
    read = Page(report_page(hostile, EVIL, calibrated=False))
    assert read.tags.count("script") == 2
    assert "innerHTML" not in read.scripts[0]
    assert "http" not in read.scripts[0].replace("http://www.w3.org/2000/svg", "")
    data = json.loads(read.texts["data"][0])
    assert any(EVIL.replace("\udc80", "") in values[0] for values in data["a"]["functions"].values())
    assert any(EVIL in found["evidence"].get("strings", {}).get("shared", []) for found in data["matches"])


@pytest.mark.slow
def test_a_browser_opens_a_match(page, matching, tmp_path):
    file = tmp_path / "report.html"
    file.write_text(page, encoding="utf-8")
    dom = browse(file, "#match-0", tmp_path)
    opened = dom.partition('<tr class="detail">')[2].partition('<tr class="match"')[0]
    assert opened.count('class="picture"') == 2
    data = json.loads(Page(page).texts["data"][0])
    first = data["matches"][0]
    blocks = [len(data[side]["pictures"][str(first[side])]["blocks"]) for side in "ab"]
    assert opened.count('class="box"') == sum(blocks)
    assert f"{len(matching.rows)} shown" in dom


def test_addresses_beyond_a_scripts_numbers_stay_exact():
    high = 0xFFFFFFFF81000001
    function = Function("f", high, 2, [(high, 1, "nop", ""), (high + 1, 1, "ret", "")], [Block(0, 2)], [])
    assert picture_record(function)["code"] == [[hex(high), "nop"], [hex(high + 1), "ret"]]


def test_huge_functions_are_cut_and_not_drawn():
    count = LISTED_INSTRUCTIONS + 10
    listed = [(i, 1, "nop", "") for i in range(count)]
    function = Function("f", 0, count, listed, [Block(i, i + 1) for i in range(count)], [])
    record = picture_record(function)
    assert record["graph"] is None
    assert record["left_out"] == 10

"""The report: one file that loads nothing, in which no name of a binary becomes markup or script."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser

import pytest

from weft.bcsd.disassemble.interface import Block, Function
from weft.bcsd.matching.match import Matching
from weft.bcsd.report.page import embedded, report_page
from weft.bcsd.report.picture import LISTED_INSTRUCTIONS, picture_record

EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'`&\x1b[31m\u202e"


class Reader(HTMLParser):
    """Collects tags, attributes and the text of scripts."""

    def __init__(self, page):
        super().__init__()
        self.tags = []
        self.attributes = []
        self.scripts = []
        self._inside = False
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, *pair) for pair in attrs]
        self._inside = tag == "script"

    def handle_data(self, data):
        if self._inside:
            self.scripts.append(data)
            self._inside = False


@pytest.fixture(scope="module")
def page(matching):
    return report_page(matching, "0123456789abcdef", calibrated=True)


def test_every_match_has_a_row_and_both_pictures(page, matching):
    read = Reader(page)
    assert read.tags.count("table") == 3
    assert len(re.findall(r'<tr class="match"', page)) == len(matching.rows)
    data = json.loads(read.scripts[0])
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


def test_the_page_loads_nothing_and_runs_one_script(page):
    read = Reader(page)
    loading = {"src", "href", "srcset", "data", "action", "background", "poster"}
    assert not [entry for entry in read.attributes if entry[1] in loading or entry[1].startswith("on")]
    assert not {"link", "img", "iframe", "object", "embed", "form", "base"} & set(read.tags)
    policy = next(value for tag, name, value in read.attributes if tag == "meta" and name == "content")
    assert policy.startswith("default-src 'none'; ")
    script = page.rpartition("<script>")[2].partition("</script>")[0]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy
    assert "innerHTML" not in script
    assert "http" not in script.replace("http://www.w3.org/2000/svg", "")


def test_hostile_names_and_strings_stay_text(matching: Matching):
    from dataclasses import replace

    import pyarrow as pa

    def evil(side):
        names = pa.array([f"{EVIL}{row}" for row in range(len(side))])
        index = side.table.schema.get_field_index("name")
        table = side.table.set_column(index, side.table.schema.field(index), names)
        return replace(side, path=f"/tmp/{EVIL}", table=table, strings=[[EVIL]] * len(side))

    hostile = replace(matching, a=evil(matching.a), b=evil(matching.b))
    read = Reader(report_page(hostile, EVIL, calibrated=False))
    assert read.tags.count("script") == 2
    assert "img" not in read.tags
    assert not [name for _, name, _ in read.attributes if name.startswith("on")]
    data = json.loads(read.scripts[0])
    assert any(EVIL in values[0] for values in data["a"]["functions"].values())
    assert any(EVIL in found["evidence"].get("strings", {}).get("shared", []) for found in data["matches"])


def test_embedded_json_cannot_end_its_element():
    text = embedded({"x": EVIL, "y": "<!--"})
    assert not set("<>&") & set(text)
    assert json.loads(text) == {"x": EVIL, "y": "<!--"}


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

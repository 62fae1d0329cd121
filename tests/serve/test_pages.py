"""What the files of the pages must have, whatever a browser makes of them."""

from __future__ import annotations

import json
import re

from weft.absa.find.summary import ORDER
from weft.serve.routes.house import PAGES


def text_of(address: str) -> str:
    """A file of the pages."""
    return PAGES[address][0].decode()


def test_the_page_of_texts_shows_every_polarity():
    bars, style = text_of("/texts/bars.js"), text_of("/app.css")
    judged = re.search(r"JUDGED = (\[.*?\]);", bars)
    assert judged is not None
    assert json.loads(judged[1]) == list(ORDER)
    tones = re.search(r"TONES = \{ (.*?) \};", bars)
    assert tones is not None
    named = dict(re.findall(r'(\w+): "(\w+)"', tones[1]))
    assert set(named) == {*ORDER, "none"}
    assert len(set(named.values())) == len(named), "no two look alike"
    for tone in named.values():
        assert f".bars .{tone} {{ fill: " in style
        assert f".key i.{tone} {{ background: " in style

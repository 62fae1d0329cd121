"""The shell of all pages: hostile words stay text, nothing is loaded, colours come from the style sheet."""

import json
from html import escape, unescape

import pytest
from tests.platform.pages import EVIL, Page, browse

from weft.errors import NonFiniteError
from weft.platform.page import bar, embedded, heat, render


def test_hostile_words_stay_text():
    page = render(EVIL, f"<p>{escape(EVIL)}</p>", data={EVIL: [EVIL]}, scripts=["1", "2 < 3 && '{}'"])
    read = Page(page)
    assert read.tags.count("script") == 3
    assert read.scripts == ["1", "2 < 3 && '{}'"]
    assert json.loads(read.texts["data"][0]) == {EVIL: [EVIL]}
    shown = EVIL.replace("\udc80", "\\udc80")
    assert "".join(read.texts[""]).count(shown) == 2


def test_a_page_without_scripts_allows_none():
    read = Page(render("a", "<p>b</p>", style="p { color: red }"))
    assert "script" not in read.tags
    assert read.texts["style"][0].endswith("p { color: red }")


def test_embedded_json_cannot_end_its_element():
    text = embedded({"x": EVIL, "y": "<!--"})
    assert text.isascii()
    assert not set("<>&") & set(text)
    assert json.loads(text) == {"x": EVIL, "y": "<!--"}
    for number in (float("nan"), float("inf")):
        with pytest.raises(NonFiniteError, match="NaN or infinity"):
            embedded([number])


def test_heat_has_a_sign_and_a_strength():
    assert [heat(score, 2.0) for score in (2.0, 1.0, 0.1, 0.01, 0.0)] == [
        "for20",
        "for10",
        "for1",
        "none",
        "none",
    ]
    assert [heat(score, 2.0) for score in (-9.0, -1.0, float("nan"))] == ["against20", "against10", "none"]
    sheet = Page(render("a", "")).texts["style"][0]
    alpha = [float(sheet.split(f".for{n}{{")[1].split("/")[1].split(")")[0]) for n in range(1, 21)]
    assert alpha == sorted(set(alpha))
    assert alpha[-1] == 0.5
    assert all(f".against{n}{{" in sheet for n in range(1, 21))


def test_bars_are_as_long_as_their_share():
    assert 'width="25.0"' in bar(0.25)
    assert 'class="bar"' in bar(0.25)
    assert 'class="bar low"' in bar(1.0, "low")


@pytest.mark.slow
def test_a_browser_shows_it_and_runs_nothing_else(tmp_path):
    script = """const data = JSON.parse(document.getElementById("data").textContent);
      document.body.dataset.found = data.evil;
      document.body.dataset.colour = getComputedStyle(document.getElementById("hot")).backgroundColor;"""
    body = f'<p id="hot" class="for20">{escape(EVIL)}</p>'
    page = tmp_path / "page.html"
    shown = {"data": {"evil": "\u2028</script>"}, "scripts": [script]}
    for forbidden in ('<p style="color: red">', '<p onclick="alert(3)">', "<script>alert(4)</script>"):
        page.write_text(render(EVIL, body + forbidden, **shown), encoding="utf-8")
        with pytest.raises(AssertionError, match="Content Security Policy"):
            browse(page, "", tmp_path)
    page.write_text(render(EVIL, body, **shown), encoding="utf-8")
    dom = browse(page, "", tmp_path)
    assert 'data-colour="rgba(0, 120, 60, 0.5)"' in dom
    assert "\u2028</script>" in unescape(dom.split('data-found="')[1].split('"')[0])
    assert dom.count("<script") == 2

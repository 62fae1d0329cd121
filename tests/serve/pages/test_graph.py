"""The page of graphs: an entity searched, walked from and read about; SPARQL completed and asked."""

from __future__ import annotations

import json

from tests.serve.conftest import Service
from tests.serve.pages.conftest import Look


def test_an_entity_is_found_walked_from_and_read_about_by_keyboard(look: Look):
    page = look.open("graph")
    page.wait_for_selector(".options button:text('Bo')")
    held, later = [], []
    page.route("**/v1/kg/entities?*", lambda route: route.continue_() if later else held.append(route))
    with page.expect_request("**/v1/kg/entities?*q=Ad"):
        page.fill("#entity", "Ad")
    page.locator(".options button").first.focus()
    # The list comes while somebody is on a name of the one before, and stays there; what is asked later is not held.
    later.append(True)
    for route in held:
        route.continue_()
    page.wait_for_selector(".options:not(:has(button:text('Bo')))")
    page.keyboard.press("Enter")
    page.wait_for_selector(".facts li")
    look.accessible()
    assert page.locator("body").get_attribute("data-drawn") == "3 2"
    page.get_by_role("button", name="the sentences of knows").first.press("Enter")
    assert page.locator("blockquote").first.inner_text() == "Ada knows Bo."
    page.get_by_role("button", name="Facts of Bo").press("Enter")
    page.wait_for_selector("body[data-drawn='4 3']")
    assert "entity=Bo" in page.url
    look.done()


def test_the_way_back_is_what_was_asked_before(browser, service: Service):
    look = Look(browser, service)
    page = look.open("graph?entity=Ada")
    page.wait_for_selector("aside h2:text-is('Ada')")
    page.get_by_role("button", name="Bo", exact=True).first.click()
    page.wait_for_selector("aside h2:text-is('Bo')")
    page.go_back()
    page.wait_for_selector("aside h2:text-is('Ada')")
    assert page.url.endswith("#/graph?entity=Ada")
    page.go_forward()
    page.wait_for_selector("aside h2:text-is('Bo')")
    page.get_by_role("link", name="Graph").click()
    page.wait_for_selector("aside:has-text('Search an entity to begin.')")
    look.done()


def test_sparql_is_completed_and_asked(look: Look):
    page, held = look.page, []
    page.route("**/v1/kg/sparql?*", lambda route: held.append(route))
    with page.expect_request("**/v1/kg/sparql?*"):
        look.open("graph")
    page.wait_for_selector(".CodeMirror")
    page.locator(".CodeMirror").click()
    page.keyboard.press("Control+A")
    page.keyboard.type("SELECT ?who WHERE { ?who r:kno")
    page.keyboard.press("Control+Space")
    held.pop().continue_()  # the names of the store come late: the completion waits for them
    page.wait_for_selector(".CodeMirror-hint")
    page.keyboard.press("Enter")
    page.keyboard.type(" ?whom } ORDER BY ?who")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector("section td")
    assert page.locator("section td").all_inner_texts() == ["Ada", "Bo"]
    assert look.taken("CSV").splitlines() == ["who", *(f"urn:weft:entity:{name}" for name in ("Ada", "Bo"))]
    assert json.loads(look.taken("JSON"))["head"] == {"vars": ["who"]}
    look.done()


def test_the_words_of_arrows_lie_on_no_name_and_no_other_word(browser, service: Service):
    look = Look(browser, service)
    page = look.open("graph")
    told = page.evaluate(
        """async () => {
          const { places } = await import("/graph/words.js");
          const from = { x: 0, y: 0 }, far = { x: 200, y: 0 };
          const box = (x) => ({ x1: x - 20, y1: -10, x2: x + 20, y2: 10 });
          const edge = (to) => ({ from, to, label: "knows" });
          return [
            places([edge(far)], []),
            places([edge(far)], [box(52)]),
            places([edge(far), edge(far), edge({ x: 0, y: 200 })], []),
            places([edge({ x: 50, y: 0 })], []),
            places([edge(far)], [box(40), box(80), box(120), box(160)]),
          ];
        }"""
    )
    first, aside, both, short, crowded = told
    assert first == [52]
    assert abs(aside[0] - 52) >= 20 + 12
    assert both[0] == 52
    assert abs(both[1] - 52) >= 25
    assert both[2] == 52
    assert short == crowded == [None]
    look.context.close()

"""The page of texts: asked about aspects, or read for what they judge; pasted or as a table."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

from tests.serve.conftest import Service
from tests.serve.pages.conftest import Look

REVIEWS = (
    "The battery life is great, but the screen is dim.",
    "The waiter was rude and the soup was cold.",
    "Great battery life.",
    "The table stands by the window.",
)


def rows_of(text: str) -> list[dict[str, str]]:
    """The rows of an export."""
    return list(csv.DictReader(io.StringIO(text)))


def test_a_file_that_is_too_large_is_not_sent(browser, service: Service, tmp_path: Path):
    look = Look(browser, service)
    page = look.page
    page.route(
        "**/v1/models",
        lambda route: route.fulfill(json={**route.fetch().json(), "upload_bytes": 1 << 20}),
    )
    sent = []
    page.on("request", lambda request: sent.append(request.url) if "/v1/uploads" in request.url else None)
    look.open("texts")
    large = tmp_path / "large.csv"
    large.write_bytes(b"text\n" + bytes((2 << 20) - 5))
    page.set_input_files("#table", large)
    page.get_by_role("button", name="Find what they judge").click()
    page.wait_for_selector("#status:text('large.csv has 2 MiB: this service takes files of at most 1 MiB')")
    assert sent == []
    look.done()


def test_what_ends_after_somebody_went_away_leaves_the_page_alone(browser, service: Service, tmp_path: Path):
    look = Look(browser, service)
    page, held = look.page, []
    page.route("**/v1/jobs/*/result", lambda route: held.append(route))
    look.open("texts")
    table = tmp_path / "t.csv"
    table.write_text("text\nThe food was great.\n")
    page.set_input_files("#table", table)
    with page.expect_request("**/v1/jobs/*/result"):
        page.get_by_role("button", name="Find what they judge").click()
    page.get_by_role("link", name="Binaries").click()
    page.wait_for_selector("#file-a")
    with page.expect_response("**/v1/jobs/*/result"):
        held.pop().continue_()
    page.wait_for_timeout(300)
    assert page.url.endswith("#/binaries")
    look.done()


def test_texts_are_asked_and_an_answer_explained(look: Look):
    page = look.open("texts")
    page.wait_for_selector("#texts")
    look.accessible()
    page.fill("#texts", "The food was great, the service slow.\nGood food.")
    page.fill("#aspects", "food, service")
    page.press("#aspects", "Enter")
    page.wait_for_selector(".opinion")
    assert page.locator(".opinion").count() == 4
    assert page.locator(".bars svg").count() == 2
    page.locator(".opinion").first.press("Enter")
    page.wait_for_selector(".words span")
    first = page.locator(".words span").evaluate_all(
        "all => all.sort((x, y) => y.title - x.title).slice(0, 2).map((word) => word.textContent)"
    )
    assert set(first) == {"food", "great"}, "what is asked about, and the word that judges it"
    page.fill("#q", "good")
    assert page.locator(".opinion").count() == 2
    look.again()
    page.wait_for_selector(".words span")
    assert page.locator(".opinion").count() == 2, "the address keeps the question, the filter and the answer"
    exported = rows_of(look.taken("CSV"))
    assert list(exported[0])[:6] == ["text", "target", "aspect", "polarity", "none", "positive"]
    assert [row["aspect"] for row in exported] == ["food", "service"] * 2
    look.done()


def test_a_table_is_asked(look: Look, tmp_path: Path):
    table = tmp_path / "t.csv"
    table.write_text("text\nThe food was great.\n")
    page = look.open("texts?aspects=food,+service,+price")
    page.set_input_files("#table", table)
    page.get_by_role("button", name="Ask", exact=True).click()
    page.wait_for_selector(".opinion")
    assert page.locator(".opinion").count() == 3
    look.again()
    page.wait_for_selector(".opinion")
    assert page.locator(".opinion").count() == 3, "the address keeps the job"
    look.done()


def check_findings(look: Look) -> None:
    """Bars, terms, and the sentences behind both, are of the findings that the export holds."""
    page = look.page
    page.wait_for_selector("[data-ready='found'] tbody tr")
    told = json.loads(look.taken("JSON"))
    assert {record["term"] for record in told} >= {"battery life", "screen", "waiter"}
    aspects = {record["category"] or record["term"].lower() for record in told}
    assert page.locator(".bars svg").count() == len(aspects)
    terms = page.locator("[data-ready] tbody tr")
    row = terms.filter(has_text="battery life")
    assert row.locator("td").nth(2).inner_text() == "2"
    row.get_by_role("button").press("Enter")
    page.wait_for_selector("section[data-shown='t:battery life'] li")
    said = page.locator("section[data-shown] li")
    assert said.count() == 2
    assert said.first.locator("mark").inner_text().lower() == "battery life"
    page.fill("#q", "battery")
    look.again()
    page.wait_for_selector("section[data-shown='t:battery life'] li")
    assert terms.count() == 1, "the address keeps the term and the filter"
    page.locator(".bars button").first.press("Enter")
    page.wait_for_selector("section[data-shown^='a:'] li")
    exported = rows_of(look.taken("CSV"))
    assert [row["term"] for row in exported] == [record["term"] or "" for record in told]
    look.done()


TORN = {"row": None, "text": "The staff were charming, but nobody knew the menu.", "note": None}
OPINION = {
    "target": None,
    "aspect": "staff",
    "polarity": "conflict",
    "target_found": True,
    "probabilities": {"none": 0.1, "positive": 0.1, "negative": 0.1, "neutral": 0.0, "conflict": 0.7},
}
FINDING = {
    "term": "staff",
    "start": 4,
    "stop": 9,
    "category": None,
    "polarity": "conflict",
    "confidence": 0.7,
    "words": None,
}


def test_praise_and_blame_at_once_has_a_part_of_the_bars(look: Look):
    page = look.page
    page.route("**/v1/absa/predict*", lambda route: route.fulfill(json=[{**TORN, **OPINION}] * 2))
    page.route("**/v1/absa/find*", lambda route: route.fulfill(json=[{**TORN, **FINDING}] * 2))
    look.open("texts")
    page.fill("#texts", TORN["text"])
    page.get_by_role("button", name="Find what they judge").click()
    page.wait_for_selector("[data-ready='found'] .bars")
    assert page.locator(".bars span.dim").inner_text() == "0 / 0 / 2 / 0"
    assert "2 conflict" in page.locator(".bars svg").get_attribute("aria-label")
    assert page.locator(".bars rect.torn").get_attribute("width") == "100"
    assert page.locator("[data-ready] tbody td").all_inner_texts()[2:7] == ["2", "0", "0", "2", "0"]
    page.fill("#aspects", "staff")
    page.get_by_role("button", name="Ask", exact=True).click()
    page.wait_for_selector("[data-ready='asked'] .bars")
    assert page.locator(".bars span.dim").inner_text() == "0 / 0 / 2 / 0"
    assert page.locator(".bars rect.torn").get_attribute("width") == "100"
    assert "conflict" in page.locator(".key").inner_text()
    look.done()


def test_what_texts_judge_is_found_where_no_aspect_is_named(look: Look):
    page = look.open("texts")
    page.fill("#texts", "\n".join(REVIEWS))
    page.get_by_role("button", name="Find what they judge").press("Enter")
    check_findings(look)


def test_what_a_table_judges_is_found(look: Look, tmp_path: Path):
    table = tmp_path / "t.csv"
    table.write_text("review\n" + "".join(f'"{text}"\n' for text in REVIEWS))
    page = look.open("texts")
    page.set_input_files("#table", table)
    page.fill("#column", "review")
    page.press("#column", "Enter")
    check_findings(look)
